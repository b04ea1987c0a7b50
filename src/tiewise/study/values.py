"""Values of a running study: judges, offers, answers, researchers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tiewise.data.answers import TIE, on_scale
from tiewise.pairing.policies import OrderedPair, Pair


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
    """Whether they have past which groups they know."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A pair that is before a judge until it is answered."""

    id: int
    left: str
    right: str
    kind: Kind


class Reply(NamedTuple):
    """An answer to a question: its code, and how strongly an item was chosen, if that is graded."""

    answer: int
    grade: int | None = None


class NewJudge(NamedTuple):
    """A judge, and the secret of their personal link, which is kept nowhere else."""

    judge: Judge
    secret: str


class JudgeProgress(NamedTuple):
    """How far a judge is: comparisons made, pairs skipped, practice done."""

    made: int
    skipped: int
    practice: int

    @property
    def pairs(self) -> int:
        """Pairs answered, practice apart."""
        return self.made + self.skipped

    @classmethod
    def from_counts(cls, counts: Iterable[tuple[str, bool, int]]) -> JudgeProgress:
        """From how many pairs of each kind were skipped, and how many not."""
        made, skipped, practice = 0, 0, 0
        for kind, was_skipped, number in counts:
            if kind == Kind.PRACTICE:
                practice += number
            elif was_skipped:
                skipped += number
            else:
                made += number
        return cls(made, skipped, practice)


class PastAnswer(NamedTuple):
    """An answer that stands: the pair as it was shown, why, and the code of the answer.

    Of several answers to one pair it is the one that says most: a choice, then a tie, then a skip.
    """

    left: str
    right: str
    kind: str
    answer: int
    offer: int = 0


class History(NamedTuple):
    """What a judge has answered, oldest first."""

    answers: tuple[PastAnswer, ...]

    @property
    def progress(self) -> JudgeProgress:
        """How far they are."""
        return JudgeProgress.from_counts(
            (past.kind, not on_scale(past.answer), 1) for past in self.answers
        )

    @property
    def seen(self) -> frozenset[Pair]:
        """The pairs they have met, practice apart."""
        return frozenset(
            frozenset((past.left, past.right))
            for past in self.answers
            if past.kind != Kind.PRACTICE
        )

    @property
    def hard_pairs(self) -> frozenset[Pair]:
        """The pairs that they called equal or skipped, practice apart."""
        return frozenset(
            frozenset((past.left, past.right))
            for past in self.answers
            if past.kind != Kind.PRACTICE and (past.answer == TIE or not on_scale(past.answer))
        )

    @property
    def compared(self) -> list[OrderedPair]:
        """The pairs they compared, as they saw them; without practice and what they skipped."""
        return [
            OrderedPair(past.left, past.right, past.kind == Kind.REPEAT)
            for past in self.answers
            if past.kind != Kind.PRACTICE and on_scale(past.answer)
        ]


class Phase(StrEnum):
    """Whether judges may judge."""

    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class TokenPurpose(StrEnum):
    """What a token is for: signing in once, the shared map, the interface for programs."""

    SIGN_IN = "sign-in"
    SHARE = "share"
    API = "api"
    COMMENTS = "api-comments"
    """For the interface for programs, with what judges wrote."""


class Role(StrEnum):
    """What somebody may do on a site of several studies; of a single study all are researchers."""

    OWNER = "owner"
    RESEARCHER = "researcher"
    VIEWER = "viewer"


class Researcher(NamedTuple):
    """Somebody who runs the study."""

    id: int
    name: str
    has_password: bool
    may_reset: bool = False
    """Whether they came with a one-time link of somebody else, who vouches for them: then they
    need not know the password that they replace."""
    role: Role = Role.RESEARCHER

    @property
    def must_know_password(self) -> bool:
        """Whether the current password is asked for before there is a new one."""
        return self.has_password and not self.may_reset
