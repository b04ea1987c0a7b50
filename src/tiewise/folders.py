"""Folders of results: which may be written, and writing them whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tiewise.errors import InputError

STUDY_FILES = ("study.toml", "study.db")
"""Where one of these is, there is a study."""


@dataclass(frozen=True, slots=True)
class FolderKind:
    """What a command writes into a folder."""

    name: str
    """What it is called in messages, such as "results of `tiewise fit`"."""
    files: tuple[str, ...]
    """Names of the files that are replaced together, there and in the `shared` subfolders."""
    marks: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    """Files by which such a folder is known, and how they may begin."""
    shared: tuple[str, ...] = ("pictures",)
    """Subfolders that may hold files of ours and of the user's side by side."""

    def is_in(self, folder: Path) -> bool:
        """Whether a folder holds this; one that is known by nothing is never replaced."""
        return bool(self.marks) and all(
            begins_with(folder / name, starts) for name, starts in self.marks.items()
        )

    def with_files(self, names: Collection[str]) -> FolderKind:
        """The same with more files."""
        return FolderKind(self.name, (*self.files, *names), self.marks, self.shared)


def begins_with(path: Path, starts: Iterable[bytes]) -> bool:
    """Whether a file is there and begins with one of these."""
    if not path.is_file():
        return False
    starts = tuple(starts)
    with path.open("rb") as file:
        return file.read(max(map(len, starts), default=0)).startswith(starts)


def refuse_study(out: Path, *, below: bool = False) -> None:
    """Refuse to write results over a study, or studies `below`: nobody can give answers again."""
    place = out.resolve()
    if not place.is_dir():
        return
    children = [path for path in place.iterdir() if _is_folder(path)] if below else []
    for folder in (place, *children):
        names = [name for name in STUDY_FILES if (folder / name).exists()]
        if names:
            where = "" if folder == place else f" in {folder.name}"
            raise InputError(
                f"{out} holds a study ({names[0]}{where}), and results are never written over one; "
                "name another folder (out=)"
            )


def check_contents(out: Path, kind: FolderKind, *, force: bool) -> None:
    """Refuse a folder that holds a study, files of others alone, or ours unless `force`."""
    refuse_study(out, below=True)
    names = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    if not names:
        return
    if not kind.is_in(out):
        raise InputError(
            f"{out} is not empty and does not hold {kind.name} (it has {_some(names)}), so that "
            "force=True would not overwrite it either; name another folder (out=)"
        )
    if not force:
        raise InputError(
            f"{out} is not empty; name another folder (out=), or overwrite (force=True)"
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:60] for name in names[:3]) + more


def check_output_folder(out: Path, kind: FolderKind, *, force: bool) -> None:
    """Refuse an output folder that cannot be written, or that holds something else.

    With `force` it may hold what is to be replaced, and files of others beside that.
    """
    try:
        _refuse(out, out.resolve(), kind, force=force)
    except OSError as error:
        raise _unwritable(out, error) from error


def _refuse(out: Path, place: Path, kind: FolderKind, *, force: bool) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        place.stat()  # newer Pythons call a name that is too long one that is not there
    if place.exists() and not place.is_dir():
        raise InputError(f"{out} is a file; name a folder for the results (out=)")
    # A folder that is empty is replaced as a whole, and nobody should be standing in it meanwhile.
    if Path.cwd().is_relative_to(place):
        raise InputError(f"{out} is the folder you are in; name one inside it (out=)")
    if os.path.ismount(place):
        raise InputError(f"{out} is a mounted volume; name a folder inside it (out=)")
    check_contents(out, kind, force=force)
    above = next(folder for folder in place.parents if folder.exists())
    if not above.is_dir():
        raise InputError(f"{above} is a file, so {out} cannot be in it; name another (out=)")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{above} may not be written to; name another folder (out=)")


def check_output_file(
    out: Path, what: str, starts: Iterable[bytes], *, force: bool, text: bytes = b""
) -> None:
    """Refuse a file that is there, unless `force` and it is one of ours.

    Ours begin with one of `starts` and have `text` somewhere in them; `what` is such a file.
    """
    if out.is_dir():
        raise InputError(f"{out} is a folder; name a file in it (out=)")
    if not out.exists():
        return
    if not begins_with(out, starts) or text not in out.read_bytes():
        raise InputError(
            f"{out} is there and is not {what}, so that force=True would not overwrite it either; "
            "name another (out=)"
        )
    if not force:
        raise InputError(f"{out} is there; name another (out=), or overwrite it (force=True)")


def _unwritable(out: Path, error: OSError) -> InputError:
    why = os.strerror(error.errno) if error.errno else str(error)
    return InputError(f"{out} cannot be written ({why}); name another (out=)")


@contextmanager
def atomic_folder(out: Path, kind: FolderKind, *, force: bool = False) -> Iterator[Path]:
    """A temporary folder to write in, whose files are moved to `out` if the block ends well.

    With `force`, the files of an earlier one are replaced. Files that are not ours are not touched.
    """
    check_output_folder(out, kind, force=force)
    place = out.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name[:60]}.", dir=place.parent))
        try:
            new = beside / "new"
            new.mkdir()
            yield new
            _move_in(new, place, beside / "old", kind)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise _unwritable(out, error) from error


def _move_in(new: Path, place: Path, old: Path, kind: FolderKind) -> None:
    if place.is_dir() and any(place.iterdir()):
        _replace_files(new, place, old, kind)
        return
    if place.is_dir():
        shutil.copymode(place, new)
        place.rmdir()
    new.rename(place)


def _replace_files(new: Path, place: Path, old: Path, kind: FolderKind) -> None:
    """Move our old files out and the new ones in; where that fails, all is put back."""
    stale = _our_files(place, kind)
    fresh = [path.relative_to(new) for path in new.rglob("*") if not path.is_dir()]
    _refuse_foreign(place, fresh, stale)
    # What marks a folder as whole goes first and comes last: one that is cut off is not taken for
    # results.
    stale.sort(key=lambda path: path.name not in kind.marks)
    fresh.sort(key=lambda path: path.name in kind.marks)
    done: list[tuple[Path, Path]] = []
    try:
        for path in stale:
            _move(place / path, old / path, done)
        for path in fresh:
            _move(new / path, place / path, done)
    except BaseException:
        for source, target in reversed(done):
            target.rename(source)
        raise
    finally:
        for name in kind.shared:
            _remove_empty(place / name)


def _our_files(place: Path, kind: FolderKind) -> list[Path]:
    """Files of ours in a folder and its shared subfolders, by their names."""
    shared = [name for name in kind.shared if _is_folder(place / name)]
    paths = [Path(folder, name) for folder in ("", *shared) for name in kind.files]
    return [path for path in paths if (place / path).is_file() or (place / path).is_symlink()]


def _refuse_foreign(place: Path, fresh: Iterable[Path], stale: Collection[Path]) -> None:
    """Refuse to write where something is that we did not write."""
    for path in fresh:
        folders = [one for one in path.parents if one != Path() and not _is_folder(place / one)]
        needed = [*folders, *([path] if path not in stale else [])]
        taken = [one for one in needed if os.path.lexists(place / one)]
        if taken:
            raise InputError(
                f"{place / taken[0]} is in the way and not ours to overwrite; move it, or name "
                "another folder (out=)"
            )


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _move(source: Path, target: Path, done: list[tuple[Path, Path]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)
    done.append((source, target))


def _remove_empty(folder: Path) -> None:
    if _is_folder(folder) and not any(folder.iterdir()):
        folder.rmdir()
