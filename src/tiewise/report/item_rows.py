"""Rows of items as the report shows them, and which columns there is something to say in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tiewise.posterior.bands.sentences import shows_bands
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.phrases import has_top_probabilities
from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.display_scale import shown_scores

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
    """`items.csv` in its order, with scores, key, position, group and the interval as drawn."""
    (_, average, table), areas = shown_scores(results), results.areas
    groups: dict[str, str] = {}
    if areas is not None and areas.groups is not None:
        groups = dict(zip(areas.items, areas.groups, strict=True))
    return table.assign(
        key=np.arange(len(table)),
        position=np.arange(1, len(table) + 1),
        group=[groups.get(item, "") for item in table["item"]],
        **_interval_lines(table, average),
    )


def item_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries for a template."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def score_reach(table: pd.DataFrame, average: float) -> float:
    """How far scores and the ends of their intervals lie from the average at most."""
    off = table[["score_q2.5", "score_q97.5", "score"]].to_numpy(float) - average
    return float(np.abs(off[np.isfinite(off)]).max(initial=0.0)) or 1.0


def _interval_lines(table: pd.DataFrame, average: float) -> dict[str, pd.Series[float]]:
    """Where the interval of each row is drawn, on a line with the average in its middle."""
    ends = table[["score_q2.5", "score_q97.5", "score"]] - average
    reach = score_reach(table, average)
    left, right, middle = (
        (HALF_WIDTH + HALF_WIDTH * ends[name].clip(-reach, reach).fillna(0) / reach).round(1)
        for name in ends
    )
    return {"left": left, "length": (right - left).round(1), "middle": middle}
