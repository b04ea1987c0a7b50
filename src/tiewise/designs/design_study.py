"""Designing a study: lists of pairs for its judges, and how good they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tiewise.designs.assessed import AssessedDesign
from tiewise.designs.design import make_design
from tiewise.designs.efficiency import simulate_efficiency
from tiewise.designs.figures import coverage, variances
from tiewise.designs.prior import DesignPrior
from tiewise.designs.sentences import sentences
from tiewise.designs.wish import DesignWish
from tiewise.folders import FolderKind, atomic_folder, check_output_folder
from tiewise.geo.graph import Graph
from tiewise.jobs.run import WorkerPool
from tiewise.model.anchors.anchors import Anchors
from tiewise.planning.curves import Estimate
from tiewise.planning.design import SPREAD, STEP, TIE, StudyDesign
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed

FILE = "design.csv"
FILES = (FILE, "design.json", "design.png", "design.svg")
KIND = FolderKind("a design", FILES, {FILE: (b"judge,code,position",)})
STUDIES, FEWEST, ITEMS = 40, 4, 500
"""Studies that are simulated by default; fewer where more items make each say more."""


def design_study(
    wish: DesignWish,
    *,
    graph: Graph | None = None,
    spread: float = SPREAD,
    tie: float = TIE,
    levels: int = 1,
    step: float = STEP,
    anchors: Anchors | None = None,
    prior_set: str = "default",
    studies: int | None = None,
    adaptive: bool | None = None,
    rng: RNGLike = 1,
    out: str | Path | None = None,
    force: bool = False,
    pool: WorkerPool | None = None,
    progress: Progress = no_progress,
) -> AssessedDesign:
    """Lists of pairs for judges, made before the first answer, and how good they are.

    What is assumed of qualities and answers is as in `StudyDesign`. Reliability is expected from so
    many simulated `studies` (0: from none; by default 40, and fewer of more than 500 items). With
    `out`, a folder, everything is written there.
    """
    if studies is None:
        studies = default_studies(len(wish.items))
    folder = None if out is None else Path(out)
    if folder is not None:
        check_output_folder(folder, KIND, force=force)
    seed = as_seed(rng)
    assumed: Mapping[str, Any] = {
        "items": wish.items, "graph": graph, "spread": spread, "tie": tie, "levels": levels,
        "step": step, "anchors": anchors, "prior_set": prior_set, "top": wish.top,
    }  # fmt: skip
    before = StudyDesign(**assumed, judges=len(wish.judges))
    prior = DesignPrior.of(
        before.prior, wish.items, spread=spread, cuts=before.cuts, anchors=anchors
    )
    design = make_design(wish, prior, rng=seed, progress=progress)
    study = StudyDesign(**assumed, lists=design.lists)
    efficiency, stopped = None, False
    if studies:
        try:
            efficiency = simulate_efficiency(
                study, studies=studies, seed=seed, adaptive=adaptive, pool=pool, progress=progress
            )
        except KeyboardInterrupt:  # the design is there, and is kept
            stopped = True
    assessed = AssessedDesign(
        design, study, coverage(wish.items, design.lists),
        variances(design, np.random.default_rng(seed)), efficiency, stopped,
    )  # fmt: skip
    if folder is not None:
        _write(assessed, folder, force=force)
    return assessed


def default_studies(items: int) -> int:
    """How many studies are simulated of so many items."""
    return max(STUDIES * ITEMS // max(items, ITEMS), FEWEST)


def _write(assessed: AssessedDesign, folder: Path, *, force: bool) -> None:
    from tiewise.designs.plot import design_plot
    from tiewise.plots.canvas import save

    with atomic_folder(folder, KIND, force=force) as place:
        assessed.design.lists.write(place / FILE)
        text = json.dumps(design_facts(assessed), indent=2, ensure_ascii=False, allow_nan=False)
        (place / "design.json").write_text(text + "\n", encoding="utf-8")
        figure = design_plot(assessed)
        for kind in ("png", "svg"):
            save(figure, place / f"design.{kind}")


def design_facts(assessed: AssessedDesign) -> dict[str, Any]:
    """All of it but the lists, in plain values."""
    wish = assessed.design.wish
    return {
        "policy": wish.policy, "target": wish.target, "per_judge": wish.per_judge,
        "repeats": wish.repeats, "practice": wish.practice, "seed": assessed.design.seed,
        "interrupted": assessed.design.interrupted, "digest": assessed.design.lists.digest,
        "assumed": assessed.study.settings(), "coverage": assessed.coverage._asdict(),
        "expected_variance": {
            "design": assessed.variance.design, "random": _plain(assessed.variance.random),
        },
        "simulated": None if assessed.efficiency is None else {
            "studies": assessed.efficiency.studies,
            "reliability": {k: _plain(v) for k, v in assessed.efficiency.reliability.items()},
            "efficiency_beside": {k: _plain(v) for k, v in assessed.efficiency.beside.items()},
        },
        "words": sentences(assessed),
    }  # fmt: skip


def _plain(estimate: Estimate) -> dict[str, float | None]:
    return {
        "value": estimate.value, "error": estimate.error if isfinite(estimate.error) else None
    }  # fmt: skip
