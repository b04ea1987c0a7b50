"""Sound and video: checked to be whole, and copied without their metadata.

Runs in the process that decodes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tiewise.study.media.checks import digest_of
from tiewise.study.media.faults import FileFault

DAMAGED = "is damaged or cut off; save it again, or take it out"
NOT_PLAYED = {b"hvc1": "HEVC", b"hev1": "HEVC", b"mp4v": "MPEG-4 Part 2", b"apcn": "ProRes"}
"""Marks of codecs that many browsers do not play."""
HEADER = 1 << 22
"""Bytes of a header that are searched for such marks."""
KEPT_CHUNKS = (b"fmt ", b"fact", b"data")


def take(path: str, out: str, *, reader: str, ending: str, keep: bool) -> dict[str, Any]:
    """The recording copied into a folder; `bare` leaves its metadata out."""
    source = Path(path)
    with source.open("rb") as file:
        _check(file, reader)
    copy = Path(out, f"recording{ending}")
    bare = not keep and _write_bare(source, copy, reader)
    if not bare:
        shutil.copyfile(source, copy)
    name = f"{digest_of(copy)[:24]}{ending}"
    copy.rename(copy.with_name(name))
    return {"file": name, "bare": bare}


# Whether it is whole.


def _check(file: BinaryIO, reader: str) -> None:
    size = os.fstat(file.fileno()).st_size
    if reader == "wav":
        _check_wav(file, size)
    elif reader == "mp4":
        _check_mp4(file, size)
    elif reader == "ogg":
        file.seek(max(size - HEADER, 0))
        # The last page of a stream says so in its flags.
        tail = file.read()
        if len(tail) < 27 or b"OggS" not in tail:
            raise FileFault(DAMAGED)
    elif size < 128:
        raise FileFault(DAMAGED)


def _check_wav(file: BinaryIO, size: int) -> None:
    chunks = {name: (start, length) for name, start, length in _chunks(file, size)}
    if not {b"fmt ", b"data"} <= chunks.keys() or chunks[b"data"][1] == 0:
        raise FileFault(DAMAGED)
    if any(start + length > size for start, length in chunks.values()):
        raise FileFault(DAMAGED)


def _chunks(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Names, starts and lengths of the chunks of a RIFF file."""
    at = 12
    while at + 8 <= size:
        file.seek(at)
        name, length = file.read(4), int.from_bytes(file.read(4), "little")
        yield name, at + 8, length
        at += 8 + length + length % 2


def _check_mp4(file: BinaryIO, size: int) -> None:
    boxes = dict.fromkeys((b"moov", b"mdat"), (0, 0))
    at = 0
    while at + 8 <= size:
        file.seek(at)
        length, name = int.from_bytes(file.read(4), "big"), file.read(4)
        if length == 1:
            length = int.from_bytes(file.read(8), "big")
        length = length or size - at
        if length < 8 or at + length > size:
            raise FileFault(DAMAGED)
        boxes[name] = at, length
        at += length
    if not (boxes[b"moov"][1] and boxes[b"mdat"][1]):
        raise FileFault(DAMAGED)
    file.seek(boxes[b"moov"][0])
    header = file.read(min(boxes[b"moov"][1], HEADER))
    for mark, codec in NOT_PLAYED.items():
        if mark in header:
            raise FileFault(
                f"is packed as {codec}, which many browsers do not play; save it as MP4 with H.264"
            )


# Metadata: names, places, devices.


def _write_bare(source: Path, copy: Path, reader: str) -> bool:
    """Copy sound and picture without metadata; False for formats where we cannot."""
    if reader == "wav":
        return _write_bare_wav(source, copy)
    program = shutil.which("ffmpeg")
    if program is None:
        return False
    muxer = {"mp4": ("-f", "mp4", "-movflags", "+faststart")}.get(reader, ("-f", reader))
    if reader == "mp3":
        muxer = (*muxer, "-id3v2_version", "0", "-write_id3v1", "0")
    words = [
        program, "-nostdin", "-v", "error", "-y", "-protocol_whitelist", "file",
        "-f", {"webm": "matroska"}.get(reader, reader), "-i", f"file:{source}",
        "-map", "0:V:0?", "-map", "0:a?", "-map_metadata", "-1", "-map_metadata:s", "-1",
        "-map_chapters", "-1", "-fflags", "+bitexact", "-flags", "+bitexact", "-c", "copy",
        *muxer, f"file:{copy}",
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode or not copy.stat().st_size:
        raise FileFault(DAMAGED)
    return True


def _write_bare_wav(source: Path, copy: Path) -> bool:
    """The sound of a WAV file without its other chunks."""
    with source.open("rb") as file, copy.open("wb") as out:
        size = os.fstat(file.fileno()).st_size
        out.write(b"RIFF\0\0\0\0WAVE")
        for name, start, length in _chunks(file, size):
            if name in KEPT_CHUNKS:
                out.write(name + length.to_bytes(4, "little"))
                file.seek(start)
                _copy(file, out, length)
                out.write(b"\0" * (length % 2))
        length = out.tell() - 8
        out.seek(4)
        out.write(length.to_bytes(4, "little"))
    return True


def _copy(file: BinaryIO, out: BinaryIO, length: int) -> None:
    while length and (piece := file.read(min(length, 1 << 20))):
        out.write(piece)
        length -= len(piece)
