"""Rows of items as the report shows them, and which columns there is something to say in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tiewise.posterior.bands.sentences import shows_bands
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.phrases import has_top_probabilities
from tiewise.posterior.results_folder import Results

HALF_WIDTH = 60.0  # of the line on which an interval is drawn


class PageFeatures(NamedTuple):
    """Columns and parts that these results have."""

    ids: bool
    groups: bool
    ranks: bool
    probabilities: bool
    map: bool
    uncompared: bool
    bands: bool


def page_features(results: Results) -> PageFeatures:
    """The columns and parts that the page of these results shows."""
    items, areas = results.items, results.areas
    return PageFeatures(
        ids=bool((items["item"] != items["name"]).any()),
        groups=areas is not None and areas.groups is not None and any(areas.groups),
        ranks=bool(items["rank_q2.5"].notna().any()) and len(items) > 1,
        probabilities=has_top_probabilities(results),
        map=areas is not None and len(areas) <= MANY_ITEMS,
        uncompared=bool((items["comparisons"] == 0).any()),
        bands=shows_bands(results),
    )


def item_table(results: Results) -> pd.DataFrame:
    """`items.csv` in its order, with key, position, group and the interval as drawn."""
    table, areas = results.items, results.areas
    groups: dict[str, str] = {}
    if areas is not None and areas.groups is not None:
        groups = dict(zip(areas.items, areas.groups, strict=True))
    return table.assign(
        key=np.arange(len(table)),
        position=np.arange(1, len(table) + 1),
        group=[groups.get(item, "") for item in table["item"]],
        **_interval_lines(table),
    )


def item_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries for a template."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _interval_lines(table: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """Where the interval of each row is drawn, on a line with the average in its middle."""
    ends = table[["q2.5", "q97.5", "mean"]]
    reach = float(np.nanmax(np.abs(ends.where(np.isfinite(ends)).to_numpy()), initial=0)) or 1.0
    left, right, middle = (
        (HALF_WIDTH + HALF_WIDTH * ends[name].clip(-reach, reach).fillna(0) / reach).round(1)
        for name in ends
    )
    return {"left": left, "length": (right - left).round(1), "middle": middle}
