"""A plan as a value: its design, requirements, curves, and the simulations behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any, NamedTuple

from tiewise.jobs.journal import Row, TaskRecord
from tiewise.planning.curves import Estimate
from tiewise.planning.design import StudyDesign
from tiewise.posterior.reliability import rounded

DRAWS = 1000
"""Draws of each posterior; fewer would not be quicker (docs/planning.md)."""


class Requirement(NamedTuple):
    """The comparisons that the target needs with a prior, and the accuracy at that number.

    `low` to `high` is its 95 % interval, `error` its relative standard error; nine in ten studies
    reach the reliability `tenth_percentile`.
    """

    prior: str
    comparisons: int
    low: int
    high: int
    error: float
    measures: dict[str, Estimate]
    tenth_percentile: float


@dataclass(frozen=True)
class Plan:
    """Requirements by prior (None: out of reach), curves, and the records of simulations.

    `target` is the reliability that the study is to have.
    """

    design: StudyDesign
    target: float
    precision: float
    seed: int
    requirements: Mapping[str, Requirement | None]
    table: tuple[Row, ...]
    current_reliability: Mapping[str, float]
    """Reliability of the judgements so far, by prior."""
    reach: Mapping[str, float]
    """How many comparisons a judge can make (`each`) and was simulated at most (`most`)."""
    records: tuple[TaskRecord, ...] = field(repr=False)

    @property
    def planned_comparisons(self) -> int | None:
        """Judges times comparisons of each, where both are in the design."""
        return planned_comparisons(self.design, self.reach)

    @property
    def failed(self) -> tuple[TaskRecord, ...]:
        """Simulated studies that failed."""
        return tuple(one for one in self.records if one.error is not None)

    def heading(self) -> dict[str, Any]:
        """The settings, as files have them."""
        return plan_heading(self.design, self.target, self.precision, self.seed)


def plan_heading(design: StudyDesign, target: float, precision: float, seed: int) -> dict[str, Any]:
    """The settings that a plan depends on, as journal and files have them."""
    return {
        "what": "plan", **design.settings(), "reliability": target, "precision": precision,
        "seed": seed, "draws": DRAWS,
    }  # fmt: skip


def planned_comparisons(design: StudyDesign, reach: Mapping[str, float]) -> int | None:
    """Judges times comparisons of each, as far as a judge has pairs; None without both."""
    if design.judges is None or design.per_judge is None:
        return None
    return round(design.judges * min(design.per_judge, reach["each"]))


def round_significant(number: float, digits: int) -> int:
    """The nearest number with so many significant digits."""
    unit: int = 10 ** max(floor(log10(max(number, 1))) - digits + 1, 0)
    return max(round(number / unit), 1) * unit


def round_up(number: float) -> int:
    """Up to two significant digits."""
    return rounded(number)


def round_down(number: float) -> int:
    """Down to two significant digits."""
    unit: int = 10 ** max(floor(log10(max(number, 1))) - 1, 0)
    return floor(number / unit + 1e-6) * unit
