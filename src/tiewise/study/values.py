"""The nouns of a running study: judges, offers, answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tiewise.pairing.policies import Pair, Pick


class Outcome(StrEnum):
    """What a judge can say of a pair."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    SKIP = "skip"


class Kind(StrEnum):
    """Why a pair is shown: for practice, for the first time, or once more as planned."""

    PRACTICE = "practice"
    NEW = "new"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Judge:
    """Somebody who agreed to judge."""

    id: str
    language: str
    consent: str
    chose: bool
    """Whether they have said which groups they know."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A pair that is before a judge until it is answered."""

    id: int
    left: str
    right: str
    kind: Kind


class NewJudge(NamedTuple):
    """A judge, and the secret of their personal link, which is kept nowhere else."""

    judge: Judge
    secret: str


class Progress(NamedTuple):
    """How far a judge is: comparisons made, pairs skipped, practice done."""

    made: int
    skipped: int
    practice: int


class Said(NamedTuple):
    """An answer that stands: the pair as it was shown, why, and what was said."""

    left: str
    right: str
    kind: str
    outcome: str


class History(NamedTuple):
    """What a judge has answered, oldest first."""

    answers: tuple[Said, ...]

    @property
    def progress(self) -> Progress:
        """How far they are."""
        practice = sum(said.kind == Kind.PRACTICE for said in self.answers)
        skipped = sum(
            said.outcome == Outcome.SKIP and said.kind != Kind.PRACTICE for said in self.answers
        )
        return Progress(len(self.answers) - practice - skipped, skipped, practice)

    @property
    def seen(self) -> frozenset[Pair]:
        """The pairs they have met, practice apart."""
        return frozenset(
            frozenset((said.left, said.right))
            for said in self.answers
            if said.kind != Kind.PRACTICE
        )

    @property
    def wary(self) -> frozenset[Pair]:
        """The pairs that they called equal or skipped, practice apart."""
        return frozenset(
            frozenset((said.left, said.right))
            for said in self.answers
            if said.kind != Kind.PRACTICE and said.outcome in (Outcome.TIE, Outcome.SKIP)
        )

    @property
    def compared(self) -> list[Pick]:
        """The pairs they compared, as they saw them; without practice and what they skipped."""
        return [
            Pick(said.left, said.right, said.kind == Kind.REPEAT)
            for said in self.answers
            if said.kind != Kind.PRACTICE and said.outcome != Outcome.SKIP
        ]
