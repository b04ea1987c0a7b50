"""Answers: how each is encoded, named and shown, and the scales on which judges give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FIRST, TIE, SECOND = range(3)
"""Codes are positions on the scale, from all for the first item to all for the second."""
SKIP = -1
"""Answers off the scale, which say nothing of the pair, have negative codes from −1 downwards."""


def on_scale(code: Any) -> Any:
    """Whether a code, or each of an array, is of an answer that compares the two items."""
    return code >= 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and its name in each place where answers are written."""

    code: int
    word: str
    """In our own tables, and in `Comparisons.from_columns`."""
    state: str
    """In tables of the comparison interface, which name the chosen item beside it."""
    stored: str
    """In the database, the site's forms and its API, where the first item stands on the left."""
    shortcuts: str
    """Keys that press its button, as `aria-keyshortcuts` lists them."""
    votes: tuple[str, ...] = ()
    """In arena votes."""

    @property
    def on_scale(self) -> bool:
        """Whether it compares the two items; else it is no more than a skip to the model."""
        return self.code >= 0

    @property
    def wording(self) -> str:
        """Key of the button's wording, in a study's settings and in translations."""
        return f"answers.{self.stored}"

    @property
    def shortcut_wording(self) -> str:
        """Key of the name of its shortcuts in translations."""
        return f"pair.key_{self.stored}"

    @property
    def chosen(self) -> str | None:
        """Side of the chosen item, `left` or `right`; None where neither was chosen."""
        return self.stored if self.state == SELECTED else None


SELECTED = "selected"

ANSWERS = (
    Answer(FIRST, "first", SELECTED, "left", "1 ArrowLeft", ("model_a",)),
    Answer(TIE, "tie", "tied", "tie", "2 ArrowDown", ("tie", "tie (bothbad)", "both_bad")),
    Answer(SECOND, "second", SELECTED, "right", "3 ArrowRight", ("model_b",)),
    Answer(SKIP, "skip", "skipped", "skip", "0 S"),
)
"""Every answer: along the scale, then those off it, so that `ANSWERS[code]` is that of a code."""

OFF_SCALE = tuple(answer for answer in ANSWERS if not answer.on_scale)

CODE_OF_WORD = {answer.word: answer.code for answer in ANSWERS}
CODE_OF_STORED = {answer.stored: answer.code for answer in ANSWERS}
CODE_OF_VOTE = {vote: answer.code for answer in ANSWERS for vote in answer.votes}
STATES = tuple(dict.fromkeys(answer.state for answer in ANSWERS))


@dataclass(frozen=True, slots=True)
class AnswerScale:
    """The answers that a study allows, and what a model has to know of them.

    `grades` run from the first item to the second. Between each and the next there is a cut of the
    difference in quality; with ties the cuts are −δ and δ, without them there is one at 0.
    """

    grades: tuple[Answer, ...]
    skips: bool = True

    @classmethod
    def of(cls, *, ties: bool, skips: bool) -> AnswerScale:
        """The scale of a study: choose, or choose or tie, each with or without skipping."""
        grades = tuple(
            answer for answer in ANSWERS if answer.on_scale and (ties or answer.code != TIE)
        )
        return cls(grades, skips)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that are offered, those off the scale last."""
        return (*self.grades, *OFF_SCALE) if self.skips else self.grades

    @property
    def codes(self) -> frozenset[int]:
        """The codes of the answers that are offered."""
        return frozenset(answer.code for answer in self.answers)

    def stored(self, name: str) -> Answer | None:
        """The answer of this name in a form or in the database; None where it is not offered."""
        return next((answer for answer in self.answers if answer.stored == name), None)

    @property
    def cuts(self) -> int:
        """Number of cuts between the grades."""
        return len(self.grades) - 1

    def bounds(self, code: int) -> tuple[int | None, int | None]:
        """Lower and upper cut of a grade, numbered upwards; None where it has no bound."""
        above = [grade.code for grade in self.grades].index(code)
        upper, lower = self.cuts - above, self.cuts - above - 1
        return (lower if lower >= 0 else None, upper if above else None)

    # An answer between two cuts is one success above the lower and one below the upper, times a
    # factor of the cuts alone: for ties e^{2δ} − 1 each. Of no ties the factor is 1, whatever δ,
    # which is left to the caller.

    def log_factor(self, tie: ArrayLike, times: ArrayLike = 1.0) -> Floats:
        """Logarithm of the factor of `times` ties at thresholds δ, of any shape."""
        tie = np.asarray(tie)
        return np.asarray(times * (2 * tie + np.log(-np.expm1(-2 * tie))))

    def log_factor_slope(self, tie: ArrayLike, times: ArrayLike = 1.0) -> Floats:
        """Its derivative by δ."""
        return np.asarray(2 * np.asarray(times) / -np.expm1(-2 * np.asarray(tie)))

    def log_factor_curvature(self, tie: ArrayLike, times: ArrayLike = 1.0) -> Floats:
        """Minus its second derivative by δ."""
        return np.asarray(times / np.sinh(np.minimum(tie, 300.0)) ** 2)

    # The factor of an answer between two cuts on one side, `step` apart, is 1 − e^{−step}.

    def log_step_factor(self, step: ArrayLike) -> Floats:
        """Logarithm of the factor of an answer between cuts `step` apart."""
        return np.asarray(np.log(-np.expm1(-np.asarray(step))))

    def log_step_factor_slope(self, step: ArrayLike) -> Floats:
        """Its derivative."""
        return np.asarray(1 / np.expm1(np.asarray(step)))

    def log_step_factor_curvature(self, step: ArrayLike) -> Floats:
        """Minus its second derivative."""
        return np.asarray(0.25 / np.sinh(np.minimum(step, 600.0) / 2) ** 2)


CHOOSE = AnswerScale.of(ties=False, skips=True)
CHOOSE_OR_TIE = AnswerScale.of(ties=True, skips=True)


def grade_probabilities(gap: ArrayLike, cuts: Floats) -> Floats:
    """Probabilities of graded answers (grades, ...), from all for the first to all for the second.

    `cuts` (levels, ...) begin with δ, which is 0 where "about equal" is not offered: its grade in
    the middle then has probability 0. They have the shape of `gap` after their first axis.
    """
    gap = np.asarray(gap, np.float64)
    # One success above the lower cut and one below the upper, times a factor of the cuts.
    above = np.stack([sigmoid(gap - cut) for cut in cuts])
    below = np.stack([sigmoid(-gap - cut) for cut in cuts])
    steps = -np.expm1(-np.diff(cuts, axis=0))
    first, second = above[-1:], below[-1:]
    if len(cuts) > 1:
        inner = [
            own[:-1] * sigmoid(cuts[1:] - side * gap) * steps
            for own, side in ((above, 1), (below, -1))
        ]
        first = np.concatenate([first, inner[0][::-1]])
        second = np.concatenate([inner[1], second])
    tied = -np.expm1(-2 * cuts[:1]) * sigmoid(cuts[:1] - gap) * sigmoid(cuts[:1] + gap)
    return np.concatenate([first, tied, second])


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^{−x}), for any x."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
