"""Effective sample sizes and R-hat, held against ArviZ."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from tiewise.posterior.diagnostics import (
    MANY_ITEMS,
    convergence,
    ess,
    least_and_rhat,
    mcse,
    rhat,
    watched_items,
)


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


@pytest.mark.parametrize(("memory", "number"), [(-0.4, 40), (0.5, 61), (0.999, 300)])
@pytest.mark.parametrize("superchains", [0, 4])
def test_compiled_sizes_and_r_hat_are_those_of_arviz(memory, number, superchains):
    """With draws that repeat, as after a rejection; slow chains go by Fourier transform."""
    rng = np.random.default_rng(5)
    draws = walk(rng, memory, draws=number)
    stays = rng.uniform(size=draws.shape[:2]) < 0.1
    for t in range(1, number):
        draws[stays[:, t], t] = draws[stays[:, t], t - 1]
    size, agreement = least_and_rhat(draws, superchains)
    assert np.isclose(size, np.minimum(ess(draws), ess(draws, "tail")).min(), rtol=1e-9)
    axes = {"chain_axis": 0, "draw_axis": 1}
    theirs = min(
        array_stats.ess(draws, method=method, prob=prob, **axes).min()
        for method, prob in (("bulk", None), ("tail", (0.05, 0.95)))
    )
    assert np.isclose(size, theirs, rtol=0.06)
    if superchains:
        ids = np.repeat(np.arange(4), 2)
        assert np.isclose(agreement, array_stats.rhat_nested(draws, ids, **axes).max(), rtol=1e-10)
    else:
        assert np.isclose(agreement, array_stats.rhat(draws, **axes).max(), rtol=1e-10)


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


# What a fit is worth where it is worth least.


def values_of(quality):
    free = np.random.default_rng(8).normal(size=quality.shape[:2])
    return {"quality": quality, "tie": np.exp(free), "variance": np.exp(-free)}


def arviz_least(draws):
    sizes = [
        array_stats.ess(draws, chain_axis=0, draw_axis=1, method=method, prob=prob)
        for method, prob in (("bulk", None), ("tail", (0.05, 0.95)))
    ]
    return np.min(sizes)


def bursts(rng, parameters=5):
    """Draws that are free in the middle, and stay in an end for long once they get there."""
    draws = rng.normal(size=(8, 150, parameters))
    for chain, start in ((0, 20), (3, 60), (5, 100)):
        draws[chain, start : start + 25, 2] = 3 + 0.1 * rng.normal(size=25)
    return draws


def test_the_least_is_that_of_bulk_and_tail_over_everything():
    """Here the tail of one quality; ArviZ, one parameter and one method at a time, agrees."""
    quality = bursts(np.random.default_rng(6))
    worth = convergence(values_of(quality), np.full(5, 10))
    assert worth.parameter == "quality"
    assert worth.ess == pytest.approx(arviz_least(quality), rel=0.06)
    assert worth.ess == pytest.approx(ess(quality, "tail").min(), rel=1e-9)
    assert worth.ess < 0.8 * ess(quality).min()


@pytest.mark.parametrize("name", ["tie", "variance", "share", "contrast"])
def test_every_variable_that_is_reported_counts(name):
    quality = walk(np.random.default_rng(7), 0.0)
    values = values_of(quality)
    values[name] = walk(np.random.default_rng(9), 0.97, parameters=1)[..., 0]
    worth = convergence(values, np.full(6, 10))
    assert worth.parameter == name
    assert worth.ess == min(ess(values[name]), ess(values[name], "tail"))
    assert worth.rhat == pytest.approx(float(rhat(values[name])))


@pytest.mark.parametrize("name", ["level", "contrast_level"])
def test_what_was_subtracted_is_not_reported(name):
    values = values_of(walk(np.random.default_rng(7), 0.0))
    before = convergence(values, np.full(6, 10))
    values[name] = walk(np.random.default_rng(9), 0.99, parameters=1)[..., 0]
    assert convergence(values, np.full(6, 10)) == before


def test_what_is_fixed_has_no_part_in_it():
    """Two items that are known exactly, a fixed threshold, and no variance at all."""
    quality = np.tile([1.0, -1.0], (4, 50, 1))
    nan = np.full((4, 50), np.nan)
    worth = convergence({"quality": quality, "tie": np.ones((4, 50)), "variance": nan}, np.ones(2))
    assert worth == (200.0, 1.0, "")


def test_of_very_many_items_the_least_compared_and_the_extremes_are_watched():
    rng = np.random.default_rng(10)
    items = MANY_ITEMS + 500
    quality, comparisons = rng.normal(size=(2, 4, items)), rng.integers(20, 60, items)
    comparisons[[7, 1234]] = 0
    quality[..., 321] += 50
    quality[..., 2222] -= 50
    watched = watched_items(quality, comparisons)
    assert {7, 1234, 321, 2222} <= set(watched)
    assert len(watched) <= 1000
    assert np.array_equal(watched, watched_items(quality, comparisons))
    assert len(watched_items(quality[..., :MANY_ITEMS], comparisons[:MANY_ITEMS])) == MANY_ITEMS


def test_one_watched_item_whose_chains_disagree_spoils_the_figure():
    """And one that is not watched does not: the figure is of the watched items."""
    quality = np.random.default_rng(11).normal(size=(4, 40, MANY_ITEMS + 1))
    comparisons = np.full(MANY_ITEMS + 1, 30)
    comparisons[5] = 1
    apart = np.array([-5.0, -2.0, 2.0, 5.0])[:, None]
    hidden = next(k for k in range(1000, 1100) if k not in watched_items(quality, comparisons))
    for item, spoils in ((hidden, False), (5, True)):
        spoilt = quality.copy()
        spoilt[..., item] += apart
        assert (convergence(values_of(spoilt), comparisons).rhat > 1.5) is spoils
