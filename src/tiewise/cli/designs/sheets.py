"""The command that prints sheets."""

from __future__ import annotations

import click

from tiewise.cli.study import FOLDER


@click.command()
@FOLDER
@click.option("--language", help="of the sheets; default: the first of the study")
@click.option("--size", type=float, default=14, show_default=True, help="of letters, in points")
@click.option("--code", "codes", multiple=True, help="only the sheet with this code")
@click.option("--out", default="sheets.pdf", show_default=True, help="the PDF")
@click.option("--force", is_flag=True, help="overwrite earlier sheets")
def sheets(
    folder: str, language: str | None, size: float, codes: tuple[str, ...], out: str, force: bool
) -> None:
    """Print the lists of the study in DIR on paper: a PDF with boxes to tick.

    `tiewise enter` takes the answers back in by the code on each sheet.
    """
    from tiewise.sheets.print_sheets import print_sheets
    from tiewise.study.study import Study

    study = Study.open(folder)
    place = print_sheets(study, out=out, language=language, size=size, codes=codes, force=force)
    number = len(codes) or len(study.design or ())
    click.echo(f"{number} sheet{'s'[: number != 1]} in {place}")


COMMANDS = (sheets,)
