"""Priors of variance and threshold, held against SciPy's densities; as data and as text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from support.reference_formulas import DIFFERENCE, derivative
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.notation import (
    format_prior,
    parse_prior,
    prior_from_dict,
    prior_to_dict,
)
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.model.terms import Groups, Order, Sharpness, Thresholds
from tiewise.model.unconstrained_tie import UnconstrainedTie
from tiewise.registry import load

# Priors of the threshold δ.

TIES = {
    "exponential": (Exponential(2.0), stats.expon(scale=0.5)),
    "gamma": (Gamma(2.0, 3.0), stats.gamma(2, scale=1 / 3)),
    "gamma below one": (Gamma(0.5, 1.0), stats.gamma(0.5)),
    "half-normal": (HalfNormal(0.7), stats.halfnorm(scale=0.7)),
    "uniform": (Uniform(0.0, 1.5), stats.uniform(0, 1.5)),
    "uniform above": (Uniform(0.2, 0.9), stats.uniform(0.2, 0.7)),
}
INSIDE = np.array([0.25, 0.4, 0.63, 0.85])


@pytest.mark.parametrize("name", TIES)
def test_tie_priors_have_scipys_density(name):
    """Up to a constant; so are its derivatives."""
    prior, known = TIES[name]
    difference = prior.log_density(INSIDE) - known.logpdf(INSIDE)
    assert np.allclose(difference, difference[0], atol=1e-12)
    first = np.diag(derivative(known.logpdf, INSIDE))
    assert np.allclose(prior.derivative(INSIDE), first, atol=DIFFERENCE)
    assert np.allclose(
        prior.second_derivative(INSIDE), np.diag(derivative(prior.derivative, INSIDE)), atol=1e-7
    )


@pytest.mark.parametrize("unit", [0.05, 1.0])
@pytest.mark.parametrize("name", TIES)
def test_line_and_threshold_round_trip(name, unit):
    line = UnconstrainedTie(TIES[name][0], unit)
    for tie in INSIDE:
        there = line.constrain(np.array([line.unconstrain(tie)]))
        assert there.tie[0] == pytest.approx(tie, rel=1e-12)


@pytest.mark.parametrize("name", TIES)
def test_line_stays_inside_the_support(name):
    prior, known = TIES[name]
    tie = UnconstrainedTie(prior, 0.3).constrain(np.linspace(-30, 30, 13)).tie
    assert (tie >= known.support()[0]).all()
    assert (tie <= known.support()[1]).all()
    assert (np.diff(tie) >= 0).all()


@pytest.mark.parametrize("unit", [0.05, 1.0])
@pytest.mark.parametrize("name", TIES)
def test_line_knows_its_jacobian(name, unit):
    """Every derivative of `ConstrainedTie` is that of the one before it."""
    threshold = UnconstrainedTie(TIES[name][0], unit)
    line = np.array([-2.0, -0.3, 0.1, 1.1])
    there = threshold.constrain(line)

    def by_t(part):
        return np.diag(derivative(lambda t: getattr(threshold.constrain(t), part), line))

    assert np.allclose(there.by_t, by_t("tie"), atol=DIFFERENCE)
    assert np.allclose(there.by_t_twice, by_t("by_t"), atol=DIFFERENCE)
    assert np.allclose(there.log_jacobian, np.log(by_t("tie")), atol=1e-7)
    assert np.allclose(there.log_jacobian_by_t, by_t("log_jacobian"), atol=DIFFERENCE)
    assert np.allclose(there.log_jacobian_by_t_twice, by_t("log_jacobian_by_t"), atol=DIFFERENCE)


@pytest.mark.parametrize("name", TIES)
def test_a_threshold_passes_its_priors_density_on(name):
    prior, known = TIES[name]
    threshold = UnconstrainedTie(prior, 0.3)
    difference = threshold.log_density(INSIDE) - known.logpdf(INSIDE)
    assert np.allclose(difference, difference[0])
    assert np.allclose(threshold.derivative(INSIDE), prior.derivative(INSIDE))
    assert np.allclose(threshold.second_derivative(INSIDE), prior.second_derivative(INSIDE))


# Priors of the variance α², through a = log α.

VARIANCES = {
    "inverse gamma": (InverseGamma(3.0, 2.0), stats.invgamma(3, scale=2)),
    "paper": (InverseGamma(), stats.invgamma(0.01, scale=0.01)),
}


@pytest.mark.parametrize("name", VARIANCES)
def test_variance_priors_have_scipys_density(name):
    """With the Jacobian of α² = e^{2a}, up to a constant."""
    prior, known = VARIANCES[name]
    a = np.array([-1.0, -0.2, 0.4, 1.3])
    witness = known.logpdf(np.exp(2 * a)) + np.log(2 * np.exp(2 * a))
    difference = prior.log_density(a) - witness
    assert np.allclose(difference, difference[0], atol=1e-12)
    assert np.allclose(
        prior.derivative(a), np.diag(derivative(prior.log_density, a)), atol=DIFFERENCE
    )


def test_half_normal_spread_is_of_alpha_not_its_square():
    prior, a = HalfNormalSpread(0.8), np.array([-1.0, -0.2, 0.4, 1.3])
    witness = stats.halfnorm(scale=0.8).logpdf(np.exp(a)) + a
    difference = prior.log_density(a) - witness
    assert np.allclose(difference, difference[0], atol=1e-12)
    assert np.allclose(
        prior.derivative(a), np.diag(derivative(prior.log_density, a)), atol=DIFFERENCE
    )


SAMPLERS = {
    **TIES,
    "inverse gamma": VARIANCES["inverse gamma"],
    "half-normal spread": (HalfNormalSpread(0.8), stats.chi2(1, scale=0.64)),
}


def test_samples_come_from_the_densities():
    """Kolmogorov and Smirnov, over all priors as one family."""
    rng = np.random.default_rng(2)
    for prior, known in SAMPLERS.values():
        draws = [prior.sample(rng) for _ in range(2000)]
        assert stats.kstest(draws, known.cdf).pvalue > 1e-3 / len(SAMPLERS)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "make",
    [Exponential, HalfNormal, HalfNormalSpread, *(
        lambda v, kind=kind, k=k: kind(*[v if j == k else 1.0 for j in range(2)])
        for kind in (Gamma, InverseGamma) for k in range(2)
    )],
)  # fmt: skip
def test_scales_and_shapes_are_positive(make, value):
    with pytest.raises(InputError, match="positive number"):
        make(value)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (0.0, np.inf), (0, np.nan)])
def test_uniform_needs_an_interval(ends):
    with pytest.raises(InputError, match="0 <= low < high"):
        Uniform(*ends)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
def test_fixed_values_are_zero_or_more(value):
    with pytest.raises(InputError, match="0 or more"):
        Fixed(value)
    assert Fixed(0.3).sample(np.random.default_rng(2)) == 0.3


def test_no_tie_prior_is_left_out():
    """Every belief about δ in the package is held against SciPy above."""
    known = {type(prior) for prior, _ in TIES.values()}
    assert known == {load(line) for line in TIE_PRIORS.values()} - {Fixed}


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        *((f"{name}({numbers})", TIE_PRIORS) for name, numbers in (
            ("exponential", "0.01"), ("gamma", "2, 3"), ("half-normal", "0.7"),
            ("uniform", "0.1, 1.2"), ("fixed", "0.5"))),
        *((f"{name}({numbers})", VARIANCE_PRIORS) for name, numbers in (
            ("inverse-gamma", "0.01, 0.01"), ("half-normal", "2"), ("fixed", "1"))),
    ],
)  # fmt: skip
def test_text_data_and_prior_are_one(words, kinds):
    """What is parsed is written again, and read back from JSON."""
    prior = parse_prior(words, kinds)
    facts = json.loads(json.dumps(prior_to_dict(prior)))
    assert format_prior(facts) == words
    assert prior_from_dict(facts, kinds) == prior


def test_a_prior_as_data_has_its_kind_and_its_numbers():
    facts = {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01}
    assert prior_to_dict(InverseGamma()) == facts
    assert prior_from_dict(facts, VARIANCE_PRIORS) == InverseGamma()


class Stubborn(Exponential):
    """A prior of a user's own."""


