"""Judges looked at: who goes with the others, who moves the results, and how reliable these are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from xarray import DataTree

from tiewise.criticism.judge_fit import item_fit, judge_table
from tiewise.criticism.split_half import SPLITS, Reliability, classical, split_half
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.files import write_csv
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.judgement_record import Record
from tiewise.posterior.predictions import Opinions
from tiewise.posterior.reliability import reliability
from tiewise.posterior.tree import keep, model_of
from tiewise.progress import Progress, no_progress
from tiewise.report.folder import Results, refuse_full, whole_folder
from tiewise.workflows.analyse import Surroundings, build_model

FILES = ("judges.csv", "item-fit.csv", "reliability.json", "judges.svg", "judges.png")
"""What is written."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Judges, items and reliability as they were found."""

    judges: pd.DataFrame
    items: pd.DataFrame
    reliability: Reliability


def look_at_judges(
    source: object,
    out: str | Path | None = None,
    *,
    around: Surroundings | None = None,
    columns: Mapping[str, str] | None = None,
    seed: int = 1,
    splits: int = SPLITS,
    force: bool = False,
    progress: Progress = no_progress,
    **model: Any,
) -> Judged:
    """Every judge in figures, and the reliability of the results: the twin of `tiewise judges`.

    `source` is a file or frame of judgements, which is fitted as `analyse` would, or `Results`.
    With `out`, tables and a picture are written there.
    """
    if out is not None:
        refuse_full(Path(out), force=force)
    with one_blas_thread():
        built, tree, record = (
            _kept(source)
            if isinstance(source, Results)
            else _fitted(source, around or Surroundings(), columns or {}, model, seed, progress)
        )
        found = judge_table(built, tree, record, seed=seed, progress=progress)
        told = _reliability(built, tree, record, found, splits, seed, progress)
        judged = Judged(found, item_fit(tree, seed=seed), told)
    if out is not None:
        _write(judged, Path(out), force=force)
    return judged


def _kept(results: Results) -> tuple[BradleyTerry, DataTree, Record]:
    record = Record.read(results.tree)
    if record is None:
        raise InputError(
            f"{results.folder} does not hold who judged what; "
            "give the file of judgements, or fit it again"
        )
    return model_of(results.tree), results.tree, record


def _fitted(
    source: object, around: Surroundings, columns: Mapping[str, str], model: Mapping[str, Any],
    seed: int, progress: Progress,
) -> tuple[BradleyTerry, DataTree, Record]:  # fmt: skip
    from tiewise.posterior.fit import fit

    comparisons = source if isinstance(source, Comparisons) else read_comparisons(source, **columns)
    built = build_model(comparisons, around, **model)
    record = Record.of(comparisons, built.items)
    if record is None:
        raise InputError(f"{comparisons.source} is too long to look at judge by judge; take a part")
    tree = fit(built, seed=seed, names=around.names, progress=progress)
    keep(tree, built, comparisons)
    return built, tree, record


def _reliability(
    model: BradleyTerry, tree: DataTree, record: Record, judges: pd.DataFrame, splits: int,
    seed: int, progress: Progress,
) -> Reliability:  # fmt: skip
    halves = (
        split_half(model, record, splits=splits, seed=seed, progress=progress) if splits else None
    )
    separation = classical(model)
    repeats = judges["repeats"].to_numpy(float)
    alike = np.nansum(repeats * judges["consistency"].to_numpy(float))
    return Reliability(
        posterior=reliability(Opinions.of(tree).quality),
        separation=None if np.isnan(separation) else separation,
        halves=halves.reliability if halves else None,
        halves_low=halves.low if halves else None,
        halves_high=halves.high if halves else None,
        repeats=int(repeats.sum()),
        consistency=float(alike / repeats.sum()) if repeats.sum() else None,
    )


def _write(judged: Judged, out: Path, *, force: bool) -> None:
    from tiewise.plots.canvas import save
    from tiewise.plots.checks import judge_plot

    with whole_folder(out, force=force, ours=FILES) as folder:
        write_csv(judged.judges, folder / "judges.csv")
        write_csv(judged.items, folder / "item-fit.csv")
        text = json.dumps(asdict(judged.reliability), indent=2)
        (folder / "reliability.json").write_text(text + "\n", encoding="utf-8")
        figure = judge_plot(judged.judges)
        for kind in ("svg", "png"):
            save(figure, folder / f"judges.{kind}")
