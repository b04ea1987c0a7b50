"""A snapshot read item by item: names, places in the order, and what is known of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tiewise.study.study import Study

THINNEST = 10
TOP, BOTTOM = 10, 5


class Estimate(NamedTuple):
    """What is known of one item."""

    key: int
    """Its place in the study, by which the script knows it."""
    item: str
    name: str
    group: str
    rank: int
    rank_low: int
    rank_high: int
    median: float
    low: float
    high: float
    sd: float
    top: float | None
    comparisons: int
    part: int

    @property
    def side(self) -> str:
        """Whether the whole interval is above the average, or below it."""
        return "above" if self.low > 0 else "below" if self.high < 0 else ""


def estimates(body: Mapping[str, Any], study: Study) -> list[Estimate]:
    """Every item of a snapshot that is in the study, the highest first."""
    keys, names = {item: k for k, item in enumerate(study.items)}, labels(study)
    columns = [
        body[name]
        for name in ("rank", "rank_low", "rank_high", "median", "low", "high", "sd", "top",
                     "comparisons", "part")
    ]  # fmt: skip
    found = [
        Estimate(keys[item], item, names[item], study.items[item].group, *values)
        for item, *values in zip(body["items"], *columns, strict=True)
        if item in keys
    ]
    return ordered(found, "rank")


def labels(study: Study) -> dict[str, str]:
    """Names, with the id behind those that several items share."""
    often = Counter(item.name for item in study.items.values())
    return {
        item.id: item.name if often[item.name] == 1 else f"{item.name} ({item.id})"
        for item in study.items.values()
    }


def ends(rows: Sequence[Estimate]) -> tuple[Sequence[Estimate], Sequence[Estimate]]:
    """The first ten and the last five; all as the first, where there are hardly more."""
    if len(rows) <= TOP + BOTTOM + 1:
        return rows, ()
    return rows[:TOP], rows[-BOTTOM:]


# In which order.


class Order(NamedTuple):
    """How a table of items can be ordered: in words, and by what."""

    words: str
    key: Callable[[Estimate], Any]


ORDERS = {
    "rank": Order("highest first", lambda one: (one.rank, -one.median, one.key)),
    "name": Order("by name", lambda one: (one.name.casefold(), one.key)),
    "group": Order("by group", lambda one: (one.group.casefold(), one.rank, -one.median, one.key)),
    "uncertainty": Order("least certain first", lambda one: (-one.sd, one.key)),
    "comparisons": Order("fewest comparisons first", lambda one: (one.comparisons, one.key)),
}


def ordered(rows: Sequence[Estimate], by: str) -> list[Estimate]:
    """The rows in one of `ORDERS`."""
    return sorted(rows, key=ORDERS[by].key)


# Coverage.


def thinnest(rows: Sequence[Estimate], most: int = THINNEST) -> list[Estimate]:
    """The items with the fewest comparisons; those least certain first among equals."""
    return sorted(rows, key=lambda one: (one.comparisons, -one.sd, one.key))[:most]


class Connection(NamedTuple):
    """Whether comparisons tie all items together, in words; and the smaller parts by name."""

    whole: bool
    says: str
    apart: tuple[tuple[str, ...], ...]


def connection(rows: Sequence[Estimate], nouns: tuple[str, str]) -> Connection:
    """How the items hang together; those never compared are parts of their own."""
    one, many = nouns
    unseen = [row for row in rows if row.comparisons == 0]
    parts: dict[int, list[str]] = {}
    for row in rows:
        if row.comparisons:
            parts.setdefault(row.part, []).append(row.name)
    sets = sorted(parts.values(), key=len, reverse=True)
    missing = f" {_many(len(unseen), one, many)} not compared yet." if unseen else ""
    if len(sets) < 2:
        says = (
            f"All {many} that were compared are connected"
            if unseen
            else f"All {many} are connected"
        )
        return Connection(
            not unseen, f"{says}: any two stand in one order through comparisons.{missing}", ()
        )
    says = (
        f"The comparisons fall into {len(sets)} parts with none between them; how one part stands "
        f"to another is not measured yet.{missing}"
    )
    return Connection(False, says, tuple(tuple(sorted(part)) for part in sets[1:]))


def _many(count: int, one: str, many: str) -> str:
    return f"1 {one} was" if count == 1 else f"{count:,} {many} were"


def nouns(noun: str) -> tuple[str, str]:
    """One and several: `ward` makes `wards`, `city/cities` says it itself."""
    one, _, many = noun.partition("/")
    return one, many or f"{one}s"
