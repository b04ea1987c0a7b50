"""Priors that go together: the defaults, the paper's, and which of them a model has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

import tiewise as tw
from tiewise.errors import InputError
from tiewise.model import PRIOR_SET_NAMES
from tiewise.model.prior_sets import (
    DEFAULT_TIE,
    DEFAULT_VARIANCE,
    PAPER_TIE,
    PAPER_VARIANCE,
    describe_prior_set,
    prior_set,
    prior_set_name,
)

COUNTS = tw.Counts.of(["a", "b", "c"], [0, 1], [1, 2], [3, 1], [2, 1], [1, 0])
LANE = tw.ItemContext.read(edges=[("a", "b"), ("b", "c")])


def integral(density, high: float) -> float:
    return float(integrate.quad(density, 0, high, limit=200)[0])


def test_default_priors_are_half_normal_in_alpha_and_delta():
    """By quadrature of the engine's density of log α, carried over to α²."""
    a = np.log(np.array([0.01, 0.5, 1.0, 3.0]))

    def density_of_variance(v: float) -> float:
        log_alpha = np.array([np.log(v) / 2])
        constant = DEFAULT_VARIANCE.log_normaliser
        return float(np.exp(DEFAULT_VARIANCE.log_density(log_alpha)[0] + constant) / (2 * v))

    for alpha in np.exp(a):
        mass = integral(density_of_variance, alpha**2)
        assert mass == pytest.approx(stats.halfnorm(scale=2).cdf(alpha), abs=1e-7)

    def density_of_tie(tie: float) -> float:
        return float(
            np.exp(DEFAULT_TIE.log_density(np.array([tie]))[0] + DEFAULT_TIE.log_normaliser)
        )

    for tie in (0.1, 1.0, 2.5):
        assert integral(density_of_tie, tie) == pytest.approx(stats.halfnorm.cdf(tie), abs=1e-7)


def test_paper_priors_are_all_of_its_choices():
    assert tw.paper_priors() == {"variance": PAPER_VARIANCE, "tie": PAPER_TIE, "share": 1.0}
    assert tw.InverseGamma(0.01, 0.01) == PAPER_VARIANCE
    assert tw.Exponential(0.01) == PAPER_TIE


def test_a_set_nobody_knows_is_refused():
    with pytest.raises(InputError, match="no priors are called 'vague'; say one of default, paper"):
        prior_set("vague")


@pytest.mark.parametrize("name", PRIOR_SET_NAMES)
@pytest.mark.parametrize("context", [None, LANE], ids=["items", "edges"])
@pytest.mark.parametrize("ties", [True, False])
def test_a_model_is_known_by_its_priors(name, context, ties):
    facts = tw.build_model(COUNTS, context, ties=ties, **prior_set(name)).to_dict()
    assert prior_set_name(facts) == name


@pytest.mark.parametrize(
    "change", [{"variance": tw.Fixed(1.0)}, {"tie": tw.HalfNormal(2.0)}, {"share": 1.0}]
)
def test_one_prior_of_ones_own_is_no_set(change):
    assert prior_set_name(tw.build_model(COUNTS, LANE, **change).to_dict()) is None


def test_a_network_of_an_earlier_version_is_the_papers():
    """Its share was 1, and not written down."""
    facts = tw.build_model(COUNTS, LANE, **tw.paper_priors()).to_dict()
    del facts["quality"]["share"]
    assert prior_set_name(facts) == "paper"


def test_sets_are_named_with_their_priors():
    assert describe_prior_set("default") == (
        "default (α half-normal(2), δ half-normal(1), share of the network learned)"
    )
    assert describe_prior_set("paper") == (
        "paper (α² inverse-gamma(0.01, 0.01), δ exponential(0.01), share of the network 1)"
    )
