"""A judge withdraws: what is erased, and the record that it was."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, select

from tiewise.study import judge_queries
from tiewise.study.audit_log import JUDGE_ACTIONS
from tiewise.study.connection import digest, now
from tiewise.study.schema import (
    audit_log,
    comments,
    drafts,
    erasures,
    exclusions,
    identifiers,
    invites,
    judgements,
    judges,
    known_groups,
    offers,
    pair_lists,
    paper_answers,
    return_links,
    signup_answers,
    undone,
)
from tiewise.study.values import Judge


def erase_judge(connection: Connection, judge: Judge, *, judgements_too: bool) -> int:
    """Erase what a judge said of themselves, and their judgements if they ask; how many.

    Asked twice, the second finds nothing more to erase, or the judgements that the first left.
    """
    row = connection.execute(judge_queries.LOCK_JUDGE, {"judge_id": judge.id}).first()
    if row is None or (row.withdrawn is not None and not judgements_too):
        return 0
    _erase_person(connection, judge, row.invite)
    gone = _erase_judgements(connection, judge) if judgements_too else 0
    _record_erasure(connection, judge, gone)
    return gone


def _erase_person(connection: Connection, judge: Judge, invite: int | None) -> None:
    """Erase what a judge wrote of themselves or of pairs, and what leads to who they are."""
    mine = select(offers.c.id).where(offers.c.judge == judge.id)
    for about in (comments, drafts):
        connection.execute(about.delete().where(about.c.offer.in_(mine)))
    for table in (signup_answers, known_groups, identifiers, return_links):
        connection.execute(table.delete().where(table.c.judge == judge.id))
    connection.execute(judge_queries.SET_ASIDE, {"judge_id": judge.id, "at": now()})
    # Neither the personal link nor the code leads anywhere from here on.
    lost = {
        "withdrawn": now(), "secret": digest(secrets.token_hex(16)), "invite": None, "person": None,
    }  # fmt: skip
    connection.execute(judges.update().where(judges.c.id == judge.id).values(lost))
    if invite is not None:
        connection.execute(invites.delete().where(invites.c.id == invite))


def _erase_judgements(connection: Connection, judge: Judge) -> int:
    """Erase what a judge answered, and then the judge; how many answers."""
    mine = select(offers.c.id).where(offers.c.judge == judge.id)
    theirs = select(judgements.c.id).where(judgements.c.offer.in_(mine))
    connection.execute(undone.delete().where(undone.c.judgement.in_(theirs)))
    connection.execute(paper_answers.delete().where(paper_answers.c.offer.in_(mine)))
    gone = connection.execute(judgements.delete().where(judgements.c.offer.in_(mine))).rowcount
    for table in (offers, exclusions, pair_lists):
        connection.execute(table.delete().where(table.c.judge == judge.id))
    # The audit log still tells that a researcher left somebody out, neither whom nor why.
    remarks = audit_log.c.about == judge.id, audit_log.c.what.in_(JUDGE_ACTIONS)
    connection.execute(audit_log.update().where(*remarks).values(about="", why=""))
    connection.execute(judges.delete().where(judges.c.id == judge.id))
    return gone


def _record_erasure(connection: Connection, judge: Judge, gone: int) -> None:
    """The record that something was erased, in place of one from before."""
    row = {"judge": judge.id, "at": now(), "judgements": gone}
    made = connection.execute(erasures.insert().values(row)).inserted_primary_key
    assert made is not None
    # The new one first: its number tells the live worker that something was erased.
    earlier = erasures.c.judge == judge.id, erasures.c.id != made[0]
    connection.execute(erasures.delete().where(*earlier))
