"""The options that name a study's database, and keep its password out of the list of processes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
from click.core import ParameterSource

from tiewise.cli.options import combine
from tiewise.errors import InputError

PASSWORD = re.compile(r"://[^:/@]*:[^@]+@|[?&](ssl)?password=[^&]")
"""In an address: after the user's name, or among the parameters."""
FROM_FILE = "tiewise.database_file"


def _take_file(context: click.Context, option: click.Parameter, file: str | None) -> None:
    if file is not None:
        context.meta[FROM_FILE] = (context.get_parameter_source("database_file"), file)


def _take_address(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
    """The address, wherever it was given; what is on the command line has the last word."""
    source = context.get_parameter_source("database")
    file_source, file = context.meta.pop(FROM_FILE, (None, None))
    if file is not None and url is not None and file_source == source:
        raise InputError(
            "the database is named twice, by --database and by --database-file; leave one out"
        )
    if file is not None and (url is None or file_source == ParameterSource.COMMANDLINE):
        return read_address(Path(file))
    if url is not None and source == ParameterSource.COMMANDLINE and PASSWORD.search(url):
        raise InputError(
            "--database holds a password, which everybody on this machine can read in the list of "
            "processes; change that password, then put the address in the variable "
            "TIEWISE_DATABASE or in a file (--database-file), or the password in PGPASSFILE"
        )
    return url


def read_address(path: Path) -> str:
    """The address of a database from a file of one line, which others cannot read."""
    try:
        address, status = path.read_text(encoding="utf-8").strip(), path.stat()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"--database-file {path} cannot be read ({why})") from None
    if not address or "\n" in address:
        raise InputError(
            f"--database-file {path} holds no address; write one line into it, such as "
            "postgresql://user:password@host/name"
        )
    # A secret that a container is given belongs to root, and is not ours to keep from others.
    ours = os.name == "posix" and status.st_uid == os.geteuid()
    if ours and status.st_mode & 0o077 and PASSWORD.search(address):
        raise InputError(
            f"--database-file {path} holds a password, and others can read it; keep it to "
            f"yourself with: chmod 600 {path}"
        )
    return address


DATABASE = combine(
    click.option(
        "--database",
        envvar="TIEWISE_DATABASE",
        callback=_take_address,
        help="PostgreSQL address of the study, without a password; default: the file DIR/study.db",
    ),
    click.option(
        "--database-file",
        envvar="TIEWISE_DATABASE_FILE",
        callback=_take_file,
        is_eager=True,
        expose_value=False,
        help="file with that address, where it holds a password",
    ),
)
"""`--database` and `--database-file`; a command gets `database`, from whichever."""
