"""`[[anchors]]` of a study: items whose quality is known from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path

from tiewise.data.tables import ID_HEADINGS, read_table
from tiewise.errors import InputError
from tiewise.study.toml.key_types import Problem
from tiewise.text import some_names

FEWEST = 2
"""Anchors that are needed to say anything: the level of their scale takes one."""
FARTHEST, SUREST = 50.0, 0.001
"""Logits that anchors may be apart, and the smallest sd, as in a fit."""
NO_ANCHORS = "none"
LONGEST = 160
"""Letters of a list of anchors that a message has room for."""


@dataclass(frozen=True, kw_only=True)
class AnchorSettings:
    """`[[anchors]]`: an item with its value in logits, and how far that may be off."""

    item: str
    value: float
    sd: float

    def to_toml(self) -> str:
        """The table as `study.toml` has it."""
        item = json.dumps(self.item, ensure_ascii=False)
        return f"\n[[anchors]]\nitem = {item}\nvalue = {self.value!r}\nsd = {self.sd!r}\n"


def read_anchors(path: Path) -> tuple[AnchorSettings, ...]:
    """Anchors from a table of `item`, `value` and `sd`."""
    columns = read_table(path, ID_HEADINGS)
    headings = {name.strip().lower(): name for name in columns}
    key = next((headings[one] for one in ID_HEADINGS if one in headings), None)
    missing = ["item"] if key is None else [one for one in ("value", "sd") if one not in headings]
    if key is None or missing:
        raise InputError(f"{path} has no column {missing[0]}; anchors need item, value and sd")
    numbers = zip(columns[headings["value"]], columns[headings["sd"]], strict=True)
    return tuple(
        AnchorSettings(item=str(item), value=_number(path, item, "value", value),
                       sd=_number(path, item, "sd", sd))
        for item, (value, sd) in zip(columns[key], numbers, strict=True)
    )  # fmt: skip


def _number(path: Path, item: object, column: str, cell: str | float | None) -> float:
    """A cell that is a number; anything else is refused."""
    if isinstance(cell, float):
        return cell
    content = "none" if cell is None else repr(cell)
    raise InputError(f"{path}: the {column} is a number, and {item!r} has {content}; correct it")


def anchor_problems(
    anchors: Sequence[AnchorSettings], *, policy: str, needs_anchors: bool
) -> Iterator[Problem]:
    """What is wrong with anchors apart from the items that they name."""
    if needs_anchors and not anchors:
        yield Problem(
            "pairing.policy",
            f"{policy!r} compares items with anchors, and there are none; add [[anchors]], or "
            "choose another",
        )
    if len(anchors) in range(1, FEWEST):
        yield Problem("anchors", "there is one, and the level of their scale is free; add another")
    names = [anchor.item for anchor in anchors]
    for k, anchor in enumerate(anchors):
        at = f"anchors[{k + 1}]"
        if names.index(anchor.item) < k:
            yield Problem(f"{at}.item", f"{anchor.item!r} is there twice; give it one value")
        if not isfinite(anchor.value):
            yield Problem(f"{at}.value", f"{anchor.value}; a number in logits")
        if not (isfinite(anchor.sd) and anchor.sd > 0):
            yield Problem(f"{at}.sd", f"{anchor.sd}; how far the value may be off, above 0")
        elif anchor.sd < SUREST:
            yield Problem(f"{at}.sd", f"{anchor.sd}; surer than judges can be, at least {SUREST}")
    values = [anchor.value for anchor in anchors if isfinite(anchor.value)]
    if values and (apart := max(values) - min(values)) > FARTHEST:
        yield Problem(
            "anchors",
            f"values are {apart:,.4g} logits apart, and nobody chooses as surely as that; give "
            "them in logits (400 points of Elo are 2.303), or leave them to a fit that learns "
            "the slope of anchors",
        )


def unknown_anchors(anchors: Sequence[AnchorSettings], items: Collection[str]) -> list[str]:
    """What is wrong with the items that anchors name, in a sentence; nothing where all is well."""
    unknown = [anchor.item for anchor in anchors if anchor.item not in items]
    if not unknown:
        return []
    which = "is" if len(unknown) == 1 else "are"
    return [f"anchors: {some_names(unknown)} {which} not in items.csv; use the ids that it has"]


def meaning_of_anchors(anchors: Sequence[AnchorSettings]) -> str:
    """All anchors in one text, in whatever order they stand; a digest of many."""
    rows = sorted((anchor.item, float(anchor.value), float(anchor.sd)) for anchor in anchors)
    text = ", ".join(f"{item} {value} (sd {sd})" for item, value, sd in rows) or NO_ANCHORS
    if len(text) <= LONGEST:
        return text
    return f"{len(rows)} anchors, digest {sha256(text.encode()).hexdigest()[:12]}"
