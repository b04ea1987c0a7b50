"""Every SQL statement there is, in the study's words; the same on SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, text
from sqlalchemy.exc import IntegrityError, OperationalError

from tiewise.errors import InputError
from tiewise.pairing.policies import Pick
from tiewise.study import judge_queries
from tiewise.study.connection import connect, readers
from tiewise.study.schema import (
    bring_up_to_date,
    erased,
    invites,
    judgements,
    judges,
    known,
    meaning,
    offers,
    said,
    undone,
)
from tiewise.study.values import History, Judge, Kind, NewJudge, Offer, Outcome, Progress, Said

BEGIN = text("BEGIN IMMEDIATE")


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)


class Store:
    """The database of one study."""

    def __init__(self, url: str) -> None:
        self.engine = connect(url)
        self._readers = readers(self.engine)
        # Writers of one process queue here; SQLite would have them sleep and try again.
        self._turn = Lock()
        try:
            with self.writing() as connection:
                bring_up_to_date(connection)
        except OperationalError as error:
            raise InputError(
                f"cannot open the database {self.engine.url.render_as_string()} "
                f"({str(error.orig).splitlines()[0]}); is it there, and are we let in?"
            ) from None

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection for changes that are kept together, or not at all."""
        if self.engine.dialect.name != "sqlite":
            with self.engine.begin() as connection:
                yield connection
            return
        with self._turn, self.engine.connect() as connection:
            # From the first statement on: a reader that turns writer midway may be refused.
            connection.execute(BEGIN)
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for questions, each answered by itself."""
        with self._readers.connect() as connection:
            yield connection

    def is_well(self) -> bool:
        """Whether the database answers."""
        with self.reading() as connection:
            return bool(connection.scalar(text("SELECT 1")) == 1)

    # Judges.

    def invite(self, count: int) -> list[str]:
        """New invite codes; only their digests are kept."""
        codes = [secrets.token_hex(5) for _ in range(count)]
        rows = [{"code": digest(code), "made": now()} for code in codes]
        with self.writing() as connection:
            connection.execute(invites.insert(), rows)
        return codes

    def may_come(self, code: str) -> bool:
        """Whether an invite code is good and nobody has used it."""
        with self.reading() as connection:
            return _free_invite(connection, code) is not None

    def welcome(
        self,
        *,
        consent: str,
        language: str,
        about: Mapping[str, str],
        code: str | None = None,
        secret: str | None = None,
    ) -> NewJudge | None:
        """A new judge who has consented; None where the code or secret is used, or no code ours."""
        judge, secret = (
            Judge(secrets.token_hex(6), language, consent, False), secret or secrets.token_hex(16),
        )  # fmt: skip
        row = {
            "id": judge.id, "secret": digest(secret), "language": language,
            "consent": consent, "consented": now(), "chose": False,
        }  # fmt: skip
        try:
            with self.writing() as connection:
                if code is not None:
                    row["invite"] = _free_invite(connection, code)
                    if row["invite"] is None:
                        return None
                connection.execute(judges.insert().values(row))
                answers = [{"judge": judge.id, "field": f, "value": v} for f, v in about.items()]
                if answers:
                    connection.execute(said.insert(), answers)
        except IntegrityError:  # two came with one code at once, or one came twice
            return None
        return NewJudge(judge, secret)

    def judge(self, secret: str) -> Judge | None:
        """The judge whose personal link holds this secret, unless they withdrew."""
        with self.reading() as connection:
            row = connection.execute(judge_queries.JUDGE, {"digest": digest(secret)}).first()
        return None if row is None else Judge(*row)

    def agree(self, judge: Judge, version: str) -> None:
        """The judge consents to another version of the text."""
        with self.writing() as connection:
            mine = judges.c.id == judge.id
            agreed = {"consent": version, "consented": now()}
            connection.execute(judges.update().where(mine).values(agreed))

    def speak(self, judge: Judge, language: str) -> None:
        """The judge goes on in another language."""
        with self.writing() as connection:
            mine = judges.c.id == judge.id
            connection.execute(judges.update().where(mine).values(language=language))

    def know(self, judge: Judge, groups: Iterable[str]) -> None:
        """The groups that a judge knows, in place of those said before.

        Where they change, the pair that is open is set aside: it may be of groups not known now.
        """
        rows = [{"judge": judge.id, "group": group} for group in sorted(set(groups))]
        with self.writing() as connection:
            before = connection.scalars(judge_queries.KNOWN, {"judge_id": judge.id})
            if set(before) != {row["group"] for row in rows}:
                _set_aside(connection, judge)
            connection.execute(known.delete().where(known.c.judge == judge.id))
            if rows:
                connection.execute(known.insert(), rows)
            mine = judges.c.id == judge.id
            connection.execute(judges.update().where(mine).values(chose=True))

    def knows(self, judge: Judge) -> tuple[str, ...]:
        """The groups that a judge knows."""
        with self.reading() as connection:
            return tuple(connection.scalars(judge_queries.KNOWN, {"judge_id": judge.id}))

    def withdraw(self, judge: Judge, *, judgements_too: bool) -> int:
        """Erase what a judge said of themselves, and their judgements if they ask; how many."""
        with self.writing() as connection:
            gone = _erase_judgements(connection, judge) if judgements_too else 0
            connection.execute(said.delete().where(said.c.judge == judge.id))
            connection.execute(known.delete().where(known.c.judge == judge.id))
            row = {"judge": judge.id, "at": now(), "judgements": gone}
            connection.execute(erased.insert().values(row))
            mine = judges.c.id == judge.id
            # The secret goes too: the link leads nowhere from here on.
            lost = {"withdrawn": now(), "secret": digest(secrets.token_hex(16))}
            connection.execute(judges.update().where(mine).values(lost))
        return gone

    # Pairs.

    def open_offer(self, judge: Judge) -> Offer | None:
        """The pair that is before a judge."""
        with self.reading() as connection:
            row = connection.execute(judge_queries.OPEN_OFFER, {"judge_id": judge.id}).first()
        return None if row is None else Offer(row.id, row.left, row.right, Kind(row.kind))

    def offer(self, judge: Judge, pick: Pick, kind: Kind) -> Offer:
        """Put a pair before a judge; where another worker was quicker, theirs stands."""
        try:
            with self.writing() as connection:
                return _put(connection, judge, pick.left, pick.right, kind)
        except IntegrityError:
            there = self.open_offer(judge)
            if there is None:  # answered in the same moment: ours is as good as any
                return self.offer(judge, pick, kind)
            return there

    def answer(self, judge: Judge, offer: int, outcome: Outcome) -> bool:
        """Keep an answer; where this offer is not open to this judge nothing changes, and False."""
        at = now()
        which = {"offer_id": offer, "judge_id": judge.id, "at": at}
        with self.writing() as connection:
            if connection.execute(judge_queries.CLOSE_OFFER, which).rowcount != 1:
                return False
            row = {"offer": offer, "outcome": outcome.value, "answered": at}
            connection.execute(judge_queries.ADD_JUDGEMENT, row)
        return True

    def set_aside(self, judge: Judge) -> None:
        """Close the pair that is before a judge, unanswered."""
        with self.writing() as connection:
            _set_aside(connection, judge)

    def undo(self, judge: Judge, *, of: int | None = None) -> Offer | None:
        """Take back the last answer and put its pair before the judge again; None if there is none.

        The pair that was open meanwhile is set aside, and may come again. `of` says how many
        answers there were: where there are more or fewer, somebody clicked twice, and once is
        enough.
        """
        try:
            with self.writing() as connection:
                standing = connection.execute(judge_queries.HISTORY, {"judge_id": judge.id}).all()
                if not standing or of not in (None, len(standing)):
                    return None
                last = standing[-1]
                taken = {"judgement": last.judgement, "at": now()}
                connection.execute(judge_queries.ADD_UNDONE, taken)
                _set_aside(connection, judge)
                return _put(connection, judge, last.left, last.right, Kind(last.kind))
        except IntegrityError:  # another worker was quicker
            return self.open_offer(judge)

    def history(self, judge: Judge) -> History:
        """What a judge has answered and not taken back."""
        with self.reading() as connection:
            rows = connection.execute(judge_queries.HISTORY, {"judge_id": judge.id})
            return History(tuple(Said(*row[:4]) for row in rows))

    def progress(self, judge: Judge) -> Progress:
        """How far a judge is."""
        return self.history(judge).progress

    # What the answers mean.

    def agreed_meaning(self, current: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Keys whose meaning changed under answers already given: as it was, and as it is now.

        While there is no answer yet, the current meaning is kept as the one that counts.
        """
        with self.writing() as connection:
            if connection.scalar(select(judgements.c.id).limit(1)) is None:
                connection.execute(meaning.delete())
            kept = dict(connection.execute(select(meaning.c.key, meaning.c.value)).all())
            fresh = [
                {"key": k, "value": v, "since": now()} for k, v in current.items() if k not in kept
            ]
            if fresh:
                connection.execute(meaning.insert(), fresh)
        return {k: (kept[k], v) for k, v in current.items() if k in kept and kept[k] != v}

    # Everything, for exports and fits.

    def rows(self) -> Iterator[RowMapping]:
        """Every judgement with its offer, oldest first; `undone` is when it was taken back."""
        wanted = judge_queries.all_judgements().order_by(judgements.c.id)
        # In a transaction: row by row is how PostgreSQL hands out many, and only within one.
        with self.engine.connect() as connection:
            yield from connection.execution_options(yield_per=5000).execute(wanted).mappings()

    def people(self) -> Iterator[RowMapping]:
        """Every judge, with how much they did."""
        standing = judge_queries.all_judgements().where(undone.c.at.is_(None)).subquery()
        made = (
            select(standing.c.judge, func.count().label("judgements"))
            .group_by(standing.c.judge)
            .subquery()
        )
        wanted = (
            select(
                judges.c.id, judges.c.language, judges.c.consent, judges.c.consented,
                judges.c.withdrawn, func.coalesce(made.c.judgements, 0).label("judgements"),
            )
            .join(made, made.c.judge == judges.c.id, isouter=True)
            .order_by(judges.c.consented, judges.c.id)
        )  # fmt: skip
        with self.reading() as connection:
            yield from connection.execute(wanted).mappings()

    def told(self) -> dict[str, dict[str, str]]:
        """What each judge said of themselves, by field."""
        out: dict[str, dict[str, str]] = {}
        with self.reading() as connection:
            for judge, name, value in connection.execute(select(said)):
                out.setdefault(judge, {})[name] = value
        return out

    def groups_known(self) -> dict[str, list[str]]:
        """The groups that each judge knows."""
        out: dict[str, list[str]] = {}
        with self.reading() as connection:
            for judge, group in connection.execute(select(known).order_by(known.c.group)):
                out.setdefault(judge, []).append(group)
        return out

    def offers(self) -> Iterator[RowMapping]:
        """Every pair that was ever put before a judge."""
        with self.reading() as connection:
            yield from connection.execute(select(offers).order_by(offers.c.id)).mappings()

    def erasures(self) -> Iterator[RowMapping]:
        """What was erased, when, for whom; not what it was."""
        with self.reading() as connection:
            yield from connection.execute(select(erased).order_by(erased.c.id)).mappings()

    def bring_in(self, rows: Sequence[Mapping[str, Any]], *, consent: str) -> int:
        """Judgements from elsewhere: judge, left, right, outcome, and times where known."""
        with self.writing() as connection:
            for judge in sorted({row["judge"] for row in rows}):
                if connection.scalar(select(judges.c.id).where(judges.c.id == judge)) is None:
                    connection.execute(judges.insert().values(
                        id=judge, secret=digest(secrets.token_hex(16)), language="",
                        consent=consent, consented=now(), chose=True,
                    ))  # fmt: skip
            for row in rows:
                at = row.get("answered") or now()
                made = offers.insert().values(
                    judge=row["judge"], left=row["left"], right=row["right"], kind=Kind.NEW,
                    shown=row.get("shown") or at, closed=at,
                )  # fmt: skip
                offer = connection.execute(made).inserted_primary_key
                assert offer is not None
                value = {"offer": offer[0], "outcome": row["outcome"], "answered": at}
                connection.execute(judgements.insert().values(value))
        return len(rows)

    def back_up(self, path: str) -> None:
        """A copy of the database as it is at this moment, while it is in use (SQLite)."""
        if self.engine.dialect.name != "sqlite":
            raise InputError("this study is on PostgreSQL; back it up with pg_dump")
        with self.reading() as connection:
            connection.execute(text("VACUUM INTO :path"), {"path": path})


