"""The command: parse, call one verb, print."""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tiewise.cli.checks import COMMANDS as SCRUTINY
from tiewise.cli.experiment import COMMANDS as EXPERIMENTS
from tiewise.cli.options import (
    AROUND,
    COLUMNS,
    ENGINES,
    MAP,
    MODEL,
    WORDS,
    beliefs,
    columns,
    engine,
    progress_bar,
    surroundings,
    words,
)  # fmt: skip
from tiewise.cli.plan import COMMANDS as PLANNING
from tiewise.cli.researchers import COMMANDS as RUNNING
from tiewise.cli.study import COMMANDS, DATABASE, is_study, to_fit
from tiewise.cli.term_options import terms, with_terms
from tiewise.errors import InputError, InputWarning

DATASETS = ("south-yorkshire", "oxfordshire", "dar-es-salaam", "forced-marriage", "wimbledon")

DATA_FILES = ("ABOUT.txt", "areas.gpkg", "comparisons.csv", "edges.csv", "items.csv")


class _Plain(click.Group):
    """Answers what the user can mend with one line and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run; what is wrong with the command itself is one line too."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a name need not fit an old terminal
        standalone = extra.pop("standalone_mode", True)
        run: Any = super().main
        try:
            code = run(*args, **extra, standalone_mode=False)
        except click.UsageError as error:
            if not standalone:
                raise
            code = error.exit_code
            if error.message.startswith("Usage:"):
                error.show()
            else:
                called = error.ctx.command_path if error.ctx else "tiewise"
                _complain(f"{error.format_message().rstrip('.')} (see {called} --help)")
        if standalone:
            sys.exit(code)
        return code

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; what it cannot do is one line, with the way out."""
        try:
            with _warned_plainly():
                return super().invoke(ctx)
        except InputError as error:
            _complain(_in_options(str(error)))
            ctx.exit(2)
        except (KeyboardInterrupt, click.Abort):
            _complain("stopped; nothing is left half-written")
            ctx.exit(130)


def _complain(words: str) -> None:
    click.echo(f"tiewise: {' '.join(words.split())}", err=True)


def _in_options(words: str) -> str:
    """What the library calls first= is --first on the command line."""
    return re.sub(
        r"\b(first|second|chosen|tie|judge)=(['\"]?)",
        lambda said: f"--{said[1]}{' ' if said[2] else ''}{said[2]}",
        words,
    )


