"""What the other judges say of a judge's pairs: the posterior without the judge's own answers.

A judge's own answers draw the posterior towards them, which among some twenty judges hides part of
what is amiss. Taking them out by a fit for each would take minutes. Here the posterior of the
differences in quality of the judge's pairs is taken to be Gaussian, each answer a quadratic around
its middle, and one subtracted from the other (docs/live.md says how well that works).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.bradley_terry import BradleyTerry, answer_probabilities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEP = 1e-2
"""In quality, for derivatives."""
TAKEN_OUT = 0.95
"""Share of a judge's answers that is taken out: where one judge gave them all, something stays."""
AT_ONCE = 2_000_000
"""Entries of the matrices worked on together."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Belief(NamedTuple):
    """A posterior in short: means and covariance of quality, and the threshold δ."""

    mean: Floats
    covariance: Floats
    tie: float

    @classmethod
    def at_peak(cls, model: BradleyTerry, quality: Floats, tie: float, alpha: float) -> Belief:
        """Around the mode given α, where taking all answers out again leaves just the prior."""
        factor = model.factor
        inner = model.curvature(quality, tie).through(factor)
        inner[np.diag_indices(len(inner))] += alpha**-2.0
        spread: Floats = np.linalg.inv(inner).astype(np.float64, copy=False)
        wide: Floats = spread if factor is None else factor @ spread @ factor.T
        return cls(quality, wide, tie)

    @classmethod
    def of(cls, quality: Floats, tie: Floats) -> Belief:
        """From draws (draws, items) and (draws), of which α is one more thing not known."""
        centred = quality - quality.mean(axis=1, keepdims=True)
        mean = centred.mean(axis=0)
        centred -= mean
        return cls(mean, centred.T @ centred / max(len(centred) - 1, 1), float(tie.mean()))


class Surprise(NamedTuple):
    """How a judge's answers stand to what the others lead to expect; arrays along judges."""

    agreed: Floats
    """Share of decided comparisons in which they chose what the others have higher."""
    expected: Floats
    """The same as it would be for somebody who judges as the others do."""
    score: Floats
    """Log probability of their answers, less what was to be expected, in standard deviations."""


class _Pairs(NamedTuple):
    """Judges side by side, each with as many places for pairs; `there` where there is one."""

    left: Integers
    right: Integers
    answer: Integers
    there: NDArray[np.bool_]
    taken_out: Floats


def surprise(
    belief: Belief, judge: Integers, left: Integers, right: Integers, answer: Integers,
    counted: NDArray[np.bool_], *, most: int = 500,
) -> Surprise:  # fmt: skip
    """How every judge's answers (0 left, 1 equal, 2 right) stand to what the others say.

    Rows are in order of judges, who are numbered from 0; `counted` says which of them the belief
    rests on. Of a judge with more than `most` comparisons the last ones are looked at.
    """
    out = np.full((3, len(counted)), np.nan)
    for who, rows in _batches(np.bincount(judge, minlength=len(counted)), most):
        there = rows >= 0
        pairs = _Pairs(
            np.where(there, left[rows], 0), np.where(there, right[rows], 0),
            np.where(there, answer[rows], 0), there,
            np.where(counted[who], TAKEN_OUT, 0.0)[:, None] * there,
        )  # fmt: skip
        out[:, who] = _looked_at(belief, pairs)
    return Surprise(*out)


