"""The judgements of a study as arrays: read once, and then only what is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.criticism.judge_statistics import LEFT, RIGHT, SKIP, TIE, Said
from tiewise.study.judge_store import Store
from tiewise.study.snapshot_store import Snapshots
from tiewise.study.values import Kind, Outcome

OVERLAP = 200
"""Judgements looked at once more: with PostgreSQL a lower number may come to light later."""
NUMBERS = {Outcome.LEFT: LEFT, Outcome.TIE: TIE, Outcome.RIGHT: RIGHT, Outcome.SKIP: SKIP}


class Intake:
    """What the judges of a study said, kept in step with the database."""

    def __init__(self, store: Store, items: Iterable[str]) -> None:
        self._snapshots = Snapshots(store)
        self._items = {item: k for k, item in enumerate(items)}
        self._judges: dict[str, int] = {}
        self._erasure = 0
        self._forget()

    @property
    def items(self) -> tuple[str, ...]:
        """The items given, and any others that were judged, in the order of their numbers."""
        return tuple(self._items)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges in the order of their numbers."""
        return tuple(self._judges)

    def read(self) -> Said:
        """Every judgement that stands: without practice and what was taken back."""
        erasure = self._snapshots.last_erasure()
        if erasure != self._erasure:
            self._forget()
        self._take_in(self._snapshots.judgements_after(self._highest - OVERLAP))
        if self._snapshots.judgements_up_to(self._highest) != len(self._numbers):
            # Some are gone, or came to light far back, as when many are brought in at once.
            self._forget()
            self._take_in(self._snapshots.judgements_after(0))
        self._erasure = erasure
        back = np.isin(self._numbers, np.array(self._snapshots.taken_back(), np.int64))
        return self._said.where(~self._practice & ~back)

    def _forget(self) -> None:
        whole, yes = np.empty(0, np.int64), np.empty(0, bool)
        self._numbers: NDArray[np.int64] = whole
        self._practice: NDArray[np.bool_] = yes
        self._said = Said(whole, whole, whole, whole, yes, np.empty(0))

    @property
    def _highest(self) -> int:
        return int(self._numbers.max(initial=0))

    def _take_in(self, rows: Sequence[Any]) -> None:
        known = set(self._numbers[-2 * OVERLAP :].tolist())
        fresh = [row for row in rows if row.id not in known]
        if not fresh:
            return
        read = Said(
            np.array([self._judges.setdefault(row.judge, len(self._judges)) for row in fresh]),
            np.array([self._items.setdefault(row.left, len(self._items)) for row in fresh]),
            np.array([self._items.setdefault(row.right, len(self._items)) for row in fresh]),
            np.array([NUMBERS[Outcome(row.outcome)] for row in fresh]),
            np.array([row.kind == Kind.REPEAT for row in fresh]),
            np.array([_seconds(row) for row in fresh]),
        )
        pairs = zip(self._said, read, strict=True)
        self._said = Said(*(np.concatenate(pair) for pair in pairs))
        self._numbers = np.concatenate([self._numbers, [row.id for row in fresh]])
        practice = [row.kind == Kind.PRACTICE for row in fresh]
        self._practice = np.concatenate([self._practice, practice])


def _seconds(row: Any) -> float:
    """How long the pair was before the judge; NaN where it was brought in from elsewhere."""
    taken: float = (row.answered - row.shown).total_seconds()
    return taken if taken > 0 else float("nan")
