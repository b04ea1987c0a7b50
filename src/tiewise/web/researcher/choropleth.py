"""Layers of the map: areas coloured by estimate, uncertainty or number of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.geo.colours import LOW_TO_HIGH, SURE_TO_UNSURE, UNKNOWN, interpolate
from tiewise.web.researcher.estimates import LOGITS, ItemEstimate, ShownScale

PALEST = 0.6
"""Share of the largest uncertainty up to which the palest colour may lie."""
OUTLYING = 2.5
"""From so many times the upper quartile of sizes on, a value is an outlier."""
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


def colour_limit(values: Sequence[float]) -> float:
    """The size that has the darkest colour: the largest of these, unless it is an outlier."""
    if not len(values):
        return 1.0
    sizes = np.abs(np.asarray(values, dtype=float))
    largest, usual = float(sizes.max()), float(np.quantile(sizes, 0.75))
    return min(largest, OUTLYING * usual or largest) or 1.0


def quality_limit(estimates: Sequence[float], sds: Sequence[float]) -> float:
    """The limit of estimates; where they are smaller than what is usually unsure of them, that."""
    return max(colour_limit(estimates), float(np.median(sds)) if len(sds) else 0.0)


def quality_layer(
    rows: Sequence[ItemEstimate],
    scale: ShownScale = LOGITS,
    *,
    lower: str,
    higher: str,
    most: float | None = None,
) -> MapLayer:
    """The estimate: blue below the average, red above it, darkest from `most` beyond it on."""
    middle, compared = scale.middle, [row for row in rows if not row.uncompared] or rows
    limit = most or quality_limit(
        [row.estimate - middle for row in compared], [row.sd for row in compared]
    )
    beyond = most or any(abs(row.estimate - middle) > limit + _rounding(scale) for row in rows)
    less, more = (" or less", " or more") if beyond else ("", "")
    low, average, high = scale.ends(limit)
    ends = ((lower, f"{low}{less}"), ("average", average), (higher, f"{high}{more}"))
    return MapLayer(
        "quality", scale.title, LOW_TO_HIGH, ends,
        _fills(rows, LOW_TO_HIGH, lambda row: 0.5 + (row.estimate - middle) / (2 * limit)),
    )  # fmt: skip


def _rounding(scale: ShownScale) -> float:
    """That of the numbers in a legend."""
    rounding: float = 0.5 * 10.0**-scale.digits
    return rounding


def uncertainty_layer(
    rows: Sequence[ItemEstimate],
    scale: ShownScale = LOGITS,
    *,
    least: float | None = None,
    most: float | None = None,
) -> MapLayer:
    """The posterior standard deviation, darkest from `most` on.

    By default the palest colour is at the smallest: areas differ by less than they share.
    """
    limit = most or colour_limit([row.sd for row in rows])
    if least is None:
        least = min([PALEST * limit, *(row.sd for row in rows)])
    beyond = most or any(row.sd > limit + _rounding(scale) for row in rows)
    pale, dark = map(scale.spread_text, (least, limit))
    ends = (("surer", f"sd {pale}"), ("less sure", f"sd {dark}{' or more' if beyond else ''}"))
    return MapLayer(
        "doubt", "Uncertainty", SURE_TO_UNSURE, ends,
        _fills(rows, SURE_TO_UNSURE, lambda row: (row.sd - least) / ((limit - least) or 1.0)),
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
