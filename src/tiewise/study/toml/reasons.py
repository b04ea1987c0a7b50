"""`[reasons]` of a study: whether judges are asked why they answered as they did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tiewise.study.toml.key_types import Problem

NEVER, OPTIONAL, REQUIRED = "never", "optional", "required"
WAYS_TO_ASK_WHY = (NEVER, OPTIONAL, REQUIRED)
REASON = "reason_"
"""Before the number of a choice, from 1: its wording in another language."""
MOST_CHOICES = 20
LONGEST_CHOICE = 200


@dataclass(frozen=True, kw_only=True)
class ReasonSettings:
    """`[reasons]`: when judges are asked why, and what they may tick or write."""

    ask: str = NEVER
    every: int = 1
    """After every answer, or after every n-th pair that was answered."""
    question: str = ""
    """Empty: that of the language."""
    choices: tuple[str, ...] = ()
    text: bool = True
    """Whether there is room for words of their own."""
    per_question: bool = False
    """Whether each of several questions has its own, or the pair as a whole."""

    @property
    def asked(self) -> bool:
        """Whether anybody is ever asked."""
        return self.ask != NEVER

    @property
    def required(self) -> bool:
        """Whether there is no next pair before there is a reason."""
        return self.ask == REQUIRED

    def due(self, answered: int) -> bool:
        """Whether a reason is asked for after so many pairs, practice apart."""
        return self.asked and answered > 0 and answered % self.every == 0


def reason_problems(
    reasons: ReasonSettings, translations: Mapping[str, Mapping[str, str]], *, several: bool
) -> Iterator[Problem]:
    """What is wrong with how judges are asked why; `several` questions may have their own."""
    if reasons.per_question and not several:
        yield Problem("reasons.per_question", "there is one question; leave it out, or add some")
    if reasons.ask not in WAYS_TO_ASK_WHY:
        yield Problem("reasons.ask", f"{reasons.ask!r}; there are {', '.join(WAYS_TO_ASK_WHY)}")
    if reasons.every < 1:
        yield Problem("reasons.every", f"{reasons.every}; 1 for every answer, or more")
    if reasons.asked and not reasons.choices and not reasons.text:
        yield Problem("reasons.text", "nothing to tick and nowhere to write; add choices, or text")
    if len(reasons.choices) > MOST_CHOICES:
        yield Problem("reasons.choices", f"{len(reasons.choices)}; at most {MOST_CHOICES}")
    for k, choice in enumerate(reasons.choices):
        at = f"reasons.choices[{k + 1}]"
        if not choice.strip() or len(choice) > LONGEST_CHOICE:
            yield Problem(at, f"a text of 1 to {LONGEST_CHOICE} letters was expected")
        if reasons.choices.index(choice) < k:
            yield Problem(at, f"{choice!r} is there twice")
    known = {f"{REASON}{k}" for k in range(1, len(reasons.choices) + 1)}
    for language, words in translations.items():
        for key in words:
            if key.startswith(REASON) and key not in known:
                message = f"there are {len(reasons.choices)} choices; number them from 1"
                yield Problem(f"translations.{language}.{key}", message)
