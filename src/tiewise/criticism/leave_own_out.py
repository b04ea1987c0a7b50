"""Each judge against the posterior without the judge's own answers, by a Gaussian approximation.

A judge's own answers pull the posterior towards them, which among some twenty judges hides part of
a misfit. Fitting again without each judge would take minutes. Here the posterior of the differences
in quality of the judge's pairs is approximated by a Gaussian, the log likelihood of each answer by
a quadratic, and one is subtracted from the other (docs/live.md says how accurate that is).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import grade_probabilities
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEP = 1e-2
"""Step in quality of numerical derivatives."""
REMOVED_SHARE = 0.95
"""Weight with which a judge's answers are removed: where one judge gave all, some must stay."""
BATCH_ENTRIES = 2_000_000
"""Entries of the covariance matrices held in memory at once."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class GaussianPosterior(NamedTuple):
    """A Gaussian approximation: means and covariance of quality, and the threshold δ.

    Of graded answers `cuts` are all of them, the first of which is δ.
    """

    mean: Floats
    covariance: Floats
    tie: float
    cuts: Floats | None = None

    @classmethod
    def at_mode(
        cls, model: BradleyTerry, quality: Floats, tie: float, alpha: float
    ) -> GaussianPosterior:
        """At the mode given α; removing all answers from it leaves the prior exactly."""
        factor = model.factor
        inner = model.negative_hessian(quality, tie).through(factor)
        inner[np.diag_indices(len(inner))] += alpha**-2.0
        spread: Floats = np.linalg.inv(inner).astype(np.float64, copy=False)
        wide: Floats = spread if factor is None else factor @ spread @ factor.T
        return cls(quality, wide, tie)

    @classmethod
    def from_draws(
        cls, quality: Floats, tie: Floats, cuts: Floats | None = None
    ) -> GaussianPosterior:
        """From draws (draws, items), (draws) and (draws, levels), over which α varies, too."""
        centred = quality - quality.mean(axis=1, keepdims=True)
        mean = centred.mean(axis=0)
        centred -= mean
        covariance = centred.T @ centred / max(len(centred) - 1, 1)
        return cls(mean, covariance, float(tie.mean()), None if cuts is None else cuts.mean(axis=0))

    @property
    def levels(self) -> int:
        """How many ways there are to choose an item."""
        return 1 if self.cuts is None else len(self.cuts)

    def probabilities(self, gap: Floats) -> Sequence[Floats]:
        """The probability of each grade at differences of any shape, all for the first first."""
        if self.cuts is None:
            return answer_probabilities(gap, np.asarray(self.tie))
        cuts = self.cuts.reshape(-1, *np.ones(gap.ndim, int))
        return tuple(grade_probabilities(gap, np.broadcast_to(cuts, (self.levels, *gap.shape))))


class Agreement(NamedTuple):
    """How well each judge's answers agree with the posterior of the others; arrays over judges."""

    agreed: Floats
    """Share of decided comparisons in which the item was chosen that the others rate higher."""
    expected: Floats
    """The same share expected of a judge who follows the model."""
    score: Floats
    """Log probability of the answers, less its expectation, in standard deviations."""


class _PairBatch(NamedTuple):
    """Pairs of several judges (judges, pairs), padded; `present` where there is a pair."""

    left: Integers
    right: Integers
    grade: Integers
    present: NDArray[np.bool_]
    removed: Floats


def leave_own_out(
    posterior: GaussianPosterior, judge: Integers, left: Integers, right: Integers,
    grade: Integers, counted: NDArray[np.bool_], *, most: int = 500,
) -> Agreement:  # fmt: skip
    """Agreement of every judge's answers with the posterior of the other judges.

    Rows are in order of judges, who are numbered from 0; `grade` is the position of each answer on
    the scale, with one way to choose an item its code; `counted` says whose answers are in the
    posterior. Of a judge with more than `most` comparisons only the last ones are used.
    """
    out = np.full((3, len(counted)), np.nan)
    for who, rows in _batches(np.bincount(judge, minlength=len(counted)), most):
        present = rows >= 0
        pairs = _PairBatch(
            np.where(present, left[rows], 0), np.where(present, right[rows], 0),
            np.where(present, grade[rows], 0), present,
            np.where(counted[who], REMOVED_SHARE, 0.0)[:, None] * present,
        )  # fmt: skip
        out[:, who] = _agreement(posterior, pairs)
    return Agreement(*out)


