"""Assessing judges: fit, influence and flags of each, and the reliability of the results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
from xarray import DataTree

from tiewise.criticism.judge_fit import item_fit, judge_table
from tiewise.criticism.judge_influence import without_terms
from tiewise.criticism.split_half import (
    SPLITS,
    ReliabilityFigures,
    Scales,
    separation_reliability,
    split_half,
)
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.files import write_csv
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputError, InputWarning
from tiewise.folders import FolderKind, atomic_folder, check_output_folder
from tiewise.geo.item_context import ItemContext
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import ModelOptions, build_model
from tiewise.model.term_options import TermOptions, join_waves
from tiewise.optional import can_have
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.reliability import reliability
from tiewise.posterior.results_folder import Results
from tiewise.posterior.tree import attach_record, judgement_record, rebuild_model
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed

TERM_NAMES = {field.name for field in fields(TermOptions)}
FILES = ("judges.csv", "item-fit.csv", "reliability.json", "judges.svg", "judges.png")
"""The files that are written."""
KIND = FolderKind("figures of judges", FILES, {"reliability.json": (b"{",), "judges.csv": (b"",)})


@dataclass(frozen=True, eq=False)
class JudgeAssessment:
    """Tables of judges and items, and measures of reliability."""

    judges: pd.DataFrame
    items: pd.DataFrame
    reliability: ReliabilityFigures


def assess_judges(
    source: object,
    out: str | Path | None = None,
    *,
    context: ItemContext | None = None,
    columns: Mapping[str, Any] | None = None,
    rng: RNGLike = 1,
    splits: int = SPLITS,
    force: bool = False,
    progress: Progress = no_progress,
    **model: Unpack[ModelOptions],
) -> JudgeAssessment:
    """Statistics of every judge, and the reliability of the results: the twin of `tiewise judges`.

    `source` is a file or frame of judgements, which is fitted as `analyse` would, or `Results`.
    With `out`, tables and a picture are written there.
    """
    seed = as_seed(rng)
    if out is not None:
        check_output_folder(Path(out), KIND, force=force)
    with one_blas_thread():
        built, tree, record = (
            _stored_fit(source)
            if isinstance(source, Results)
            else _new_fit(source, context or ItemContext(), columns or {}, model, seed, progress)
        )
        judges = judge_table(built, tree, record, rng=seed, progress=progress)
        figures = _reliability(built, tree, record, judges, splits, seed, progress)
        assessment = JudgeAssessment(judges, item_fit(tree, rng=seed), figures)
    if out is not None:
        _write(assessment, Path(out), force=force)
    return assessment


def _stored_fit(results: Results) -> tuple[BradleyTerry, DataTree, JudgementRecord]:
    record = JudgementRecord.from_tree(results.tree)
    if record is None:
        raise InputError(
            f"{results.folder} does not hold who judged what; "
            "give the file of judgements, or fit it again"
        )
    return rebuild_model(results.tree), results.tree, record


def _new_fit(
    source: object, context: ItemContext, columns: Mapping[str, Any], model: ModelOptions,
    seed: int, progress: Progress,
) -> tuple[BradleyTerry, DataTree, JudgementRecord]:  # fmt: skip
    from tiewise.posterior.fit import fit

    comparisons = source if isinstance(source, Comparisons) else read_comparisons(source, **columns)
    terms = TermOptions(**{name: value for name, value in model.items() if name in TERM_NAMES})  # type: ignore[arg-type]
    comparisons, terms = join_waves(comparisons, terms, columns)
    if comparisons.left_out:
        warnings.warn(f"{comparisons.source}: {comparisons.left_out_note}", InputWarning, 4)
    built = build_model(comparisons, context, **{**model, **vars(terms)})
    record = judgement_record(built, comparisons, terms)
    if record is None:
        raise InputError(f"{comparisons.source} is too long to look at judge by judge; take a part")
    tree = fit(built, rng=seed, names=context.names, progress=progress)
    attach_record(tree, built, comparisons, terms)
    return built, tree, record


def _reliability(
    model: BradleyTerry, tree: DataTree, record: JudgementRecord, judges: pd.DataFrame, splits: int,
    seed: int, progress: Progress,
) -> ReliabilityFigures:  # fmt: skip
    # The classical figures are of one quality and one threshold for all.
    plain = without_terms(model)
    record = record._replace(stratum=None) if model.terms else record
    halves = (
        split_half(
            plain,
            record,
            splits=splits,
            scales=Scales.from_tree(tree),
            rng=seed,
            progress=progress,
        )
        if splits
        else None
    )
    separation = separation_reliability(plain)
    repeats = judges["repeats"].to_numpy(float)
    alike = np.nansum(repeats * judges["consistency"].to_numpy(float))
    return ReliabilityFigures(
        ssr=reliability(PosteriorDraws.from_tree(tree).quality),
        ssr_without_prior=None if np.isnan(separation) else separation,
        split_half=halves.reliability if halves else None,
        split_half_low=halves.low if halves else None,
        split_half_high=halves.high if halves else None,
        repeats=int(repeats.sum()),
        consistency=float(alike / repeats.sum()) if repeats.sum() else None,
    )


def _write(assessment: JudgeAssessment, out: Path, *, force: bool) -> None:
    from tiewise.plots.canvas import save
    from tiewise.plots.checks import judge_plot

    with atomic_folder(out, KIND, force=force) as folder:
        write_csv(assessment.judges, folder / "judges.csv")
        write_csv(assessment.items, folder / "item-fit.csv")
        text = json.dumps(asdict(assessment.reliability), indent=2)
        (folder / "reliability.json").write_text(text + "\n", encoding="utf-8")
        if can_have("a picture", "matplotlib"):
            figure = judge_plot(assessment.judges)
            for kind in ("svg", "png"):
                save(figure, folder / f"judges.{kind}")
