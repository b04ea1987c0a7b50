"""All that is stored of one judge: to answer a request for access, or for erasure."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, select

from tiewise.errors import InputError
from tiewise.study.audit_log import log_action
from tiewise.study.connection import digest
from tiewise.study.judge_queries import all_judgements
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import (
    comments,
    drafts,
    exclusions,
    identifiers,
    invites,
    judges,
    offers,
    pair_lists,
    return_links,
    signup_answers,
)
from tiewise.study.values import Judge

RARE = (
    "invitation", "links to come back", "identifiers", "half-given answers",
    "reasons and comments", "list of pairs",
)  # fmt: skip
SELDOM = ("question", "entered_by")
"""Columns that are left out where they are empty: the only question has no name."""
PERSONAL_LINK = re.compile(r"/j/([0-9a-f]{32})\s*$")


def find_judge(store: JudgeStore, judge: str) -> Judge:
    """The judge with this id, or with this personal link; also one who withdrew, by the id."""
    link = PERSONAL_LINK.search(judge)
    mine = judges.c.secret == digest(link[1]) if link else judges.c.id == judge.strip()
    query = select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose).where(mine)
    with store.reading() as connection:
        # A letter that PostgreSQL does not take is in nobody's id.
        row = None if "\0" in judge else connection.execute(query).first()
    if row is None:
        what = "this personal link leads to no judge" if link else f"there is no judge {judge!r}"
        raise InputError(
            f"{what} in this study; judges.csv of `tiewise export` has their ids, and a link ends "
            "when its judge withdraws"
        )
    return Judge(*row)


def judge_data(store: JudgeStore, judge: Judge) -> dict[str, Any]:
    """Everything that the database holds of a judge, in plain values; that it was read is logged.

    The digests of their personal link and invite code are left out: nobody can read them. The audit
    log does not say whose data: nothing of a judge may outlive their withdrawal.
    """
    mine = select(offers.c.id).where(offers.c.judge == judge.id)
    queries = {
        "answers about themselves": select(signup_answers.c.field, signup_answers.c.value).where(
            signup_answers.c.judge == judge.id
        ),
        "invitation": select(invites.c.label, invites.c.mail, invites.c.issued, invites.c.sent)
        .join(judges, judges.c.invite == invites.c.id)
        .where(judges.c.id == judge.id, invites.c.label.is_not(None)),
        "links to come back": select(return_links.c.made, return_links.c.opened).where(
            return_links.c.judge == judge.id
        ),
        "identifiers": select(identifiers.c.name, identifiers.c.value).where(
            identifiers.c.judge == judge.id
        ),
        "pairs shown": select(
            offers.c.left, offers.c.right, offers.c.kind, offers.c.shown, offers.c.closed
        ).where(offers.c.judge == judge.id),
        "judgements": all_judgements().where(offers.c.judge == judge.id),
        "half-given answers": select(
            drafts.c.offer, drafts.c.question, drafts.c.outcome, drafts.c.grade, drafts.c.answered
        ).where(drafts.c.offer.in_(mine)),
        "reasons and comments": select(
            comments.c.offer,
            comments.c.question,
            comments.c.reasons,
            comments.c.comment,
            comments.c.written,
        ).where(comments.c.offer.in_(mine)),
        "left out of fits": select(
            exclusions.c.excluded, exclusions.c.reason, exclusions.c.at
        ).where(exclusions.c.judge == judge.id),
        "list of pairs": select(pair_lists.c.name, pair_lists.c.taken).where(
            pair_lists.c.judge == judge.id
        ),
    }
    about = select(
        judges.c.id, judges.c.language, judges.c.consent, judges.c.consented, judges.c.withdrawn
    ).where(judges.c.id == judge.id)
    with store.writing() as connection:
        (person,) = connection.execute(about).mappings()
        parts = {
            name: [_plain(row) for row in connection.execute(query).mappings()]
            for name, query in queries.items()
        }
        log_action(connection, None, "read judge's data", "")
    # What most studies never ask for is there only where there is some.
    parts = {name: rows for name, rows in parts.items() if rows or name not in RARE}
    return {"judge": _plain(person), "groups": list(store.groups_of(judge)), **parts}


def withdraw_for(store: JudgeStore, judge: Judge, *, judgements_too: bool) -> int:
    """Withdraw a judge who asked for it elsewhere, as the site would; how many answers went."""
    gone = store.withdraw(judge, judgements_too=judgements_too)
    with store.writing() as connection:
        log_action(connection, None, "withdraw judge", "", "on request")
    return gone


def _plain(row: RowMapping) -> dict[str, Any]:
    return {
        str(name): value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
        if name not in SELDOM or value
    }
