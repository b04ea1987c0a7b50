"""The commands of a study: make it, look it over, run it, and take its judgements out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.cli.database_option import DATABASE as DATABASE
from tiewise.cli.options import DROP_INVALID, progress_bar, ties
from tiewise.cli.serving_options import listening_options, serving_options, take_start_options
from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.data.comparisons import Comparisons
    from tiewise.study.judge_store import JudgeStore
    from tiewise.study.study import FitInputs, Study

FOLDER = click.argument("folder", metavar="DIR")


@contextmanager
def opened(folder: str, database: str | None) -> Iterator[tuple[Study, JudgeStore]]:
    """A study and its database."""
    from tiewise.study.study import Study

    study = Study.open(folder)
    store = study.store(database)
    try:
        yield study, store
    finally:
        store.close()


def is_study(path: str) -> bool:
    """Whether a path is the folder of a study, not a file of judgements."""
    return Path(path, "study.toml").is_file()


def chosen_question(study: Study, options: dict[str, Any]) -> Study:
    """The study for the question that --question-id names; needed only where it asks several."""
    return study.asking(options.get("question_id"))


def to_fit(folder: str, options: dict[str, Any]) -> tuple[Comparisons, dict[str, Any]]:
    """The judgements of a study, and the options of a fit as its settings say them.

    Options on the command line take precedence.
    """
    from tiewise.study.export import comparisons, judge_columns
    from tiewise.study.researcher_store import ResearcherStore
    from tiewise.study.settings import ANCHORED
    from tiewise.study.study import results_folder

    with opened(folder, options["database"]) as (study, store):
        study = chosen_question(study, options)
        judgements = comparisons(store, levels=study.scale.levels, question=study.question_id)
        excluded = ResearcherStore(store).excluded()
        options = options | {"priors": options["priors"] or study.priors(store)}
        if options.get("judge_groups") and not options["judges"]:
            options = options | {"judges": judge_columns(study, store)}
    if excluded:
        click.echo(f"Left out, as a researcher decided: {_judges(len(excluded))}", err=True)
    about, recipe = study.settings.study, study.fit_inputs()
    settings: dict[str, str | None] = {
        "question": about.question, "higher": about.higher, "lower": about.lower,
        "noun": about.noun, "names": str(study.folder / "items.csv"),
        "out": str(study.folder / results_folder(study.question_id)),
    }  # fmt: skip
    if recipe.areas and not options["edges"] and not options["areas"]:
        settings |= {"areas": str(recipe.areas), "id_": recipe.id}
    options = options | _study_anchors(recipe, judgements, options)
    if options.get("scale", "") is None and study.settings.model.scale != ANCHORED:
        options = options | {"scale": study.settings.model.scale or None}
    known = {key: options[key] or value for key, value in settings.items()}
    # Where judges could call a tie, that nobody did is information; where not, there is none.
    asked = ties(options)
    return judgements, options | known | {"ties": recipe.ties if asked is None else asked}


def _study_anchors(
    recipe: FitInputs, judgements: Comparisons, options: dict[str, Any]
) -> dict[str, Any]:
    """The anchors of a study, unless a fit knows none, or others or none were named."""
    from tiewise.study.toml.anchors import NO_ANCHORS

    if options.get("anchors") == NO_ANCHORS:
        return {"anchors": None}
    if not recipe.anchors or "anchors" not in options or options["anchors"] or options["link"]:
        return {}
    on_map = recipe.areas or options["areas"] or options["edges"]
    items = [one.item for one in recipe.anchors] if on_map else judgements.items
    table = recipe.anchor_table(items)
    if table is None:
        message = "Fewer than two anchors were compared so far: results are not on their scale"
        click.echo(message, err=True)
    return {"anchors": table}


def _judges(number: int) -> str:
    return f"{number} judge{'s'[: number != 1]}"


@click.command()
@FOLDER
@click.option("--areas", help="map file: GeoPackage, GeoJSON or shapefile")
@click.option("--id", "id_", help="column of the map that holds the items' ids")
@click.option("--name", help="column of the map that holds their names")
@click.option("--group", help="column of the map that holds groups, such as boroughs")
@click.option("--layers", help="map file of water, roads, landmarks and places to draw on it")
@click.option("--items", help="in place of a map: a table of items, or a folder of their files")
@click.option("--question", required=True, help="what judges are asked of every pair")
@click.option("--title", help="what the study is called; default: the question")
@click.option("--higher", default="higher", show_default=True, help="what the chosen one has")
@click.option("--lower", default="lower", show_default=True, help="what the other one has")
@click.option("--noun", help="what an item is called: 'ward', or 'city/cities'")
@click.option("--anchors", help="table of item, value and sd: qualities known from elsewhere")
@click.option("--design", help="design.csv of `tiewise design`: judges are shown exactly its pairs")
@click.option(
    "--target", type=click.IntRange(1), default=30, show_default=True,
    help="comparisons asked of each judge",
)  # fmt: skip
@click.option("--limit", multiple=True, metavar="NAME=NUMBER", help="of files, such as pages=100")
@click.option("--keep-metadata", is_flag=True, help="of sound and video: names, places, devices")
def new(folder: str, id_: str | None, limit: tuple[str, ...], **options: Any) -> None:
    """Make a study in the new folder DIR, from a map, a list of items, or a folder of files."""
    from tiewise.study.create import create_study
    from tiewise.study.media.faults import FaultyFiles
    from tiewise.study.media.limits import FileLimits

    try:
        with progress_bar() as progress:
            study = create_study(
                folder, id=id_, limits=FileLimits.of(limit), progress=progress, **options
            )
    except FaultyFiles as error:
        if len(error.faults) == 1:
            raise
        for fault in error.faults:
            click.echo(fault)
        raise InputError(f"{len(error.faults)} files to mend, as said above") from None
    groups = f" in {len(study.groups)} groups" if study.groups else ""
    click.echo(f"{len(study.items)} items{groups} in {folder}")
    click.echo(f"Edit {study.folder / 'study.toml'}, then: tiewise check {folder}")


@click.command()
@FOLDER
@DATABASE
def check(folder: str, database: str | None) -> None:
    """Say what is wrong with the study in DIR, key by key."""
    from tiewise.model.prior_sets import describe_prior_set
    from tiewise.study.checks.check import check_study, map_summary, study_priors
    from tiewise.study.study import Study
    from tiewise.web.words.of_study import language_faults

    problems = check_study(folder, database)
    if not problems:
        problems = [
            line for lines in language_faults(Study.open(folder)).values() for line in lines
        ]
    for problem in problems:
        click.echo(problem)
    if problems:
        raise InputError(
            f"{len(problems)} thing{'s'[: len(problems) > 1]} to mend in {folder}, as said above"
        )
    summary = map_summary(folder)
    if summary:
        click.echo(f"Map: {summary}")
    click.echo(f"Priors: {describe_prior_set(study_priors(folder, database))}.")
    click.echo(f"All is well. Start it with: tiewise serve {folder}")


@click.command(context_settings={"auto_envvar_prefix": "TIEWISE"})
@click.argument("folders", metavar="DIR...", nargs=-1, required=True)
@listening_options
@DATABASE
@serving_options
def serve(folders: tuple[str, ...], **options: Any) -> None:
    """Run the site of the study in DIR and print the judges' link.

    With several, or a folder that holds several, each is below its folder's name. Every option
    can be an environment variable: TIEWISE_PORT for --port, and so on.
    """
    from tiewise.web.server import serve as run

    run(*folders, **take_start_options(options))


@click.command()
@FOLDER
@click.option("--out", help="folder to write to; default: DIR/export")
@click.option("--raw", is_flag=True, help="texts as they are: for programs, not for spreadsheets")
@DATABASE
def export(folder: str, out: str | None, raw: bool, database: str | None) -> None:
    """Write the judgements of a study as tables.

    comparisons.csv is what `tiewise fit` and the comparison interface's own tools read.
    """
    from tiewise.study.export import export as write

    with opened(folder, database) as (study, store):
        written = write(study, store, out or study.folder / "export", raw=raw)
    click.echo(f"Written to {written[0].parent}: {', '.join(path.name for path in written)}")


@click.command("import")
@FOLDER
@click.argument("file")
@DROP_INVALID
@DATABASE
def import_(folder: str, file: str, drop_invalid: bool, database: str | None) -> None:
    """Bring judgements in FILE, from elsewhere, into the study in DIR."""
    from tiewise.study.export import import_file

    with opened(folder, database) as (study, store):
        number = import_file(study, store, file, drop_invalid=drop_invalid)
    click.echo(f"{number} judgements brought into {folder}")


COMMANDS = (new, check, serve, export, import_)
