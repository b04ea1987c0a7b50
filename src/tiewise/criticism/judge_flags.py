"""Flags for judges who deserve attention, in words with the numbers behind them."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.text import percent

Mask = NDArray[np.bool_]
Flag = dict[str, str]

MIN_COMPARISONS = 20
"""Judges with fewer comparisons get no flags."""
MIN_DECIDED = 10
MIN_REPEATS = 8
HASTE_SECONDS = 1.0
"""Median seconds for a pair below which hardly anybody can have read it."""
MISFIT_LIMIT = 1.88
"""Standard deviations; three in a hundred judges who follow the model lie beyond."""
SHARE_LIMIT = 3.3
"""Standard deviations of a share; one in a thousand lies beyond on either side."""
REVERSED_LIMIT = -2.0
"""Standard deviations below one half for those who agree less often than not."""
SIDE_SHARE, TIE_EXCESS = 0.8, 0.3
"""Least share of one side, and least excess of ties over the others, besides significance."""


class JudgeFigures(NamedTuple):
    """Statistics of judges: arrays over judges, or the numbers of one."""

    comparisons: Any
    skips: Any
    ties: Any
    lefts: Any
    seconds: Any
    agreed: Any
    expected: Any
    score: Any
    """Misfit: 0 for the median judge, higher is less likely."""
    repeats: Any
    alike: Any

    def of(self, judge: int) -> JudgeFigures:
        """The numbers of one judge."""
        return JudgeFigures(*(column[judge] for column in self))

    @property
    def decided(self) -> Any:
        """Comparisons in which an item was chosen."""
        return self.comparisons - self.ties


class PeerRates(NamedTuple):
    """The other judges: share of ties, share of repeats answered alike."""

    ties: float
    alike: float


def flags(figures: JudgeFigures, counted: Mask) -> list[list[Flag]]:
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
        peers = PeerRates(_share(ties, comparisons), _share(alike, repeats))
        out.append(_judge_flags(one, peers) if one.comparisons >= MIN_COMPARISONS else [])
    return out


def _judge_flags(one: JudgeFigures, peers: PeerRates) -> list[Flag]:
    candidates = (_side(one), _ties(one, peers), _misfit(one), _haste(one), _repeats(one, peers))
    return [{"kind": kind, "says": says} for flag in candidates if flag for kind, says in [flag]]


def _side(one: JudgeFigures) -> tuple[str, str] | None:
    decided, lefts = int(one.decided), int(one.lefts)
    if decided < MIN_DECIDED or abs(_z_score(lefts, decided, 0.5)) < SHARE_LIMIT:
        return None
    side, number = ("left", lefts) if 2 * lefts > decided else ("right", decided - lefts)
    if number < SIDE_SHARE * decided:
        return None
    return "side", (
        f"chose the {side} item in {number} of {decided} decided comparisons; "
        f"by chance {round(decided / 2)}"
    )


def _ties(one: JudgeFigures, peers: PeerRates) -> tuple[str, str] | None:
    number, ties = int(one.comparisons), int(one.ties)
    if np.isnan(peers.ties) or ties / number < peers.ties + TIE_EXCESS:
        return None
    if _z_score(ties, number, peers.ties) < SHARE_LIMIT:
        return None
    return (
        "ties",
        f"called {ties} of {number} pairs equal; others call {percent(peers.ties)} equal",
    )


def _misfit(one: JudgeFigures) -> tuple[str, str] | None:
    decided = int(one.decided)
    if decided < MIN_DECIDED or not one.score >= MISFIT_LIMIT:
        return None
    agreement = f"agrees with the others in {percent(one.agreed)} of {decided} decided comparisons"
    if _z_score(round(one.agreed * decided), decided, 0.5) < REVERSED_LIMIT:
        return "reversed", (
            f"{agreement}, less often than not: may have read the question the other way round"
        )
    if one.agreed < one.expected:
        return "misfit", f"{agreement}; {percent(one.expected)} expected"
    return "misfit", (
        f"{agreement}, as expected, but not on the same pairs, or calls others equal than they do "
        f"(misfit {one.score:.1f}; of a usual judge 0)"
    )


def _haste(one: JudgeFigures) -> tuple[str, str] | None:
    if not one.seconds < HASTE_SECONDS:
        return None
    return "haste", f"median answer in {max(one.seconds, 0.1):.1f} s"


def _repeats(one: JudgeFigures, peers: PeerRates) -> tuple[str, str] | None:
    repeats, alike = int(one.repeats), int(one.alike)
    if repeats < MIN_REPEATS or np.isnan(peers.alike):
        return None
    if _z_score(alike, repeats, peers.alike) > -SHARE_LIMIT:
        return None
    return "inconsistent", (
        f"gave the same answer to {alike} of {repeats} pairs that came a second time; "
        f"others do to {percent(peers.alike)}"
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _z_score(count: int, total: int, share: float) -> float:
    """Standard deviations of a count from its expectation, with a continuity correction."""
    # A share of 0 or 1 is never certain: others may not have had the occasion.
    share = min(max(share, 0.5 / total), 1 - 0.5 / total)
    out = count - total * share
    out = 0.0 if abs(out) <= 0.5 else out - 0.5 * np.sign(out)
    return float(out / sqrt(total * share * (1 - share)))
