"""A No-U-Turn sampler of its own, in plain numpy: nothing of it is the package's.

Hoffman and Gelman (2014) with multinomial sampling of the trajectory (Betancourt 2017). The metric
is dense: the sampler moves in coordinates in which the posterior of its warm-up was standard. Step
sizes are adapted by dual averaging.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Density = Callable[[Floats], tuple[float, Floats]]
"""Log density and its gradient at a point."""

DEEPEST, LEARNING_DEEPEST = 10, 6
"""Doublings of a trajectory at most; fewer while there is no metric yet."""
DIVERGENT = 1000.0
"""Energy lost from which on a trajectory is no longer one."""
WINDOWS = (150, 300, 600)
"""Draws of the warm-up after each of which the metric is set anew; step sizes alone follow."""
LAST = 150


class State(NamedTuple):
    """A point of a trajectory."""

    position: Floats
    momentum: Floats
    value: float
    gradient: Floats

    def energy(self) -> float:
        return 0.5 * float(self.momentum @ self.momentum) - self.value


class Tree(NamedTuple):
    """A stretch of a trajectory, and one of its points, drawn by its weight."""

    left: State
    right: State
    momenta: Floats
    """Their sum, by which the stretch is seen to turn back."""
    chosen: State
    log_weight: float
    is_over: bool
    """Whether it turns back or diverges, in itself or in a half."""
    acceptance: float
    size: int


@dataclass
class Steps:
    """Dual averaging of the logarithm of the step size (Hoffman and Gelman, section 3.2)."""

    target: float
    log_step: float = float(np.log(0.3))
    error: float = 0.0
    average: float = 0.0
    time: int = 0

    def __post_init__(self) -> None:
        self.centre = self.log_step + float(np.log(10))

    def learn(self, acceptance: float) -> None:
        self.time += 1
        share = 1 / (self.time + 10)
        self.error = (1 - share) * self.error + share * (self.target - acceptance)
        self.log_step = self.centre - np.sqrt(self.time) / 0.05 * self.error
        weight = self.time**-0.75
        self.average = weight * self.log_step + (1 - weight) * self.average


def nuts(
    density: Density, start: Floats, draws: int, rng: Generator, *, target: float = 0.9
) -> Floats:
    """Draws (draws, dimensions) of one chain, after its warm-up."""
    at, root = start, np.eye(len(start))
    for length in WINDOWS:
        steps = Steps(target)
        window = _chain(_whitened(density, at, root), at, root, length, rng, steps, learning=True)
        at, kept = window[-1], window[length // 3 :]
        # Drawn a little towards a sphere, as covariances of few draws are rough (as Stan does).
        share = len(kept) / (len(kept) + 5)
        covariance = share * np.cov(kept.T) + (1 - share) * 1e-3 * np.eye(len(at))
        root = np.linalg.cholesky(covariance)
    steps, own = Steps(target), _whitened(density, at, root)
    at = _chain(own, at, root, LAST, rng, steps, learning=True)[-1]
    steps.log_step = steps.average
    return _chain(
        _whitened(density, at, root), at, root, draws, rng, steps, learning=False
    )  # fmt: skip


def _whitened(density: Density, origin: Floats, root: Floats) -> Density:
    """The density of z, where x = origin + root z."""

    def whitened(z: Floats) -> tuple[float, Floats]:
        value, gradient = density(origin + root @ z)
        return value, root.T @ gradient

    return whitened


def _chain(
    density: Density,
    origin: Floats,
    root: Floats,
    draws: int,
    rng: Generator,
    steps: Steps,
    *,
    learning: bool,
) -> Floats:
    """A chain from the origin, in the density's coordinates and told in the posterior's."""
    position, out = np.zeros(len(origin)), np.empty((draws, len(origin)))
    for k in range(draws):
        step, deepest = float(np.exp(steps.log_step)), LEARNING_DEEPEST if learning else DEEPEST
        position, acceptance = _transition(density, position, step, deepest, rng)
        if learning:
            steps.learn(acceptance)
        out[k] = origin + root @ position
    return out


def _transition(
    density: Density, position: Floats, step: float, deepest: int, rng: Generator
) -> tuple[Floats, float]:
    """The next position, and the mean probability to accept along the trajectory."""
    begin = State(position, rng.normal(size=len(position)), *density(position))
    tree = Tree(begin, begin, begin.momentum, begin, 0.0, False, 0.0, 0)
    for depth in range(deepest):
        forward = bool(rng.integers(2))
        end = tree.right if forward else tree.left
        new = _grown(density, end, step if forward else -step, depth, begin.energy(), rng)
        both = _joined(tree, new, forward)._replace(chosen=tree.chosen)
        if new.is_over:
            tree = both
            break
        # Towards the new half, which takes the chain further (Betancourt 2017, A.3.2).
        if np.log(rng.uniform()) < new.log_weight - tree.log_weight:
            both = both._replace(chosen=new.chosen)
        tree = both
        if tree.is_over:
            break
    return tree.chosen.position, tree.acceptance / tree.size


def _grown(
    density: Density, end: State, step: float, depth: int, energy: float, rng: Generator
) -> Tree:
    """A stretch of 2^depth points beyond this end."""
    if depth == 0:
        state = _leapfrog(density, end, step)
        lost = state.energy() - energy
        lost = lost if np.isfinite(lost) else np.inf
        acceptance = float(np.exp(min(0.0, -lost)))
        return Tree(state, state, state.momentum, state, -lost, lost > DIVERGENT, acceptance, 1)
    near = _grown(density, end, step, depth - 1, energy, rng)
    if near.is_over:
        return near
    forward = step > 0
    far = _grown(density, near.right if forward else near.left, step, depth - 1, energy, rng)
    both = _joined(near, far, forward)
    chosen = far if np.log(rng.uniform()) < far.log_weight - both.log_weight else near
    return both._replace(chosen=chosen.chosen, is_over=both.is_over or far.is_over)


def _joined(near: Tree, far: Tree, forward: bool) -> Tree:
    """Both stretches as one; the point drawn is that of the first."""
    left, right = (near.left, far.right) if forward else (far.left, near.right)
    momenta = near.momenta + far.momenta
    turns = bool(momenta @ left.momentum <= 0 or momenta @ right.momentum <= 0)
    weight = float(np.logaddexp(near.log_weight, far.log_weight))
    acceptance, size = near.acceptance + far.acceptance, near.size + far.size
    return Tree(left, right, momenta, near.chosen, weight, turns, acceptance, size)


def _leapfrog(density: Density, state: State, step: float) -> State:
    half = state.momentum + step / 2 * state.gradient
    position = state.position + step * half
    value, gradient = density(position)
    return State(position, half + step / 2 * gradient, value, gradient)
