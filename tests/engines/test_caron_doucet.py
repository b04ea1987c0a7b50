"""Caron and Doucet's sampler: its posterior by quadrature, and when there is none."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import special, stats

from support.reference_formulas import (
    LEVEL,
    Judgement,
    assert_normal_scores,
    monte_carlo_error,
    repeated,
    tally,
)
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.caron_doucet import CaronDoucet, _Sampler
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import parameters, summarise
from tiewise.progress import no_progress


def explore(engine: CaronDoucet, model: BradleyTerry, seed: int = 2) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


def count(answers: list[Judgement], items: str = "abc") -> Counts:
    return Counts.of(items, **tally(answers))


# The posterior of three items, by quadrature over two gaps and log δ; the total of exp(quality)
# is independent of them and integrated by hand: exp(qualities) over their sum are Dirichlet.

GAP = np.linspace(-16, 16, 97)
LOG_TIE = np.linspace(-11, 3, 71)


def log_posterior(
    answers: list[Judgement], shape: float, quality: list[np.ndarray], tie: np.ndarray
) -> np.ndarray:
    """Rao and Kupper's likelihood and the Dirichlet density of log shares, at any point."""
    total = shape * sum(quality) - len(quality) * shape * np.logaddexp.reduce(
        np.broadcast_arrays(*quality)
    )
    for pair in {row[:2] for row in answers}:
        gap = quality[pair[0]] - quality[pair[1]]
        own = [answer for *items, answer in answers if tuple(items) == pair]
        first, second = -np.logaddexp(0, tie - gap), -np.logaddexp(0, tie + gap)
        total = total + own.count("first") * first + own.count("second") * second
        if ties := own.count("tie"):
            total = total + ties * (first + second + 2 * tie + np.log(-np.expm1(-2 * tie)))
    return total


def exact_means(answers: list[Judgement], shape: float, tie: float | None) -> np.ndarray:
    """Expectations of both gaps to the third item, their squares and product, δ and δ²."""
    one, two = GAP[:, None, None], GAP[None, :, None]
    delta = np.exp(LOG_TIE) if tie is None else np.array([tie])
    log = log_posterior(answers, shape, [one, two, np.zeros((1, 1, 1))], delta)
    if tie is None:
        log = log + delta + LOG_TIE  # flat in e^δ, summed over log δ
    weight = np.exp(log - log.max())
    values = [one, two, one**2, two**2, one * two, delta, delta**2]
    return np.array([(weight * value).sum() / weight.sum() for value in values])


def quantities(draws: Draws) -> np.ndarray:
    one, two = (draws.quality[..., k] - draws.quality[..., 2] for k in (0, 1))
    return np.stack([one, two, one**2, two**2, one * two, draws.tie, draws.tie**2], axis=-1)


