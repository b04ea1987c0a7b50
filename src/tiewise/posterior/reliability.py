"""Scale separation reliability (SSR), and how many more comparisons reach a target."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from math import ceil, floor, inf, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import CHOOSE_OR_TIE
from tiewise.text import rounded_down

if TYPE_CHECKING:
    from xarray import DataTree

Floats = NDArray[np.float64]

BATCH = 32  # items processed together


def reliability(quality: Floats) -> float:
    """Scale separation reliability (SSR) from draws (draws, items): 0 to 1, whatever the draws.

    The share of the variance of quality that is known: the variance of posterior means over that
    and the mean posterior variance, both of centred quality (docs/live.md). 0 of a single item, and
    where qualities do not differ.
    """
    level = quality.mean(axis=1, keepdims=True)
    # Some items at a time: a copy of every draw of a thousand items is large.
    parts = (quality[:, k : k + BATCH] - level for k in range(0, quality.shape[1], BATCH))
    means, variances = zip(*((part.mean(axis=0), part.var(axis=0)) for part in parts), strict=True)
    return known_share(np.concatenate(means), np.concatenate(variances), len(quality))


def known_share(mean: Floats, variance: Floats, draws: int) -> float:
    """Scale separation reliability from means and variances of so many draws of quality."""
    known, unknown = float(mean.var()), float(variance.mean())
    # The mean of some draws is off by Monte Carlo error, which looks like knowledge.
    known = max(known - unknown / draws, 0.0)
    return known / (known + unknown) if known + unknown > 0 else 0.0


def scale_separation(estimate: Floats, error: Floats) -> float:
    """The classical SSR, from estimates without a prior and their standard errors: 0 to 1.

    The share of the variance of estimates that is not error; 0 of a single item, and where errors
    explain all differences. NaN where an estimate or an error is not finite.
    """
    if not (np.isfinite(estimate).all() and np.isfinite(error).all()):
        return float("nan")
    spread = float(np.var(estimate, ddof=1)) if len(estimate) > 1 else 0.0
    return max(1 - float(np.mean(error**2)) / spread, 0.0) if spread > 0 else 0.0


def reliability_facts(tree: DataTree) -> dict[str, Any]:
    """`ssr`, and of split halves `split_half`, its `low` and `high` end, `splits`, or why not.

    `ssr` is None only where a point estimate has no finite standard errors.
    """
    halves = json.loads(tree.attrs.get("split_half", "{}"))
    ssr = _ssr(tree)
    return {
        "ssr": round(ssr, 4) if np.isfinite(ssr) else None,
        "split_half": halves.get("reliability"),
        "split_half_low": halves.get("low"),
        "split_half_high": halves.get("high"),
        "splits": halves.get("splits", 0),
        "split_half_left_out": halves.get("left_out", ""),
    }


def _ssr(tree: DataTree) -> float:
    # Here, because the site's pages import this module and need no draws.
    from tiewise.posterior.large.groups import stored_moments

    moments = stored_moments(tree)
    if moments is not None:
        return known_share(*moments)
    quality = tree["posterior/quality"].to_numpy()
    if tree.attrs["kind"] != "point":
        return reliability(quality.reshape(-1, quality.shape[-1]))
    return scale_separation(quality[0, 0], tree["constant_data/standard_error"].to_numpy())


def more_needed(reached: float, comparisons: int, target: float) -> float:
    """About how many more comparisons bring the reliability reached to the target; inf if unknown.

    By Spearman and Brown: the odds of reliability grow in proportion to comparisons.
    """
    if reached >= target:
        return 0.0
    if reached <= 0 or target >= 1:
        return inf
    return comparisons * (target / (1 - target) / (reached / (1 - reached)) - 1)


class StoppingAdvice(NamedTuple):
    """Whether the comparisons are enough, in a sentence, and about how many are missing."""

    enough: bool
    sentence: str
    more: int | None
    """0 where they are enough, None where it is not known yet."""


def stopping_advice(body: Mapping[str, Any] | None, *, target: float) -> StoppingAdvice:
    """Whether to go on collecting judgements, from the body of a snapshot."""
    if body is None:
        return StoppingAdvice(False, "Not yet: there are no comparisons.", None)
    comparisons = sum(body["answers"][answer.stored] for answer in CHOOSE_OR_TIE.grades)
    items, reached = len(body["items"]), float(body["reliability"])
    sets = _sets(body["part"])
    if comparisons < items:
        few = "1 comparison is" if comparisons == 1 else f"{comparisons} comparisons are"
        return StoppingAdvice(
            False,
            f"Not yet, and too early to say how many more: {few} few for {items} items.",
            None,
        )
    if sets > 1:
        return StoppingAdvice(
            False,
            f"Not yet: the items fall into {sets} sets that nobody has compared with each other, "
            "so how the sets stand to each other is not known.",
            None,
        )
    if reached >= target:
        return StoppingAdvice(
            True,
            f"Enough: reliability is {rounded_down(reached)}, "
            f"and {rounded_down(target)} was wanted.",
            0,
        )
    more = more_needed(reached, comparisons, target)
    now = f"reliability is {rounded_down(reached)}, and {rounded_down(target)} is wanted"
    if not more < 100 * comparisons:
        return StoppingAdvice(False, f"Not yet, and too early to say how many more: {now}.", None)
    number = rounded(more)
    ones = f"comparison{'s'[: number != 1]}"
    return StoppingAdvice(False, f"Not yet: {now}; about {number:,} more {ones}.", number)


def rounded(number: float) -> int:
    """Rounded up to two significant digits: 4,213 is 4,300."""
    # With a tolerance: 1,200.0000002 is 1,200.
    unit: int = 10 ** max(floor(log10(max(number, 1))) - 1, 0)
    return max(ceil(number / unit - 1e-6), 1) * unit


def _sets(part: list[int]) -> int:
    """The number of connected sets of two or more items."""
    return sum(size > 1 for size in Counter(part).values())
