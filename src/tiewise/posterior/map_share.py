"""How much of the differences between items follows the map, and how surely that is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.posterior.large.groups import all_draws
from tiewise.text import probability_percent

Floats = NDArray[np.float64]

# Where differences have this share of their variance or less under the map alone, as on a complete
# graph or a star, ρ and α say the same thing, and nothing can be said of ρ.
SMALLEST_UNEVENNESS = 0.05


UNKNOWN_WIDTH = 0.7  # of an interval that says next to nothing


class MapShare(NamedTuple):
    """Median and 95 % interval of the share of differences that follows the map."""

    low: float
    median: float
    high: float


def map_share_draws(tree: DataTree) -> Floats | None:
    """ρt / (ρt + 1 − ρ) of every draw; None where ρ is not inferred, or not identified."""
    if "share" not in tree["posterior"]:
        return None
    t = float(tree["constant_data/unevenness"])
    if t <= SMALLEST_UNEVENNESS:
        return None
    share = all_draws(tree)["share"].to_numpy()
    out: Floats = share * t / (share * t + 1 - share)
    return out


def map_share(tree: DataTree) -> MapShare | None:
    """The share of differences that follows the map, where that can be said."""
    draws = map_share_draws(tree)
    return None if draws is None else MapShare(*np.quantile(draws, (0.025, 0.5, 0.975)))


def map_share_sentence(tree: DataTree, nouns: str) -> str:
    """What the map has to do with it, in a sentence; empty where its share was not inferred."""
    if "share" not in tree["posterior"]:
        return ""
    share = map_share(tree)
    if share is None:
        return (
            f"How much of the differences between {nouns} follows the map cannot be said: nearly "
            "all of them are neighbours of one another, so that the map tells them apart too "
            "little."
        )
    low, high = probability_percent(share.low), probability_percent(share.high)
    if share.high - share.low > UNKNOWN_WIDTH:
        return (
            f"How much of the differences between {nouns} follows the map is not known yet: "
            f"anything between {low} and {high} agrees with the answers."
        )
    return (
        f"About {probability_percent(share.median)} of the differences between {nouns} follows the "
        f"map (95 % interval {low} to {high}): that much {nouns} have in common with their "
        "neighbours; the rest is their own."
    )
