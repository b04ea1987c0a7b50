"""Simulated studies on disk: the twin of `tiewise simulate`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.data.answers import ANSWERS, FIRST, SECOND, STATES
from tiewise.data.files import write_csv
from tiewise.errors import InputError
from tiewise.folders import FolderKind, atomic_folder, check_output_folder
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, QualityPrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import (
    JudgementBatch,
    Truth,
    judge_names,
    simulate_batches,
    simulate_comparisons,
)
from tiewise.randomness import RNGLike, as_seed

if TYPE_CHECKING:
    import pyarrow as pa

CSV, PARQUET = "comparisons.csv", "comparisons.parquet"
FILES = (CSV, PARQUET, "truth.csv", "areas.gpkg")
KIND = FolderKind("a simulated study", FILES, {"truth.csv": (b"item,", b'"item",')})
STATE = np.array([STATES.index(answer.state) for answer in ANSWERS])
"""Position in `STATES` by the code of an answer."""


def write_simulated_study(
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
    rng: RNGLike = 1,
    parquet: bool = False,
    force: bool = False,
) -> str:
    """Write comparisons.csv, truth.csv and any map to `out`; return a line about them.

    With `parquet` it is comparisons.parquet instead, which suits many millions of judgements.
    """
    if sum(option is not None for option in (county, items, areas)) != 1:
        raise InputError("say what to compare: one of county=N, items=N, areas=FILE")
    if areas is None and (id or name or group or join_islands):
        raise InputError("id=, name=, group= and join_islands= speak of a map; give it with areas=")
    check_output_folder(Path(out), KIND, force=force)
    seed = as_seed(rng)
    generator = np.random.default_rng(seed)
    region = None
    if county is not None:
        region = Areas.synthetic(county, rng=seed)
    elif areas is not None:
        region = Areas.read(areas, id=id, name=name, group=group)
    prior: QualityPrior
    if region is not None:
        prior = Network(Graph.from_areas(region, join_islands=join_islands), share=1.0)
    else:
        prior = Independent(tuple(str(k + 1) for k in range(items or 0)))
    truth = Truth.from_priors(prior, Fixed(variance), Fixed(tie) if tie else None, generator)
    number = 10 * len(truth.items) if comparisons is None else comparisons
    options: dict[str, Any] = {"judges": judges, "skip": skip}
    with atomic_folder(Path(out), KIND, force=force) as folder:
        if parquet:
            parts = simulate_batches(truth, number, generator, **options)
            _write_parquet(parts, truth.items, judge_names(judges), folder / PARQUET)
        else:
            simulate_comparisons(truth, number, generator, **options).to_csv(folder / CSV)
        write_csv(_truth_table(truth, region), folder / "truth.csv")
        if region is not None:
            region.to_gpkg(folder / "areas.gpkg")
    return f"{number} judgements of {len(truth.items)} items by {min(judges, number)} judges"


def _write_parquet(
    parts: Iterable[JudgementBatch], items: Sequence[str], judges: Sequence[str], path: Path
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


def _interface(
    part: JudgementBatch, items: Sequence[str], judges: Sequence[str], begin: int
) -> pa.Table:
    """Judgements in the columns of the comparison interface, numbered from `begin`."""
    import pyarrow as pa

    def named(place: NDArray[Any], names: Sequence[str], gone: NDArray[Any] | None = None) -> Any:
        places = pa.array(place.astype(np.int32), mask=gone)
        return pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))

    nobody = (part.answer != FIRST) & (part.answer != SECOND)
    chosen = np.where(part.answer == FIRST, part.first, part.second)
    return pa.table(
        {
            "comparison_id": np.arange(begin, begin + len(part.answer)),
            "user_id": named(part.judge, judges),
            "item_1_id": named(part.first, items),
            "item_2_id": named(part.second, items),
            "selected_item_id": named(chosen, items, nobody),
            "state": named(STATE[part.answer], STATES),
        }
    )


def _truth_table(truth: Truth, region: Areas | None) -> pd.DataFrame:
    table = pd.DataFrame({"item": truth.items, "quality": truth.quality - truth.quality.mean()})
    if region is not None:
        table.insert(1, "name", list(region.names))
    return table
