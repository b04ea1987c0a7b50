"""The command that runs a site of several studies, which are made and run in the browser."""

from __future__ import annotations

import sys
from typing import Any

import click

from tiewise.cli.backup_options import backup_options, take_schedule
from tiewise.cli.database_option import DATABASE
from tiewise.cli.serving_options import serving_options
from tiewise.errors import InputError


@click.command(context_settings={"auto_envvar_prefix": "TIEWISE"})
@click.argument("folder", metavar="FOLDER")
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@DATABASE
@click.option("--site-database", help="PostgreSQL address of accounts; default: FOLDER/site.db")
@click.option("--owner", default="owner", show_default=True, help="name of the first owner")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option("--public-url", help="where people reach it, such as https://study.example.org")
@click.option("--behind-proxy", is_flag=True, help="believe X-Forwarded-Proto and -For")
@click.option(
    "--sign-ups", type=click.IntRange(1), default=300, show_default=True,
    help="at most so many from one address in ten minutes",
)  # fmt: skip
@click.option("--sign-in-link", is_flag=True, help="print a one-time link for an owner")
@click.option("--no-live", is_flag=True, help="fit nothing while the site runs")
@click.option(
    "--quota-file",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="megabytes that an uploaded file may have",
)
@click.option(
    "--quota-study",
    type=click.IntRange(1),
    default=5000,
    show_default=True,
    help="megabytes that may be uploaded for a study",
)
@click.option(
    "--quota-site",
    type=click.IntRange(1),
    default=50_000,
    show_default=True,
    help="megabytes that all studies may have before no more is taken",
)
@serving_options
@backup_options
def host(folder: str, sign_ups: int, no_live: bool, **options: Any) -> None:
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
    from tiewise.web.security import RateLimit, RateLimits
    from tiewise.web.serving.options import HttpLimits

    limits = RateLimits(sign_ups=RateLimit(sign_ups, 600))
    http_limits = HttpLimits(**{name: options.pop(name) for name in HttpLimits._fields})
    backups = take_schedule(options)
    quotas = Quotas(*(options.pop(f"quota_{name}") for name in Quotas._fields))
    run(
        folder, **options, backups=backups, limits=limits, quotas=quotas, http_limits=http_limits,
        live=not no_live, write_line=click.echo,
    )  # fmt: skip


COMMANDS = (host,)
