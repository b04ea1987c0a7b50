"""All items from the highest estimate to the lowest."""

from __future__ import annotations

from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.results_folder import Results
from tiewise.report.item_rows import item_records, item_table
from tiewise.report.section import Fragment, PictureRow, Section
from tiewise.report.sections.long_list import long_list_section


def list_section(results: Results) -> Section:
    """The ranked list; of very many items both ends, and a search."""
    if len(results.items) > MANY_ITEMS:
        return long_list_section(results)
    rows = item_records(item_table(results))
    blocks = (Fragment("list", {"rows": rows}), PictureRow(("ranking",)))
    return Section("list", "Ranked list", "Ranked list", blocks)
