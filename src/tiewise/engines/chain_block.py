"""Chains that move in lockstep, by trajectories that are accepted or rejected.

A trajectory alternates kicks, by the gradient of what the posterior has beyond N(0, I), with exact
rotations of position and momentum (docs/inference.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.engines.draw_buffer import DrawBuffer
from tiewise.engines.preconditioners.plain import Preconditioner
from tiewise.progress import ProgressCounter

Floats = NDArray[np.float64]

JITTER = 0.1
PILOT_TRAJECTORIES = 4
# The first of two kicks in a half of the trajectory, for pairs and for three steps, and the first
# rotation of three. Equal ones would be leapfrog steps, whose error in the energy is larger.
FIRST_OF_TWO, FIRST_OF_THREE, FIRST_ROTATION = 0.215, 0.1, 0.29


class TrajectorySettings(NamedTuple):
    """Total angle of rotation of a trajectory, and its number of steps."""

    angle: float
    steps: int

    def split(self) -> tuple[Floats, Floats]:
        """Angles of the kicks (steps + 1) and of the rotations (steps) between them."""
        if self.steps == 2:
            return _two_steps(self.angle)
        kicks, rotations = _stage(self.steps)
        times = self.steps // len(rotations)
        whole = np.zeros(self.steps + 1)
        for k in range(times):
            whole[k * len(rotations) : (k + 1) * len(rotations) + 1] += kicks
        scale = self.angle / times
        return whole * scale, np.tile(rotations, times) * scale


def _two_steps(angle: float) -> tuple[Floats, Floats]:
    """Kicks and rotations of two steps, without an error of first order where V is cubic.

    Along a rotation the slope of a cubic has the frequencies 1 and 3, and these kicks integrate
    both exactly. Their sum is not the angle: kicks may be anything that depends on position alone.
    """
    half = angle / 2
    outer, middle = np.tan(half) / 3, 4 * np.sin(half) / 3
    return np.array([outer, middle, outer]), np.array([half, half])


def _stage(steps: int) -> tuple[list[float], list[float]]:
    """Kicks and rotations, as fractions, of the scheme that makes up a trajectory of `steps`."""
    if steps % 3 == 0:
        kick, turn = FIRST_OF_THREE, FIRST_ROTATION
        return [kick, 0.5 - kick, 0.5 - kick, kick], [turn, 1 - 2 * turn, turn]
    if steps % 2 == 0:
        return [FIRST_OF_TWO, 1 - 2 * FIRST_OF_TWO, FIRST_OF_TWO], [0.5, 0.5]
    return [0.5, 0.5], [1.0]


class TrajectoryEnd(NamedTuple):
    """Position, momentum, parameters, kick and log density at the end of a trajectory."""

    q: Floats
    p: Floats
    parameters: Any
    kick: Floats
    log_density: Floats


class ChainBlock:
    """Chains that move in lockstep, with a random generator of their own."""

    def __init__(self, preconditioner: Preconditioner, q: Floats, rng: Generator) -> None:
        self.preconditioner, self.rng = preconditioner, rng
        self.fused = getattr(preconditioner, "fused", None)
        self.gradients = 0
        self.q, self.parameters = q, preconditioner.parameters(q)
        self.log_density = preconditioner.log_density_at(self.parameters)
        self.kick = self._kick(q, self.parameters)

    def _kick(self, q: Floats, parameters: Any) -> Floats:
        """Gradient of what the log density has beyond that of N(0, I)."""
        self.gradients += self.q.shape[1]
        kick = self.preconditioner.gradient_at(parameters)
        kick += q
        return kick

    def trajectory(self, p: Floats, settings: TrajectorySettings) -> TrajectoryEnd:
        """The end of the trajectory with momentum p, compiled where the preconditioner is."""
        kicks, rotations = settings.split()
        if self.fused is None:
            return self.unfused_trajectory(p, kicks, rotations)
        self.gradients += len(rotations) * self.q.shape[1]
        return TrajectoryEnd(*self.fused.trajectory(self.q, p, self.kick, kicks, rotations))

    def unfused_trajectory(self, p: Floats, kicks: Floats, rotations: Floats) -> TrajectoryEnd:
        """The same for any preconditioner."""
        q, kick = self.q, self.kick
        p = p + kicks[0] * kick
        for k, angle in enumerate(rotations):
            cos, sin = np.cos(angle), np.sin(angle)
            q, p = cos * q + sin * p, cos * p - sin * q
            # Single precision at all points but both ends, or the trajectory is not reversible.
            parameters = self.preconditioner.parameters(q, single=k < len(rotations) - 1)
            kick = self._kick(q, parameters)
            p += kicks[k + 1] * kick
        log_density = self.preconditioner.log_density_at(parameters)
        return TrajectoryEnd(q, p, parameters, kick, log_density)

    def transition(self, settings: TrajectorySettings) -> Floats:
        """One trajectory of every chain, accepted or rejected; returns acceptance probabilities."""
        angle = settings.angle * self.rng.uniform(1 - JITTER, 1 + JITTER)
        p = self.rng.standard_normal(self.q.shape)
        before = self.log_density - _kinetic(p)
        # A divergent trajectory overflows, and is then rejected.
        with np.errstate(all="ignore"):
            end = self.trajectory(p, settings._replace(angle=angle))
            log_ratio = end.log_density - _kinetic(end.p) - before
        finite = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
        acceptance = np.exp(np.minimum(finite, 0.0))
        accepted = self.rng.uniform(size=len(acceptance)) < acceptance
        self._update(accepted, end)
        return acceptance

    def _update(self, accepted: NDArray[np.bool_], end: TrajectoryEnd) -> None:
        """The new state of the chains whose trajectory was accepted, the old one of the others."""
        (rejected,) = np.nonzero(~accepted)
        if len(rejected):
            pairs = zip(end.parameters, self.parameters, strict=True)
            for new, old in ((end.q, self.q), (end.kick, self.kick), *pairs):
                new[..., rejected] = old[..., rejected]
        self.q, self.parameters, self.kick = end.q, end.parameters, end.kick
        self.log_density = np.where(accepted, end.log_density, self.log_density)

    def sample(
        self,
        buffer: DrawBuffer,
        settings: TrajectorySettings,
        counter: ProgressCounter,
        thin: int = 1,
    ) -> None:
        """Fill the buffer, a draw for every `thin` trajectories."""
        for t in range(buffer.acceptance.shape[1]):
            for _ in range(thin):
                buffer.acceptance[:, t] = self.transition(settings)
            buffer.put(t, self.preconditioner.draws(self.parameters))
            counter.step()

    def pilot(self, settings: TrajectorySettings) -> PilotRun:
        """A few trajectories with these settings."""
        positions, acceptance = [self.q], []
        for _ in range(PILOT_TRAJECTORIES):
            acceptance.append(self.transition(settings))
            positions.append(self.q.copy())
        return PilotRun(np.stack(positions), np.stack(acceptance))


class PilotRun(NamedTuple):
    """Positions (trajectories + 1, dimensions, chains), acceptance (trajectories, chains)."""

    positions: Floats
    acceptance: Floats


def _kinetic(p: Floats) -> Floats:
    """Half the squared length of each chain's momentum."""
    out: Floats = np.einsum("kc,kc->c", p, p) / 2
    return out
