"""The command that makes a design: which pairs each judge compares."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.cli.options import MAP, POSITIVE, PRIORS, progress_bar, read_context
from tiewise.designs import DESIGN_POLICIES, TARGETS
from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.designs.assessed import AssessedDesign
    from tiewise.designs.wish import DesignWish
    from tiewise.geo.item_context import ItemContext


@click.command()
@MAP
@click.option("--edges", help="in place of a map: two columns of ids, which items are neighbours")
@click.option("--items", help="in place of a map: a table of items, or how many there are")
@click.option(
    "--judges", required=True, help="how many there are, or a table of judge and the groups known"
)
@click.option("--per-judge", type=int, required=True, help="comparisons that each of them makes")
@click.option("--knows", type=int, help="of how many groups a judge knows the items; default: all")
@click.option(
    "--policy", type=click.Choice(DESIGN_POLICIES), default="balanced", show_default=True,
    help="how pairs are chosen",
)  # fmt: skip
@click.option(
    "--target", type=click.Choice(TARGETS), default="differences", show_default=True,
    help="what an optimal design is to tell best",
)  # fmt: skip
@click.option("--top", type=int, help="k of 'top k'  [default: 5]")
@click.option("--repeats", type=int, default=0, help="of these, so many pairs come once more")
@click.option("--practice", type=int, default=0, help="pairs to begin with that do not count")
@click.option("--spread", type=POSITIVE, help="how far items are apart, α²  [default: 1.5]")
@click.option("--tie-tendency", type=float, help="threshold δ; 0: no ties  [default: 0.5]")
@click.option(
    "--answers", type=click.IntRange(2, 7), help="how many answers judges choose from  [default: 3]"
)
@click.option("--cut-step", type=POSITIVE, help="from one cut of graded answers to the next")
@PRIORS
@click.option("--anchors", help="table of item, value and sd: qualities known from elsewhere")
@click.option(
    "--anchor-limit", type=click.IntRange(1),
    help="how often 'reference' shows each anchor  [default: 100]",
)  # fmt: skip
@click.option(
    "--studies", type=click.IntRange(0),
    help="simulated studies for the expected reliability; 0: none  [default: 40, fewer above "
    "500 items]",
)  # fmt: skip
@click.option(
    "--adaptive/--no-adaptive", default=None, help="simulate adaptive pairing beside it, too"
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="processes; default: the number of cores")
@click.option("--out", default="design", show_default=True, help="folder for design.csv and more")
@click.option("--force", is_flag=True, help="overwrite an earlier design")
@click.option("--json", "as_json", is_flag=True, help="print design.json instead of a table")
def design(**options: Any) -> None:
    """Choose the pairs of each judge beforehand, and say how good they are.

    Say what is compared (--areas, --edges or --items) and by whom (--judges and --per-judge).
    Ctrl-C ends the search for an optimal design with the best so far.
    """
    from tiewise.designs.design_study import design_facts, design_study
    from tiewise.jobs.run import WorkerPool

    context, items, groups = _items(options)
    wish = _wish(options, items, groups)
    pool = WorkerPool(options["workers"] or os.cpu_count() or 1)
    with progress_bar() as progress:
        assessed = design_study(
            wish, graph=context.graph, **_assumed(options), studies=options["studies"],
            adaptive=options["adaptive"], rng=options["seed"], out=options["out"],
            force=options["force"], pool=pool, progress=progress,
        )  # fmt: skip
    if options["as_json"]:
        click.echo(json.dumps(design_facts(assessed), indent=2, ensure_ascii=False))
        return
    _print(assessed)
    click.echo(f"\nPairs, figures and picture in {options['out']}")


def _print(assessed: AssessedDesign) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tiewise.designs.sentences import sentences, table_rows

    console = Console(highlight=False)
    rows = table_rows(assessed)
    if rows:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("pairs")
        for heading in ("reliability", "efficiency beside"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    for sentence in sentences(assessed):
        console.print(Text(sentence))


def _items(options: dict[str, Any]) -> tuple[ItemContext, tuple[str, ...], tuple[str, ...]]:
    """Map or neighbours, the items, and the group of each where groups are known."""
    ways = {"--areas": options["areas"], "--edges": options["edges"], "--items": options["items"]}
    named = [way for way, value in ways.items() if value is not None]
    if len(named) != 1:
        problem = f"{' and '.join(named)} both say what is compared; leave one out"
        raise InputError(problem if named else "say what is compared: --areas, --edges or --items")
    listed, groups = _listed(options["items"])
    context = read_context(options | {"names": None, "matrix": None})
    items = listed or context.items or ()
    if context.areas is not None and context.areas.groups:
        groups = tuple(context.areas.groups)
    return context, items, groups


def _listed(source: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Items of a table with their groups, or as many as a number says."""
    from tiewise.study.study import read_items

    if source is None:
        return (), ()
    if source.isdecimal():
        return tuple(str(k + 1) for k in range(int(source))), ()
    items = read_items(Path(source)).values()
    groups = tuple(item.group for item in items)
    return tuple(item.id for item in items), groups if any(groups) else ()


