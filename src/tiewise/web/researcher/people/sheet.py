"""Links to hand out: QR codes of them, a sheet to print, and a table for a mail merge."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tiewise.data.spreadsheet_cells import defuse, defuse_free_text
from tiewise.study.inviting.invitation_store import FreshLink
from tiewise.web.rendering import render

STYLE = Path(__file__).parents[2] / "static" / "sheet.css"
BORDER = 4
"""Light modules around a code: fewer, and some readers do not find it."""
COLUMNS = ("name", "mail", "link")


class SheetCard(NamedTuple):
    """A card of the sheet: for whom, their link, and its QR code as SVG."""

    label: str
    link: str
    code: str


def cards(links: Iterable[FreshLink], base_url: str) -> list[SheetCard]:
    """A card for each link."""
    return [
        SheetCard(one.label, address, qr_code(address))
        for one in links
        for address in [base_url.rstrip("/") + one.path]
    ]


def qr_code(address: str) -> str:
    """The QR code of an address as SVG, which scales; damage to a seventh of it does no harm."""
    import segno

    rows = list(segno.make(address, error="m", micro=False).matrix)
    side = len(rows) + 2 * BORDER
    runs = (
        f"M{BORDER + x} {BORDER + y}h{length}v1h-{length}z"
        for y, row in enumerate(rows)
        for x, length in _runs(row)
    )
    return (
        f'<svg viewBox="0 0 {side} {side}" shape-rendering="crispEdges">'
        f'<path fill="#fff" d="M0 0h{side}v{side}H0z"/>'
        f'<path fill="#000" d="{"".join(runs)}"/></svg>'
    )


def _runs(row: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Where dark modules begin in a row, and how many there are side by side."""
    x = 0
    for dark, modules in groupby(row):
        length = len(list(modules))
        if dark:
            yield x, length
        x += length


def sheet_file(links: Sequence[FreshLink], base_url: str, title: str) -> str:
    """The sheet as a page of its own, to be printed without the site."""
    return render(
        "researcher/sheet_file.html",
        cards=cards(links, base_url),
        title=title,
        style=STYLE.read_text(encoding="utf-8"),
    )


def merge_table(links: Iterable[FreshLink], base_url: str) -> str:
    """Names, addresses and links as CSV; what a spreadsheet would run is defused."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for one in links:
        row = (one.label, one.mail, base_url.rstrip("/") + one.path)
        writer.writerow([defuse(defuse_free_text(value)) for value in row])
    return "\ufeff" + out.getvalue()
