"""The colours of maps, on a page as in a picture."""

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


def along(ramp: Sequence[str], shares: Floats) -> list[str]:
    """Colours on a ramp from 0 to 1, and grey for what is not a number."""
    stops = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in ramp])
    places = np.linspace(0, 1, len(stops))
    mixed = [np.interp(shares, places, stops[:, k]) for k in range(3)]
    return [
        UNKNOWN if np.isnan(share) else "#" + "".join(f"{round(part):02x}" for part in parts)
        for share, *parts in zip(shares, *mixed, strict=True)
    ]
