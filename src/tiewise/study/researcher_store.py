"""Who runs a study and what they did: the SQL of researchers, sessions, passes, phases, exclusions.

Every change leaves a row in `deeds`, in the same transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, func, select
from sqlalchemy.exc import IntegrityError

from tiewise.errors import InputError
from tiewise.study.judge_store import Store, digest, now
from tiewise.study.schema import (
    deeds,
    exclusions,
    judges,
    passes,
    phases,
    researchers,
    sessions,
)

IDLE, LONGEST = timedelta(hours=12), timedelta(days=7)
"""A session ends when nobody has used it for so long, and after so long in any case."""
ONCE = timedelta(days=3)
"""How long a one-time link can be used."""
EXCLUDE = "exclude judge"


class Phase(StrEnum):
    """Whether judges may judge."""

    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Opens(StrEnum):
    """What a pass is for: signing in once, the shared map, the interface for programs."""

    SIGN_IN = "sign-in"
    SHARE = "share"
    API = "api"


class Researcher(NamedTuple):
    """Somebody who runs the study."""

    id: int
    name: str
    has_password: bool


class Ledger:
    """Researchers of a study, and what they decided."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # Researchers.

    def researcher(self, name: str) -> Researcher | None:
        """The researcher of this name, unless removed."""
        with self._store.reading() as connection:
            row = connection.execute(_WHO.where(researchers.c.name == name)).first()
        return None if row is None else _researcher(row)

    def researchers(self) -> list[Researcher]:
        """All who may sign in, oldest first."""
        with self._store.reading() as connection:
            return [_researcher(row) for row in connection.execute(_WHO.order_by(researchers.c.id))]

    def add_researcher(self, name: str, *, by: Researcher | None = None) -> Researcher:
        """A new researcher; one who was removed comes back without their password."""
        tidy = " ".join(name.split())
        if not 1 <= len(tidy) <= 100:
            raise InputError("a researcher needs a name of 1 to 100 letters")
        if self.researcher(tidy) is not None:
            raise InputError(f"there is a researcher {tidy!r} already; choose another name")
        with self._store.writing() as connection:
            mine = (researchers.c.name == tidy, researchers.c.removed.is_not(None))
            back = {"removed": None, "password": None}
            if connection.execute(researchers.update().where(*mine).values(back)).rowcount == 0:
                row = {"name": tidy, "made": now()}
                connection.execute(researchers.insert().values(row))
            _do(connection, by, "add researcher", tidy)
        found = self.researcher(tidy)
        assert found is not None
        return found

    def can_sign_in(self) -> bool:
        """Whether anybody can: with a password, or because they are signed in now."""
        at = now()
        theirs = (sessions.c.researcher == researchers.c.id, *_alive(at))
        there = select(sessions.c.secret).where(*theirs).exists()
        wanted = _WHO.where(researchers.c.password.is_not(None) | there).limit(1)
        with self._store.reading() as connection:
            return connection.execute(wanted).first() is not None

    def invite_researcher(self, name: str, *, by: Researcher | None = None) -> str:
        """The secret of a one-time link for a researcher, new or known."""
        tidy = " ".join(name.split())
        who = self.researcher(tidy) or self.add_researcher(tidy, by=by)
        return self.make_pass(Opens.SIGN_IN, researcher=who, by=by)

    def remove_researcher(self, name: str, *, by: Researcher | None = None) -> bool:
        """End a researcher's sessions and links; False where there is none of this name."""
        there = self.researcher(name)
        if there is None:
            return False
        if len(self.researchers()) == 1:
            raise InputError(f"{name!r} is the only researcher; add another one first")
        with self._store.writing() as connection:
            mine = researchers.c.id == there.id
            gone = {"removed": now(), "password": None}
            connection.execute(researchers.update().where(mine).values(gone))
            for table in (sessions, passes):
                theirs = (table.c.researcher == there.id, table.c.ended.is_(None))
                connection.execute(table.update().where(*theirs).values(ended=now()))
            _do(connection, by, "remove researcher", name)
        return True

    def password_hash(self, name: str) -> str | None:
        """The hash of a researcher's password, where there is one."""
        wanted = select(researchers.c.password).where(
            researchers.c.name == name, researchers.c.removed.is_(None)
        )
        with self._store.reading() as connection:
            found: str | None = connection.scalar(wanted)
        return found

    def set_password(
        self, researcher: Researcher, hashed: str | None, *, quiet: bool = False
    ) -> None:
        """Keep the hash of a new password; `quiet` where it is the same one, hashed anew."""
        with self._store.writing() as connection:
            mine = researchers.c.id == researcher.id
            connection.execute(researchers.update().where(mine).values(password=hashed))
            if not quiet:
                _do(connection, researcher, "change password", researcher.name)

    # Sessions.

    def sign_in(self, researcher: Researcher) -> str:
        """Begin a session; its secret, which is kept nowhere else."""
        secret = secrets.token_hex(16)
        row = {"secret": digest(secret), "researcher": researcher.id, "begun": now(), "seen": now()}
        with self._store.writing() as connection:
            connection.execute(sessions.insert().values(row))
            _do(connection, researcher, "sign in", researcher.name)
        return secret

    def session(self, secret: str) -> Researcher | None:
        """Whose session this is, if it has not ended or grown too old."""
        at = now()
        wanted = (
            _WHO.add_columns(sessions.c.seen)
            .join(sessions, sessions.c.researcher == researchers.c.id)
            .where(sessions.c.secret == digest(secret), *_alive(at))
        )
        with self._store.reading() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            return None
        # To the minute is enough, and spares a write on every look.
        if at - row.seen > timedelta(minutes=1):
            with self._store.writing() as connection:
                mine = sessions.c.secret == digest(secret)
                connection.execute(sessions.update().where(mine).values(seen=at))
        return _researcher(row)

    def sign_out(self, secret: str) -> None:
        """End a session."""
        with self._store.writing() as connection:
            mine = sessions.c.secret == digest(secret)
            connection.execute(sessions.update().where(mine).values(ended=now()))

    def sign_out_others(self, researcher: Researcher, secret: str) -> None:
        """End every session of a researcher but this one, and their links that nobody used."""
        with self._store.writing() as connection:
            for table in (sessions, passes):
                others = (
                    table.c.researcher == researcher.id, table.c.secret != digest(secret),
                    table.c.ended.is_(None),
                )  # fmt: skip
                connection.execute(table.update().where(*others).values(ended=now()))

    # Passes.

    def make_pass(
        self,
        opens: Opens,
        *,
        label: str = "",
        researcher: Researcher | None = None,
        by: Researcher | None = None,
        lasts: timedelta | None = None,
    ) -> str:
        """A new secret that opens something; for signing in, `researcher` is whom."""
        secret = secrets.token_hex(16)
        ends = lasts or (ONCE if opens == Opens.SIGN_IN else None)
        row = {
            "secret": digest(secret), "opens": opens.value, "label": label, "made": now(),
            "researcher": researcher.id if researcher else None,
            "until": now() + ends if ends else None,
        }  # fmt: skip
        with self._store.writing() as connection:
            connection.execute(passes.insert().values(row))
            _do(
                connection,
                by,
                f"make {opens} link",
                label or (researcher.name if researcher else ""),
            )
        return secret

    def may_open(self, secret: str, opens: Opens) -> bool:
        """Whether a pass is good for this now."""
        with self._store.reading() as connection:
            return connection.execute(_valid(secret, opens)).first() is not None

    def use_sign_in(self, secret: str) -> Researcher | None:
        """Use a one-time link up: the researcher it is for, or None where it is no good."""
        with self._store.writing() as connection:
            row = connection.execute(_valid(secret, Opens.SIGN_IN)).first()
            if row is None:
                return None
            mine = (passes.c.id == row.id, passes.c.ended.is_(None))
            if connection.execute(passes.update().where(*mine).values(ended=now())).rowcount != 1:
                return None
            who = connection.execute(_WHO.where(researchers.c.id == row.researcher)).first()
        return None if who is None else _researcher(who)

    def passes(self, opens: Opens) -> list[RowMapping]:
        """The passes of a kind that are still good: id, label, made, until."""
        wanted = (
            select(passes.c.id, passes.c.label, passes.c.made, passes.c.until)
            .where(passes.c.opens == opens.value, *_good())
            .order_by(passes.c.id)
        )
        with self._store.reading() as connection:
            return list(connection.execute(wanted).mappings())

    def end_pass(self, which: int, *, by: Researcher | None = None) -> bool:
        """End a pass; False where there is none that is good."""
        with self._store.writing() as connection:
            row = connection.execute(
                select(passes.c.label, passes.c.opens).where(passes.c.id == which, *_good())
            ).first()
            if row is None:
                return False
            connection.execute(passes.update().where(passes.c.id == which).values(ended=now()))
            _do(connection, by, f"end {row.opens} link", row.label)
        return True

    # Phases.

    def phase(self) -> Phase:
        """Whether judges may judge: the last word on it, else open."""
        with self._store.reading() as connection:
            last = connection.scalar(select(phases.c.phase).order_by(phases.c.id.desc()).limit(1))
        return Phase(last) if last else Phase.OPEN

    def set_phase(self, phase: Phase, *, by: Researcher | None = None, why: str = "") -> None:
        """Open, pause or close the study."""
        if phase == self.phase():
            return
        with self._store.writing() as connection:
            connection.execute(phases.insert().values(phase=phase.value, at=now()))
            _do(connection, by, "set phase", phase.value, why)

    # Exclusions.

    def excluded(self) -> dict[str, str]:
        """The judges who do not count now, each with the reason."""
        with self._store.reading() as connection:
            return excluded(connection)

    def left_out(self) -> list[RowMapping]:
        """The judges who do not count now, latest first: judge, reason, at, and by whom (name)."""
        last = select(func.max(exclusions.c.id)).group_by(exclusions.c.judge)
        done = (
            select(deeds.c.about, func.max(deeds.c.id).label("id"))
            .where(deeds.c.what == EXCLUDE)
            .group_by(deeds.c.about)
            .subquery()
        )
        wanted = (
            select(exclusions.c.judge, exclusions.c.reason, exclusions.c.at, researchers.c.name)
            .join(done, done.c.about == exclusions.c.judge, isouter=True)
            .join(deeds, deeds.c.id == done.c.id, isouter=True)
            .join(researchers, researchers.c.id == deeds.c.researcher, isouter=True)
            .where(exclusions.c.id.in_(last), exclusions.c.excluded)
            .order_by(exclusions.c.id.desc())
        )
        with self._store.reading() as connection:
            return list(connection.execute(wanted).mappings())

    def exclude(self, judge: str, reason: str, *, by: Researcher | None = None) -> None:
        """Leave a judge's judgements out of fits from now on; they stay where they are."""
        if not reason.strip():
            raise InputError("say why the judge is left out; the reason is kept with it")
        self._set_excluded(judge, True, reason.strip(), by)

    def include(self, judge: str, reason: str = "", *, by: Researcher | None = None) -> None:
        """Let a judge's judgements count again."""
        self._set_excluded(judge, False, reason.strip(), by)

    def _set_excluded(
        self, judge: str, leave_out: bool, reason: str, by: Researcher | None
    ) -> None:
        row = {"judge": judge, "excluded": leave_out, "reason": reason, "at": now()}
        try:
            with self._store.writing() as connection:
                # A letter that PostgreSQL does not take is in nobody's id.
                known = select(judges.c.id).where(judges.c.id == judge)
                if "\0" in judge or connection.scalar(known) is None:
                    raise InputError(f"there is no judge {judge!r} in this study")
                if (judge in excluded(connection)) == leave_out:
                    return
                connection.execute(exclusions.insert().values(row))
                what = EXCLUDE if leave_out else "include judge"
                _do(connection, by, what, judge, reason)
        except IntegrityError:
            raise InputError(f"there is no judge {judge!r} in this study") from None

    # The trail.

    def note(self, what: str, about: str = "", *, by: Researcher | None = None) -> None:
        """Keep that somebody did something, such as a download."""
        with self._store.writing() as connection:
            _do(connection, by, what, about)

    def deeds(self, most: int = 500) -> Iterator[RowMapping]:
        """What was done, latest first: at, name (None for the command line), what, about, why."""
        wanted = (
            select(deeds.c.at, researchers.c.name, deeds.c.what, deeds.c.about, deeds.c.why)
            .join(researchers, researchers.c.id == deeds.c.researcher, isouter=True)
            .order_by(deeds.c.id.desc())
            .limit(most)
        )
        with self._store.reading() as connection:
            yield from connection.execute(wanted).mappings()


