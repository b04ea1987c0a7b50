"""Metropolis: the random walk of the R package BSBT, preconditioned by the prior.

Qualities take the proposal √(1 − β²) λ + β ξ with ξ drawn from their prior given α². It leaves
that prior alone, so the likelihood ratio decides. The threshold walks on its line, and α² is
drawn from its conditional given the qualities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.preconditioner import Chart, draw_chart
from tiewise.engines.slice_sampling import slice_draw
from tiewise.engines.threads import side_by_side
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors import InverseGamma
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

# Shares of accepted proposals at which a random walk moves fastest: in many directions, in one.
QUALITY_AIM, TIE_AIM = 0.234, 0.44


@dataclass(frozen=True)
class Metropolis:
    """A random walk over qualities and threshold: exact, simple, and slow beyond small studies.

    `draws` are shared out over the chains, and each is the last of `thin` steps. Step sizes are
    tuned while each chain warms up, for as long as `warmup` draws take, and frozen from there on.
    """

    draws: int = 4000
    thin: int = 50
    warmup: int = 200
    chains: int = 4
    threads: int = 2

    name = "metropolis"
    kind = "exact"

    def __post_init__(self) -> None:
        if self.thin < 1:
            raise InputError(f"thin must be 1 step or more a draw, not {self.thin!r}")

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws from several independent chains."""
        refuse_terms(model, self)
        begun = perf_counter()
        walk = _Walk(draw_chart(model))
        built = perf_counter() - begun
        each = -(-self.draws // self.chains)
        counter = ProgressCounter(progress, "sampling", self.chains * (self.warmup + each))

        def run(rng: Generator, counter: ProgressCounter) -> _Path:
            return walk.run(rng, self.warmup, each, self.thin, counter)

        paths = side_by_side(run, seed.spawn(self.chains), counter, self.threads)
        quality, tie, variance, accepted = (
            np.stack(part) for part in list(zip(*paths, strict=True))[:4]
        )
        facts = {
            "warmup": self.warmup, "thin": self.thin,
            "acceptance": float(accepted[..., 0].mean()),
            "step": float(np.mean([path.steps.quality for path in paths])),
        }  # fmt: skip
        if model.fixed_tie is None:
            facts["tie_acceptance"] = float(accepted[..., 1].mean())
            facts["tie_step"] = float(np.mean([path.steps.tie for path in paths]))
        return Draws(quality, tie, variance, facts=facts, build_seconds=built)


class _Point(NamedTuple):
    """Where a chain is: x with λ = B x, the threshold and its place on the line, and α²."""

    x: Floats
    quality: Floats
    tie: float
    line: float
    variance: float
    log_likelihood: float


class _Chances(NamedTuple):
    """With which chance the last two proposals were accepted."""

    quality: float
    tie: float


class _Steps(NamedTuple):
    """How far proposals go: β of the qualities, and the threshold's sd on its line."""

    quality: float
    tie: float

    def tuned(self, chances: _Chances, gain: float) -> _Steps:
        """Longer where more is accepted than aimed at, shorter where less."""
        quality = self.quality * math.exp(gain * (chances.quality - QUALITY_AIM))
        return _Steps(min(1.0, quality), self.tie * math.exp(gain * (chances.tie - TIE_AIM)))


class _Path(NamedTuple):
    """What one chain kept."""

    quality: Floats
    tie: Floats
    variance: Floats
    accepted: Floats
    steps: _Steps


@dataclass(frozen=True)
class _Walk:
    """One model's random walk; its chart gives the factor B of the prior, and the starts."""

    chart: Chart

    def run(
        self, rng: Generator, warmup: int, draws: int, thin: int, counter: ProgressCounter
    ) -> _Path:
        """One chain, its warm-up left out."""
        quality = np.empty((draws, self.chart.model.size))
        tie, variance, accepted = np.empty(draws), np.empty(draws), np.empty((draws, 2))
        # A proposal may be absurd (a threshold of 0 or ∞); it is then refused, not warned about.
        with np.errstate(all="ignore"):
            here, steps = self.warm_up(rng, warmup, thin, counter)
            for k in range(draws):
                here, accepted[k] = self.walk(here, steps, thin, rng)
                quality[k], tie[k], variance[k] = here.quality, here.tie, here.variance
                counter.step()
        return _Path(quality, tie, variance, accepted, steps)

    def warm_up(
        self, rng: Generator, warmup: int, thin: int, counter: ProgressCounter
    ) -> tuple[_Point, _Steps]:
        """A wide start walked in, and step sizes that suit."""
        here = self.start(rng)
        steps = _Steps(1 / math.sqrt(1 + self.chart.rank), 2 * float(self.chart.line_scale))
        for k in range(warmup * thin):
            here, chances = self.step(here, steps, rng)
            # Ever smaller corrections: the sizes settle, and are frozen after the warm-up.
            steps = steps.tuned(chances, (k + 1) ** -0.6)
            if (k + 1) % thin == 0:
                counter.step()
        return here, steps

    def walk(
        self, here: _Point, steps: _Steps, thin: int, rng: Generator
    ) -> tuple[_Point, _Chances]:
        """`thin` steps on, and the mean chances on the way."""
        quality = tie = 0.0
        for _ in range(thin):
            here, chances = self.step(here, steps, rng)
            quality, tie = quality + chances.quality, tie + chances.tie
        return here, _Chances(quality / thin, tie / thin)

    def start(self, rng: Generator) -> _Point:
        """A draw from the Laplace approximation, twice as wide in α and δ."""
        q = rng.normal(size=(self.chart.dimensions, 1))
        q[self.chart.rank :] *= 2
        at = self.chart.place(q)
        tie, variance = float(at.tie[0]), math.exp(2 * at.log_alpha[0])
        quality = np.ascontiguousarray(at.quality[:, 0])
        return _Point(
            at.x[:, 0], quality, tie, float(at.line[0]), variance, self.log_likelihood(quality, tie)
        )

    def step(self, here: _Point, steps: _Steps, rng: Generator) -> tuple[_Point, _Chances]:
        """Qualities, threshold, variance: each moved once, where it is not fixed."""
        here, quality = self.move_quality(here, steps.quality, rng)
        tie = TIE_AIM
        if self.chart.tie_prior is not None:
            here, tie = self.move_tie(here, steps.tie, rng)
        if self.chart.variance_prior is not None:
            here = here._replace(variance=self.draw_variance(here, rng))
        return here, _Chances(quality, tie)

    def move_quality(self, here: _Point, step: float, rng: Generator) -> tuple[_Point, float]:
        """The prior-preconditioned proposal, taken or not, and the chance it had."""
        noise = rng.normal(size=len(here.x)) * math.sqrt(here.variance)
        x = math.sqrt(1 - step**2) * here.x + step * noise
        quality = self.chart.basis @ x
        there = here._replace(
            x=x, quality=quality, log_likelihood=self.log_likelihood(quality, here.tie)
        )
        return _chosen(here, there, there.log_likelihood - here.log_likelihood, rng)

    def move_tie(self, here: _Point, step: float, rng: Generator) -> tuple[_Point, float]:
        """A step of δ along its line, taken or not, and the chance it had."""
        prior = self.chart.tie_prior
        assert prior is not None
        line = here.line + step * rng.normal()
        on_line = prior.from_line(np.array([line, here.line]))
        belief = prior.log_density(on_line.tie) + on_line.log_stretch
        tie = float(on_line.tie[0])
        there = here._replace(
            tie=tie, line=line, log_likelihood=self.log_likelihood(here.quality, tie)
        )
        gain = there.log_likelihood - here.log_likelihood + float(belief[0] - belief[1])
        return _chosen(here, there, gain, rng)

    def draw_variance(self, here: _Point, rng: Generator) -> float:
        """α² given the qualities."""
        prior, rank, square = self.chart.variance_prior, len(here.x), float(here.x @ here.x)
        assert prior is not None
        if isinstance(prior, InverseGamma):
            return (prior.scale + square / 2) / float(rng.gamma(prior.shape + rank / 2))

        def density(a: Floats) -> Floats:
            out: Floats = prior.log_density(a) - rank * a - square * np.exp(-2 * a) / 2
            return out

        a = slice_draw(density, math.log(here.variance) / 2, 3 / math.sqrt(2 * rank), rng)
        return math.exp(2 * a)

    def log_likelihood(self, quality: Floats, tie: float) -> float:
        """The model's, for one chain."""
        return float(self.chart.model.log_likelihood(quality[:, None], np.array([tie]))[0])


def _chosen(here: _Point, there: _Point, gain: float, rng: Generator) -> tuple[_Point, float]:
    """Metropolis' choice between two points, and the chance that the second one had."""
    chance = math.exp(min(gain, 0.0)) if math.isfinite(gain) else 0.0
    return (there if rng.uniform() < chance else here), chance
