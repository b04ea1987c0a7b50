"""The options of `tiewise serve` that say what it takes from the network and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

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


def serving_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with these options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
