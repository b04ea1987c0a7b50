"""Answers: how each is encoded, named and shown, and the scales on which judges give them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FIRST, TIE, SECOND = range(3)
"""Codes are positions on the scale, from all for the first item to all for the second."""
SKIP = -1
"""Answers off the scale, which say nothing of the pair, have negative codes from −1 downwards."""

MOST_LEVELS = 3
"""Ways to choose an item, with which there are up to seven answers."""


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
    strength: int | None = None
    """How strongly an item is chosen, from 1; None where there is one way to choose."""

    @property
    def name(self) -> str:
        """In the site's forms and in settings: `left`, and `left_2` for a stronger choice."""
        stronger = self.strength is not None and self.strength > 1
        return f"{self.stored}_{self.strength}" if stronger else self.stored

    @property
    def number(self) -> str:
        """The first of its keys, which is a digit."""
        return self.shortcuts.split()[0]

    @property
    def on_scale(self) -> bool:
        """Whether it compares the two items; else it is no more than a skip to the model."""
        return self.code >= 0

    @property
    def wording(self) -> str:
        """Key of the button's wording in a study's settings."""
        return f"answers.{self.name}"

    @property
    def shortcut_wording(self) -> str:
        """Key of the name of its shortcuts in translations."""
        return f"pair.key_{self.stored if self.strength in (None, 1) else 'grade'}"

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
    def of(cls, *, ties: bool, skips: bool, levels: int = 1) -> AnswerScale:
        """The scale of a study: choose, or choose or tie, each with or without skipping.

        With several `levels` an item is chosen more or less strongly: the answers are graded.
        """
        plain = [answer for answer in ANSWERS if answer.on_scale and (ties or answer.code != TIE)]
        grades = tuple(plain) if levels == 1 else _graded(plain, levels)
        return cls(grades, skips)

    @property
    def levels(self) -> int:
        """How many ways there are to choose an item, from weakly to strongly."""
        return len(self.grades) // 2

    def wording(self, answer: Answer) -> str:
        """Key of the words of an answer's button in translations."""
        if self.levels == 1 or answer.strength is None:
            return f"answers.{answer.stored}"
        return f"answers.more_{answer.strength}_of_{self.levels}"

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that are offered, those off the scale last."""
        return (*self.grades, *OFF_SCALE) if self.skips else self.grades

    @property
    def codes(self) -> frozenset[int]:
        """The codes of the answers that are offered."""
        return frozenset(answer.code for answer in self.answers)

    def named(self, name: str) -> Answer | None:
        """The answer of this name in a form; None where it is not offered."""
        return next((answer for answer in self.answers if answer.name == name), None)

    @property
    def cuts(self) -> int:
        """Number of cuts between the grades."""
        return len(self.grades) - 1

    def bounds(self, code: int, strength: int | None = None) -> tuple[int | None, int | None]:
        """Lower and upper cut of a grade, numbered upwards; None where it has no bound."""
        above = [(grade.code, grade.strength) for grade in self.grades].index((code, strength))
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


def _graded(plain: list[Answer], levels: int) -> tuple[Answer, ...]:
    """Graded answers from the strongest for the first to the strongest for the second."""
    out: list[Answer] = []
    for answer in plain:
        strengths: list[int | None] = [*range(1, levels + 1)] if answer.chosen else [None]
        for strength in strengths[::-1] if answer.code == FIRST else strengths:
            # Digits count along the scale; the arrows press the weakest choices.
            arrow = answer.shortcuts.split()[1:] if strength in (None, 1) else []
            keys = " ".join([str(len(out) + 1), *arrow])
            out.append(replace(answer, shortcuts=keys, strength=strength))
    return tuple(out)


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


def grade_codes(answer: Integers, strength: Integers | None, levels: int = 1) -> Integers:
    """Positions on the scale of graded answers, from 0: all for the first, to all for the second.

    `strength` is that of a choice, from 1 to `levels`. With one way to choose they are the codes.
    """
    side = np.asarray(answer, np.int64) - TIE
    return levels + (side if strength is None else side * strength)


def grade_scores(levels: int, *, ties: bool) -> Floats:
    """The score of each graded answer for the first item: from 1 to 0 in equal steps.

    Without `ties` there is no answer in the middle, which has the score ½ all the same.
    """
    if ties:
        return np.linspace(1.0, 0.0, 2 * levels + 1)
    first = 1 - np.arange(levels) / (2 * levels - 1)
    return np.concatenate([first, [0.5], 1 - first[::-1]])


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^{−x}), for any x."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
