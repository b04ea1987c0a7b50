"""Curves through simulated studies: their values and errors, and where they reach a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = Sequence[Mapping[str, Any]]

NEAR = 1.35
"""Sizes up to this factor away have a say in what a curve is like at a size."""


class Estimate(NamedTuple):
    """A number and its Monte Carlo standard error (infinite where it is not known)."""

    value: float
    error: float


class Line(NamedTuple):
    """A straight line through what studies have near a size: height there, slope, both's spread."""

    at: float
    height: float
    slope: float
    covariance: Floats

    def read(self, where: float) -> Estimate:
        """The height at a place, and its error."""
        step = np.array([1.0, where - self.at])
        error = float(np.sqrt(max(step @ self.covariance @ step, 0.0)))
        return Estimate(self.height + self.slope * (where - self.at), error)


def averaged(values: Sequence[float]) -> Estimate:
    """The mean over studies, and its standard error."""
    array = np.asarray(values, float)
    if len(array) < 2:
        return Estimate(float(array.mean()) if len(array) else np.nan, np.inf)
    return Estimate(float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array))))


def line_near(rows: Rows, figure: str, size: float) -> Line | None:
    """The line of a figure against log size near a size; None where there is none to be drawn.

    Sizes of one study have their truth in common, so that errors are those of studies (clusters).
    """
    near = [row for row in rows if abs(np.log(row["total"] / size)) <= np.log(NEAR)]
    x = np.array([np.log(row["total"] / size) for row in near])
    if len(near) < 4 or np.ptp(x) == 0:
        return None
    y = np.array([row[figure] for row in near], float)
    design = np.column_stack([np.ones(len(x)), x])
    inner = np.linalg.inv(design.T @ design)
    height, slope = inner @ design.T @ y
    left = (y - design @ np.array([height, slope]))[:, None] * design
    names, study = np.unique([row["study"] for row in near], return_inverse=True)
    if len(names) < 3:
        return None
    sums = np.zeros((len(names), 2))
    np.add.at(sums, study, left)
    covariance = inner @ (sums.T @ sums) @ inner * len(names) / (len(names) - 1)
    return Line(float(np.log(size)), float(height), float(slope), covariance)


def crossing(rows: Rows, figure: str, level: float, guess: float) -> Estimate | None:
    """The size at which a rising figure reaches a level, near a guess, and its relative error."""
    line = line_near(rows, figure, guess)
    if line is None or line.slope <= 0:
        return None
    step = (level - line.height) / line.slope
    if abs(step) > np.log(NEAR):
        # A line says nothing of places far from what it was drawn through: it points the way.
        return Estimate(size_at(line.at + np.sign(step) * np.log(NEAR)), np.inf)
    return Estimate(size_at(line.at + step), line.read(line.at + step).error / line.slope)


def size_at(place: float) -> float:
    """The size whose logarithm is this."""
    return float(np.exp(place))


def first_reached(sizes: Sequence[float], values: Sequence[float], level: float) -> float:
    """The size at which a curve first reaches a level between 0 and 1; inf where it does not.

    Between sizes odds grow as a power of size, which is Spearman's and Brown's rule made flexible.
    """
    odds = [_odds(value) for value in values]
    wanted = _odds(level)
    for k, here in enumerate(odds):
        if here < wanted:
            continue
        if k == 0:
            return sizes[0] * max(wanted / here, 0.25)
        share = (np.log(wanted) - np.log(odds[k - 1])) / (np.log(here) - np.log(odds[k - 1]))
        return float(np.exp((1 - share) * np.log(sizes[k - 1]) + share * np.log(sizes[k])))
    return float(np.inf)


def _odds(share: float) -> float:
    kept = min(max(share, 1e-6), 1 - 1e-6)
    return kept / (1 - kept)