def excluded(connection: Connection) -> dict[str, str]:
    """The judges whose last row says that they are left out."""
    last = select(func.max(exclusions.c.id)).group_by(exclusions.c.judge)
    wanted = select(exclusions.c.judge, exclusions.c.reason).where(
        exclusions.c.id.in_(last), exclusions.c.excluded
    )
    return dict(tuple(row) for row in connection.execute(wanted))


_WHO = select(
    researchers.c.id, researchers.c.name, researchers.c.password.is_not(None).label("has_password")
).where(researchers.c.removed.is_(None))


def _researcher(row: Any) -> Researcher:
    return Researcher(row.id, row.name, bool(row.has_password))


def _alive(at: datetime) -> tuple[Any, ...]:
    since = (sessions.c.seen > at - IDLE, sessions.c.begun > at - LONGEST)
    return sessions.c.ended.is_(None), *since


def _good() -> tuple[Any, ...]:
    return passes.c.ended.is_(None), passes.c.until.is_(None) | (passes.c.until > now())


def _valid(secret: str, opens: Opens) -> Any:
    return select(passes.c.id, passes.c.researcher).where(
        passes.c.secret == digest(secret), passes.c.opens == opens.value, *_good()
    )


def _do(
    connection: Connection, by: Researcher | None, what: str, about: str, why: str = ""
) -> None:
    row = {
        "at": now(),
        "researcher": by.id if by else None,
        "what": what,
        "about": about,
        "why": why,
    }
    connection.execute(deeds.insert().values(row))
