"""Maximum likelihood, Laplace and its weights, and recovery of the truth at every share of ties."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import stats
from scipy.optimize import minimize

from support.reference_formulas import (
    LEVEL,
    Judgement,
    assert_normal_scores,
    exact_posterior,
    half_line,
    log_likelihood,
    repeated,
    tally,
)
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import TRUSTED_K, _resample, fit
from tiewise.progress import no_progress

# Maximum likelihood.

ITEMS = ("a", "b", "c", "d")
ANSWERS = repeated(
    (0, 1, 9, 4, 5), (1, 2, 7, 5, 6), (2, 3, 8, 3, 4), (3, 0, 2, 3, 9), (0, 2, 7, 2, 3)
)
DECIDED = [row for row in ANSWERS if row[2] != "tie"]


def estimate(answers: list[Judgement], **priors: object) -> Draws:
    model = BradleyTerry(Counts.of(ITEMS, **tally(answers)), **priors)
    return MaximumLikelihood().run(model, SeedSequence(2), no_progress)


def longhand_estimate(
    answers: list[Judgement], tie: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Qualities summing to zero (and δ if it is not fixed) by Nelder–Mead's blind search, with
    standard errors from a numerical Hessian of the same longhand likelihood."""

    def unpack(point: np.ndarray) -> tuple[np.ndarray, float]:
        quality = np.append(point[:3], -point[:3].sum())
        return quality, float(np.exp(point[3])) if tie is None else tie

    def cost(point: np.ndarray) -> float:
        return -log_likelihood(answers, *unpack(point))

    start = np.zeros(3 if tie is not None else 4)
    tight = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    maximum = minimize(cost, start, method="Nelder-Mead", options=tight)
    assert maximum.success
    covariance = np.linalg.inv(hessian(cost, maximum.x))
    quality, tie_estimate = unpack(maximum.x)
    to_all = np.vstack([np.eye(3), -np.ones((1, 3))])
    errors = np.sqrt(np.diag(to_all @ covariance[:3, :3] @ to_all.T))
    scale = [] if tie is not None else [tie_estimate * np.sqrt(covariance[3, 3])]
    return np.append(quality, tie_estimate), errors, np.array(scale)


def hessian(f, x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    out = np.empty((len(x), len(x)))
    for i, j in np.ndindex(out.shape):
        one, two = step * np.eye(len(x))[i], step * np.eye(len(x))[j]
        out[i, j] = f(x + one + two) - f(x + one - two) - f(x - one + two) + f(x - one - two)
    return out / (4 * step**2)


@pytest.mark.parametrize(
    ("answers", "tie", "priors"),
    [
        (ANSWERS, None, {}),
        (ANSWERS, 0.4, {"tie": Fixed(0.4)}),
        (DECIDED, 0.0, {"tie": None}),
        (DECIDED, 0.0, {"tie": Exponential()}),
    ],
)
def test_maximum_likelihood_is_where_a_blind_search_ends(answers, tie, priors):
    """Estimates and standard errors; no ties seen is δ = 0. Differences resolve 1e-6 of both."""
    ours = estimate(answers, **priors)
    point, errors, tie_error = longhand_estimate(answers, tie)
    assert np.allclose(ours.quality[0, 0], point[:4], atol=1e-5)
    assert ours.tie[0, 0] == pytest.approx(point[4], abs=1e-5)
    assert np.allclose(ours.standard_error, errors, rtol=1e-4)
    if len(tie_error):
        assert ours.tie_standard_error == pytest.approx(tie_error[0], rel=1e-4)
    else:
        # What is fixed has no error; an estimate at the edge of the possible has one unknown.
        assert ours.tie_standard_error == (None if priors == {"tie": Exponential()} else 0)
    assert np.isnan(ours.variance).all()


def test_maximum_likelihood_does_not_look_at_priors():
    one = estimate(ANSWERS)
    other = estimate(ANSWERS, variance=Fixed(0.01), tie=Gamma(50.0, 1.0))
    assert np.allclose(one.quality, other.quality, atol=1e-6)
    assert np.allclose(one.tie, other.tie, atol=1e-6)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (repeated((0, 1, 3, 1, 0), (2, 3, 2, 1, 1)), "'c', 'd' are never compared"),
        (repeated((0, 1, 3, 1, 2), (1, 2, 1, 1, 1)), "'d' is never compared"),
        (
            repeated((0, 1, 3, 0, 0), (0, 2, 3, 0, 0), (1, 2, 1, 1, 1), (3, 1, 1, 1, 1)),
            "'a' always won",
        ),
        (
            repeated((0, 1, 0, 0, 2), (1, 2, 1, 1, 1), (2, 3, 1, 1, 1)),
            "'a' always lost",
        ),
        (
            repeated((0, 1, 1, 1, 1), (2, 3, 1, 0, 1), (0, 2, 4, 0, 0), (1, 3, 2, 0, 0)),
            "'a', 'b' always won against the rest; 'c', 'd' always lost",
        ),
        (repeated((0, 1, 0, 2, 0), (1, 2, 0, 2, 0), (2, 3, 0, 1, 0)), "every judgement is a tie"),
    ],
)
def test_maximum_likelihood_names_what_keeps_it_from_an_estimate(answers, words):
    with pytest.raises(InputError, match=words):
        estimate(answers)


