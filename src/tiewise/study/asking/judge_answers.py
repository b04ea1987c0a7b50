"""Answers of one judge that stand, the latest first, and whether a repeat was answered alike."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select

from tiewise.data.answers import ANSWERS, CODE_OF_STORED
from tiewise.study.judge_queries import STANDS
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judgements, judges, offers
from tiewise.study.values import Kind


class JudgeAnswer(NamedTuple):
    """An answer of a judge about a pair as it was shown."""

    left: str
    right: str
    outcome: str
    """The answer as it is stored."""
    strength: int | None
    kind: str
    shown: datetime
    answered: datetime
    alike: bool | None = None
    """Of a repeat, whether it was answered as before; None of all others."""

    @property
    def chosen(self) -> str:
        """The item that was chosen; of a tie or a skip, the answer."""
        side = ANSWERS[CODE_OF_STORED[self.outcome]].chosen
        return self.outcome if side is None else self.left if side == "left" else self.right

    @property
    def seconds(self) -> float | None:
        """From the pair being shown to its answer; None where it was brought in from elsewhere."""
        took = (self.answered - self.shown).total_seconds()
        return took if took > 0 else None


class KnownJudge(NamedTuple):
    """When a judge agreed, and in which language they judge."""

    consented: datetime
    language: str
    withdrawn: datetime | None


def known_judge(store: JudgeStore, judge: str) -> KnownJudge | None:
    """The judge of this id; None where there is none."""
    query = select(judges.c.consented, judges.c.language, judges.c.withdrawn)
    with store.reading() as connection:
        row = (
            None if "\0" in judge else connection.execute(query.where(judges.c.id == judge)).first()
        )
    return None if row is None else KnownJudge(*row)


def judge_answers(store: JudgeStore, judge: str, question: str = "") -> list[JudgeAnswer]:
    """The answers of a judge to a question, the latest first; without practice."""
    query = (
        select(
            offers.c.left, offers.c.right, judgements.c.outcome, judgements.c.grade, offers.c.kind,
            offers.c.shown, judgements.c.answered,
        )
        .join(offers, offers.c.id == judgements.c.offer)
        .where(
            offers.c.judge == judge, judgements.c.question == question, STANDS,
            offers.c.kind != Kind.PRACTICE.value,
        )
        .order_by(judgements.c.id)
    )  # fmt: skip
    with store.reading() as connection:
        answers = [JudgeAnswer(*row) for row in connection.execute(query)]
    return _compared_with_earlier(answers)[::-1]


def _compared_with_earlier(answers: list[JudgeAnswer]) -> list[JudgeAnswer]:
    """The answers in the order of time, each repeat held against the answer before it."""
    before: dict[frozenset[str], str] = {}
    out = []
    for one in answers:
        pair = frozenset((one.left, one.right))
        if one.kind == Kind.REPEAT and pair in before:
            one = one._replace(alike=one.chosen == before[pair])
        before[pair] = one.chosen
        out.append(one)
    return out
