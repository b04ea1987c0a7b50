"""Leave-one-out cross-validation of single judgements (PSIS-LOO).

A judgement is left out by weighting draws. All judgements of one pair (and stratum) with one answer
have the same weights, so each such row is computed once and repeated as often as it occurs; there
is never a matrix of draws by judgements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataArray, DataTree

from tiewise.data.answers import TIE
from tiewise.data.counts import Counts
from tiewise.posterior.judgement_record import JudgementRecord, JudgementTable, grade_counts
from tiewise.posterior.predictions import PosteriorDraws, has_facts

if TYPE_CHECKING:
    from arviz_stats.utils import ELPDData

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_DRAWS, MIN_DRAWS, MAX_NUMBERS = 2000, 400, 400_000_000
"""Draws used: of very many rows fewer, so that there are at most so many of rows by draws."""
BATCH_ROWS = 500
"""Rows of answers computed together."""
LOG_WEIGHT_RANGE = float(np.log(3))
"""Weights within this factor of each other are not smoothed."""


class AnswerRows(NamedTuple):
    """Distinct pairs with an answer, by its position on the scale, and how often each occurs.

    In an order that does not depend on the model: by pair, answer, then stratum.
    """

    first: Integers
    second: Integers
    answer: Integers
    stratum: Integers
    times: Integers


def answer_rows(tree: DataTree, *, decided: bool = False) -> AnswerRows:
    """The distinct rows of the fitted judgements, or of the `decided` ones alone."""
    observed = {str(k): v.to_numpy().astype(np.int64) for k, v in tree["observed_data"].items()}
    number = grade_counts(tree)
    last = len(number) - 1
    if decided:
        number[last // 2] = 0
    answer, row = np.nonzero(number)
    first, second = observed["first"][row], observed["second"][row]
    turned = first > second
    low, high = np.minimum(first, second), np.maximum(first, second)
    ordered_answer = np.where(turned, last - answer, answer)
    stratum = row if has_facts(tree) else observed["stratum"][row]
    order = np.lexsort((turned, stratum, ordered_answer, high, low))
    columns = (first, second, answer, stratum, number[answer, row])
    return AnswerRows(*(column[order] for column in columns))


def data_digest(tree: DataTree, *, decided: bool = False) -> str:
    """A digest of the judgements, or of the `decided` ones, whatever the strata and sides."""
    observed = tree["observed_data"]
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    items = [str(item) for item in tree["constant_data/item"].to_numpy()]
    counts = Counts.of(
        items, *(observed[name].to_numpy() for name in columns),
        strengths=observed["strengths"].to_numpy() if "strengths" in observed else None,
    )  # fmt: skip
    return (counts.without_ties() if decided else counts).digest()


def leave_one_out(tree: DataTree, *, decided: bool = False) -> ELPDData:
    """Expected log score of a judgement that is left out of the fit, by PSIS, as ArviZ has it.

    `elpd_i` and `pareto_k` have an entry for every judgement, in an order that is the same for
    all models of the same judgements. `decided` scores choices alone, by the probability of each
    given that there was no tie: so a model with ties can be set beside one without.
    """
    rows = answer_rows(tree, decided=decided)
    number = int(np.clip(MAX_NUMBERS // max(len(rows.first), 1), MIN_DRAWS, MAX_DRAWS))
    draws = PosteriorDraws.from_tree(tree, number)
    parts = list(_by_batches(draws, rows, decided))
    left_out, k_hat, in_sample = (np.concatenate(part) for part in zip(*parts, strict=True))
    pointwise = np.repeat(left_out, rows.times)
    good = min(1 - 1 / np.log10(len(draws)), 0.7)
    size = len(pointwise)
    return elpd_data(
        DataArray(pointwise, dims="judgement"),
        pareto_k=DataArray(np.repeat(k_hat, rows.times), dims="judgement"),
        se=float(np.sqrt(size * np.var(pointwise))),
        p=float(rows.times @ in_sample - pointwise.sum()),
        n_samples=len(draws),
        warning=bool((k_hat > good).any()),
        good_k=float(good),
    )


def elpd_data(elpd_i: DataArray, **values: Any) -> ELPDData:
    """Scores that were left out, as ArviZ has them: newer versions have a class for these alone."""
    from arviz_stats import utils

    values |= {
        "elpd": float(elpd_i.to_numpy().sum()), "n_data_points": elpd_i.size, "scale": "log",
        "elpd_i": elpd_i,
    }  # fmt: skip
    if hasattr(utils, "ELPDDataLOO"):
        return utils.ELPDDataLOO(**values)
    return utils.ELPDData(kind="loo", **values)


def _by_batches(
    draws: PosteriorDraws, rows: AnswerRows, decided: bool
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Log score of left-out rows, k-hat, and log score in the sample, some rows at a time."""
    for k in range(0, len(rows.first), BATCH_ROWS):
        part = AnswerRows(*(column[k : k + BATCH_ROWS] for column in rows))
        probability = draws.grade_probabilities(part.first, part.second, part.stratum)
        answer = np.take_along_axis(probability, part.answer[None, None, :], axis=0)[0]
        log_likelihood = np.log(np.maximum(answer, 1e-300)).T
        weight, k_hat = _weights(log_likelihood)
        scored = log_likelihood
        if decided:
            scored = scored - np.log(np.maximum(1 - probability[draws.levels], 1e-300)).T
        yield (
            _log_mean(scored, weight),
            k_hat,
            _log_mean(scored, np.zeros_like(scored)),
        )


