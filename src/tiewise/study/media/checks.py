"""Whether a file can be taken, before anything decodes it."""

from __future__ import annotations

import hashlib
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from tiewise.study.media.faults import FileFault
from tiewise.study.media.limits import FileLimits
from tiewise.study.media.signatures import (
    BY_ENDING,
    HEAD,
    TEXTS,
    WAY_OUT,
    FileFormat,
    content_name,
)
from tiewise.text import quantity

MEGABYTE = 1_000_000
PIECE = 1 << 20
TAKEN = "pictures, PDF, texts (.txt, .md), sound and video"


def name_fault(name: str) -> str:
    """What is wrong with the name of a file, with the way out; empty where nothing is.

    What cannot be printed would end a program that says it, and tables lose blanks at the ends.
    """
    shown = ascii(name)
    if any(unicodedata.category(letter) == "Cs" for letter in name):
        return f"the name {shown} is not UTF-8, so that nothing can be said of it; rename it"
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        return f"the name {shown} has a control character in it; rename it"
    if name != name.strip() or Path(name).stem != Path(name).stem.strip():
        return f"the name {shown} begins or ends with a blank, which tables lose; rename it"
    return ""


def check_file(path: Path, name: str, root: Path, limits: FileLimits) -> FileFormat:
    """The format of a file that can be taken; `name` is what messages call it.

    It lies in the folder `root`, is a file, of a size and with the content that its ending says.
    """
    _check_place(path, name, root)
    form = _form(path, name)
    size = path.stat().st_size
    if size == 0:
        raise FileFault(f"{name} is empty; copy it again, or take it out")
    if size > limits.megabytes * MEGABYTE:
        raise FileFault(
            f"{name} has {size / MEGABYTE:.0f} MB, more than the {limits.megabytes} that a file "
            f"may have; make it smaller, or raise the limit megabytes"
        )
    _check_content(path, name, form)
    return form


def _check_place(path: Path, name: str, root: Path) -> None:
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError):
        if path.is_symlink():
            raise FileFault(f"{name} is a link to nothing; put the file itself there") from None
        raise FileFault(
            f"{name} is not there; put it beside the table, or correct its name"
        ) from None
    if not real.is_relative_to(root.resolve()):
        raise FileFault(f"{name} leads outside {root}; put the file itself into that folder")
    if not stat.S_ISREG(mode):
        raise FileFault(f"{name} is no file (a pipe or a device); put a file there")


def _form(path: Path, name: str) -> FileFormat:
    ending = path.suffix.lower()
    if not ending:
        raise FileFault(
            f"{name} has no ending, so that nobody knows what it is; add one, such as .pdf"
        )
    if ending not in BY_ENDING:
        advice = WAY_OUT.get(ending, f"there are {TAKEN}; save it as one of them, or take it out")
        raise FileFault(f"{name} cannot be shown in a browser as it is; {advice}")
    return BY_ENDING[ending]


def _check_content(path: Path, name: str, form: FileFormat) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise FileFault(f"{name} cannot be read ({error.strerror}); ask its owner") from None
    content = content_name(head)
    if form.task in TEXTS:
        # A text may begin with anything that is text, such as a tag.
        if b"\0" in head or content not in (
            "plain text",
            "HTML page",
            "SVG drawing",
            "RTF document",
        ):
            what = f"a {content}" if content else "no text"
            raise FileFault(f"{name} is called a text and is {what}; save it as text, or rename it")
    elif content != form.name and not _is_alike(content, form):
        what = f"is a {content}" if content else "is damaged or something else"
        raise FileFault(
            f"{name} {what}, and its ending says {form.name}; rename it, or save it as one"
        )


def _is_alike(content: str, form: FileFormat) -> bool:
    """Whether two names are of one container: sound in MP4 may have either brand."""
    return {content, form.name} == {"M4A recording", "MP4 video"} and form.name == "M4A recording"


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def repeated(digests: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """A line for every file that has the content of another item's; names and digests by items."""
    first: dict[str, tuple[str, str]] = {}
    lines = []
    for item, files in digests.items():
        for name, digest in files:
            other_item, other = first.setdefault(digest, (item, name))
            if other_item != item:
                lines.append(
                    f"{name} has the same content as {other}, so that nobody could tell them "
                    "apart; take one out"
                )
    return lines


def alike_but_for_case(names: list[str]) -> list[str]:
    """A line for every name that another one differs from in upper and lower case alone."""
    first: dict[str, str] = {}
    lines = []
    for name in names:
        other = first.setdefault(name.casefold(), name)
        if other != name:
            lines.append(
                f"{name} and {other} differ in upper and lower case alone, and many disks hold "
                "one of them; rename one"
            )
    return lines


def too_much(sizes: list[int], limits: FileLimits) -> list[str]:
    """A line where the files are too large together."""
    total = sum(sizes)
    if total <= limits.total * MEGABYTE:
        return []
    return [
        f"{quantity(len(sizes), 'file')} have {total / MEGABYTE:.0f} MB together, more than "
        f"{limits.total}; make them smaller, or raise the limit total"
    ]
