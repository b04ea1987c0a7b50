"""Answers about one item that stand, the latest first, and how often each was given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, func, or_, select

from tiewise.data.answers import ANSWERS, CODE_OF_STORED
from tiewise.study.judge_queries import STANDS
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judgements, offers
from tiewise.study.values import Kind


class ItemAnswer(NamedTuple):
    """An answer about a pair that the item was in."""

    judgement: int
    judge: str
    other: str
    """The item that it was compared with."""
    side: str
    """Where the item stood, `left` or `right`."""
    outcome: str
    """The answer as it is stored."""
    strength: int | None
    repeat: bool
    shown: datetime
    answered: datetime

    @property
    def verdict(self) -> str:
        """How the item did: `chosen`, `other`, or the answer where neither was chosen."""
        return _verdict(self.outcome, self.side)

    @property
    def seconds(self) -> float | None:
        """From the pair being shown to its answer; None where it was brought in from elsewhere."""
        took = (self.answered - self.shown).total_seconds()
        return took if took > 0 else None


def item_answers(
    store: JudgeStore, item: str, question: str = "", *, skip: int = 0, most: int = 100
) -> list[ItemAnswer]:
    """The latest answers about an item, after as many as are skipped; without practice.

    Where the study asks several questions, those to one, by its id.
    """
    query = (
        _standing(item, question)
        .add_columns(
            judgements.c.id, offers.c.judge, offers.c.left, offers.c.right, judgements.c.outcome,
            judgements.c.grade, offers.c.kind, offers.c.shown, judgements.c.answered,
        )
        .order_by(judgements.c.id.desc())
        .offset(skip)
        .limit(most)
    )  # fmt: skip
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return [
        ItemAnswer(
            row.id, row.judge, row.right if row.left == item else row.left,
            "left" if row.left == item else "right", row.outcome, row.grade,
            row.kind == Kind.REPEAT, row.shown, row.answered,
        )
        for row in rows
    ]  # fmt: skip


def verdict_counts(store: JudgeStore, item: str, question: str = "") -> Mapping[str, int]:
    """How often the item was chosen, the other one was, or neither, by `ItemAnswer.verdict`."""
    on_left = (offers.c.left == item).label("on_left")
    query = (
        _standing(item, question)
        .add_columns(on_left, judgements.c.outcome, func.count().label("number"))
        .group_by(on_left, judgements.c.outcome)
    )
    counts: dict[str, int] = {}
    with store.reading() as connection:
        for left, outcome, number in connection.execute(query):
            verdict = _verdict(outcome, "left" if left else "right")
            counts[verdict] = counts.get(verdict, 0) + number
    return counts


def _verdict(outcome: str, side: str) -> str:
    """How the item on a side did, by the answer as it is stored."""
    chosen = ANSWERS[CODE_OF_STORED[outcome]].chosen
    return outcome if chosen is None else "chosen" if chosen == side else "other"


def _standing(item: str, question: str) -> Select[tuple[()]]:
    """Answers to a question about an item, practice and what was taken back left out."""
    return (
        select()
        .select_from(judgements.join(offers, offers.c.id == judgements.c.offer))
        .where(
            or_(offers.c.left == item, offers.c.right == item),
            judgements.c.question == question,
            offers.c.kind != Kind.PRACTICE.value,
            STANDS,
        )
    )
