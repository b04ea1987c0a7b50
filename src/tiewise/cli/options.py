"""What several commands share: their options, and how these become values."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from tiewise.engines import engine_class
from tiewise.errors import InputError
from tiewise.model import PRIOR_SET_NAMES, QUALITY_PRIORS
from tiewise.posterior.scales import SCALES
from tiewise.text import some_names

if TYPE_CHECKING:
    from tiewise.engines.base import Engine
    from tiewise.geo.item_context import ItemContext
    from tiewise.posterior.results_folder import Wording
    from tiewise.progress import Progress

Command = Callable[..., Any]

REDRAW = 0.1  # seconds after which a progress bar is drawn again


def combine(*options: Command) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


MAP = combine(
    click.option("--areas", help="map file: GeoPackage, GeoJSON or shapefile"),
    click.option("--id", "id_", help="column of the map that holds the items' ids"),
    click.option("--name", help="column of the map that holds their names"),
    click.option("--group", help="column of the map that holds groups, such as boroughs"),
    click.option("--join-islands", is_flag=True, help="join lone areas to the nearest"),
)

ITEM_FILES = combine(
    MAP,
    click.option("--edges", help="table of two columns: which items are neighbours"),
    click.option("--names", help="table with columns item and name"),
    click.option("--matrix", help="table with the matrix of a covariance or precision prior"),
)

QUESTION_ID = click.option(
    "--question-id", metavar="ID",
    help="of a study that asks several questions: the one whose answers are meant",
)  # fmt: skip

DROP_INVALID = click.option(
    "--drop-invalid", is_flag=True,
    help="leave out, and count, rows that are no pair: an item with itself, or a missing one",
)  # fmt: skip

GRADES = combine(
    click.option(
        "--grade",
        help="column with graded answers: whole numbers that favour the first item, or the words "
        "of --grades; beside a chosen item, how strongly it was chosen (1 to 3)",
    ),
    click.option(
        "--grades",
        help="those words in their order, all for the first item first: "
        "'much more,more,equal,less,much less'",
    ),
)

COLUMNS = combine(
    click.option("--first", help="column with the first item, where the format is not known"),
    click.option("--second", help="column with the second item"),
    click.option("--chosen", help="column with the id of the chosen item"),
    click.option("--tie", "tie_column", help="column that flags ties (1/0, yes/no)"),
    GRADES,
    click.option("--judge", help="column with the judge"),
    QUESTION_ID,
    DROP_INVALID,
)

POSITIVE = click.FloatRange(min=0, min_open=True)

PRIORS = click.option(
    "--priors",
    type=click.Choice(PRIOR_SET_NAMES),
    help="all priors at once: the default, or those of the paper",
)

MODEL = combine(
    PRIORS,
    click.option(
        "--prior",
        type=click.Choice(list(QUALITY_PRIORS)),
        help="default: network where neighbours are known",
    ),
    click.option("--reach", type=POSITIVE, help="reach of the distance prior, in metres"),
    click.option(
        "--share",
        type=click.FloatRange(0, 1),
        help="hold the share of the network in its prior at this value; default: inferred",
    ),
    click.option("--variance", type=POSITIVE, help="hold the variance of qualities at this value"),
    click.option(
        "--variance-prior", help="'half-normal(2)' (default), or 'inverse-gamma(0.01, 0.01)'"
    ),
    click.option(
        "--tie-prior", help="'half-normal(1)' (default), 'gamma(2, 3)', 'fixed(0.5)' and others"
    ),
    click.option(
        "--ties/--no-ties",
        default=None,
        help="model ties though nobody called one, or leave tied judgements out; default: by what "
        "the judgements hold",
    ),
)


WORDS = combine(
    click.option("--question", help="what the judges were asked; it heads the results"),
    click.option("--higher", help="what a high quality means, such as 'higher risk'"),
    click.option("--lower", help="what a low quality means, such as 'lower risk'"),
    click.option("--noun", help="what an item is called: 'ward', or 'city/cities'"),
    click.option(
        "--scale",
        type=click.Choice(list(SCALES)),
        help="the scale of estimates: logits (default), Elo ratings, the percentage of the other "
        "items that an item would be chosen over, or that of --anchors (default with them)",
    ),
)


def read_context(options: dict[str, Any]) -> ItemContext:
    """Map, neighbours, names and matrix, read; repairs and islands of the map are printed."""
    from tiewise.geo.item_context import ItemContext

    context = ItemContext.read(
        areas=options["areas"], id=options["id_"], name=options["name"], group=options["group"],
        edges=options["edges"], names=options["names"], matrix=options["matrix"],
        join_islands=options["join_islands"],
    )  # fmt: skip
    _echo_map_notes(context)
    return context


def hint_name(context: ItemContext, options: dict[str, Any]) -> None:
    """Name the column of the map that could hold names, where nothing else gives them."""
    if context.areas is None or options["names"] or not context.areas.name_columns:
        return
    best, *others = context.areas.name_columns
    more = f" (or {some_names(others, 3)})" if others else ""
    click.echo(
        f"Hint: the map has no column 'name', so that areas go by their ids; --name {best!r}{more} "
        "would show names",
        err=True,
    )


def hint_higher(question: str | None, higher: str | None, earlier: Wording | None = None) -> None:
    """Ask what a high quality means, where only the question is known."""
    from tiewise.posterior.results_folder import Wording

    usual = Wording()
    if question and not higher and (earlier or usual).higher == usual.higher:
        click.echo(
            f"Hint: results will speak of {usual.higher!r}; say what it means to be chosen, "
            "such as --higher 'higher risk'",
            err=True,
        )


def _echo_map_notes(context: ItemContext) -> None:
    if context.areas is not None and context.areas.repaired:
        some = ", ".join(context.areas.label(item) for item in context.areas.repaired)
        number = len(context.areas.repaired)
        click.echo(f"Repaired {number} invalid polygon{'s'[: number > 1]}: {some}", err=True)
    if context.areas is not None and context.graph is not None and context.graph.islands:
        labels = [context.areas.label(item) for item in context.graph.islands]
        some = some_names(labels, 8, quotes=False, ellipsis=True)
        click.echo(
            f"Areas that have no neighbour: {some}; --join-islands joins each to the nearest",
            err=True,
        )


def words(options: dict[str, Any]) -> dict[str, Any]:
    """The study's own words among the options."""
    texts = {key: options[key] for key in ("question", "higher", "lower", "noun", "scale")}
    return {key: text for key, text in texts.items() if text}


