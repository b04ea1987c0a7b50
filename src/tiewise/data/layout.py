"""Layout: which columns of a table say what, by their headings or as the user names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiewise.data import FORMATS
from tiewise.data.answers import MOST_LEVELS
from tiewise.data.format_rules import BadRow, Judgements, parse_rows
from tiewise.data.formats import NAMED_COLUMNS, Format, graded_pairs, heading
from tiewise.data.frames import IdColumns
from tiewise.data.text_columns import TextColumns
from tiewise.errors import InputError
from tiewise.registry import load
from tiewise.text import one_line, some_names

JUDGE_HEADINGS = (
    "user_id", "participant_id", "judge", "judge_id", "user", "participant", "assessor_id",
    "assessor", "rater_id", "rater", "annotator_id", "annotator", "voter_id", "voter",
)  # fmt: skip
LONGEST_NAME = 60
"""So many letters of a heading are shown."""
ITEM_PARTS = ("first", "second", "chosen")
NAME_THEM = "say which hold the pair and the answer with first=, second=, chosen= and tie="


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a table, the column of each of its parts, and the column of judges."""

    format: Format
    columns: Mapping[str, str]
    judge: str | None = None
    drop_invalid: bool = False
    """Whether rows that are no pair of items are left out."""
    any_id: bool = False
    """Whether a text such as NA is an id."""

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

    @property
    def ids(self) -> IdColumns:
        """The columns of items, which are tidied together, and that of judges."""
        items = frozenset(self.columns[part] for part in ITEM_PARTS if part in self.columns)
        judges = () if self.judge is None or self.judge in items else (frozenset({self.judge}),)
        return IdColumns((items, *judges), self.any_id)

    def extras(self, columns: Iterable[str]) -> list[str]:
        """The columns that play no part."""
        taken = {*self.columns.values(), self.judge}
        return [column for column in columns if column not in taken]

    def parse(self, rows: TextColumns) -> Judgements | BadRow:
        """The judgements in rows; or the first row that cannot be."""
        return parse_rows(self.format.rule, rows, self.columns, drop_invalid=self.drop_invalid)


def recognise(
    source: str,
    columns: Sequence[str],
    named: Mapping[str, str | None],
    judge: str | None,
    grades: Sequence[str] = (),
) -> Layout:
    """The layout that the user named, or the only one that the columns have.

    `grades` are the words of a column of graded answers, from the first item to the second.
    """
    parts = {part: column for part, column in named.items() if column is not None}
    for column in (*parts.values(), judge):
        if column is not None and column not in columns:
            raise InputError(f"{source}: no column {column!r}; there are {column_list(columns)}")
    _refuse_grades(source, parts, grades)
    grade = {part: parts.pop(part) for part in ("grade",) if part in parts}
    own = graded_pairs(grades) if grade and "chosen" not in parts else None
    if parts:
        layout = _by_names(source, parts, own)
    else:
        layout = _by_headings(source, columns, own, in_words=bool(grades))
    layout = Layout(layout.format, {**layout.columns, **grade})
    if grade and layout.counted:
        raise InputError(f"{source}: a row stands for many answers; grade= needs one a row")
    free = layout.extras(columns)
    return Layout(layout.format, layout.columns, judge or _judge_column(free))


def _refuse_grades(source: str, parts: Mapping[str, str], grades: Sequence[str]) -> None:
    """Raise InputError for words of grades that cannot be."""
    if not grades:
        return
    if "grade" not in parts or "chosen" in parts:
        raise InputError(
            f"{source}: grades= are the words of a column of graded answers; name it with grade=, "
            "and leave out chosen="
        )
    distinct = {word.strip().lower() for word in grades} - {""}
    if not 2 <= len(grades) <= 2 * MOST_LEVELS + 1 or len(distinct) < len(grades):
        raise InputError(
            f"{source}: {len(grades)} words of grades came, {len(distinct)} of them different; "
            f"give 2 to {2 * MOST_LEVELS + 1}, from all for the first item to all for the second"
        )


def _by_names(source: str, parts: Mapping[str, str], graded: Format | None) -> Layout:
    if graded is not None and {"first", "second"} <= parts.keys():
        return Layout(graded, parts)
    missing = [f"{part}=" for part in NAMED_COLUMNS.needs if part not in parts]
    if missing:
        raise InputError(
            f"{source}: first=, second= and chosen= go together; add {' and '.join(missing)}"
        )
    return Layout(NAMED_COLUMNS, parts)


def known_formats() -> list[Format]:
    """The formats that are recognised by their headings."""
    return [load(line) for line in FORMATS]


def _by_headings(
    source: str, columns: Sequence[str], graded: Format | None, *, in_words: bool
) -> Layout:
    """The only layout that the columns have; graded answers in words are the answer themselves."""
    headings = {heading(column) for column in columns}
    fitting = [kind for kind in known_formats() if kind.fits(headings)]
    said_better = {name for kind in fitting for name in kind.instead_of}
    fitting = [kind for kind in fitting if kind.name not in said_better]
    if graded is not None and graded.fits(headings) and (in_words or not fitting):
        fitting = [graded]
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
    """The column that has the first of these names, in any spelling, that there is."""
    for name in names:
        matches = [column for column in columns if heading(column) == heading(name)]
        if len(matches) > 1:
            raise InputError(
                f"{source}: columns {matches[0]!r} and {matches[1]!r} could both be {name}; "
                "rename one"
            )
        if matches:
            return matches[0]
    return None


def _judge_column(columns: Sequence[str]) -> str | None:
    """The column of judges, by the first of the usual names that there is."""
    known = {heading(column): column for column in reversed(columns)}
    return next((known[name] for name in map(heading, JUDGE_HEADINGS) if name in known), None)


def column_list(columns: Sequence[str], most: int = 12) -> str:
    """The columns in words, not too many of them."""
    names = [one_line(name, LONGEST_NAME) for name in columns]
    return some_names(names, most, quotes=False)
