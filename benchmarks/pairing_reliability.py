"""What adaptive pairing does to figures of reliability: reported, and true."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.pairing_study import Case, case_truth, county, simulate_case
from tiewise.data.counts import Counts
from tiewise.engines.preconditioners.plain import build_preconditioner
from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.posterior.fit import fit
from tiewise.posterior.reliability import reliability

Floats = NDArray[np.float64]

PENALTY = 9.0
"""Variance of the prior that keeps estimates finite where an item has won or lost everything."""


def reliability_check(case: Case, repeat: int) -> dict[str, float | None]:
    """Figures of one study at its end; the posterior is that of the default engine."""
    [last] = simulate_case(case, repeat, every=case.comparisons // case.at_once)
    truth = case_truth(case, repeat).quality
    tree = fit(BradleyTerry(last.counts, county()), Transport(draws=2000), rng=repeat)
    draws = np.asarray(tree["posterior"]["quality"]).reshape(-1, len(truth))
    centred = draws - draws.mean(axis=1, keepdims=True)
    low, high = np.quantile(centred, [0.025, 0.975], axis=0)
    estimate, classic = separation(last.counts)
    return {
        "reported": reliability(draws),
        "true": squared_correlation(centred.mean(axis=0), truth),
        "covered": float(np.mean((low <= truth) & (truth <= high))),
        "classic_reported": classic,
        "classic_true": squared_correlation(estimate, truth),
    }


def squared_correlation(estimate: Floats, truth: Floats) -> float | None:
    """How much of the truth's variance an estimate explains; None where there is no variance."""
    if truth.std() == 0:
        return None
    return float(np.corrcoef(estimate, truth)[0, 1] ** 2)


def separation(counts: Counts) -> tuple[Floats, float]:
    """Estimates without a map, and the scale separation reliability that goes with them.

    As comparative-judgement software has it: the variance of estimates less their mean squared
    standard error, over the variance of estimates.
    """
    preconditioner = build_preconditioner(
        BradleyTerry(counts, Independent(counts.items), variance=Fixed(PENALTY))
    )
    estimate = preconditioner.warm_start.mode.quality
    estimate = estimate - estimate.mean()
    error = ((preconditioner.basis**2) / (preconditioner.eigenvalues + 1 / PENALTY)).sum(axis=1)
    spread = float(estimate.var())
    return estimate, (spread - float(error.mean())) / spread
