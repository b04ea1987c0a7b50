"""The options about backups: their key, and how often `tiewise serve` makes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.study.backups.keys import BackupKey
    from tiewise.study.backups.schedule import BackupSchedule

KEY_FILE_VARIABLE, FOLDER_VARIABLE = "TIEWISE_BACKUP_KEY_FILE", "TIEWISE_BACKUP_INTO"
KEY_FILE = click.option(
    "--key-file", envvar=KEY_FILE_VARIABLE, help="file with the key of backups (`backup-key`)"
)
Command = TypeVar("Command", bound=Callable[..., Any])


def backup_options(command: Command) -> Command:
    """The options of `tiewise serve` about backups."""
    options = (
        click.option(
            "--backup-every", envvar="TIEWISE_BACKUP_EVERY",
            help="back up this often while it runs, such as 1h",
        ),
        click.option(
            "--backup-keep", envvar="TIEWISE_BACKUP_KEEP", type=click.IntRange(1), default=48,
            show_default=True, help="keep so many backups of each study",
        ),
        click.option(
            "--backup-into", envvar=FOLDER_VARIABLE, help="their folder; default: DIR/backups"
        ),
        click.option(
            "--backup-plaintext", envvar="TIEWISE_BACKUP_PLAINTEXT", is_flag=True,
            help="do not encrypt them",
        ),
        KEY_FILE,
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def encryption_key(
    key_file: str | None, *, plaintext: bool, flag: str = "--plaintext"
) -> BackupKey | None:
    """The key to encrypt with; a backup without one has to be asked for."""
    from tiewise.study.backups.keys import read_backup_key

    if plaintext:
        return None
    if not key_file:
        raise InputError(
            "a backup holds all that judges said, and is encrypted; name a key with --key-file "
            f"(`tiewise backup-key FILE` makes one), or say {flag}"
        )
    return read_backup_key(key_file)


def take_schedule(options: dict[str, Any]) -> BackupSchedule | None:
    """Take the options about backups out of those of `serve`: a schedule, or None."""
    from tiewise.study.backups.durations import parse_duration
    from tiewise.study.backups.schedule import BackupSchedule

    every, keep = options.pop("backup_every"), options.pop("backup_keep")
    into, key_file = options.pop("backup_into"), options.pop("key_file")
    plaintext = options.pop("backup_plaintext")
    if key_file:  # for the backup before an upgrade, too
        os.environ[KEY_FILE_VARIABLE] = str(Path(key_file).resolve())
    if not every:
        return None
    key = encryption_key(key_file, plaintext=plaintext, flag="--backup-plaintext")
    source = str(key.source.resolve()) if key else None
    return BackupSchedule(parse_duration(every), keep, source, into)
