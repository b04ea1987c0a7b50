"""What about a judge is worth a look, in words with the figures behind them."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Yes = NDArray[np.bool_]
Flag = dict[str, str]

FEWEST = 20
"""Comparisons below which nothing is said of a judge."""
FEWEST_DECIDED = 10
FEWEST_REPEATS = 8
HASTY = 1.0
"""Seconds for a pair that hardly anybody can read in."""
MISFIT = 1.88
"""Standard deviations; three good judges in a hundred lie beyond."""
FAR_OUT = 3.3
"""The same for shares; one in a thousand lies beyond on either side."""
AGAINST = -2.0
"""Standard deviations below a half of those who agree less often than not."""
ONE_SIDED, MANY_TIES = 0.8, 0.3
"""Beyond chance is not enough: so much of one side, or so many ties more than others call."""


class Figures(NamedTuple):
    """What is known of judges: arrays along them, or numbers of one."""

    comparisons: Any
    skips: Any
    ties: Any
    lefts: Any
    seconds: Any
    agreed: Any
    expected: Any
    score: Any
    """Misfit: 0 is a usual judge, higher is less likely."""
    repeats: Any
    alike: Any

    def of(self, judge: int) -> Figures:
        """Those of one judge."""
        return Figures(*(column[judge] for column in self))

    @property
    def decided(self) -> Any:
        """Comparisons in which an item was chosen."""
        return self.comparisons - self.ties


class Usual(NamedTuple):
    """What the others do: share of ties, share of repeats answered alike."""

    ties: float
    alike: float


def flags(figures: Figures, counted: Yes) -> list[list[Flag]]:
    """The flags of every judge; none of those with fewer than 20 comparisons."""
    sums = [int(column[counted].sum()) for column in (
        figures.comparisons, figures.ties, figures.repeats, figures.alike,
    )]  # fmt: skip
    out = []
    for k in range(len(counted)):
        one = figures.of(k)
        own = (one.comparisons, one.ties, one.repeats, one.alike) if counted[k] else (0, 0, 0, 0)
        comparisons, ties, repeats, alike = (
            total - int(mine) for total, mine in zip(sums, own, strict=True)
        )
        usual = Usual(_share(ties, comparisons), _share(alike, repeats))
        out.append(_of_one(one, usual) if one.comparisons >= FEWEST else [])
    return out


def _of_one(one: Figures, usual: Usual) -> list[Flag]:
    looks = (_side(one), _ties(one, usual), _misfit(one), _haste(one), _repeats(one, usual))
    return [{"kind": kind, "says": says} for look in looks if look for kind, says in [look]]


def _side(one: Figures) -> tuple[str, str] | None:
    decided, lefts = int(one.decided), int(one.lefts)
    if decided < FEWEST_DECIDED or abs(_beyond(lefts, decided, 0.5)) < FAR_OUT:
        return None
    side, number = ("left", lefts) if 2 * lefts > decided else ("right", decided - lefts)
    if number < ONE_SIDED * decided:
        return None
    return "side", (
        f"chose the {side} item in {number} of {decided} decided comparisons; "
        f"by chance {round(decided / 2)}"
    )


def _ties(one: Figures, usual: Usual) -> tuple[str, str] | None:
    number, ties = int(one.comparisons), int(one.ties)
    if np.isnan(usual.ties) or ties / number < usual.ties + MANY_TIES:
        return None
    if _beyond(ties, number, usual.ties) < FAR_OUT:
        return None
    return (
        "ties",
        f"called {ties} of {number} pairs equal; others call {_percent(usual.ties)} equal",
    )


def _misfit(one: Figures) -> tuple[str, str] | None:
    decided = int(one.decided)
    if decided < FEWEST_DECIDED or not one.score >= MISFIT:
        return None
    told = f"agrees with the others in {_percent(one.agreed)} of {decided} decided comparisons"
    if _beyond(round(one.agreed * decided), decided, 0.5) < AGAINST:
        return "reversed", (
            f"{told}, less often than not: may have read the question the other way round"
        )
    if one.agreed < one.expected:
        return "misfit", f"{told}; {_percent(one.expected)} expected"
    return "misfit", (
        f"{told}, as expected, but not on the same pairs, or calls others equal than they do "
        f"(misfit {one.score:.1f}; of a usual judge 0)"
    )


def _haste(one: Figures) -> tuple[str, str] | None:
    if not one.seconds < HASTY:
        return None
    return "haste", f"median answer in {max(one.seconds, 0.1):.1f} s"


def _repeats(one: Figures, usual: Usual) -> tuple[str, str] | None:
    repeats, alike = int(one.repeats), int(one.alike)
    if repeats < FEWEST_REPEATS or np.isnan(usual.alike):
        return None
    if _beyond(alike, repeats, usual.alike) > -FAR_OUT:
        return None
    return "inconsistent", (
        f"gave the same answer to {alike} of {repeats} pairs that came a second time; "
        f"others do to {_percent(usual.alike)}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _beyond(found: int, of: int, chance: float) -> float:
    """Standard deviations by which a number is out, half a one given back for its being whole."""
    # Nothing is quite impossible: others may not have had the occasion.
    fair = min(max(chance, 0.5 / of), 1 - 0.5 / of)
    out = found - of * fair
    out = 0.0 if abs(out) <= 0.5 else out - 0.5 * np.sign(out)
    return float(out / sqrt(of * fair * (1 - fair)))
