"""The record of single judgements: who compared which pair, and with which answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.data.answers import FIRST, SECOND, SKIP, TIE, grade_codes, on_scale
from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts, natural_order
from tiewise.data.format_rules import Judgements
from tiewise.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

STORED_SKIP = 3
"""How a skip is stored with a posterior; other answers off the scale follow it upwards."""
UNNAMED_JUDGE = "not named"
MIN_DECIDED = 50
"""With fewer choices than this, all may be on one side by accident."""
MAX_JUDGEMENTS = 5_000_000
"""With more judgements than this only the counts are stored."""
STORED_TYPES = {"judge": "int32", "left": "int32", "right": "int32", "outcome": "int8",
                "repeat": "int8", "seconds": "float32"}  # fmt: skip


class JudgementTable(NamedTuple):
    """Columns of judgements, oldest first, one entry each.

    `judge`, `left` and `right` are positions in lists of judges and items, items -1 where the fit
    does not know them; `answer` is a code of `data.answers`, FIRST for the left item; `repeat` is
    true where the pair was shown once more on purpose; `seconds` is NaN where unknown. `strength`
    says of graded answers how strongly an item was chosen, from 1, and 0 of other answers; it is
    None where there is one way to choose.
    """

    judge: Integers
    left: Integers
    right: Integers
    answer: Integers
    repeat: Mask
    seconds: Floats
    strength: Integers | None = None

    def where(self, which: Mask | Integers) -> JudgementTable:
        """The judgements at these positions."""
        columns: list[Any] = [None if column is None else column[which] for column in self]
        return JudgementTable(*columns)

    def followed_by(self, later: JudgementTable) -> JudgementTable:
        """These judgements and later ones; both with strengths, or neither."""
        pairs: Iterable[Any] = zip(self, later, strict=True)
        columns: list[Any] = [None if pair[0] is None else np.concatenate(pair) for pair in pairs]
        return JudgementTable(*columns)

    def grades(self, levels: int) -> Integers:
        """The position of each answer on a scale with so many ways to choose an item."""
        return grade_codes(self.answer, self._strength(levels), levels)

    def counts(self, items: tuple[str, ...], levels: int = 1, **strata: Any) -> Counts:
        """Counts of these judgements; `strata` are further keywords of `Counts.of`."""
        answers = [self.answer == code for code in (FIRST, SECOND, TIE)]
        strength, strengths = self._strength(levels), None
        if strength is not None:
            level = strength[:, None] == np.arange(1, levels + 1)
            strengths = np.stack([level & chosen[:, None] for chosen in answers[:2]], axis=1)
        return Counts.of(items, self.left, self.right, *answers, strengths=strengths, **strata)

    def _strength(self, levels: int) -> Integers | None:
        """How strongly items were chosen, where that matters."""
        if levels > 1 and self.strength is None:
            raise InputError(
                "these judgements do not say how strongly each item was chosen, which their fit "
                "needs; fit their file again, with its column of grades (grade=)"
            )
        return None if levels == 1 else self.strength


class JudgementRecord(NamedTuple):
    """Judgements of a study, with the names of the judges.

    `judges` is empty where nobody is named. Where `has_sides` is false, left and right carry no
    information. In a model with strata `stratum` has that of each judgement, -1 where it has none.
    """

    judges: tuple[str, ...]
    judgements: JudgementTable
    has_sides: bool
    stratum: Integers | None = None

    @classmethod
    def from_comparisons(
        cls,
        comparisons: Comparisons,
        items: tuple[str, ...],
        *,
        strata: tuple[str, ...] = (),
        names: Sequence[str] | None = None,
        keep_sides: bool = False,
    ) -> JudgementRecord | None:
        """The record of these comparisons; None where they are too many to be stored.

        `names` are those of each row's stratum among `strata`. Sides that mean nothing are
        alternated, unless they are to be kept for a model in which they mean something.
        """
        if len(comparisons) > MAX_JUDGEMENTS:
            return None
        rows, judge_text, extra = comparisons.coded_rows("kind", "shown_at", "answered_at")
        position = _positions(items, rows.texts)
        judges, judge = _judges(rows, judge_text)
        table = JudgementTable(
            np.zeros_like(rows.row) if judge is None else judge, position[rows.first],
            position[rows.second], rows.answer, _repeats(extra, len(rows.row)),
            _seconds(extra, len(rows.row)), rows.strength if comparisons.levels > 1 else None,
        )  # fmt: skip
        stratum = None if names is None else _positions(strata, tuple(names))
        if comparisons.layout.counted:
            each = np.repeat(np.arange(len(rows.row)), rows.times)
            table, stratum = table.where(each), None if stratum is None else stratum[each]
        has_sides = comparisons.layout.sides and not _always_one_side(table)
        kept = has_sides or keep_sides
        return cls(judges, table if kept else _alternate_sides(table), has_sides, stratum)

    @classmethod
    def from_tree(cls, tree: DataTree) -> JudgementRecord | None:
        """The record stored with a posterior, if there is one."""
        if "judgements" not in tree.children:
            return None
        stored = tree["judgements"]
        columns: dict[str, Any] = {name: stored[name].to_numpy() for name in STORED_TYPES}
        answer = columns["outcome"].astype(np.int64)
        table = JudgementTable(
            columns["judge"].astype(np.int64), columns["left"].astype(np.int64),
            columns["right"].astype(np.int64),
            np.where(answer >= STORED_SKIP, STORED_SKIP + SKIP - answer, answer),
            columns["repeat"].astype(bool), columns["seconds"].astype(float),
            stored["strength"].to_numpy().astype(np.int64) if "strength" in stored else None,
        )  # fmt: skip
        judges = tuple(stored["name"].to_numpy().astype(str).tolist()) if "name" in stored else ()
        stratum = stored["stratum"].to_numpy().astype(np.int64) if "stratum" in stored else None
        return cls(judges, table, bool(stored.attrs["sides"]), stratum)

    def dataset(self) -> Dataset:
        """The record as it is stored with a posterior."""
        table = self.judgements
        values = table._asdict()
        off_scale = STORED_SKIP + SKIP - table.answer
        values["outcome"] = np.where(on_scale(table.answer), table.answer, off_scale)
        columns = {
            name: (["judgement"], values[name].astype(kind)) for name, kind in STORED_TYPES.items()
        }
        names = {"name": (["judges"], np.array(self.judges))} if self.judges else {}
        if table.strength is not None:
            columns["strength"] = (["judgement"], table.strength.astype("int8"))
        if self.stratum is not None:
            columns["stratum"] = (["judgement"], self.stratum.astype("int32"))
        return Dataset({**columns, **names}, attrs={"sides": int(self.has_sides)})

    @property
    def compared(self) -> JudgementTable:
        """Judgements that are not skips, of items and strata that the fit knows."""
        return self.judgements.where(self._known)

    @property
    def compared_rows(self) -> Integers:
        """The positions of those among all judgements."""
        return np.asarray(np.flatnonzero(self._known), np.int64)

    @property
    def compared_stratum(self) -> Integers | None:
        """The stratum of each of those; None in a model without strata."""
        return None if self.stratum is None else self.stratum[self._known]

    @property
    def _known(self) -> Mask:
        table = self.judgements
        known: Mask = on_scale(table.answer) & (table.left >= 0) & (table.right >= 0)
        return known if self.stratum is None else known & (self.stratum >= 0)

    def counts(self, items: tuple[str, ...], judges: Mask) -> Counts:
        """Counts of the judgements of these judges, however strongly an item was chosen."""
        table = self.compared
        return table.where(judges[table.judge]).counts(items)


def _is_decided(table: JudgementTable) -> Mask:
    return np.isin(table.answer, (FIRST, SECOND))


def _always_one_side(table: JudgementTable) -> bool:
    """Whether the chosen item is always written on the same side, so that sides mean nothing."""
    decided = table.answer[_is_decided(table)]
    return len(decided) >= MIN_DECIDED and len(np.unique(decided)) == 1


def _alternate_sides(table: JudgementTable) -> JudgementTable:
    """Every second row of each judge with its sides swapped, so that neither side is favoured."""
    order = np.argsort(table.judge, kind="stable")
    swap = np.zeros(len(order), bool)
    swap[order] = np.arange(len(order)) % 2 == 1
    swapped = np.where(table.answer == FIRST, SECOND, FIRST)
    return table._replace(
        left=np.where(swap, table.right, table.left),
        right=np.where(swap, table.left, table.right),
        answer=np.where(swap & _is_decided(table), swapped, table.answer),
    )


def _positions(names: tuple[str, ...], words: tuple[str, ...]) -> Integers:
    """The position of each word among the names, or -1."""
    position = {name: k for k, name in enumerate(names)}
    return np.array([position.get(word, -1) for word in words], np.int64)


def _judges(
    rows: Judgements, judge_text: Integers | None
) -> tuple[tuple[str, ...], Integers | None]:
    """The judges in natural order and the judge of each row; None where nobody is named."""
    # In a file of counts, a row may stand for no judgement at all.
    present = None if judge_text is None else np.unique(judge_text[rows.times > 0])
    if judge_text is None or present is None or not present.any():
        return (), None
    names = (UNNAMED_JUDGE, *rows.texts[1:])
    judges = natural_order(names[k] for k in present)
    return judges, _positions(judges, names)[judge_text]


def _repeats(rows: pd.DataFrame, size: int) -> Mask:
    """Where a pair was shown again on purpose; without that column, wherever it comes again."""
    if "kind" not in rows:
        return np.ones(size, bool)
    return (rows["kind"].astype(str) == "repeat").to_numpy()


def _seconds(rows: pd.DataFrame, size: int) -> Floats:
    """Seconds from showing each pair to its answer; NaN for imports, which have one moment."""
    if not {"shown_at", "answered_at"} <= set(rows.columns):
        return np.full(size, np.nan)
    shown, answered = (
        pd.to_datetime(rows[name], errors="coerce", utc=True, format="ISO8601")
        for name in ("shown_at", "answered_at")
    )
    taken = (answered - shown).dt.total_seconds().to_numpy().astype(np.float64)
    return np.where(taken > 0, taken, np.nan)


def fitted_judgements(tree: DataTree) -> JudgementTable:
    """Every judgement that was fitted, one entry each: from the record, else from the counts.

    Without a record all judgements are of one judge, and sides mean nothing.
    """
    record, ties = JudgementRecord.from_tree(tree), bool(tree["observed_data/ties"].sum() > 0)
    if record is not None:
        table = record.compared
        return table if ties else table.where(table.answer != TIE)
    return _from_counts(tree)[0]


def fitted_judgements_by_stratum(tree: DataTree) -> JudgementTable:
    """Every judgement that was fitted, from the counts, with its stratum in place of the judge."""
    table, row = _from_counts(tree)
    return table._replace(judge=tree["observed_data/stratum"].to_numpy().astype(np.int64)[row])


def fitted_strata(tree: DataTree) -> Integers:
    """The stratum of each of those, as draws take it: its row of the counts where it has facts."""
    row = _from_counts(tree)[1]
    return row if "facts" in tree["observed_data"] else (
        tree["observed_data/stratum"].to_numpy().astype(np.int64)[row]
    )  # fmt: skip


def _from_counts(tree: DataTree) -> tuple[JudgementTable, Integers]:
    """Judgements written out from their counts, as of one judge, and the row of each."""
    observed, counts = tree["observed_data"], grade_counts(tree)
    grade = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    rows = np.concatenate([np.repeat(np.arange(len(n)), n) for n in counts])
    left, right = (observed[name].to_numpy().astype(np.int64)[rows] for name in ("first", "second"))
    side = grade - len(counts) // 2
    size = len(rows)
    table = JudgementTable(
        np.zeros(size, np.int64), left, right, TIE + np.sign(side), np.zeros(size, bool),
        np.full(size, np.nan), np.abs(side) if len(counts) > 3 else None,
    )  # fmt: skip
    return table, rows


def grade_counts(tree: DataTree) -> Integers:
    """How often each row of the counts got each answer (grades, rows), all for the first first."""
    observed = tree["observed_data"]
    first, ties, second = (
        observed[name].to_numpy().astype(np.int64) for name in ("wins_first", "ties", "wins_second")
    )
    if "strengths" not in observed:
        return np.stack([first, ties, second])
    strengths = observed["strengths"].to_numpy().astype(np.int64).transpose(1, 2, 0)
    return np.concatenate([strengths[0][::-1], ties[None], strengths[1]])
