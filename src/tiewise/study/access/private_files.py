"""Files and folders of a study that nobody but their owner can read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

FILE_MODE, FOLDER_MODE = 0o600, 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO
BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite adds to the name of a database for the files that it keeps beside it."""


def is_private(path: Path) -> bool:
    """Whether nobody but the owner can read, write or run it."""
    return not path.stat().st_mode & OTHERS


def make_private(path: Path) -> None:
    """Take a file or folder away from everybody but its owner; that of another owner stays."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if mode & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)


def create_private(path: Path, content: bytes = b"") -> None:
    """A new file that is private from its first byte on; refused where there is one."""
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    with os.fdopen(file, "wb") as opened:
        opened.write(content)


def private_folder(path: Path) -> Path:
    """A folder that only its owner can look into, made where there is none."""
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    make_private(path)
    return path


def make_study_private(folder: Path) -> None:
    """Keep the key and the backups of a study to their owner, whenever they were made."""
    make_private(folder / "secret")
    backups = folder / "backups"
    if backups.is_dir():
        for path in (backups, *backups.iterdir()):
            make_private(path)


def make_database_private(path: Path) -> None:
    """Keep an SQLite database to its owner, existing or about to be made.

    SQLite gives the files that it makes beside a database the mode of the database.
    """
    with suppress(OSError):  # SQLite says what is wrong with the place
        create_private(path)
    for end in BESIDE:
        make_private(path.with_name(path.name + end))
