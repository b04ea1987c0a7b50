"""Fits without some answers or judges, and what their draws say of leaving out more."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_influence import pareto_smoothed, restrict_to_judgements
from tiewise.criticism.robustness.conclusion import Conclusion, Contrast
from tiewise.criticism.robustness.removable import Removable
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.diagnostics import mcse
from tiewise.posterior.fit import TRUSTED_K, fit
from tiewise.posterior.large.groups import quality_means
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.progress import Progress, no_progress

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_DRAWS = 4000
"""Draws of a fit that influence is computed from, evenly spaced."""
ERRORS = 2.0
"""Monte Carlo standard errors by which a difference must have turned: another seed would agree."""
KEPT = 4
"""Fits that are kept in memory, in case they are asked for again."""


@dataclass(frozen=True)
class FitWithout:
    """A fit from which so many answers or judges of each column are left out."""

    tree: DataTree
    amounts: Integers

    @cached_property
    def mean(self) -> Floats:
        """Posterior means of qualities."""
        return quality_means(self.tree)

    @cached_property
    def draws(self) -> PosteriorDraws:
        """Some of its draws."""
        return PosteriorDraws.from_tree(self.tree, MOST_DRAWS)

    def overturns(self, conclusion: Conclusion) -> Contrast | None:
        """The difference that has turned beyond Monte Carlo error; None where none has."""
        weakest = conclusion.weakest(self.mean)
        gap = weakest.of(self.tree["posterior/quality"].to_numpy())
        limit = -ERRORS * float(mcse(gap[..., None])[0])
        return weakest if weakest.of(self.mean) < limit else None


class Effects(NamedTuple):
    """A difference where some are left out, and by how much leaving out one more changes it."""

    gap: float
    effect: Floats
    k_hat: float

    @property
    def trusted(self) -> bool:
        """Whether weighted draws can stand for a fit."""
        return self.k_hat <= TRUSTED_K


def effects(
    base: FitWithout, contrast: Contrast, log_likelihood: Floats, beyond: Integers
) -> Effects:
    """A difference in a fit from which still more is left out, and the effect of one more each.

    `log_likelihood` (draws, columns) and how many of them are left out `beyond` the fit. Draws are
    weighted by the inverse likelihood of these. To first order the effect on a posterior mean is
    minus its covariance with the log likelihood of what is left out.
    """
    draws = contrast.of(base.draws.quality)
    weight, k_hat = pareto_smoothed(-(log_likelihood @ beyond))
    centred = weight * (draws - weight @ draws)
    gap = float(contrast.of(base.mean)) + float(weight @ draws - draws.mean())
    return Effects(gap, -(centred @ log_likelihood), k_hat)


@dataclass(frozen=True)
class Refits:
    """Fits of a model without some of what can be left out, all with the same seed."""

    model: BradleyTerry
    removable: Removable
    seed: int
    progress: Progress = no_progress
    made: dict[bytes, FitWithout] = field(default_factory=dict, repr=False)
    count: list[int] = field(default_factory=lambda: [0], repr=False)

    def without(self, amounts: Integers) -> FitWithout:
        """The default engine's fit without so many of each column."""
        key = amounts.tobytes()
        if key not in self.made:
            self.count[0] += 1
            self.progress("fitting again", self.count[0], self.count[0] + 1)
            rows = ~self.removable.rows_left_out(amounts)
            model = restrict_to_judgements(self.model, self.removable.record, rows)
            self.made[key] = FitWithout(fit(model, rng=self.seed), amounts)
            for old in list(self.made)[:-KEPT]:
                del self.made[old]
        return self.made[key]
