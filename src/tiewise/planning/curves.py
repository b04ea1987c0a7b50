"""Curves through simulated studies: values, standard errors, and where they reach a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
StudyRows = Sequence[Mapping[str, Any]]

NEIGHBOURHOOD = 1.35
"""The local line at a size is fitted to sizes up to this factor away."""


class Estimate(NamedTuple):
    """A number and its Monte Carlo standard error (infinite where it is not known)."""

    value: float
    error: float


class LocalLine(NamedTuple):
    """A line fitted near a size: its value there, its slope in log size, and their covariance."""

    centre: float
    value: float
    slope: float
    covariance: Floats

    def predict(self, log_size: float) -> Estimate:
        """The value at a log size, and its standard error."""
        step = np.array([1.0, log_size - self.centre])
        error = float(np.sqrt(max(step @ self.covariance @ step, 0.0)))
        return Estimate(self.value + self.slope * (log_size - self.centre), error)


def mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean over studies, and its standard error."""
    array = np.asarray(values, float)
    if len(array) < 2:
        return Estimate(float(array.mean()) if len(array) else np.nan, np.inf)
    return Estimate(float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array))))


def local_line(rows: StudyRows, measure: str, size: float) -> LocalLine | None:
    """The line of a measure against log size near a size; None where there are too few studies.

    Sizes of one study share a truth, so that standard errors are clustered by study.
    """
    near = [row for row in rows if abs(np.log(row["total"] / size)) <= np.log(NEIGHBOURHOOD)]
    x = np.array([np.log(row["total"] / size) for row in near])
    if len(near) < 4 or np.ptp(x) == 0:
        return None
    y = np.array([row[measure] for row in near], float)
    design = np.column_stack([np.ones(len(x)), x])
    inner = np.linalg.inv(design.T @ design)
    value, slope = inner @ design.T @ y
    scores = (y - design @ np.array([value, slope]))[:, None] * design
    names, study = np.unique([row["study"] for row in near], return_inverse=True)
    if len(names) < 3:
        return None
    sums = np.zeros((len(names), 2))
    np.add.at(sums, study, scores)
    covariance = inner @ (sums.T @ sums) @ inner * len(names) / (len(names) - 1)
    return LocalLine(float(np.log(size)), float(value), float(slope), covariance)


def crossing(rows: StudyRows, measure: str, level: float, guess: float) -> Estimate | None:
    """The size at which a rising measure reaches a level, near a guess, and its relative error."""
    line = local_line(rows, measure, guess)
    if line is None or line.slope <= 0:
        return None
    step = (level - line.value) / line.slope
    if abs(step) > np.log(NEIGHBOURHOOD):
        # Far from the data the line only tells the direction in which to look.
        return Estimate(size_at(line.centre + np.sign(step) * np.log(NEIGHBOURHOOD)), np.inf)
    return Estimate(
        size_at(line.centre + step), line.predict(line.centre + step).error / line.slope
    )


def size_at(log_size: float) -> float:
    """The size with this logarithm."""
    return float(np.exp(log_size))


def first_crossing(sizes: Sequence[float], values: Sequence[float], level: float) -> float:
    """The size at which a curve first reaches a level between 0 and 1; inf where it does not.

    Between sizes the odds are a power of size, which generalises the Spearman–Brown formula.
    """
    odds = [_odds(value) for value in values]
    target = _odds(level)
    for k, here in enumerate(odds):
        if here < target:
            continue
        if k == 0:
            return sizes[0] * max(target / here, 0.25)
        share = (np.log(target) - np.log(odds[k - 1])) / (np.log(here) - np.log(odds[k - 1]))
        return float(np.exp((1 - share) * np.log(sizes[k - 1]) + share * np.log(sizes[k])))
    return float(np.inf)


def _odds(share: float) -> float:
    clipped = min(max(share, 1e-6), 1 - 1e-6)
    return clipped / (1 - clipped)
