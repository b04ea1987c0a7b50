"""Columns of any type as text, each distinct value turned to text once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Integers
from tiewise.data.plain.tables import Objects, distinct_texts

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]

UNKNOWN = -2
"""What `TextColumns.lookup` gives for a text that is not in the table; no answer has this code."""

MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "none", "nan", "null"})
"""What programs write where nothing is known, in lower case; none of it is an id."""

WHOLE_NUMBER = re.compile(r"(0|-?[1-9]\d*)(?:\.0+)?")


def as_text(value: object) -> str:
    """The text of an id: 9, 9.0 and " 9 " are all "9", and what is missing is empty."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, (float, np.floating, Decimal)):
        if isnan(value):
            return ""
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value).strip()


def is_missing(text: str) -> bool:
    """Whether a text says that there is nothing: it is empty, or NA, null and the like."""
    return text.lower() in MISSING


def plain_ids(texts: Iterable[str], missing: Collection[str] = MISSING) -> dict[str, str]:
    """The id that each text of a column stands for: 79 for 79.0 where all are whole numbers.

    Programs write 79.0 for 79 where a column of numbers has gaps. Where one of the texts is
    something else, such as 007 or 1.5, all of them stay as they are. What is missing is empty.
    """
    words = dict.fromkeys(texts)
    matches = {w: WHOLE_NUMBER.fullmatch(w) for w in words if w.lower() not in missing}
    whole = all(matches.values())
    ids = {word: match[1] if whole and match else word for word, match in matches.items()}
    return {word: ids.get(word, "") for word in words}


def tidied_ids(texts: Sequence[str]) -> tuple[str, ...]:
    """A column of ids, each as `plain_ids` has it; a text such as NA stays as it is."""
    plain = plain_ids(texts)
    return tuple(plain[text] or text for text in texts)


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Columns as positions in a list of distinct texts; position 0 is the empty text.

    `written` are the positions as the rows have them. In `columns` ids are tidied: 79.0 is 79, and
    NA is empty.
    """

    texts: tuple[str, ...]
    columns: Mapping[str, Integers]
    written: Mapping[str, Integers]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, pa.ChunkedArray | Objects],
        ids: Iterable[Collection[str]] = (),
        *,
        any_id: bool = False,
    ) -> TextColumns:
        """Columns of any type, by the part that each plays.

        `ids` are groups of parts that hold ids of the same things, and are tidied together; with
        `any_id` a text such as NA is an id, too.
        """
        texts = {"": 0}
        written = {}
        for part, column in columns.items():
            values, position = _distinct(column)
            code = [texts.setdefault(as_text(value), len(texts)) for value in values]
            written[part] = np.array(code, np.int64)[position]
        tidied = dict(written)
        for group in ids:
            plain = _plain_positions(texts, [written[part] for part in group], any_id=any_id)
            tidied |= {part: plain[written[part]] for part in group}
        return cls(tuple(texts), tidied, written)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

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
        """The texts of one row as they are written, by part."""
        return {part: self.texts[codes[row]] for part, codes in self.written.items()}

    def rows(self, parts: Iterable[str]) -> list[tuple[str, ...]]:
        """The texts of every row in these parts."""
        columns = (self.columns[part] for part in parts)
        return [tuple(self.texts[k] for k in codes) for codes in zip(*columns, strict=True)]


def _plain_positions(
    texts: dict[str, int], columns: Iterable[Integers], *, any_id: bool
) -> Integers:
    """The position of the id that each text stands for; ids that are not there yet are added."""
    used = {int(code) for column in columns for code in np.unique(column)}
    words = [text for text, code in texts.items() if code in used]
    position = np.arange(len(texts))
    for word, id_ in plain_ids(words, {""} if any_id else MISSING).items():
        position[texts[word]] = texts.setdefault(id_, len(texts))
    return position


def _distinct(column: pa.ChunkedArray | Objects) -> tuple[list[object], Integers]:
    """The distinct values of a column, and which of them each row holds."""
    if isinstance(column, np.ndarray):
        return distinct_texts(column, as_text)
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
