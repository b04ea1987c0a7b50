"""Judges and answers put straight into the store of a study."""

from __future__ import annotations

from typing import Any

from tiewise.data.answers import FIRST
from tiewise.pairing.policies import OrderedPair
from tiewise.study.judge_store import JudgeStore
from tiewise.study.values import Judge, Kind


def add_judge(store: JudgeStore, **more: Any) -> Judge:
    """A new judge."""
    new = store.add_judge(**{"consent": "1", "language": "en", "about": {}} | more)
    assert new is not None
    return new.judge


def add_answer(
    store: JudgeStore,
    judge: Judge,
    pair: OrderedPair,
    answer: int = FIRST,
    kind: Kind = Kind.NEW,
) -> int:
    """An offer of this pair, answered; its number."""
    offer = store.offer(judge, pair, kind)
    assert store.answer(judge, offer.id, answer)
    return offer.id