def _batches(number: Integers, most: int) -> Iterator[tuple[Integers, Integers]]:
    """Judges with similar numbers of comparisons, and the rows of each, padded with -1.

    `number` are the comparisons of each judge, whose rows are consecutive.
    """
    ends = np.cumsum(number)
    size = np.minimum(number, most)
    order = np.argsort(size, kind="stable")
    order = order[size[order] > 0]
    while len(order):
        # From the largest down; the others of a batch are at least three quarters of its size.
        widest = int(size[order[-1]])
        room = max(BATCH_ENTRIES // widest**2, 1)
        some = order[-room:]
        some = some[size[some] * 4 >= widest * 3]
        order = order[: len(order) - len(some)]
        back = np.arange(widest)
        rows = ends[some][:, None] - 1 - back
        yield some, np.where(back < size[some][:, None], rows, -1)


def _agreement(posterior: GaussianPosterior, pairs: _PairBatch) -> Floats:
    gap, covariance = _without_own(posterior, pairs)
    levels = posterior.levels
    width = np.sqrt(np.maximum(np.einsum("jkk->jk", covariance), 1e-12))
    probability, above, below = (
        _mean_probabilities(posterior, gap + step, width) for step in (0.0, STEP, -STEP)
    )
    slope = (above - below) / (2 * STEP)
    decided = pairs.present & (pairs.grade != levels)
    number = np.maximum(decided.sum(axis=1), 1)
    chosen = np.where(pairs.grade < levels, gap, -gap) > 0
    agreed = (chosen & decided).sum(axis=1) / number
    first, second = (
        probability[..., side].sum(axis=-1) for side in (slice(levels), slice(levels + 1, None))
    )
    sure = np.maximum(first, second) / (first + second)
    expected = (sure * decided).sum(axis=1) / number
    none = ~decided.any(axis=1)
    agreed[none] = expected[none] = np.nan
    return np.stack([agreed, expected, _score(pairs, probability, slope, covariance)])


def _without_own(posterior: GaussianPosterior, pairs: _PairBatch) -> tuple[Floats, Floats]:
    """Differences of each judge's pairs and their covariance, the judge's own answers removed."""
    gap = posterior.mean[pairs.left] - posterior.mean[pairs.right]
    covariance = _covariances(posterior.covariance, pairs)
    up, here, down = (
        _log_probability(posterior, gap + step, pairs.grade) for step in (STEP, 0.0, -STEP)
    )
    slope = pairs.removed * (up - down) / (2 * STEP)
    curvature = pairs.removed * np.maximum(-(up - 2 * here + down) / STEP**2, 0.0)
    root = np.sqrt(curvature)
    inner = -root[:, :, None] * covariance * root[:, None, :]
    inner[:, np.arange(inner.shape[1]), np.arange(inner.shape[1])] += 1.0
    half = covariance * root[:, None, :]
    wider = covariance + half @ np.linalg.solve(inner, half.transpose(0, 2, 1))
    return gap - np.einsum("jkl,jl->jk", wider, slope), wider


def _covariances(covariance: Floats, pairs: _PairBatch) -> Floats:
    """Covariance of the differences of each judge's pairs."""
    flat, size = covariance.ravel(), len(covariance)
    out = np.zeros((*pairs.left.shape, pairs.left.shape[1]))
    for one, sign in ((pairs.left, 1.0), (pairs.right, -1.0)):
        for two, turn in ((pairs.left, sign), (pairs.right, -sign)):
            out += turn * flat[one[:, :, None] * size + two[:, None, :]]
    return out


def _log_probability(posterior: GaussianPosterior, gap: Floats, grade: Integers) -> Floats:
    probability = np.choose(grade, posterior.probabilities(gap))
    return np.log(np.maximum(probability, 1e-300))


def _mean_probabilities(posterior: GaussianPosterior, gap: Floats, width: Floats) -> Floats:
    """Probabilities of grades (..., grades), averaged over the posterior of the gap."""
    total = np.zeros((*gap.shape, 2 * posterior.levels + 1))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        for k, probability in enumerate(posterior.probabilities(gap + node * width)):
            total[..., k] += weight * probability
    return total


def _score(pairs: _PairBatch, probability: Floats, slope: Floats, covariance: Floats) -> Floats:
    """Log probability of the answers, less its mean, in standard deviations.

    Answers vary on their own, and together with the uncertain qualities.
    """
    log = np.log(np.maximum(probability, 1e-300))
    mean = (probability * log).sum(axis=-1)
    own = ((probability * log**2).sum(axis=-1) - mean**2) * pairs.present
    answered = np.take_along_axis(log, pairs.grade[..., None], axis=-1)[..., 0]
    sensitivity = (slope * log).sum(axis=-1) * pairs.present
    shared = np.einsum("jk,jkl,jl->j", sensitivity, covariance, sensitivity)
    shared -= (sensitivity**2 * np.einsum("jkk->jk", covariance)).sum(axis=1)
    variance = np.maximum(own.sum(axis=1) + shared, 1e-9)
    out: Floats = ((answered - mean) * pairs.present).sum(axis=1) / np.sqrt(variance)
    return out
