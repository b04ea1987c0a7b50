"""Warnings about data and draws, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xarray import DataTree

from tiewise.model.bradley_terry import BradleyTerry
from tiewise.text import some_names

Labels = Mapping[str, str]

FEW_COMPARISONS = 5
ENOUGH_DRAWS = 400
MAX_RHAT = 1.01


def data_warnings(
    model: BradleyTerry, names: Mapping[str, str] | None = None, *, variance: bool = True
) -> list[str]:
    """Warnings about the data, before any fitting; about α² only where it is inferred.

    Items are shown by name, followed by the id, where `names` has one.
    """
    known = names or {}
    labels = {
        item: f"{known[item]} [{item}]" if known.get(item, item) != item else item
        for item in model.items
    }
    messages = [
        *_uncompared(model, labels),
        *_rarely_compared(model, labels),
        *_disconnected(model, labels),
    ]
    return [*messages, *_unbounded_variance(model)] if variance else messages


def _uncompared(model: BradleyTerry, labels: Labels) -> list[str]:
    never = [labels[i] for i, n in zip(model.items, model.counts.per_item(), strict=True) if n == 0]
    if not never:
        return []
    return [
        f"{_items(never)} never compared: {_their(never)} estimate comes from the prior alone "
        "(with a network prior, from the neighbours)."
    ]


def _rarely_compared(model: BradleyTerry, labels: Labels) -> list[str]:
    number = model.counts.per_item()
    few = [labels[i] for i, n in zip(model.items, number, strict=True) if 0 < n < FEW_COMPARISONS]
    if not few:
        return []
    return [
        f"{_items(few)} compared fewer than {FEW_COMPARISONS} times: "
        f"read {_their(few)} interval, not rank."
    ]


def _disconnected(model: BradleyTerry, labels: Labels) -> list[str]:
    parts = [part for part in model.counts.components() if len(part) > 1]
    if len(parts) < 2:
        return []
    smaller = "; ".join(some_names([labels[i] for i in part], quotes=False) for part in parts[1:4])
    return [
        f"The comparisons fall into {len(parts)} sets with no comparison between them ({smaller} "
        "apart from the rest): only the prior says how the sets stand to each other."
    ]


def _unbounded_variance(model: BradleyTerry) -> list[str]:
    if model.fixed_variance is not None or not model.unbounded_variance():
        return []
    return [
        "The judgements hold neither ties nor circles (A over B over C over A), so they put no "
        "upper bound on the variance of qualities: its posterior is its prior. Fix it "
        "(--variance 1) or give it a proper prior (--variance-prior 'inverse-gamma(3, 2)')."
    ]


def sampling_warnings(tree: DataTree) -> list[str]:
    """Warnings about the draws: too few effective draws, chains that disagree."""
    if tree.attrs["kind"] != "exact":
        return []
    ess, rhat = tree.attrs["ess_min"], tree.attrs["rhat_max"]
    messages = []
    if not rhat <= MAX_RHAT:
        messages.append(
            f"The chains do not agree yet (largest R-hat {rhat:.3f}, should be below {MAX_RHAT}): "
            "ask for more draws (--draws)."
        )
    if not ess >= ENOUGH_DRAWS:
        messages.append(
            f"The draws are worth only {_whole(ess)} independent ones where they are worth least "
            f"(should be {ENOUGH_DRAWS} or more): ask for more draws (--draws)."
        )
    return messages


def _whole(number: float) -> str:
    return f"{number:.0f}" if np.isfinite(number) else "an unknown number of"


def _items(items: Sequence[str]) -> str:
    return (
        f"{len(items)} items ({some_names(items, quotes=False)}) were"
        if len(items) > 1
        else f"{items[0]} was"
    )


def _their(items: Sequence[str]) -> str:
    return "their" if len(items) > 1 else "its"
