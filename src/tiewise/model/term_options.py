"""Options that ask for terms by files and columns, and the terms that they give."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tiewise.data.comparisons import SEPARATOR, Comparisons, read_comparisons
from tiewise.data.counts import Counts, natural_order
from tiewise.data.formats import heading
from tiewise.data.layout import JUDGE_HEADINGS
from tiewise.data.tables import read_table
from tiewise.data.text_columns import as_text, tidied_ids
from tiewise.errors import InputError, InputWarning
from tiewise.model.formula import ID_COLUMNS
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds
from tiewise.text import some_names

WAVE = "wave"
MOST_GROUPS = 20


@dataclass(frozen=True)
class TermOptions:
    """The terms that a model is to have, as the options of `build_model` and of the command.

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
                "covariates= is a table of items; say with formula= which of its columns matter"
            )
        if self.judges is not None and self.judge_groups is None:
            raise InputError(
                "judges= is a table of judges; say with judge_groups= which column has the groups"
            )
        if self.judge_groups is not None and self.waves is not None:
            raise InputError(
                "judge_groups= and waves= both say which views to compare; give one of them"
            )

        if self.advantage is not None and (self.by_judge or self.judge_groups or self.waves):
            raise InputError(
                "advantage= does not go together with terms of judges; leave out sharpness=True, "
                "thresholds=True, judge_groups= and waves=, or build the model in Python"
            )

    def __bool__(self) -> bool:
        return bool(self._chosen())

    @property
    def ordered(self) -> bool:
        """Whether it matters which item of a pair came first."""
        return self.order or self.advantage is not None

    @property
    def by_judge(self) -> bool:
        """Whether judges are told apart one by one."""
        return self.sharpness or self.thresholds

    def to_dict(self) -> dict[str, Any]:
        """The options that were set, as data; tables by the name of their file."""
        options = self._chosen()
        for name in ("covariates", "judges", "waves"):
            if name in options:
                path = isinstance(options[name], str | Path)
                options[name] = Path(options[name]).name if path else "table"
        return options

    def _chosen(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if value is not None and value is not False
        }


def join_waves(
    comparisons: Comparisons, options: TermOptions, columns: Mapping[str, Any] | None = None
) -> tuple[Comparisons, TermOptions]:
    """Both waves as one where the second is a file of its own; then `wave` is their column."""
    if options.waves is None or not Path(options.waves).is_file():
        return comparisons, options
    import pandas as pd

    second = read_comparisons(options.waves, **(columns or {}))
    _refuse_unordered(second, options)
    _refuse_unordered(comparisons, options)
    names = [Path(wave.source).stem for wave in (comparisons, second)]
    # Groups stand in the order of their names, and the first wave comes first.
    if names[0] == names[1]:
        names = ["first wave", "second wave"]
    elif tuple(names) != natural_order(names):
        names = [f"{k} ({name})" for k, name in enumerate(names, start=1)]
    rows = [
        wave.rows().drop(columns=WAVE, errors="ignore").assign(**{WAVE: name})
        for wave, name in zip((comparisons, second), names, strict=True)
    ]
    with_judges = any(wave.judges is not None for wave in (comparisons, second))
    both = pd.concat([part.dropna(axis=1, how="all") for part in rows], ignore_index=True)
    if "times" in both:
        both["times"] = both["times"].fillna(1).astype(int)
    joined = read_comparisons(
        both,
        judge="judge" if with_judges else None,
        name=f"{comparisons.source} and {options.waves}",
        any_id=True,
    )
    left_out = Counter(comparisons.left_out) + Counter(second.left_out)
    offered = comparisons.ties_offered or second.ties_offered
    joined = replace(joined, left_out=dict(left_out), ties_offered=offered)
    return joined, replace(options, waves=WAVE)


def counts_and_terms(
    comparisons: Comparisons | Counts,
    options: TermOptions,
    *,
    table: Callable[[], object] | None = None,
    id: str | None = None,
) -> tuple[Counts, tuple[Term, ...]]:
    """Counts and terms for these options; `table` reads the columns of the map, if any."""
    terms: list[Term] = []
    if options.formula is not None:
        terms.append(_covariates(options, table, id))
    counts, groups = _count(comparisons, options)
    if options.ordered:
        terms.append(_order(counts, options))
    if groups is not None:
        terms.append(groups)
    if options.sharpness:
        terms.append(Sharpness())
    if options.thresholds:
        terms.append(Thresholds())
    return counts, tuple(terms)


