"""Replicated answers: statistics of observed answers, and of answers simulated from a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.data.answers import TIE, grade_scores
from tiewise.model.kernels import compiled, inlined
from tiewise.posterior.judgement_record import (
    JudgementRecord,
    JudgementTable,
    fitted_judgements,
    fitted_judgements_by_stratum,
    fitted_strata,
)
from tiewise.posterior.large.groups import is_thinned, quality_means
from tiewise.posterior.predictions import PosteriorDraws, has_strata, replicate_answers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_JUDGEMENTS = 30_000
"""Judgements used: of more, a random sample of this size."""
MAX_PROBABILITIES = 300_000
"""Of answers, held in memory at once: few, because there are several arrays of as many."""
MIN_TRIADS, MAX_ITEMS = 10, 600
BINS, MIN_IN_BIN = 8, 25


class ObservedAnswers(NamedTuple):
    """The observed answers, and facts that do not change from draw to draw."""

    table: JudgementTable
    stratum: Integers | None
    items: int
    judges: int
    sides: bool
    ties: bool
    bins: Integers
    centres: Floats
    cells: Integers
    """The judge and item of each answer, numbered: of all left items, then of all right ones."""
    grade: Integers
    """The position of each answer on the scale; with one way to choose an item its code."""
    scores: Floats
    """The score of each position for the left item, from 1 to 0."""
    bins_by_draw: bool = False
    """Whether every draw has bins by its own differences.

    Of very many items each is known from a few answers. Where these were ties, estimates lie close
    together, and bins by estimates would hold more ties than any replicate.
    """

    @property
    def levels(self) -> int:
        """How many ways there are to choose an item, which is also the position of a tie."""
        return len(self.scores) // 2


class Statistics(NamedTuple):
    """Statistics of one set of answers; or of many, stacked."""

    share: Any
    """Share of ties in each bin of differences in quality."""
    circular: Any
    left: Any
    wins: Any
    judges: Any
    strength: Any
    """Mean strength of answers in each bin, then of each judge; empty unless there are grades."""
    judge_strength: Any


class Discrepancies(NamedTuple):
    """Distances of answers from their expectation at one draw; or at many draws, stacked."""

    ties: Any
    wins: Any
    judges: Any
    agreement: Any
    strength: Any
    judge_strength: Any


class CheckInputs(NamedTuple):
    """What a check is computed from: observed and replicated statistics and discrepancies."""

    data: ObservedAnswers
    observed: Statistics
    replicated: Statistics
    observed_discrepancy: Discrepancies
    replicated_discrepancy: Discrepancies


def observed_answers(tree: DataTree, rng: Generator, most: int | None = None) -> ObservedAnswers:
    """The judgements of a fit, or `most` of them, and their bins by difference in quality."""
    table, stratum, judges, sides = _observed(tree)
    most = MAX_JUDGEMENTS if most is None else most
    if len(table.left) > most:
        some = np.sort(rng.choice(len(table.left), most, replace=False))
        table, stratum = table.where(some), None if stratum is None else stratum[some]
    mean = quality_means(tree)
    gap = np.abs(mean[table.left] - mean[table.right])
    bins, centres = _bins(gap)
    ties = bool((tree["posterior/tie"] > 0).any())
    cells = table.judge * len(mean) + np.stack([table.left, table.right])
    cells = np.unique(cells, return_inverse=True)[1].ravel()
    levels = tree["posterior"].sizes.get("strength", 1)
    return ObservedAnswers(
        table, stratum, len(mean), judges, sides, ties, bins, centres, cells,
        table.grades(levels), grade_scores(levels, ties=ties), is_thinned(tree),
    )  # fmt: skip


def _bins(gap: Floats) -> tuple[Integers, Floats]:
    """Bins of differences in quality, equal numbers of answers in each; and their centres."""
    number = int(np.clip(len(gap) // MIN_IN_BIN, 1, BINS))
    # Sorted once, so that equal gaps are not split at random.
    order = np.argsort(gap, kind="stable")
    bins = np.empty(len(gap), np.int64)
    bins[order] = np.arange(len(gap)) * number // max(len(gap), 1)
    centres = np.bincount(bins, gap, number) / np.maximum(np.bincount(bins, minlength=number), 1)
    return bins, centres


def _observed(tree: DataTree) -> tuple[JudgementTable, Integers | None, int, bool]:
    """Judgements, their strata if those matter, the number of judges, and if sides have a meaning.

    Without a record that names them, a model with terms has strata and sides in its counts; strata
    are judges only where judges have terms of their own.
    """
    stored = JudgementRecord.from_tree(tree)
    if stored is not None and (stored.stratum is not None or "order" in tree["posterior"]):
        return _recorded(tree, stored)
    if has_strata(tree):
        table, posterior = fitted_judgements_by_stratum(tree), tree["posterior"]
        judges = posterior.sizes.get("judge", 0)
        return table, fitted_strata(tree), judges, "order" in posterior
    record = JudgementRecord.from_tree(tree)
    judges = len(record.judges) if record is not None else 0
    return fitted_judgements(tree), None, judges, record is not None and record.has_sides


def _recorded(
    tree: DataTree, record: JudgementRecord
) -> tuple[JudgementTable, Integers | None, int, bool]:
    """The same of a model with terms whose record holds the stratum of each judgement."""
    table, stratum = record.compared, record.compared_stratum
    if stratum is None:
        stratum = np.zeros(len(table.left), np.int64)
    if not tree["observed_data/ties"].sum() > 0:
        decided = table.answer != TIE
        table, stratum = table.where(decided), stratum[decided]
    return table, stratum, len(record.judges), record.has_sides


def replicate(data: ObservedAnswers, draws: PosteriorDraws, rng: Generator) -> CheckInputs:
    """Statistics and discrepancies of the observed answers, and of answers from every draw."""
    table, observed = data.table, data.grade
    discrepancies: list[Discrepancies] = []
    replicated: list[tuple[Statistics, Discrepancies]] = []
    binned: list[tuple[Floats, Floats, Floats]] = []
    for part in draws.batches(len(observed), MAX_PROBABILITIES):
        probability = part.grade_probabilities(table.left, table.right, data.stratum)
        answers = replicate_answers(probability, rng)
        for k in range(len(part)):
            at_draw, own = probability[:, k], _at_draw(data, part.quality[k])
            discrepancies.append(_discrepancies(own, observed, at_draw))
            replicated.append(
                (_statistics(own, answers[k]), _discrepancies(own, answers[k], at_draw))
            )
            if data.bins_by_draw:
                binned.append((own.centres, *_by_difference(own, observed)))
    statistics, distances = (_stacked(column) for column in zip(*replicated, strict=True))
    actual = _statistics(data, observed)
    if data.bins_by_draw:
        columns = (np.mean(column, axis=0) for column in zip(*binned, strict=True))
        centres, share, strength = columns
        data, actual = (
            data._replace(centres=centres),
            actual._replace(share=share, strength=strength),
        )
    return CheckInputs(
        data,
        Statistics(*(np.asarray(column)[None] for column in actual)),
        Statistics(*statistics),
        Discrepancies(*_stacked(discrepancies)),
        Discrepancies(*distances),
    )


def _at_draw(data: ObservedAnswers, quality: Floats) -> ObservedAnswers:
    """The observed answers with bins by the qualities of one draw, where that is how it is."""
    if not data.bins_by_draw:
        return data
    table = data.table
    bins, centres = _bins(np.abs(quality[table.left] - quality[table.right]))
    return data._replace(bins=bins, centres=centres)


def _statistics(data: ObservedAnswers, grade: Integers) -> Statistics:
    table, tied, score = data.table, grade == data.levels, data.scores[grade]
    left = float((grade[~tied] < data.levels).mean()) if not tied.all() else np.nan
    wins = np.bincount(table.left, score, data.items)
    wins += np.bincount(table.right, 1 - score, data.items)
    (share, strength), judges = _by_difference(data, grade), max(data.judges, 1)
    judge_strength = np.empty(0)
    if data.levels > 1:
        judge_strength = _means(table.judge, _strengths(data, grade), judges)
    return Statistics(
        share, circular_share(data, grade), left, wins, _means(table.judge, tied, judges),
        strength, judge_strength,
    )  # fmt: skip


def _by_difference(data: ObservedAnswers, grade: Integers) -> tuple[Floats, Floats]:
    """The share of ties in each bin, and the mean strength where there are grades."""
    bins = len(data.centres)
    strength = np.empty(0)
    if data.levels > 1:
        strength = _means(data.bins, _strengths(data, grade), bins)
    return _means(data.bins, grade == data.levels, bins), strength


def _strengths(data: ObservedAnswers, grade: Integers) -> Integers:
    """How strongly an item was chosen in each answer, 0 where neither was."""
    return np.abs(grade - data.levels)


def _means(group: Integers, values: NDArray[Any], size: int) -> Floats:
    """The mean over each group."""
    number = np.bincount(group, minlength=size)
    out: Floats = np.bincount(group, values, minlength=size) / np.maximum(number, 1)
    return out


def _discrepancies(data: ObservedAnswers, grade: Integers, probability: Floats) -> Discrepancies:
    table = data.table
    tied, score = _residuals(grade, probability, data.scores)
    both = np.concatenate([table.left, table.right])
    strength = judge_strength = 0.0
    if data.levels > 1:
        own = _strength_residuals(grade, probability)
        strength, judge_strength = _chi_square(data.bins, *own), _chi_square(table.judge, *own)
    return Discrepancies(
        _chi_square(data.bins, *tied), _chi_square(both, *score),
        _chi_square(table.judge, *tied), _chi_square(data.cells, *score), strength, judge_strength,
    )  # fmt: skip


def _strength_residuals(grade: Integers, probability: Floats) -> tuple[Floats, Floats]:
    """Residuals and variances of how strongly items were chosen, 0 where neither was."""
    levels = len(probability) // 2
    strength = np.abs(np.arange(len(probability)) - levels).astype(np.float64)
    mean = strength @ probability
    return strength[grade] - mean, strength**2 @ probability - mean**2


@compiled
def _residuals(
    grade: Integers, probability: Floats, scores: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Residuals and variances of ties, and of the scores of all left items, then all right ones."""
    size, middle = grade.size, scores.size // 2
    tied, tie_variance = np.empty(size), np.empty(size)
    score, variance = np.empty(2 * size), np.empty(2 * size)
    for r in range(size):
        tie = probability[middle, r]
        tied[r], tie_variance[r] = (grade[r] == middle) - tie, tie * (1 - tie)
        mean = square = 0.0
        for k in range(scores.size):
            mean += scores[k] * probability[k, r]
            square += scores[k] * scores[k] * probability[k, r]
        score[r] = scores[grade[r]] - mean
        variance[r] = square - mean * mean
        score[size + r], variance[size + r] = -score[r], variance[r]
    return (tied, tie_variance), (score, variance)