def _wish(options: dict[str, Any], items: tuple[str, ...], groups: tuple[str, ...]) -> DesignWish:
    from tiewise.designs.design import known_groups
    from tiewise.designs.wish import DesignWish
    from tiewise.model.anchors.anchors import Anchors

    judges, known = _judges(options["judges"])
    if options["knows"] is not None:
        if known:
            raise InputError("--judges says what each knows; leave --knows out")
        if not 1 <= options["knows"] <= len(set(groups)):
            raise InputError(
                f"--knows {options['knows']}: there are {len(set(groups))} groups; name their "
                "column with --group, or leave --knows out"
            )
        known = known_groups(groups, judges, options["knows"], options["seed"])
    names = ("per_judge", "policy", "target", "top", "repeats", "practice")
    more = {name: options[name] for name in names}
    if options["anchor_limit"] is not None:
        more["anchor_limit"] = options["anchor_limit"]
    if options["anchors"]:
        more["anchors"] = Anchors.read(options["anchors"]).items
    return DesignWish(
        items=items, judges=judges, groups=groups if known else (), known=known, **more
    )


def _judges(source: str) -> tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]:
    """The names of judges, and the groups that each knows where a table says so."""
    from tiewise.data.files import read_sheet
    from tiewise.data.text_columns import as_text

    if source.isdecimal():
        if not 1 <= int(source) <= 100_000:
            raise InputError(f"--judges {source}: from 1 to 100,000")
        return tuple(f"Judge {k + 1}" for k in range(int(source))), {}
    table = read_sheet(Path(source)).table
    columns = {
        name.strip().lower(): [as_text(cell) for cell in table[name].to_list()]
        for name in table.columns
    }
    if "judge" not in columns:
        raise InputError(f"{source} has no column judge; it lists judges, and perhaps groups")
    names = tuple(columns["judge"])
    if "groups" not in columns:
        return names, {}
    known = {
        name: tuple(sorted({part.strip() for part in cell.split(";") if part.strip()}))
        for name, cell in zip(names, columns["groups"], strict=True)
    }
    return names, known


def _assumed(options: dict[str, Any]) -> dict[str, Any]:
    """What is assumed of qualities and answers."""
    from tiewise.model.anchors.anchors import Anchors
    from tiewise.planning.design import SPREAD, STEP, TIE

    answers = options["answers"]
    tie = options["tie_tendency"]
    if tie is None:
        tie = TIE if answers is None or answers % 2 else 0.0
    elif answers is not None and bool(tie) != bool(answers % 2):
        raise InputError(
            f"--tie-tendency {tie:g} and --answers {answers} contradict each other; leave one out"
        )
    return {
        "spread": options["spread"] or SPREAD, "tie": tie, "levels": (answers or 3) // 2,
        "step": options["cut_step"] or STEP, "prior_set": options["priors"] or "default",
        "anchors": Anchors.read(options["anchors"]) if options["anchors"] else None,
    }  # fmt: skip


COMMANDS = (design,)