def _covariates(
    options: TermOptions, table: Callable[[], object] | None, id: str | None
) -> Covariates:
    """The term of a formula, over its own table or over the columns of the map."""
    assert options.formula is not None
    items = options.covariates
    if items is None and table is None:
        raise InputError(
            "formula= needs a table of items: give it with covariates=, or a map with such "
            "columns with areas="
        )
    if items is None:
        assert table is not None
        return Covariates(table(), options.formula, item="item")
    if isinstance(items, str | Path):
        ids = tuple(name for name in (id, *ID_COLUMNS) if name)
        items = read_table(items, [name.lower() for name in ids])
        column = next((name for name in ids if name in items), None)
        if column is None:
            raise InputError(f"{options.covariates}: no column of items; call it {ID_COLUMNS[0]}")
        return Covariates(items, options.formula, item=column)
    return Covariates(items, options.formula)


def _count(comparisons: Comparisons | Counts, options: TermOptions) -> tuple[Counts, Groups | None]:
    """Counts by judge, group or wave as the options need, and the groups where there are any."""
    if isinstance(comparisons, Counts):
        if options.judge_groups or options.waves or options.advantage:
            raise InputError(
                "counts have no columns to find groups in; give the comparisons themselves"
            )
        return comparisons, None
    _refuse_unordered(comparisons, options)
    if options.by_judge and comparisons.judges is None:
        option = "sharpness=True" if options.sharpness else "thresholds=True"
        raise InputError(
            f"{comparisons.source} does not say who judged, and {option} tells judges apart; "
            "name the column of judges with judge="
        )
    if options.by_judge and len(comparisons.judges or ()) < 2:
        raise InputError(
            f"{comparisons.source} has one judge only, and there is nobody to tell apart; leave "
            "out sharpness=True and thresholds=True"
        )
    if options.waves is not None:
        return _by_wave(comparisons, options)
    if options.judge_groups is not None:
        return _by_group(comparisons, options)
    by = "judge" if options.by_judge else options.advantage
    return comparisons.counts(by=by, ordered=options.ordered), None


def row_strata(comparisons: Comparisons, options: TermOptions) -> list[str] | None:
    """The stratum of every single judgement in a model with these options; None without strata."""
    judge = "judge" if options.by_judge else None
    if options.waves is not None:
        wave = str(options.waves)
        return comparisons.row_strata(("judge", wave) if judge else wave)
    column = options.judge_groups
    judges = None if options.judges is None else _columns_of(options.judges)
    if judge or column is None:
        by = judge or options.advantage
        return None if by is None else comparisons.row_strata(by)
    if judges is not None and (column in judges or not _has_column(comparisons, column)):
        of = _groups_of(judges, column)
        return [of.get(name, "") for name in comparisons.row_strata("judge")]
    return comparisons.row_strata(column)


def _order(counts: Counts, options: TermOptions) -> Order:
    """The advantage of the first: of being it, of what a column says, or of both."""
    if options.advantage is None:
        return Order()
    values = {name: _number(name, options.advantage) for name in counts.strata}
    if len(set(values.values())) < 2:
        raise InputError(
            f"advantage=: {options.advantage} says the same of every comparison; use order=True"
        )
    first = {"first": dict.fromkeys(counts.strata, 1.0)} if options.order else {}
    return Order(by={**first, options.advantage: values})


