"""Made-up studies on disk: the twin of `tiewise simulate`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.data.format_rules import FIRST, SECOND
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.quality_priors import Independent, Network, Prior
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import (
    Sitting,
    Truth,
    judge_names,
    simulate_comparisons,
    simulate_sittings,
)
from tiewise.report.folder import refuse_full, whole_folder

if TYPE_CHECKING:
    import pyarrow as pa

CSV, PARQUET = "comparisons.csv", "comparisons.parquet"
OURS = (CSV, PARQUET, "truth.csv", "areas.gpkg")
STATES = ("selected", "tied", "skipped")
STATE = np.array([0, 0, 1, 2])
"""Which of these the comparison interface has for each outcome."""


def make_up(
    out: str | Path,
    *,
    county: int | None = None,
    items: int | None = None,
    areas: str | Path | None = None,
    id: str | None = None,
    name: str | None = None,
    group: str | None = None,
    join_islands: bool = False,
    comparisons: int | None = None,
    judges: int = 15,
    tie: float = 0.5,
    variance: float = 1.5,
    skip: float = 0.0,
    seed: int = 1,
    parquet: bool = False,
    force: bool = False,
) -> str:
    """Write comparisons.csv, truth.csv and any map to `out`; say in a line what was made.

    With `parquet` it is comparisons.parquet instead, which is as quick for many millions.
    """
    if sum(given is not None for given in (county, items, areas)) != 1:
        raise InputError("say what to compare: one of --county N, --items N, --areas FILE")
    if areas is None and (id or name or group or join_islands):
        raise InputError(
            "--id, --name, --group and --join-islands speak of a map; give it with --areas"
        )
    refuse_full(Path(out), force=force)
    rng = np.random.default_rng(seed)
    land = None
    if county is not None:
        land = Areas.made_up(county, seed=seed)
    elif areas is not None:
        land = Areas.read(areas, id=id, name=name, group=group)
    prior: Prior
    if land is not None:
        prior = Network(Graph.from_areas(land, join_islands=join_islands))
    else:
        prior = Independent(tuple(str(k + 1) for k in range(items or 0)))
    truth = Truth.drawn(prior, Fixed(variance), Fixed(tie) if tie else None, rng)
    number = 10 * len(truth.items) if comparisons is None else comparisons
    how: dict[str, Any] = {"judges": judges, "skip": skip}
    with whole_folder(Path(out), force=force, ours=OURS) as folder:
        if parquet:
            parts = simulate_sittings(truth, number, rng, **how)
            _write_parquet(parts, truth.items, judge_names(judges), folder / PARQUET)
        else:
            simulate_comparisons(truth, number, rng, **how).to_csv(folder / CSV)
        _truth_table(truth, land).to_csv(folder / "truth.csv", index=False, lineterminator="\n")
        if land is not None:
            land.to_gpkg(folder / "areas.gpkg")
    return f"{number} judgements of {len(truth.items)} items by {min(judges, number)} judges"


def _write_parquet(
    parts: Iterable[Sitting], items: Sequence[str], judges: Sequence[str], path: Path
) -> None:
    """Judgements in the columns of the CSV file, part by part."""
    from pyarrow import parquet

    begin, writer = 1, None
    try:
        for part in parts:
            table = _interface(part, items, judges, begin)
            # Without Arrow's own note on them, texts are read as those of any other Parquet file.
            writer = writer or parquet.ParquetWriter(path, table.schema, store_schema=False)
            writer.write_table(table)
            begin += len(table)
    finally:
        if writer is not None:
            writer.close()


def _interface(part: Sitting, items: Sequence[str], judges: Sequence[str], begin: int) -> pa.Table:
    """Judgements in the columns of the comparison interface, numbered from `begin`."""
    import pyarrow as pa

    def named(place: NDArray[Any], names: Sequence[str], gone: NDArray[Any] | None = None) -> Any:
        places = pa.array(place.astype(np.int32), mask=gone)
        return pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))

    nobody = (part.said != FIRST) & (part.said != SECOND)
    chosen = np.where(part.said == FIRST, part.first, part.second)
    return pa.table(
        {
            "comparison_id": np.arange(begin, begin + len(part.said)),
            "user_id": named(part.judge, judges),
            "item_1_id": named(part.first, items),
            "item_2_id": named(part.second, items),
            "selected_item_id": named(chosen, items, nobody),
            "state": named(STATE[part.said], STATES),
        }
    )


def _truth_table(truth: Truth, land: Areas | None) -> pd.DataFrame:
    table = pd.DataFrame({"item": truth.items, "quality": truth.quality - truth.quality.mean()})
    if land is not None:
        table.insert(1, "name", list(land.names))
    return table
