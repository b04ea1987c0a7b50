"""StoredRows: everything that judges left in the database, for exports and fits."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import RowMapping, func, select

from tiewise.study import judge_queries
from tiewise.study.connection import Database, take_time
from tiewise.study.schema import (
    erasures,
    judgements,
    judges,
    known_groups,
    offers,
    signup_answers,
    undone,
)


class StoredRows(Database):
    """A database that is read whole."""

    def rows(self) -> Iterator[RowMapping]:
        """Every judgement with its offer, oldest first; `undone` is when it was taken back."""
        query = judge_queries.all_judgements().order_by(judgements.c.id)
        # In a transaction: row by row is how PostgreSQL hands out many, and only within one.
        with self.engine.connect() as connection:
            take_time(connection)
            yield from connection.execution_options(yield_per=5000).execute(query).mappings()

    def judge_rows(self) -> Iterator[RowMapping]:
        """Every judge, with how much they did."""
        answers = judge_queries.all_judgements().where(undone.c.at.is_(None)).subquery()
        made = (
            select(answers.c.judge, func.count().label("judgements"))
            .group_by(answers.c.judge)
            .subquery()
        )
        query = (
            select(
                judges.c.id, judges.c.language, judges.c.consent, judges.c.consented,
                judges.c.withdrawn, func.coalesce(made.c.judgements, 0).label("judgements"),
            )
            .join(made, made.c.judge == judges.c.id, isouter=True)
            .order_by(judges.c.consented, judges.c.id)
        )  # fmt: skip
        with self.reading() as connection:
            yield from connection.execute(query).mappings()

    def signup_answers(self) -> dict[str, dict[str, str]]:
        """What each judge said of themselves, by field."""
        out: dict[str, dict[str, str]] = {}
        with self.reading() as connection:
            for judge, name, value in connection.execute(select(signup_answers)):
                out.setdefault(judge, {})[name] = value
        return out

    def groups_by_judge(self) -> dict[str, list[str]]:
        """The groups that each judge knows."""
        out: dict[str, list[str]] = {}
        with self.reading() as connection:
            for judge, group in connection.execute(
                select(known_groups).order_by(known_groups.c.group)
            ):
                out.setdefault(judge, []).append(group)
        return out

    def offers(self) -> Iterator[RowMapping]:
        """Every pair that was ever put before a judge."""
        with self.reading() as connection:
            yield from connection.execute(select(offers).order_by(offers.c.id)).mappings()

    def erasures(self) -> Iterator[RowMapping]:
        """What was erased, when, for whom; not what it was."""
        with self.reading() as connection:
            yield from connection.execute(select(erasures).order_by(erasures.c.id)).mappings()
