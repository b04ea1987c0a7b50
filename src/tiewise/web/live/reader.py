"""The judgements of a study as arrays: read once, then only what is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import CODE_OF_STORED
from tiewise.posterior.judgement_record import JudgementTable
from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.values import Kind

OVERLAP = 200
"""Judgements that are read again: in PostgreSQL a lower number may be committed later."""


class JudgementReader:
    """The judgements of a study, or of one of its questions, kept in step with the database."""

    def __init__(
        self, store: JudgeStore, items: Iterable[str], *, graded: bool = False, question: str = ""
    ) -> None:
        self._snapshots = SnapshotStore(store, question)
        self._items = {item: k for k, item in enumerate(items)}
        self._judges: dict[str, int] = {}
        self._graded = graded
        self._erasure = 0
        self._clear()

    @property
    def items(self) -> tuple[str, ...]:
        """The items of the study and any others that were judged, in the order of their numbers."""
        return tuple(self._items)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges in the order of their numbers."""
        return tuple(self._judges)

    def read(self) -> JudgementTable:
        """Every judgement but practice and those that were undone."""
        erasure = self._snapshots.last_erasure()
        if erasure != self._erasure:
            self._clear()
        self._append(self._snapshots.judgements_after(self._highest - OVERLAP))
        if self._snapshots.judgements_up_to(self._highest) != len(self._numbers):
            # Some were erased, or a long import was committed late.
            self._clear()
            self._append(self._snapshots.judgements_after(0))
        self._erasure = erasure
        undone = np.isin(self._numbers, np.array(self._snapshots.undone_ids(), np.int64))
        return self._table.where(~self._practice & ~undone)

    def _clear(self) -> None:
        self._judges.clear()
        integers, flags = np.empty(0, np.int64), np.empty(0, bool)
        self._numbers: NDArray[np.int64] = integers
        self._practice: NDArray[np.bool_] = flags
        self._table = JudgementTable(
            integers, integers, integers, integers, flags, np.empty(0),
            integers if self._graded else None,
        )  # fmt: skip

    @property
    def _highest(self) -> int:
        return int(self._numbers.max(initial=0))

    def _append(self, rows: Sequence[Any]) -> None:
        known = set(self._numbers[-2 * OVERLAP :].tolist())
        new = [row for row in rows if row.id not in known]
        if not new:
            return
        added = JudgementTable(
            np.array([self._judges.setdefault(row.judge, len(self._judges)) for row in new]),
            np.array([self._items.setdefault(row.left, len(self._items)) for row in new]),
            np.array([self._items.setdefault(row.right, len(self._items)) for row in new]),
            np.array([CODE_OF_STORED[row.outcome] for row in new]),
            np.array([row.kind == Kind.REPEAT for row in new]),
            np.array([_seconds(row) for row in new]),
            np.array([row.grade or 0 for row in new], np.int64) if self._graded else None,
        )
        self._table = self._table.followed_by(added)
        self._numbers = np.concatenate([self._numbers, [row.id for row in new]])
        practice = [row.kind == Kind.PRACTICE for row in new]
        self._practice = np.concatenate([self._practice, practice])


def _seconds(row: Any) -> float:
    """Seconds from showing the pair to its answer; NaN for imports."""
    taken: float = (row.answered - row.shown).total_seconds()
    return taken if taken > 0 else float("nan")
