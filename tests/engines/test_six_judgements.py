"""Four items and six judgements, integrated by brute force under the default and paper's priors.

With so few answers the priors matter, and under the paper's α² has no mean. What is compared are
probabilities: where δ, α and the gaps between items lie.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from support.everyday import everyday
from support.reference_formulas import (
    LEVEL,
    Judgement,
    assert_normal_scores,
    monte_carlo_error,
    tally,
)
from tiewise.criticism.verdict import verdict
from tiewise.data.counts import Counts
from tiewise.engines.base import Engine
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.transport import Transport
from tiewise.model.build import build_model
from tiewise.model.prior_sets import prior_set
from tiewise.posterior.fit import fit

Floats = NDArray[np.float64]

ITEMS = ("a", "b", "c", "d")
PAIRS = tuple(combinations(range(4), 2))
STUDIES: dict[str, list[Judgement]] = {
    "a circle and ties": [
        (0, 1, "first"), (1, 2, "first"), (0, 2, "second"), (2, 3, "tie"), (0, 3, "first"),
        (1, 3, "tie"),
    ],
    "one pair judged twice, both ways": [
        (0, 1, "first"), (0, 1, "second"), (1, 2, "first"), (2, 3, "first"), (0, 3, "tie"),
        (0, 2, "first"),
    ],
    "a circle and no tie": [
        (0, 1, "first"), (1, 2, "first"), (0, 2, "second"), (2, 3, "first"), (0, 3, "first"),
        (1, 3, "first"),
    ],
    "one order": [
        (0, 1, "first"), (0, 2, "first"), (0, 3, "first"), (1, 2, "tie"), (1, 3, "first"),
        (2, 3, "first"),
    ],
    "all ties": [(one, two, "tie") for one, two in PAIRS],
}  # fmt: skip


NO_CONTRADICTION = ("one order", "all ties")
"""Under the paper's priors nothing but these priors bounds α and δ here."""


class Points(NamedTuple):
    """Points of α and δ, and the logarithm of what each weighs."""

    alpha: Floats
    tie: Floats
    log_weight: Floats | float


def default_points(u: Floats) -> Points:
    """Half-normal α and δ by their quantiles."""
    return Points(stats.halfnorm(scale=2).ppf(u[:, 0]), stats.halfnorm.ppf(u[:, 1]), 0.0)


def paper_points(u: Floats) -> Points:
    """Even in log α and log δ, as far as there is anything, weighed by SciPy's densities."""
    alpha, tie = np.exp(-3.2 + 12 * u[:, 0]), np.exp(-10 + 18 * u[:, 1])
    # Densities of log α and of log δ.
    by_alpha = stats.invgamma(0.01, scale=0.01).logpdf(alpha**2) + 2 * np.log(alpha)
    return Points(alpha, tie, by_alpha + stats.expon(scale=100).logpdf(tie) + np.log(tie))


POINTS = {"default": default_points, "paper": paper_points}
SOBOL, SCRAMBLES = 15, 16


class Weighted(NamedTuple):
    """Points of one integration, with weights that add up to one."""

    weight: Floats
    tie: Floats
    alpha: Floats
    gaps: Floats


def integrate(judgements: list[Judgement], priors: str, scramble: int) -> Weighted:
    """Randomised quasi-Monte Carlo over three gaps, α and δ."""
    u = stats.qmc.Sobol(5, rng=scramble).random_base2(SOBOL)
    alpha, tie, log = POINTS[priors](u[:, 3:])
    # Gaps to the first of four independent qualities have covariance α² (I + 11ᵀ).
    root = np.linalg.cholesky(np.eye(3) + 1)
    gaps = np.zeros((len(u), 4))
    gaps[:, 1:] = alpha[:, None] * (stats.norm.ppf(u[:, :3]) @ root.T)
    for one, two, answer in judgements:
        gap = gaps[:, one] - gaps[:, two]
        first, second = -np.logaddexp(0, tie - gap), -np.logaddexp(0, tie + gap)
        both = first + second + 2 * tie + np.log(-np.expm1(-2 * tie))
        log = log + {"first": first, "second": second, "tie": both}[answer]
    weight = np.exp(log - log.max())
    return Weighted(weight / weight.sum(), tie, alpha, gaps)


def quartiles(values: Floats, weight: Floats) -> Floats:
    order = np.argsort(values)
    return np.interp((0.25, 0.5, 0.75), np.cumsum(weight[order]), values[order])


def below(tie: Floats, alpha: Floats, quality: Floats, ends: tuple[Floats, Floats]) -> Floats:
    """Whether δ and α lie below each of their ends, and every gap below −1, 0 and 1."""
    gaps = [quality[..., one] - quality[..., two] for one, two in PAIRS]
    parts = [tie < end for end in ends[0]] + [alpha < end for end in ends[1]]
    parts += [gap < end for gap in gaps for end in (-1, 0, 1)]
    return np.stack(parts, axis=-1).astype(float)


def assert_brute_force(name: str, priors: str, engine: Engine, ess: int | None = None) -> None:
    """Every probability, within the errors of both; or nothing is claimed of such answers.

    `ess` is how many effective draws there are at least: from a few hundred their error is not
    known well enough.
    """
    judgements = STUDIES[name]
    counts = Counts.of(ITEMS, **tally(judgements))
    tree = fit(build_model(counts, ties=True, **prior_set(priors)), engine, rng=2, ess=ess)
    if priors == "paper" and name in NO_CONTRADICTION:
        assert tree.attrs["cannot_say"]
        assert not verdict(tree).headline
        return
    runs = [integrate(judgements, priors, seed) for seed in range(SCRAMBLES)]
    ends = (quartiles(runs[0].tie, runs[0].weight), quartiles(runs[0].alpha, runs[0].weight))
    known = np.stack([run.weight @ below(run.tie, run.alpha, run.gaps, ends) for run in runs])
    posterior = tree["posterior"]
    ours = below(
        posterior["tie"].to_numpy(), np.sqrt(posterior["variance"].to_numpy()),
        posterior["quality"].to_numpy(), ends,
    )  # fmt: skip
    own_error = known.std(axis=0, ddof=1) / np.sqrt(SCRAMBLES)
    error = np.hypot(monte_carlo_error(ours), own_error)
    scores = (ours.mean(axis=(0, 1)) - known.mean(axis=0)) / error
    assert_normal_scores(scores, LEVEL / (len(STUDIES) * len(POINTS)))


CASES = [(name, priors) for name in STUDIES for priors in POINTS]
THOROUGH = pytest.mark.thorough
DAILY = [("a circle and ties", "default"), ("a circle and ties", "paper")]


@pytest.mark.parametrize(("name", "priors"), everyday(CASES, *DAILY))
def test_transport_is_right_or_says_that_the_answers_cannot_tell(name, priors):
    assert_brute_force(name, priors, Transport(), ess=4000)


TELLING = [case for case in CASES if case[0] not in NO_CONTRADICTION or case[1] == "default"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "priors"),
    [case if case in DAILY else pytest.param(*case, marks=THOROUGH) for case in TELLING],
)
def test_gibbs_is_right_where_answers_can_tell(name, priors):
    assert_brute_force(name, priors, Gibbs(draws=4000))
