"""What can be left out of a fit: single answers, or all answers of a judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import SECOND, TIE
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.predictions import PosteriorDraws

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Removable:
    """Answers or judges as columns: answers that are alike share one, a judge has one.

    `column` is that of each compared judgement of the record, -1 for one that was not fitted.
    `capacity` is how many of a column can be left out: as many as are alike, or one judge.
    `placed` says whether judgements are in the order in which they were read.
    """

    record: JudgementRecord
    unit: str
    column: Integers
    capacity: Integers
    placed: bool = True

    @classmethod
    def answers(cls, record: JudgementRecord, *, ties: bool, sided: bool) -> Removable:
        """Every answer; alike are those of one pair, answer and stratum, whichever judge gave it.

        `sided` is for models in which left and right differ.
        """
        table, stratum = record.compared, record.compared_stratum
        turn = np.zeros(len(table.left), bool) if sided else table.left > table.right
        parts = [
            np.where(turn, table.right, table.left), np.where(turn, table.left, table.right),
            np.where(turn, SECOND - table.answer, table.answer),
            np.zeros_like(table.left) if stratum is None else stratum,
            *([] if table.strength is None else [table.strength]),
        ]  # fmt: skip
        used = _fitted(record, ties=ties)
        column = np.full(len(used), -1)
        _, column[used] = np.unique(np.stack(parts)[:, used], axis=1, return_inverse=True)
        return cls(record, "answers", column, np.bincount(column[used]))

    @classmethod
    def judges(cls, record: JudgementRecord, *, ties: bool) -> Removable:
        """Every judge who compared something."""
        used, judge = _fitted(record, ties=ties), record.compared.judge
        column = np.full(len(used), -1)
        _, column[used] = np.unique(judge[used], return_inverse=True)
        return cls(record, "judges", column, np.ones(column.max(initial=-1) + 1, np.int64))

    @property
    def total(self) -> int:
        """How many answers or judges there are."""
        return int(self.capacity.sum())

    def log_likelihood(self, draws: PosteriorDraws, columns: Integers) -> Floats:
        """Log likelihood (draws, columns) of one answer, or of all of a judge."""
        if self.unit == "answers":
            return self._log_probability(draws, self._first_rows[columns])
        own = [np.flatnonzero(self.column == judge) for judge in columns]
        return np.stack([self._log_probability(draws, rows).sum(axis=1) for rows in own], axis=1)

    def rows_left_out(self, amounts: Integers) -> Mask:
        """The judgements that go where so many of each column are left out, earliest first."""
        order = np.argsort(self.column, kind="stable")
        starts = np.searchsorted(self.column[order], self.column)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        rank = place - starts
        most = len(order) * amounts if self.unit == "judges" else amounts
        return np.asarray((self.column >= 0) & (rank < most[self.column]))

    @property
    def _first_rows(self) -> Integers:
        """The first judgement of each column."""
        rows = np.flatnonzero(self.column >= 0)
        return np.asarray(rows[np.unique(self.column[rows], return_index=True)[1]])

    def _log_probability(self, draws: PosteriorDraws, rows: Integers) -> Floats:
        table, stratum = self.record.compared.where(rows), self.record.compared_stratum
        own = np.zeros(len(rows), np.int64) if stratum is None else stratum[rows]
        return draws.log_probability(table.left, table.right, table.grades(draws.levels), own)


def _fitted(record: JudgementRecord, *, ties: bool) -> Mask:
    """Compared judgements that are in the fit: all, or those that are no ties."""
    answer = record.compared.answer
    return np.ones(len(answer), bool) if ties else np.asarray(answer != TIE)
