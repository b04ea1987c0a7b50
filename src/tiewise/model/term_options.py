"""Options that ask for terms by files and columns, and the terms that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tiewise.data.about_table import TableAnswers, refuse_other_answers
from tiewise.data.comparisons import SEPARATOR, Comparisons, read_comparisons
from tiewise.data.counts import Counts, natural_order
from tiewise.data.facts import count_with_facts
from tiewise.data.judge_tables import (
    count_by_group,
    groups_of_judges,
    judge_columns,
    leave_out_judges,
)
from tiewise.data.tables import read_table
from tiewise.errors import InputError
from tiewise.model import BY_GROUP
from tiewise.model.facts.columns import FIRST, read_facts
from tiewise.model.formula import ID_COLUMNS
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds
from tiewise.text import some_names

WAVE = "wave"
MOST_GROUPS = 20
# A few groups do not tell how much groups differ, so that this is held.
GROUP_SHARPNESS, GROUP_THRESHOLDS = Fixed(0.5**2), Fixed(1.0)


@dataclass(frozen=True)
class TermOptions:
    """The terms that a model is to have, as the options of `build_model` and of the command.

    `covariates` and `judges` are files, data frames or mappings of columns; `judge_groups` is a
    column of the judgements or of `judges`; `waves` a second file, or a column of the judgements;
    `by` a column of the judgements whose values may differ from answer to answer, such as language;
    `order`, `sharpness` and `thresholds` may be "by-group": of groups, not of single judges;
    `advantage` a column of numbers of the judgements that says how much favours the first of a
    pair, or a formula of several, such as `length_diff + log(times)`.
    """

    covariates: object = None
    formula: str | None = None
    order: bool | str = False
    advantage: str | None = None
    judge_groups: str | None = None
    judges: object = None
    waves: str | Path | None = None
    by: str | None = None
    sharpness: bool | str = False
    thresholds: bool | str = False

    def __post_init__(self) -> None:
        if self.covariates is not None and self.formula is None:
            raise InputError(
                "covariates= is a table of items; say with formula= which of its columns matter"
            )
        if self.judges is not None and self.judge_groups is None:
            raise InputError(
                "judges= is a table of judges; say with judge_groups= which column has the groups"
            )
        views = [name for name in ("judge_groups", "waves", "by") if getattr(self, name)]
        if len(views) > 1:
            raise InputError(
                f"{views[0]}= and {views[1]}= both say which views to compare; give one of them"
            )
        self._check_by_group(views)

    def _check_by_group(self, views: list[str]) -> None:
        """Refuse terms of groups where there are none, or where judges have such terms."""
        values = {name: getattr(self, name) for name in ("order", "sharpness", "thresholds")}
        for name, value in values.items():
            if value not in (True, False, BY_GROUP):
                raise InputError(f"{name}= is True, False or {BY_GROUP!r}, not {value!r}")
        by_group = [name for name, value in values.items() if value == BY_GROUP]
        if by_group and not views:
            raise InputError(
                f"{by_group[0]}={BY_GROUP!r} is that of groups of judges; say with judge_groups= "
                "which column has them"
            )
        if by_group and self.by_judge:
            raise InputError(
                f"{by_group[0]}={BY_GROUP!r} is that of groups, and single judges are told apart, "
                "too; ask for all of it by group, or for none"
            )
        if self.order == BY_GROUP and self.advantage is not None:
            raise InputError(
                f"order={BY_GROUP!r} and advantage= do not go together; use order=True"
            )

    def __bool__(self) -> bool:
        return bool(self._chosen())

    @property
    def ordered(self) -> bool:
        """Whether it matters which item of a pair came first."""
        return bool(self.order) or self.advantage is not None

    @property
    def answer_groups(self) -> str | None:
        """The column that says to which group each answer belongs: a wave, or a value of `by`."""
        return self.by or (None if self.waves is None else str(self.waves))

    @property
    def by_judge(self) -> bool:
        """Whether judges are told apart one by one."""
        return self.sharpness is True or self.thresholds is True

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
    refuse_other_answers(_answers_of(comparisons), _answers_of(second))
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
    graded = comparisons.tally.strength is not None
    joined = read_comparisons(
        both,
        judge="judge" if with_judges else None,
        grade="grade" if graded else None,
        name=f"{comparisons.source} and {options.waves}",
        any_id=True,
    )
    left_out = Counter(comparisons.left_out) + Counter(second.left_out)
    offered = comparisons.ties_offered or second.ties_offered
    joined = replace(
        joined,
        left_out=dict(left_out),
        ties_offered=offered,
        levels=max(comparisons.levels, second.levels),
        grades=comparisons.grades,
    )
    return joined, replace(options, waves=WAVE)


def _answers_of(wave: Comparisons) -> TableAnswers:
    graded = wave.tally.strength is not None
    return TableAnswers(wave.source, wave.levels, graded, wave.ties_offered, wave.ties)


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
        terms.append(_of_groups(Sharpness, counts, options.sharpness, GROUP_SHARPNESS))
    if options.thresholds:
        terms.append(_of_groups(Thresholds, counts, options.thresholds, GROUP_THRESHOLDS))
    return counts, tuple(terms)


def _of_groups(
    kind: type[Sharpness] | type[Thresholds], counts: Counts, value: bool | str, variance: Fixed
) -> Sharpness | Thresholds:
    """A term of judges, or of groups relative to the one with the most answers."""
    if value != BY_GROUP:
        return kind()
    answers = counts.wins_first + counts.wins_second + counts.ties
    totals = np.bincount(counts.stratum, answers, len(counts.strata))
    return kind(variance=variance, reference=counts.strata[int(totals.argmax())])


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
        if options.judge_groups or options.answer_groups or options.advantage:
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
    if options.answer_groups is not None:
        return _by_answer(comparisons, options, options.answer_groups)
    if options.judge_groups is not None:
        return _by_group(comparisons, options)
    return _counted(comparisons, options, "judge" if options.by_judge else None), None


def _counted(
    comparisons: Comparisons, options: TermOptions, by: str | tuple[str, ...] | None
) -> Counts:
    """Counts by these columns, with facts of the comparisons where options ask for them."""
    if options.advantage is None:
        return comparisons.counts(by=by, ordered=options.ordered)
    names, values = read_facts(comparisons, options.advantage)
    return count_with_facts(comparisons, values, names, by)


def row_strata(comparisons: Comparisons, options: TermOptions) -> list[str] | None:
    """The stratum of every single judgement in a model with these options; None without strata."""
    judge = "judge" if options.by_judge else None
    if (own := options.answer_groups) is not None:
        return comparisons.row_strata(("judge", own) if judge else own)
    column = options.judge_groups
    judges = None if options.judges is None else judge_columns(options.judges)
    if judge or column is None:
        return None if judge is None else comparisons.row_strata(judge)
    if judges is not None and (column in judges or not _has_column(comparisons, column)):
        of = groups_of_judges(judges, column)
        return [of.get(name, "") for name in comparisons.row_strata("judge")]
    return comparisons.row_strata(column)


def _order(counts: Counts, options: TermOptions) -> Order:
    """The advantage of the first: of being it, of what a column says, or of both."""
    if options.order == BY_GROUP:
        names = counts.strata
        return Order(by={own: {name: float(name == own) for name in names} for own in names})
    if options.advantage is None:
        return Order()
    return Order(facts=(FIRST, *counts.fact_names) if options.order else counts.fact_names)


def _refuse_unordered(comparisons: Comparisons, options: TermOptions) -> None:
    if options.ordered and not comparisons.layout.sides:
        raise InputError(
            f"{comparisons.source}: {comparisons.layout.name} data do not say which item was shown "
            f"first; leave out {'order=True' if options.order else 'advantage='}"
        )


def _by_answer(
    comparisons: Comparisons, options: TermOptions, column: str
) -> tuple[Counts, Groups]:
    """Counts by wave, or by another column; a judge in several is told apart in each."""
    try:
        kinds = comparisons.combinations(column)
    except InputError as error:
        if options.by is not None:
            raise
        kind = "a folder and " if Path(column).is_dir() else ""
        raise InputError(f"{error}; and {column} is {kind}no file of a second wave") from None
    option = "waves=" if options.by is None else "by="
    _check_groups([value for (value,) in kinds if value], option, column)
    if not options.by_judge:
        return _counted(comparisons, options, column), Groups()
    of = {SEPARATOR.join(kind): kind[1] for kind in comparisons.combinations("judge", column)}
    return _counted(comparisons, options, ("judge", column)), Groups(of)


def _by_group(comparisons: Comparisons, options: TermOptions) -> tuple[Counts, Groups]:
    """Counts by group of judges, or by judge where these are told apart or their table is there."""
    column = str(options.judge_groups)
    judges = None if options.judges is None else judge_columns(options.judges)
    if judges is not None and (column in judges or not _has_column(comparisons, column)):
        return _by_table(comparisons, options, judges)
    kinds = comparisons.combinations(column)
    _check_groups([value for (value,) in kinds if value], "judge_groups=", column)
    if not options.by_judge:
        return _counted(comparisons, options, column), Groups()
    pairs = comparisons.combinations("judge", column)
    twice = [judge for judge, times in Counter(judge for judge, _ in pairs).items() if times > 1]
    if twice:
        raise InputError(
            f"{comparisons.source}: {column} is not the same throughout for {some_names(twice)}; a "
            "judge belongs to one group: correct it, or compare with waves="
        )
    of = {kind[0]: kind[1] for kind in pairs}
    return _counted(comparisons, options, "judge"), Groups(of)


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
    of = groups_of_judges(judges, column)
    lost = sorted(comparisons.judges - set(of))
    if lost:
        raise InputError(f"the table of judges lacks {some_names(lost)}; add them")
    known = {judge: group for judge, group in of.items() if judge in comparisons.judges and group}
    _check_groups(sorted(set(known.values())), "judge_groups=", column)
    counts = _counted(comparisons, options, "judge")
    silent = [judge for judge in counts.strata if judge not in known]
    if silent:
        counts = leave_out_judges(counts, silent, column)
    if not options.by_judge:
        return count_by_group(counts, known), Groups()
    return counts, Groups(known)


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
