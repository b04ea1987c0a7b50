"""How few answers, or judges, decide what the results say: the twin of `tiewise robust`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from xarray import DataTree

from tiewise.criticism.judge_influence import refuse_unknown_strata
from tiewise.criticism.robustness.assessment import (
    COLUMNS,
    FACTS_FILE,
    TABLE_FILE,
    Fragility,
    RobustnessAssessment,
    fragility,
    removal_table,
)
from tiewise.criticism.robustness.conclusion import Conclusion
from tiewise.criticism.robustness.refits import FitWithout, Refits
from tiewise.criticism.robustness.removable import Removable
from tiewise.criticism.robustness.search import Target, smallest_removal, targets
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputError, ModelNotStoredError
from tiewise.folders import refuse_study
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.judgement_record import (
    JudgementRecord,
    fitted_judgements_by_stratum,
    fitted_strata,
)
from tiewise.posterior.large.groups import is_thinned
from tiewise.posterior.results_folder import Results
from tiewise.posterior.tree import rebuild_model
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed
from tiewise.text import some_names

UNITS = ("answers", "judges")
MOST_ANSWERS, MOST_JUDGES = 0.2, 0.5
"""Shares of all that are left out at most."""
MOST_COMPARED = 200
"""Items that are compared for which of them a few answers decide."""


class StoredFit(NamedTuple):
    """A fit with the model and the judgements to repeat it."""

    tree: DataTree
    model: BradleyTerry
    record: JudgementRecord


def assess_robustness(
    results: Results,
    *,
    top: int | None = None,
    items: Sequence[str] = (),
    units: Collection[str] = UNITS,
    most: int | None = None,
    rng: RNGLike = 1,
    model: BradleyTerry | None = None,
    progress: Progress = no_progress,
) -> RobustnessAssessment:
    """How few answers or judges, left out, change the first, the top k, or who is above average.

    `items` are asked about against the average; without any it is the item, of those that are
    surely above or below it, for which the fewest should be enough. At most `most` are left out,
    by default a fifth of the answers and half of the judges. Without the `model` it is built again
    from the results.
    """
    fitted = _stored_fit(results, model)
    seed = as_seed(rng)
    findings: list[Fragility] = []
    tables: list[pd.DataFrame] = []
    with one_blas_thread():
        for removable in _removables(fitted, units):
            limit = _limit(removable, most)
            refits = Refits(fitted.model, removable, seed, progress)
            whole = FitWithout(fitted.tree, np.zeros_like(removable.capacity))
            asked = _conclusions(results, whole, removable, top, items)
            for conclusion, differences in asked:
                removal = smallest_removal(refits, whole, conclusion, limit, differences)
                names = fitted.model.items
                findings.append(fragility(conclusion, removal, removable, names, limit))
                tables.append(removal_table(findings[-1], removal, removable, names))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))
    return RobustnessAssessment(tuple(findings), table, seed)


def write_robustness(results: Results, assessment: RobustnessAssessment) -> None:
    """Write the table, and what the report reads, into the results folder."""
    try:
        assessment.write(results.folder / TABLE_FILE)
        assessment.write_facts(results.folder / FACTS_FILE)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"{results.folder} cannot be written ({why}); name a file elsewhere (out=)"
        ) from error
    results.cache.pop("verdict", None)


def keep_robustness(
    results: Results, assessment: RobustnessAssessment, *, progress: Progress = no_progress
) -> None:
    """Write the table into the results folder, and the report again where there is one."""
    from tiewise.report.html import rewrite_report

    refuse_study(results.folder)
    write_robustness(results, assessment)
    if (results.folder / "report.html").is_file():
        png = (results.folder / "pictures" / "ranking.png").is_file()
        rewrite_report(results, png=png, progress=progress)


def _stored_fit(results: Results, model: BradleyTerry | None) -> StoredFit:
    """The fit of a results folder, where it can be repeated."""
    tree = results.tree
    if tree.attrs["kind"] != "exact":
        raise InputError(
            f"{results.folder} was fitted with {tree.attrs['engine']}, and what decides it can "
            "only be said of an exact engine; fit again with the default one"
        )
    if is_thinned(tree):
        raise InputError(
            f"{results.folder} holds very many items, of which not all draws are stored, and what "
            f"decides it is looked for in all of them; fit {MANY_ITEMS:,} items or fewer"
        )
    try:
        model = model or rebuild_model(tree)
    except ModelNotStoredError as error:
        way_out = "use analyse(robust=True) on the file of judgements"
        raise ModelNotStoredError(error.reason, way_out) from None
    record = JudgementRecord.from_tree(tree)
    if record is None:
        table = fitted_judgements_by_stratum(tree)
        by_stratum = len(model.counts.strata) > 1 or model.counts.facts is not None
        strata = fitted_strata(tree) if by_stratum else None
        record = JudgementRecord((), table._replace(judge=np.zeros_like(table.judge)), True, strata)
    refuse_unknown_strata(model, record)
    if not model.counts.comparisons:
        raise InputError(f"{results.folder} holds no comparisons, so that none can be left out")
    return StoredFit(tree, model, record)


def _removables(fitted: StoredFit, units: Collection[str]) -> Iterator[Removable]:
    """Answers and judges, as far as they are asked for and known."""
    ties = fitted.model.fixed_tie != 0
    if "answers" in units:
        answers = Removable.answers(fitted.record, ties=ties, sided=bool(fitted.model.terms))
        yield replace(answers, placed="judgements" in fitted.tree.children)
    if "judges" in units and fitted.record.judges:
        yield Removable.judges(fitted.record, ties=ties)
    elif set(units) == {"judges"}:
        raise InputError(
            "these results do not say who judged, so that no judge can be left out; leave out "
            "answers instead, or fit a file that names judges"
        )


def _limit(removable: Removable, most: int | None) -> int:
    """How many are left out at most; never all."""
    if most is not None and most < 1:
        raise InputError(f"most={most} leaves nothing out; say 1 or more")
    share = MOST_ANSWERS if removable.unit == "answers" else MOST_JUDGES
    usual = max(int(share * removable.total), 1)
    return max(min(usual if most is None else most, removable.total - 1), 0)


def _conclusions(
    results: Results, whole: FitWithout, removable: Removable, top: int | None, items: Sequence[str]
) -> list[tuple[Conclusion, list[Target]]]:
    """The first, the top k, and items against the average, each with the differences it rests on.

    Without `items` the last is the one that the fewest should move across the average.
    """
    mean, number = whole.mean, results.wording.top if top is None else top
    if not 1 <= number < len(mean):
        raise InputError(f"top={number} is not between 1 and {len(mean) - 1}, one less than items")
    highest = [Conclusion.highest(mean, k) for k in sorted({1, number})]
    known = whole.tree["constant_data/item"].to_numpy().astype(str).tolist()
    unknown = [item for item in items if str(item) not in known]
    if unknown:
        raise InputError(f"no item {some_names(unknown)} in this fit; items are those of items.csv")
    places = [known.index(str(item)) for item in items or _surely_placed(results)]
    asked = [*highest, *(Conclusion.against_average(mean, k) for k in places)]
    rows = list(zip(asked, targets(whole, asked, removable), strict=True))
    if items:
        return rows
    fragile = sorted(rows[len(highest) :], key=lambda row: row[1][0].predicted)
    return [*rows[: len(highest)], *fragile[:1]]


def _surely_placed(results: Results) -> list[str]:
    """Items whose whole interval is above or below the average, those first that are nearest."""
    table = results.items
    sure = table[(table["q2.5"] > 0) | (table["q97.5"] < 0)]
    near = (sure["mean"].abs() / sure["sd"]).sort_values(kind="stable").index[:MOST_COMPARED]
    return [str(item) for item in sure.loc[near, "item"]]
