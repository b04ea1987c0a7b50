"""The Laplace marginal of log α, against its prior, integrals and grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from support.plain_models import ITEMS, PATH, PRIORS
from tiewise.data.counts import Counts
from tiewise.engines.preconditioners.laplace_marginal import fit_laplace_marginal
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma


def test_without_judgements_the_marginal_of_alpha_is_its_prior():
    """The Gaussian integral is then exact, and no power of α may be left over."""
    counts = Counts.of(ITEMS, [], [], [], [])
    for prior in (Independent(), PATH, PRIORS["rank-deficient"][0]):
        model = BradleyTerry(counts, prior, variance=InverseGamma(3, 2), tie=None)
        a = np.array([-1.0, 0.0, 0.7, 2.0])
        marginal = np.array([ConditionalPosterior(model).mode(at).log_marginal for at in a])
        known = stats.invgamma(3, scale=2).logpdf(np.exp(2 * a)) + 2 * a
        assert np.allclose(np.diff(marginal), np.diff(known), rtol=0, atol=1e-10)


def marginal_by_integration(times: int, a: float) -> float:
    """log ∫∫ L(gap, δ) N(gap; 0, 2α²) p(δ) p(a), two items, by trapezoids in gap and log δ."""
    gap, tie = np.linspace(-12, 12, 2401)[:, None], np.exp(np.linspace(-15, 2.5, 701))
    first, second = np.logaddexp(0, tie - gap), np.logaddexp(0, tie + gap)
    log = -8 * times * first - 5 * times * second + 3 * times * np.log(np.expm1(2 * tie))
    log += stats.norm.logpdf(gap, 0, np.sqrt(2) * np.exp(a)) - 2 * tie + np.log(tie)
    log_prior = stats.invgamma(3, scale=2).logpdf(np.exp(2 * a)) + 2 * a
    return float(logsumexp(log) + log_prior)


@pytest.mark.slow
def test_laplace_marginal_of_alpha_is_right_to_first_order():
    """Its error against integration falls like one over the number of judgements."""
    log_alphas, errors = (-0.5, 0.2, 0.9), []
    for times in (1, 4, 16):
        counts = Counts.of(("a", "b"), [0], [1], [5 * times], [2 * times], [3 * times])
        model = BradleyTerry(counts, variance=InverseGamma(3, 2), tie=Exponential(2.0))
        posterior = ConditionalPosterior(model)
        laplace = np.array([posterior.mode(a).log_marginal for a in log_alphas])
        exact = np.array([marginal_by_integration(times, a) for a in log_alphas])
        errors.append(np.abs(np.diff(laplace) - np.diff(exact)).max())
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
    assert errors[2] < 1 / 160


def test_the_laplace_marginal_has_the_maximum_and_width_of_a_grid(village):
    """Against the moments of a fine and wide grid of the same marginals."""
    posterior = ConditionalPosterior(village.model)
    fitted = fit_laplace_marginal(posterior)
    grid = np.linspace(-2.5, 2.5, 101)
    marginal = np.array([posterior.mode(a).log_marginal for a in grid])
    assert fitted.mode.log_marginal > marginal.max() - 0.01
    weight = np.exp(marginal - marginal.max())
    mean = weight @ grid / weight.sum()
    sd = np.sqrt(weight @ (grid - mean) ** 2 / weight.sum())
    # The preconditioner needs a fair centre and width only; a tenth of a sd costs no acceptance.
    assert abs(fitted.mean - mean) < sd / 10
    assert fitted.sd == pytest.approx(sd, rel=0.1)


def test_a_variance_the_data_cannot_bound_ends_the_search_all_the_same():
    counts = Counts.of(ITEMS, [0, 1, 2], [1, 2, 3], [40, 40, 40], [0, 0, 0])
    for tie in (None, Exponential()):
        model = BradleyTerry(counts, variance=InverseGamma(), tie=tie)
        marginal = fit_laplace_marginal(ConditionalPosterior(model))
        assert np.isfinite([marginal.mean, marginal.sd, *marginal.mode.quality]).all()
