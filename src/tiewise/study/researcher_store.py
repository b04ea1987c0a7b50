"""ResearcherStore: researchers, sessions, tokens, phases, exclusions and the audit log.

Every change is logged in the same transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select
from sqlalchemy.exc import IntegrityError

from tiewise.errors import InputError
from tiewise.study.audit_log import latest_actions, log_action
from tiewise.study.connection import Database, digest, now
from tiewise.study.schema import (
    audit_log,
    devices,
    exclusions,
    judges,
    phases,
    researchers,
    sessions,
    sign_in_attempts,
    tokens,
)
from tiewise.study.values import Phase, Researcher, TokenPurpose

IDLE_LIMIT, SESSION_LIFETIME = timedelta(hours=12), timedelta(days=7)
"""A session ends when nobody has used it for so long, and after so long in any case."""
SIGN_IN_LIFETIME = timedelta(days=3)
"""How long a one-time link can be used."""
EXCLUDE = "exclude judge"


class ResearcherStore:
    """Researchers of a study: their accounts, sessions and tokens, and what they decided."""

    def __init__(self, store: Database) -> None:
        self._store = store

    # Researchers.

    def researcher(self, name: str) -> Researcher | None:
        """The researcher of this name, unless removed."""
        with self._store.reading() as connection:
            row = connection.execute(_RESEARCHERS.where(researchers.c.name == name)).first()
        return None if row is None else _researcher(row)

    def researchers(self) -> list[Researcher]:
        """All who may sign in, oldest first."""
        with self._store.reading() as connection:
            return [
                _researcher(row)
                for row in connection.execute(_RESEARCHERS.order_by(researchers.c.id))
            ]

    def add_researcher(self, name: str, *, by: Researcher | None = None) -> Researcher:
        """A new researcher; one who was removed comes back without their password."""
        tidy = " ".join(name.split())
        if not 1 <= len(tidy) <= 100:
            raise InputError("a researcher needs a name of 1 to 100 letters")
        taken = InputError(f"there is a researcher {tidy!r} already; choose another name")
        if self.researcher(tidy) is not None:
            raise taken
        try:
            with self._store.writing() as connection:
                mine = (researchers.c.name == tidy, researchers.c.removed.is_not(None))
                back = {"removed": None, "password": None}
                if connection.execute(researchers.update().where(*mine).values(back)).rowcount == 0:
                    row = {"name": tidy, "made": now()}
                    connection.execute(researchers.insert().values(row))
                log_action(connection, by, "add researcher", tidy)
        except IntegrityError:  # somebody of this name was added at the same moment
            raise taken from None
        added = self.researcher(tidy)
        assert added is not None
        return added

    def can_sign_in(self) -> bool:
        """Whether anybody can: with a password, or because they are signed in now."""
        at = now()
        theirs = (sessions.c.researcher == researchers.c.id, *_is_open(at))
        there = select(sessions.c.secret).where(*theirs).exists()
        query = _RESEARCHERS.where(researchers.c.password.is_not(None) | there).limit(1)
        with self._store.reading() as connection:
            return connection.execute(query).first() is not None

    def invite_researcher(self, name: str, *, by: Researcher | None = None) -> str:
        """The secret of a one-time link for a researcher, new or known."""
        tidy = " ".join(name.split())
        who = self.researcher(tidy) or self.add_researcher(tidy, by=by)
        return self.make_token(TokenPurpose.SIGN_IN, researcher=who, by=by)

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
            for table in (sessions, tokens):
                theirs = (table.c.researcher == there.id, table.c.ended.is_(None))
                connection.execute(table.update().where(*theirs).values(ended=now()))
            connection.execute(devices.delete().where(devices.c.researcher == there.id))
            log_action(connection, by, "remove researcher", name)
        return True

    def password_hash(self, name: str) -> str | None:
        """The hash of a researcher's password, where there is one."""
        query = select(researchers.c.password).where(
            researchers.c.name == name, researchers.c.removed.is_(None)
        )
        with self._store.reading() as connection:
            hashed: str | None = connection.scalar(query)
        return hashed

    def set_password(
        self, researcher: Researcher, hashed: str | None, *, quiet: bool = False
    ) -> None:
        """Keep the hash of a new password; `quiet` where it is the same one, hashed anew."""
        with self._store.writing() as connection:
            mine = researchers.c.id == researcher.id
            connection.execute(researchers.update().where(mine).values(password=hashed))
            if not quiet:
                log_action(connection, researcher, "change password", researcher.name)

    # Sessions.

    def sign_in(self, researcher: Researcher) -> str:
        """Begin a session; its secret, which is kept nowhere else."""
        secret = secrets.token_hex(16)
        row = {
            "secret": digest(secret), "researcher": researcher.id, "begun": now(), "seen": now(),
            "may_reset": researcher.may_reset,
        }  # fmt: skip
        with self._store.writing() as connection:
            connection.execute(sessions.insert().values(row))
            log_action(connection, researcher, "sign in", researcher.name)
        return secret

    def session(self, secret: str) -> Researcher | None:
        """Whose session this is, if it has not ended or grown too old."""
        at = now()
        query = (
            _RESEARCHERS.add_columns(sessions.c.seen, sessions.c.may_reset)
            .join(sessions, sessions.c.researcher == researchers.c.id)
            .where(sessions.c.secret == digest(secret), *_is_open(at))
        )
        with self._store.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        # To the minute is enough, and spares a write on every look.
        if at - row.seen > timedelta(minutes=1):
            with self._store.writing() as connection:
                mine = sessions.c.secret == digest(secret)
                connection.execute(sessions.update().where(mine).values(seen=at))
                over = sign_in_attempts.c.until <= at
                connection.execute(sign_in_attempts.delete().where(over))
        return _researcher(row)._replace(may_reset=row.may_reset)

    def sign_out(self, secret: str) -> None:
        """End a session."""
        with self._store.writing() as connection:
            mine = sessions.c.secret == digest(secret)
            connection.execute(sessions.update().where(mine).values(ended=now()))

    def sign_out_others(self, researcher: Researcher, secret: str) -> None:
        """End every session of a researcher but this one, and their links that nobody used.

        This one resets no password from now on.
        """
        with self._store.writing() as connection:
            for table in (sessions, tokens):
                others = (
                    table.c.researcher == researcher.id, table.c.secret != digest(secret),
                    table.c.ended.is_(None),
                )  # fmt: skip
                connection.execute(table.update().where(*others).values(ended=now()))
            this = sessions.c.secret == digest(secret)
            connection.execute(sessions.update().where(this).values(may_reset=False))

    # Tokens.

    def make_token(
        self,
        purpose: TokenPurpose,
        *,
        label: str = "",
        researcher: Researcher | None = None,
        by: Researcher | None = None,
        lasts: timedelta | None = None,
    ) -> str:
        """The secret of a new token; for signing in, `researcher` is whom."""
        secret = secrets.token_hex(16)
        ends = lasts or (SIGN_IN_LIFETIME if purpose == TokenPurpose.SIGN_IN else None)
        row = {
            "secret": digest(secret), "opens": purpose.value, "label": label, "made": now(),
            "researcher": researcher.id if researcher else None,
            "until": now() + ends if ends else None,
            "may_reset": researcher is not None and (by is None or by.id != researcher.id),
        }  # fmt: skip
        with self._store.writing() as connection:
            connection.execute(tokens.insert().values(row))
            log_action(
                connection,
                by,
                f"make {purpose} link",
                label or (researcher.name if researcher else ""),
            )
        return secret

    def is_valid_token(self, secret: str, purpose: TokenPurpose) -> bool:
        """Whether a token is valid for this purpose now."""
        with self._store.reading() as connection:
            return connection.execute(_token(secret, purpose)).first() is not None

    def use_sign_in_token(self, secret: str) -> Researcher | None:
        """Use a one-time link up: the researcher it is for, or None where it is no good."""
        with self._store.writing() as connection:
            row = connection.execute(_token(secret, TokenPurpose.SIGN_IN)).first()
            if row is None:
                return None
            mine = (tokens.c.id == row.id, tokens.c.ended.is_(None))
            if connection.execute(tokens.update().where(*mine).values(ended=now())).rowcount != 1:
                return None
            who = connection.execute(_RESEARCHERS.where(researchers.c.id == row.researcher)).first()
        return None if who is None else _researcher(who)._replace(may_reset=row.may_reset)

    def tokens(self, purpose: TokenPurpose) -> list[RowMapping]:
        """The tokens for a purpose that are still valid: id, label, made, until."""
        query = (
            select(tokens.c.id, tokens.c.label, tokens.c.made, tokens.c.until)
            .where(tokens.c.opens == purpose.value, *_is_valid())
            .order_by(tokens.c.id)
        )
        with self._store.reading() as connection:
            return list(connection.execute(query).mappings())

    def revoke_token(self, which: int, *, by: Researcher | None = None) -> bool:
        """Revoke a token; False where there is no valid one."""
        with self._store.writing() as connection:
            row = connection.execute(
                select(tokens.c.label, tokens.c.opens).where(tokens.c.id == which, *_is_valid())
            ).first()
            if row is None:
                return False
            connection.execute(tokens.update().where(tokens.c.id == which).values(ended=now()))
            log_action(connection, by, f"end {row.opens} link", row.label)
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
            log_action(connection, by, "set phase", phase.value, why)

    # Exclusions.

    def excluded(self) -> dict[str, str]:
        """The judges who do not count now, each with the reason."""
        with self._store.reading() as connection:
            return read_exclusions(connection)

    def exclusions(self) -> list[RowMapping]:
        """The judges who do not count now, latest first: judge, reason, at, and by whom (name)."""
        last = select(func.max(exclusions.c.id)).group_by(exclusions.c.judge)
        done = (
            select(audit_log.c.about, func.max(audit_log.c.id).label("id"))
            .where(audit_log.c.what == EXCLUDE)
            .group_by(audit_log.c.about)
            .subquery()
        )
        query = (
            select(exclusions.c.judge, exclusions.c.reason, exclusions.c.at, researchers.c.name)
            .join(done, done.c.about == exclusions.c.judge, isouter=True)
            .join(audit_log, audit_log.c.id == done.c.id, isouter=True)
            .join(researchers, researchers.c.id == audit_log.c.researcher, isouter=True)
            .where(exclusions.c.id.in_(last), exclusions.c.excluded)
            .order_by(exclusions.c.id.desc())
        )
        with self._store.reading() as connection:
            return list(connection.execute(query).mappings())

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
                if (judge in read_exclusions(connection)) == leave_out:
                    return
                connection.execute(exclusions.insert().values(row))
                what = EXCLUDE if leave_out else "include judge"
                log_action(connection, by, what, judge, reason)
        except IntegrityError:
            raise InputError(f"there is no judge {judge!r} in this study") from None

    # Audit log.

    def log(self, what: str, about: str = "", *, by: Researcher | None = None) -> None:
        """Log an action that changes nothing else, such as a download."""
        with self._store.writing() as connection:
            log_action(connection, by, what, about)

    def audit_log(self, most: int = 500) -> Iterator[RowMapping]:
        """Actions, latest first: at, name (None for the command line), what, about, why."""
        with self._store.reading() as connection:
            yield from connection.execute(latest_actions(most)).mappings()