def _number(text: str, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not math.isfinite(value):
        raise InputError(
            f"advantage=: {column} holds {text!r}, which is no number; write 1 where the first "
            "has the advantage, 0 where neither has, -1 where the second has"
        )
    return value


def _refuse_unordered(comparisons: Comparisons, options: TermOptions) -> None:
    if options.ordered and not comparisons.layout.sides:
        raise InputError(
            f"{comparisons.source}: {comparisons.layout.name} data do not say which item was shown "
            f"first; leave out {'order=True' if options.order else 'advantage='}"
        )


def _by_wave(comparisons: Comparisons, options: TermOptions) -> tuple[Counts, Groups]:
    """Counts by wave; a judge who came twice is told apart each time."""
    wave = str(options.waves)
    try:
        kinds = comparisons.combinations(wave)
    except InputError as error:
        kind = "a folder and " if Path(wave).is_dir() else ""
        raise InputError(f"{error}; and {wave} is {kind}no file of a second wave") from None
    _check_groups([value for (value,) in kinds if value], "waves=", wave)
    if not options.by_judge:
        return comparisons.counts(by=wave, ordered=options.ordered), Groups()
    of = {SEPARATOR.join(kind): kind[1] for kind in comparisons.combinations("judge", wave)}
    return comparisons.counts(by=("judge", wave), ordered=options.ordered), Groups(of)


def _by_group(comparisons: Comparisons, options: TermOptions) -> tuple[Counts, Groups]:
    """Counts by group of judges, or by judge where these are told apart or their table is there."""
    column = str(options.judge_groups)
    judges = None if options.judges is None else _columns_of(options.judges)
    if judges is not None and (column in judges or not _has_column(comparisons, column)):
        return _by_table(comparisons, options, judges)
    kinds = comparisons.combinations(column)
    _check_groups([value for (value,) in kinds if value], "judge_groups=", column)
    if not options.by_judge:
        return comparisons.counts(by=column, ordered=options.ordered), Groups()
    pairs = comparisons.combinations("judge", column)
    twice = [judge for judge, times in Counter(judge for judge, _ in pairs).items() if times > 1]
    if twice:
        raise InputError(
            f"{comparisons.source}: {column} is not the same throughout for {some_names(twice)}; a "
            "judge belongs to one group: correct it, or compare with waves="
        )
    of = {kind[0]: kind[1] for kind in pairs}
    return comparisons.counts(by="judge", ordered=options.ordered), Groups(of)


def _by_table(
    comparisons: Comparisons, options: TermOptions, judges: Mapping[str, list[str]]
) -> tuple[Counts, Groups]:
    """Counts by judge with the groups of a table of judges; those without one are left out."""
    column = str(options.judge_groups)
    if comparisons.judges is None:
        raise InputError(
            f"{comparisons.source} does not say who judged, so a table of judges does not help; "
            "name the column of judges with judge="
        )
    of = _groups_of(judges, column)
    lost = sorted(comparisons.judges - set(of))
    if lost:
        raise InputError(f"the table of judges lacks {some_names(lost)}; add them")
    known = {judge: group for judge, group in of.items() if judge in comparisons.judges and group}
    _check_groups(sorted(set(known.values())), "judge_groups=", column)
    counts = comparisons.counts(by="judge", ordered=options.ordered)
    silent = [judge for judge in counts.strata if judge not in known]
    if silent:
        counts = _leave_out_judges(counts, silent, column)
    if not options.by_judge:
        return _count_by_group(counts, known), Groups()
    return counts, Groups(known)


def _columns_of(table: object) -> dict[str, list[str]]:
    """A table of judges as columns of text."""
    if isinstance(table, str | Path):
        from tiewise.data.files import read_sheet

        sheet = read_sheet(Path(table)).table
        table = {name: sheet.column(name).to_pylist() for name in sheet.column_names}
    columns: Any = table
    return {str(name): [as_text(value) for value in columns[name]] for name in columns}


def _groups_of(judges: Mapping[str, list[str]], column: str) -> dict[str, str]:
    """The group of each judge in a table of judges."""
    if column not in judges:
        raise InputError(
            f"the table of judges has no column {column!r}; there are {some_names([*judges])}"
        )
    spellings = {heading(name) for name in JUDGE_HEADINGS}
    key = next((name for name in judges if heading(name) in spellings), None)
    if key is None:
        raise InputError(
            f"the table of judges has no column of judges; call it {JUDGE_HEADINGS[0]} or "
            f"{JUDGE_HEADINGS[2]}"
        )
    return dict(zip(tidied_ids(judges[key]), judges[column], strict=True))


def _leave_out_judges(counts: Counts, silent: list[str], column: str) -> Counts:
    """The counts of those whose group is known, with a word on the others."""
    known = [name for name in counts.strata if name not in silent]
    left = counts.within(known)
    warnings.warn(
        f"{counts.comparisons - left.comparisons} judgements are left out: {column} is not known "
        f"of {some_names(silent)}",
        InputWarning,
        stacklevel=2,
    )
    return replace(left, judges=frozenset(known))


def _count_by_group(counts: Counts, of: Mapping[str, str]) -> Counts:
    """Counts by judge made counts by group."""
    names = natural_order(of[judge] for judge in counts.strata)
    place = {name: k for k, name in enumerate(names)}
    stratum = [place[of[counts.strata[k]]] for k in counts.stratum]
    return Counts.of(
        counts.items, counts.first, counts.second, counts.wins_first, counts.wins_second,
        counts.ties, stratum=stratum, strata=names, skips=counts.skips, judges=counts.judges,
        ordered=counts.ordered,
    )  # fmt: skip


def _has_column(comparisons: Comparisons, column: str) -> bool:
    return column in comparisons.frame.collect_schema().names()


def _check_groups(groups: list[str], option: str, column: str) -> None:
    """Refuse to compare one group, or a crowd of them."""
    if len(groups) < 2:
        raise InputError(
            f"{option}: {column} has only {some_names(groups) or 'empty values'}, and groups are "
            "compared; choose a column with several values"
        )
    if len(groups) > MOST_GROUPS:
        raise InputError(
            f"{option}: {column} has {len(groups):,} different values ({some_names(groups, 3)}), "
            f"and at most {MOST_GROUPS} can be compared; choose a column with few"
        )
