"""The estimates of a snapshot by item, their order, and which items have few comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tiewise.study.study import Study
from tiewise.text import quantity, rank_range, signed, true_minus

LEAST_COMPARED = 10
TOP, BOTTOM = 10, 5
QUALITIES = ("mean", "sd", "low", "high")
SCORES = ("score", "score_sd", "score_low", "score_high")


class ShownScale(NamedTuple):
    """The scale on which estimates are shown; by default logits."""

    name: str = "logit"
    title: str = "Estimate"
    digits: int = 2
    signed: bool = True
    middle: float = 0.0
    """The score of the average item, in the middle of pictures."""
    line: tuple[float, float] | None = (0.0, 1.0)
    """Origin and slope, where scores are a straight line of quality."""
    limits: tuple[float, float] | None = None
    """The least and the greatest score that there can be."""
    meaning: tuple[str, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any] | None) -> ShownScale:
        """The scale of a snapshot."""
        facts = body and body.get("scale")
        if not facts:
            return LOGITS
        assert body is not None
        # Snapshots of an earlier version do not tell the middle, which is that of all items.
        middle = facts.get("middle", sum(body["score"]) / len(body["score"]))
        line, limits = (own and tuple(own) for own in (facts.get("line"), facts.get("limits")))
        return cls(
            facts["name"], facts["title"], facts["digits"], facts["signed"], middle, line, limits,
            tuple(facts["meaning"]),
        )  # fmt: skip

    def text(self, value: float) -> str:
        """A score as readers see it."""
        if self.signed:
            return signed(value, self.digits)
        return true_minus(f"{value:.{self.digits}f}")

    def spread_text(self, sd: float) -> str:
        """A standard deviation on this scale."""
        return f"{sd:.{self.digits}f}"

    def ends(self, reach: float) -> tuple[str, str, str]:
        """What stands at both ends and in the middle of a picture that reaches so far."""
        if self.signed:
            return f"−{reach:.1f}", "0", f"+{reach:.1f}"
        middle = self.middle
        return self.text(middle - reach), self.text(middle), self.text(middle + reach)

    @property
    def gap(self) -> str:
        """What a difference between two items is called along an axis."""
        if self.name == LOGITS.name:
            return "gap in quality"
        return f"gap in {self.title}" if self.line else "gap in quality (logits)"

    @property
    def per_logit(self) -> float:
        """What a logit is in these units; where it is not always the same, 1: a logit itself."""
        return self.line[1] if self.line else 1.0

    def figures_of(self, body: Mapping[str, Any]) -> Mapping[str, Sequence[float]] | None:
        """Mean, sd, low and high of every item of a snapshot on this scale; None if not known."""
        own = body.get("scale")
        if self.name != LOGITS.name and own and own["name"] == self.name:
            return dict(zip(QUALITIES, (body[name] for name in SCORES), strict=True))
        if self.line is None:
            return None
        if self.name == LOGITS.name:
            return body
        origin, slope = self.line
        ends = {name: [origin + slope * x for x in body[name]] for name in ("mean", "low", "high")}
        return ends | {"sd": [slope * x for x in body["sd"]]}


LOGITS = ShownScale()


class ItemEstimate(NamedTuple):
    """The estimate of one item."""

    key: int
    """Its number in the study, by which the script knows it."""
    item: str
    name: str
    group: str
    position: int
    """In the order of estimates, 1 the highest."""
    rank_low: int
    rank_high: int
    estimate: float
    """The posterior mean on the scale that is shown, as in the report."""
    low: float
    high: float
    sd: float
    side: str
    """Whether the whole interval of its quality is `above` the average, or `below` it."""
    top: float | None
    comparisons: int
    part: int

    @property
    def could_be(self) -> str:
        """The positions that its answers allow: `1 to 36`."""
        return rank_range(self.rank_low, self.rank_high)

    @property
    def uncompared(self) -> bool:
        """Whether nobody has compared it yet, so that its estimate is the prior's."""
        return self.comparisons == 0


def item_estimates(
    body: Mapping[str, Any], study: Study, scale: ShownScale = LOGITS
) -> list[ItemEstimate]:
    """Every item of a snapshot that is in the study, the highest quality first, on this scale."""
    keys, names = {item: k for k, item in enumerate(study.items)}, labels(study)
    figures = scale.figures_of(body)
    assert figures is not None
    sides = [_side(low, high) for low, high in zip(body["low"], body["high"], strict=True)]
    columns = [
        body["rank_low"], body["rank_high"], *(figures[name] for name in ("mean", "low", "high")),
        figures["sd"], sides, *(body[name] for name in ("top", "comparisons", "part")),
    ]  # fmt: skip
    rows = [
        (mean, ItemEstimate(keys[item], item, names[item], study.items[item].group, 0, *values))
        for item, mean, *values in zip(body["items"], body["mean"], *columns, strict=True)
        if item in keys
    ]
    highest_first = sorted(rows, key=lambda one: (-one[0], one[1].key))
    return [row._replace(position=k) for k, (_, row) in enumerate(highest_first, 1)]


