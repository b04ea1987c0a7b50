"""What a person should know before leaning on a result, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xarray import DataTree

from tiewise.model.bradley_terry import BradleyTerry

Labels = Mapping[str, str]

FEW = 5
ENOUGH_DRAWS = 400
MIXED = 1.01


def data_cautions(
    model: BradleyTerry, names: Mapping[str, str] | None = None, *, variance: bool = True
) -> list[str]:
    """Cautions that the data give before any fitting; those of α² where it is inferred.

    Items are spoken of by name, with the id behind it, where `names` knows one.
    """
    known = names or {}
    labels = {
        item: f"{known[item]} [{item}]" if known.get(item, item) != item else item
        for item in model.items
    }
    said = [*_uncompared(model, labels), *_thin(model, labels), *_apart(model, labels)]
    return [*said, *_unbounded(model)] if variance else said


def _uncompared(model: BradleyTerry, labels: Labels) -> list[str]:
    never = [labels[i] for i, n in zip(model.items, model.counts.per_item(), strict=True) if n == 0]
    if not never:
        return []
    return [
        f"{_items(never)} never compared: {_their(never)} estimate comes from the prior alone "
        "(with a network prior, from the neighbours)."
    ]


def _thin(model: BradleyTerry, labels: Labels) -> list[str]:
    told = model.counts.per_item()
    few = [labels[i] for i, n in zip(model.items, told, strict=True) if 0 < n < FEW]
    if not few:
        return []
    return [
        f"{_items(few)} compared fewer than {FEW} times: read {_their(few)} interval, not rank."
    ]


def _apart(model: BradleyTerry, labels: Labels) -> list[str]:
    parts = [part for part in model.counts.components() if len(part) > 1]
    if len(parts) < 2:
        return []
    smaller = "; ".join(_names([labels[i] for i in part]) for part in parts[1:4])
    return [
        f"The comparisons fall into {len(parts)} sets with no comparison between them ({smaller} "
        "apart from the rest): only the prior says how the sets stand to each other."
    ]


def _unbounded(model: BradleyTerry) -> list[str]:
    if model.fixed_variance is not None or not model.unbounded_variance():
        return []
    return [
        "The judgements hold neither ties nor circles (A over B over C over A), so they put no "
        "upper bound on the variance of qualities: its posterior is its prior. Fix it "
        "(--variance 1) or give it a proper prior (--variance-prior 'inverse-gamma(3, 2)')."
    ]


def draw_cautions(tree: DataTree) -> list[str]:
    """Cautions that the draws give: too few effective draws, chains that disagree."""
    if tree.attrs["kind"] != "exact":
        return []
    ess, rhat = tree.attrs["ess_min"], tree.attrs["rhat_max"]
    said = []
    if not rhat <= MIXED:
        said.append(
            f"The chains do not agree yet (largest R-hat {rhat:.3f}, should be below {MIXED}): "
            "ask for more draws (--draws)."
        )
    if not ess >= ENOUGH_DRAWS:
        said.append(
            f"The draws are worth only {_whole(ess)} independent ones where they are worth least "
            f"(should be {ENOUGH_DRAWS} or more): ask for more draws (--draws)."
        )
    return said


def _whole(number: float) -> str:
    return f"{number:.0f}" if np.isfinite(number) else "an unknown number of"


def _names(items: Sequence[str], most: int = 5) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def _items(items: Sequence[str]) -> str:
    return f"{len(items)} items ({_names(items)}) were" if len(items) > 1 else f"{items[0]} was"


def _their(items: Sequence[str]) -> str:
    return "their" if len(items) > 1 else "its"
