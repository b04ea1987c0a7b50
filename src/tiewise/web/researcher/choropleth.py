"""Layers of the map: areas coloured by estimate, uncertainty or number of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.geo.colours import LOW_TO_HIGH, SURE_TO_UNSURE, UNKNOWN, interpolate
from tiewise.web.researcher.estimates import ItemEstimate

PALEST = 0.6
"""Share of the largest uncertainty up to which the palest colour may lie."""
FEW_TO_MANY = SURE_TO_UNSURE[::-1]
"""As for uncertainty: dark is where little is known."""


class MapLayer(NamedTuple):
    """The colours of all areas: a title, the colour ramp, what its ends mean, and each fill."""

    key: str
    title: str
    ramp: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]
    fills: dict[str, str]

    def fill(self, item: str) -> str:
        """The colour of an area; grey where it is not in the study."""
        return self.fills.get(item, UNKNOWN)


def largest_size(values: Sequence[float]) -> float:
    """The largest absolute value; 1 where all are 0."""
    return max((abs(value) for value in values), default=0.0) or 1.0


def quality_layer(
    rows: Sequence[ItemEstimate], *, lower: str, higher: str, most: float | None = None
) -> MapLayer:
    """The posterior median: blue below the average, red above it, darkest at `most`."""
    most = most or largest_size([row.median for row in rows])
    ends = ((lower, f"−{most:.1f}"), ("average", "0"), (higher, f"+{most:.1f}"))
    return MapLayer(
        "quality", "Estimate", LOW_TO_HIGH, ends,
        _fills(rows, LOW_TO_HIGH, lambda row: 0.5 + row.median / (2 * most)),
    )  # fmt: skip


def uncertainty_layer(
    rows: Sequence[ItemEstimate], *, least: float | None = None, most: float | None = None
) -> MapLayer:
    """The posterior standard deviation, darkest at `most`.

    By default the palest colour is at the smallest: areas differ by less than they share.
    """
    most = most or largest_size([row.sd for row in rows])
    if least is None:
        least = min([PALEST * most, *(row.sd for row in rows)])
    ends = (("surer", f"sd {least:.2f}"), ("less sure", f"sd {most:.2f}"))
    return MapLayer(
        "doubt", "Uncertainty", SURE_TO_UNSURE, ends,
        _fills(rows, SURE_TO_UNSURE, lambda row: (row.sd - least) / ((most - least) or 1.0)),
    )  # fmt: skip


def coverage_layer(rows: Sequence[ItemEstimate]) -> MapLayer:
    """How often each area was compared."""
    most = max((row.comparisons for row in rows), default=0)
    ends = (("never", "0"), ("most often", f"{most:,}"))
    return MapLayer(
        "coverage", "Comparisons", FEW_TO_MANY, ends,
        _fills(rows, FEW_TO_MANY, lambda row: row.comparisons / max(most, 1)),
    )  # fmt: skip


def _fills(
    rows: Sequence[ItemEstimate], ramp: Sequence[str], share: Callable[[ItemEstimate], float]
) -> dict[str, str]:
    shares: NDArray[np.float64] = np.array([share(row) for row in rows], dtype=float)
    return dict(zip((row.item for row in rows), interpolate(ramp, shares), strict=True))
