"""Candidate models fitted, compared and checked, and one recommended: the twin of `tiewise models`.

First the prior of quality is chosen, then each term is tried on its own on top of it, then all that
help together. The simplest model within one standard error of the best is recommended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import pandas as pd
from xarray import DataTree

from tiewise.criticism.leave_one_out import leave_one_out, scores_by_judge
from tiewise.criticism.model_comparison import (
    MIN_DIFFERENCE,
    LeftOut,
    ModelComparison,
    ModelScores,
    compare_scores,
    model_scores,
)
from tiewise.criticism.predictive_checks import Check, checks_table, predictive_checks
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.files import write_csv
from tiewise.engines.base import Engine
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputError
from tiewise.folders import FolderKind, atomic_folder, check_output_folder
from tiewise.geo.item_context import ItemContext
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import ModelOptions, build_model
from tiewise.model.quality_priors import Independent
from tiewise.model.term_options import TermOptions
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed
from tiewise.report.model_checks import RARE
from tiewise.text import sentence_list
from tiewise.workflows.model_candidates import (
    Candidate,
    combined_terms,
    first_candidates,
    left_out_notes,
    possible_terms,
)

FILES = ("models.csv", "checks.csv", "judge-scores.csv", "models.json")
"""The files that are written."""
KIND = FolderKind("compared models", FILES, {"models.json": (b"{",), "models.csv": (b"",)})


class CandidateFit(NamedTuple):
    """A candidate with its model, its posterior, and the predictive checks of it."""

    candidate: Candidate
    model: BradleyTerry
    tree: DataTree
    checks: tuple[Check, ...]
    scores: ModelScores

    @property
    def missed(self) -> tuple[Check, ...]:
        """The checks that speak against the model."""
        return tuple(check for check in self.checks if check.p < RARE)


@dataclass(frozen=True, eq=False)
class CandidateComparison:
    """Candidate models side by side, from the best, and the one that is recommended.

    `table` has a row for each: the columns of `compare`, the number of `parts` beyond the plain
    model, the checks that it `misses`, and effective draws (`ess_min`). `options` are the keywords
    of `analyse` that give the recommended model.
    """

    table: pd.DataFrame
    comparison: ModelComparison
    recommended: str
    options: Mapping[str, Any]
    sentences: tuple[str, ...]
    fits: Mapping[str, CandidateFit]

    def write(self, out: str | Path, *, force: bool = False) -> None:
        """Write tables and recommendation to a folder, whole or not at all."""
        facts = {
            "recommended": self.recommended,
            "options": dict(self.options),
            "sentences": list(self.sentences),
        }
        with atomic_folder(Path(out), KIND, force=force) as folder:
            write_csv(self.table, folder / "models.csv")
            write_csv(self.checks(), folder / "checks.csv")
            if self.comparison.by_judge is not None:
                scores = self.comparison.by_judge.rename_axis("judge").reset_index()
                write_csv(scores, folder / "judge-scores.csv")
            text = json.dumps(facts, indent=2, ensure_ascii=False)
            (folder / "models.json").write_text(text + "\n", encoding="utf-8")

    def checks(self) -> pd.DataFrame:
        """The predictive checks of every candidate."""
        tables = [
            checks_table(list(fit.checks)).assign(model=name) for name, fit in self.fits.items()
        ]
        table = pd.concat(tables, ignore_index=True)
        return table[["model", *(name for name in table if name != "model")]]


def compare_models(
    source: object,
    out: str | Path | None = None,
    *,
    context: ItemContext | None = None,
    engine: Engine | None = None,
    rng: RNGLike = 1,
    columns: Mapping[str, Any] | None = None,
    leave_out: LeftOut = "judgement",
    force: bool = False,
    progress: Progress = no_progress,
    **model: Unpack[ModelOptions],
) -> CandidateComparison:
    """Fit, compare and check candidate models of these judgements, and recommend one.

    Tried are independent qualities against the prior that `context` allows, then thresholds and
    sharpness of judges and the order of a pair, as far as the judgements can tell. `model` are the
    keywords of `build_model` that all candidates share, without terms. With `out`, tables are
    written there.
    """
    if out is not None:
        check_output_folder(Path(out), KIND, force=force)
    for name in TermOptions.__dataclass_fields__:
        if model.get(name):
            raise InputError(f"terms are what is tried here; leave out {name}=")
    comparisons = (
        source if isinstance(source, Comparisons) else read_comparisons(source, **(columns or {}))
    )
    search = _CandidateSearch(
        comparisons, context or ItemContext(), model, engine, as_seed(rng), leave_out, progress
    )
    with one_blas_thread():
        result = search.run()
    if out is not None:
        result.write(out, force=force)
    return result


def simplest_within_error(table: pd.DataFrame, parts: Mapping[str, int]) -> str:
    """The model with the fewest parts among those within one standard error of the best.

    Differences below 4 in log score count as none, as they do in words. `table` is sorted, best
    first, and of equally simple models the better one is taken.
    """
    behind = -table["difference"]
    near = table[(behind <= table["difference_se"]) | (behind < MIN_DIFFERENCE)]
    return min((str(name) for name in near["model"]), key=lambda name: parts[name])


class _CandidateSearch:
    """The candidates of one file, fitted as they are needed."""

    def __init__(
        self, comparisons: Comparisons, context: ItemContext, options: ModelOptions,
        engine: Engine | None, seed: int, leave_out: LeftOut, progress: Progress,
    ) -> None:  # fmt: skip
        self.comparisons, self.context, self.options = comparisons, context, options
        self.engine, self.seed, self.leave_out = engine, seed, leave_out
        self.progress = progress
        base = build_model(comparisons, context, **options)
        self.ties = base.tie is not None
        kind = str(base.prior.to_dict()["kind"])
        self.prior = None if kind == Independent.kind else kind
        self.terms = possible_terms(comparisons, ties=self.ties)
        self.fits: dict[str, CandidateFit] = {}
        self.notes: list[str] = left_out_notes(comparisons, self.prior, ties=self.ties)

    def run(self) -> CandidateComparison:
        """Fit the candidates, each step on the best of the step before, and recommend one."""
        first = first_candidates(self.prior, ties=self.ties, called=self.comparisons.ties)
        for candidate in first:
            self.fit(candidate, len(first) + len(self.terms) + 1)
        base = self._base([candidate for candidate in first if not candidate.drops_ties])
        single = [base.with_terms((term,)) for term in self.terms]
        for candidate in single:
            self.fit(candidate, len(first) + len(self.terms) + 1)
        together = combined_terms(self._helpful(base, single))
        if together is not None:
            self.fit(base.with_terms(together), len(self.fits) + 1)
        return self._result()

    def fit(self, candidate: Candidate, total: int) -> None:
        """Fit and check a candidate; one that cannot be fitted is a note."""
        from tiewise.posterior.fit import fit
        from tiewise.posterior.tree import attach_record

        self.progress("models", len(self.fits), total)
        try:
            model = self._model(candidate)
            tree = fit(
                model, self.engine, rng=self.seed, names=self.context.names, progress=self.progress
            )
        except InputError as error:
            self.notes.append(f"{candidate.name} could not be fitted: {error}.")
            return
        terms: Any = dict.fromkeys(candidate.terms, True)
        attach_record(tree, model, self.comparisons, TermOptions(**terms))
        checks = tuple(predictive_checks(tree))
        kind: LeftOut = "judgement" if candidate.drops_ties else self.leave_out
        scores = model_scores(tree, model, leave_out=kind, rng=self.seed, progress=self.progress)
        self.fits[candidate.name] = CandidateFit(candidate, model, tree, checks, scores)

    def _model(self, candidate: Candidate) -> BradleyTerry:
        terms: Any = dict.fromkeys(candidate.terms, True)
        options: ModelOptions = {**self.options, "ties": candidate.ties, **terms}
        if not candidate.ties:
            options["tie"] = None
        model = build_model(self.comparisons, self.context, **options)
        # The same items, compared or not, whatever the prior.
        return model if candidate.prior else replace(model, prior=Independent(model.items))

    def _compare(self, names: Sequence[str]) -> ModelComparison:
        return compare_scores({name: self.fits[name].scores for name in names})

    def _base(self, candidates: Sequence[Candidate]) -> Candidate:
        """The prior to go on with."""
        by_name = {one.name: one for one in candidates if one.name in self.fits}
        if not by_name:
            raise InputError(" ".join(self.notes))
        if len(by_name) == 1:
            return next(iter(by_name.values()))
        parts = {name: one.parts for name, one in by_name.items()}
        return by_name[simplest_within_error(self._compare(list(by_name)).table, parts)]

    def _helpful(self, base: Candidate, single: Sequence[Candidate]) -> list[str]:
        """The terms with which the base predicts better by more than one standard error."""
        helpful: list[str] = []
        for candidate in single:
            if candidate.name not in self.fits:
                continue
            table = self._compare([base.name, candidate.name]).table
            if simplest_within_error(table, {base.name: 0, candidate.name: 1}) != base.name:
                helpful.extend(candidate.terms)
        return helpful

    def _result(self) -> CandidateComparison:
        names = [name for name, fit in self.fits.items() if not fit.candidate.drops_ties]
        comparison = self._compare(names) if len(names) > 1 else _alone(self.fits[names[0]])
        parts = {name: self.fits[name].candidate.parts for name in names}
        recommended = simplest_within_error(comparison.table, parts)
        unscored = [name for name in self.fits if name not in names]
        table = _with_checks(comparison.table, self.fits, unscored)
        fit = self.fits[recommended]
        sentences = [
            *_recommendation(fit, comparison.table), *comparison.sentences,
            *self._without_ties(unscored), *self.notes,
        ]  # fmt: skip
        return CandidateComparison(
            table, comparison, recommended, fit.candidate.options, tuple(sentences), self.fits
        )

    def _without_ties(self, names: Sequence[str]) -> Iterator[str]:
        """How a model without ties predicts the choices, which are all that it can predict."""
        for name in names:
            if "plain" not in self.fits:
                continue
            compared = compare_scores({one: _of_choices(self.fits[one]) for one in ("plain", name)})
            best, row = compared.table["model"].iloc[0], compared.table.iloc[1]
            yield (
                "A model without ties gives a tie no probability, so it has no score in the table. "
                f"Of the choices alone, {best} predicts better than {row['model']} by "
                f"{-row['difference']:.1f} in log score, with a standard error of "
                f"{row['difference_se']:.1f}."
            )


def _of_choices(fit: CandidateFit) -> ModelScores:
    """Scores of choices alone, given that there was one."""
    elpd = leave_one_out(fit.tree, decided=True)
    return ModelScores(elpd, scores_by_judge(fit.tree, elpd, decided=True))


def _alone(fit: CandidateFit) -> ModelComparison:
    """The comparison of one model, which is no comparison."""
    score = fit.scores.elpd
    row = {
        "model": fit.candidate.name, "elpd": score.elpd, "se": score.se, "difference": 0.0,
        "difference_se": 0.0, "naive_se": 0.0, "parameters": score.p, "weight": 1.0,
        "poor_k": float((score.pareto_k.to_numpy() > score.good_k).mean()),
    }  # fmt: skip
    return ModelComparison(pd.DataFrame([row]), ("There was nothing else to try.",))


def _with_checks(
    table: pd.DataFrame, fits: Mapping[str, CandidateFit], unscored: Sequence[str]
) -> pd.DataFrame:
    """The table with parts, checks and effective draws, and rows for those without a score."""
    rows = pd.concat([table, pd.DataFrame({"model": list(unscored)})], ignore_index=True)
    each = [fits[name] for name in rows["model"]]
    return rows.assign(
        parts=[fit.candidate.parts for fit in each],
        misses=["; ".join(check.key for check in fit.missed) for fit in each],
        ess_min=[float(fit.tree.attrs.get("ess_min", float("nan"))) for fit in each],
    )


def _recommendation(fit: CandidateFit, table: pd.DataFrame) -> Iterator[str]:
    name, best = fit.candidate.name, str(table["model"].iloc[0])
    if name == best:
        yield f"Recommended: {name}. No simpler model is within one standard error of it."
    else:
        row = table.set_index("model").loc[name]
        yield (
            f"Recommended: {name}, the simplest within one standard error of the best: it is "
            f"{-row['difference']:.1f} behind {best}, with a standard error of "
            f"{row['difference_se']:.1f}."
        )
    if fit.missed:
        titles = sentence_list([check.title.lower() for check in fit.missed])
        yield f"Even this model misses something: {titles}."