def _free_invite(connection: Connection, code: str) -> int | None:
    used = select(judges.c.id).where(judges.c.invite == invites.c.id).exists()
    wanted = select(invites.c.id).where(invites.c.code == digest(code.strip().lower()), ~used)
    found: int | None = connection.scalar(wanted)
    return found


def _set_aside(connection: Connection, judge: Judge) -> None:
    connection.execute(judge_queries.SET_ASIDE, {"judge_id": judge.id, "at": now()})


def _put(connection: Connection, judge: Judge, left: str, right: str, kind: Kind) -> Offer:
    row = {"judge": judge.id, "left": left, "right": right, "kind": kind.value, "shown": now()}
    made = connection.execute(judge_queries.ADD_OFFER, row).inserted_primary_key
    assert made is not None
    return Offer(made[0], left, right, kind)


def _erase_judgements(connection: Connection, judge: Judge) -> int:
    mine = select(offers.c.id).where(offers.c.judge == judge.id)
    theirs = select(judgements.c.id).where(judgements.c.offer.in_(mine))
    connection.execute(undone.delete().where(undone.c.judgement.in_(theirs)))
    gone = connection.execute(judgements.delete().where(judgements.c.offer.in_(mine))).rowcount
    connection.execute(offers.delete().where(offers.c.judge == judge.id))
    return gone
