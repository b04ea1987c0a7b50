"""JudgeStore: judges of a study, their offers and answers, in the database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, func, select
from sqlalchemy.exc import IntegrityError

from tiewise.data.answers import ANSWERS, CODE_OF_STORED
from tiewise.pairing.policies import OrderedPair
from tiewise.study import judge_queries
from tiewise.study.connection import Database, digest, now, take_time
from tiewise.study.schema import (
    erasures,
    fit_settings,
    invites,
    judgements,
    judges,
    known_groups,
    meanings,
    offers,
    signup_answers,
    undone,
)
from tiewise.study.values import History, Judge, JudgeProgress, Kind, NewJudge, Offer, PastAnswer
from tiewise.study.withdrawal import erase_judge

Value = TypeVar("Value")


class JudgeWithdrawn(Exception):
    """The judge withdrew, perhaps a moment ago: nothing more is stored of them."""


class JudgeStore(Database):
    """Judges of one study, the pairs put before them, and their answers."""

    # Judges.

    def invite(self, count: int) -> list[str]:
        """New invite codes; only their digests are kept."""
        codes = [secrets.token_hex(5) for _ in range(count)]
        rows = [{"code": digest(code), "made": now()} for code in codes]
        with self.writing() as connection:
            connection.execute(invites.insert(), rows)
        return codes

    def has_free_invite(self, code: str) -> bool:
        """Whether an invite code is good and nobody has used it."""
        with self.reading() as connection:
            return _free_invite(connection, code) is not None

    def add_judge(
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
        answers = [{"judge": judge.id, "field": f, "value": v} for f, v in about.items()]

        def add(connection: Connection) -> bool:
            if code is not None:
                row["invite"] = _free_invite(connection, code)
                if row["invite"] is None:
                    return False
            connection.execute(judges.insert().values(row))
            if answers:
                connection.execute(signup_answers.insert(), answers)
            return True

        try:
            return NewJudge(judge, secret) if self.transaction(add) else None
        except IntegrityError:  # two came with one code at once, or one came twice
            return None

    def judge(self, secret: str) -> Judge | None:
        """The judge whose personal link holds this secret, unless they withdrew."""
        with self.reading() as connection:
            row = connection.execute(judge_queries.JUDGE, {"digest": digest(secret)}).first()
        return None if row is None else Judge(*row)

    def _for_judge(self, judge: Judge, work: Callable[[Connection], Value]) -> Value:
        """The result of `work` in a transaction that no other of this judge runs beside.

        JudgeWithdrawn is raised in place of it where the judge is none any more.
        """

        def locked(connection: Connection) -> Value:
            if not _lock(connection, judge):
                raise JudgeWithdrawn
            return work(connection)

        return self.transaction(locked)

    def _update_judge(self, judge: Judge, **values: Any) -> None:
        query = judges.update().where(judges.c.id == judge.id).values(values)
        self._for_judge(judge, lambda connection: connection.execute(query))

    def record_consent(self, judge: Judge, version: str) -> None:
        """The judge consents to another version of the text."""
        self._update_judge(judge, consent=version, consented=now())

    def set_language(self, judge: Judge, language: str) -> None:
        """The judge goes on in another language."""
        self._update_judge(judge, language=language)

    def set_groups(self, judge: Judge, groups: Iterable[str]) -> None:
        """The groups that a judge knows, in place of those said before.

        Where they change, the pair that is open is set aside: it may be of groups not known now.
        """
        rows = [{"judge": judge.id, "group": group} for group in sorted(set(groups))]

        def replace(connection: Connection) -> None:
            before = connection.scalars(judge_queries.KNOWN_GROUPS, {"judge_id": judge.id})
            if set(before) != {row["group"] for row in rows}:
                _set_aside(connection, judge)
            connection.execute(known_groups.delete().where(known_groups.c.judge == judge.id))
            if rows:
                connection.execute(known_groups.insert(), rows)
            mine = judges.c.id == judge.id
            connection.execute(judges.update().where(mine).values(chose=True))

        self._for_judge(judge, replace)

    def groups_of(self, judge: Judge) -> tuple[str, ...]:
        """The groups that a judge knows."""
        with self.reading() as connection:
            return tuple(connection.scalars(judge_queries.KNOWN_GROUPS, {"judge_id": judge.id}))

    def withdraw(self, judge: Judge, *, judgements_too: bool) -> int:
        """Erase what a judge said of themselves, and their judgements if they ask; how many.

        Asked twice, the second finds nothing more to erase, or the judgements that the first left.
        """
        return self.transaction(
            lambda connection: erase_judge(connection, judge, judgements_too=judgements_too)
        )

    # Pairs.

    def open_offer(self, judge: Judge) -> Offer | None:
        """The pair that is before a judge."""
        with self.reading() as connection:
            return _open_offer(connection, judge)

    def offer(self, judge: Judge, pick: OrderedPair, kind: Kind) -> Offer:
        """Put a pair before a judge; where another worker was quicker, theirs stands."""

        def put(connection: Connection) -> Offer:
            there = _open_offer(connection, judge)
            return there or _put(connection, judge, pick.left, pick.right, kind)

        return self._for_judge(judge, put)

    def answer(self, judge: Judge, offer: int, answer: int) -> bool:
        """Store the code of an answer; False where the offer is not open to this judge."""
        at = now()
        which = {"offer_id": offer, "judge_id": judge.id, "at": at}
        row = {"offer": offer, "outcome": ANSWERS[answer].stored, "answered": at}

        def add(connection: Connection) -> bool:
            if connection.execute(judge_queries.CLOSE_OFFER, which).rowcount != 1:
                return False
            connection.execute(judge_queries.ADD_JUDGEMENT, row)
            return True

        return self._for_judge(judge, add)

    def set_aside(self, judge: Judge) -> None:
        """Close the pair that is before a judge, unanswered."""
        self._for_judge(judge, lambda connection: _set_aside(connection, judge))

    def undo(self, judge: Judge, *, of: int | None = None) -> Offer | None:
        """Take back the last answer and put its pair before the judge again; None if there is none.

        The pair that was open meanwhile is set aside, and may come again. `of` says how many
        answers there were: where there are more or fewer, somebody clicked twice, and once is
        enough.
        """

        def take_back(connection: Connection) -> Offer | None:
            answers = connection.execute(judge_queries.HISTORY, {"judge_id": judge.id}).all()
            if not answers or of not in (None, len(answers)):
                return None
            last = answers[-1]
            taken = {"judgement": last.judgement, "at": now()}
            connection.execute(judge_queries.ADD_UNDONE, taken)
            _set_aside(connection, judge)
            return _put(connection, judge, last.left, last.right, Kind(last.kind))

        return self._for_judge(judge, take_back)

    def history(self, judge: Judge) -> History:
        """What a judge has answered and not taken back."""
        with self.reading() as connection:
            rows = connection.execute(judge_queries.HISTORY, {"judge_id": judge.id})
            return History(tuple(_past_answer(row) for row in rows))

    def progress(self, judge: Judge) -> JudgeProgress:
        """How far a judge is."""
        with self.reading() as connection:
            rows = connection.execute(judge_queries.PROGRESS, {"judge_id": judge.id}).all()
        return JudgeProgress.from_counts(
            (kind, CODE_OF_STORED[outcome], number) for kind, outcome, number in rows
        )

    # What the answers mean.

    def agreed_meaning(self, current: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Keys whose meaning changed under answers already given: as it was, and as it is now.

        While there is no answer yet, the current meaning is kept as the one that counts.
        """
        try:
            return self._agreed_meaning(current)
        except IntegrityError:  # another worker stored it first
            return self._agreed_meaning(current)

    def _agreed_meaning(self, current: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        with self.writing() as connection:
            if connection.scalar(select(judgements.c.id).limit(1)) is None:
                connection.execute(meanings.delete())
            stored = dict(connection.execute(select(meanings.c.key, meanings.c.value)).all())
            fresh = [
                {"key": k, "value": v, "since": now()}
                for k, v in current.items()
                if k not in stored
            ]
            if fresh:
                connection.execute(meanings.insert(), fresh)
        return {k: (stored[k], v) for k, v in current.items() if k in stored and stored[k] != v}

    def recorded_priors(self) -> str | None:
        """The priors that an earlier version fitted this study with, if there were answers."""
        with self.reading() as connection:
            query = select(fit_settings.c.value).where(fit_settings.c.key == "priors")
            return connection.scalar(query)

    # Everything, for exports and fits.

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

    def import_judgements(self, rows: Sequence[Mapping[str, Any]], *, consent: str) -> int:
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


def _free_invite(connection: Connection, code: str) -> int | None:
    used = select(judges.c.id).where(judges.c.invite == invites.c.id).exists()
    query = select(invites.c.id).where(invites.c.code == digest(code.strip().lower()), ~used)
    invite: int | None = connection.scalar(query)
    return invite


def _past_answer(row: Any) -> PastAnswer:
    # Interned: a judge meets an item many times, and many pages are made at once.
    left, right, kind = intern(row.left), intern(row.right), intern(row.kind)
    return PastAnswer(left, right, kind, CODE_OF_STORED[row.outcome])


def _open_offer(connection: Connection, judge: Judge) -> Offer | None:
    row = connection.execute(judge_queries.OPEN_OFFER, {"judge_id": judge.id}).first()
    return None if row is None else Offer(row.id, row.left, row.right, Kind(row.kind))


def _set_aside(connection: Connection, judge: Judge) -> None:
    connection.execute(judge_queries.SET_ASIDE, {"judge_id": judge.id, "at": now()})


def _put(connection: Connection, judge: Judge, left: str, right: str, kind: Kind) -> Offer:
    row = {"judge": judge.id, "left": left, "right": right, "kind": kind.value, "shown": now()}
    made = connection.execute(judge_queries.ADD_OFFER, row).inserted_primary_key
    assert made is not None
    return Offer(made[0], left, right, kind)


def _lock(connection: Connection, judge: Judge) -> bool:
    """Have other actions of a judge wait for this one; False where they have withdrawn."""
    row = connection.execute(judge_queries.LOCK_JUDGE, {"judge_id": judge.id}).first()
    return row is not None and row.withdrawn is None
