"""The commands that fit judgements and write what readers are given."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.allocator import first_import, rare_collections
from tiewise.cli.options import (
    COLUMNS,
    ITEM_FILES,
    MODEL,
    WORDS,
    columns,
    engine,
    hint_higher,
    hint_name,
    progress_bar,
    read_context,
    scalar_priors,
    ties,
    words,
)  # fmt: skip
from tiewise.cli.study import DATABASE, is_study, to_fit
from tiewise.cli.term_options import CommandWithTerms, terms, with_terms
from tiewise.engines import ENGINES
from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.geo.item_context import ItemContext


@click.command(cls=CommandWithTerms)
@click.argument("file")
@ITEM_FILES
@COLUMNS
@MODEL
@with_terms
@click.option("--anchors", help="table of item, value and sd: qualities known from elsewhere")
@click.option(
    "--anchor-slope",
    help="units of the anchors' values that a logit is: a number, or learned; default: 1",
)
@click.option("--link", help="results of an earlier study: what its answers say of shared items")
@click.option("--engine", type=click.Choice(list(ENGINES)), default="transport", show_default=True)
@click.option(
    "--draws",
    type=click.IntRange(100),
    help="so many draws, over all chains; default: as many as are enough",
)
@click.option(
    "--ess",
    type=click.IntRange(0),
    help="sample on until draws are worth so many; default: 400; with --draws 0, which is off",
)
@click.option("--seed", type=click.IntRange(0), help="the same seed gives the same results")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="k of 'top k'")
@WORDS
@click.option("--out", help="folder for the results; default: FILE's name and -results")
@click.option("--force", is_flag=True, help="overwrite results that are there")
@click.option("--no-report", is_flag=True, help="tables only: no pictures, no report")
@click.option("--png", is_flag=True, help="pictures as PNG files, too, not only as SVG")
@click.option("--no-record", is_flag=True, help="do not keep who said what in posterior.nc")
@click.option(
    "--draws-format",
    type=click.Choice(["netcdf", "csv", "parquet"]),
    default="netcdf",
    show_default=True,
    help="draws as a table, too, as R's package posterior reads them; posterior.nc is always there",
)
@click.option("--robust", is_flag=True, help="say, too, how few answers decide it: fits some more")
@click.option("--json", "as_json", is_flag=True, help="print fit.json instead of a table")
@DATABASE
@rare_collections()
def fit(file: str, **options: Any) -> None:
    """Fit judgements in FILE and write a results folder.

    FILE is CSV, TSV, XLSX or Parquet; its format is recognised by its columns. Or it is the folder
    of a study. Higher quality means chosen more often.
    """
    with first_import("tiewise.workflows.analyse"):
        from tiewise.posterior.results_folder import Wording
        from tiewise.workflows.analyse import analyse

    source: object = file
    if is_study(file):
        source, options = to_fit(file, options)
    hint_higher(options["question"], options["higher"])
    with progress_bar() as progress:
        results = analyse(
            source,
            options["out"] or f"{Path(file).stem}-results",
            context=partial(_hinted_context, options),
            engine=engine(options["engine"], options["draws"]),
            rng=options["seed"],
            ess=0 if options["ess"] is None and options["draws"] else options["ess"],
            wording=Wording(top=options["top"], source=Path(file).name, **_fit_words(options)),
            columns=columns(options),
            report=not options["no_report"],
            png=options["png"],
            record=not options["no_record"],
            robust=options["robust"],
            draws_format=options["draws_format"],
            anchors=options["anchors"],
            anchor_slope=options["anchor_slope"],
            link=options["link"],
            force=options["force"],
            progress=progress,
            prior=options["prior"],
            reach=options["reach"],
            ties=ties(options),
            **scalar_priors(options),
            **terms(options),
        )
    if options["as_json"]:
        click.echo(json.dumps(dict(results.facts), indent=2, ensure_ascii=False))
    else:
        from tiewise.report.terminal import print_results

        print_results(results)


def _hinted_context(options: dict[str, Any]) -> ItemContext:
    """What is known of the items, and how else the map could be named."""
    context = read_context(options)
    hint_name(context, options)
    return context


def _fit_words(options: dict[str, Any]) -> dict[str, Any]:
    """The study's words; with anchors, estimates are on their scale unless another is named."""
    return ({"scale": "anchored"} if options["anchors"] else {}) | words(options)


@click.command()
@click.argument("folder", metavar="DIR")
@WORDS
@click.option("--top", type=click.IntRange(1), help="k of 'top k'")
@click.option("--png", is_flag=True, help="pictures as PNG files, too, not only as SVG")
@rare_collections()
def report(folder: str, **options: Any) -> None:
    """Write the pictures and report.html of the results folder DIR again.

    What is said here is kept in study.json; nothing is fitted again.
    """
    from tiewise.posterior.results_folder import read_results
    from tiewise.report.html import rewrite_report

    top = {"top": options["top"]} if options["top"] is not None else {}
    results = read_results(folder)
    hint_higher(options["question"], options["higher"], results.wording)
    with progress_bar() as progress:
        page = rewrite_report(
            results, png=options["png"], progress=progress, **words(options), **top
        )
    click.echo(f"Report in {page}")


@click.command()
@click.argument("folder", metavar="DIR", required=False)
@click.option("--title", help="what the briefing is called; default: the question")
@WORDS
@click.option("--organisation", default="", help="whose briefing it is; it stands at the top")
@click.option("--contact", multiple=True, help="whom to ask: a line of text; may be said again")
@click.option("--template", help="a Typst file of your own in place of ours")
@click.option("--save-template", metavar="FILE", help="write our template to FILE, and no briefing")
@click.option("--out", help="the PDF; default: briefing.pdf in DIR")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
@rare_collections()
def briefing(folder: str | None, **options: Any) -> None:
    """Write a two-page briefing, a PDF for non-specialists, on the results in DIR."""
    from tiewise.posterior.results_folder import read_results
    from tiewise.report.briefing import write_briefing, write_template

    if options["save_template"]:
        try:
            template = write_template(options["save_template"], force=options["force"])
        except InputError as error:
            raise InputError(str(error).replace("(out=)", "(--save-template)")) from None
        click.echo(f"Template in {template}")
        return
    if folder is None:
        raise click.UsageError("Missing argument 'DIR'.", ctx=click.get_current_context())
    results = read_results(folder)
    hint_higher(options["question"], options["higher"], results.wording)
    place = write_briefing(
        results, title=options["title"], organisation=options["organisation"],
        contacts=options["contact"], template=options["template"], out=options["out"],
        force=options["force"], **words(options),
    )  # fmt: skip
    click.echo(f"Briefing in {place}")


COMMANDS = (fit, report, briefing)
