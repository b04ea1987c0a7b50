"""Warnings about data and draws, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xarray import DataTree

from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.semiorder import CannotSay, cannot_say
from tiewise.text import some_names

Labels = Mapping[str, str]

FEW_COMPARISONS = 5
ENOUGH_DRAWS = 400
MAX_RHAT = 1.01
CANNOT_SAY: dict[CannotSay, str] = {
    "order": (
        "No answer stands against another: there is no circle (A over B over C over A), so one "
        "order of the items explains all of them, however far apart the items are. The answers "
        "do not say how far apart, or how surely one beats another; that is the prior's word. "
        "Collect more, some about pairs that were compared before, or hold the variance at a "
        "value known from elsewhere."
    ),
    "semiorder": (
        "No answer stands against another: items can be put on a line, far apart where one was "
        "chosen and close together where they tied, and the line can be stretched at will. The "
        "answers say neither how far apart items are nor how wide the tie threshold is; that is "
        "the priors' word. Collect more, some about pairs that were compared before, or hold the "
        "variance at a value known from elsewhere."
    ),
    "ties": (
        "Every answer is a tie: no item was ever chosen over another, so the answers say neither "
        "which is higher nor how wide the tie threshold is; that is the priors' word. Collect "
        "more, and ask about pairs that are likely to differ."
    ),
}


def data_warnings(model: BradleyTerry, names: Mapping[str, str] | None = None) -> list[str]:
    """Warnings about the data, before any fitting.

    Items are shown by name, followed by the id, where `names` has one.
    """
    known = names or {}
    labels = {
        item: f"{known[item]} [{item}]" if known.get(item, item) != item else item
        for item in model.items
    }
    return [
        *_uncompared(model, labels),
        *_rarely_compared(model, labels),
        *_disconnected(model, labels),
        *_undecided(model),
        *_low_rank(model),
    ]


def _low_rank(model: BradleyTerry) -> list[str]:
    """The paper's prior of a dense map leaves next to nothing to tell neighbours apart."""
    if getattr(model.prior, "share", None) != 1 or (factor := model.factor) is None:
        return []
    if factor.shape[1] == model.size and model.precision is not None:
        return []
    rank = factor.shape[1]
    room = "next to no room in some directions" if rank == model.size else f"{rank} directions only"
    return [
        f"The network prior leaves the qualities of {model.size} items {room}: where many items "
        "border one another it takes them to be the same, whatever the answers say. Let the share "
        "of the map be inferred, which is the default."
    ]


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


def _undecided(model: BradleyTerry) -> list[str]:
    """What answers without contradiction leave to the prior."""
    reason = cannot_say(model)
    return [CANNOT_SAY[reason]] if reason else []


def sampling_warnings(tree: DataTree) -> list[str]:
    """Warnings about the draws: too few effective draws, chains that disagree."""
    if tree.attrs["kind"] != "exact":
        return []
    ess, rhat = tree.attrs["ess_min"], tree.attrs["rhat_max"]
    parts = []
    if not rhat < MAX_RHAT:
        parts.append(
            f"The chains do not agree yet (largest R-hat {rhat:.3f}, should be below {MAX_RHAT})."
        )
    if not ess >= ENOUGH_DRAWS:
        parts.append(
            f"The draws are worth only {_whole(ess)} independent ones where they are worth least "
            f"(should be {ENOUGH_DRAWS} or more)."
        )
    return [" ".join([*parts, str(tree.attrs.get("ess_cause", ""))]).strip()] if parts else []


def enough(ess: float, rhat: float) -> bool:
    """Whether draws are worth enough and chains agree."""
    return ess >= ENOUGH_DRAWS and rhat < MAX_RHAT


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