def _batches(number: Integers, most: int) -> Iterator[tuple[Integers, Integers]]:
    """Judges of about as many comparisons together, with the rows of each; -1 where there is none.

    `number` are the comparisons of each judge, whose rows follow each other.
    """
    ends = np.cumsum(number)
    size = np.minimum(number, most)
    order = np.argsort(size, kind="stable")
    order = order[size[order] > 0]
    while len(order):
        # From the largest down; the others of a batch are at least three quarters of its size.
        widest = int(size[order[-1]])
        room = max(AT_ONCE // widest**2, 1)
        some = order[-room:]
        some = some[size[some] * 4 >= widest * 3]
        order = order[: len(order) - len(some)]
        back = np.arange(widest)
        rows = ends[some][:, None] - 1 - back
        yield some, np.where(back < size[some][:, None], rows, -1)


def _looked_at(belief: Belief, pairs: _Pairs) -> Floats:
    gap, spread = _without_own(belief, pairs)
    tie = belief.tie
    width = np.sqrt(np.maximum(np.einsum("jkk->jk", spread), 1e-12))
    chance = _chances(gap, width, tie)
    lean = (_chances(gap + STEP, width, tie) - _chances(gap - STEP, width, tie)) / (2 * STEP)
    decided = pairs.there & (pairs.answer != 1)
    number = np.maximum(decided.sum(axis=1), 1)
    chosen = np.where(pairs.answer == 0, gap, -gap) > 0
    agreed = (chosen & decided).sum(axis=1) / number
    sure = np.maximum(chance[..., 0], chance[..., 2]) / (chance[..., 0] + chance[..., 2])
    expected = (sure * decided).sum(axis=1) / number
    none = ~decided.any(axis=1)
    agreed[none] = expected[none] = np.nan
    return np.stack([agreed, expected, _score(pairs, chance, lean, spread)])


def _without_own(belief: Belief, pairs: _Pairs) -> tuple[Floats, Floats]:
    """Differences of each judge's pairs and their covariance, the judge's own answers taken out."""
    gap = belief.mean[pairs.left] - belief.mean[pairs.right]
    spread = _covariances(belief.covariance, pairs)
    up, here, down = (
        _log_chance(gap + step, belief.tie, pairs.answer) for step in (STEP, 0.0, -STEP)
    )
    slope = pairs.taken_out * (up - down) / (2 * STEP)
    bend = pairs.taken_out * np.maximum(-(up - 2 * here + down) / STEP**2, 0.0)
    root = np.sqrt(bend)
    inner = -root[:, :, None] * spread * root[:, None, :]
    inner[:, np.arange(inner.shape[1]), np.arange(inner.shape[1])] += 1.0
    half = spread * root[:, None, :]
    wider = spread + half @ np.linalg.solve(inner, half.transpose(0, 2, 1))
    return gap - np.einsum("jkl,jl->jk", wider, slope), wider


def _covariances(covariance: Floats, pairs: _Pairs) -> Floats:
    """Covariance of the differences of each judge's pairs."""
    flat, size = covariance.ravel(), len(covariance)
    out = np.zeros((*pairs.left.shape, pairs.left.shape[1]))
    for one, sign in ((pairs.left, 1.0), (pairs.right, -1.0)):
        for two, turn in ((pairs.left, sign), (pairs.right, -sign)):
            out += turn * flat[one[:, :, None] * size + two[:, None, :]]
    return out


def _log_chance(gap: Floats, tie: float, answer: Integers) -> Floats:
    chance = np.choose(answer, answer_probabilities(gap, np.asarray(tie)))
    return np.log(np.maximum(chance, 1e-300))


def _chances(gap: Floats, width: Floats, tie: float) -> Floats:
    """Chances of left, equal and right (..., 3), averaged over what is not known of the gap."""
    total = np.zeros((*gap.shape, 3))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        answers = answer_probabilities(gap + node * width, np.asarray(tie))
        for k, chance in enumerate(answers):
            total[..., k] += weight * chance
    return total


def _score(pairs: _Pairs, chance: Floats, lean: Floats, spread: Floats) -> Floats:
    """Log probability of the answers, less its mean, in standard deviations.

    Answers vary by themselves, and together with what is not known of the qualities.
    """
    log = np.log(np.maximum(chance, 1e-300))
    mean = (chance * log).sum(axis=-1)
    own = ((chance * log**2).sum(axis=-1) - mean**2) * pairs.there
    said = np.take_along_axis(log, pairs.answer[..., None], axis=-1)[..., 0]
    pull = (lean * log).sum(axis=-1) * pairs.there
    shared = np.einsum("jk,jkl,jl->j", pull, spread, pull)
    shared -= (pull**2 * np.einsum("jkk->jk", spread)).sum(axis=1)
    variance = np.maximum(own.sum(axis=1) + shared, 1e-9)
    out: Floats = ((said - mean) * pairs.there).sum(axis=1) / np.sqrt(variance)
    return out
