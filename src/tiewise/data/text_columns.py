"""Columns of any type as text, each distinct value turned to text once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Integers

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]

UNKNOWN = -2
"""What `TextColumns.lookup` gives for a text that is not in the table; no answer has this code."""


def as_text(value: object) -> str:
    """The text of an id: 9, 9.0 and " 9 " are all "9", and what is missing is empty."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, (float, np.floating, Decimal)):
        if isnan(value):
            return ""
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value).strip()


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Columns as positions in a list of distinct texts; position 0 is the empty text."""

    texts: tuple[str, ...]
    columns: Mapping[str, Integers]

    @classmethod
    def of(cls, columns: Mapping[str, pa.ChunkedArray]) -> TextColumns:
        """Columns of any type, by the part that each plays."""
        texts = {"": 0}
        coded = {}
        for part, column in columns.items():
            values, position = _distinct(column)
            code = [texts.setdefault(as_text(value), len(texts)) for value in values]
            coded[part] = np.array(code, np.int64)[position]
        return cls(tuple(texts), coded)

    def is_one_of(self, part: str, allowed: Iterable[str]) -> Mask:
        """Rows whose text in `part` is one of those allowed, in any letter case."""
        inside: Mask = self.lookup(part, dict.fromkeys(allowed, 1)) == 1
        return inside

    def lookup(self, part: str, table: Mapping[str, int]) -> Integers:
        """The number in the table for each row's text in `part`, in any letter case, or UNKNOWN."""
        return self._by_text(part, lambda text: table.get(text.lower(), UNKNOWN))

    def whole_numbers(self, part: str) -> Integers:
        """The whole number in each row of `part`, or -1 where there is none."""
        return self._by_text(
            part, lambda text: int(float(text)) if re.fullmatch(r"\d{1,15}(\.0+)?", text) else -1
        )

    def _by_text(self, part: str, number: Callable[[str], int]) -> Integers:
        column = self.columns[part]
        out = np.empty(len(self.texts), np.int64)
        used = np.unique(column)
        out[used] = [number(self.texts[k]) for k in used]
        return out[column]

    def row(self, row: int) -> dict[str, str]:
        """The texts of one row, by part."""
        return {part: self.texts[codes[row]] for part, codes in self.columns.items()}

    def rows(self, parts: Iterable[str]) -> list[tuple[str, ...]]:
        """The texts of every row in these parts."""
        columns = (self.columns[part] for part in parts)
        return [tuple(self.texts[k] for k in codes) for codes in zip(*columns, strict=True)]


def _distinct(column: pa.ChunkedArray) -> tuple[list[object], Integers]:
    """The distinct values of a column, and which of them each row holds."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    chunks = column.dictionary_encode(null_encoding="encode").unify_dictionaries().chunks
    if not chunks:
        return [], np.zeros(0, np.int64)
    return chunks[0].dictionary.to_pylist(), np.concatenate(
        [chunk.indices.to_numpy() for chunk in chunks], dtype=np.int64
    )
