"""Each judge in figures: how much, how fast, how alike the others, and what is worth a look."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.criticism.judge_flags import Figures, flags
from tiewise.criticism.leave_own_out import Belief, Surprise, surprise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Yes = NDArray[np.bool_]

LEFT, TIE, RIGHT, SKIP = range(4)
"""How outcomes are numbered."""
FEWEST_JUDGES = 5
"""Judges from whom on there is something like a usual judge."""


class Said(NamedTuple):
    """Judgements, oldest first, one entry each: by whom, of what, and what was said.

    `judge`, `left` and `right` are positions in lists of judges and items, items -1 where the fit
    does not know them; `repeat` where the pair was shown once more on purpose; seconds are NaN
    where nobody knows how long it took.
    """

    judge: Integers
    left: Integers
    right: Integers
    outcome: Integers
    repeat: Yes
    seconds: Floats

    def where(self, which: Yes | Integers) -> Said:
        """Some of them."""
        return Said(
            self.judge[which], self.left[which], self.right[which], self.outcome[which],
            self.repeat[which], self.seconds[which],
        )  # fmt: skip


def judge_rows(
    judges: Sequence[str], said: Said, belief: Belief | None, excluded: Yes
) -> list[dict[str, Any]]:
    """A row for each judge who said something, figures first, flags in words at the end.

    `belief` is the posterior from the judgements of all who are not `excluded`; without it, what
    needs one is left empty. docs/live.md says what each figure means.
    """
    size = len(judges)
    compared = said.where(said.outcome != SKIP)
    number, skips = (
        _per_judge(compared.judge, size),
        _per_judge(said.judge, size) - _per_judge(compared.judge, size),
    )
    figures = Figures(
        comparisons=number,
        skips=skips,
        ties=_per_judge(compared.judge[compared.outcome == TIE], size),
        lefts=_per_judge(compared.judge[compared.outcome == LEFT], size),
        seconds=_medians(said, size),
        **_alike(compared, belief, excluded)._asdict(),
        **_repeats(compared, size),
    )
    found = flags(figures, counted=~excluded)
    there = np.flatnonzero(number + skips > 0).tolist()
    return [
        _row(judges[k], figures.of(k)) | {"excluded": bool(excluded[k]), "flags": found[k]}
        for k in there
    ]


def _per_judge(judge: Integers, size: int) -> Integers:
    return np.bincount(judge, minlength=size)


def _medians(said: Said, size: int) -> Floats:
    """The median of every judge's seconds."""
    known = said.where(~np.isnan(said.seconds))
    seconds = known.seconds[np.lexsort((known.seconds, known.judge))]
    number = _per_judge(known.judge, size)
    begin = np.cumsum(number) - number
    out = np.full(size, np.nan)
    some = number > 0
    low, high = (begin + (number - 1) // 2)[some], (begin + number // 2)[some]
    out[some] = (seconds[low] + seconds[high]) / 2
    return out


def _repeats(compared: Said, size: int) -> dict[str, Integers]:
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
    chosen = np.select([rows.outcome == LEFT, rows.outcome == RIGHT], [rows.left, rows.right], -1)
    alike = again.copy()
    alike[1:] &= chosen[1:] == chosen[:-1]
    return {
        "repeats": _per_judge(rows.judge[again], size),
        "alike": _per_judge(rows.judge[alike], size),
    }


def _alike(compared: Said, belief: Belief | None, excluded: Yes) -> Surprise:
    """How alike the others each judge is; NaN where there are no others."""
    size = len(excluded)
    known = compared.where((compared.left >= 0) & (compared.right >= 0))
    if belief is None or not len(known.judge):
        return Surprise(*np.full((3, size), np.nan))
    rows = known.where(np.argsort(known.judge, kind="stable"))
    found = surprise(belief, rows.judge, rows.left, rows.right, rows.outcome, ~excluded)
    number = _per_judge(rows.judge, size)
    counting = (number > 0) & ~excluded
    alone = counting & (counting.sum() == 1)
    out = [np.where(alone, np.nan, column) for column in found]
    return Surprise(out[0], out[1], _against_the_usual(out[2], number, counting))


def _against_the_usual(score: Floats, number: Integers, counting: Yes) -> Floats:
    """Misfit: by how many standard deviations answers are less likely than those of a usual judge.

    A few who click at random make the model expect less of everybody, and everybody else look
    better than expected; judges who differ more than the model thinks make all look worse.
    """
    root = np.sqrt(np.maximum(number, 1))
    each = (score / root)[counting & ~np.isnan(score)]
    if len(each) < FEWEST_JUDGES:
        return -score
    usual = np.median(each)
    apart = score - usual * root
    some = apart[counting & ~np.isnan(score)]
    spread = 1.4826 * float(np.median(np.abs(some)))
    out: Floats = -apart / max(spread, 1.0)
    return out


def _row(judge: str, one: Figures) -> dict[str, Any]:
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
