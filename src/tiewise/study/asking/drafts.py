"""Half-given answers: those to some of a pair's questions, until there is one to each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from tiewise.data.answers import CODE_OF_STORED
from tiewise.study.judge_queries import STANDS
from tiewise.study.schema import drafts, judgements
from tiewise.study.values import Reply

_COLUMNS = (
    drafts.c.offer, drafts.c.question, drafts.c.outcome, drafts.c.grade, drafts.c.answered,
)  # fmt: skip


def read_drafts(connection: Connection, offer: int) -> dict[str, Reply]:
    """What is half given of an offer, by the id of the question."""
    rows = connection.execute(select(*_COLUMNS).where(drafts.c.offer == offer))
    return {row.question: Reply(CODE_OF_STORED[row.outcome], row.grade) for row in rows}


def read_replies(connection: Connection, offer: int) -> dict[str, Reply]:
    """What was answered to an offer and stands, by the id of the question."""
    query = select(judgements.c.question, judgements.c.outcome, judgements.c.grade).where(
        judgements.c.offer == offer, STANDS
    )
    rows = connection.execute(query.order_by(judgements.c.id))
    return {row.question: Reply(CODE_OF_STORED[row.outcome], row.grade) for row in rows}


def keep_drafts(
    connection: Connection,
    offer: int,
    rows: Sequence[Mapping[str, Any]],
    questions: Collection[str],
) -> list[dict[str, Any]] | None:
    """Keep answers in place of earlier ones; all of the offer, once each question has one.

    An answer that is sent again was given when it was sent first.
    """
    before = read_drafts(connection, offer)
    for row in rows:
        if before.get(row["question"]) == Reply(CODE_OF_STORED[row["outcome"]], row["grade"]):
            continue
        same = (drafts.c.offer == offer, drafts.c.question == row["question"])
        connection.execute(drafts.delete().where(*same))
        connection.execute(drafts.insert().values(row))
    there = connection.execute(select(*_COLUMNS).where(drafts.c.offer == offer)).mappings()
    by_question = {row["question"]: dict(row) for row in there}
    if not set(questions) <= by_question.keys():
        return None
    # In the order in which they were answered; a question that is not asked any more is left out.
    asked = [by_question[question] for question in questions]
    return sorted(asked, key=lambda row: row["answered"])


def drop_drafts(connection: Connection, offer: int, *, of: int | None = None) -> None:
    """Forget what is half given of an offer; where there are not `of` of them, nothing."""
    mine = drafts.c.offer == offer
    if of is not None and connection.scalar(select(func.count()).where(mine)) != of:
        return
    connection.execute(drafts.delete().where(mine))
