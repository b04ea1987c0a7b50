"""Languages that judges of a study use."""

from __future__ import annotations

from sqlalchemy import select

from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judges


def languages_in_use(store: JudgeStore) -> set[str]:
    """The languages that judges of the study have answered in."""
    with store.reading() as connection:
        return set(connection.scalars(select(judges.c.language).distinct()))
