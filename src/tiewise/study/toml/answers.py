"""`[answers]` of a study, or of one of its questions: which are offered, and in which words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tiewise.data.answers import MOST_LEVELS, AnswerScale
from tiewise.study.toml.key_types import Problem

AS_USUAL = "as usual"
"""In place of a wording that is that of the language."""
MOST_GRADES = 2 * MOST_LEVELS + 1
SIDES_OF_GRADES = (("left", "right"), ("left_2", "right_2"), ("left_3", "right_3"))
"""Names of the choices of either item, the weakest first."""


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """`[answers]`: which are offered, and their wordings; an empty one is that of the language."""

    ties: bool = True
    skips: bool = True
    both_seen: bool = False
    """Whether an answer is taken only once both have been opened, where there is much to read."""
    grades: int = 0
    """How many ordered answers there are, from 2 to 7; 0: choose, or choose or tie."""
    left: str = ""
    right: str = ""
    tie: str = ""
    skip: str = ""
    left_2: str = ""
    left_3: str = ""
    right_2: str = ""
    right_3: str = ""

    @property
    def scale(self) -> AnswerScale:
        """The answers that a judge may give."""
        levels = max(self.grades // 2, 1)
        return AnswerScale.of(ties=self.ties, skips=self.skips, levels=levels)


WORDED = tuple(one.name for one in fields(AnswerSettings) if one.default == "")
"""Names of the answers that a study may word itself."""


def answer_problems(
    answers: AnswerSettings,
    translations: Mapping[str, Mapping[str, str]],
    *,
    at: str = "answers.",
    prefix: str = "answers_",
) -> Iterator[Problem]:
    """What is wrong with answers that stand `at` a key; translations of theirs have a `prefix`."""
    number = answers.grades
    if number and not 2 <= number <= MOST_GRADES:
        yield Problem(f"{at}grades", f"{number}; from 2 to {MOST_GRADES}, or 0")
    elif number and number % 2 != answers.ties:
        middle = "has no" if answers.ties else "has an"
        yield Problem(
            f"{at}grades",
            f"{number}, and a scale of so many {middle} answer in its middle, while ties = "
            f"{str(answers.ties).lower()}; change the one or the other",
        )
    else:
        yield from _wording_problems(at, vars(answers), answers.scale)
        for language, words in translations.items():
            own = {key.removeprefix(prefix): word for key, word in words.items()}
            yield from _wording_problems(f"translations.{language}.{prefix}", own, answers.scale)


def _wording_problems(at: str, words: Mapping[str, Any], scale: AnswerScale) -> Iterator[Problem]:
    """Words for grades that are not offered, and for one side alone; `words` by names."""
    for strength, names in enumerate(SIDES_OF_GRADES, 1):
        worded = [name for name in names if words.get(name)]
        if strength > scale.levels:
            for name in worded:
                number = f"there are {len(scale.grades)} answers, and this is none of them"
                yield Problem(at + name, f"{number}; empty it, or raise answers.grades")
        elif scale.levels > 1 and len(worded) == 1:
            yield Problem(at + worded[0], f"one side alone; word {names[0]} and {names[1]} alike")


def meaning_of_answers(
    answers: AnswerSettings, translations: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """What answers already given depend on: ties, grades, and the words of grades.

    Those are a measure in every language: "more" and "much more".
    """
    scale = answers.scale
    names = [answer.name for answer in scale.grades] if scale.levels > 1 else []
    meaning = {"answers.ties": str(answers.ties), "answers.grades": str(len(scale.grades))}
    own = {f"answers.{name}": getattr(answers, name) or AS_USUAL for name in names}
    return (
        meaning
        | own
        | {
            f"translations.{language}.answers_{name}": words[f"answers_{name}"]
            for language, words in translations.items()
            for name in names
            if f"answers_{name}" in words
        }
    )
