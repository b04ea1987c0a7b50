"""A plan as a value: what was asked for, answers, curves, and the simulations behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any, NamedTuple

from tiewise.jobs.journal import Done, Row
from tiewise.planning.curves import Estimate
from tiewise.planning.design import StudyDesign
from tiewise.posterior.reliability import rounded

DRAWS = 1000
"""Draws of each posterior; fewer would not be quicker (docs/planning.md)."""


class Answer(NamedTuple):
    """The comparisons that a prior needs for the reliability wanted, and what they would give.

    `low` to `high` is its 95 % interval; `tenth` the reliability that nine in ten studies reach.
    """

    prior: str
    comparisons: int
    low: int
    high: int
    error: float
    figures: dict[str, Estimate]
    tenth: float


@dataclass(frozen=True)
class Plan:
    """What came out: answers by prior (None: out of reach), curves, and what was simulated."""

    design: StudyDesign
    wanted: float
    precision: float
    seed: int
    answers: Mapping[str, Answer | None]
    table: tuple[Row, ...]
    now: Mapping[str, float]
    """Reliability of the judgements so far, by prior."""
    reach: Mapping[str, float]
    """How many comparisons a judge can make (`each`) and was simulated at most (`most`)."""
    done: tuple[Done, ...] = field(repr=False)

    @property
    def asked(self) -> int | None:
        """The comparisons that were thought of: judges times comparisons of each."""
        return asked(self.design, self.reach)

    @property
    def failed(self) -> tuple[Done, ...]:
        """Simulated studies that came to nothing."""
        return tuple(one for one in self.done if one.error is not None)

    def heading(self) -> dict[str, Any]:
        """What was asked for, as files keep it."""
        return heading(self.design, self.wanted, self.precision, self.seed)


def heading(design: StudyDesign, wanted: float, precision: float, seed: int) -> dict[str, Any]:
    """What a plan depends on."""
    return {
        "what": "plan", **design.said(), "reliability": wanted, "precision": precision,
        "seed": seed, "draws": DRAWS,
    }  # fmt: skip


def asked(design: StudyDesign, reach: Mapping[str, float]) -> int | None:
    """Judges times comparisons of each, as far as a judge has pairs; None: not both are given."""
    if design.judges is None or design.per_judge is None:
        return None
    return round(design.judges * min(design.per_judge, reach["each"]))


def neat(number: float, digits: int) -> int:
    """The nearest number with so many digits that count."""
    unit: int = 10 ** max(floor(log10(max(number, 1))) - digits + 1, 0)
    return max(round(number / unit), 1) * unit


def up(number: float) -> int:
    """Up to two digits that count."""
    return rounded(number)


def down(number: float) -> int:
    """Down to two digits that count."""
    unit: int = 10 ** max(floor(log10(max(number, 1))) - 1, 0)
    return floor(number / unit + 1e-6) * unit
