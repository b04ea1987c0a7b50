"""All items from the highest estimate to the lowest."""

from __future__ import annotations

from tiewise.posterior.results_folder import Results
from tiewise.report.item_rows import item_records, item_table
from tiewise.report.section import Fragment, PictureRow, Section


def list_section(results: Results) -> Section:
    """The ranked list."""
    rows = item_records(item_table(results))
    blocks = (Fragment("list", {"rows": rows}), PictureRow(("ranking",)))
    return Section("list", "Ranked list", "Ranked list", blocks)
