"""The command that runs a site of several studies, which are made and run in the browser."""

from __future__ import annotations

import sys
from typing import Any

import click

from tiewise.cli.database_option import DATABASE
from tiewise.cli.serving_options import listening_options, serving_options, take_start_options
from tiewise.errors import InputError


@click.command(context_settings={"auto_envvar_prefix": "TIEWISE"})
@click.argument("folder", metavar="FOLDER")
@listening_options
@DATABASE
@click.option("--site-database", help="PostgreSQL address of accounts; default: FOLDER/site.db")
@click.option("--owner", default="owner", show_default=True, help="name of the first owner")
@click.option(
    "--quota-file", type=click.IntRange(1), default=1000, show_default=True,
    help="megabytes that an uploaded file may have",
)  # fmt: skip
@click.option(
    "--quota-study", type=click.IntRange(1), default=5000, show_default=True,
    help="megabytes that may be uploaded for a study",
)  # fmt: skip
@click.option(
    "--quota-site", type=click.IntRange(1), default=50_000, show_default=True,
    help="megabytes that all studies may have before no more is taken",
)  # fmt: skip
@serving_options
def host(folder: str, **options: Any) -> None:
    """Run the site of all studies in FOLDER, and make new ones in the browser.

    The first owner signs in with the link that is printed. --database has {study} in it, for the
    name of each study.
    """
    if sys.platform == "win32":
        raise InputError(
            "tiewise host locks files in a way that Windows does not know; run it under Linux or "
            "macOS, or `tiewise serve` with studies made by `tiewise new`"
        )
    from tiewise.hosting.drafts import Quotas
    from tiewise.web.host.server import host as run

    quotas = Quotas(*(options.pop(f"quota_{name}") for name in Quotas._fields))
    run(folder, quotas=quotas, **take_start_options(options))


COMMANDS = (host,)
