"""The command that plans a study: how many comparisons, how many judges."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tiewise.cli.options import (
    DROP_INVALID,
    GRADES,
    MAP,
    POSITIVE,
    PRIORS,
    QUESTION_ID,
    grade_columns,
    progress_bar,
    read_context,
)
from tiewise.cli.study import DATABASE, chosen_question, is_study, opened
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
@QUESTION_ID
@GRADES
@DROP_INVALID
@click.option("--judges", type=int, help="how many judges there will be")
@click.option("--per-judge", type=int, help="comparisons that each of them makes")
@click.option("--knows", type=int, help="of how many groups a judge knows the items; default: all")
@click.option("--tie-tendency", type=float, help="threshold δ; 0: no ties  [default: 0.5]")
@click.option("--ties", type=float, help="instead: share of random pairs that are called equal")
@click.option(
    "--answers",
    type=click.IntRange(2, 7),
    help="how many answers judges choose from: 5 for much more, more, about equal, less, much "
    "less; an even number has no “about equal”  [default: 3, or 2 without ties]",
)
@click.option(
    "--cut-step",
    type=POSITIVE,
    help="how much more “much more” is than “more”, in units of quality  [default: 1.25]",
)
@click.option("--spread", type=POSITIVE, help=SPREAD_HELP.format(*BETTER))
@PRIORS
@click.option("--policy", type=click.Choice(tuple(POLICIES)), help="which pairs are shown")
@click.option("--anchors", help="table of item, value and sd: qualities known from elsewhere")
@click.option(
    "--anchor-limit", type=click.IntRange(1),
    help="how often the policy reference shows each anchor  [default: 100]",
)  # fmt: skip
@click.option("--design", help="design.csv: judges compare exactly these pairs")
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
    values |= _anchors(options) | _lists(options)
    _refuse_from(options)
    spread = SPREAD if options["spread"] is None else options["spread"]
    reliability = values.pop("reliability", 0.8)
    design = StudyDesign(
        items=known.items, graph=known.context.graph, groups=known.groups, before=known.before,
        spread=spread, tie=_tie(options, known, spread), skip=options["skip"] or 0.0,
        top=options["top"], **_levels(options, known.before),
        **{key: values[key] for key in values if key != "ties"},
    )  # fmt: skip
    return design, reliability


def _lists(options: dict[str, Any]) -> dict[str, Any]:
    """The pairs of each judge, where a design says them."""
    if options["design"] is None:
        return {}
    from tiewise.designs.pair_lists import PairLists

    if options["policy"] is not None:
        raise InputError("--design says which pairs are shown; leave --policy out")
    return {"lists": PairLists.read(options["design"]), "policy": "uniform"}


def _anchors(options: dict[str, Any]) -> dict[str, Any]:
    """Anchors that were named, and how often each is shown; "none" leaves those of a study out."""
    from tiewise.model.anchors.anchors import Anchors
    from tiewise.study.toml.anchors import NO_ANCHORS

    named: dict[str, Any] = {}
    if options["anchors"] is not None:
        none = options["anchors"] == NO_ANCHORS
        named["anchors"] = None if none else Anchors.read(options["anchors"])
    if options["anchor_limit"] is not None:
        named["anchor_limit"] = options["anchor_limit"]
    return named


def _refuse_from(options: dict[str, Any]) -> None:
    source = options["source"]
    for option in ("grade", "grades"):
        if options[option] is not None and (source is None or is_study(source)):
            raise InputError(
                f"--{option} is of a file of judgements; name it with --from, or leave it out"
            )
    if source is None:
        return
    for option in ("spread", "tie_tendency", "ties", "answers", "cut_step"):
        if options[option] is not None:
            raise InputError(
                f"--{option.replace('_', '-')} is learnt from the judgements given with --from; "
                "leave it out"
            )


def _levels(options: dict[str, Any], before: Counts | None) -> dict[str, Any]:
    """The strengths with which an item is chosen, and how far their cuts lie apart."""
    if before is not None:
        return {"levels": before.levels}
    levels = (options["answers"] or 3) // 2
    if options["cut_step"] is None:
        return {"levels": levels}
    if levels == 1:
        raise InputError("--cut-step is of graded answers; say how many with --answers 4 to 7")
    return {"levels": levels, "step": options["cut_step"]}


def _refuse_ties(options: dict[str, Any]) -> None:
    """Refuse ties beside an even number of answers, and none beside an odd one."""
    number = options["answers"]
    if number is None:
        return
    for option in ("tie_tendency", "ties"):
        value = options[option]
        if value is not None and bool(value) != bool(number % 2):
            flag = f"--{option.replace('_', '-')} {value:g}"
            has = "has" if number % 2 else "has no"
            raise InputError(
                f"{flag} and --answers {number} contradict each other: a scale of {number} {has} "
                "“about equal” in the middle; leave one of them out"
            )


def _tie(options: dict[str, Any], known: _Items, spread: float) -> float:
    from tiewise.model.map_priors import Network
    from tiewise.model.quality_priors import Independent
    from tiewise.planning.design import TIE, tie_for_share

    if options["tie_tendency"] is not None and options["ties"] is not None:
        raise InputError("--tie-tendency and --ties say the same thing; leave one of them out")
    _refuse_ties(options)
    if options["ties"] is not None:
        graph = known.context.graph
        prior = Independent(known.items) if graph is None else Network(graph)
        return tie_for_share(options["ties"], prior, len(known.items), spread)
    if options["tie_tendency"] is not None:
        return float(options["tie_tendency"])
    if options["answers"] is not None:
        return TIE if options["answers"] % 2 else 0.0
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
    before = None if source is None else _counts(source, options)
    if options["items"] is not None:
        items = tuple(str(k + 1) for k in range(options["items"]))
    else:
        items = context.items or (before.items if before is not None else ())
    groups = None if context.areas is None else context.areas.groups
    return _Items(items, context, groups, before, _default_ties(before))


def _counts(path: str, options: dict[str, Any]) -> Counts:
    from tiewise.data.comparisons import read_comparisons

    read = grade_columns(options)
    comparisons = read_comparisons(
        path, drop_invalid=options["drop_invalid"], question_id=options["question_id"], **read
    )
    if comparisons.left_out:
        click.echo(f"{path}: {comparisons.left_out_note}", err=True)
    return comparisons.counts().pooled()


def _default_ties(before: Counts | None) -> dict[str, Any]:
    return {} if before is None else {"ties": before.total_ties > 0}


def _read_study(folder: str, options: dict[str, Any]) -> _Items:
    """A study that runs: its items, map, judgements, and what its settings ask for."""
    from tiewise.model.anchors.anchors import Anchors
    from tiewise.study.export import comparisons

    if options["areas"] or options["edges"]:
        raise InputError(f"{folder} has a map of its own, if any; leave --areas and --edges out")
    with opened(folder, options["database"]) as (study, store):
        study = chosen_question(study, options)
        judgements = comparisons(store, levels=study.scale.levels, question=study.question_id)
        priors = study.priors(store)
    recipe, settings = study.fit_inputs(), study.settings
    map_file = {"areas": str(recipe.areas), "id_": recipe.id} if recipe.areas else {}
    context = read_context(options | map_file | {"names": None, "matrix": None})
    items = context.items or tuple(study.items)
    groups = tuple(study.items[item].group if item in study.items else "" for item in items)
    table = recipe.anchor_table(items)
    defaults = {
        "per_judge": settings.study.target, "policy": settings.pairing.policy,
        "reliability": settings.study.reliability, "ties": recipe.ties, "prior_set": priors,
        "anchors": None if table is None else Anchors.read(table),
        "anchor_limit": settings.pairing.anchor_limit,
    }  # fmt: skip
    counts = judgements.counts().pooled()
    return _Items(items, context, groups if study.groups else None, counts, defaults)


COMMANDS = (plan,)
