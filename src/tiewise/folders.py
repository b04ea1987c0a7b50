"""Writing a folder whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tiewise.errors import InputError


def check_output_folder(out: Path, *, force: bool) -> None:
    """Refuse an output folder that cannot be written, or that holds something unless `force`."""
    try:
        _refuse(out, out.resolve(), force=force)
    except OSError as error:
        raise _unwritable(out, error) from error


def _refuse(out: Path, place: Path, *, force: bool) -> None:
    if place.exists() and not place.is_dir():
        raise InputError(f"{out} is a file; name a folder for the results (out=)")
    # A folder is replaced as a whole, and nobody should be standing in it meanwhile.
    if Path.cwd().is_relative_to(place):
        raise InputError(f"{out} is the folder you are in; name one inside it (out=)")
    if os.path.ismount(place):
        raise InputError(f"{out} is a mounted volume; name a folder inside it (out=)")
    if place.is_dir() and any(place.iterdir()) and not force:
        raise InputError(
            f"{out} is not empty; name another folder (out=), or overwrite (force=True)"
        )
    above = next(folder for folder in place.parents if folder.exists())
    if not above.is_dir():
        raise InputError(f"{above} is a file, so {out} cannot be in it; name another (out=)")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{above} may not be written to; name another folder (out=)")


def _unwritable(out: Path, error: OSError) -> InputError:
    why = os.strerror(error.errno) if error.errno else str(error)
    return InputError(f"{out} cannot be written ({why}); name another (out=)")


@contextmanager
def atomic_folder(
    out: Path,
    *,
    force: bool = False,
    replaces: Collection[str] = (),
    shared: Collection[str] = ("pictures",),
) -> Iterator[Path]:
    """A temporary folder to write in, which is renamed to `out` when the block ends without error.

    With `force`, what is in `out` is carried over, except for the files named in `replaces`, there
    and in its `shared` subfolders.
    """
    check_output_folder(out, force=force)
    try:
        with _swapped(out.resolve(), replaces, shared) as new:
            yield new
    except OSError as error:
        raise _unwritable(out, error) from error


@contextmanager
def _swapped(place: Path, replaces: Collection[str], shared: Collection[str]) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name[:60]}.", dir=place.parent))
    new, old = beside / "new", beside / "old"
    try:
        new.mkdir()
        yield new
        if place.is_dir():
            _carry_over(place, new, replaces, shared)
            place.rename(old)
        new.rename(place)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        shutil.rmtree(beside, ignore_errors=True)


def _carry_over(old: Path, new: Path, replaces: Collection[str], shared: Collection[str]) -> None:
    for entry in old.iterdir():
        if entry.name in shared and entry.is_dir() and not entry.is_symlink():
            # It may hold files of ours and of the user's side by side.
            (new / entry.name).mkdir(exist_ok=True)
            _carry_over(entry, new / entry.name, replaces, shared)
            if not any((new / entry.name).iterdir()):
                (new / entry.name).rmdir()
            continue
        if entry.name in replaces or (new / entry.name).exists():
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, new / entry.name, follow_symlinks=False)
    shutil.copymode(old, new)
