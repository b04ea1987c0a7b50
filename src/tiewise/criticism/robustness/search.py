"""The search for few answers, or judges, without which a conclusion no longer holds.

Influence proposes (the approximate maximum influence perturbation of Broderick, Giordano and Meager
2020, here from posterior draws), and a fit without what was proposed confirms. What comes back is
therefore enough, but need not be the fewest: it is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.criticism.robustness.conclusion import Conclusion, Contrast
from tiewise.criticism.robustness.refits import FitWithout, Refits, effects
from tiewise.criticism.robustness.removable import Removable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TRIED_CONTRASTS = 3
"""Differences of a conclusion that are searched, those first that should take the fewest."""
CANDIDATES = 400
"""Columns with the largest influence on a difference, among which the search chooses."""
SINGLY = 10
"""Up to so many to come they are left out one at a time, beyond it a third of them together."""
SMALL = 3
"""Sets of up to so many are also proposed by weighing all of them against each other."""
MOST_SETS = 1000
PROPOSALS = {"answers": 3, "judges": 12}
"""How many of these are fitted, the most promising first."""
SLACK = {"answers": 0.1, "judges": np.inf}
"""Posterior standard deviations that a proposal may lack by weights, which say little of judges."""
COLUMNS = 500
"""Columns whose first effects are computed together."""
MOST_VALUES = 50_000_000
"""Log likelihoods that are computed for all of them: of many columns from fewer draws."""


class Removal(NamedTuple):
    """How many of each column are left out, and the difference that has turned without them."""

    amounts: Integers
    turned: Contrast

    @property
    def number(self) -> int:
        """How many answers or judges."""
        return int(self.amounts.sum())


class Target(NamedTuple):
    """A difference, the columns with the largest influence on it, and how many it should take."""

    contrast: Contrast
    columns: Integers
    predicted: float


def smallest_removal(
    refits: Refits,
    whole: FitWithout,
    conclusion: Conclusion,
    limit: int,
    differences: Sequence[Target] | None = None,
) -> Removal | None:
    """The fewest that the search comes upon, confirmed by a fit; None where `limit` do not do.

    `differences` are those of `targets`, where they are known.
    """
    if differences is None:
        (differences,) = targets(whole, [conclusion], refits.removable)
    best: Removal | None = None
    for target in differences[:TRIED_CONTRASTS]:
        most = limit if best is None else best.number - 1
        removal = _greedy(refits, whole, conclusion, target, most) if most else None
        best = best if removal is None else _shrunk(refits, whole, conclusion, target, removal)
    return best


def targets(
    whole: FitWithout, conclusions: list[Conclusion], removable: Removable
) -> list[list[Target]]:
    """For each conclusion its differences, those first that should take the fewest to turn."""
    contrasts = [conclusion.contrasts(whole.mean) for conclusion in conclusions]
    flat = [contrast for own in contrasts for contrast in own]
    effect = _first_effects(whole, flat, removable)
    made = iter(
        _target(contrast, float(contrast.of(whole.mean)), row, removable.capacity)
        for contrast, row in zip(flat, effect, strict=True)
    )
    return [sorted((next(made) for _ in own), key=lambda one: one.predicted) for own in contrasts]


def _first_effects(whole: FitWithout, contrasts: list[Contrast], removable: Removable) -> Floats:
    """Effects (contrasts, columns) of leaving out one of each column, some columns at a time."""
    number = len(removable.capacity)
    step = max(len(whole.draws) * number // MOST_VALUES, 1)
    draws = whole.draws.select(slice(None, None, step))
    gaps = np.stack([contrast.of(draws.quality) for contrast in contrasts])
    centred = (gaps - gaps.mean(axis=1, keepdims=True)) / len(draws)
    parts = [
        -(centred @ removable.log_likelihood(draws, np.arange(k, min(k + COLUMNS, number))))
        for k in range(0, number, COLUMNS)
    ]
    return np.concatenate(parts, axis=1)


def _target(contrast: Contrast, gap: float, effect: Floats, capacity: Integers) -> Target:
    columns = np.argsort(effect, kind="stable")[:CANDIDATES]
    return Target(contrast, columns, _predicted_number(gap, effect, capacity))


def _predicted_number(gap: float, effect: Floats, room: Integers) -> float:
    """How many it takes, to first order, until a difference is negative; infinity where never."""
    order = np.argsort(effect, kind="stable")
    order = order[(effect[order] < 0) & (room[order] > 0)]
    after = gap + np.cumsum(effect[order] * room[order])
    if not len(order) or after[-1] >= 0:
        return np.inf
    last = int(np.argmax(after < 0))
    before = gap if last == 0 else after[last - 1]
    return float(room[order[:last]].sum() + np.floor(before / -effect[order[last]]) + 1)


# From nothing left out to a set that is enough.


def _greedy(
    refits: Refits, base: FitWithout, conclusion: Conclusion, target: Target, limit: int
) -> Removal | None:
    """Leave out whatever moves the difference most, until a fit confirms that it has turned."""
    columns, removable = target.columns, refits.removable
    amounts = base.amounts.copy()
    likelihood = removable.log_likelihood(base.draws, columns)
    while True:
        beyond = (amounts - base.amounts)[columns]
        now = effects(base, target.contrast, likelihood, beyond)
        full = int(amounts.sum()) >= limit
        if beyond.any() and (now.gap < 0 or full or not now.trusted):
            base = refits.without(amounts.copy())
            turned = base.overturns(conclusion)
            if turned is not None:
                return Removal(base.amounts, turned)
            likelihood = removable.log_likelihood(base.draws, columns)
            now = effects(base, target.contrast, likelihood, np.zeros_like(beyond))
        room = (removable.capacity - amounts)[columns]
        more = _more(now.gap, now.effect, room, limit - int(amounts.sum()))
        if not more.any():
            return None
        amounts[columns] += more


def _more(gap: float, effect: Floats, room: Integers, most: int) -> Integers:
    """How many more of each column to leave out: one, or a third of what it should take."""
    predicted = min(_predicted_number(max(gap, 0.0), effect, room), float(room.sum()))
    number = min(1 if predicted <= SINGLY else int(np.ceil(predicted / 3)), most)
    out = np.zeros_like(room)
    for column in np.argsort(effect, kind="stable"):
        if number <= 0 or effect[column] >= 0:
            break
        out[column] = min(int(room[column]), number)
        number -= int(out[column])
    return out


# From that set to a smaller one.


def _shrunk(
    refits: Refits, whole: FitWithout, conclusion: Conclusion, target: Target, removal: Removal
) -> Removal:
    """Smaller sets for as long as a fit confirms one of those proposed."""
    while removal.number > 1:
        smaller = _first_confirmed(
            refits, conclusion, _proposals(refits, whole, target, removal, removal.number - 1)
        )
        if smaller is None:
            break
        removal = smaller
    return removal


def _first_confirmed(
    refits: Refits, conclusion: Conclusion, proposals: Iterator[Integers]
) -> Removal | None:
    for amounts in proposals:
        turned = refits.without(amounts).overturns(conclusion)
        if turned is not None:
            return Removal(amounts, turned)
    return None


def _proposals(
    refits: Refits, whole: FitWithout, target: Target, removal: Removal, size: int
) -> Iterator[Integers]:
    """Sets of one less that may be enough: the last one without its weakest, and all small sets."""
    if size <= SMALL:
        yield from _small_sets(refits.removable, whole, target, size)
        return
    base = refits.without(removal.amounts)
    own = np.flatnonzero(removal.amounts)
    likelihood = refits.removable.log_likelihood(base.draws, own)
    effect = effects(base, target.contrast, likelihood, np.zeros(len(own), np.int64)).effect
    amounts = removal.amounts.copy()
    amounts[own[int(effect.argmax())]] -= 1
    yield amounts


def _small_sets(
    removable: Removable, whole: FitWithout, target: Target, size: int
) -> Iterator[Integers]:
    """The sets of this size with the smallest difference, by weighted draws."""
    draws = target.contrast.of(whole.draws.quality)
    likelihood = removable.log_likelihood(whole.draws, target.columns)
    shift = float(target.contrast.of(whole.mean)) - draws.mean()
    singly = np.argsort(_weighted_means(likelihood, draws), kind="stable")
    capacity = removable.capacity[target.columns]
    sets = [
        own
        for own in combinations_with_replacement(singly[: _pool(len(singly), size)], size)
        if all(own.count(column) <= capacity[column] for column in own)
    ]
    together = np.stack([likelihood[:, list(own)].sum(axis=1) for own in sets], axis=1)
    gap = shift + _weighted_means(together, draws)
    for k in np.argsort(gap, kind="stable")[: PROPOSALS[removable.unit]]:
        if gap[k] < SLACK[removable.unit] * draws.std():
            amounts = np.zeros_like(removable.capacity)
            np.add.at(amounts, target.columns[list(sets[k])], 1)
            yield amounts


def _weighted_means(log_likelihood: Floats, draws: Floats) -> Floats:
    """Means of draws, weighted by the inverse likelihoods (draws, sets), one set at a time."""
    weight = np.exp(log_likelihood.min(axis=0) - log_likelihood)
    return np.asarray(draws @ weight / weight.sum(axis=0))


def _pool(columns: int, size: int) -> int:
    """From how many columns all sets of a size are at most `MOST_SETS`."""
    pool = columns if size == 1 else {2: 44, 3: 17}[size]
    return min(pool, columns)