def _side(low: float, high: float) -> str:
    return "above" if low > 0 else "below" if high < 0 else ""


def labels(study: Study) -> dict[str, str]:
    """Names, with the id behind those that several items share."""
    counts = Counter(item.name for item in study.items.values())
    return {
        item.id: item.name if counts[item.name] == 1 else f"{item.name} ({item.id})"
        for item in study.items.values()
    }


def top_and_bottom(
    rows: Sequence[ItemEstimate],
) -> tuple[Sequence[ItemEstimate], Sequence[ItemEstimate]]:
    """The first ten and the last five; all and none where there are hardly more."""
    if len(rows) <= TOP + BOTTOM + 1:
        return rows, ()
    return rows[:TOP], rows[-BOTTOM:]


# Too few to show an order.


def early_sentence(comparisons: int, items: int, nouns: tuple[str, str], *, on_map: bool) -> str:
    """Why the map is pale and no order is shown; empty from one comparison for each item on."""
    if comparisons >= items:
        return ""
    few = f"{quantity(comparisons, 'judgement')} for {quantity(items, *nouns)}"
    withheld = "the map stays pale and nothing is ranked" if on_map else "nothing is ranked"
    return (
        f"Too early to read: there {'is' if comparisons == 1 else 'are'} {few}. Until there is "
        f"about one for each {nouns[0]}, {withheld}: most of it would be guesswork."
    )


def uncompared_note(*, on_map: bool) -> str:
    """What the estimate of an item is worth that nobody has compared."""
    source = "is borrowed from its neighbours" if on_map else "says nothing about it"
    return f"not compared yet; its estimate {source}"


# Orders.


class SortOrder(NamedTuple):
    """An order of the table of items: in words, and its sort key."""

    words: str
    key: Callable[[ItemEstimate], Any]


SORT_ORDERS = {
    "position": SortOrder("highest first", lambda one: one.position),
    "name": SortOrder("by name", lambda one: (one.name.casefold(), one.key)),
    "group": SortOrder("by group", lambda one: (one.group.casefold(), one.position)),
    "uncertainty": SortOrder("least certain first", lambda one: (-one.sd, one.key)),
    "comparisons": SortOrder("fewest comparisons first", lambda one: (one.comparisons, one.key)),
}


def sort_estimates(rows: Sequence[ItemEstimate], by: str) -> list[ItemEstimate]:
    """The rows in one of `SORT_ORDERS`."""
    return sorted(rows, key=SORT_ORDERS[by].key)


# Coverage.


def least_compared(rows: Sequence[ItemEstimate], most: int = LEAST_COMPARED) -> list[ItemEstimate]:
    """The items with the fewest comparisons; the least certain first among equals."""
    return sorted(rows, key=lambda one: (one.comparisons, -one.sd, one.key))[:most]


class Connectedness(NamedTuple):
    """Whether comparisons connect all items, in words; and the smaller parts by name."""

    whole: bool
    text: str
    parts: tuple[tuple[str, ...], ...]


def connectedness(rows: Sequence[ItemEstimate], nouns: tuple[str, str]) -> Connectedness:
    """How comparisons connect the items; those never compared are parts of their own."""
    one, many = nouns
    uncompared = [row for row in rows if row.uncompared]
    parts: dict[int, list[str]] = {}
    for row in rows:
        if row.comparisons:
            parts.setdefault(row.part, []).append(row.name)
    sets = sorted(parts.values(), key=len, reverse=True)
    missing = f" {_subject(len(uncompared), one, many)} not compared yet." if uncompared else ""
    if len(sets) < 2:
        text = (
            f"All {many} that were compared are connected"
            if uncompared
            else f"All {many} are connected"
        )
        return Connectedness(
            not uncompared, f"{text}: any two stand in one order through comparisons.{missing}", ()
        )
    text = (
        f"The comparisons fall into {len(sets)} parts with none between them; how one part stands "
        f"to another is not measured yet.{missing}"
    )
    return Connectedness(False, text, tuple(tuple(sorted(part)) for part in sets[1:]))


def _subject(count: int, one: str, many: str) -> str:
    return f"{quantity(count, one, many)} {'was' if count == 1 else 'were'}"