@contextmanager
def _warned_plainly() -> Iterator[None]:
    """Our warnings as a line each. Those of other libraries are for programmers: `python -W`."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = lambda message, *_, **__: _complain(f"note: {message}")
        yield


@click.group(cls=_Plain, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tiewise")
def main() -> None:
    """Comparative judgement with ties: from paired comparisons to qualities and uncertainty."""


@main.command()
@click.argument("file")
@AROUND
@COLUMNS
@MODEL
@with_terms
@click.option("--engine", type=click.Choice(ENGINES), default="transport", show_default=True)
@click.option("--draws", type=click.IntRange(100), help="how many draws to keep, over all chains")
@click.option("--seed", type=click.IntRange(0), help="the same seed gives the same results")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="k of 'top k'")
@WORDS
@click.option("--out", help="folder for the results; default: FILE's name and -results")
@click.option("--force", is_flag=True, help="overwrite results that are there")
@click.option("--no-report", is_flag=True, help="tables only: no pictures, no report")
@click.option("--no-record", is_flag=True, help="do not keep who said what in posterior.nc")
@click.option("--json", "as_json", is_flag=True, help="print fit.json instead of a table")
@DATABASE
def fit(file: str, **given: Any) -> None:
    """Fit judgements in FILE and write a results folder.

    FILE is CSV, TSV, XLSX or Parquet; its format is recognised by its columns. Or it is the folder
    of a study. Higher quality means chosen more often.
    """
    from tiewise.report.folder import About
    from tiewise.workflows.analyse import analyse

    source: object = file
    if is_study(file):
        source, given = to_fit(file, given)
    around = surroundings(given)
    with progress_bar() as progress:
        results = analyse(
            source,
            given["out"] or f"{Path(file).stem}-results",
            around=around,
            engine=engine(given["engine"], given["draws"]),
            seed=given["seed"],
            about=About(top=given["top"], source=Path(file).name, **words(given)),
            columns=columns(given),
            report=not given["no_report"],
            record=not given["no_record"],
            force=given["force"],
            progress=progress,
            prior=given["prior"],
            reach=given["reach"],
            ties=not given["no_ties"],
            **beliefs(given),
            **terms(given),
        )
    if given["as_json"]:
        click.echo(json.dumps(dict(results.facts), indent=2, ensure_ascii=False))
    else:
        from tiewise.report.terminal import tell

        tell(results)


@main.command()
@click.argument("folder", metavar="DIR")
@WORDS
@click.option("--top", type=click.IntRange(1), help="k of 'top k'")
def report(folder: str, **given: Any) -> None:
    """Write the pictures and report.html of the results folder DIR again.

    What is said here is kept in study.json; nothing is fitted again.
    """
    from tiewise.report.folder import read_results
    from tiewise.report.html import reword

    top = {"top": given["top"]} if given["top"] is not None else {}
    with progress_bar() as progress:
        page = reword(read_results(folder), progress=progress, **words(given), **top)
    click.echo(f"Report in {page}")


@main.command()
@click.argument("folder", metavar="DIR", required=False)
@click.option("--title", help="what the briefing is called; default: the question")
@WORDS
@click.option("--organisation", default="", help="whose briefing it is; it stands at the top")
@click.option("--contact", multiple=True, help="whom to ask: a line of text; may be said again")
@click.option("--template", help="a Typst file of your own in place of ours")
@click.option("--save-template", metavar="FILE", help="write our template to FILE, and no briefing")
@click.option("--out", help="the PDF; default: briefing.pdf in DIR")
@click.option("--force", is_flag=True, help="overwrite what is there")
def briefing(folder: str | None, **given: Any) -> None:
    """Write a two-page briefing, a PDF for non-specialists, on the results in DIR."""
    from tiewise.report.briefing import write_briefing, write_template
    from tiewise.report.folder import read_results

    if given["save_template"]:
        click.echo(f"Template in {write_template(given['save_template'], force=given['force'])}")
        return
    if folder is None:
        raise click.UsageError("Missing argument 'DIR'.", ctx=click.get_current_context())
    place = write_briefing(
        read_results(folder), title=given["title"], organisation=given["organisation"],
        contacts=given["contact"], template=given["template"], out=given["out"],
        force=given["force"], **words(given),
    )  # fmt: skip
    click.echo(f"Briefing in {place}")


@main.command()
@click.argument("out")
@click.option("--county", type=click.IntRange(4), help="a made-up county of this many wards")
@click.option("--items", type=click.IntRange(2), help="this many independent items")
@MAP
@click.option("--comparisons", type=click.IntRange(1), help="default: ten per item")
@click.option("--judges", type=click.IntRange(1), default=15, show_default=True)
@click.option(
    "--tie", type=click.FloatRange(0), default=0.5, show_default=True,
    help="threshold δ; 0: no ties",
)  # fmt: skip
@click.option("--variance", type=click.FloatRange(0), default=1.5, show_default=True)
@click.option("--skip", type=click.FloatRange(0, 1), default=0.02, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--parquet", is_flag=True, help="comparisons.parquet, not .csv: for millions")
@click.option("--force", is_flag=True, help="overwrite what is there")
def simulate(out: str, **given: Any) -> None:
    """Make up judgements with known truth, in the folder OUT.

    Writes comparisons.csv, truth.csv and, with a map, areas.gpkg.
    """
    from tiewise.workflows.simulate import make_up

    made = make_up(
        out, county=given["county"], items=given["items"], areas=given["areas"], id=given["id_"],
        name=given["name"], group=given["group"], join_islands=given["join_islands"],
        comparisons=given["comparisons"], judges=given["judges"], tie=given["tie"],
        variance=given["variance"], skip=given["skip"], seed=given["seed"],
        parquet=given["parquet"], force=given["force"],
    )  # fmt: skip
    click.echo(f"{made} in {out}")


@main.command()
@click.argument("name", type=click.Choice(DATASETS), metavar="NAME")
@click.option("--out", help="folder to write to; default: NAME")
@click.option("--force", is_flag=True, help="overwrite what is there")
def data(name: str, out: str | None, force: bool) -> None:
    """Fetch a public data set and write it as plain files.

    NAME is south-yorkshire, oxfordshire, dar-es-salaam, forced-marriage or wimbledon.
    """
    from tiewise.report.folder import refuse_full, whole_folder
    from tiewise.workflows import datasets

    place = Path(out or name)
    refuse_full(place, force=force)
    found = datasets.load(name)
    with whole_folder(place, force=force, ours=DATA_FILES) as folder:
        written = ", ".join(sorted(path.name for path in found.write(folder)))
    click.echo(f"{found.about}\nWritten to {place}: {written}")


for _command in (*COMMANDS, *RUNNING, *PLANNING, *EXPERIMENTS, *SCRUTINY):
    main.add_command(_command)


if __name__ == "__main__":
    main()
