"""Formats: which columns say what, known by their names and never by guessing direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tiewise.data import format_rules
from tiewise.data.format_rules import Coded, Judgements, Rule
from tiewise.errors import InputError

JUDGE = ("user_id", "participant_id", "judge", "judge_id", "user", "participant")
FLAG = {"tie": ("tie", "tied", "is_tie")}
NAME_THEM = "say which hold the pair and the answer with first=, second=, chosen= and tie="


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column plays which part, and the rule by which rows are understood."""

    name: str
    rule: Rule
    columns: Mapping[str, str]
    judge: str | None = None

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

    def understand(self, rows: Coded) -> Judgements | tuple[int, str]:
        """What the rows tell; or the first row that cannot be, and why."""
        return format_rules.understand(self.rule, rows, self.columns)


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: the headings, any of several, by which each part is known."""

    name: str
    rule: Rule
    needs: Mapping[str, Sequence[str]]
    may: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def fits(self, headings: set[str]) -> bool:
        """Whether every needed part is among the headings."""
        return all(headings.intersection(names) for names in self.needs.values())


FORMATS = (
    Format(
        "comparison interface",
        format_rules.interface,
        {
            "first": ["item_1_id"],
            "second": ["item_2_id"],
            "chosen": ["selected_item_id"],
            "state": ["state"],
        },
    ),
    Format(
        "comparative judgement",
        format_rules.chosen,
        {
            "first": ["candidate_chosen"],
            "second": ["candidate_not_chosen"],
            "chosen": ["candidate_chosen"],
        },
        FLAG,
    ),
    Format(
        "winner and loser",
        format_rules.chosen,
        {"first": ["winner", "win"], "second": ["loser", "lost"], "chosen": ["winner", "win"]},
        FLAG,
    ),
    Format(
        "arena votes",
        format_rules.votes,
        {"first": ["model_a"], "second": ["model_b"], "vote": ["winner"]},
    ),
    Format(
        "counts",
        format_rules.counted,
        {"first": ["item_1"], "second": ["item_2"], "wins_1": ["wins_1"], "wins_2": ["wins_2"]},
        {"ties": ["ties"]},
    ),
    Format(
        "tiewise rows",
        format_rules.ours,
        {"first": ["first"], "second": ["second"], "outcome": ["outcome"]},
        {"times": ["times"]},
    ),
)


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
    given = {part: column for part, column in named.items() if column is not None}
    for column in (*given.values(), judge):
        if column is not None and column not in columns:
            raise InputError(f"{source}: no column {column!r}; there are {listed(columns)}")
    layout = _named(source, given) if given else _known(source, columns)
    free = layout.extras(columns)
    return Layout(layout.name, layout.rule, layout.columns, judge or _judge(free))


def _named(source: str, given: Mapping[str, str]) -> Layout:
    missing = [f"{part}=" for part in ("first", "second", "chosen") if part not in given]
    if missing:
        raise InputError(
            f"{source}: first=, second= and chosen= go together; add {' and '.join(missing)}"
        )
    return Layout("named columns", format_rules.chosen, given)


def _known(source: str, columns: Sequence[str]) -> Layout:
    headings = {heading(column) for column in columns}
    fitting = [kind for kind in FORMATS if kind.fits(headings)]
    if not fitting:
        raise InputError(
            f"{source}: no known format has the columns {listed(columns)}; {NAME_THEM}"
        )
    if len(fitting) > 1:
        names = " and ".join(kind.name for kind in fitting)
        raise InputError(f"{source}: the columns fit more than one format, {names}; {NAME_THEM}")
    kind = fitting[0]
    found = {part: _one_of(source, columns, n) for part, n in {**kind.needs, **kind.may}.items()}
    return Layout(kind.name, kind.rule, {part: c for part, c in found.items() if c is not None})


def _one_of(source: str, columns: Sequence[str], names: Sequence[str]) -> str | None:
    found = [column for column in columns if heading(column) in names]
    if len(found) > 1:
        raise InputError(
            f"{source}: columns {found[0]!r} and {found[1]!r} could both be {names[0]}; rename one"
        )
    return found[0] if found else None


def _judge(columns: Sequence[str]) -> str | None:
    """The column of judges, by the first of the usual names that there is."""
    known = {heading(column): column for column in reversed(columns)}
    return next((known[name] for name in JUDGE if name in known), None)


def listed(columns: Sequence[str], most: int = 12) -> str:
    """The columns in words, not too many of them."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(map(str, columns[:most])).replace("\n", " ") + more
