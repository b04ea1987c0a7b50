"""Transport: Hamiltonian Monte Carlo on the chart, where the posterior is nearly N(0, I).

The N(0, I) part is solved exactly, by a rotation of position and momentum; only what is left of the
posterior kicks. Many chains move in lockstep, so that every product with the basis is one of
matrices (docs/inference.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, Unsuited
from tiewise.engines.hierarchical_preconditioner import draw_layered_chart
from tiewise.engines.newton import Spread
from tiewise.engines.preconditioner import draw_chart
from tiewise.engines.threads import in_threads
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

SUPERCHAINS = 4
SHORTEST = 50  # draws a chain, where there are enough to go round
JITTER = 0.2
STEPS: tuple[int, ...] = (2, 3, 4, 6, 8)
PATIENT_STEPS: tuple[int, ...] = (12, 18, 27, 40)
ANGLES = (np.pi / 2, 1.8, 2.0)
POOREST = 0.6
# Starts this many sd out in α, in δ and in a few random directions; all of them wide would strand
# chains where there are many items.
WIDE, WIDE_DIRECTIONS = 2.0, 5
LOST = 10.0  # nats by which a start may lie lower than N(0, I) would have it
WARM_MOVES, PILOT_MOVES = 6, 4


class Chart(Protocol):
    """A map from q, nearly N(0, I), to a place in the model; what is told of a place is kept."""

    @property
    def rank(self) -> int:
        """How many rows of q, the first, may be judged together."""

    @property
    def dimensions(self) -> int:
        """How many rows q has."""

    @property
    def spread(self) -> Spread | None:
        """What a chart of similar data may start from."""

    def place(self, q: Floats, *, rough: bool = False) -> Any:
        """The place at q: a tuple of arrays whose last axis runs over chains."""

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""

    def density_at(self, at: Any) -> Floats:
        """Log density of the q that lies at a place."""

    def slope_at(self, at: Any) -> Floats:
        """Its derivative by q."""

    def told(self, at: Any) -> dict[str, Floats]:
        """What is kept of a place, by name."""


class Pace(NamedTuple):
    """How far a trajectory turns in all, and in how many steps."""

    angle: float
    steps: int


WARM = Pace(np.pi / 2, 3)
PATIENT_WARM = Pace(np.pi / 2, 18)


class Kept(NamedTuple):
    """What chains bring home: chains first, then draws."""

    values: dict[str, Floats]
    acceptance: Floats

    @classmethod
    def room(cls, told: dict[str, Floats], chains: int, draws: int) -> Kept:
        """Empty room for so many draws of what is told of a place."""
        values = {name: np.empty((chains, draws, *one.shape[:-1])) for name, one in told.items()}
        return cls(values, np.empty((chains, draws)))

    def shared(self, blocks: int) -> list[Kept]:
        """The same room, a part for each block of chains."""
        parts = {name: np.array_split(whole, blocks) for name, whole in self.values.items()}
        acceptance = np.array_split(self.acceptance, blocks)
        return [
            Kept({name: part[k] for name, part in parts.items()}, acceptance[k])
            for k in range(blocks)
        ]


@dataclass(frozen=True)
class Transport:
    """Exact and nearly independent draws, for two or three gradients each.

    `draws` are shared out over `chains` (fewer where they would be short), which move in lockstep
    in `blocks` that threads share; a quarter of the chains leave from each of four over-dispersed
    starts (nested R-hat). `start` is the spread found for similar data (`Draws.spread`), from which
    the chart is drawn in fewer steps.
    """

    draws: int = 4000
    chains: int = 64
    blocks: int = 2
    threads: int = 2
    start: Spread | None = field(default=None, repr=False, compare=False)

    name = "transport"
    kind = "exact"
    # What the pilot may choose from, and how it is warmed up for that.
    steps = STEPS
    warm = WARM

    def __post_init__(self) -> None:
        if self.chains < 2 * SUPERCHAINS or self.chains % SUPERCHAINS:
            raise InputError(f"chains must be 8, 12, 16, ..., not {self.chains}")
        if not 1 <= self.blocks <= self.chains:
            raise InputError(f"{self.chains} chains cannot move in {self.blocks} blocks")
        if self.draws < 1:
            raise InputError(f"ask for one draw or more, not {self.draws}")

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws after a short pilot that settles the pace."""
        begun = perf_counter()
        chart: Chart = draw_layered_chart(model) if model.terms else draw_chart(model, self.start)
        built = perf_counter() - begun
        shortened = self.draws // SHORTEST // SUPERCHAINS * SUPERCHAINS
        chains = min(self.chains, max(shortened, 2 * SUPERCHAINS))
        blocks = _started(chart, chains, self.blocks, seed)
        pace, acceptance = _pilot(blocks, progress, self.threads, self.steps, self.warm)
        each = -(-self.draws // chains)
        pilot = sum(block.gradients for block in blocks)
        counter = ProgressCounter(progress, "sampling", self.blocks * each)
        kept = Kept.room(chart.told(blocks[0].at), chains, each)
        shares = list(zip(blocks, kept.shared(self.blocks), strict=True))
        in_threads(lambda share, t: share[0].keep(share[1], pace, t), shares, counter, self.threads)
        gradients = sum(block.gradients for block in blocks) - pilot
        quality, tie, variance = (kept.values.pop(name) for name in ("quality", "tie", "variance"))
        return Draws(
            quality,
            tie,
            variance,
            more=kept.values,
            stats={"acceptance_rate": kept.acceptance},
            facts={
                "steps": pace.steps,
                "angle": round(pace.angle, 4),
                "acceptance": float(kept.acceptance.mean()),
                "pilot_acceptance": acceptance,
                "gradients": gradients,
                "pilot_gradients": pilot,
            },
            superchains=SUPERCHAINS,
            build_seconds=built,
            spread=chart.spread,
        )


@dataclass(frozen=True)
class Patient(Transport):
    """Transport in many small steps, where large ones lead astray; slower, and as exact."""

    name = "patient-transport"
    steps = PATIENT_STEPS
    warm = PATIENT_WARM


class Block:
    """Chains that move in lockstep, with their own source of chance."""

    def __init__(self, chart: Chart, q: Floats, rng: Generator) -> None:
        self.chart, self.rng = chart, rng
        self.gradients = 0
        self.q, self.at = q, chart.place(q)
        self.density = chart.density_at(self.at)
        self.kick = self._kick(q, self.at)

    def _kick(self, q: Floats, at: Any) -> Floats:
        """Slope of what the posterior has beyond N(0, I)."""
        self.gradients += self.q.shape[1]
        kick = self.chart.slope_at(at)
        kick += q
        return kick

    def travel(self, p: Floats, angle: float, steps: int) -> tuple[Floats, Floats, Any, Floats]:
        """Where a trajectory with momentum p ends: position, momentum, place and kick there."""
        turn, lean = np.cos(angle), np.sin(angle)
        q, at, kick = self.q, self.at, self.kick
        for step in range(steps):
            p = p + (angle / 2) * kick
            q, p = turn * q + lean * p, turn * p - lean * q
            # Both ends are computed alike and all between alike, or the way back were another.
            at = self.chart.place(q, rough=step < steps - 1)
            kick = self._kick(q, at)
            p += (angle / 2) * kick
        return q, p, at, kick

    def move(self, pace: Pace) -> Floats:
        """One trajectory of every chain; the chances with which they were accepted."""
        angle = pace.angle * self.rng.uniform(1 - JITTER, 1 + JITTER) / pace.steps
        p = self.rng.standard_normal(self.q.shape)
        before = self.density - (p**2).sum(axis=0) / 2
        # A trajectory that runs away overflows, and is then refused.
        with np.errstate(all="ignore"):
            q, p, at, kick = self.travel(p, angle, pace.steps)
            density = self.chart.density_at(at)
            gain = density - (p**2).sum(axis=0) / 2 - before
        chance = np.exp(np.minimum(np.where(np.isfinite(gain), gain, -np.inf), 0.0))
        yes = self.rng.uniform(size=len(chance)) < chance
        self._go(yes, q, at, density, kick)
        return chance

    def _go(
        self, yes: NDArray[np.bool_], q: Floats, at: Any, density: Floats, kick: Floats
    ) -> None:
        """Take the new place where it was accepted, stay where it was not."""
        no = ~yes
        for new, old in ((q, self.q), (kick, self.kick), *zip(at, self.at, strict=True)):
            new[..., no] = old[..., no]
        self.q, self.at, self.kick = q, at, kick
        self.density = np.where(yes, density, self.density)

    def keep(self, kept: Kept, pace: Pace, counter: ProgressCounter) -> None:
        """Fill in the draws of every chain, one a trajectory."""
        for t in range(kept.acceptance.shape[1]):
            kept.acceptance[:, t] = self.move(pace)
            for name, told in self.chart.told(self.at).items():
                kept.values[name][:, t] = np.moveaxis(told, -1, 0)
            counter.step()

    def try_out(self, pace: Pace) -> Trial:
        """A few trajectories at a pace: acceptance, and how much of each place the next forgets."""
        path, chance = [self.q], []
        for _ in range(PILOT_MOVES):
            chance.append(self.move(pace))
            path.append(self.q.copy())
        return Trial(np.stack(path), np.stack(chance))


class Trial(NamedTuple):
    """Places (moves + 1, dimensions, chains) and acceptance chances (moves, chains) of a pilot."""

    path: Floats
    chance: Floats


def _started(chart: Chart, chains: int, blocks: int, seed: SeedSequence) -> list[Block]:
    """Blocks of chains at over-dispersed starts, one start for the chains of each superchain."""
    *seeds, first = seed.spawn(blocks + 1)
    rng = np.random.default_rng(first)
    starts = np.concatenate([_start(chart, rng) for _ in range(SUPERCHAINS)], axis=1)
    q = np.repeat(starts, chains // SUPERCHAINS, axis=1)
    parts = np.array_split(q, blocks, axis=1)
    return [
        Block(chart, np.ascontiguousarray(part), np.random.default_rng(own))
        for part, own in zip(parts, seeds, strict=True)
    ]


def _start(chart: Chart, rng: Generator) -> Floats:
    """A wide start, drawn in where the posterior falls off much faster than N(0, I)."""
    q = rng.standard_normal((chart.dimensions, 1))
    q[rng.choice(chart.rank, min(WIDE_DIRECTIONS, chart.rank), replace=False)] *= WIDE
    q[chart.rank :] *= WIDE
    summit = chart.log_density(np.zeros_like(q))
    for _ in range(20):
        if chart.log_density(q)[0] + (q**2).sum() / 2 > summit[0] - LOST:
            break
        q *= 0.8
    return q


def _pilot(
    blocks: Sequence[Block], progress: Progress, threads: int, numbers: tuple[int, ...], slow: Pace
) -> tuple[Pace, float]:
    """The pace that forgets fastest per gradient, and its acceptance; refuses a poor one."""
    counter = ProgressCounter(progress, "warming up", len(blocks) * WARM_MOVES)

    def warm(block: Block, counter: ProgressCounter) -> None:
        for _ in range(WARM_MOVES):
            block.move(slow)
            counter.step()

    in_threads(warm, blocks, counter, threads)
    scores: dict[Pace, tuple[float, float]] = {}

    def judge(pace: Pace) -> float:
        quiet = ProgressCounter(lambda *_: None, "", 0)
        trials = in_threads(lambda b, _: b.try_out(pace), blocks, quiet, threads)
        scores[pace] = _judged(trials, pace, blocks[0].chart.rank)
        return scores[pace][1]

    for steps in numbers:
        if judge(Pace(ANGLES[1], steps)) > 0.9:
            break
    best = max(scores, key=lambda pace: scores[pace])
    for angle in (ANGLES[0], ANGLES[2]):
        judge(Pace(angle, best.steps))
    best = max(scores, key=lambda pace: (scores[pace][0], -pace.angle))
    acceptance = scores[best][1]
    if acceptance < POOREST:
        raise Unsuited(
            f"only {acceptance:.0%} of trajectories were accepted with up to {numbers[-1]} steps"
        )
    return best, acceptance


def _judged(trials: Sequence[Trial], pace: Pace, rank: int) -> tuple[float, float]:
    """Effective draws per gradient at a pace, and its acceptance."""
    path = np.concatenate([trial.path for trial in trials], axis=2)
    now, then = path[1:], path[:-1]
    # On the chart every coordinate has about mean 0 and variance 1: the many are pooled.
    product, square = (now * then).mean(axis=(0, 2)), (path**2).mean(axis=(0, 2))
    pooled = product[:rank].sum() / square[:rank].sum()
    memory = max([pooled, *(product[rank:] / square[rank:])])
    chance = np.concatenate([trial.chance.mean(axis=0) for trial in trials])
    # A chain that hardly moves spoils what the others do well.
    acceptance = float(min(chance.mean(), 3 * np.sort(chance)[: -(-len(chance) // 10)].mean()))
    if acceptance < POOREST:
        return -1.0 + acceptance, acceptance
    # Draws that overshoot flatter a mean and nothing else: better than independent counts as 1.
    return min(float((1 - memory) / (1 + memory)), 1.0) / pace.steps, acceptance
