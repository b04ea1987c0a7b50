"""The statements of JudgeStore, built once: building them anew costs more than running them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, case, func, select

from tiewise.data.answers import OFF_SCALE
from tiewise.study.schema import (
    comments,
    drafts,
    judgements,
    judges,
    known_groups,
    offers,
    paper_answers,
    return_links,
    undone,
)

_MINE = offers.c.judge == bindparam("judge_id")
_OPEN = offers.c.closed.is_(None)

JUDGE = select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose).where(
    judges.c.secret == bindparam("digest"), judges.c.withdrawn.is_(None)
)
RETURNED = (
    select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose)
    .join(return_links, return_links.c.judge == judges.c.id)
    .where(return_links.c.secret == bindparam("digest"), judges.c.withdrawn.is_(None))
)
OPEN_RETURN_LINK = (
    return_links.update()
    .where(return_links.c.secret == bindparam("digest"), return_links.c.opened.is_(None))
    .values(opened=bindparam("at"))
)
# Actions of one judge wait for each other here, and for the foreign keys of what names them.
LOCK_JUDGE = (
    select(judges.c.withdrawn, judges.c.invite)
    .where(judges.c.id == bindparam("judge_id"))
    .with_for_update()
)
KNOWN_GROUPS = (
    select(known_groups.c.group)
    .where(known_groups.c.judge == bindparam("judge_id"))
    .order_by(known_groups.c.group)
)
OPEN_OFFER = select(offers.c.id, offers.c.left, offers.c.right, offers.c.kind).where(_MINE, _OPEN)
ADD_OFFER = offers.insert()
CLOSE_OFFER = (
    offers.update()
    .where(offers.c.id == bindparam("offer_id"), _MINE, _OPEN)
    .values(closed=bindparam("at"))
)
DROP_DRAFTS = drafts.delete().where(
    drafts.c.offer.in_(select(offers.c.id).where(_MINE, _OPEN).scalar_subquery())
)
SET_ASIDE = offers.update().where(_MINE, _OPEN).values(closed=bindparam("at"))
ADD_JUDGEMENT = judgements.insert()
ADD_UNDONE = undone.insert()
DROP_COMMENT = comments.delete().where(comments.c.offer == bindparam("offer_id"))

# Not an outer join and IS NULL: PostgreSQL thinks that leaves few of all judgements, and begins
# with them in place of the judge's own.
STANDS = ~select(undone.c.judgement).where(undone.c.judgement == judgements.c.id).exists()
"""Of a judgement: that it was not taken back."""
HISTORY = (
    select(
        offers.c.id.label("offer"), offers.c.left, offers.c.right, offers.c.kind,
        judgements.c.outcome, judgements.c.id.label("judgement"),
    )
    .join(judgements, judgements.c.offer == offers.c.id)
    .where(_MINE, STANDS)
    .order_by(judgements.c.id)
)  # fmt: skip
# A pair is skipped where every question of it was.
_OFF_SCALE = judgements.c.outcome.in_([answer.stored for answer in OFF_SCALE])
_PAIRS = (
    select(offers.c.kind, func.min(case((_OFF_SCALE, 1), else_=0)).label("skipped"))
    .join(judgements, judgements.c.offer == offers.c.id)
    .where(_MINE, STANDS)
    .group_by(offers.c.id, offers.c.kind)
    .subquery()
)
PROGRESS = select(_PAIRS.c.kind, _PAIRS.c.skipped, func.count()).group_by(
    _PAIRS.c.kind, _PAIRS.c.skipped
)


def all_judgements() -> Any:
    """Every judgement with its offer, and when it was taken back, if it was."""
    return (
        select(
            judgements.c.id.label("judgement"), judgements.c.outcome, judgements.c.grade,
            judgements.c.answered, judgements.c.question, offers.c.id.label("offer"),
            offers.c.judge, offers.c.left, offers.c.right, offers.c.kind, offers.c.shown,
            undone.c.at.label("undone"), paper_answers.c.entered_by,
        )
        .join(offers, offers.c.id == judgements.c.offer)
        .join(undone, undone.c.judgement == judgements.c.id, isouter=True)
        .join(paper_answers, paper_answers.c.offer == offers.c.id, isouter=True)
    )  # fmt: skip
