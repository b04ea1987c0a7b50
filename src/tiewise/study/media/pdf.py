"""The pages of a PDF as pictures, with their text for those who do not see them.

Runs in the process that decodes.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiewise.study.media.faults import FileFault
from tiewise.study.media.pictures import LONGEST, MEGA, PAGE_BYTES, upright, write_copies
from tiewise.text import readable_line

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

LONG_SIDE = 2400
"""Pixels of the longer side of a page."""
MOST_LETTERS = 20_000
"""Of a page's text."""
PASSWORD = 4
"""What PDFium says of a document that it has no password for."""


def decode(path: str, out: str, *, megapixels: int, pages: int) -> list[dict[str, Any]]:
    """Every page copied into a folder."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", 0) == PASSWORD or "password" in str(error).lower():
            raise FileFault("asks for a password; save it without one") from error
        raise FileFault("is damaged or cut off; save it again, or take it out") from error
    with closing(document):
        _check_number(document, pages)
        document.init_forms()
        for k in range(len(document)):
            with closing(document[k]) as page:
                _check_page(page, k + 1, megapixels)
        return [_page(document, k, Path(out)) for k in range(len(document))]


def _check_number(document: PdfDocument, pages: int) -> None:
    if len(document) == 0:
        raise FileFault("has no pages; is it the right file?")
    if len(document) > pages:
        raise FileFault(
            f"has {len(document)} pages, more than {pages}; divide it, or raise the limit pages"
        )


def _check_page(page: PdfPage, number: int, megapixels: int) -> None:
    """Count what a page would be to decode, from its sizes alone."""
    from pypdfium2 import PdfImage
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    width, height = page.get_size()
    if min(width, height) < 1 or max(width, height) > LONGEST * min(width, height):
        raise FileFault(
            f"has a page {number} of {width:.0f} × {height:.0f} points, which is nothing to look "
            "at; print it anew"
        )
    images = (one for one in page.get_objects([FPDF_PAGEOBJ_IMAGE]) if isinstance(one, PdfImage))
    pixels = sum(wide * high for wide, high in (one.get_px_size() for one in images))
    if pixels > megapixels * MEGA:
        raise FileFault(
            f"has pictures of {pixels // MEGA} million pixels on page {number}, more than "
            f"{megapixels} million; save it smaller, or raise the limit megapixels"
        )


def _page(document: PdfDocument, k: int, out: Path) -> dict[str, Any]:
    with closing(document[k]) as page:
        scale = LONG_SIDE / max(page.get_size())
        picture = page.render(scale=scale).to_pil()
        with closing(page.get_textpage()) as layer:
            text = layer.get_text_bounded()
        return {**write_copies(upright(picture), out, PAGE_BYTES), "text": _tidied(text)}


def _tidied(text: str) -> str:
    """The text of a page with its lines, without characters that a screen reader cannot speak."""
    lines = (" ".join(readable_line(line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)[:MOST_LETTERS]
