"""The options that name a mail server, for `tiewise serve` and `tiewise invite`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tiewise.study.inviting import PASSWORD_FILE, SENDER, SERVER

Command = TypeVar("Command", bound=Callable[..., Any])


def mail_options(command: Command) -> Command:
    """A command with the options of a mail server."""
    options = (
        click.option(
            "--mail-server", envvar=SERVER,
            help="to mail invitations: smtp://user@mail.example.org:587, or smtps://",
        ),
        click.option("--mail-from", envvar=SENDER, help="the sender's mail address"),
        click.option(
            "--mail-password-file", envvar=PASSWORD_FILE, help="file with the server's password"
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def take_mail_options(options: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Take the options of a mail server out of those of a command."""
    return (
        options.pop("mail_server"), options.pop("mail_from"), options.pop("mail_password_file"),
    )  # fmt: skip
