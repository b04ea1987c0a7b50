"""Transport: Hamiltonian Monte Carlo in coordinates in which the posterior is nearly N(0, I).

The N(0, I) part is integrated exactly, by a rotation of position and momentum; the kicks are the
gradient of the rest of the posterior. Many chains move in lockstep, so that products with the basis
are products of matrices (docs/inference.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.allocator import give_back_free
from tiewise.engines import engine_class
from tiewise.engines.base import Draws, Engine, EngineUnsuitable
from tiewise.engines.capacity import FLOPS, announce, require_memory
from tiewise.engines.chain_block import ChainBlock, PilotRun, TrajectorySettings
from tiewise.engines.draw_buffer import DrawBuffer
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.preconditioners.mixture_preconditioner import WarmStart, plain_or_mixture
from tiewise.engines.preconditioners.plain import Preconditioner
from tiewise.engines.sparse.choice import (
    SparsePreconditioner,
    SparseStart,
    build_sparse_preconditioner,
    prefers_sparse,
)
from tiewise.engines.threads import in_threads
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.optional import is_installed
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

SUPERCHAINS = 4
MIN_CHAIN_DRAWS = 50  # where there are enough draws for two chains in each superchain
STEPS: tuple[int, ...] = (2, 3, 4, 6, 8)
PATIENT_STEPS: tuple[int, ...] = (12, 18, 27, 40)
SPARSE_STEPS: tuple[int, ...] = (4, 6, 9, 12, 18, 27, 40)
# Total angles of trajectories: the second of two steps that lose too much energy at the first.
ANGLE, SHORTER_ANGLE = 1.75, 1.6
TAIL = 1.645  # sd beyond which a twentieth of a Gaussian lies
MIN_ACCEPTANCE, GOOD_ACCEPTANCE = 0.6, 0.9
# Starts lie this many sd out in α, in δ and in a few random directions. Were all directions wide,
# chains with many items would never move.
START_SD, WIDE_DIRECTIONS = 2.0, 5
MAX_START_DEFICIT = 10.0  # nats by which a start's density may be lower than under N(0, I)
WARMUP_TRAJECTORIES = 6


WARMUP = TrajectorySettings(np.pi / 2, 3)
PATIENT_WARMUP = TrajectorySettings(np.pi / 2, 18)
SPARSE_WARMUP = TrajectorySettings(np.pi / 2, 12)
# Chains of the sparse preconditioner: so many that their qualities fit a cache, but enough to
# tell superchains apart.
SPARSE_CHAINS, SPARSE_NUMBERS = 16, 256_000
# Where every comparison is a row, a draw takes a pass over all of them. Of so many rows the default
# number of draws is less, and still worth several hundred.
MANY_ROWS, FEWER_DRAWS = 250_000, 1600


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
    start: WarmStart | SparseStart | None = field(default=None, repr=False, compare=False)

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
        draws = self._number_of_draws(model)
        chains, steps, warmup = self._schedule(preconditioner, draws)
        blocks = _start_blocks(preconditioner, chains, self.blocks, seed)
        _warm_up(blocks, progress, self.threads, warmup)
        settings, pilot_acceptance = _pilot(blocks, self.threads, steps)
        if pilot_acceptance < MIN_ACCEPTANCE:
            raise EngineUnsuitable(
                f"only {pilot_acceptance:.0%} of trajectories were accepted with up to "
                f"{steps[-1]} steps",
                self._fallback(model),
            )
        pilot = {
            "steps": settings.steps,
            "angle": round(settings.angle, 4),
            "pilot_acceptance": pilot_acceptance,
            "pilot_gradients": sum(block.gradients for block in blocks),
        }
        give_back_free(model.size)
        running = RunningChains(blocks, settings, self.threads, build_seconds, pilot)
        return running.draw(-(-draws // chains), 1, progress)

    def _number_of_draws(self, model: BradleyTerry) -> int:
        """Number of draws: fewer than the default where there are very many rows of facts."""
        default = self.draws == type(self).draws
        many = model.counts.facts is not None and len(model.counts.first) >= MANY_ROWS
        return min(self.draws, FEWER_DRAWS) if default and many else self.draws

    def _schedule(
        self, preconditioner: Preconditioner, draws: int
    ) -> tuple[int, tuple[int, ...], TrajectorySettings]:
        """Number of chains, numbers of steps to choose from, and the warm-up's trajectories."""
        most = draws // MIN_CHAIN_DRAWS // SUPERCHAINS * SUPERCHAINS
        chains = min(self.chains, max(most, 2 * SUPERCHAINS))
        if not isinstance(preconditioner, SparsePreconditioner):
            return chains, self.steps, self.warmup
        room = SPARSE_NUMBERS // preconditioner.rank // SUPERCHAINS * SUPERCHAINS
        return min(chains, max(room, SPARSE_CHAINS)), SPARSE_STEPS, SPARSE_WARMUP

    def _preconditioner(self, model: BradleyTerry) -> Preconditioner:
        if prefers_sparse(model):
            return build_sparse_preconditioner(model, self.start)
        require_memory(model, self.name, matrices=8)
        announce(self.name, model, 3 * model.size**3 / FLOPS)
        if model.terms or model.steps:
            return build_hierarchical_preconditioner(model)
        return plain_or_mixture(model, None if isinstance(self.start, SparseStart) else self.start)

    def _fallback(self, model: BradleyTerry) -> Engine | None:
        """The engine for models on which this one's acceptance is too low."""
        # Without the library of Gibbs, small steps are tried first: they need nothing else.
        if _needs_transport(model) or not is_installed("polyagamma"):
            return PatientTransport(draws=self.draws)
        return _gibbs(self.draws)


