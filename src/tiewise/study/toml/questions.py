"""`[[questions]]` of a study: several questions that are asked of every pair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from tiewise.study.toml.answers import WORDED, AnswerSettings, answer_problems
from tiewise.study.toml.key_types import Problem

TOGETHER, IN_TURN = "together", "in turn"
WAYS_TO_ASK = (TOGETHER, IN_TURN)
"""All questions of a pair on one page, or one after the other, in an order that rotates."""
QUESTION = "question_"
"""Before the id of a question: its wording in another language."""
ID = re.compile(r"[a-z][a-z0-9-]{0,19}")
MOST_QUESTIONS = 8
FEWEST = 2
ONE_QUESTION = "one"
"""What the record of meaning says of a study that asks `study.question` alone."""


@dataclass(frozen=True, kw_only=True)
class QuestionSettings:
    """`[[questions]]`: one of the questions, and its answers; without them, those of `[answers]`.

    `weight` is its share in the composite of all questions.
    """

    id: str
    question: str
    higher: str = "higher"
    lower: str = "lower"
    weight: float = 1.0
    answers: AnswerSettings | None = None


def question_words(
    question: QuestionSettings, translations: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Words of other languages as in a study that asks this question alone."""
    return {language: _own_words(question, words) for language, words in translations.items()}


def _own_words(question: QuestionSettings, words: Mapping[str, str]) -> dict[str, str]:
    at = QUESTION + question.id
    shared = {
        key: word
        for key, word in words.items()
        if not key.startswith(QUESTION)
        and key != "study_question"
        and not (question.answers is not None and key.startswith("answers_"))
    }
    own = {f"answers_{name}": words[f"{at}_{name}"] for name in WORDED if f"{at}_{name}" in words}
    return shared | own | ({"study_question": words[at]} if at in words else {})


def question_problems(
    questions: Sequence[QuestionSettings],
    *,
    asked: str,
    anchors: bool,
    translations: Mapping[str, Mapping[str, str]],
) -> Iterator[Problem]:
    """What is wrong with the questions of a study."""
    if asked not in WAYS_TO_ASK:
        yield Problem("study.asked", f"{asked!r}; there are {', '.join(WAYS_TO_ASK)}")
    if len(questions) == 1:
        yield Problem(
            "questions", "there is one; word it as study.question, or add another [[questions]]"
        )
    if len(questions) > MOST_QUESTIONS:
        yield Problem("questions", f"{len(questions)}; a pair has room for {MOST_QUESTIONS}")
    if questions and anchors:
        yield Problem(
            "anchors", "they are values of one question, and there are several; leave one out"
        )
    ids = [one.id for one in questions]
    for k, one in enumerate(questions):
        at = f"questions[{k + 1}]"
        if not ID.fullmatch(one.id):
            yield Problem(
                f"{at}.id", f"{one.id!r}; up to 20 small letters, digits and -, a letter first"
            )
        if ids.index(one.id) < k:
            yield Problem(f"{at}.id", f"{one.id!r} is there twice")
        if not one.question.strip():
            yield Problem(f"{at}.question", "empty; judges would not know what is meant")
        if not (isfinite(one.weight) and one.weight >= 0):
            yield Problem(f"{at}.weight", f"{one.weight}; a share in the composite, 0 or more")
        if one.answers is not None:
            words = question_words(one, translations)
            yield from answer_problems(one.answers, words, at=f"{at}.answers.")
            if one.answers.both_seen:
                message = "it is asked of the pair; write both_seen = true below [answers]"
                yield Problem(f"{at}.answers.both_seen", message)
    if len(questions) >= FEWEST and not sum(one.weight for one in questions):
        yield Problem("questions", "every weight is 0; give one of them more")
    yield from _translated_problems(ids, translations)


def _translated_problems(
    ids: Sequence[str], translations: Mapping[str, Mapping[str, str]]
) -> Iterator[Problem]:
    """Translations of questions that are not asked."""
    known = {QUESTION + id_ for id_ in ids}
    known |= {f"{QUESTION}{id_}_{name}" for id_ in ids for name in WORDED}
    for language, words in translations.items():
        for key in words:
            if key.startswith(QUESTION) and key not in known:
                message = "no question has this id, or no answer this name"
                yield Problem(f"translations.{language}.{key}", message)
