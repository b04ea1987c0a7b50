"""Trajectories of any preconditioner, there and back."""

from __future__ import annotations

import numpy as np

from tiewise.engines.chain_block import ChainBlock, TrajectorySettings
from tiewise.engines.preconditioners.plain import Preconditioner


def assert_reversible(preconditioner: Preconditioner, steps: int, near: float) -> None:
    """From its end, with the momentum turned round, a trajectory leads back to its start."""
    rng = np.random.default_rng(2)
    q, p = rng.normal(size=(2, preconditioner.dimensions, 3))
    block = ChainBlock(preconditioner, q.copy(), rng)
    settings = TrajectorySettings(0.3 * steps, steps)
    end = block.trajectory(p, settings)
    assert np.abs(end.q - q).max(axis=0).min() > 0.1
    block.q, block.kick = end.q, end.kick
    back = block.trajectory(-end.p, settings)
    assert np.allclose(back.q, q, rtol=0, atol=near)
    assert np.allclose(-back.p, p, rtol=0, atol=near)
