"""What a design is like, in a table and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING

from tiewise.designs.efficiency import ADAPTIVE, DESIGN, RANDOM
from tiewise.planning.curves import Estimate
from tiewise.text import percent, quantity

if TYPE_CHECKING:
    from tiewise.designs.assessed import AssessedDesign

WAYS = {DESIGN: "this design", RANDOM: "random pairs", ADAPTIVE: "adaptive pairing"}
TARGET_WORDS = {
    "differences": "differences", "ranks": "ranks", "top": "which are the best",
}  # fmt: skip


def table_rows(assessed: AssessedDesign) -> list[tuple[str, str, str]]:
    """How pairs are chosen, the expected reliability, and the efficiency beside them."""
    known = assessed.efficiency
    if known is None:
        return []
    rows = [(WAYS[DESIGN], with_error(known.reliability[DESIGN]), "")]
    return rows + [
        (WAYS[name], with_error(known.reliability[name]), with_error(beside))
        for name, beside in known.beside.items()
    ]


def with_error(estimate: Estimate, digits: int = 3) -> str:
    """`0.812 ± 0.004`; without an error where it is not known."""
    error = f" ± {estimate.error:.{digits}f}" if isfinite(estimate.error) else ""
    return f"{estimate.value:.{digits}f}{error}"


def sentences(assessed: AssessedDesign) -> list[str]:
    """All sentences, the most important first."""
    return [*_reliability(assessed), *_coverage(assessed), *_connected(assessed), *_rest(assessed)]


def _reliability(assessed: AssessedDesign) -> Iterator[str]:
    known = assessed.efficiency
    if known is not None:
        yield (
            f"Expected reliability: {with_error(known.reliability[DESIGN])}, in "
            f"{quantity(known.studies, 'simulated study', 'simulated studies')}."
        )
        for name, beside in known.beside.items():
            much = (
                "about as many"
                if abs(beside.value - 1) < 2 * beside.error
                else f"{with_error(beside, 2)} times as many"
            )
            yield f"With {WAYS[name]} the same would take {much} comparisons."
        if ADAPTIVE not in known.beside:
            yield (
                "Adaptive pairing was not simulated beside it: with so many items it takes "
                "long, and it was not asked for."
            )
    if assessed.stopped:
        yield "The simulation was stopped, so that the expected reliability is not known."
    variance, target = assessed.variance, TARGET_WORDS[assessed.design.wish.target]
    share = variance.design / variance.random.value
    yield (
        f"By the prior, it leaves {percent(variance.design, 1)} of the variance of {target}; as "
        f"many random pairs leave {percent(variance.random.value, 1)}, and so it has "
        f"{percent(share, 1)} of theirs."
    )


def _coverage(assessed: AssessedDesign) -> Iterator[str]:
    known = assessed.coverage
    often = (
        f"{known.least} times" if known.least == known.most
        else f"{known.least} to {known.most} times"
    )  # fmt: skip
    yield (
        f"{quantity(known.items, 'item')} in {quantity(known.comparisons, 'comparison')} by "
        f"{quantity(known.judges, 'judge')}: each item is compared {often}, and "
        f"{known.pairs:,} of {known.possible_pairs:,} pairs are ({known.shared_pairs:,} by several "
        "judges)."
    )
    yield (
        "Each item stands on the left as often as on the right, or once more."
        if known.uneven_sides <= 1
        else f"Left and right differ by {known.uneven_sides} at most for an item."
    )


def _connected(assessed: AssessedDesign) -> Iterator[str]:
    known = assessed.coverage
    if known.parts > 1:
        yield (
            f"It falls into {known.parts} parts that are not compared with each other: ask for "
            "more comparisons, or let judges know more groups."
        )
        return
    held = (
        "also without any one judge"
        if known.pivotal_judges == 0
        else f"but not without {quantity(known.pivotal_judges, 'judge')} of {known.judges}, one at "
        "a time"
    )
    yield f"All items are connected, {held}."


def _rest(assessed: AssessedDesign) -> Iterator[str]:
    wish = assessed.design.wish
    if wish.repeats or wish.practice:
        yield (
            f"Each judge begins with {quantity(wish.practice, 'practice pair')} and has "
            f"{quantity(wish.repeats, 'pair')} once more, sides exchanged."
        )
    if assessed.design.interrupted:
        yield "The search was stopped; this is the best so far."
