"""The statements of JudgeStore, built once: building them anew costs more than running them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from tiewise.study.schema import judgements, judges, known_groups, offers, undone

_MINE = offers.c.judge == bindparam("judge_id")
_OPEN = offers.c.closed.is_(None)

JUDGE = select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose).where(
    judges.c.secret == bindparam("digest"), judges.c.withdrawn.is_(None)
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
SET_ASIDE = offers.update().where(_MINE, _OPEN).values(closed=bindparam("at"))
ADD_JUDGEMENT = judgements.insert()
ADD_UNDONE = undone.insert()

HISTORY = (
    select(
        offers.c.left, offers.c.right, offers.c.kind, judgements.c.outcome,
        judgements.c.id.label("judgement"),
    )
    .join(judgements, judgements.c.offer == offers.c.id)
    # Not an outer join and IS NULL: PostgreSQL thinks that leaves few of all judgements, and begins
    # with them in place of the judge's own.
    .where(_MINE, ~select(undone.c.judgement).where(undone.c.judgement == judgements.c.id).exists())
    .order_by(judgements.c.id)
)  # fmt: skip


def all_judgements() -> Any:
    """Every judgement with its offer, and when it was taken back, if it was."""
    return (
        select(
            judgements.c.id.label("judgement"), judgements.c.outcome, judgements.c.answered,
            offers.c.id.label("offer"), offers.c.judge, offers.c.left, offers.c.right,
            offers.c.kind, offers.c.shown, undone.c.at.label("undone"),
        )
        .join(offers, offers.c.id == judgements.c.offer)
        .join(undone, undone.c.judgement == judgements.c.id, isouter=True)
    )  # fmt: skip
