"""What several commands share: their options, and how these become values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.engines.base import Engine
    from tiewise.progress import Progress
    from tiewise.workflows.analyse import Surroundings

ENGINES = (
    "transport", "gibbs", "metropolis", "caron-doucet", "laplace", "maximum-likelihood",
)  # fmt: skip
PRIORS = ("independent", "network", "distance", "covariance", "precision")

Command = Callable[..., Any]


def options(*options: Command) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


MAP = options(
    click.option("--areas", help="map file: GeoPackage, GeoJSON or shapefile"),
    click.option("--id", "id_", help="column of the map that holds the items' ids"),
    click.option("--name", help="column of the map that holds their names"),
    click.option("--group", help="column of the map that holds groups, such as boroughs"),
    click.option("--join-islands", is_flag=True, help="join lone areas to the nearest"),
)

AROUND = options(
    MAP,
    click.option("--edges", help="table of two columns: which items are neighbours"),
    click.option("--names", help="table with columns item and name"),
    click.option("--matrix", help="table with the matrix of a covariance or precision prior"),
)

COLUMNS = options(
    click.option("--first", help="column with the first item, where the format is not known"),
    click.option("--second", help="column with the second item"),
    click.option("--chosen", help="column with the id of the chosen item"),
    click.option("--tie", "tie_column", help="column that flags ties (1/0, yes/no)"),
    click.option("--judge", help="column with the judge"),
)

POSITIVE = click.FloatRange(min=0, min_open=True)

MODEL = options(
    click.option(
        "--prior", type=click.Choice(PRIORS), help="default: network where neighbours are known"
    ),
    click.option("--reach", type=POSITIVE, help="reach of the distance prior, in metres"),
    click.option("--variance", type=POSITIVE, help="hold the variance of qualities at this value"),
    click.option("--variance-prior", help="'inverse-gamma(0.01, 0.01)' or 'half-normal(2)'"),
    click.option("--tie-prior", help="such as 'exponential(0.01)', 'gamma(2, 3)', 'fixed(0.5)'"),
    click.option("--no-ties", is_flag=True, help="leave tied judgements out and model none"),
)


WORDS = options(
    click.option("--question", help="what the judges were asked; it heads the results"),
    click.option("--higher", help="what a high quality means, such as 'higher risk'"),
    click.option("--lower", help="what a low quality means, such as 'lower risk'"),
    click.option("--noun", help="what an item is called: 'ward', or 'city/cities'"),
)


def surroundings(given: dict[str, Any]) -> Surroundings:
    """Map, neighbours, names and matrix, read; what is odd about the map is said."""
    from tiewise.workflows.analyse import Surroundings

    around = Surroundings.read(
        areas=given["areas"], id=given["id_"], name=given["name"], group=given["group"],
        edges=given["edges"], names=given["names"], matrix=given["matrix"],
        join_islands=given["join_islands"],
    )  # fmt: skip
    _say_map(around)
    return around


def _say_map(around: Surroundings) -> None:
    if around.areas is not None and around.areas.repaired:
        some = ", ".join(around.areas.label(item) for item in around.areas.repaired)
        number = len(around.areas.repaired)
        click.echo(f"Repaired {number} invalid polygon{'s'[: number > 1]}: {some}", err=True)
    if around.areas is not None and around.graph is not None and around.graph.islands:
        some = ", ".join(map(around.areas.label, around.graph.islands[:8]))
        more = ", …" if len(around.graph.islands) > 8 else ""
        click.echo(
            f"Areas that have no neighbour: {some}{more}; --join-islands joins each to the nearest",
            err=True,
        )


def words(given: dict[str, Any]) -> dict[str, Any]:
    """What was said of the study's own words."""
    said = {key: given[key] for key in ("question", "higher", "lower", "noun")}
    return {key: words for key, words in said.items() if words}


def columns(given: dict[str, Any]) -> dict[str, str]:
    """What was said of the file's columns."""
    named = {key: given[key] for key in ("first", "second", "chosen", "judge")}
    return {k: v for k, v in (named | {"tie": given["tie_column"]}).items() if v is not None}


def beliefs(given: dict[str, Any]) -> dict[str, Any]:
    """The priors of variance and threshold as they were said."""
    from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS, Fixed

    if given["variance"] is not None and given["variance_prior"] is not None:
        raise InputError("--variance holds the variance fixed; leave out --variance-prior")
    if given["no_ties"] and given["tie_prior"] is not None:
        raise InputError("--no-ties models no ties; leave out --tie-prior")
    said: dict[str, Any] = {}
    if given["variance"] is not None:
        said["variance"] = Fixed(given["variance"])
    if given["variance_prior"] is not None:
        said["variance"] = _prior("--variance-prior", given["variance_prior"], VARIANCE_PRIORS)
    if given["tie_prior"] is not None:
        said["tie"] = _prior("--tie-prior", given["tie_prior"], TIE_PRIORS)
    return said


def _prior(option: str, words: str, kinds: Any) -> Any:
    from tiewise.model.scalar_priors import spoken

    try:
        return spoken(words, kinds)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def engine(name: str, draws: int | None) -> Engine:
    """The engine of this name, with so many draws."""
    from tiewise.posterior.fit import ENGINES as BY_NAME

    kind: Any = BY_NAME[name]
    if draws is None:
        return kind()  # type: ignore[no-any-return]
    if "draws" not in getattr(kind, "__dataclass_fields__", {}):
        raise InputError(f"--draws means nothing to {name}, which gives one estimate; leave it out")
    return kind(draws=draws)  # type: ignore[no-any-return]


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on a terminal, nothing in a pipe."""
    from tiewise.progress import no_progress

    if not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield progress
