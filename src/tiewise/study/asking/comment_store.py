"""CommentStore: why judges answered as they did, in the database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, select

from tiewise.study.connection import now
from tiewise.study.judge_queries import STANDS
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import read_exclusions
from tiewise.study.schema import comments, judgements, offers
from tiewise.study.values import Judge, Kind
from tiewise.text import JOINERS, readable_line

LONGEST_COMMENT = 2000


class Comment(NamedTuple):
    """What a judge ticked and wrote of a pair, or of one question about it."""

    offer: int
    judge: str
    left: str
    right: str
    reasons: tuple[str, ...]
    comment: str
    written: datetime
    question: str = ""


Explanation = tuple[Sequence[str], str]
"""What was ticked, and what was written; both are empty where a judge said nothing."""


class CommentStore:
    """Reasons and comments of one study."""

    def __init__(self, store: JudgeStore) -> None:
        self._store = store

    def add(self, judge: Judge, offer: int, reasons: Sequence[str], comment: str) -> bool:
        """Keep why a pair was answered so; False where it is not this judge's, or said already.

        Empty is kept, too: that the judge was asked.
        """
        return self.add_each(judge, offer, {"": (reasons, comment)})

    def add_each(self, judge: Judge, offer: int, explanations: Mapping[str, Explanation]) -> bool:
        """The same of several questions at once, by their ids."""
        at = now()
        rows = [
            {"offer": offer, "question": question, "written": at,
             "reasons": json.dumps(list(reasons), ensure_ascii=False),
             "comment": clean_text(comment)}
            for question, (reasons, comment) in explanations.items()
        ]  # fmt: skip

        def put(connection: Connection) -> bool:
            there = connection.execute(_STANDING, {"offer_id": offer, "judge_id": judge.id}).first()
            if there is None or connection.scalar(_of(offer)) is not None:
                return False
            connection.execute(comments.insert(), rows)
            return True

        return self._store.for_judge(judge, put)

    def has(self, offer: int) -> bool:
        """Whether a judge was asked why, and has answered that."""
        with self._store.reading() as connection:
            return connection.scalar(_of(offer)) is not None

    def all(
        self, *, item: str | None = None, question: str = "", excluded: bool = True
    ) -> Iterator[Comment]:
        """Comments on pairs that stand, oldest first; on one item; or by judges who count.

        With a `question`, those on it and on whole pairs.
        """
        query = _ALL
        if question:
            query = query.where(comments.c.question.in_(("", question)))
        if item is not None:
            query = query.where((offers.c.left == item) | (offers.c.right == item))
        with self._store.reading() as connection:
            left_out = () if excluded else read_exclusions(connection)
            for row in connection.execute(query):
                reasons = tuple(json.loads(row.reasons))
                if (reasons or row.comment) and row.judge not in left_out:
                    yield Comment(
                        row.offer, row.judge, row.left, row.right, reasons, row.comment,
                        row.written, row.question,
                    )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """How many comments each item has."""
        out: dict[str, int] = {}
        for one in self.all():
            for item in (one.left, one.right):
                out[item] = out.get(item, 0) + 1
        return out


def clean_text(text: str) -> str:
    """A comment that any database takes, not longer than it may be; lines stay lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    shown = "\n".join(readable_line(line).rstrip() for line in lines).strip()[:LONGEST_COMMENT]
    return shown if shown.strip(JOINERS) else ""


def _of(offer: int) -> Select[Any]:
    return select(comments.c.offer).where(comments.c.offer == offer).limit(1)


_ANSWERED = select(judgements.c.id).where(judgements.c.offer == offers.c.id, STANDS).exists()
_STANDING = select(offers.c.id).where(
    offers.c.id == bindparam("offer_id"), offers.c.judge == bindparam("judge_id"),
    offers.c.kind != Kind.PRACTICE.value, _ANSWERED,
)  # fmt: skip
_ALL = (
    select(
        comments.c.offer, offers.c.judge, offers.c.left, offers.c.right, comments.c.reasons,
        comments.c.comment, comments.c.written, comments.c.question,
    )
    .join(offers, offers.c.id == comments.c.offer)
    .where(_ANSWERED)
    .order_by(comments.c.written, comments.c.offer, comments.c.question)
)  # fmt: skip
