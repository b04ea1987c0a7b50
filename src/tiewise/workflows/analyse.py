"""From judgements, and perhaps a map, to a results folder: the twin of `tiewise fit`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from tiewise.allocator import give_back_free, give_back_matrices
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.engines.base import Engine
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputError, InputWarning
from tiewise.folders import check_output_folder
from tiewise.forking import share_out
from tiewise.geo.item_context import ItemContext
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import ModelOptions, build_model
from tiewise.model.term_options import TermOptions, join_waves
from tiewise.optional import can_have
from tiewise.plots import PLOT_FILES
from tiewise.posterior.results_folder import KIND, Results, Wording, write_results_folder
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike
from tiewise.ready_process import ReadyProcess
from tiewise.report import LIBRARIES
from tiewise.text import some_names
from tiewise.workflows.draws_table import FORMATS, write_draws

if TYPE_CHECKING:
    from xarray import DataTree

    from tiewise.posterior.judgement_record import JudgementRecord

PICTURES = "begun_pictures"
"""What pictures that are being drawn are called among what is derived from results."""
_TERMS = {field.name for field in fields(TermOptions)}


def analyse(
    source: object,
    out: str | Path,
    *,
    context: ItemContext | Callable[[], ItemContext] | None = None,
    engine: Engine | None = None,
    rng: RNGLike = None,
    ess: int | None = None,
    wording: Wording | None = None,
    columns: Mapping[str, Any] | None = None,
    report: bool = True,
    png: bool = False,
    record: bool = True,
    robust: bool = False,
    draws_format: str = "netcdf",
    link: str | Path | None = None,
    force: bool = False,
    progress: Progress = no_progress,
    **model: Unpack[ModelOptions],
) -> Results:
    """Read judgements, fit the model, write the results folder `out`: the twin of `tiewise fit`.

    `context` is what is known of the items, or a function that reads it. `columns` are keywords of
    `read_comparisons`, such as `first=` or `drop_invalid=`, `ess` is that
    of `fit`, and the other keywords are those of `build_model`. With `png` the pictures
    of the report are PNG files as well as SVG. Without the `record` single judgements are not
    stored. With `robust` it is also found out how few answers decide it (`assess_robustness`).
    `link` is the results folder of an earlier study: what its answers say of shared items counts.
    With `draws_format` "csv" or "parquet" draws are a table, too (`write_draws`).
    """
    from tiewise.posterior.fit import fit
    from tiewise.posterior.terms.tables import attach_terms
    from tiewise.posterior.tree import attach_record, judgement_record

    check_output_folder(Path(out), KIND, force=force)
    report = report and can_have("a report", *LIBRARIES)
    _check_engine(engine, robust=robust)
    _check_anchors(wording or Wording(), link, model)
    _check_draws_format(draws_format)
    with _drawing_process(report) as process:
        # What a function reads is kept by nobody else: a matrix is freed once there is a factor.
        context = context() if callable(context) else context or ItemContext()
        start = perf_counter()
        read = source if isinstance(source, Comparisons) else None
        comparisons = read or read_comparisons(source, **(columns or {}))
        terms = TermOptions(**{name: value for name, value in model.items() if name in _TERMS})  # type: ignore[arg-type]
        name, grade = comparisons.source, comparisons.layout.columns.get("grade")
        comparisons, joined = join_waves(comparisons, terms, columns)
        if link is not None:
            model["anchors"] = _linked(link, context.items or comparisons.items)
        with one_blas_thread():
            built = build_model(comparisons, context, **{**model, **vars(joined)})
        context = replace(context, matrix=None)
        give_back_matrices(built.size)
        _warn_unknown_names(built, context)
        if read is None:
            _ask_for_map(built, context)
        seconds = perf_counter() - start + context.seconds
        tree = fit(built, engine, rng=rng, names=context.names, ess=ess, progress=progress)
        give_back_free(built.size)
        judgements = attach_record(tree, built, comparisons if record else None, joined)
        if terms:
            attach_terms(tree, built, terms.to_dict())
        _note_reading(tree, comparisons, grade, ties_left_out=model.get("ties") is False)
        if not record:
            judgements = judgement_record(built, comparisons, joined)
        return write_results_folder(
            tree, out, wording=_completed(wording or Wording(), name, context),
            areas=context.areas, force=force, read_seconds=seconds,
            criticise=partial(_criticise, model=built, record=judgements, progress=progress),
            meanwhile=partial(_begin_pictures, png=png, process=process) if report else nullcontext,
            finish=partial(
                _finish, model=built if robust else None, report=report,
                draws_format=draws_format, progress=progress,
            ),
            replaces=PLOT_FILES,
        )  # fmt: skip


def _check_engine(engine: Engine | None, *, robust: bool) -> None:
    if robust and engine is not None and engine.kind != "exact":
        raise InputError(f"robust=True needs an exact engine, and {engine.name} is none; leave it")


def _check_anchors(wording: Wording, link: str | Path | None, model: ModelOptions) -> None:
    """Refuse, before anything is read, a scale of anchors without any, and both at once."""
    anchors = model.get("anchors")
    if wording.scale == "anchored" and anchors is None:
        raise InputError("scale='anchored' is that of anchors, and there are none; give anchors=")
    if anchors is None and model.get("anchor_slope") is not None:
        raise InputError("anchor_slope= is that of anchors, and there are none; give anchors=")
    if link is not None and anchors is not None:
        raise InputError("anchors= and link= both say what was known before; give one of them")


def _check_draws_format(draws_format: str) -> None:
    if draws_format not in FORMATS:
        known = ", ".join(FORMATS)
        raise InputError(f"draws_format={draws_format!r} is not known; use one of {known}")


def _linked(link: str | Path, items: Sequence[str]) -> Anchors:
    """What the results in a folder say of those of these items that they have."""
    from tiewise.posterior.results_folder import read_results
    from tiewise.posterior.scales.linking import linked_anchors

    return linked_anchors(read_results(link).tree, items)


def _drawing_process(report: bool) -> ReadyProcess | nullcontext[None]:
    """The process that draws a report's pictures: its libraries load while judgements are read."""
    return ReadyProcess(_load_libraries) if report else nullcontext()


