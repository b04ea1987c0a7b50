"""InvitationStore: who was invited by name, their links, and how far they are."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection, Select, and_, func, select

from tiewise.data.answers import OFF_SCALE
from tiewise.study.audit_log import log_action
from tiewise.study.connection import digest, now
from tiewise.study.inviting.people import Invitee
from tiewise.study.judge_queries import STANDS
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import invites, judgements, judges, offers, return_links
from tiewise.study.values import Kind, Researcher
from tiewise.text import quantity


class InvitationState(StrEnum):
    """How far somebody is who was invited."""

    AWAITED = "awaited"
    BEGUN = "begun"
    DONE = "done"


class Invitation(NamedTuple):
    """Somebody who was invited by name, and how far they are."""

    id: int
    label: str
    mail: str
    issued: datetime | None
    """When the latest link was made; None before the first."""
    sent: datetime | None
    fault: str
    """Why the latest mail could not be sent."""
    judge: str
    """The id of the judge they became, or nothing."""
    made: int
    """Pairs that they compared."""

    def state(self, target: int) -> InvitationState:
        """How far they are, where `target` comparisons are asked for."""
        if not self.judge:
            return InvitationState.AWAITED
        return InvitationState.DONE if self.made >= target else InvitationState.BEGUN


class FreshLink(NamedTuple):
    """A new link, which is shown once: its path on the site, and who it is for."""

    invitation: int
    label: str
    mail: str
    path: str
    again: bool
    """Whether an earlier link, or the judge's own, went before it."""


class InvitationStore:
    """Invitations by name of one study."""

    def __init__(self, store: JudgeStore) -> None:
        self._store = store

    def add(self, people: Iterable[Invitee], *, by: Researcher | None = None) -> int:
        """Invite those who are not invited yet, as yet without links; how many they are."""

        def insert(connection: Connection) -> int:
            there = set(map(tuple, connection.execute(select(invites.c.label, invites.c.mail))))
            rows = [
                {"code": _placeholder(), "made": now(), "label": one.label, "mail": one.mail}
                for one in people
                if (one.label, one.mail) not in there
            ]
            if rows:
                connection.execute(invites.insert(), rows)
                log_action(connection, by, "invite", quantity(len(rows), "person", "people"))
            return len(rows)

        return self._store.transaction(insert)

    def all(self) -> list[Invitation]:
        """Everybody invited by name, by their names."""
        made = _comparisons().subquery()
        query = (
            select(
                invites.c.id, invites.c.label, func.coalesce(invites.c.mail, ""), invites.c.issued,
                invites.c.sent, func.coalesce(invites.c.fault, ""),
                func.coalesce(judges.c.id, ""), func.coalesce(made.c.made, 0),
            )
            .join(judges, judges.c.invite == invites.c.id, isouter=True)
            .join(made, made.c.judge == judges.c.id, isouter=True)
            .where(invites.c.label.is_not(None))
        )  # fmt: skip
        with self._store.reading() as connection:
            rows = [Invitation(*row) for row in connection.execute(query)]
        return sorted(rows, key=lambda one: (one.label.casefold(), one.id))

    def anonymous(self) -> tuple[int, int]:
        """Codes without a name: how many there are, and how many of them were used."""
        query = (
            select(func.count(invites.c.id), func.count(judges.c.id))
            .join(judges, judges.c.invite == invites.c.id, isouter=True)
            .where(invites.c.label.is_(None))
        )
        with self._store.reading() as connection:
            number, used = connection.execute(query).one()
        return number, used

    def any_named(self) -> bool:
        """Whether anybody is invited by name."""
        query = select(invites.c.id).where(invites.c.label.is_not(None)).limit(1)
        with self._store.reading() as connection:
            return connection.scalar(query) is not None

    def awaited(self) -> int:
        """How many have a link of their own and have not opened it."""
        came = select(judges.c.id).where(judges.c.invite == invites.c.id).exists()
        those = invites.c.label.is_not(None), invites.c.issued.is_not(None), ~came
        with self._store.reading() as connection:
            return connection.scalar(select(func.count(invites.c.id)).where(*those)) or 0

    def labels(self) -> dict[str, str]:
        """The name in which each judge was invited, by the id of the judge."""
        named = invites.c.label.is_not(None)
        query = select(judges.c.id, invites.c.label).join(invites, judges.c.invite == invites.c.id)
        with self._store.reading() as connection:
            return dict(tuple(row) for row in connection.execute(query.where(named)))

    # Links.

    def issue(self, numbers: Collection[int], *, by: Researcher | None = None) -> list[FreshLink]:
        """Fresh links for these invitations, in their order; earlier unused ones end.

        Somebody who has begun gets a link back to where they are.
        """

        def renew(connection: Connection) -> list[FreshLink]:
            links = [link for number in numbers if (link := _fresh(connection, number))]
            if links:
                log_action(connection, by, "make invitation links", str(len(links)))
            return links

        return self._store.transaction(renew)

    def record_mail(self, number: int, *, fault: str = "") -> None:
        """The mail with the latest link was sent, or why it was not."""
        values = {"fault": fault} if fault else {"sent": now(), "fault": ""}
        with self._store.writing() as connection:
            connection.execute(invites.update().where(invites.c.id == number).values(values))

    def remove(self, numbers: Collection[int], *, by: Researcher | None = None) -> int:
        """Forget people who have not come: their links end, names and addresses are erased."""

        def erase(connection: Connection) -> int:
            came = select(judges.c.id).where(judges.c.invite == invites.c.id).exists()
            those = (invites.c.id.in_(numbers), invites.c.label.is_not(None), ~came)
            gone = connection.execute(invites.delete().where(*those)).rowcount
            if gone:
                log_action(connection, by, "remove invitation", quantity(gone, "person", "people"))
            return gone

        return self._store.transaction(erase)