def test_a_prior_of_ones_own_is_stored_as_its_repr():
    facts = prior_to_dict(Stubborn())
    assert facts == {"kind": "other", "text": repr(Stubborn())}
    assert format_prior(facts) == repr(Stubborn())
    with pytest.raises(InputError, match="Stubborn.*names no prior; say one of exponential"):
        prior_from_dict(facts, TIE_PRIORS)


@pytest.mark.parametrize("kinds", [VARIANCE_PRIORS, TIE_PRIORS])
def test_a_registry_has_every_prior_under_its_own_name(kinds):
    assert all(load(line).kind == name for name, line in kinds.items())


# Priors of the wrong kind.

PAIR = Counts.of(["a", "b"], [0], [1], [3], [2], [1])


@pytest.mark.parametrize("prior", [HalfNormal(1.0), Exponential(), Uniform()])
def test_a_prior_of_the_threshold_is_refused_as_prior_of_a_variance(prior):
    message = "which is a prior of the tie threshold δ; give a prior of a variance, such as "
    with pytest.raises(InputError) as error:
        BradleyTerry(PAIR, variance=prior)
    assert str(error.value).startswith(f"variance is {prior!r}, {message}InverseGamma() or ")
    for term in (Order, Groups, Sharpness, Thresholds):
        with pytest.raises(
            InputError, match=f"variance of {term.__name__} is {type(prior).__name__}"
        ):
            term(variance=prior)