def _load_libraries() -> None:
    from tiewise.report.pictures import load_libraries

    load_libraries()


def _completed(wording: Wording, source: str, context: ItemContext) -> Wording:
    """The wording, with where the judgements come from and whether areas are in groups."""
    groups = context.areas is not None and context.areas.groups is not None
    return replace(wording, source=wording.source or source, groups=groups)


def _note_reading(
    tree: DataTree, comparisons: Comparisons, grade: str | None, *, ties_left_out: bool
) -> None:
    """Record in the tree how the judgements were read, and what of them was left out.

    `grade` is the column of graded answers in the file.
    """
    if comparisons.ties and ties_left_out:
        message = f"{comparisons.ties} tied judgements were left out of the fit, as asked."
        tree.attrs["warnings"] = json.dumps([message, *json.loads(tree.attrs["warnings"])])
        tree.attrs["ties_left_out"] = comparisons.ties
    if comparisons.left_out:
        _note_left_out(tree, comparisons)
    if grade is not None:
        tree.attrs["grades"] = json.dumps({"grade": grade, "grades": comparisons.grades})


def _criticise(
    results: Results, model: BradleyTerry, record: JudgementRecord | None, progress: Progress
) -> None:
    """Predictive checks, split-half reliability and verdict, the latter two in the tree."""
    from tiewise.criticism.split_half import split_half_facts
    from tiewise.criticism.verdict import tree_checks, verdict

    tree = results.tree
    jobs: list[Callable[[], Any]] = [
        partial(split_half_facts, tree, model, record, progress),
        partial(tree_checks, tree),
    ]
    give_back_free(model.size)  # of the tables
    with one_blas_thread():
        # The second process, where there is a report, is drawing.
        halves, checks = [job() for job in jobs] if PICTURES in results.cache else share_out(jobs)
    give_back_free(model.size)
    tree.attrs["split_half"] = json.dumps(halves)
    results.cache["checks"] = list(checks)
    judged = verdict(tree, top=results.wording.top, checks=results.cache["checks"])
    tree.attrs["verdict"] = json.dumps(judged.to_dict())


@contextmanager
def _begin_pictures(results: Results, png: bool, process: ReadyProcess | None) -> Iterator[None]:
    """Begin with the pictures, which are completed with the report."""
    from tiewise.report.pictures import begin_pictures

    with begin_pictures(results, png=png, process=process) as begun:
        results.cache[PICTURES] = begun
        yield


def _note_left_out(tree: DataTree, comparisons: Comparisons) -> None:
    """Record the rows that were left out, and say so first among the warnings."""
    message = f"{comparisons.left_out_note.removesuffix('.')}, as asked."
    tree.attrs["warnings"] = json.dumps([message, *json.loads(tree.attrs["warnings"])])
    tree.attrs["left_out"] = json.dumps(dict(comparisons.left_out))


def _finish(
    results: Results, model: BradleyTerry | None, report: bool, draws_format: str,
    progress: Progress,
) -> None:  # fmt: skip
    """Draws as a table, how few answers decide it, where the model is given, and the report."""
    if draws_format != "netcdf":
        write_draws(results.tree, results.folder / f"draws.{draws_format}")
    if model is not None:
        from tiewise.workflows.assess_robustness import assess_robustness, write_robustness

        write_robustness(results, assess_robustness(results, model=model, progress=progress))
    if report:
        from tiewise.report.html import write_report

        write_report(results, begun=results.cache.pop(PICTURES), progress=progress)


def _warn_unknown_names(model: BradleyTerry, context: ItemContext) -> None:
    if context.names and not set(context.names) & set(model.items):
        warnings.warn(
            f"none of the names belongs to an item: names are for {_some(tuple(context.names))}, "
            f"items are {_some(model.items)}; use the same ids",
            InputWarning,
            stacklevel=3,
        )


def _ask_for_map(model: BradleyTerry, context: ItemContext) -> None:
    """Ask whether the map is the right one where few of its areas were compared.

    Ids that are numbers, from 1 upwards, are on every other map, too.
    """
    if context.areas is None:
        return
    times = model.counts.over(model.items).per_item()
    compared = [item for item, number in zip(model.items, times, strict=True) if number]
    if len(compared) < len(context.areas) / 5 and all(item.isdecimal() for item in compared):
        warnings.warn(
            f"only {len(compared)} of the {len(context.areas)} areas of {context.areas.source} "
            "were compared, and their ids are numbers, which any map has; is this the right map?",
            InputWarning,
            stacklevel=3,
        )


def _some(items: Sequence[str]) -> str:
    return some_names(items, 3, ellipsis=True)
