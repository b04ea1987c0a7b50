"""The command that plans a study: how many comparisons, how many judges."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tiewise.cli.options import (
    DROP_INVALID,
    MAP,
    POSITIVE,
    PRIORS,
    progress_bar,
    read_context,
)
from tiewise.cli.study import DATABASE, is_study, opened
from tiewise.errors import InputError
from tiewise.pairing import POLICIES

if TYPE_CHECKING:
    from tiewise.data.counts import Counts
    from tiewise.geo.item_context import ItemContext
    from tiewise.planning.design import StudyDesign
    from tiewise.planning.plan import Plan

BETTER = (72, 77, 82)
"""How often the better of two independent items is chosen at α² = 1, 2 and 4: a test has it."""
SPREAD_HELP = (
    "how far items are apart, α²: of two at random a judge chooses the better {0} % of the time "
    "at 1, {1} % at 2, {2} % at 4, where no ties can be called  [default: 1.5]"
)


@click.command()
@MAP
@click.option("--edges", help="in place of a map: two columns of ids, which items are neighbours")
@click.option("--items", type=int, help="in place of a map: so many items, nothing known of them")
@click.option(
    "--from", "source", metavar="DIR_OR_FILE",
    help="a study that runs, or a file of its judgements: how many more does it need?",
)  # fmt: skip
@DROP_INVALID
@click.option("--judges", type=int, help="how many judges there will be")
@click.option("--per-judge", type=int, help="comparisons that each of them makes")
@click.option("--knows", type=int, help="of how many groups a judge knows the items; default: all")
@click.option("--tie-tendency", type=float, help="threshold δ; 0: no ties  [default: 0.5]")
@click.option("--ties", type=float, help="instead: share of random pairs that are called equal")
@click.option("--spread", type=POSITIVE, help=SPREAD_HELP.format(*BETTER))
@PRIORS
@click.option("--policy", type=click.Choice(tuple(POLICIES)), help="which pairs are shown")
@click.option("--skip", type=float, help="share of pairs that are skipped  [default: 0]")
@click.option("--reliability", type=float, help="how reliable it is to be  [default: 0.8]")
@click.option("--top", type=int, help="k of 'top k'  [default: 5]")
@click.option(
    "--precision", type=float, default=0.03, show_default=True,
    help="simulate until the number's standard error is this share of it",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="processes; default: the number of cores")
@click.option("--dask", metavar="ADDRESS", help="use the workers of this Dask scheduler instead")
@click.option("--out", help="folder for table, picture and simulations; default: only print")
@click.option("--force", is_flag=True, help="begin anew where one was begun")
@click.option("--json", "as_json", is_flag=True, help="print plan.json instead of a table")
@DATABASE
def plan(**options: Any) -> None:
    """Say how many comparisons a study needs, by simulating studies like it.

    Say what is compared (--areas, --edges, --items or --from) and by whom (--judges, --per-judge
    or both). A run with --out that was stopped goes on where it was.
    """
    from tiewise.planning.folder import plan_dict
    from tiewise.planning.terminal import print_plan

    design, reliability = _read_design(options)
    out = options["out"]
    try:
        result = _simulate(design, reliability, options)
    except KeyboardInterrupt:
        which = "what is done is kept: the same command" if out else "with --out, such a run"
        click.echo(f"tiewise: stopped; {which} goes on", err=True)
        click.get_current_context().exit(130)
    if options["as_json"]:
        click.echo(json.dumps(plan_dict(result), indent=2, ensure_ascii=False))
        return
    print_plan(result)
    if out:
        click.echo(f"\nTable, picture and simulations in {out}")


def _simulate(design: StudyDesign, reliability: float, options: dict[str, Any]) -> Plan:
    from tiewise.jobs.run import WorkerPool
    from tiewise.planning.plan_study import plan_study

    pool = WorkerPool(options["workers"] or os.cpu_count() or 1, options["dask"])
    with progress_bar() as progress:
        return plan_study(
            design, reliability=reliability, precision=options["precision"], rng=options["seed"],
            out=options["out"], force=options["force"], pool=pool, progress=progress,
        )  # fmt: skip


class _Items(NamedTuple):
    """What is known of the items: who borders whom, groups, and judgements so far."""

    items: tuple[str, ...]
    context: ItemContext
    groups: tuple[str, ...] | None
    before: Counts | None = None
    defaults: dict[str, Any] = {}  # noqa: RUF012  never written to


def _read_design(options: dict[str, Any]) -> tuple[StudyDesign, float]:
    """The design that options speak of, and the reliability to reach."""
    from tiewise.planning.design import SPREAD, StudyDesign

    known = _read_items(options)
    values = known.defaults | {
        key: options[key] for key in ("judges", "per_judge", "policy", "reliability", "knows")
        if options[key] is not None
    }  # fmt: skip
    if options["priors"] is not None:
        values["prior_set"] = options["priors"]
    _refuse_from(options)
    spread = SPREAD if options["spread"] is None else options["spread"]
    reliability = values.pop("reliability", 0.8)
    design = StudyDesign(
        items=known.items, graph=known.context.graph, groups=known.groups, before=known.before,
        spread=spread, tie=_tie(options, known, spread), skip=options["skip"] or 0.0,
        top=options["top"], **{key: values[key] for key in values if key != "ties"},
    )  # fmt: skip
    return design, reliability


def _refuse_from(options: dict[str, Any]) -> None:
    if options["source"] is None:
        return
    for option in ("spread", "tie_tendency", "ties"):
        if options[option] is not None:
            raise InputError(
                f"--{option.replace('_', '-')} is learnt from the judgements given with --from; "
                "leave it out"
            )


def _tie(options: dict[str, Any], known: _Items, spread: float) -> float:
    from tiewise.model.map_priors import Network
    from tiewise.model.quality_priors import Independent
    from tiewise.planning.design import TIE, tie_for_share

    if options["tie_tendency"] is not None and options["ties"] is not None:
        raise InputError("--tie-tendency and --ties say the same thing; leave one of them out")
    if options["ties"] is not None:
        graph = known.context.graph
        prior = Independent(known.items) if graph is None else Network(graph)
        return tie_for_share(options["ties"], prior, len(known.items), spread)
    if options["tie_tendency"] is not None:
        return float(options["tie_tendency"])
    return TIE if known.defaults.get("ties", True) else 0.0


# What is compared.


def _read_items(options: dict[str, Any]) -> _Items:
    ways = {"--areas": options["areas"], "--edges": options["edges"], "--items": options["items"]}
    named = [way for way, value in ways.items() if value is not None]
    source = options["source"]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} both say what is compared; leave one out")
    if source is None and not named:
        raise InputError("say what is compared: --areas, --edges, --items, or --from a study")
    if source is not None and options["items"] is not None:
        raise InputError("--from knows its items; leave --items out")
    if source is not None and is_study(source):
        return _read_study(source, options)
    context = read_context(options | {"names": None, "matrix": None})
    before = None if source is None else _counts(source, drop_invalid=options["drop_invalid"])
    if options["items"] is not None:
        items = tuple(str(k + 1) for k in range(options["items"]))
    else:
        items = context.items or (before.items if before is not None else ())
    groups = None if context.areas is None else context.areas.groups
    return _Items(items, context, groups, before, _default_ties(before))


def _counts(path: str, *, drop_invalid: bool) -> Counts:
    from tiewise.data.comparisons import read_comparisons

    comparisons = read_comparisons(path, drop_invalid=drop_invalid)
    if comparisons.left_out:
        click.echo(f"{path}: {comparisons.left_out_note}", err=True)
    return comparisons.counts().pooled()


def _default_ties(before: Counts | None) -> dict[str, Any]:
    return {} if before is None else {"ties": before.total_ties > 0}


def _read_study(folder: str, options: dict[str, Any]) -> _Items:
    """A study that runs: its items, map, judgements, and what its settings ask for."""
    from tiewise.study.export import comparisons

    if options["areas"] or options["edges"]:
        raise InputError(f"{folder} has a map of its own, if any; leave --areas and --edges out")
    with opened(folder, options["database"]) as (study, store):
        judgements, priors = comparisons(store), study.priors(store)
    recipe, settings = study.fit_inputs(), study.settings
    map_file = {"areas": str(recipe.areas), "id_": recipe.id} if recipe.areas else {}
    context = read_context(options | map_file | {"names": None, "matrix": None})
    items = context.items or tuple(study.items)
    groups = tuple(study.items[item].group if item in study.items else "" for item in items)
    defaults = {
        "per_judge": settings.study.target, "policy": settings.pairing.policy,
        "reliability": settings.study.reliability, "ties": recipe.ties, "prior_set": priors,
    }  # fmt: skip
    counts = judgements.counts().pooled()
    return _Items(items, context, groups if study.groups else None, counts, defaults)


COMMANDS = (plan,)
