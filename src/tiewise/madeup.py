"""Made-up studies on disk: the twin of `tiewise simulate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tiewise.core.areas import Areas
from tiewise.core.beliefs import Fixed
from tiewise.core.graph import Graph
from tiewise.core.prior import Independent, Network, Prior
from tiewise.core.simulate import Truth, simulate_comparisons
from tiewise.errors import InputError
from tiewise.results.folder import refuse_full, whole_folder

OURS = ("comparisons.csv", "truth.csv", "areas.gpkg")


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
    force: bool = False,
) -> str:
    """Write comparisons.csv, truth.csv and any map to `out`; say in a line what was made."""
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
    told = simulate_comparisons(truth, number, rng, judges=judges, skip=skip)
    with whole_folder(Path(out), force=force, ours=OURS) as folder:
        told.to_csv(folder / "comparisons.csv")
        _truth_table(truth, land).to_csv(folder / "truth.csv", index=False, lineterminator="\n")
        if land is not None:
            land.to_gpkg(folder / "areas.gpkg")
    return f"{number} judgements of {len(truth.items)} items by {min(judges, number)} judges"


def _truth_table(truth: Truth, land: Areas | None) -> pd.DataFrame:
    table = pd.DataFrame({"item": truth.items, "quality": truth.quality - truth.quality.mean()})
    if land is not None:
        table.insert(1, "name", list(land.names))
    return table
