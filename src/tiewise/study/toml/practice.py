"""`[[practice]]` of a study: chosen practice pairs, with what others agree on and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tiewise.data.answers import AnswerScale
from tiewise.study.toml.key_types import Problem
from tiewise.text import some_names

PRACTICE = "practice_"
"""Before the number of a practice pair, from 1: its explanation in another language."""
MOST_PRACTICE = 20


@dataclass(frozen=True, kw_only=True)
class PracticePair:
    """`[[practice]]`: two items, the answer that is agreed on, and a sentence that explains it.

    Where a study asks several questions, `answers` has an answer by the id of the question.
    """

    left: str
    right: str
    answer: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    why: str = ""

    @property
    def has_feedback(self) -> bool:
        """Whether there is anything to say after it was answered."""
        return bool(self.answer or self.answers or self.why)


def practice_problems(
    pairs: Sequence[PracticePair],
    scales: Mapping[str, AnswerScale],
    translations: Mapping[str, Mapping[str, str]],
) -> Iterator[Problem]:
    """What is wrong with practice pairs apart from their items; `scales` by ids of questions.

    The id of the only question is empty.
    """
    if len(pairs) > MOST_PRACTICE:
        yield Problem("practice", f"{len(pairs)}; at most {MOST_PRACTICE} pairs")
    several = "" not in scales
    for k, pair in enumerate(pairs):
        at = f"practice[{k + 1}]"
        if pair.left == pair.right:
            yield Problem(f"{at}.right", f"{pair.right!r} again; a pair has two items")
        if several and pair.answer:
            yield Problem(f"{at}.answer", "there are several questions; use answers, by their ids")
        if not several and pair.answers:
            yield Problem(f"{at}.answers", "there is one question; use answer")
        agreed = dict(pair.answers) if several else {"": pair.answer} if pair.answer else {}
        for question, name in agreed.items():
            where = f"{at}.answers.{question}" if several else f"{at}.answer"
            if question not in scales:
                yield Problem(where, f"no such question; there are {', '.join(scales)}")
            elif scales[question].named(name) is None:
                there = ", ".join(one.name for one in scales[question].answers)
                yield Problem(where, f"{name!r}; there are {there}")
    known = {f"{PRACTICE}{k}" for k in range(1, len(pairs) + 1)}
    for language, words in translations.items():
        for key in words:
            if key.startswith(PRACTICE) and key not in known:
                message = f"there are {len(pairs)} practice pairs; number them from 1"
                yield Problem(f"translations.{language}.{key}", message)


def unknown_practice(pairs: Sequence[PracticePair], items: Collection[str]) -> list[str]:
    """What is wrong with the items of practice pairs, in a sentence; nothing where all is well."""
    named = dict.fromkeys(item for pair in pairs for item in (pair.left, pair.right))
    unknown = [item for item in named if item not in items]
    if not unknown:
        return []
    which = "is" if len(unknown) == 1 else "are"
    return [f"practice: {some_names(unknown)} {which} not in items.csv; use the ids that it has"]