def columns(options: dict[str, Any]) -> dict[str, Any]:
    """How the options say that the file is read: its columns, and rows that are no pair."""
    named = {key: options[key] for key in ("first", "second", "chosen", "judge", "question_id")}
    named |= {"tie": options["tie_column"], "drop_invalid": options["drop_invalid"] or None}
    return grade_columns(options) | {k: value for k, value in named.items() if value is not None}


def grade_columns(options: dict[str, Any]) -> dict[str, Any]:
    """The column of graded answers, and its words in their order."""
    named = {"grade": options["grade"]} if options["grade"] is not None else {}
    if options["grades"] is not None:
        named["grades"] = tuple(word.strip() for word in options["grades"].split(","))
    return named


def scalar_priors(options: dict[str, Any]) -> dict[str, Any]:
    """The priors that the options ask for: those of a set, and single ones in place of its own."""
    from tiewise.model.prior_sets import prior_set
    from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
    from tiewise.model.scalar_priors.fixed import Fixed

    if options["variance"] is not None and options["variance_prior"] is not None:
        raise InputError("--variance holds the variance fixed; leave out --variance-prior")
    if options["ties"] is False and options["tie_prior"] is not None:
        raise InputError("--no-ties models no ties; leave out --tie-prior")
    priors: dict[str, Any] = dict(prior_set(options["priors"])) if options["priors"] else {}
    if options["variance"] is not None:
        priors["variance"] = Fixed(options["variance"])
    if options["variance_prior"] is not None:
        priors["variance"] = _prior("--variance-prior", options["variance_prior"], VARIANCE_PRIORS)
    if options["tie_prior"] is not None:
        priors["tie"] = _prior("--tie-prior", options["tie_prior"], TIE_PRIORS)
    if options["share"] is not None:
        priors["share"] = options["share"]
    return priors


def ties(options: dict[str, Any]) -> bool | None:
    """Whether ties are modelled; who names a prior of the threshold wants one."""
    asked: bool | None = options["ties"]
    return True if asked is None and options["tie_prior"] is not None else asked


def _prior(option: str, words: str, kinds: Any) -> Any:
    from tiewise.model.scalar_priors.notation import parse_prior

    try:
        return parse_prior(words, kinds)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def engine(name: str, draws: int | None) -> Engine:
    """The engine of this name, with so many draws."""
    kind = engine_class(name)
    if draws is None:
        return kind()  # type: ignore[no-any-return]
    if "draws" not in getattr(kind, "__dataclass_fields__", {}):
        raise InputError(f"--draws means nothing to {name}, which gives one estimate; leave it out")
    return kind(draws=draws)  # type: ignore[no-any-return]


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on a terminal, a line in a file where one is named, nothing in a pipe."""
    from tiewise.progress import FILE_VARIABLE, no_progress, progress_in_file

    if named := os.environ.get(FILE_VARIABLE):
        yield progress_in_file(Path(named))
        return
    if not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import Progress

    # Drawn when work says how far it is, not by a thread of its own: work may fork (`forking`).
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        tasks: dict[str, Any] = {}
        drawn = 0.0

        def progress(what: str, done: int, total: int) -> None:
            nonlocal drawn
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)
            if done == total or monotonic() > drawn + REDRAW:
                bar.refresh()
                drawn = monotonic()

        yield progress