def read_exclusions(connection: Connection) -> dict[str, str]:
    """The judges whose last row says that they are left out."""
    last = select(func.max(exclusions.c.id)).group_by(exclusions.c.judge)
    query = select(exclusions.c.judge, exclusions.c.reason).where(
        exclusions.c.id.in_(last), exclusions.c.excluded
    )
    return dict(tuple(row) for row in connection.execute(query))


_RESEARCHERS = select(
    researchers.c.id, researchers.c.name, researchers.c.password.is_not(None).label("has_password")
).where(researchers.c.removed.is_(None))


def _researcher(row: Any) -> Researcher:
    return Researcher(row.id, row.name, bool(row.has_password))


def _is_open(at: datetime) -> tuple[Any, ...]:
    since = (sessions.c.seen > at - IDLE_LIMIT, sessions.c.begun > at - SESSION_LIFETIME)
    return sessions.c.ended.is_(None), *since


def _is_valid() -> tuple[Any, ...]:
    return tokens.c.ended.is_(None), tokens.c.until.is_(None) | (tokens.c.until > now())


def _token(secret: str, purpose: TokenPurpose) -> Any:
    return select(tokens.c.id, tokens.c.researcher, tokens.c.may_reset).where(
        tokens.c.secret == digest(secret), tokens.c.opens == purpose.value, *_is_valid()
    )