@pytest.mark.parametrize("prior", [InverseGamma(), HalfNormalSpread(2.0)])
def test_a_prior_of_a_variance_is_refused_as_prior_of_the_threshold(prior):
    message = "which is a prior of a variance; give a prior of the tie threshold δ, such as "
    with pytest.raises(InputError) as error:
        BradleyTerry(PAIR, tie=prior)
    assert str(error.value).startswith(f"tie is {prior!r}, {message}Exponential() or ")


@pytest.mark.parametrize("value", [0.5, "gamma(2, 3)", None])
def test_a_variance_is_no_bare_value(value):
    with pytest.raises(InputError, match="which is no prior; .*Fixed with a value"):
        BradleyTerry(PAIR, variance=value)


def test_a_threshold_is_no_bare_value():
    with pytest.raises(InputError, match="tie is 0.5, which is no prior"):
        BradleyTerry(PAIR, tie=0.5)


SCRIPT = """
from tiewise.data.counts import Counts
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.terms import Sharpness

def models(counts: Counts) -> list[BradleyTerry]:
    return [
        BradleyTerry(counts, variance=InverseGamma(), tie=Exponential()),
        BradleyTerry(counts, variance=Fixed(1.0), tie=Fixed(0.5)),
        BradleyTerry(counts, tie=None),
        BradleyTerry(counts, variance=HalfNormal(1.0)),
        BradleyTerry(counts, tie=InverseGamma()),
        BradleyTerry(counts, terms=(Sharpness(variance=HalfNormal(1.0)),)),
    ]
"""


@pytest.mark.slow
def test_mypy_finds_a_prior_of_the_wrong_kind(tmp_path):
    """Three right lines pass; each of the three wrong ones is an error, and nothing else is."""
    script = tmp_path / "script_with_wrong_priors.py"
    script.write_text(SCRIPT, encoding="utf-8")
    # With the settings of the project, and what `make types` has remembered of its modules.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(script)],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False,
    )  # fmt: skip
    wrong = [
        k
        for k, line in enumerate(SCRIPT.splitlines(), start=1)
        if "HalfNormal(1" in line or "tie=Inv" in line
    ]
    lines = [line for line in done.stdout.splitlines() if f"{script.name}:" in line]
    assert [line.split(":")[1] for line in lines] == [str(k) for k in wrong], done.stdout
    assert all("[arg-type]" in line for line in lines)
