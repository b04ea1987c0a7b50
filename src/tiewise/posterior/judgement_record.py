"""Record: who said what of which pair, in the order in which it was said."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.criticism.judge_statistics import LEFT, RIGHT, SKIP, TIE, Said
from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts, natural_order
from tiewise.data.format_rules import Judgements

Integers = NDArray[np.int64]

OUTCOME = np.array([LEFT, RIGHT, TIE, SKIP])
"""For each of the outcomes that comparisons have, in their order."""
NAMELESS = "not named"
FEWEST_DECIDED = 50
"""Choices that are all on one side by chance only if there are fewer."""
MOST = 5_000_000
"""Judgements that are kept; of more than these only the counts are."""
KEPT = {"judge": "int32", "left": "int32", "right": "int32", "outcome": "int8", "repeat": "int8",
        "seconds": "float32"}  # fmt: skip


class Record(NamedTuple):
    """Judgements of a study, oldest first, by judges and about items known by their positions.

    `judges` is empty where nobody is named. Where `sides` is false, left and right mean nothing.
    """

    judges: tuple[str, ...]
    said: Said
    sides: bool

    @classmethod
    def of(cls, comparisons: Comparisons, items: tuple[str, ...]) -> Record | None:
        """The record of these comparisons; None where they are too many to be kept."""
        if len(comparisons) > MOST:
            return None
        told, who, more = comparisons.one_by_one("kind", "shown_at", "answered_at")
        place = _places(items, told.words)
        judges, judge = _named(told, who)
        said = Said(
            np.zeros_like(told.row) if judge is None else judge, place[told.first],
            place[told.second], OUTCOME[told.outcome], _repeats(more, len(told.row)),
            _seconds(more, len(told.row)),
        )  # fmt: skip
        if comparisons.layout.counted:
            said = said.where(np.repeat(np.arange(len(told.row)), told.times))
        sides = comparisons.layout.sides and not _always_one_side(said)
        return cls(judges, said if sides else _mixed(said), sides)

    @classmethod
    def read(cls, tree: DataTree) -> Record | None:
        """The record that was kept with a posterior, where one was."""
        if "judgements" not in tree.children:
            return None
        kept = tree["judgements"]
        columns: dict[str, Any] = {name: kept[name].to_numpy() for name in KEPT}
        said = Said(
            columns["judge"].astype(np.int64), columns["left"].astype(np.int64),
            columns["right"].astype(np.int64), columns["outcome"].astype(np.int64),
            columns["repeat"].astype(bool), columns["seconds"].astype(float),
        )  # fmt: skip
        judges = tuple(kept["name"].to_numpy().astype(str)) if "name" in kept else ()
        return cls(judges, said, bool(kept.attrs["sides"]))

    def dataset(self) -> Dataset:
        """What is kept of it with a posterior."""
        columns = {
            name: (["judgement"], getattr(self.said, name).astype(kind))
            for name, kind in KEPT.items()
        }
        names = {"name": (["judges"], np.array(self.judges))} if self.judges else {}
        return Dataset({**columns, **names}, attrs={"sides": int(self.sides)})

    @property
    def compared(self) -> Said:
        """What was said without being skipped, of items that the fit knows."""
        said = self.said
        return said.where((said.outcome != SKIP) & (said.left >= 0) & (said.right >= 0))

    def counts(self, items: tuple[str, ...], judges: NDArray[np.bool_]) -> Counts:
        """Counts of what these judges said."""
        told = self.compared
        return counted(items, told.where(judges[told.judge]))


def counted(items: tuple[str, ...], said: Said) -> Counts:
    """Counts of judgements, whoever gave them and whatever the side."""
    answers = (said.outcome == kind for kind in (LEFT, RIGHT, TIE))
    return Counts.of(items, said.left, said.right, *answers)


def _always_one_side(said: Said) -> bool:
    """Whether the chosen one is always written on the same side, so that sides mean nothing."""
    decided = said.outcome[(said.outcome == LEFT) | (said.outcome == RIGHT)]
    return len(decided) >= FEWEST_DECIDED and len(np.unique(decided)) == 1


def _mixed(said: Said) -> Said:
    """Every second row of each judge turned round: where sides mean nothing, none is favoured."""
    order = np.argsort(said.judge, kind="stable")
    turn = np.zeros(len(order), bool)
    turn[order] = np.arange(len(order)) % 2 == 1
    outcome = np.where(said.outcome == LEFT, RIGHT, LEFT)
    decided = (said.outcome == LEFT) | (said.outcome == RIGHT)
    return said._replace(
        left=np.where(turn, said.right, said.left),
        right=np.where(turn, said.left, said.right),
        outcome=np.where(turn & decided, outcome, said.outcome),
    )


def _places(names: tuple[str, ...], words: tuple[str, ...]) -> Integers:
    """Where each word stands among the names, or -1."""
    place = {name: k for k, name in enumerate(names)}
    return np.array([place.get(word, -1) for word in words], np.int64)


def _named(told: Judgements, who: Integers | None) -> tuple[tuple[str, ...], Integers | None]:
    """The judges in their order, and which of them gave each judgement; None where nobody is."""
    # Of counts, a row may stand for no judgement at all.
    heard = None if who is None else np.unique(who[told.times > 0])
    if who is None or heard is None or not heard.any():
        return (), None
    called = (NAMELESS, *told.words[1:])
    judges = natural_order(called[k] for k in heard)
    return judges, _places(judges, called)[who]


def _repeats(rows: pd.DataFrame, size: int) -> NDArray[np.bool_]:
    """Where a pair was shown again on purpose; without a word on it, wherever it comes again."""
    if "kind" not in rows:
        return np.ones(size, bool)
    return (rows["kind"].astype(str) == "repeat").to_numpy()


def _seconds(rows: pd.DataFrame, size: int) -> NDArray[np.float64]:
    if not {"shown_at", "answered_at"} <= set(rows.columns):
        return np.full(size, np.nan)
    shown, answered = (
        pd.to_datetime(rows[name], errors="coerce", utc=True, format="ISO8601")
        for name in ("shown_at", "answered_at")
    )
    return (answered - shown).dt.total_seconds().to_numpy().astype(np.float64)


def asked(tree: DataTree) -> Said:
    """Every judgement that was fitted, one entry each: from the record, else from the counts.

    Without a record there is but one judge, and sides mean nothing.
    """
    record, ties = Record.read(tree), bool(tree["observed_data/ties"].sum() > 0)
    if record is not None:
        told = record.compared
        return told if ties else told.where(told.outcome != TIE)
    return _from_counts(tree)[0]


def by_stratum(tree: DataTree) -> Said:
    """Every judgement that was fitted, from the counts, with its stratum in place of the judge."""
    told, row = _from_counts(tree)
    return told._replace(judge=tree["observed_data/stratum"].to_numpy().astype(np.int64)[row])


def _from_counts(tree: DataTree) -> tuple[Said, Integers]:
    """Judgements written out from their counts, as of one judge, and the row of each."""
    seen = tree["observed_data"]
    number = [seen[name].to_numpy() for name in ("wins_first", "ties", "wins_second")]
    rows = np.concatenate([np.repeat(np.arange(len(n)), n) for n in number])
    outcome = np.repeat(np.arange(3), [int(n.sum()) for n in number])
    left, right = (seen[name].to_numpy().astype(np.int64)[rows] for name in ("first", "second"))
    size = len(rows)
    nothing = np.zeros(size, np.int64)
    return Said(nothing, left, right, outcome, np.zeros(size, bool), np.full(size, np.nan)), rows
