"""Cells of tables that people open in a spreadsheet: text that it would take for a formula.

Such text gets an apostrophe before it, which our own reader takes off again. Numbers stay as they
are. Whatever is written this way is read back as it was: a text that has the apostrophe already
gets another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MARK = "'"
FULLWIDTH = (
    "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
"""What some spreadsheets take for the ordinary signs."""
FIRST = rf"[=+\-@\t\r\n{FULLWIDTH}]"
_MARKED = re.compile(f"{MARK}+{FIRST}")
_FORMULA = re.compile(FIRST)
_CUT = re.compile(rf"([;\t\n][ \"]*)(?=[=+\-@{FULLWIDTH}])")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def defuse(text: str) -> str:
    """A text as a spreadsheet may have it: one that it would run gets an apostrophe before it."""
    runs = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return MARK + text if runs or _MARKED.match(text) else text


def restore(text: str) -> str:
    """The text that was defused."""
    return text[1:] if _MARKED.match(text) else text


def defuse_free_text(text: str) -> str:
    """What somebody wrote, for a spreadsheet that cuts cells at a semicolon, a tab or a line, too.

    It is for reading alone: `restore` takes off what `defuse` adds, and nothing within a text.
    """
    return _CUT.sub(rf"\1{MARK}", text)


def defuse_cell(value: object) -> object:
    """A cell of any type, defused where it is text."""
    return defuse(value) if isinstance(value, str) else value


def defuse_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with its headings and texts defused."""
    changed = {}
    for name in frame.select_dtypes(exclude=["number", "bool"]).columns:
        texts = {text: defuse(text) for text in frame[name].unique() if isinstance(text, str)}
        risky = {text: safe for text, safe in texts.items() if safe != text}
        if risky:
            changed[name] = [risky.get(value, value) for value in frame[name].astype(object)]
    return frame.assign(**changed).rename(columns=lambda name: defuse(str(name)))


def restore_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as they were before they were defused."""
    import pyarrow.compute as pc

    if not pc.any(pc.starts_with(column, MARK)).as_py():
        return column
    return pc.replace_substring_regex(column, rf"\A{MARK}({MARK}*{FIRST})", r"\1")
