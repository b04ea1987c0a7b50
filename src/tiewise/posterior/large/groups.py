"""Groups of a fit of very many items: figures of every item, and all draws of what is not quality.

`item_summary` has the columns of items.csv from all draws. `all_draws` has every draw of tie
threshold, variance and other scales, of the log densities, of the highest items, and of the
qualities of watched items. Without these groups `posterior` has all draws itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.engines.stored_draws import StoredDraws
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.large.summary import summarise_stored
from tiewise.posterior.large.watched_items import places, top_counts, watch
from tiewise.posterior.predictions import STRATUM_TERMS
from tiewise.progress import Progress

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SAMPLE = ("chain", "draw")
ITEMS, DRAWS = "item_summary", "all_draws"


def attach_summaries(
    tree: DataTree, model: BradleyTerry, stored: StoredDraws, progress: Progress
) -> None:
    """Add the groups `item_summary` and `all_draws` to the tree of draws that were thinned."""
    # Answers that depend on the judge need more than qualities and one threshold.
    plain = not any(name in stored.terms for name in STRATUM_TERMS)
    tie = stored.tie if plain else None
    columns, figures = summarise_stored(model, stored.quality, tie, progress)
    items = np.array(model.items)
    item = {"item": tree["posterior/item"].to_numpy()}
    summary = {name: (["item"], own.astype(np.float32)) for name, own in columns.items()}
    tree[ITEMS] = DataTree(Dataset(summary, coords=item))
    watched = watch(stored.quality, model.counts.per_item())
    scales = {"level": stored.level, "tie": stored.tie, "variance": stored.variance}
    scales |= {name: own for name, own in stored.terms.items() if own.ndim == len(SAMPLE)}
    values: dict[str, Any] = {name: (SAMPLE, own) for name, own in scales.items()}
    values |= {name: (SAMPLE, own) for name, own in stored.stats.items()}
    values |= {
        "spread": (SAMPLE, figures.spread),
        "highest": ((*SAMPLE, "place"), figures.highest),
        "quality": ((*SAMPLE, "watched"), watched.quality.astype(np.float32)),
    }
    if plain:
        values["judgements"] = (SAMPLE, figures.log_likelihood)
    coords = {
        **{name: np.arange(size) for name, size in zip(SAMPLE, stored.tie.shape, strict=True)},
        "place": np.arange(1, places(model.size) + 1),
        "watched": items[watched.items],
        "position": ("watched", watched.items),
    }
    tree[DRAWS] = DataTree(Dataset(values, coords=coords))
    tree.attrs["kept_one_of"] = int(stored.kept_positions[0]) + 1


def is_thinned(tree: DataTree) -> bool:
    """Whether `posterior` has only some of the draws, and these groups what all of them say."""
    return DRAWS in tree.children


def all_draws(tree: DataTree) -> DataTree:
    """The group with all draws of whatever is one number for each draw."""
    return tree.children[DRAWS if is_thinned(tree) else "posterior"]


class QualityMoments(NamedTuple):
    """Mean and variance of each item's centred quality, and the number of draws they are from."""

    mean: Floats
    variance: Floats
    draws: int


def stored_moments(tree: DataTree) -> QualityMoments | None:
    """Moments of qualities from all draws, where they are stored."""
    if not is_thinned(tree):
        return None
    summary, tie = tree[ITEMS], tree[DRAWS]["tie"]
    mean, sd = (summary[name].to_numpy().astype(np.float64) for name in ("mean", "sd"))
    # As numpy's: over the number of draws, where the standard deviation has one less.
    return QualityMoments(mean, sd**2 * (1 - 1 / tie.size), tie.size)


def quality_means(tree: DataTree) -> Floats:
    """Posterior mean of each item's centred quality."""
    moments = stored_moments(tree)
    if moments is not None:
        return moments.mean
    # Not by xarray, which copies all draws to see whether one is missing.
    out: Floats = tree["posterior/quality"].to_numpy().mean(axis=(0, 1))
    return out


def stored_top_probability(tree: DataTree, top: int) -> Floats | None:
    """Probability of each item to be among the `top` highest, from all draws where they say it."""
    if not is_thinned(tree) or top > tree[DRAWS].sizes["place"]:
        return None
    items, times = top_counts(tree[DRAWS]["highest"].to_numpy())
    out = np.zeros(tree[ITEMS].sizes["item"])
    out[items] = times[:, top - 1] / tree[DRAWS]["tie"].size
    return out


def watched_draws(tree: DataTree, which: Integers | slice = slice(None)) -> tuple[Integers, Floats]:
    """Positions of the watched items, and all or some of their draws (draws, items)."""
    group = tree[DRAWS]
    quality = group["quality"].to_numpy()
    flat = quality.reshape(-1, quality.shape[-1])[which]
    return group["position"].to_numpy(), flat.astype(np.float64)


def summary_columns(tree: DataTree) -> Mapping[str, Floats]:
    """The columns of `item_summary`."""
    return {str(name): own.to_numpy() for name, own in tree[ITEMS].data_vars.items()}