# Laplace and its weights.


def test_weights_bring_a_shifted_normal_to_its_target():
    """Draws of N(0, 1) weighted to N(s, 1): mean s, n/e^{s²} effective draws, a small k-hat."""
    number, shift = 20_000, 0.5
    rng = np.random.default_rng(2)
    x = rng.normal(size=number)
    draws = Draws(
        np.stack([x, -x], axis=-1)[None], x[None], np.exp(x)[None],
        stats={"log_weight": (shift * x - shift**2 / 2 + 7.0)[None]},
    )  # fmt: skip
    again = _resample(draws, rng)
    worth = number / np.exp(shift**2)
    # Weighting costs number/worth in variance; drawing again costs at most once more.
    error = np.sqrt(1 / worth + 1 / number)
    assert_normal_scores(np.array([(again.tie.mean() - shift) / error]))
    assert_normal_scores(np.array([(again.tie.var() - 1) / (np.sqrt(2) * error)]))
    assert np.array_equal(again.quality[0, :, 0], again.tie[0])
    assert np.array_equal(again.variance, np.exp(again.tie))
    assert again.facts["k_hat"] < TRUSTED_K
    assert again.facts["weight_ess"] == pytest.approx(worth, rel=0.05)
    assert not again.warnings


def test_equal_weights_keep_every_draw_once():
    x = np.random.default_rng(2).normal(size=500)
    draws = Draws(x[None, :, None], x[None], x[None], stats={"log_weight": np.zeros((1, 500))})
    again = _resample(draws, np.random.default_rng(2))
    assert np.array_equal(np.sort(again.tie[0]), np.sort(x))


