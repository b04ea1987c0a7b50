"""Lines along which scales move: log scale, or the scale itself where a half-normal bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.scalar_priors import Fixed, HalfNormalSpread, VariancePrior

Floats = NDArray[np.float64]


class Scaled(NamedTuple):
    """Log scales at places t of their lines, with what a change of variable needs."""

    log_scale: Floats
    by_t: Floats
    log_stretch: Floats
    log_stretch_by_t: Floats


class ScaleLines:
    """Lines of the scales that are inferred, one a row.

    t is a log scale. Where the prior is half-normal, scale = unit · log(1 + eᵗ) instead: below the
    unit t is a log scale still, above it the scale itself, in which such a prior is Gaussian. With
    few judges log scale alone would have one tail too steep to walk on.
    """

    def __init__(self, variances: Sequence[VariancePrior | Fixed]) -> None:
        free = [one for one in variances if not isinstance(one, Fixed)]
        self.bent = np.array([isinstance(one, HalfNormalSpread) for one in free], bool)
        units = [one.scale / 2 if isinstance(one, HalfNormalSpread) else 1.0 for one in free]
        self.log_unit = np.log(np.array(units, float))

    def at(self, t: Floats) -> Scaled:
        """Log scales at t (scales) or (scales, chains)."""
        column = (slice(None), *(None,) * (t.ndim - 1))
        bent, log_unit = self.bent[column], self.log_unit[column]
        grown = np.logaddexp(0.0, t)
        part = np.exp(np.minimum(t, 0.0)) / (1 + np.exp(-np.abs(t)))
        # Far to the left log(1 + eᵗ) is eᵗ, and its logarithm t.
        far = t < -30.0
        ratio = np.where(far, 1.0, part / np.where(far, 1.0, grown))
        log_scale = np.where(bent, log_unit + np.where(far, t, np.log(np.maximum(grown, 1e-30))), t)
        return Scaled(
            log_scale,
            np.where(bent, ratio, 1.0),
            np.where(bent, np.log(ratio), 0.0),
            np.where(bent, 1.0 - part - ratio, 0.0),
        )

    def to_line(self, log_scale: Floats) -> Floats:
        """Places of log scales."""
        grown = np.exp(log_scale - self.log_unit)
        t = grown + np.log(-np.expm1(-grown))
        return np.where(self.bent, t, log_scale)
