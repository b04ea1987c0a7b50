"""Replicated answers: statistics of observed answers, and of answers simulated from a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.data.answers import FIRST, TIE
from tiewise.posterior.judgement_record import (
    JudgementRecord,
    JudgementTable,
    fitted_judgements,
    fitted_judgements_by_stratum,
)
from tiewise.posterior.predictions import PosteriorDraws, has_strata, replicate_answers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_JUDGEMENTS = 30_000
"""Judgements used: of more, a random sample of this size."""
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


class Statistics(NamedTuple):
    """Statistics of one set of answers; or of many, stacked."""

    share: Any
    """Share of ties in each bin of differences in quality."""
    circular: Any
    left: Any
    wins: Any
    judges: Any


class Discrepancies(NamedTuple):
    """Distances of answers from their expectation at one draw; or at many draws, stacked."""

    ties: Any
    wins: Any
    judges: Any
    agreement: Any


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
    mean = tree["posterior/quality"].mean(("chain", "draw")).to_numpy()
    gap = np.abs(mean[table.left] - mean[table.right])
    number = int(np.clip(len(gap) // MIN_IN_BIN, 1, BINS))
    # Equal numbers of answers in each; sorted once, so that equal gaps are not split at random.
    order = np.argsort(gap, kind="stable")
    bins = np.empty(len(gap), np.int64)
    bins[order] = np.arange(len(gap)) * number // max(len(gap), 1)
    centres = np.bincount(bins, gap, number) / np.maximum(np.bincount(bins, minlength=number), 1)
    ties = bool((tree["posterior/tie"] > 0).any())
    cells = table.judge * len(mean) + np.stack([table.left, table.right])
    cells = np.unique(cells, return_inverse=True)[1].ravel()
    return ObservedAnswers(table, stratum, len(mean), judges, sides, ties, bins, centres, cells)


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
        return table, table.judge, posterior.sizes.get("judge", 0), "order" in posterior
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
    table, observed = data.table, data.table.answer
    discrepancies: list[Discrepancies] = []
    replicated: list[tuple[Statistics, Discrepancies]] = []
    for part in draws.batches(len(observed)):
        probability = part.answer_probabilities(table.left, table.right, data.stratum)
        answers = replicate_answers(probability, rng)
        for k in range(len(part)):
            at_draw = probability[:, k]
            discrepancies.append(_discrepancies(data, observed, at_draw))
            replicated.append(
                (_statistics(data, answers[k]), _discrepancies(data, answers[k], at_draw))
            )
    statistics, distances = (_stacked(column) for column in zip(*replicated, strict=True))
    return CheckInputs(
        data,
        Statistics(*(np.asarray(column)[None] for column in _statistics(data, observed))),
        Statistics(*statistics),
        Discrepancies(*_stacked(discrepancies)),
        Discrepancies(*distances),
    )


def _statistics(data: ObservedAnswers, answer: Integers) -> Statistics:
    table, tied, score = data.table, answer == TIE, 1 - answer / 2
    left = float((answer[~tied] == FIRST).mean()) if not tied.all() else np.nan
    wins = np.bincount(table.left, score, data.items)
    wins += np.bincount(table.right, 1 - score, data.items)
    return Statistics(
        _shares(data.bins, tied, len(data.centres)), circular_share(data, answer), left, wins,
        _shares(table.judge, tied, max(data.judges, 1)),
    )  # fmt: skip


def _shares(group: Integers, tied: NDArray[np.bool_], size: int) -> Floats:
    number = np.bincount(group, minlength=size)
    out: Floats = np.bincount(group[tied], minlength=size) / np.maximum(number, 1)
    return out


def _discrepancies(data: ObservedAnswers, answer: Integers, probability: Floats) -> Discrepancies:
    table, tied = data.table, (answer == TIE) - probability[1]
    tie_variance = probability[1] * (1 - probability[1])
    mean = probability[0] + probability[1] / 2
    residual = 1 - answer / 2 - mean
    variance = probability[0] + probability[1] / 4 - mean**2
    both = np.concatenate([table.left, table.right])
    return Discrepancies(
        _chi_square(data.bins, tied, tie_variance),
        _chi_square(
            both, np.concatenate([residual, -residual]), np.concatenate([variance, variance])
        ),
        _chi_square(table.judge, tied, tie_variance),
        _chi_square(
            data.cells, np.concatenate([residual, -residual]), np.concatenate([variance, variance])
        ),
    )


def _chi_square(group: Integers, residual: Floats, variance: Floats) -> float:
    """Sum over groups of squared total residuals, each over its variance."""
    total, wide = np.bincount(group, residual), np.bincount(group, variance)
    some = wide > 0
    return float((total[some] ** 2 / wide[some]).sum())


def circular_share(data: ObservedAnswers, answer: Integers) -> float:
    """Share of circles among triads of items whose every pair has a majority; NaN without any."""
    size, table = data.items, data.table
    if size > MAX_ITEMS:
        return np.nan
    net = np.bincount(table.left * size + table.right, 1 - answer, size * size).reshape(size, size)
    net = net - net.T
    beats = (net > 0).astype(np.float32)
    either = beats + beats.T
    circles = float(((beats @ beats) * beats.T).sum()) / 3
    triads = float(((either @ either) * either).sum()) / 6
    return circles / triads if triads >= MIN_TRIADS else np.nan


def _stacked(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [np.stack(column) for column in zip(*rows, strict=True)]
