"""The options of a site, whether of `tiewise serve` or of `tiewise host`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from tiewise.cli.backup_options import backup_options, take_schedule
from tiewise.cli.inviting.mail_options import mail_options, take_mail_options

LISTENING = (
    click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on"),
    click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True),
    click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True),
    click.option("--public-url", help="where people reach it, such as https://study.example.org"),
    click.option("--behind-proxy", is_flag=True, help="believe X-Forwarded-Proto and -For"),
    click.option(
        "--sign-ups", type=click.IntRange(1), default=300, show_default=True,
        help="at most so many from one address in ten minutes",
    ),
    click.option(
        "--sign-in-link", is_flag=True, help="print a one-time link to sign in with"
    ),
    click.option("--no-live", is_flag=True, help="fit nothing while the site runs"),
)  # fmt: skip
SECONDS = click.FloatRange(0, min_open=True)
OPTIONS = (
    click.option(
        "--max-header-bytes", type=click.IntRange(1024), default=32768, show_default=True,
        help="largest headers of a request",
    ),
    click.option(
        "--header-seconds", type=SECONDS, default=10, show_default=True,
        help="time for them to arrive",
    ),
    click.option(
        "--max-body-bytes", type=click.IntRange(1024), default=1048576, show_default=True,
        help="largest body of a request",
    ),
    click.option(
        "--body-seconds", type=SECONDS, default=30, show_default=True, help="time for it to arrive"
    ),
    click.option(
        "--max-connections", type=click.IntRange(1), default=1000, show_default=True,
        help="at once, by all workers together",
    ),
    click.option(
        "--min-free-bytes", type=click.IntRange(0), default=67108864, show_default=True,
        help="free space below which /health is not well",
    ),
    click.option(
        "--log-format", type=click.Choice(["plain", "json"]), default="plain", show_default=True,
        help="json: a line for each request, too; never with addresses or secrets",
    ),
    click.option(
        "--metrics-port", type=click.IntRange(1, 65535),
        help="for Prometheus: /metrics on this port of this machine alone",
    ),
)  # fmt: skip


Command = Callable[..., Any]


def listening_options(command: Command) -> Command:
    """A command with the options that say where a site listens, and to whom."""
    return _with(LISTENING, command)


def serving_options(command: Command) -> Command:
    """A command with the options about the network, reports, backups and mail."""
    return _with(OPTIONS, backup_options(mail_options(command)))


def _with(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def take_start_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as those of a site; a mail server goes to the environment."""
    from tiewise.study.inviting.mail import export_mail_server
    from tiewise.web.security import RateLimit, RateLimits
    from tiewise.web.serving.options import HttpLimits

    taken: dict[str, Any] = {
        "limits": RateLimits(sign_ups=RateLimit(options.pop("sign_ups"), 600)),
        "http_limits": HttpLimits(**{name: options.pop(name) for name in HttpLimits._fields}),
        "backups": take_schedule(options), "live": not options.pop("no_live"),
        "write_line": click.echo,
    }  # fmt: skip
    export_mail_server(*take_mail_options(options))
    return options | taken
