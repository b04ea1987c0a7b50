"""The briefing: two pages for people who decide, as a PDF that screen readers can read."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiewise.errors import InputError, InputWarning
from tiewise.folders import check_output_file
from tiewise.optional import require
from tiewise.posterior.results_folder import Results
from tiewise.report.briefing_values import template_values
from tiewise.text import one_line

if TYPE_CHECKING:
    import typst

TITLE, ORGANISATION, CONTACT = 120, 100, 160  # letters at most
MOST_CONTACTS = 6
KEYWORD = b"Tiewise briefing"
"""What our template writes into every briefing."""


def write_briefing(
    results: Results,
    *,
    title: str | None = None,
    question: str | None = None,
    organisation: str = "",
    contacts: Sequence[str] = (),
    higher: str | None = None,
    lower: str | None = None,
    noun: str | None = None,
    scale: str | None = None,
    template: str | Path | None = None,
    out: str | Path | None = None,
    force: bool = False,
) -> Path:
    """Write the briefing as PDF, by default into the results folder, and say where it is.

    Words that are not given are those of the study; without a title, the question is the title.
    """
    place = Path(out) if out is not None else results.folder / "briefing.pdf"
    _refuse(place, ".pdf")
    # In a results folder it is ours by its name.
    keyword = KEYWORD if out is not None else b""
    check_output_file(place, "a briefing of ours", [b"%PDF-"], force=force, text=keyword)
    if len(contacts) > MOST_CONTACTS:
        raise InputError(f"{len(contacts)} contacts do not fit; give {MOST_CONTACTS} at most")
    options = {"question": question, "higher": higher, "lower": lower, "noun": noun}
    options |= {"scale": scale}
    changes: dict[str, Any] = {key: value for key, value in options.items() if value}
    wording = replace(results.wording, **changes)
    values, drawing = template_values(replace(results, wording=wording))
    values |= {
        "title": one_line(title or "", TITLE) or one_line(values["question"], TITLE) or "Briefing",
        "organisation": one_line(organisation, ORGANISATION),
        "contacts": [one_line(contact, CONTACT) for contact in contacts],
    }
    inputs = {"values": json.dumps(values, ensure_ascii=False, allow_nan=False), "map": drawing}
    with _template(template) as path:
        _write(place, compiled(path, inputs))
    return place


def write_template(out: str | Path, *, force: bool = False) -> Path:
    """Write the template to a file, to be edited and given to `write_briefing`."""
    place = Path(out)
    _refuse(place, ".typ")
    with _template(None) as ours:
        content = ours.read_bytes()
    starts = [content.partition(b"\n")[0]]
    check_output_file(place, "a template of ours", starts, force=force)
    _write(place, content)
    return place


def _refuse(place: Path, ending: str) -> None:
    """Refuse before any work what could not be written."""
    if place.is_dir():
        raise InputError(f"{place} is a folder; name a file in it, ending in {ending} (out=)")
    if place.suffix.lower() != ending:
        raise InputError(f"{place} does not end in {ending}; name it so (out=)")


@contextmanager
def _template(own: str | Path | None) -> Iterator[Path]:
    """The template as a file: the researcher's own, or ours wherever it is packed."""
    if own is None:
        with as_file(files("tiewise.report") / "templates" / "briefing.typ") as path:
            yield path
        return
    path = Path(own)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a template in it (template=)")
    if not path.is_file():
        raise InputError(
            f"no template {path}; write_template('FILE.typ') writes one that can be edited"
        )
    yield path


def _write(place: Path, content: bytes) -> None:
    """Write beside the place and move there, so that nothing is ever half-written."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".briefing.", dir=place.parent) as beside:
            new = Path(beside) / "new"
            new.write_bytes(content)
            new.replace(place)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{place} cannot be written ({why}); name another (out=)") from error


def compiled(template: Path, inputs: Mapping[str, str]) -> bytes:
    """A template set by Typst with these values: PDF/UA-1 where it can be, tagged in any case.

    Fonts are Typst's and Matplotlib's own, so that pages are the same everywhere; only a letter
    that none of them has is looked for among the fonts of this computer.
    """
    require("a briefing", "typst", "matplotlib")
    import typst

    message = ""
    for own_fonts, accessible in ((True, True), (False, True), (False, False)):
        try:
            pdf = _set(template, inputs, own_fonts=own_fonts, accessible=accessible)
        except typst.TypstError as error:
            message = _complaint(error)
            if "PDF/UA" not in message:
                break
            continue
        if not accessible:
            way = "; install a font that has it" if "could not be displayed" in message else ""
            warnings.warn(f"not a fully accessible PDF: {message}{way}", InputWarning, stacklevel=3)
        return pdf
    raise InputError(f"{template} cannot be set: {message}; correct it, or leave out template=")


def _set(template: Path, inputs: Mapping[str, str], *, own_fonts: bool, accessible: bool) -> bytes:
    import typst

    compiler = typst.Compiler(
        template, root=template.parent, font_paths=_fonts(),
        ignore_system_fonts=own_fonts, sys_inputs=dict(inputs),
    )  # fmt: skip
    pdf = compiler.compile(format="pdf", pdf_standards=["ua-1"] if accessible else [], timestamp=0)
    assert isinstance(pdf, bytes)  # several files only for pictures of pages
    return pdf


def _fonts() -> list[Path]:
    """DejaVu Sans, for letters that Typst's own fonts lack, such as Arabic ones."""
    import matplotlib as mpl

    # Not the whole folder: its font of last resort has a box for every letter there is.
    return sorted((Path(mpl.get_data_path()) / "fonts" / "ttf").glob("DejaVuSans*.ttf"))


def _complaint(error: typst.TypstError) -> str:
    """Typst's own words, the line they are about, and its hint."""
    where = re.search(r"┌─ (?:.*[/\\])?([^/\\\n]+:\d+):\d+", error.diagnostic)
    line = f"{where[1]}: " if where else ""
    hint = f" ({error.hints[0]})" if error.hints else ""
    return f"{line}{one_line(error.message, 300)}{hint}"
