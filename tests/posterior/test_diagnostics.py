"""Effective sample sizes and R-hat, held against ArviZ."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from tiewise.posterior.diagnostics import ess, mcse, rhat


def walk(rng, memory, chains=8, draws=150, parameters=6, level=1.0):
    """Stationary autoregressive chains, each parameter about a level of its own."""
    out = np.empty((chains, draws, parameters))
    state = rng.normal(size=(chains, parameters))
    for t in range(draws):
        noise = rng.normal(size=state.shape)
        state = memory * state + np.sqrt(1 - memory**2) * noise
        out[:, t] = state
    return out + level * rng.normal(size=parameters)


MEMORIES = [-0.4, 0.0, 0.5, 0.95]


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("method", ["bulk", "tail", "mean"])
@pytest.mark.parametrize("number", [40, 61, 150])
def test_effective_sizes_are_those_of_arviz(memory, method, number):
    draws = walk(np.random.default_rng(1), memory, draws=number)
    prob = (0.05, 0.95) if method == "tail" else None
    theirs = array_stats.ess(draws, chain_axis=0, draw_axis=1, method=method, prob=prob)
    # Where Geyer's sequence stops, and so the last lag, is a matter of convention.
    assert np.allclose(ess(draws, method), theirs, rtol=0.06)


@pytest.mark.parametrize("memory", MEMORIES)
def test_r_hat_is_that_of_arviz(memory):
    draws = walk(np.random.default_rng(2), memory)
    draws[0, :, 0] += 2
    theirs = array_stats.rhat(draws, chain_axis=0, draw_axis=1)
    assert np.allclose(rhat(draws), theirs, rtol=1e-10)
    assert rhat(draws)[0] > 1.05


@pytest.mark.parametrize("superchains", [2, 4])
def test_nested_r_hat_is_that_of_arviz(superchains):
    draws = walk(np.random.default_rng(3), 0.3)
    draws[:2, :, 1] += 1
    ids = np.repeat(np.arange(superchains), 8 // superchains)
    theirs = array_stats.rhat_nested(draws, ids, chain_axis=0, draw_axis=1)
    assert np.allclose(rhat(draws, superchains), theirs, rtol=1e-10)


def test_repeated_draws_share_their_rank():
    """A rejected proposal leaves equal draws; they must not be told apart."""
    draws = np.repeat(walk(np.random.default_rng(4), 0.0, draws=50), 3, axis=1)
    theirs = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
    assert np.allclose(ess(draws), theirs, rtol=0.06)


@pytest.mark.parametrize("memory", [-0.4, 0.6])
def test_monte_carlo_errors_are_the_spread_of_repeated_runs(memory):
    """Over many runs about a known mean, (mean − truth)/error has about variance one."""
    rng = np.random.default_rng(5)
    runs = walk(rng, memory, chains=8, draws=200, parameters=400, level=0.0)
    scores = runs.mean(axis=(0, 1)) / mcse(runs)
    # Sum of 400 squared normals: within four of its standard deviations, sqrt(2/400).
    assert abs(np.mean(scores**2) - 1) < 4 * np.sqrt(2 / 400)


def test_a_constant_has_no_effective_size():
    assert np.isnan(ess(np.ones((4, 50, 1)))).all()
