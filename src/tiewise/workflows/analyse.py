"""From judgements, and perhaps a map, to a results folder: the twin of `tiewise fit`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Unpack

from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.engines.base import Engine
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputWarning
from tiewise.folders import check_output_folder
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import ModelOptions, build_model
from tiewise.model.item_context import ItemContext
from tiewise.model.term_options import TermOptions, join_waves
from tiewise.plots import PLOT_FILES
from tiewise.posterior.results_folder import Results, Wording, write_results_folder
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike
from tiewise.text import some_names

_TERMS = {field.name for field in fields(TermOptions)}


def analyse(
    source: object,
    out: str | Path,
    *,
    context: ItemContext | None = None,
    engine: Engine | None = None,
    rng: RNGLike = None,
    wording: Wording | None = None,
    columns: Mapping[str, str] | None = None,
    report: bool = True,
    record: bool = True,
    force: bool = False,
    progress: Progress = no_progress,
    **model: Unpack[ModelOptions],
) -> Results:
    """Read judgements, fit the model, write the results folder `out`: the twin of `tiewise fit`.

    `columns` are the `first=, second=, chosen=, tie=` of `read_comparisons`; the other keywords are
    those of `build_model`. Without the `record` the single judgements are not stored.
    """
    from tiewise.posterior.fit import fit
    from tiewise.posterior.term_tables import attach_terms
    from tiewise.posterior.tree import attach_record

    check_output_folder(Path(out), force=force)
    start = perf_counter()
    comparisons = (
        source if isinstance(source, Comparisons) else read_comparisons(source, **(columns or {}))
    )
    context = context or ItemContext()
    terms = TermOptions(**{name: value for name, value in model.items() if name in _TERMS})  # type: ignore[arg-type]
    name = comparisons.source
    comparisons, joined = join_waves(comparisons, terms, columns)
    with one_blas_thread():
        built = build_model(comparisons, context, **{**model, **vars(joined)})
    _warn_unknown_names(built, context)
    read = perf_counter() - start + context.seconds
    wording = wording or Wording()
    wording = replace(
        wording,
        source=wording.source or name,
        groups=context.areas is not None and context.areas.groups is not None,
    )
    tree = fit(built, engine, rng=rng, names=context.names, progress=progress)
    attach_record(tree, built, comparisons if record else None)
    if terms:
        attach_terms(tree, built, terms.to_dict())
    if comparisons.ties and not model.get("ties", True):
        message = f"{comparisons.ties} tied judgements were left out of the fit (--no-ties)."
        tree.attrs["warnings"] = json.dumps([message, *json.loads(tree.attrs["warnings"])])
    return write_results_folder(
        tree, out, wording=wording, areas=context.areas, force=force, read_seconds=read,
        finish=partial(_write_report, progress=progress) if report else None, replaces=PLOT_FILES,
    )  # fmt: skip


def _write_report(results: Results, progress: Progress) -> None:
    from tiewise.report.html import write_report

    write_report(results, progress=progress)


def _warn_unknown_names(model: BradleyTerry, context: ItemContext) -> None:
    if context.names and not set(context.names) & set(model.items):
        warnings.warn(
            f"none of the names belongs to an item: names are for {_some(tuple(context.names))}, "
            f"items are {_some(model.items)}; use the same ids",
            InputWarning,
            stacklevel=3,
        )


def _some(items: Sequence[str]) -> str:
    return some_names(items, 3, ellipsis=True)
