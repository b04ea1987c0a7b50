"""Metropolis: the random walk of the R package BSBT, preconditioned by the prior.

Qualities take the proposal √(1 − β²) λ + β ξ with ξ from their prior conditional on α². It leaves
that prior invariant, so that the likelihood ratio alone decides. The unconstrained threshold has a
random walk of its own, so have the steps to further cuts of graded answers, and α² is drawn from
its conditional distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.capacity import announce, require_memory
from tiewise.engines.preconditioners.mixture_preconditioner import (
    MixtureParameters,
    MixturePreconditioner,
    plain_or_mixture,
)
from tiewise.engines.preconditioners.plain import PlainPreconditioner
from tiewise.engines.threads import chain_generators, in_threads
from tiewise.engines.updates.share import LARGEST, draw_share
from tiewise.engines.updates.slice_sampling import slice_draw
from tiewise.engines.updates.steps import SteppedLikelihood, cuts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Mixture, share_of
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

# Acceptance at which a random walk mixes fastest: in many dimensions, and in one.
QUALITY_TARGET, TIE_TARGET = 0.234, 0.44


@dataclass(frozen=True)
class Metropolis:
    """A random walk over qualities and threshold: exact, simple, and slow beyond small studies.

    `draws` are shared out over the chains, and each is the last of `thin` steps. Step sizes are
    tuned in the warm-up of each chain, which takes as long as `warmup` draws, and then frozen.
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
        require_memory(model, self.name, matrices=6)
        steps = (self.draws + self.warmup * self.chains) * self.thin
        each = 1e-9 * model.size**2 + 2e-8 * len(model.counts.first)
        announce(self.name, model, steps * each / self.threads)
        begin = perf_counter()
        preconditioner = plain_or_mixture(model)
        if isinstance(preconditioner, PlainPreconditioner):
            preconditioner = replace(preconditioner, skew=None)  # λ = B x is what it proposes
        sampler = _Sampler(preconditioner, SteppedLikelihood(model))
        build_seconds = perf_counter() - begin
        chains = [_Chain(rng) for rng in chain_generators(seed, self.chains)]

        def draw(each: int, thin: int, progress: Progress) -> Draws:
            warmup = sum(self.warmup for chain in chains if chain.state is None)
            counter = ProgressCounter(progress, "sampling", warmup + self.chains * each)
            runs = in_threads(
                lambda chain, counter: sampler.run(
                    chain, self.warmup, each, self.thin, thin * self.thin, counter
                ),
                chains, counter, self.threads,
            )  # fmt: skip
            quality, tie, variance, share, steps = (
                np.stack(part) for part in zip(*runs, strict=True)
            )
            terms = {} if model.mixture is None else {"share": share}
            if model.steps:
                terms["cut"] = cuts(tie, steps)
            return Draws(
                quality, tie, variance, terms=terms, facts=self._facts(chains, model),
                build_seconds=build_seconds, more=draw,
            )  # fmt: skip

        return draw(-(-self.draws // self.chains), 1, progress)

    def _facts(self, chains: Sequence[_Chain], model: BradleyTerry) -> dict[str, str | int | float]:
        """Step sizes, and the acceptance of all draws so far."""
        acceptance = np.stack([np.concatenate(chain.acceptance) for chain in chains])
        facts: dict[str, str | int | float] = {
            "warmup": self.warmup, "thin": self.thin,
            "acceptance": float(acceptance[..., 0].mean()),
            "step": float(np.mean([chain.step_sizes.quality for chain in chains])),
        }  # fmt: skip
        if model.fixed_tie is None:
            facts["tie_acceptance"] = float(acceptance[..., 1].mean())
            facts["tie_step"] = float(np.mean([chain.step_sizes.tie for chain in chains]))
        if model.steps:
            facts["cut_acceptance"] = float(acceptance[..., 2].mean())
            facts["cut_step"] = float(np.mean([chain.step_sizes.cut for chain in chains]))
        return facts


class _State(NamedTuple):
    """The state of a chain: x with λ = B x, the threshold δ and its coordinate t, α² and ρ.

    `steps` are those from δ to further cuts, where answers are graded. Where ρ is inferred,
    B = E diag(√(ρ r + 1 − ρ)); x has the prior N(0, α² I) for every ρ.
    """

    x: Floats
    quality: Floats
    tie: float
    t: float
    variance: float
    log_likelihood: float
    steps: Floats
    share: float = 1.0


class _Acceptance(NamedTuple):
    """Acceptance probabilities of proposals."""

    quality: float
    tie: float
    cut: float


class _StepSizes(NamedTuple):
    """β of the qualities' proposal, the sd of the unconstrained threshold's, and of steps'.

    The last is in units of each step's own standard deviation.
    """

    quality: float
    tie: float
    cut: float

    def tuned(self, acceptance: _Acceptance, rate: float) -> _StepSizes:
        """Larger where acceptance is above its target, smaller where it is below."""
        quality = self.quality * math.exp(rate * (acceptance.quality - QUALITY_TARGET))
        tie = self.tie * math.exp(rate * (acceptance.tie - TIE_TARGET))
        cut = self.cut * math.exp(rate * (acceptance.cut - TIE_TARGET))
        return _StepSizes(min(1.0, quality), tie, cut)


UNTUNED = _StepSizes(1.0, 1.0, 1.0)


@dataclass
class _Chain:
    """A chain under way: no state before its warm-up; acceptance of its draws, piece by piece."""

    rng: Generator
    state: _State | None = None
    step_sizes: _StepSizes = UNTUNED
    acceptance: list[Floats] = field(default_factory=list)


@dataclass(frozen=True)
class _Sampler:
    """The random walk of one model.

    The preconditioner supplies the factor B of the prior, and the starts.
    """

    preconditioner: PlainPreconditioner | MixturePreconditioner
    stepped: SteppedLikelihood

    def run(
        self, chain: _Chain, warmup: int, draws: int, warmup_thin: int, thin: int,
        counter: ProgressCounter,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:  # fmt: skip
        """The next draws of a chain after its warm-up, each the last of `thin` steps."""
        quality = np.empty((draws, self.preconditioner.model.size))
        (tie, variance, share), acceptance = np.empty((3, draws)), np.empty((draws, 3))
        steps = np.empty((draws, len(self.stepped.priors)))
        # A proposal may overflow (a threshold of 0 or ∞); it is then rejected without a warning.
        with np.errstate(all="ignore"):
            if chain.state is None:
                chain.state, chain.step_sizes = self.warm_up(
                    chain.rng, warmup, warmup_thin, counter
                )
            state = chain.state
            for k in range(draws):
                state, acceptance[k] = self.advance(state, chain.step_sizes, thin, chain.rng)
                quality[k], tie[k], variance[k] = state.quality, state.tie, state.variance
                share[k], steps[k] = state.share, state.steps
                counter.step()
        chain.state = state
        chain.acceptance.append(acceptance)
        return quality, tie, variance, share, steps

    def warm_up(
        self, rng: Generator, warmup: int, thin: int, counter: ProgressCounter
    ) -> tuple[_State, _StepSizes]:
        """The state after a wide start and the warm-up, and tuned step sizes."""
        state = self.start(rng)
        rank, tie_sd = self.preconditioner.rank, self.preconditioner.tie_sd
        step_sizes = _StepSizes(1 / math.sqrt(1 + rank), 2 * tie_sd, 2.0)
        for k in range(warmup * thin):
            state, acceptance = self.step(state, step_sizes, rng)
            # The learning rate falls, so that step sizes converge before they are frozen.
            step_sizes = step_sizes.tuned(acceptance, (k + 1) ** -0.6)
            if (k + 1) % thin == 0:
                counter.step()
        return state, step_sizes

    def advance(
        self, state: _State, step_sizes: _StepSizes, thin: int, rng: Generator
    ) -> tuple[_State, _Acceptance]:
        """The state after `thin` steps, and their mean acceptance."""
        quality = tie = cut = 0.0
        for _ in range(thin):
            state, acceptance = self.step(state, step_sizes, rng)
            quality, tie = quality + acceptance.quality, tie + acceptance.tie
            cut += acceptance.cut
        return state, _Acceptance(quality / thin, tie / thin, cut / thin)

    def start(self, rng: Generator) -> _State:
        """A draw from the Laplace approximation without grades, twice as wide in α and δ."""
        q = rng.normal(size=(self.preconditioner.dimensions, 1))
        q[self.preconditioner.rank :] *= 2
        at = self.preconditioner.parameters(q)
        tie, variance = float(at.tie[0]), math.exp(2 * at.log_alpha[0])
        quality, t = np.ascontiguousarray(at.quality[:, 0]), float(at.unconstrained_tie[0])
        start = self.stepped.start()
        steps = self.stepped.dispersed(start, 2 * self._step_sds, rng)
        log_likelihood = self.log_likelihood(quality, tie, steps)
        if not isinstance(at, MixtureParameters):
            return _State(at.x[:, 0], quality, tie, t, variance, log_likelihood, steps)
        share = min(float(share_of(at.tau)[0]), LARGEST)
        x = at.z[:, 0] / self._sd(share)
        return _State(x, quality, tie, t, variance, log_likelihood, steps, share)

    @cached_property
    def _step_sds(self) -> Floats:
        """Standard deviations of steps on the real line, about the middle of the starts."""
        at = self.preconditioner.parameters(np.zeros((self.preconditioner.dimensions, 1)))
        return self.stepped.sds(at.quality[:, 0], float(at.tie[0]), self.stepped.start())

    def step(
        self, state: _State, step_sizes: _StepSizes, rng: Generator
    ) -> tuple[_State, _Acceptance]:
        """Qualities, thresholds, variance: each updated once, where it is not fixed."""
        state, quality = self.update_quality(state, step_sizes.quality, rng)
        tie = cut = TIE_TARGET
        if self.preconditioner.tie_prior is not None:
            state, tie = self.update_tie(state, step_sizes.tie, rng)
        if self.stepped.priors:
            state, cut = self.update_steps(state, step_sizes.cut, rng)
        if self.preconditioner.variance_prior is not None:
            state = state._replace(variance=self.draw_variance(state, rng))
        if self.mixture is not None:
            state = self.update_share(state, rng)
        return state, _Acceptance(quality, tie, cut)

    @property
    def mixture(self) -> Mixture | None:
        """The correlation whose share is inferred."""
        return self.preconditioner.model.mixture

    def _sd(self, share: float) -> Floats:
        assert self.mixture is not None
        return np.sqrt(self.mixture.variances(share))

    def quality(self, x: Floats, share: float) -> Floats:
        """λ = B x."""
        if isinstance(self.preconditioner, MixturePreconditioner):
            out: Floats = self.preconditioner.vectors @ (self._sd(share) * x)
            return out
        return self.preconditioner.basis @ x

    def update_share(self, state: _State, rng: Generator) -> _State:
        """ρ conditional on the qualities, which stay as they are."""
        assert self.mixture is not None
        z = self._sd(state.share) * state.x
        share = draw_share(self.mixture, z, state.variance, state.share, rng)
        return state._replace(share=share, x=z / self._sd(share))

    def update_quality(
        self, state: _State, step_size: float, rng: Generator
    ) -> tuple[_State, float]:
        """The prior-preconditioned proposal, accepted or rejected, and its acceptance."""
        noise = rng.normal(size=len(state.x)) * math.sqrt(state.variance)
        x = math.sqrt(1 - step_size**2) * state.x + step_size * noise
        quality = self.quality(x, state.share)
        log_likelihood = self.log_likelihood(quality, state.tie, state.steps)
        proposal = state._replace(x=x, quality=quality, log_likelihood=log_likelihood)
        return _accept_or_reject(state, proposal, log_likelihood - state.log_likelihood, rng)

    def update_tie(self, state: _State, step_size: float, rng: Generator) -> tuple[_State, float]:
        """A random-walk proposal of the threshold, accepted or rejected, and its acceptance."""
        prior = self.preconditioner.tie_prior
        assert prior is not None
        t = state.t + step_size * rng.normal()
        at = prior.constrain(np.array([t, state.t]))
        log_prior = prior.log_density(at.tie) + at.log_jacobian
        tie = float(at.tie[0])
        log_likelihood = self.log_likelihood(state.quality, tie, state.steps)
        proposal = state._replace(tie=tie, t=t, log_likelihood=log_likelihood)
        log_ratio = log_likelihood - state.log_likelihood + float(log_prior[0] - log_prior[1])
        return _accept_or_reject(state, proposal, log_ratio, rng)

    def update_steps(self, state: _State, step_size: float, rng: Generator) -> tuple[_State, float]:
        """A random-walk proposal of each step in turn, and their mean acceptance."""
        total = 0.0
        for k, prior in enumerate(self.stepped.priors):
            t = prior.unconstrain(float(state.steps[k]))
            new = t + step_size * self._step_sds[k] * rng.normal()
            steps, log_prior = self.stepped.moved(state.steps, k, np.array([new, t]))
            log_likelihood = self.log_likelihood(state.quality, state.tie, steps[:, 0])
            proposal = state._replace(steps=steps[:, 0], log_likelihood=log_likelihood)
            log_ratio = log_likelihood - state.log_likelihood + float(log_prior[0] - log_prior[1])
            state, acceptance = _accept_or_reject(state, proposal, log_ratio, rng)
            total += acceptance
        return state, total / len(self.stepped.priors)

    def draw_variance(self, state: _State, rng: Generator) -> float:
        """α² conditional on the qualities."""
        prior, rank = self.preconditioner.variance_prior, len(state.x)
        square = float(state.x @ state.x)
        assert prior is not None
        if isinstance(prior, InverseGamma):
            return (prior.scale + square / 2) / float(rng.gamma(prior.shape + rank / 2))

        def log_density(a: Floats) -> Floats:
            out: Floats = prior.log_density(a) - rank * a - square * np.exp(-2 * a) / 2
            return out

        a = slice_draw(log_density, math.log(state.variance) / 2, 3 / math.sqrt(2 * rank), rng)
        return math.exp(2 * a)

    def log_likelihood(self, quality: Floats, tie: float, steps: Floats) -> float:
        """The model's log likelihood for one chain."""
        at = quality[:, None], np.array([tie]), steps[:, None]
        return float(self.stepped.log_likelihood(*at)[0])


def _accept_or_reject(
    state: _State, proposal: _State, log_ratio: float, rng: Generator
) -> tuple[_State, float]:
    """Metropolis' choice between state and proposal, and the acceptance probability."""
    acceptance = math.exp(min(log_ratio, 0.0)) if math.isfinite(log_ratio) else 0.0
    return (proposal if rng.uniform() < acceptance else state), acceptance