@dataclass(frozen=True)
class PatientTransport(Transport):
    """Transport with many small steps, where large ones are rejected; slower, and as exact."""

    name = "patient-transport"
    steps = PATIENT_STEPS
    warmup = PATIENT_WARMUP

    def _fallback(self, model: BradleyTerry) -> Engine | None:
        return None if _needs_transport(model) else _gibbs(self.draws)


def _gibbs(draws: int) -> Engine:
    engine: Engine = engine_class("gibbs")(draws=draws)
    return engine


def _needs_transport(model: BradleyTerry) -> bool:
    """Whether many small steps are what is left where large ones are rejected."""
    anchored = model.anchors is not None and not prefers_sparse(model)
    return bool(model.terms or model.steps or anchored)


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
        gradients = sum(block.gradients for block in self.blocks)
        facts = {
            **self.pilot,
            "acceptance": float(np.concatenate(self.acceptance, axis=1).mean()),
            "gradients": gradients - int(self.pilot["pilot_gradients"]),
        }
        return Draws(
            **buffer.fields(),
            facts=facts,
            superchains=SUPERCHAINS,
            build_seconds=self.build_seconds,
            warm_start=self.blocks[0].preconditioner.warm_start,
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
    shrinking, deficit = q, MAX_START_DEFICIT
    if isinstance(preconditioner, SparsePreconditioner):
        # A diagonal leaves every item somewhat off N(0, I), and few coordinates are wide.
        shrinking, deficit = q[preconditioner.uncertain_rows], deficit + np.sqrt(rank)
    for _ in range(20):
        excess = preconditioner.log_density(q)[0] + (q**2).sum() / 2
        if excess > at_mode[0] - deficit:
            break
        shrinking *= 0.8
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
    """The settings with most effective draws for their cost, and their acceptance."""
    scores: dict[TrajectorySettings, tuple[float, float]] = {}

    def try_settings(settings: TrajectorySettings) -> float:
        silent = ProgressCounter(lambda *_: None, "", 0)
        runs = in_threads(lambda block, _: block.pilot(settings), blocks, silent, threads)
        scores[settings] = _pilot_score(runs, settings, blocks[0].preconditioner.rank)
        return scores[settings][1]

    for steps in numbers:
        settings = TrajectorySettings(ANGLE, steps)
        acceptance = try_settings(settings)
        if steps == STEPS[0] and MIN_ACCEPTANCE < acceptance <= GOOD_ACCEPTANCE:
            del scores[settings]
            acceptance = try_settings(settings._replace(angle=SHORTER_ANGLE))
        if acceptance > GOOD_ACCEPTANCE:
            break
    best = max(scores, key=lambda settings: scores[settings])
    return best, scores[best][1]


def _tail_autocorrelation(positions: Floats) -> float:
    """That of lying in a tail, pooled over coordinates and both tails: what tail ESS tells."""
    both = []
    for tail in (positions < -TAIL, positions > TAIL):
        share = tail.mean()
        together = (tail[1:] & tail[:-1]).mean() - share**2
        both.append(together / max(share * (1 - share), 1e-3))
    return float(np.mean(both))


def _pilot_score(
    runs: Sequence[PilotRun], settings: TrajectorySettings, rank: int
) -> tuple[float, float]:
    """Effective draws for their cost with these settings, and their acceptance."""
    positions = np.concatenate([run.positions for run in runs], axis=2)
    now, before = positions[1:], positions[:-1]
    # Every coordinate has about mean 0 and variance 1, so that the many can be pooled.
    product, square = (now * before).mean(axis=(0, 2)), (positions**2).mean(axis=(0, 2))
    pooled = product[:rank].sum() / square[:rank].sum()
    # Single coordinates are known to a standard error, which must not decide.
    others = product[rank:] / square[rank:] - (len(now) * positions.shape[2]) ** -0.5
    autocorrelation = max([pooled, _tail_autocorrelation(positions[:, :rank]), *others])
    by_chain = np.concatenate([run.acceptance.mean(axis=0) for run in runs])
    # A chain that hardly moves spoils the results of all, so the worst tenth counts too.
    worst = np.sort(by_chain)[: -(-len(by_chain) // 10)]
    acceptance = float(min(by_chain.mean(), 3 * worst.mean()))
    if acceptance < MIN_ACCEPTANCE:
        return -1.0 + acceptance, acceptance
    # Negative autocorrelation helps means and nothing else: at most one effective draw each.
    effective = min(float((1 - autocorrelation) / (1 + autocorrelation)), 1.0)
    # A draw costs the density at its end, and what is made of it: about one more gradient.
    return effective / (settings.steps + 1), acceptance