MIXED = repeated((0, 1, 6, 3, 2), (1, 2, 4, 2, 4), (0, 2, 3, 3, 1))
MOSTLY_TIES = repeated((0, 1, 2, 9, 1), (1, 2, 1, 10, 1), (0, 2, 3, 8, 1))
NO_TIES = repeated((0, 1, 6, 0, 2), (1, 2, 4, 0, 4), (0, 2, 3, 0, 1))
NEVER_COMPARED = repeated((0, 1, 6, 3, 3))
ALWAYS_WINS = repeated((0, 1, 6, 0, 0), (1, 2, 4, 1, 4), (0, 2, 5, 0, 0))
CASES = {
    "mixed": (MIXED, 1.0, 1.0, None),
    "mostly ties": (MOSTLY_TIES, 2.5, 0.3, None),
    "no ties seen": (NO_TIES, 0.7, 4.0, None),
    "one never compared": (NEVER_COMPARED, 1.5, 1.0, None),
    "one always wins": (ALWAYS_WINS, 1.0, 1.0, None),
    "threshold fixed": (MIXED, 1.0, 1.0, 0.4),
    "ties left out": (NO_TIES, 1.0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_the_integral(name):
    answers, shape, rate, tie = CASES[name]
    tie_prior = Exponential() if tie is None else Fixed(tie) if tie else None
    draws = explore(
        CaronDoucet(shape, rate, draws=1200, thin=3), BradleyTerry(count(answers), tie=tie_prior)
    )
    table, known = quantities(draws), exact_means(answers, shape, tie)
    free = np.ptp(table, axis=(0, 1)) > 0
    assert np.allclose(table[..., ~free], known[~free])
    error = monte_carlo_error(table[..., free])
    assert_normal_scores((table.mean(axis=(0, 1)) - known)[free] / error, LEVEL / len(CASES))


@pytest.mark.slow
def test_the_total_keeps_its_prior():
    """Σ exp(quality) is Gamma(items · shape, rate): the likelihood does not depend on it."""
    draws = explore(CaronDoucet(1.5, 3.0, draws=1000), BradleyTerry(count(MIXED)))
    total = np.exp(draws.quality).sum(axis=-1)
    assert stats.kstest(total.ravel(), stats.gamma(4.5, scale=1 / 3).cdf).pvalue > LEVEL


@pytest.mark.parametrize("ties", [0, 1, 7])
def test_the_mixture_is_the_conditional_of_the_threshold(ties):
    """Its draws of u = θ − 1 have the moments of (u² + 2u)^T e^{−Cu} by quadrature."""
    rate, line = 3.0, np.linspace(-12, 4, 2001)
    u = np.exp(line)
    weight = np.exp(ties * np.log(u * (u + 2)) - rate * u + line)
    known = [weight @ value / weight.sum() for value in (np.log1p(u), np.log1p(u) ** 2)]
    counts = Counts.of("ab", [0], [1], [2], [2], [ties])
    sampler, rng = _Sampler.of(BradleyTerry(counts), 1.0, 1.0), np.random.default_rng(2)
    sample = np.array([sampler._draw_tie(np.log(rate), rng) for _ in range(4000)])
    table = np.stack([sample, sample**2], axis=-1)
    assert_normal_scores((table.mean(axis=0) - known) / table.std(axis=0) * np.sqrt(len(table)))


def test_thousands_of_ties_do_not_overflow():
    counts = count(repeated((0, 1, 9000, 12000, 6000), (1, 2, 5000, 9000, 7000)))
    draws = explore(CaronDoucet(draws=40, warmup=10), BradleyTerry(counts))
    assert np.isfinite(draws.quality).all()
    assert draws.tie.std() < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_small_shapes_do_not_underflow():
    draws = explore(CaronDoucet(shape=0.002, draws=400), BradleyTerry(count(NEVER_COMPARED)))
    assert np.isfinite(draws.quality).all()
    assert np.isfinite(draws.tie).all()


def test_there_is_no_variance_and_nobody_stumbles_over_it():
    tree = fit(BradleyTerry(count(MIXED)), CaronDoucet(draws=400), rng=1)
    table = parameters(tree)
    assert np.isnan(table.loc["variance", "mean"])
    assert table.loc["tie", "rhat"] < 1.1
    assert summarise(tree, top=1)["mean"].notna().all()
    assert tree.attrs["engine_prior"] == (
        "exp(quality) ~ gamma(1, 1), independent; exp(tie) flat above 1"
    )


def test_same_seed_same_draws_whatever_the_threads(village):
    model = BradleyTerry(village.counts)
    runs = [explore(CaronDoucet(draws=40, warmup=5, threads=threads), model) for threads in (1, 3)]
    assert np.array_equal(runs[0].quality, runs[1].quality)
    assert np.array_equal(runs[0].tie, runs[1].tie)
    other = explore(CaronDoucet(draws=40, warmup=5), model, seed=3)
    assert not np.array_equal(other.quality, runs[0].quality)


# What it refuses: other priors.


@pytest.mark.parametrize(
    ("priors", "named"),
    [
        ({"prior": Network(Graph.from_edges([("a", "b"), ("b", "c")]), share=1)}, "network"),
        ({"variance": InverseGamma(3, 2)}, "InverseGamma"),
        ({"variance": HalfNormalSpread()}, "HalfNormalSpread"),
        ({"variance": Fixed(1.0)}, "Fixed"),
        ({"tie": Exponential(2.0)}, "Exponential"),
    ],
)
def test_it_refuses_other_priors(priors, named):
    with pytest.raises(InputError, match=named) as refusal:
        explore(CaronDoucet(), BradleyTerry(count(MIXED), **priors))
    assert "independent gamma" in str(refusal.value)
    assert "gibbs" in str(refusal.value)


def test_independent_items_may_be_named():
    model = BradleyTerry(count(MIXED), Independent(("a", "b", "c", "d")))
    assert explore(CaronDoucet(draws=8, warmup=0), model).quality.shape == (4, 2, 4)


@pytest.mark.parametrize(
    "settings", [{"shape": 0.0}, {"rate": -1.0}, {"shape": np.nan}, {"thin": 0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InputError, match="must be"):
        CaronDoucet(**settings)


# What it refuses: data that leave the flat prior of e^δ improper.


def steepest(answers: list[Judgement], shape: float, items: int) -> float:
    """How fast the log posterior, flat prior included, rises along its steepest ray of (λ, δ).

    Rays λ = −δ·depth with depths in half steps; between two far points on each, per unit of δ.
    """
    far = np.array([400.0, 500.0])
    rise = []
    for depth in product(np.arange(0, 3.5, 0.5), repeat=items):
        log = log_posterior(answers, shape, [-d * far for d in depth], far) + far
        rise.append(np.diff(log)[0] / 100)
    return max(rise)


def refused(answers: list[Judgement], shape: float, items: str) -> bool:
    try:
        explore(CaronDoucet(shape, draws=4, warmup=0), BradleyTerry(count(answers, items)))
    except InputError as refusal:
        return "flat prior" in str(refusal)
    return False


RAYS = {
    "no win": ("ab", (0, 1, 0, 3, 0)),
    "one win": ("ab", (0, 1, 1, 3, 0)),
    "one loser of two": ("ab", (0, 1, 9, 3, 0)),
    "one win each": ("ab", (0, 1, 1, 3, 1)),
    "one loser of three": ("abc", (0, 1, 9, 3, 0), (2, 1, 4, 0, 0), (0, 2, 0, 1, 0)),
    "two losers": ("abc", (0, 1, 9, 3, 0), (0, 2, 4, 0, 0)),
    "a ladder": ("abc", (0, 1, 9, 1, 0), (1, 2, 4, 2, 0)),
    "a ladder with a tie across": ("abc", (0, 1, 3, 0, 0), (1, 2, 2, 0, 0), (0, 2, 0, 1, 0)),
    "a circle": ("abc", (0, 1, 1, 0, 0), (1, 2, 1, 0, 0), (0, 2, 0, 0, 1)),
}


@pytest.mark.parametrize("shape", [0.3, 1 / 3, 0.34, 0.5, 0.51, 1.0, 1.01, 2.0])
@pytest.mark.parametrize("name", RAYS)
def test_it_refuses_exactly_where_the_posterior_does_not_fall_along_every_ray(name, shape):
    items, *rows = RAYS[name]
    answers = repeated(*rows)
    assert refused(answers, shape, items) == (steepest(answers, shape, len(items)) > -1e-9)


@pytest.mark.parametrize(("shape", "proper"), [(0.9, False), (1.0, False), (1.1, True)])
def test_mass_beyond_a_threshold_vanishes_only_where_it_is_proper(shape, proper):
    """One loser of two: mass of δ in (60, 90) against (30, 60), by quadrature over the gap."""
    gap, delta = np.linspace(-200, 200, 4001)[:, None], np.linspace(30, 90, 241)
    log = log_posterior(repeated((0, 1, 9, 3, 0)), shape, [gap, np.zeros_like(gap)], delta)
    by_tie = special.logsumexp(log + delta, axis=0)
    ratio = np.exp(special.logsumexp(by_tie[120:]) - special.logsumexp(by_tie[:121]))
    assert (ratio < 0.5) == proper


def test_a_refusal_names_the_items_and_the_way_out():
    with pytest.raises(InputError, match=r"9 wins are explained by 'b' .* shape above 1,"):
        explore(CaronDoucet(), BradleyTerry(count(repeated((0, 1, 9, 3, 0)), "ab")))
    with pytest.raises(InputError, match="1 win among 4 judgements"):
        explore(CaronDoucet(), BradleyTerry(count(repeated((0, 1, 1, 3, 0)), "ab")))


@pytest.mark.parametrize("tie", [None, Fixed(0.5)])
def test_a_known_threshold_needs_no_wins(tie):
    model = BradleyTerry(Counts.of("abc", [0], [1], [1], [0]), tie=tie)
    assert np.isfinite(explore(CaronDoucet(draws=8, warmup=0), model).quality).all()