def _weights(log: Floats) -> tuple[Floats, Floats]:
    """Log weights of draws without a judgement, smoothed where they have a tail, and k-hat."""
    from arviz_stats.base import array_stats

    # Smoothing takes a millisecond a row, and even weights have no tail that would need it.
    uneven = np.ptp(log, axis=1) > LOG_WEIGHT_RANGE
    weight, k_hat = -log, np.zeros(len(log))
    if uneven.any():
        weight[uneven], k_hat[uneven] = array_stats.psislw(log[uneven])
    return weight, k_hat


def _log_mean(log: Floats, log_weight: Floats) -> Floats:
    """Log of the weighted mean of what these are logs of, row by row."""
    total = log + log_weight
    top = total.max(axis=1, keepdims=True)
    out: Floats = top[:, 0] + np.log(np.exp(total - top).sum(axis=1))
    return out - _log_sum(log_weight)


def _log_sum(log: Floats) -> Floats:
    top = log.max(axis=1, keepdims=True)
    out: Floats = top[:, 0] + np.log(np.exp(log - top).sum(axis=1))
    return out


# Judges.


def scores_by_judge(
    tree: DataTree, scores: ELPDData, *, decided: bool = False
) -> dict[str, float] | None:
    """The sum of each judge's scores by `leave_one_out`; None where it is not known who judged."""
    record = JudgementRecord.from_tree(tree)
    if record is None or not record.judges:
        return None
    rows, table = answer_rows(tree, decided=decided), record.compared
    stratum = record.compared_stratum
    if int(rows.stratum.max(initial=0)) > 0 and stratum is None:
        return None
    if decided or not tree["observed_data/ties"].sum() > 0:
        chosen = table.answer != TIE
        table, stratum = table.where(chosen), None if stratum is None else stratum[chosen]
    each = scores.elpd_i.to_numpy()[np.cumsum(rows.times) - rows.times]
    levels = tree["observed_data"].sizes.get("strength", 1)
    own = np.zeros_like(table.judge) if stratum is None else stratum
    where = _row_of(rows, table, own, levels)
    if where is None:
        return None
    judge, total = table.judge, np.bincount(table.judge, each[where], len(record.judges))
    return {record.judges[k]: float(total[k]) for k in np.unique(judge)}


def _row_of(
    rows: AnswerRows, table: JudgementTable, stratum: Integers, levels: int
) -> Integers | None:
    """The row of each judgement, whichever way round its pair is counted; None if one has none."""
    keys = _keys(rows.first, rows.second, rows.answer, rows.stratum)
    order = np.argsort(keys)
    answer = table.grades(levels)
    straight = _keys(table.left, table.right, answer, stratum)
    turned = _keys(table.right, table.left, 2 * levels - answer, stratum)
    places = [
        np.searchsorted(keys[order], key).clip(max=len(keys) - 1) for key in (straight, turned)
    ]
    known = [
        keys[order][place] == key for place, key in zip(places, (straight, turned), strict=True)
    ]
    if not (known[0] | known[1]).all():
        return None
    out: Integers = order[np.where(known[0], *places)]
    return out


def _keys(first: Integers, second: Integers, answer: Integers, stratum: Integers) -> Integers:
    """One number for each pair, answer and stratum."""
    key: Integers = ((stratum << 20 | first) << 20 | second) << 3 | answer
    return key