def _fresh(connection: Connection, number: int) -> FreshLink | None:
    query = (
        select(invites.c.label, invites.c.mail, invites.c.issued, judges.c.id, judges.c.withdrawn)
        .join(judges, judges.c.invite == invites.c.id, isouter=True)
        .where(invites.c.id == number, invites.c.label.is_not(None))
    )
    row = connection.execute(query).first()
    if row is None or row.withdrawn is not None:
        return None
    values = {"issued": now(), "fault": ""}
    if row.id is None:
        code = secrets.token_hex(8)
        values["code"], path = digest(code), f"/?code={code}"
    else:
        path = f"/j/{_return_link(connection, row.id)}"
    connection.execute(invites.update().where(invites.c.id == number).values(values))
    return FreshLink(number, row.label, row.mail or "", path, row.issued is not None)


def _return_link(connection: Connection, judge: str) -> str:
    """The secret of a new link to come back with; an earlier one that nobody opened ends."""
    unused = (return_links.c.judge == judge, return_links.c.opened.is_(None))
    connection.execute(return_links.delete().where(*unused))
    return add_return_link(connection, judge)


def add_return_link(connection: Connection, judge: str, *, opened: bool = False) -> str:
    """The secret of a further link to a judge's pages, which is kept nowhere else."""
    secret = secrets.token_hex(16)
    row = {
        "secret": digest(secret), "judge": judge, "made": now(),
        "opened": now() if opened else None,
    }  # fmt: skip
    connection.execute(return_links.insert().values(row))
    return secret


def _placeholder() -> str:
    """A placeholder for a code: a digest of a secret that nobody has."""
    return digest(secrets.token_hex(16))


def _comparisons() -> Select[tuple[str, int]]:
    """How many pairs each judge compared, practice and skipped ones apart."""
    skipped = judgements.c.outcome.in_([answer.stored for answer in OFF_SCALE])
    counted = and_(STANDS, ~skipped, offers.c.kind != Kind.PRACTICE.value)
    return (
        select(offers.c.judge, func.count(offers.c.id.distinct()).label("made"))
        .join(judgements, judgements.c.offer == offers.c.id)
        .where(counted)
        .group_by(offers.c.judge)
    )
