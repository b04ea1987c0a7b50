"""What is known of a table of judgements besides its rows, in a small file beside it.

`comparisons.csv` has `comparisons.about.json` beside it, written by the export of a study. Judges
who could have called a tie and never did say something by that; the rows alone do not show it.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from tiewise.errors import InputError

TIES_OFFERED = "ties_offered"
RAW = "raw"
"""True where cells are as they are, and not defused for spreadsheets."""


def about_path(table: str | PathLike[str]) -> Path:
    """The file beside a table that says what its rows do not."""
    path = Path(table)
    return path.with_name(f"{path.stem}.about.json")


def write_about(table: str | PathLike[str], *, ties_offered: bool, raw: bool = False) -> Path:
    """Write it beside the table."""
    path = about_path(table)
    facts = {TIES_OFFERED: ties_offered} | ({RAW: True} if raw else {})
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def is_raw(table: str | PathLike[str]) -> bool:
    """Whether the file beside a table says that its cells were not defused."""
    path = about_path(table)
    try:
        facts = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (ValueError, RecursionError):  # said where the rest of the file is needed
        return False
    return isinstance(facts, dict) and facts.get(RAW) is True


def read_ties_offered(table: str | PathLike[str]) -> bool | None:
    """Whether judges could call a tie; None where no file beside the table says so."""
    path = about_path(table)
    if not path.is_file():
        return None
    try:
        offered = json.loads(path.read_text(encoding="utf-8"))[TIES_OFFERED]
    except (ValueError, KeyError, TypeError, RecursionError):
        offered = None
    if not isinstance(offered, bool):
        raise InputError(
            f'{path}: it should hold {{"{TIES_OFFERED}": true}} or false, which says whether '
            "judges could call a tie; mend it, or move it away"
        )
    return offered
