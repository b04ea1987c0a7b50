"""Colours and palettes of maps and plots, on a page as in a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOW_TO_HIGH = (
    "#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7",
    "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f",
)  # fmt: skip
"""Blue through white to red: lower than the average, average, higher."""

ONE_TO_OTHER = (
    "#2d004b", "#542788", "#8073ac", "#b2abd2", "#d8daeb", "#f7f7f7",
    "#fee0b6", "#fdb863", "#e08214", "#b35806", "#7f3b08",
)  # fmt: skip
"""Purple through white to orange: one group places it higher, neither does, the other does."""

SURE_TO_UNSURE = (
    "#fcfbfd", "#efedf5", "#dadaeb", "#bcbddc", "#9e9ac8", "#807dba", "#6a51a3", "#54278f",
)  # fmt: skip
UNLIKELY_TO_CERTAIN = (
    "#fff5f0", "#fee0d2", "#fcbba1", "#fc9272", "#fb6a4a", "#ef3b2c", "#cb181d", "#99000d",
)  # fmt: skip
UNKNOWN = "#d9dce1"
OUTSIDE = "#dce6ee"
"""Sea and land around a map: not the white of an average."""

SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#a08a00",
)  # fmt: skip
"""For several lines or chains, each of its own colour."""

HIGH, LOW, NEUTRAL = "#b2182b", "#2166ac", "#6b6b6b"  # above the average, below it, neither
INK, MUTED, EDGE, GRID = "#222222", "#595959", "#8c8c8c", "#e6e6e6"
EXPECTED, PRIOR = "#c9d7e8", "#a04a00"  # an interval that a model expects; a prior's density


def interpolate(ramp: Sequence[str], positions: Floats) -> list[str]:
    """Colours at positions from 0 to 1 along a ramp, and `UNKNOWN` for what is not a number."""
    stops = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in ramp])
    places = np.linspace(0, 1, len(stops))
    channels = [np.interp(positions, places, stops[:, k]) for k in range(3)]
    return [
        UNKNOWN if np.isnan(position) else "#" + "".join(f"{round(part):02x}" for part in parts)
        for position, *parts in zip(positions, *channels, strict=True)
    ]


def blend(one: str, other: str, share: float) -> str:
    """A mixture of two colours, with this share of the other."""
    return interpolate((one, other), np.array([share]))[0]
