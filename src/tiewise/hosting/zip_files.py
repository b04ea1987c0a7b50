"""Zip files that were uploaded: unpacked within bounds, and never to anywhere else."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path

from tiewise.errors import InputError
from tiewise.hosting.drafts import MEGABYTE, MOST_FILES, UploadFault, safe_name

PIECE = 1 << 20
LITTER = ("__macosx", "thumbs.db", "desktop.ini")


def unpack(path: Path, into: Path, most_megabytes: int) -> None:
    """Unpack a zip file into a folder; refused where it holds what would lie outside of that."""
    left = most_megabytes * MEGABYTE
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [one for one in archive.infolist() if not _is_litter(one)]
            if len(entries) > MOST_FILES:
                raise InputError(f"{path.name} has more than {MOST_FILES:,} files; divide it")
            for entry in entries:
                left -= _unpack_one(archive, entry, path, into, left)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise InputError(
            f"{path.name} cannot be unpacked ({error}); make the zip file again, without a password"
        ) from None


def _is_litter(entry: zipfile.ZipInfo) -> bool:
    parts = entry.filename.split("/")
    hidden = any(part.startswith(".") and part not in (".", "..") for part in parts)
    return entry.is_dir() or hidden or any(part.lower() in LITTER for part in parts)


def _unpack_one(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, into: Path, most: int
) -> int:
    """Write one file; how many bytes it has, whatever the zip file says of it."""
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise InputError(
            f"{path.name} holds the link {entry.filename!r}; put the file itself there"
        )
    try:
        target = into / safe_name(entry.filename)
    except UploadFault:
        raise InputError(
            f"{path.name} holds {entry.filename[:100]!r}, which would lie outside of its folder or "
            "has a name that cannot be; make the zip file again"
        ) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        raise InputError(f"{entry.filename!r} is there twice; rename one")
    size = 0
    with archive.open(entry) as source, target.open("xb") as file:
        while piece := source.read(PIECE):
            size += len(piece)
            if size > most:
                raise InputError(f"{path.name} unpacks to more than a study may have; divide it")
            file.write(piece)
    return size
