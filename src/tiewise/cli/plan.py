"""The command that plans a study: how many comparisons, how many judges."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tiewise.cli.options import MAP, POSITIVE, progress_bar, surroundings
from tiewise.cli.study import DATABASE, is_study, opened
from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.data.counts import Counts
    from tiewise.planning.design import StudyDesign
    from tiewise.planning.plan import Plan
    from tiewise.workflows.analyse import Surroundings

POLICIES = ("uniform", "balanced", "informative")
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
@click.option("--judges", type=int, help="how many judges there will be")
@click.option("--per-judge", type=int, help="comparisons that each of them makes")
@click.option("--knows", type=int, help="of how many groups a judge knows the items; default: all")
@click.option("--tie-tendency", type=float, help="threshold δ; 0: no ties  [default: 0.5]")
@click.option("--ties", type=float, help="instead: share of random pairs that are called equal")
@click.option("--spread", type=POSITIVE, help=SPREAD_HELP.format(*BETTER))
@click.option("--policy", type=click.Choice(POLICIES), help="which pairs are shown")
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
@click.option("--force", is_flag=True, help="begin anew, whatever is there")
@click.option("--json", "as_json", is_flag=True, help="print plan.json instead of a table")
@DATABASE
def plan(**given: Any) -> None:
    """Say how many comparisons a study needs, by simulating studies like it.

    Say what is compared (--areas, --edges, --items or --from) and by whom (--judges, --per-judge
    or both). A run with --out that was stopped goes on where it was.
    """
    from tiewise.planning.folder import told
    from tiewise.planning.terminal import tell

    design, wanted = _asked(given)
    out = given["out"]
    try:
        found = _simulated(design, wanted, given)
    except KeyboardInterrupt:
        kept = "what is done is kept: the same command" if out else "with --out, such a run"
        click.echo(f"tiewise: stopped; {kept} goes on", err=True)
        click.get_current_context().exit(130)
    if given["as_json"]:
        click.echo(json.dumps(told(found), indent=2, ensure_ascii=False))
        return
    tell(found)
    if out:
        click.echo(f"\nTable, picture and simulations in {out}")


def _simulated(design: StudyDesign, wanted: float, given: dict[str, Any]) -> Plan:
    from tiewise.jobs.run import Crew
    from tiewise.planning.plan_study import plan_study

    crew = Crew(given["workers"] or os.cpu_count() or 1, given["dask"])
    with progress_bar() as progress:
        return plan_study(
            design, reliability=wanted, precision=given["precision"], seed=given["seed"],
            out=given["out"], force=given["force"], crew=crew, progress=progress,
        )  # fmt: skip


class _Known(NamedTuple):
    """What is known of the items: who borders whom, groups, and judgements so far."""

    items: tuple[str, ...]
    around: Surroundings
    groups: tuple[str, ...] | None
    before: Counts | None = None
    defaults: dict[str, Any] = {}  # noqa: RUF012  never written to


def _asked(given: dict[str, Any]) -> tuple[StudyDesign, float]:
    """The design that options speak of, and the reliability wanted."""
    from tiewise.planning.design import SPREAD, StudyDesign

    known = _known(given)
    said = known.defaults | {
        key: given[key] for key in ("judges", "per_judge", "policy", "reliability", "knows")
        if given[key] is not None
    }  # fmt: skip
    _refuse_from(given)
    spread = SPREAD if given["spread"] is None else given["spread"]
    wanted = said.pop("reliability", 0.8)
    design = StudyDesign(
        items=known.items, graph=known.around.graph, groups=known.groups, before=known.before,
        spread=spread, tie=_tie(given, known, spread), skip=given["skip"] or 0.0, top=given["top"],
        **{key: said[key] for key in said if key != "ties"},
    )  # fmt: skip
    return design, wanted


def _refuse_from(given: dict[str, Any]) -> None:
    if given["source"] is None:
        return
    for option in ("spread", "tie_tendency", "ties"):
        if given[option] is not None:
            raise InputError(
                f"--{option.replace('_', '-')} is learnt from the judgements given with --from; "
                "leave it out"
            )


def _tie(given: dict[str, Any], known: _Known, spread: float) -> float:
    from tiewise.model.quality_priors import Independent, Network
    from tiewise.planning.design import TIE, threshold

    if given["tie_tendency"] is not None and given["ties"] is not None:
        raise InputError("--tie-tendency and --ties say the same thing; leave one of them out")
    if given["ties"] is not None:
        graph = known.around.graph
        prior = Independent(known.items) if graph is None else Network(graph)
        return threshold(given["ties"], prior, len(known.items), spread)
    if given["tie_tendency"] is not None:
        return float(given["tie_tendency"])
    return TIE if known.defaults.get("ties", True) else 0.0


# What is compared.


def _known(given: dict[str, Any]) -> _Known:
    ways = {"--areas": given["areas"], "--edges": given["edges"], "--items": given["items"]}
    named = [way for way, value in ways.items() if value is not None]
    source = given["source"]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} both say what is compared; leave one out")
    if source is None and not named:
        raise InputError("say what is compared: --areas, --edges, --items, or --from a study")
    if source is not None and given["items"] is not None:
        raise InputError("--from knows its items; leave --items out")
    if source is not None and is_study(source):
        return _of_study(source, given)
    around = surroundings(given | {"names": None, "matrix": None})
    before = None if source is None else _counts(source)
    if given["items"] is not None:
        items = tuple(str(k + 1) for k in range(given["items"]))
    else:
        items = around.items or (before.items if before is not None else ())
    groups = None if around.areas is None else around.areas.groups
    return _Known(items, around, groups, before, _default_ties(before))


def _counts(path: str) -> Counts:
    from tiewise.data.comparisons import read_comparisons

    return read_comparisons(path).counts().pooled()


def _default_ties(before: Counts | None) -> dict[str, Any]:
    return {} if before is None else {"ties": before.total_ties > 0}


def _of_study(folder: str, given: dict[str, Any]) -> _Known:
    """A study that runs: its items, map, judgements, and what its settings ask for."""
    from tiewise.study.export import comparisons

    if given["areas"] or given["edges"]:
        raise InputError(f"{folder} has a map of its own, if any; leave --areas and --edges out")
    with opened(folder, given["database"]) as (study, store):
        told = comparisons(store)
    recipe, settings = study.recipe(), study.settings
    land = {"areas": str(recipe.areas), "id_": recipe.id} if recipe.areas else {}
    around = surroundings(given | land | {"names": None, "matrix": None})
    items = around.items or tuple(study.items)
    groups = tuple(study.items[item].group if item in study.items else "" for item in items)
    defaults = {
        "per_judge": settings.study.target, "policy": settings.pairing.policy,
        "reliability": settings.study.reliability, "ties": recipe.ties,
    }  # fmt: skip
    counts = told.counts().pooled()
    return _Known(items, around, groups if study.groups else None, counts, defaults)


COMMANDS = (plan,)
