"""Trajectories: their kicks and rotations, and the compiled loop against the plain one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from support.plain_models import NAMES, model_of
from support.reference_formulas import DIFFERENCE, derivative
from tiewise.engines.chain_block import ChainBlock, TrajectorySettings
from tiewise.engines.preconditioners import plain, skewness
from tiewise.engines.preconditioners.plain import build_preconditioner
from tiewise.engines.transport import PATIENT_STEPS, SPARSE_STEPS, STEPS
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal

EVERY_STEPS = sorted({1, 5, *STEPS, *PATIENT_STEPS, *SPARSE_STEPS})


@pytest.fixture(params=[False, True], ids=["plain", "skewed"])
def skewed(request, monkeypatch) -> bool:
    """Without and with a map of each quality, which independent priors have from some size on."""
    if request.param:
        monkeypatch.setattr(skewness, "SKEWED_SIZE", 1)
        monkeypatch.setattr(skewness, "MOST_VARIANCE", np.inf)
    return bool(request.param)


def block_of(model, chains: int = 5, wide: float = 1.0) -> tuple[ChainBlock, np.ndarray]:
    """Chains of a model at random starts, and a momentum."""
    preconditioner = build_preconditioner(model)
    rng = np.random.default_rng(2)
    q, p = rng.standard_normal((2, preconditioner.dimensions, chains))
    return ChainBlock(preconditioner, wide * q, rng), wide * p


def assert_same_ends(block: ChainBlock, p: np.ndarray, settings: TrajectorySettings) -> None:
    assert block.fused is not None
    one, two = block.trajectory(p, settings), block.unfused_trajectory(p, *settings.split())
    assert np.abs(one.q - block.q).max() > 0.1
    for ours, plain_loop in (
        (one.q, two.q), (one.p, two.p), (one.kick, two.kick),
        (one.log_density, two.log_density), *zip(one.parameters, two.parameters, strict=True),
    ):  # fmt: skip
        assert np.allclose(ours, plain_loop, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("steps", EVERY_STEPS)
def test_kicks_and_rotations_are_symmetric_and_add_up(steps):
    kicks, rotations = TrajectorySettings(1.75, steps).split()
    assert (len(kicks), len(rotations)) == (steps + 1, steps)
    if steps != 2:
        assert np.isclose(kicks.sum(), 1.75)
    assert np.isclose(rotations.sum(), 1.75)
    assert np.allclose(kicks, kicks[::-1])
    assert np.allclose(rotations, rotations[::-1])
    assert kicks.min() > 0
    assert rotations.min() > 0


def test_two_steps_integrate_the_slope_of_a_cubic_exactly():
    """Along a rotation, whatever the angle: the kicks' sum is the work that the slope does."""
    for angle in (0.3, 1.6, 2.2):
        kicks, rotations = TrajectorySettings(angle, 2).split()
        times = np.insert(np.cumsum(rotations), 0, 0.0)
        q, p = 0.7 * np.cos(times) - 1.3 * np.sin(times), -0.7 * np.sin(times) - 1.3 * np.cos(times)
        assert np.isclose(kicks @ (3 * q**2 * p), q[-1] ** 3 - q[0] ** 3, rtol=1e-12)


@pytest.mark.parametrize("steps", [2, 3])
def test_kicks_lose_less_energy_than_leapfrog_steps(village, steps):
    block, p = block_of(village.model, chains=2000)
    settings = TrajectorySettings(1.75, steps)
    equal = np.full(steps + 1, 1.75 / steps)
    equal[[0, -1]] /= 2
    before = block.log_density - (p**2).sum(axis=0) / 2

    def loss(kicks: np.ndarray, rotations: np.ndarray) -> np.ndarray:
        end = block.unfused_trajectory(p, kicks, rotations)
        return np.abs(end.log_density - (end.p**2).sum(axis=0) / 2 - before)

    saved = loss(equal, np.full(steps, 1.75 / steps)) - loss(*settings.split())
    assert saved.mean() > 4 * saved.std() / np.sqrt(saved.size)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.usefixtures("skewed")
