"""Transport: Hamiltonian Monte Carlo in coordinates in which the posterior is nearly N(0, I).

The N(0, I) part is integrated exactly, by a rotation of position and momentum; the kicks are the
gradient of the rest of the posterior. Many chains move in lockstep, so that products with the basis
are products of matrices (docs/inference.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.engines import engine_class
from tiewise.engines.base import Draws, Engine, EngineUnsuitable
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.preconditioners.mixture_preconditioner import WarmStart, plain_or_mixture
from tiewise.engines.preconditioners.plain import Preconditioner
from tiewise.engines.threads import in_threads
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

SUPERCHAINS = 4
MIN_CHAIN_DRAWS = 50  # where there are enough draws for two chains in each superchain
JITTER = 0.2
STEPS: tuple[int, ...] = (2, 3, 4, 6, 8)
PATIENT_STEPS: tuple[int, ...] = (12, 18, 27, 40)
ANGLES = (np.pi / 2, 1.8, 2.0)
MIN_ACCEPTANCE = 0.6
# Starts lie this many sd out in α, in δ and in a few random directions. Were all directions wide,
# chains with many items would never move.
START_SD, WIDE_DIRECTIONS = 2.0, 5
MAX_START_DEFICIT = 10.0  # nats by which a start's density may be lower than under N(0, I)
WARMUP_TRAJECTORIES, PILOT_TRAJECTORIES = 6, 4


class TrajectorySettings(NamedTuple):
    """Total angle of rotation of a trajectory, and its number of steps."""

    angle: float
    steps: int


WARMUP = TrajectorySettings(np.pi / 2, 3)
PATIENT_WARMUP = TrajectorySettings(np.pi / 2, 18)


class DrawBuffer(NamedTuple):
    """Arrays (chains, draws, ...) that the chains fill."""

    values: dict[str, Floats]
    acceptance: Floats

    @classmethod
    def empty(cls, example: dict[str, Floats], chains: int, draws: int) -> DrawBuffer:
        """A buffer for draws of the shapes in `example`, whose last axis runs over chains."""
        values = {name: np.empty((chains, draws, *one.shape[:-1])) for name, one in example.items()}
        return cls(values, np.empty((chains, draws)))

    def split(self, blocks: int) -> list[DrawBuffer]:
        """Views of this buffer, one for each block of chains."""
        parts = {name: np.array_split(whole, blocks) for name, whole in self.values.items()}
        acceptance = np.array_split(self.acceptance, blocks)
        return [
            DrawBuffer({name: part[k] for name, part in parts.items()}, acceptance[k])
            for k in range(blocks)
        ]


@dataclass(frozen=True)
class Transport:
    """Exact and nearly independent draws, for two or three gradients each.

    `draws` are shared out over `chains` (fewer where they would be short), which move in lockstep
    in `blocks` that threads share; a quarter of the chains leave from each of four over-dispersed
    starts (nested R-hat). `start` is the result for similar data (`Draws.warm_start`), from which
    the mode takes fewer steps.
    """

    draws: int = 4000
    chains: int = 64
    blocks: int = 2
    threads: int = 2
    start: WarmStart | None = field(default=None, repr=False, compare=False)

    name = "transport"
    kind = "exact"
    # Numbers of steps for the pilot run to choose from, and the trajectories of the warm-up.
    steps = STEPS
    warmup = WARMUP

    def __post_init__(self) -> None:
        if self.chains < 2 * SUPERCHAINS or self.chains % SUPERCHAINS:
            raise InputError(f"chains must be 8, 12, 16, ..., not {self.chains}")
        if not 1 <= self.blocks <= self.chains:
            raise InputError(f"{self.chains} chains cannot move in {self.blocks} blocks")
        if self.draws < 1:
            raise InputError(f"ask for one draw or more, not {self.draws}")

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws after a warm-up and a short pilot run that chooses the trajectories."""
        begin = perf_counter()
        preconditioner = self._preconditioner(model)
        build_seconds = perf_counter() - begin
        most = self.draws // MIN_CHAIN_DRAWS // SUPERCHAINS * SUPERCHAINS
        chains = min(self.chains, max(most, 2 * SUPERCHAINS))
        blocks = _start_blocks(preconditioner, chains, self.blocks, seed)
        _warm_up(blocks, progress, self.threads, self.warmup)
        settings, pilot_acceptance = _pilot(blocks, self.threads, self.steps)
        if pilot_acceptance < MIN_ACCEPTANCE:
            raise EngineUnsuitable(
                f"only {pilot_acceptance:.0%} of trajectories were accepted with up to "
                f"{self.steps[-1]} steps",
                self._fallback(model),
            )
        pilot = {
            "steps": settings.steps,
            "angle": round(settings.angle, 4),
            "pilot_acceptance": pilot_acceptance,
            "pilot_gradients": sum(block.gradients for block in blocks),
        }
        running = RunningChains(blocks, settings, self.threads, build_seconds, pilot)
        return running.draw(-(-self.draws // chains), 1, progress)

    def _preconditioner(self, model: BradleyTerry) -> Preconditioner:
        if model.terms:
            return build_hierarchical_preconditioner(model)
        return plain_or_mixture(model, self.start)

    def _fallback(self, model: BradleyTerry) -> Engine | None:
        """The engine for models on which this one's acceptance is too low."""
        if model.terms:
            return PatientTransport(draws=self.draws)
        gibbs: Engine = engine_class("gibbs")(draws=self.draws)
        return gibbs


@dataclass(frozen=True)
class PatientTransport(Transport):
    """Transport with many small steps, where large ones are rejected; slower, and as exact."""

    name = "patient-transport"
    steps = PATIENT_STEPS
    warmup = PATIENT_WARMUP

    def _fallback(self, model: BradleyTerry) -> Engine | None:
        return None if model.terms else super()._fallback(model)


@dataclass
class RunningChains:
    """Chains after their pilot run, from which draws are taken piece by piece."""

    blocks: Sequence[ChainBlock]
    settings: TrajectorySettings
    threads: int
    build_seconds: float
    pilot: Mapping[str, str | int | float]
    acceptance: list[Floats] = field(default_factory=list)

    def draw(self, each: int, thin: int, progress: Progress) -> Draws:
        """The next draws of every chain, each the last of `thin` trajectories."""
        buffer = self._fill(each, thin, progress)
        self.acceptance.append(buffer.acceptance)
        values, preconditioner = buffer.values, self.blocks[0].preconditioner
        quality, tie, variance = (values.pop(name) for name in ("quality", "tie", "variance"))
        gradients = sum(block.gradients for block in self.blocks)
        facts = {
            **self.pilot,
            "acceptance": float(np.concatenate(self.acceptance, axis=1).mean()),
            "gradients": gradients - int(self.pilot["pilot_gradients"]),
        }
        return Draws(
            quality,
            tie,
            variance,
            terms=values,
            stats={"acceptance_rate": buffer.acceptance},
            facts=facts,
            superchains=SUPERCHAINS,
            build_seconds=self.build_seconds,
            warm_start=preconditioner.warm_start,
            more=self.draw,
        )

    def _fill(self, each: int, thin: int, progress: Progress) -> DrawBuffer:
        """A buffer of the next draws of all chains."""
        counter = ProgressCounter(progress, "sampling", len(self.blocks) * each)
        first = self.blocks[0]
        chains = sum(block.q.shape[1] for block in self.blocks)
        buffer = DrawBuffer.empty(first.preconditioner.draws(first.parameters), chains, each)
        tasks = list(zip(self.blocks, buffer.split(len(self.blocks)), strict=True))

        def run(task: tuple[ChainBlock, DrawBuffer], counter: ProgressCounter) -> None:
            task[0].sample(task[1], self.settings, counter, thin)

        in_threads(run, tasks, counter, self.threads)
        return buffer


class ChainBlock:
    """Chains that move in lockstep, with a random generator of their own."""

    def __init__(self, preconditioner: Preconditioner, q: Floats, rng: Generator) -> None:
        self.preconditioner, self.rng = preconditioner, rng
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

    def trajectory(self, p: Floats, angle: float, steps: int) -> tuple[Floats, Floats, Any, Floats]:
        """End of the trajectory with momentum p: position, momentum, parameters and kick there.

        A step is half a kick, an exact rotation of (q, p) by `angle`, and half a kick.
        """
        cos, sin = np.cos(angle), np.sin(angle)
        q, parameters, kick = self.q, self.parameters, self.kick
        for step in range(steps):
            p = p + (angle / 2) * kick
            q, p = cos * q + sin * p, cos * p - sin * q
            # Single precision at all points but both ends, or the trajectory is not reversible.
            parameters = self.preconditioner.parameters(q, single=step < steps - 1)
            kick = self._kick(q, parameters)
            p += (angle / 2) * kick
        return q, p, parameters, kick

    def transition(self, settings: TrajectorySettings) -> Floats:
        """One trajectory of every chain, accepted or rejected; returns acceptance probabilities."""
        angle = settings.angle * self.rng.uniform(1 - JITTER, 1 + JITTER) / settings.steps
        p = self.rng.standard_normal(self.q.shape)
        before = self.log_density - (p**2).sum(axis=0) / 2
        # A divergent trajectory overflows, and is then rejected.
        with np.errstate(all="ignore"):
            q, p, parameters, kick = self.trajectory(p, angle, settings.steps)
            log_density = self.preconditioner.log_density_at(parameters)
            log_ratio = log_density - (p**2).sum(axis=0) / 2 - before
        finite = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
        acceptance = np.exp(np.minimum(finite, 0.0))
        accepted = self.rng.uniform(size=len(acceptance)) < acceptance
        self._update(accepted, q, parameters, log_density, kick)
        return acceptance

    def _update(
        self,
        accepted: NDArray[np.bool_],
        q: Floats,
        parameters: Any,
        log_density: Floats,
        kick: Floats,
    ) -> None:
        """The new state of the chains whose trajectory was accepted, the old one of the others."""
        rejected = ~accepted
        pairs = zip(parameters, self.parameters, strict=True)
        for new, old in ((q, self.q), (kick, self.kick), *pairs):
            new[..., rejected] = old[..., rejected]
        self.q, self.parameters, self.kick = q, parameters, kick
        self.log_density = np.where(accepted, log_density, self.log_density)

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
            for name, draw in self.preconditioner.draws(self.parameters).items():
                buffer.values[name][:, t] = np.moveaxis(draw, -1, 0)
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


def _start_blocks(
    preconditioner: Preconditioner, chains: int, blocks: int, seed: SeedSequence
) -> list[ChainBlock]:
    """Blocks of chains at over-dispersed starts, one start for the chains of each superchain."""
    *seeds, first = seed.spawn(blocks + 1)
    rng = np.random.default_rng(first)
    starts = np.concatenate([_start(preconditioner, rng) for _ in range(SUPERCHAINS)], axis=1)
    q = np.repeat(starts, chains // SUPERCHAINS, axis=1)
    parts = np.array_split(q, blocks, axis=1)
    return [
        ChainBlock(preconditioner, np.ascontiguousarray(part), np.random.default_rng(own))
        for part, own in zip(parts, seeds, strict=True)
    ]


def _start(preconditioner: Preconditioner, rng: Generator) -> Floats:
    """A wide start, shrunk while the posterior is much lower there than N(0, I)."""
    rank = preconditioner.rank
    q = rng.standard_normal((preconditioner.dimensions, 1))
    q[rng.choice(rank, min(WIDE_DIRECTIONS, rank), replace=False)] *= START_SD
    q[rank:] *= START_SD
    at_mode = preconditioner.log_density(np.zeros_like(q))
    for _ in range(20):
        excess = preconditioner.log_density(q)[0] + (q**2).sum() / 2
        if excess > at_mode[0] - MAX_START_DEFICIT:
            break
        q *= 0.8
    return q


def _warm_up(
    blocks: Sequence[ChainBlock], progress: Progress, threads: int, settings: TrajectorySettings
) -> None:
    """A few trajectories of all chains."""
    counter = ProgressCounter(progress, "warming up", len(blocks) * WARMUP_TRAJECTORIES)

    def warm_up(block: ChainBlock, counter: ProgressCounter) -> None:
        for _ in range(WARMUP_TRAJECTORIES):
            block.transition(settings)
            counter.step()

    in_threads(warm_up, blocks, counter, threads)


def _pilot(
    blocks: Sequence[ChainBlock], threads: int, numbers: tuple[int, ...]
) -> tuple[TrajectorySettings, float]:
    """The settings with most effective draws per gradient, and their acceptance."""
    scores: dict[TrajectorySettings, tuple[float, float]] = {}

    def try_settings(settings: TrajectorySettings) -> float:
        silent = ProgressCounter(lambda *_: None, "", 0)
        runs = in_threads(lambda block, _: block.pilot(settings), blocks, silent, threads)
        scores[settings] = _pilot_score(runs, settings, blocks[0].preconditioner.rank)
        return scores[settings][1]

    for steps in numbers:
        if try_settings(TrajectorySettings(ANGLES[1], steps)) > 0.9:
            break
    best = max(scores, key=lambda settings: scores[settings])
    for angle in (ANGLES[0], ANGLES[2]):
        try_settings(TrajectorySettings(angle, best.steps))
    best = max(scores, key=lambda settings: (scores[settings][0], -settings.angle))
    return best, scores[best][1]


def _pilot_score(
    runs: Sequence[PilotRun], settings: TrajectorySettings, rank: int
) -> tuple[float, float]:
    """Effective draws per gradient with these settings, and their acceptance."""
    positions = np.concatenate([run.positions for run in runs], axis=2)
    now, before = positions[1:], positions[:-1]
    # Every coordinate has about mean 0 and variance 1, so that the many can be pooled.
    product, square = (now * before).mean(axis=(0, 2)), (positions**2).mean(axis=(0, 2))
    pooled = product[:rank].sum() / square[:rank].sum()
    autocorrelation = max([pooled, *(product[rank:] / square[rank:])])
    by_chain = np.concatenate([run.acceptance.mean(axis=0) for run in runs])
    # A chain that hardly moves spoils the results of all, so the worst tenth counts too.
    worst = np.sort(by_chain)[: -(-len(by_chain) // 10)]
    acceptance = float(min(by_chain.mean(), 3 * worst.mean()))
    if acceptance < MIN_ACCEPTANCE:
        return -1.0 + acceptance, acceptance
    # Negative autocorrelation helps means and nothing else: at most one effective draw each.
    effective = min(float((1 - autocorrelation) / (1 + autocorrelation)), 1.0)
    return effective / settings.steps, acceptance
