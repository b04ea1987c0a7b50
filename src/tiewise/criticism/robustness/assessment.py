"""How few answers or judges decide each conclusion: as values, as a table, and stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.criticism.robustness.conclusion import AVERAGE
from tiewise.data.answers import TIE
from tiewise.data.files import write_csv
from tiewise.data.json_files import NOTHING, read_json
from tiewise.errors import InputError

# A report that tells what was found needs nothing of what finds it.
if TYPE_CHECKING:
    from tiewise.criticism.robustness.conclusion import Conclusion
    from tiewise.criticism.robustness.removable import Removable
    from tiewise.criticism.robustness.search import Removal

TABLE_FILE, FACTS_FILE = "robust.csv", "robust.json"
COLUMNS = (
    "conclusion", "item", "leave_out", "judgement", "judge", "first", "second", "chosen",
)  # fmt: skip
"""Of the table; graded answers have a column `grade` besides."""
FINDING = {
    "kind": str, "items": [str], "above": bool, "unit": str, "total": int, "limit": int,
    "number": (int, NOTHING), "behind": str, "ahead": str,
}  # fmt: skip


@dataclass(frozen=True)
class Fragility:
    """How many answers or judges, left out, overturn a conclusion; None where no set was found.

    `number` is confirmed by a fit, and an upper bound: fewer may be enough. `limit` is how many
    the search would have left out. Without them `behind` is lower than `ahead`; where the average
    is one of the two, its name is empty.
    """

    kind: str
    items: tuple[str, ...]
    above: bool
    unit: str
    total: int
    limit: int
    number: int | None
    behind: str = ""
    ahead: str = ""

    @property
    def label(self) -> str:
        """The conclusion in short: `first`, `top 5`, `above average`."""
        if self.kind == "average":
            return f"{'above' if self.above else 'below'} average"
        return "first" if self.kind == "first" else f"top {len(self.items)}"


@dataclass(frozen=True, eq=False)
class RobustnessAssessment:
    """What was found for each conclusion, and the table of what would be left out."""

    findings: tuple[Fragility, ...]
    table: pd.DataFrame
    seed: int

    def write(self, path: str | Path) -> None:
        """Write the table of answers and judges."""
        write_csv(self.table, Path(path))

    def write_facts(self, path: Path) -> None:
        """Write what was found, for the report."""
        facts = {"seed": self.seed, "findings": [asdict(one) for one in self.findings]}
        path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_findings(folder: Path) -> tuple[Fragility, ...]:
    """What `tiewise robust` found for the results in a folder; nothing where it was not run."""
    path = folder / FACTS_FILE
    if not path.is_file():
        return ()
    shape = {"seed": int, "findings": [FINDING]}
    way_out = "run `tiewise robust` again, or delete it"
    facts = read_json(path, shape, required=("findings",), way_out=way_out)
    return tuple(_finding(path, own, way_out) for own in facts["findings"])


def _finding(path: Path, values: dict[str, Any], way_out: str) -> Fragility:
    missing = [name for name in FINDING if name not in values]
    if missing:
        raise InputError(f"{path}: {missing[0]} is missing of a finding; {way_out}")
    known = {name: values[name] for name in FINDING}
    return Fragility(**{**known, "items": tuple(known["items"])})


def fragility(
    conclusion: Conclusion,
    removal: Removal | None,
    removable: Removable,
    names: Sequence[str],
    limit: int,
) -> Fragility:
    """What was found for a conclusion about items of these names."""
    items = tuple(names[k] for k in conclusion.items)
    general = (conclusion.kind, items, conclusion.above, removable.unit, removable.total, limit)
    if removal is None:
        return Fragility(*general, None)
    behind, ahead = ("" if k == AVERAGE else names[k] for k in removal.turned)
    return Fragility(*general, removal.number, behind, ahead)


def removal_table(
    finding: Fragility, removal: Removal | None, removable: Removable, names: Sequence[str]
) -> pd.DataFrame:
    """One row for each answer or judge that would be left out."""
    if removal is None:
        return pd.DataFrame(columns=list(COLUMNS))
    rows = np.flatnonzero(removable.rows_left_out(removal.amounts))
    if removable.unit == "judges":
        columns = _judge_columns(removable, rows)
    else:
        columns = _answer_columns(removable, rows, names)
    about = finding.items[0] if finding.kind != "top" else ""
    fixed = {"conclusion": finding.label, "item": about, "leave_out": removable.unit[:-1]}
    empty = dict.fromkeys(COLUMNS, "")
    number = len(next(iter(columns.values())))
    names_of_columns = list(dict.fromkeys([*COLUMNS, *columns]))
    return pd.DataFrame(empty | fixed | columns, index=range(number), columns=names_of_columns)


def _judge_columns(removable: Removable, rows: NDArray[np.int64]) -> dict[str, list[str]]:
    record = removable.record
    return {"judge": [record.judges[k] for k in np.unique(record.compared.judge[rows])]}


def _answer_columns(
    removable: Removable, rows: NDArray[np.int64], names: Sequence[str]
) -> dict[str, list[str]]:
    record = removable.record
    table = record.compared.where(rows)
    pairs = zip(table.left, table.right, table.answer, strict=True)
    out: dict[str, list[str]] = {
        "first": [names[k] for k in table.left], "second": [names[k] for k in table.right],
        "chosen": ["" if a == TIE else names[i if a < TIE else j] for i, j, a in pairs],
    }  # fmt: skip
    if table.strength is not None:
        out["grade"] = [str(strength) for strength in table.strength]
    if record.judges:
        out["judge"] = [record.judges[k] for k in table.judge]
    if removable.placed:
        out["judgement"] = [str(k + 1) for k in record.compared_rows[rows]]
    return out