def test_the_compiled_loop_has_the_same_ends(names):
    block, p = block_of(model_of(names))
    for steps in (1, 3):
        assert_same_ends(block, p, TrajectorySettings(1.3, steps))


@pytest.mark.parametrize("variance", [1e2, 1e5])
def test_the_compiled_loop_has_the_same_ends_where_items_are_far_apart(village, variance):
    """Beyond what the series of the exponential, and products of odds, are right for."""
    model = replace(village.model, variance=Fixed(variance), covariates=None, formula=None)
    preconditioner = build_preconditioner(model)
    flat = replace(preconditioner, eigenvalues=np.zeros_like(preconditioner.eigenvalues))
    q = np.random.default_rng(2).standard_normal((flat.dimensions, 3))
    block = ChainBlock(flat, q, np.random.default_rng(2))
    ranges = np.ptp(block.parameters.quality, axis=0)
    assert ranges.max() > (300 if variance == 1e5 else 15)
    # A tiny angle: kicks far out are large.
    settings = TrajectorySettings(1e-3, 2)
    p = 200 * np.random.default_rng(3).standard_normal(q.shape)
    end = block.trajectory(p, settings)
    other = block.unfused_trajectory(p, *settings.split())
    assert np.allclose(end.q, other.q, rtol=1e-12)
    assert np.allclose(end.log_density, other.log_density, rtol=1e-11)


@pytest.mark.parametrize("names", NAMES[::3])
@pytest.mark.usefixtures("skewed")
def test_compiled_kicks_are_the_derivative_of_the_density(names):
    block, p = block_of(model_of(names), chains=2)
    end = block.trajectory(p, TrajectorySettings(1.3, 2))
    for k, point in enumerate(end.q.T):
        density = block.preconditioner.log_density
        differences = derivative(lambda q: density(q[:, None])[0], point)  # noqa: B023
        assert np.allclose(end.kick[:, k] - point, differences, rtol=0, atol=10 * DIFFERENCE)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 5, 6])
def test_trajectories_are_reversible(village, monkeypatch, steps, single, skewed):
    if single:
        monkeypatch.setattr(plain, "SINGLE_PRECISION_SIZE", 1)
    model = village.model
    block, p = block_of(replace(model, prior=Independent(model.items)) if skewed else model)
    assert (block.preconditioner.skew is not None) == skewed
    start = block.trajectory(p, TrajectorySettings(1e-9, 1))
    block.q, block.kick = start.q, start.kick
    settings = TrajectorySettings(0.8 * steps, steps)
    end = block.trajectory(start.p, settings)
    assert np.abs(end.q - start.q).min(axis=0).max() > 1e-3
    block.q, block.kick = end.q, end.kick
    back = block.trajectory(-end.p, settings)
    # Rounding of q may change a cast to single precision, which moves a kick by some 1e-7.
    near = 1e-5 if single else 1e-10
    assert np.allclose(back.q, start.q, atol=near)
    assert np.allclose(-back.p, start.p, atol=near)


def test_single_precision_is_that_of_kicks_alone(village, monkeypatch):
    double, p = block_of(village.model)
    monkeypatch.setattr(plain, "SINGLE_PRECISION_SIZE", 1)
    single, _ = block_of(village.model)
    settings = TrajectorySettings(1.5, 2)
    one, two = double.trajectory(p, settings), single.trajectory(p, settings)
    assert np.allclose(one.q, two.q, atol=1e-4)
    assert (one.q != two.q).any()
    density = single.preconditioner.log_density(two.q)
    assert np.allclose(two.log_density, density, rtol=1e-13)


def test_a_prior_of_ones_own_takes_the_plain_loop(village):
    @dataclass(frozen=True)
    class Own(HalfNormal):
        """A prior that the compiled loop does not know."""

    model = replace(village.model, tie=Own(1.0), covariates=None, formula=None)
    assert build_preconditioner(model).fused is None
    block, p = block_of(model)
    assert np.isfinite(block.trajectory(p, TrajectorySettings(1.0, 2)).log_density).all()
