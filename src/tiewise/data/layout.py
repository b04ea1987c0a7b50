"""Layout: which columns of a table say what, by their headings or as the user names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiewise.data import FORMATS
from tiewise.data.format_rules import BadRow, Judgements, parse_rows
from tiewise.data.formats import NAMED_COLUMNS, Format
from tiewise.data.text_columns import TextColumns
from tiewise.errors import InputError
from tiewise.registry import load
from tiewise.text import some_names

JUDGE_HEADINGS = ("user_id", "participant_id", "judge", "judge_id", "user", "participant")
NAME_THEM = "say which hold the pair and the answer with first=, second=, chosen= and tie="


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a table, the column of each of its parts, and the column of judges."""

    format: Format
    columns: Mapping[str, str]
    judge: str | None = None

    @property
    def name(self) -> str:
        """Name of the format."""
        return self.format.name

    @property
    def sides(self) -> bool:
        """Whether first and second say how a pair was shown, not only who was chosen."""
        return self.columns.get("chosen") not in (self.columns["first"], self.columns["second"])

    @property
    def counted(self) -> bool:
        """Whether a row may stand for many judgements."""
        return "wins_1" in self.columns or "times" in self.columns

    def extras(self, columns: Iterable[str]) -> list[str]:
        """The columns that play no part."""
        taken = {*self.columns.values(), self.judge}
        return [column for column in columns if column not in taken]

    def parse(self, rows: TextColumns) -> Judgements | BadRow:
        """The judgements in rows; or the first row that cannot be."""
        return parse_rows(self.format.rule, rows, self.columns)


def heading(column: object) -> str:
    """A column's name without regard to letter case or to what stands between its words."""
    return re.sub(r"[\s._-]+", "_", str(column).strip().lower())


def recognise(
    source: str,
    columns: Sequence[str],
    named: Mapping[str, str | None],
    judge: str | None,
) -> Layout:
    """The layout that the user named, or the only one that the columns have."""
    parts = {part: column for part, column in named.items() if column is not None}
    for column in (*parts.values(), judge):
        if column is not None and column not in columns:
            raise InputError(f"{source}: no column {column!r}; there are {column_list(columns)}")
    layout = _by_names(source, parts) if parts else _by_headings(source, columns)
    free = layout.extras(columns)
    return Layout(layout.format, layout.columns, judge or _judge_column(free))


def _by_names(source: str, parts: Mapping[str, str]) -> Layout:
    missing = [f"{part}=" for part in NAMED_COLUMNS.needs if part not in parts]
    if missing:
        raise InputError(
            f"{source}: first=, second= and chosen= go together; add {' and '.join(missing)}"
        )
    return Layout(NAMED_COLUMNS, parts)


def known_formats() -> list[Format]:
    """The formats that are recognised by their headings."""
    return [load(line) for line in FORMATS]


def _by_headings(source: str, columns: Sequence[str]) -> Layout:
    headings = {heading(column) for column in columns}
    fitting = [kind for kind in known_formats() if kind.fits(headings)]
    if not fitting:
        raise InputError(
            f"{source}: no known format has the columns {column_list(columns)}; {NAME_THEM}"
        )
    if len(fitting) > 1:
        names = " and ".join(kind.name for kind in fitting)
        raise InputError(f"{source}: the columns fit more than one format, {names}; {NAME_THEM}")
    kind = fitting[0]
    parts = {part: _one_of(source, columns, n) for part, n in {**kind.needs, **kind.may}.items()}
    return Layout(kind, {part: column for part, column in parts.items() if column is not None})


def _one_of(source: str, columns: Sequence[str], names: Sequence[str]) -> str | None:
    matches = [column for column in columns if heading(column) in names]
    if len(matches) > 1:
        raise InputError(
            f"{source}: columns {matches[0]!r} and {matches[1]!r} could both be {names[0]}; "
            "rename one"
        )
    return matches[0] if matches else None


def _judge_column(columns: Sequence[str]) -> str | None:
    """The column of judges, by the first of the usual names that there is."""
    known = {heading(column): column for column in reversed(columns)}
    return next((known[name] for name in JUDGE_HEADINGS if name in known), None)


def column_list(columns: Sequence[str], most: int = 12) -> str:
    """The columns in words, not too many of them."""
    return some_names(columns, most, quotes=False).replace("\n", " ")
