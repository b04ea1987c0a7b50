"""Terms as files, columns and flags ask for them, worked out for the judgements at hand."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tiewise.data.comparisons import BETWEEN, Comparisons, read_comparisons
from tiewise.data.counts import Counts, natural_order, some
from tiewise.data.format_rules import as_text
from tiewise.data.formats import JUDGE
from tiewise.data.tables import read_table
from tiewise.errors import InputError, InputWarning
from tiewise.model.formula import ID_COLUMNS
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds

WAVE = "wave"
MOST_GROUPS = 20


@dataclass(frozen=True)
class Wanted:
    """The terms that a model is to have, by the names of the command's options.

    `covariates` and `judges` are files, data frames or mappings of columns; `judge_groups` is a
    column of the judgements or of `judges`; `waves` a second file, or a column of the judgements;
    `advantage` a column of numbers that says how much favours the first of a pair.
    """

    covariates: object = None
    formula: str | None = None
    order: bool = False
    advantage: str | None = None
    judge_groups: str | None = None
    judges: object = None
    waves: str | Path | None = None
    sharpness: bool = False
    thresholds: bool = False

    def __post_init__(self) -> None:
        if self.covariates is not None and self.formula is None:
            raise InputError(
                "--covariates is a table of items; say with --formula which of its columns matter"
            )
        if self.judges is not None and self.judge_groups is None:
            raise InputError(
                "--judges is a table of judges; say with --judge-groups which column has the groups"
            )
        if self.judge_groups is not None and self.waves is not None:
            raise InputError(
                "--judge-groups and --waves both say which views to compare; give one of them"
            )

        if self.advantage is not None and (self.own or self.judge_groups or self.waves):
            raise InputError(
                "--advantage does not go together with terms of judges; leave out --sharpness, "
                "--thresholds, --judge-groups and --waves, or build the model in Python"
            )

    def __bool__(self) -> bool:
        return bool(self._given())

    @property
    def sided(self) -> bool:
        """Whether it matters which item of a pair came first."""
        return self.order or self.advantage is not None

    @property
    def own(self) -> bool:
        """Whether judges are told apart one by one."""
        return self.sharpness or self.thresholds

    def said(self) -> dict[str, Any]:
        """What was asked for, tables by the name of their file, as JSON can keep it."""
        told = self._given()
        for name in ("covariates", "judges", "waves"):
            if name in told:
                path = isinstance(told[name], str | Path)
                told[name] = Path(told[name]).name if path else "table"
        return told

    def _given(self) -> dict[str, Any]:
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            key: value for key, value in told.items() if value is not None and value is not False
        }


def gathered(
    comparisons: Comparisons, wanted: Wanted, columns: Mapping[str, str] | None = None
) -> tuple[Comparisons, Wanted]:
    """Both waves as one where the second is a file of its own; then `wave` is their column."""
    if wanted.waves is None or not Path(wanted.waves).is_file():
        return comparisons, wanted
    import pandas as pd

    second = read_comparisons(wanted.waves, **(columns or {}))
    _refuse_sideless(second, wanted)
    _refuse_sideless(comparisons, wanted)
    names = [Path(told.source).stem for told in (comparisons, second)]
    # Groups stand in the order of their names, and the first wave comes first.
    if names[0] == names[1]:
        names = ["first wave", "second wave"]
    elif tuple(names) != natural_order(names):
        names = [f"{k} ({name})" for k, name in enumerate(names, start=1)]
    rows = [
        told.rows().drop(columns=WAVE, errors="ignore").assign(**{WAVE: name})
        for told, name in zip((comparisons, second), names, strict=True)
    ]
    named = any(told.judges is not None for told in (comparisons, second))
    both = pd.concat([part.dropna(axis=1, how="all") for part in rows], ignore_index=True)
    if "times" in both:
        both["times"] = both["times"].fillna(1).astype(int)
    told = read_comparisons(
        both, judge="judge" if named else None, name=f"{comparisons.source} and {wanted.waves}"
    )
    return told, replace(wanted, waves=WAVE)


def extended(
    comparisons: Comparisons | Counts,
    wanted: Wanted,
    *,
    table: Callable[[], object] | None = None,
    id: str | None = None,
) -> tuple[Counts, tuple[Term, ...]]:
    """Counts and terms as they were asked for; `table` gives the columns of the map, if any."""
    terms: list[Term] = []
    if wanted.formula is not None:
        terms.append(_covariates(wanted, table, id))
    counts, groups = _counted(comparisons, wanted)
    if wanted.sided:
        terms.append(_order(counts, wanted))
    if groups is not None:
        terms.append(groups)
    if wanted.sharpness:
        terms.append(Sharpness())
    if wanted.thresholds:
        terms.append(Thresholds())
    return counts, tuple(terms)


def _covariates(wanted: Wanted, table: Callable[[], object] | None, id: str | None) -> Covariates:
    """The term of a formula, over its own table or over the columns of the map."""
    assert wanted.formula is not None
    given = wanted.covariates
    if given is None and table is None:
        raise InputError(
            "--formula needs a table of items: give it with --covariates, or a map with such "
            "columns with --areas"
        )
    if given is None:
        assert table is not None
        return Covariates(table(), wanted.formula, item="item")
    if isinstance(given, str | Path):
        ids = tuple(name for name in (id, *ID_COLUMNS) if name)
        given = read_table(given, [name.lower() for name in ids])
        column = next((name for name in ids if name in given), None)
        if column is None:
            raise InputError(f"{wanted.covariates}: no column of items; call it {ID_COLUMNS[0]}")
        return Covariates(given, wanted.formula, item=column)
    return Covariates(given, wanted.formula)


def _counted(comparisons: Comparisons | Counts, wanted: Wanted) -> tuple[Counts, Groups | None]:
    """Counts within what the terms tell apart, and the groups where there are any."""
    if isinstance(comparisons, Counts):
        if wanted.judge_groups or wanted.waves or wanted.advantage:
            raise InputError(
                "counts have no columns to find groups in; give the comparisons themselves"
            )
        return comparisons, None
    _refuse_sideless(comparisons, wanted)
    if wanted.own and comparisons.judges is None:
        option = "--sharpness" if wanted.sharpness else "--thresholds"
        raise InputError(
            f"{comparisons.source} does not say who judged, and {option} tells judges apart; "
            "name the column of judges with --judge"
        )
    if wanted.own and len(comparisons.judges or ()) < 2:
        raise InputError(
            f"{comparisons.source} has one judge only, and there is nobody to tell apart; leave "
            "out --sharpness and --thresholds"
        )
    if wanted.waves is not None:
        return _by_wave(comparisons, wanted)
    if wanted.judge_groups is not None:
        return _by_group(comparisons, wanted)
    by = "judge" if wanted.own else wanted.advantage
    return comparisons.counts(by=by, ordered=wanted.sided), None


def _order(counts: Counts, wanted: Wanted) -> Order:
    """The advantage of the first: of being it, of what a column says, or of both."""
    if wanted.advantage is None:
        return Order()
    values = {name: _number(name, wanted.advantage) for name in counts.strata}
    if len(set(values.values())) < 2:
        raise InputError(
            f"--advantage: {wanted.advantage} says the same of every comparison; use --order"
        )
    first = {"first": dict.fromkeys(counts.strata, 1.0)} if wanted.order else {}
    return Order(by={**first, wanted.advantage: values})


def _number(text: str, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not math.isfinite(value):
        raise InputError(
            f"--advantage: {column} holds {text!r}, which is no number; write 1 where the first "
            "has the advantage, 0 where neither has, -1 where the second has"
        )
    return value


def _refuse_sideless(comparisons: Comparisons, wanted: Wanted) -> None:
    if wanted.sided and not comparisons.layout.sides:
        raise InputError(
            f"{comparisons.source}: {comparisons.layout.name} data do not say which item was shown "
            f"first; leave out {'--order' if wanted.order else '--advantage'}"
        )


def _by_wave(comparisons: Comparisons, wanted: Wanted) -> tuple[Counts, Groups]:
    """Counts by wave; a judge who came twice is told apart each time."""
    wave = str(wanted.waves)
    try:
        kinds = comparisons.kinds(wave)
    except InputError as error:
        raise InputError(f"{error}; and {wave} is no file of a second wave") from None
    _refuse_number([value for (value,) in kinds if value], "--waves", wave)
    if not wanted.own:
        return comparisons.counts(by=wave, ordered=wanted.sided), Groups()
    of = {BETWEEN.join(kind): kind[1] for kind in comparisons.kinds("judge", wave)}
    return comparisons.counts(by=("judge", wave), ordered=wanted.sided), Groups(of)


def _by_group(comparisons: Comparisons, wanted: Wanted) -> tuple[Counts, Groups]:
    """Counts by group of judges, or by judge where these are told apart or their table is given."""
    column = str(wanted.judge_groups)
    told = None if wanted.judges is None else _columns_of(wanted.judges)
    if told is not None and (column in told or not _has(comparisons, column)):
        return _by_table(comparisons, wanted, told)
    kinds = comparisons.kinds(column)
    _refuse_number([value for (value,) in kinds if value], "--judge-groups", column)
    if not wanted.own:
        return comparisons.counts(by=column, ordered=wanted.sided), Groups()
    pairs = comparisons.kinds("judge", column)
    twice = [judge for judge, times in Counter(judge for judge, _ in pairs).items() if times > 1]
    if twice:
        raise InputError(
            f"{comparisons.source}: {column} is not the same throughout for {some(twice)}; a judge "
            "belongs to one group: correct it, or compare with --waves"
        )
    of = {kind[0]: kind[1] for kind in pairs}
    return comparisons.counts(by="judge", ordered=wanted.sided), Groups(of)


def _by_table(
    comparisons: Comparisons, wanted: Wanted, told: Mapping[str, list[str]]
) -> tuple[Counts, Groups]:
    """Counts by judge with the groups of a table of judges; those without one are left out."""
    column = str(wanted.judge_groups)
    if comparisons.judges is None:
        raise InputError(
            f"{comparisons.source} does not say who judged, so a table of judges does not help; "
            "name the column of judges with --judge"
        )
    of = _groups_of(told, column)
    lost = sorted(comparisons.judges - set(of))
    if lost:
        raise InputError(f"the table of judges lacks {some(lost)}; add them")
    known = {judge: group for judge, group in of.items() if judge in comparisons.judges and group}
    _refuse_number(sorted(set(known.values())), "--judge-groups", column)
    counts = comparisons.counts(by="judge", ordered=wanted.sided)
    silent = [judge for judge in counts.strata if judge not in known]
    if silent:
        counts = _without(counts, silent, column)
    if not wanted.own:
        return _merged(counts, known), Groups()
    return counts, Groups(known)


def _columns_of(table: object) -> dict[str, list[str]]:
    """A table of judges as columns of text."""
    if isinstance(table, str | Path):
        from tiewise.data.files import read_sheet

        sheet = read_sheet(Path(table)).table
        table = {name: sheet.column(name).to_pylist() for name in sheet.column_names}
    columns: Any = table
    return {str(name): [as_text(value) for value in columns[name]] for name in columns}


def _groups_of(told: Mapping[str, list[str]], column: str) -> dict[str, str]:
    """The group of each judge in a table of judges."""
    if column not in told:
        raise InputError(f"the table of judges has no column {column!r}; there are {some([*told])}")
    key = next((name for name in told if name.strip().lower() in JUDGE), None)
    if key is None:
        raise InputError(
            f"the table of judges has no column of judges; call it {JUDGE[0]} or {JUDGE[2]}"
        )
    return dict(zip(told[key], told[column], strict=True))


def _without(counts: Counts, silent: list[str], column: str) -> Counts:
    """The counts of those whose group is known, with a word on the others."""
    kept = [name for name in counts.strata if name not in silent]
    left = counts.within(kept)
    warnings.warn(
        f"{counts.comparisons - left.comparisons} judgements are left out: {column} is not known "
        f"of {some(silent)}",
        InputWarning,
        stacklevel=2,
    )
    return replace(left, judges=frozenset(kept))


def _merged(counts: Counts, of: Mapping[str, str]) -> Counts:
    """Counts by judge made counts by group."""
    names = natural_order(of[judge] for judge in counts.strata)
    place = {name: k for k, name in enumerate(names)}
    stratum = [place[of[counts.strata[k]]] for k in counts.stratum]
    return Counts.of(
        counts.items, counts.first, counts.second, counts.wins_first, counts.wins_second,
        counts.ties, stratum=stratum, strata=names, skips=counts.skips, judges=counts.judges,
        ordered=counts.ordered,
    )  # fmt: skip


def _has(comparisons: Comparisons, column: str) -> bool:
    return column in comparisons.frame.collect_schema().names()


def _refuse_number(groups: list[str], option: str, column: str) -> None:
    """Refuse to compare one group, or a crowd of them."""
    if len(groups) < 2:
        raise InputError(
            f"{option}: {column} has only {some(groups) or 'empty values'}, and groups are "
            "compared; choose a column with several values"
        )
    if len(groups) > MOST_GROUPS:
        raise InputError(
            f"{option}: {column} has {len(groups):,} different values ({some(groups, 3)}), and at "
            f"most {MOST_GROUPS} can be compared; choose a column with few"
        )