def _chi_square(group: Integers, residual: Floats, variance: Floats) -> float:
    """Sum over groups of squared total residuals, each over its variance."""
    total, wide = _sums(group, residual, variance, int(group.max()) + 1)
    some = wide > 0
    return float((total[some] ** 2 / wide[some]).sum())


@compiled
def _sums(group: Integers, one: Floats, two: Floats, size: int) -> tuple[Floats, Floats]:
    """Sums of two columns over each group."""
    first, second = np.zeros(size), np.zeros(size)
    for r in range(group.size):
        first[group[r]] += one[r]
        second[group[r]] += two[r]
    return first, second


def circular_share(data: ObservedAnswers, grade: Integers) -> float:
    """Share of circles among triads of items whose every pair has a majority; NaN without any."""
    if data.items > MAX_ITEMS:
        return np.nan
    ahead = np.sign(data.levels - grade)
    circles, triads = count_circles(data.table.left, data.table.right, ahead, data.items)
    return circles / triads if triads >= MIN_TRIADS else np.nan


@inlined
def _number_of_bits(word: Any) -> Any:
    """The number of bits of a word of 64 that are set, by sums of ever longer parts of it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def count_circles(left: Integers, right: Integers, ahead: Integers, items: int) -> tuple[int, int]:
    """Circles, and triads of items whose every pair has a majority.

    `ahead` is 1 where the left item was chosen, −1 where the right one was, and 0 for a tie. The
    items that an item wins against, and those it loses to, are bits of rows of words.
    """
    net = np.zeros((items, items), np.int64)
    for r in range(left.size):
        net[left[r], right[r]] += ahead[r]
        net[right[r], left[r]] -= ahead[r]
    words = (items + 63) // 64
    wins, losses = np.zeros((2, items, words), np.uint64)
    for i in range(items):
        for j in range(items):
            if net[i, j] > 0:
                wins[i, j // 64] |= np.uint64(1) << np.uint64(j % 64)
                losses[j, i // 64] |= np.uint64(1) << np.uint64(i % 64)
    circles = triads = 0
    for i in range(items):
        for j in range(items):
            if net[i, j] > 0:
                for w in range(words):
                    won, lost = wins[j, w], losses[i, w]
                    circles += _number_of_bits(won & lost)
                    triads += _number_of_bits((won | losses[j, w]) & (lost | wins[i, w]))
    return circles // 3, triads // 3


def _stacked(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [np.stack(column) for column in zip(*rows, strict=True)]
