"""PairLists: the pairs of each judge in their order, as `design.csv` has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tiewise.data.files import read_sheet, write_rows
from tiewise.data.text_columns import as_text
from tiewise.errors import InputError

COLUMNS = ("judge", "code", "position", "kind", "left", "right")
PRACTICE, NEW, REPEAT = "practice", "new", "repeat"
KINDS = (PRACTICE, NEW, REPEAT)
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Letters of a code: none that looks like a digit."""
CHECK_LETTERS = 3
LONGEST_NAME = 60


class ListedPair(NamedTuple):
    """A pair of a list, sides decided, and why it is there."""

    left: str
    right: str
    kind: str = NEW

    @property
    def items(self) -> frozenset[str]:
        """The pair without its sides."""
        return frozenset((self.left, self.right))


@dataclass(frozen=True)
class PairLists:
    """The pairs of each judge, by what the judge is called, in the order of judges."""

    lists: Mapping[str, tuple[ListedPair, ...]]

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def pairs(self) -> Iterator[ListedPair]:
        """All pairs that count, list by list: without practice."""
        return (pair for pairs in self.lists.values() for pair in pairs if pair.kind != PRACTICE)

    @cached_property
    def comparisons(self) -> int:
        """How many comparisons there are, practice apart."""
        return sum(1 for _ in self.pairs)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items that are compared, in the order in which they first come."""
        pairs = (pair for pairs in self.lists.values() for pair in pairs)
        return tuple(dict.fromkeys(item for pair in pairs for item in pair[:2]))

    @cached_property
    def codes(self) -> dict[str, str]:
        """The code of each list, by the name of its judge.

        Its letters check that the list is of this design and the number was typed well.
        """
        return {
            name: f"{number}-{_check_letters(name, pairs)}"
            for number, (name, pairs) in enumerate(self.lists.items(), 1)
        }

    def named_by(self, code: str) -> str:
        """The judge whose list has this code, however it was typed; refused where none has."""
        typed = "".join(code.upper().split()).replace("–", "-")
        names = {own: name for name, own in self.codes.items()}
        short = {own.replace("-", ""): name for own, name in names.items()}
        name = names.get(typed) or short.get(typed)
        if name is not None:
            return name
        number = typed.partition("-")[0]
        numbers = {own.partition("-")[0] for own in names}
        hint = (
            "its letters are of another sheet or design; type it as it is printed"
            if number in numbers
            else f"the sheets are numbered 1 to {len(self.lists)}"
        )
        raise InputError(f"no sheet has the code {code.strip()[:40]!r}: {hint}")

    @cached_property
    def digest(self) -> str:
        """A digest of all of it: two designs have one if they are the same."""
        return hashlib.sha256(repr([*self.lists.items()]).encode()).hexdigest()[:16]

    def in_turn(self) -> Iterator[tuple[str, ListedPair]]:
        """Pairs that count, as judges who take turns would answer them, with their judge."""
        queues = {
            name: [pair for pair in pairs if pair.kind != PRACTICE]
            for name, pairs in self.lists.items()
        }
        for position in range(max(map(len, queues.values()), default=0)):
            for name, pairs in queues.items():
                if position < len(pairs):
                    yield name, pairs[position]

    # Files.

    def rows(self) -> Iterator[tuple[str, str, int, str, str, str]]:
        """The rows of `design.csv`."""
        for name, pairs in self.lists.items():
            for position, pair in enumerate(pairs, 1):
                yield name, self.codes[name], position, pair.kind, pair.left, pair.right

    def write(self, path: Path, *, raw: bool = False) -> None:
        """Write `design.csv`."""
        write_rows(path, COLUMNS, self.rows(), raw=raw)

    @classmethod
    def read(cls, path: str | Path) -> PairLists:
        """The lists of a file: columns judge, left and right, and perhaps position and kind."""
        return read_pair_lists(Path(path))


def _check_letters(name: str, pairs: tuple[ListedPair, ...]) -> str:
    number = int.from_bytes(hashlib.sha256(repr((name, pairs)).encode()).digest()[:8], "big")
    letters = ""
    for _ in range(CHECK_LETTERS):
        number, rest = divmod(number, len(LETTERS))
        letters += LETTERS[rest]
    return letters


def read_pair_lists(path: Path) -> PairLists:
    """The lists of a table of pairs; the first thing that is wrong with it is refused."""
    sheet = read_sheet(path)
    headings = {name.strip().lower(): name for name in sheet.table.columns}
    missing = [name for name in ("judge", "left", "right") if name not in headings]
    if missing:
        raise InputError(
            f"{path} has no column {missing[0]}; a design has judge, left and right, "
            "and perhaps position and kind"
        )
    cells = {
        name: [as_text(cell) for cell in sheet.table[headings[name]].to_list()]
        for name in COLUMNS
        if name in headings
    }
    rows: dict[str, list[tuple[int, ListedPair]]] = {}
    for row in range(len(sheet.table)):
        at = f"{path}, {sheet.place(row)}"
        judge, place, pair = _row({name: column[row] for name, column in cells.items()}, at, row)
        rows.setdefault(judge, []).append((place, pair))
    if not rows:
        raise InputError(f"{path} lists no pairs; make it anew with `tiewise design`")
    lists = {
        judge: tuple(pair for _, pair in sorted(pairs, key=lambda one: one[0]))
        for judge, pairs in rows.items()
    }
    for judge, pairs in lists.items():
        _refuse_twice(judge, pairs, path)
    return PairLists(lists)


def _row(cell: Mapping[str, str], at: str, row: int) -> tuple[str, int, ListedPair]:
    """The judge of a row, its place in their list, and the pair."""
    judge, left, right = (cell[name].strip() for name in ("judge", "left", "right"))
    kind = cell.get("kind", "") or NEW
    for name, value in (("judge", judge), ("left", left), ("right", right)):
        if not value:
            raise InputError(f"{at}: {name} is empty; fill it in, or take the row out")
    if len(judge) > LONGEST_NAME:
        raise InputError(f"{at}: a judge is named in {LONGEST_NAME} letters at most; shorten it")
    if left == right:
        raise InputError(f"{at}: {left!r} is compared with itself; correct the row")
    if kind not in KINDS:
        raise InputError(f"{at}: kind {kind[:40]!r}; there are {', '.join(KINDS)}")
    place = cell.get("position", "") or str(row + 1)
    if not place.isdecimal():
        raise InputError(f"{at}: position {place[:40]!r} is no number; correct it")
    return judge, int(place), ListedPair(left, right, kind)


def _refuse_twice(judge: str, pairs: tuple[ListedPair, ...], path: Path) -> None:
    """Refuse a list with a pair twice, except as a repeat of one that comes before it."""
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        if pair.kind == NEW and pair.items in seen:
            raise InputError(
                f"{path}: {judge} has {pair.left!r} and {pair.right!r} twice; take one out, or "
                f"make the second a {REPEAT}"
            )
        if pair.kind == REPEAT and pair.items not in seen:
            raise InputError(
                f"{path}: {judge} is to repeat {pair.left!r} and {pair.right!r}, which do not come "
                f"before; make it {NEW}"
            )
        if pair.kind != PRACTICE:
            seen.add(pair.items)
