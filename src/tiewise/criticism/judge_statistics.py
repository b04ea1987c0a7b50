"""Statistics of each judge: counts and shares, agreement with the others, and flags."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.criticism.judge_flags import JudgeFigures, flags
from tiewise.criticism.leave_own_out import Agreement, GaussianPosterior, leave_own_out
from tiewise.data.answers import FIRST, SECOND, TIE, on_scale
from tiewise.posterior.judgement_record import JudgementTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MIN_JUDGES = 5
"""Judges from whom on the median judge means something."""


def judge_statistics(
    judges: Sequence[str],
    table: JudgementTable,
    posterior: GaussianPosterior | None,
    excluded: Mask,
) -> list[dict[str, Any]]:
    """A row for each judge with a judgement: statistics first, flags in words at the end.

    `posterior` is that of the judgements of all who are not `excluded`; without it, what needs one
    is left empty. docs/live.md explains each statistic.
    """
    size = len(judges)
    compared = table.where(on_scale(table.answer))
    number, skips = (
        _per_judge(compared.judge, size),
        _per_judge(table.judge, size) - _per_judge(compared.judge, size),
    )
    figures = JudgeFigures(
        comparisons=number,
        skips=skips,
        ties=_per_judge(compared.judge[compared.answer == TIE], size),
        lefts=_per_judge(compared.judge[compared.answer == FIRST], size),
        seconds=_medians(table, size),
        **_agreement(compared, posterior, excluded)._asdict(),
        **_repeats(compared, size),
    )
    flags_of = flags(figures, counted=~excluded)
    present = np.flatnonzero(number + skips > 0).tolist()
    return [
        _row(judges[k], figures.of(k)) | {"excluded": bool(excluded[k]), "flags": flags_of[k]}
        for k in present
    ]


def _per_judge(judge: Integers, size: int) -> Integers:
    return np.bincount(judge, minlength=size)


def _medians(table: JudgementTable, size: int) -> Floats:
    """The median of every judge's seconds."""
    known = table.where(~np.isnan(table.seconds))
    seconds = known.seconds[np.lexsort((known.seconds, known.judge))]
    number = _per_judge(known.judge, size)
    begin = np.cumsum(number) - number
    out = np.full(size, np.nan)
    some = number > 0
    low, high = (begin + (number - 1) // 2)[some], (begin + number // 2)[some]
    out[some] = (seconds[low] + seconds[high]) / 2
    return out


def _repeats(compared: JudgementTable, size: int) -> dict[str, Integers]:
    """How many pairs each judge was shown once more and compared, and how many alike."""
    low = np.minimum(compared.left, compared.right)
    high = np.maximum(compared.left, compared.right)
    known = low >= 0
    rows, low, high = compared.where(known), low[known], high[known]
    # Sorted so that a repeat follows the answer before it.
    order = np.lexsort((np.arange(len(low)), high, low, rows.judge))
    rows, low, high = rows.where(order), low[order], high[order]
    again = np.zeros(len(low), bool)
    again[1:] = (
        rows.repeat[1:] & (rows.judge[1:] == rows.judge[:-1])
        & (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    )  # fmt: skip
    chosen = np.select([rows.answer == FIRST, rows.answer == SECOND], [rows.left, rows.right], -1)
    alike = again.copy()
    alike[1:] &= chosen[1:] == chosen[:-1]
    return {
        "repeats": _per_judge(rows.judge[again], size),
        "alike": _per_judge(rows.judge[alike], size),
    }


def _agreement(
    compared: JudgementTable, posterior: GaussianPosterior | None, excluded: Mask
) -> Agreement:
    """Agreement of each judge with the others; NaN where there are no others."""
    size = len(excluded)
    known = compared.where((compared.left >= 0) & (compared.right >= 0))
    if posterior is None or not len(known.judge):
        return Agreement(*np.full((3, size), np.nan))
    rows = known.where(np.argsort(known.judge, kind="stable"))
    grade = rows.grades(posterior.levels)
    agreement = leave_own_out(posterior, rows.judge, rows.left, rows.right, grade, ~excluded)
    number = _per_judge(rows.judge, size)
    counting = (number > 0) & ~excluded
    alone = counting & (counting.sum() == 1)
    out = [np.where(alone, np.nan, column) for column in agreement]
    return Agreement(out[0], out[1], _standardise(out[2], number, counting))


def _standardise(score: Floats, number: Integers, counting: Mask) -> Floats:
    """Misfit: minus the score, relative to the median judge and to the spread over judges.

    Some who answer at random make the model expect less of everybody, so that all others look
    better than expected; judges who differ more than the model allows for make all look worse.
    """
    root = np.sqrt(np.maximum(number, 1))
    each = (score / root)[counting & ~np.isnan(score)]
    if len(each) < MIN_JUDGES:
        return -score
    median = np.median(each)
    deviation = score - median * root
    some = deviation[counting & ~np.isnan(score)]
    spread = 1.4826 * float(np.median(np.abs(some)))
    out: Floats = -deviation / max(spread, 1.0)
    return out


def _row(judge: str, one: JudgeFigures) -> dict[str, Any]:
    comparisons, skips, ties = int(one.comparisons), int(one.skips), int(one.ties)
    misfit = float(one.score)
    return {
        "judge": judge, "comparisons": comparisons, "skips": skips,
        "median_seconds": _number(float(one.seconds), 2),
        "tie_share": _share(ties, comparisons),
        "skip_share": _share(skips, comparisons + skips),
        "left_share": _share(int(one.lefts), comparisons - ties),
        "agreement": _number(float(one.agreed), 4),
        "expected_agreement": _number(float(one.expected), 4),
        "misfit": _number(misfit, 3),
        "misfit_p": _number(1 - NormalDist().cdf(misfit), 5) if misfit == misfit else None,
        "repeats": int(one.repeats),
        "consistency": _share(int(one.alike), int(one.repeats)),
    }  # fmt: skip


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _number(value: float, digits: int) -> float | None:
    return None if np.isnan(value) else round(value, digits)
