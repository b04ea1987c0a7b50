"""The folder of a long run: begun, or resumed from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tiewise.errors import InputError
from tiewise.folders import FolderKind, refuse_study
from tiewise.jobs.journal import Journal

JOURNAL = "journal.jsonl"


def run_folder(name: str, files: Iterable[str]) -> FolderKind:
    """The kind of folder that a run with a journal has; `files` are those besides the journal."""
    return FolderKind(name, (JOURNAL, *files), {JOURNAL: (b"",)})


class FolderCheck(Protocol):
    """Refuse a folder that cannot be begun in."""

    def __call__(self, folder: Path, kind: FolderKind, /, *, force: bool) -> None:
        """Raise an InputError with the way out."""


def open_journal(
    folder: Path,
    heading: Mapping[str, Any],
    *,
    kind: FolderKind,
    check: FolderCheck,
    force: bool = False,
) -> Journal:
    """The journal in a folder, or a new one where `check` allows to begin in it.

    With `force` the run begins anew: the journal and its other files are deleted first.
    """
    path = folder / JOURNAL
    refuse_study(folder)
    if force or not path.exists():
        check(folder, kind, force=force)
    if force:
        _delete(folder, kind.files)
    return Journal(path, heading)


def _delete(folder: Path, names: Iterable[str]) -> None:
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); name another") from error
