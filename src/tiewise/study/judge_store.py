"""JudgeStore: judges of a study, their offers and answers, in the database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from sys import intern
from typing import Any, TypeVar

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from tiewise.data.answers import ANSWERS, CODE_OF_STORED, TIE, on_scale
from tiewise.pairing.policies import OrderedPair
from tiewise.study import judge_queries
from tiewise.study.asking.drafts import drop_drafts, keep_drafts, read_drafts, read_replies
from tiewise.study.asking.imported import add_judgements
from tiewise.study.asking.meaning import compare_meaning
from tiewise.study.asking.stored_rows import StoredRows
from tiewise.study.connection import digest, now
from tiewise.study.schema import (
    fit_settings,
    identifiers,
    invites,
    judgements,
    judges,
    known_groups,
    offers,
    signup_answers,
)
from tiewise.study.values import (
    History,
    Judge,
    JudgeProgress,
    Kind,
    NewJudge,
    Offer,
    PastAnswer,
    Reply,
)
from tiewise.study.withdrawal import erase_judge

Value = TypeVar("Value")


class JudgeWithdrawn(Exception):
    """The judge withdrew, perhaps a moment ago: nothing more is stored of them."""


class JudgeStore(StoredRows):
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
        panel: Mapping[str, str] | None = None,
    ) -> NewJudge | None:
        """A new judge who has consented; None where the code or secret is used, or no code ours.

        `panel` has the identifiers of somebody from a panel, of which the first says who it is.
        """
        judge, secret = (
            Judge(secrets.token_hex(6), language, consent, False), secret or secrets.token_hex(16),
        )  # fmt: skip
        row = {
            "id": judge.id, "secret": digest(secret), "language": language,
            "consent": consent, "consented": now(), "chose": False,
        }  # fmt: skip
        answers = [{"judge": judge.id, "field": f, "value": v} for f, v in about.items()]
        named = [{"judge": judge.id, "name": n, "value": v} for n, v in (panel or {}).items()]
        if named:
            row["person"] = person_digest(named[0]["name"], named[0]["value"])

        def add(connection: Connection) -> bool:
            if code is not None:
                row["invite"] = _free_invite(connection, code)
                if row["invite"] is None:
                    return False
            connection.execute(judges.insert().values(row))
            if answers:
                connection.execute(signup_answers.insert(), answers)
            if named:
                connection.execute(identifiers.insert(), named)
            return True

        try:
            return NewJudge(judge, secret) if self.transaction(add) else None
        except IntegrityError:  # two came with one code at once, or one came twice
            return None

    def judge(self, secret: str) -> Judge | None:
        """The judge whose personal link holds this secret, unless they withdrew."""
        mine = {"digest": digest(secret)}
        with self.reading() as connection:
            row = connection.execute(judge_queries.JUDGE, mine).first()
            row = row or connection.execute(judge_queries.RETURNED, mine).first()
        return None if row is None else Judge(*row)

    def mark_opened(self, secret: str) -> None:
        """Somebody came back with this link, which a later reminder does not end any more."""
        query = judge_queries.OPEN_RETURN_LINK
        self.transaction(
            lambda connection: connection.execute(query, {"digest": digest(secret), "at": now()})
        )

    def for_judge(self, judge: Judge, work: Callable[[Connection], Value]) -> Value:
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
        self.for_judge(judge, lambda connection: connection.execute(query))

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

        self.for_judge(judge, replace)

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

        return self.for_judge(judge, put)

    def answer(self, judge: Judge, offer: int, answer: int, grade: int | None = None) -> bool:
        """Store the code of an answer; False where the offer is not open to this judge.

        `grade` says how strongly an item was chosen, where answers are graded.
        """
        return self.answer_questions(judge, offer, {"": Reply(answer, grade)}, ("",))

    def answer_questions(
        self, judge: Judge, offer: int, replies: Mapping[str, Reply], questions: Collection[str],
        *, finish: bool = True,
    ) -> bool:  # fmt: skip
        """Keep answers by the id of their question; all are stored once each question has one.

        Until then, or for as long as the judge does not `finish`, the latest to a question counts.
        False where the offer is not open to this judge.
        """
        at = now()
        which = {"offer_id": offer, "judge_id": judge.id, "at": at}
        rows = [_answer_row(offer, question, reply, at) for question, reply in replies.items()]

        def add(connection: Connection) -> bool:
            complete: list[dict[str, Any]] | None = rows
            if len(questions) > 1:
                if not _is_open(connection, judge, offer):
                    return False
                complete = keep_drafts(connection, offer, rows, questions)
                if complete is None or not finish:
                    return True
                drop_drafts(connection, offer)
            if connection.execute(judge_queries.CLOSE_OFFER, which).rowcount != 1:
                return False
            connection.execute(judge_queries.ADD_JUDGEMENT, complete)
            return True

        return self.for_judge(judge, add)

    def drafts(self, offer: Offer) -> dict[str, Reply]:
        """Answers to some questions of an open pair, by the id of the question."""
        with self.reading() as connection:
            return read_drafts(connection, offer.id)

    def replies(self, offer: int) -> dict[str, Reply]:
        """What was answered to a pair and stands, by the id of the question."""
        with self.reading() as connection:
            return read_replies(connection, offer)

    def drop_drafts(self, judge: Judge, offer: int, *, of: int) -> None:
        """Take back what is half given; `of` says how many answers that are, and others stay."""

        def drop(connection: Connection) -> None:
            if _is_open(connection, judge, offer):
                drop_drafts(connection, offer, of=of)

        self.for_judge(judge, drop)

    def set_aside(self, judge: Judge) -> None:
        """Close the pair that is before a judge, unanswered."""
        self.for_judge(judge, lambda connection: _set_aside(connection, judge))

    def undo(self, judge: Judge, *, of: int | None = None) -> Offer | None:
        """Take back the last pair and put it before the judge again; None if there is none.

        All questions of the pair are taken back, and why they were answered so is deleted. The pair
        that was open meanwhile is set aside, and may come again. `of` says how many pairs were
        answered: where there are more or fewer, somebody clicked twice, and once is enough.
        """

        def take_back(connection: Connection) -> Offer | None:
            answers = connection.execute(judge_queries.HISTORY, {"judge_id": judge.id}).all()
            if not answers or of not in (None, len({row.offer for row in answers})):
                return None
            last = answers[-1]
            taken = [row.judgement for row in answers if row.offer == last.offer]
            rows = [{"judgement": judgement, "at": now()} for judgement in taken]
            connection.execute(judge_queries.ADD_UNDONE, rows)
            connection.execute(judge_queries.DROP_COMMENT, {"offer_id": last.offer})
            _set_aside(connection, judge)
            return _put(connection, judge, last.left, last.right, Kind(last.kind))

        return self.for_judge(judge, take_back)

    def history(self, judge: Judge) -> History:
        """What a judge has answered and not taken back."""
        with self.reading() as connection:
            rows = connection.execute(judge_queries.HISTORY, {"judge_id": judge.id})
            pairs = groupby(rows, key=lambda row: row.offer)
            return History(tuple(_past_answer(list(pair)) for _, pair in pairs))

    def progress(self, judge: Judge) -> JudgeProgress:
        """How far a judge is."""
        with self.reading() as connection:
            rows = connection.execute(judge_queries.PROGRESS, {"judge_id": judge.id}).all()
        return JudgeProgress.from_counts((kind, bool(skip), number) for kind, skip, number in rows)

    # What the answers mean.

    def answered_items(self) -> set[str]:
        """The items that answers are about."""
        sides = (offers.c.left, offers.c.right)
        with self.reading() as connection:
            return {
                id_
                for side in sides
                for id_ in connection.scalars(
                    select(side).join(judgements, judgements.c.offer == offers.c.id).distinct()
                )
            }

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
            return compare_meaning(connection, current)

    def recorded_priors(self) -> str | None:
        """The priors that an earlier version fitted this study with, if there were answers."""
        with self.reading() as connection:
            query = select(fit_settings.c.value).where(fit_settings.c.key == "priors")
            return connection.scalar(query)

    # Judgements from elsewhere.

    def import_judgements(self, rows: Sequence[Mapping[str, Any]], *, consent: str) -> int:
        """Judgements from elsewhere: judge, left, right, outcome; grade and times where known."""
        with self.writing() as connection:
            add_judgements(connection, rows, consent)
        return len(rows)


def person_digest(name: str, value: str) -> str:
    """By what a person of a panel is known to be there already: a digest of their identifier."""
    return digest(f"{name}\0{value}")


def _free_invite(connection: Connection, code: str) -> int | None:
    used = select(judges.c.id).where(judges.c.invite == invites.c.id).exists()
    query = select(invites.c.id).where(invites.c.code == digest(code.strip().lower()), ~used)
    invite: int | None = connection.scalar(query)
    return invite


def _past_answer(rows: Sequence[Any]) -> PastAnswer:
    # Interned: a judge meets an item many times, and many pages are made at once.
    row = rows[0]
    left, right, kind = intern(row.left), intern(row.right), intern(row.kind)
    answer = CODE_OF_STORED[row.outcome]
    if len(rows) > 1:
        answer = max((CODE_OF_STORED[row.outcome] for row in rows), key=_information)
    return PastAnswer(left, right, kind, answer, row.offer)


def _information(code: int) -> int:
    """How much an answer says: a choice more than a tie, a tie more than a skip."""
    return 0 if not on_scale(code) else 1 if code == TIE else 2


def _answer_row(offer: int, question: str, reply: Reply, at: datetime) -> dict[str, Any]:
    row = {"offer": offer, "outcome": ANSWERS[reply.answer].stored, "answered": at}
    return row | ({"question": question, "grade": reply.grade} if question else _graded(reply))


def _graded(reply: Reply) -> dict[str, int]:
    return {} if reply.grade is None else {"grade": reply.grade}


def _open_offer(connection: Connection, judge: Judge) -> Offer | None:
    row = connection.execute(judge_queries.OPEN_OFFER, {"judge_id": judge.id}).first()
    return None if row is None else Offer(row.id, row.left, row.right, Kind(row.kind))


def _is_open(connection: Connection, judge: Judge, offer: int) -> bool:
    there = _open_offer(connection, judge)
    return there is not None and there.id == offer


def _set_aside(connection: Connection, judge: Judge) -> None:
    connection.execute(judge_queries.DROP_DRAFTS, {"judge_id": judge.id})
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