def test_weights_without_a_mean_are_reported_as_poor():
    """Draws of N(0, 1) weighted to N(0, 10²): their k is 1 − 1/100, and k-hat tells."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=4000)
    weight = stats.norm.logpdf(x, scale=10) - stats.norm.logpdf(x)
    draws = Draws(x[None, :, None], x[None], x[None], stats={"log_weight": weight[None]})
    again = _resample(draws, rng)
    assert again.facts["k_hat"] > TRUSTED_K
    assert "k-hat" in again.warnings[0]


def test_weighted_laplace_is_the_integral():
    """Three items by quadrature; the Monte Carlo error is that of the weights."""
    answers = repeated((0, 1, 6, 3, 2), (1, 2, 4, 2, 4), (0, 2, 3, 3, 1))
    prior = Network(Graph.from_edges([("a", "b"), ("b", "c")]), share=1)
    counts = Counts.of(ITEMS[:3], **tally(answers))
    model = BradleyTerry(counts, prior, variance=InverseGamma(3, 2), tie=Exponential(2.0))
    exact = exact_posterior(
        answers,
        prior.covariance(),
        half_line(stats.expon(scale=0.5).pdf, -8, 2.5),
        half_line(stats.invgamma(3, scale=2).pdf, -5, 7),
    )
    tree = fit(model, Laplace(draws=20_000), rng=2)
    quality = tree["posterior/quality"].to_numpy()[0]
    tie = tree["posterior/tie"].to_numpy()[0]
    log_variance = np.log(tree["posterior/variance"].to_numpy()[0])
    table = np.column_stack([quality[:, :1] - quality[:, 1:], tie, log_variance])
    known = np.array([*exact.gaps, exact.tie, exact.log_variance])
    worth = tree.attrs["engine_weight_ess"]
    error = table.std(axis=0) * np.sqrt(1 / worth + 1 / len(table))
    assert tree.attrs["engine_k_hat"] < TRUSTED_K
    assert_normal_scores((table.mean(axis=0) - known) / error)


def test_same_seed_same_approximation(village):
    one, two, other = (fit(village.model, Laplace(draws=200), rng=seed) for seed in (2, 2, 3))
    assert one["posterior"].equals(two["posterior"])
    assert not one["posterior"].equals(other["posterior"])


# Recovery, as in the paper: 5, 20, 50 and 75 per cent of ties.

MAP = Network(Graph.grid(5, 5, queen=True), share=1)
PROPER = InverseGamma(3, 2)
SHARES = {0.05: 0.11, 0.20: 0.45, 0.50: 1.23, 0.75: 2.2}
"""The threshold about which each share of ties is seen."""


def study_with(tie: Gamma, seed: np.random.Generator) -> tuple[Truth, BradleyTerry]:
    truth = Truth.from_priors(MAP, PROPER, tie, seed)
    counts = simulate_counts(truth, 200, seed)
    return truth, BradleyTerry(counts, MAP, variance=PROPER, tie=tie)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_the_truth_is_recovered(share):
    """Truths drawn from the prior, which is about a threshold: 80 % intervals then cover 80 %.

    Qualities of one study are dependent, so studies are counted, not qualities.
    """
    assert_recovery(share, 8, Gibbs(draws=400, warmup=50, chains=2, threads=1))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("share", SHARES)
def test_the_truth_is_recovered_over_many_studies(share):
    assert_recovery(share, 24, Gibbs(draws=600, warmup=60, chains=2, threads=1))


def assert_recovery(share: float, number: int, engine: Gibbs) -> None:
    shape = 40.0
    tie = Gamma(shape, shape / SHARES[share])
    covered, errors, ties, shares = [], [], [], []
    for rng in np.random.default_rng(2).spawn(number):
        truth, model = study_with(tie, rng)
        draws = engine.run(model, SeedSequence(2), no_progress)
        centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
        flat, true = centred.reshape(-1, model.size), truth.quality - truth.quality.mean()
        low, high = np.quantile(flat, (0.1, 0.9), axis=0)
        covered.append(((low < true) & (true < high)).mean())
        errors.append((((flat.mean(axis=0) - true) / flat.std(axis=0)) ** 2).mean())
        ties.append(stats.norm.ppf((np.sum(draws.tie < truth.tie) + 0.5) / (draws.tie.size + 1)))
        shares.append(model.counts.total_ties / model.counts.comparisons)
    assert min(shares) < share < max(shares)
    level = LEVEL / (3 * len(SHARES))
    assert stats.ttest_1samp(covered, 0.8).pvalue > level
    assert stats.ttest_1samp(errors, 1.0).pvalue > level
    assert stats.kstest(ties, "norm").pvalue > level
