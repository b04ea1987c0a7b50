"""PanelStore: who comes from a panel, by the identifiers in its link."""

from __future__ import annotations

from sqlalchemy import Connection, select

from tiewise.study.inviting.invitation_store import add_return_link
from tiewise.study.judge_store import JudgeStore, person_digest
from tiewise.study.schema import identifiers, judges, return_links
from tiewise.study.values import Judge

MOST_BROWSERS = 5
"""Browsers in which somebody from a panel may be at once; the oldest of more is signed out."""


class PanelStore:
    """Judges of one study who come from a panel."""

    def __init__(self, store: JudgeStore) -> None:
        self._store = store

    def judge(self, name: str, value: str) -> Judge | None:
        """The judge who came with this identifier."""
        query = select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose).where(
            judges.c.person == person_digest(name, value), judges.c.withdrawn.is_(None)
        )
        with self._store.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else Judge(*row)

    def come_back(self, judge: Judge) -> str:
        """The secret with which another browser of the judge goes on as them."""

        def add(connection: Connection) -> str:
            mine = return_links.c.judge == judge.id, return_links.c.opened.is_not(None)
            query = select(return_links.c.secret).where(*mine).order_by(return_links.c.made.desc())
            old = list(connection.scalars(query))[MOST_BROWSERS - 1 :]
            connection.execute(return_links.delete().where(return_links.c.secret.in_(old)))
            return add_return_link(connection, judge.id, opened=True)

        return self._store.for_judge(judge, add)

    def is_from_panel(self, judge: Judge) -> bool:
        """Whether the judge came with identifiers."""
        query = select(identifiers.c.name).where(identifiers.c.judge == judge.id).limit(1)
        with self._store.reading() as connection:
            return connection.scalar(query) is not None

    def all(self) -> dict[str, dict[str, str]]:
        """The identifiers of each judge who has some, by name."""
        out: dict[str, dict[str, str]] = {}
        with self._store.reading() as connection:
            for judge, name, value in connection.execute(select(identifiers)):
                out.setdefault(judge, {})[name] = value
        return out
