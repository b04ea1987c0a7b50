"""Gibbs: the paper's algorithm, with its errata corrected (docs/inference.md).

Conditional on Pólya–Gamma variables the qualities are jointly Gaussian. The threshold is drawn with
these variables integrated out, and α² twice: once at fixed qualities, once at fixed λ/α
(interweaving), because either alone mixes slowly where the other mixes fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.capacity import FLOPS, announce, require_memory
from tiewise.engines.preconditioners.laplace_marginal import fit_laplace_marginal
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.engines.threads import chain_generators, in_threads
from tiewise.engines.updates.share import draw_share, draw_share_and_quality
from tiewise.engines.updates.slice_sampling import slice_draw
from tiewise.engines.updates.steps import SteppedLikelihood, cuts
from tiewise.model import kernels
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.optional import require
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

PUBLISHED_TIE_STEP = 0.1
LARGE_MARGIN = 20.0
# Where the data do not bound α² its vague prior allows values at which matrices overflow; at a
# variance of 10¹² every judgement is certain anyway.
MAX_VARIANCE = 1e12


@dataclass(frozen=True)
class Gibbs:
    """Pólya–Gamma Gibbs sampling: exact, no tuning, one Cholesky factorisation a sweep.

    `draws` are shared out over the chains; the first `warmup` sweeps of each chain are dropped.

    `as_published=True` uses the paper's plain updates (random-walk threshold, α² at fixed
    qualities only) for comparison; the errata stay corrected.
    """

    draws: int = 4000
    warmup: int = 200
    chains: int = 4
    threads: int = 2
    as_published: bool = False

    name = "gibbs"
    kind = "exact"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws from several independent chains."""
        require("Gibbs", "polyagamma")
        refuse_terms(model, self)
        require_memory(model, self.name, matrices=3 + 2 * self.threads)
        sweeps = self.draws + self.warmup * self.chains
        announce(self.name, model, sweeps * model.size**3 / 2 / FLOPS / self.threads)
        begin = perf_counter()
        sampler = _Sampler.of(model, as_published=self.as_published)
        build_seconds = perf_counter() - begin
        chains = [_Chain(rng, self.warmup) for rng in chain_generators(seed, self.chains)]

        def draw(each: int, thin: int, progress: Progress) -> Draws:
            steps = sum(chain.warmup + each for chain in chains)
            counter = ProgressCounter(progress, "sampling", steps)
            runs = in_threads(
                lambda chain, counter: sampler.run(chain, each, thin, counter),
                chains, counter, self.threads,
            )  # fmt: skip
            quality, tie, variance, share, own = (
                np.stack(part) for part in zip(*runs, strict=True)
            )
            terms = {} if model.mixture is None else {"share": share}
            if model.steps:
                terms["cut"] = cuts(tie, own)
            facts = {"warmup": self.warmup, "as_published": int(self.as_published)}
            return Draws(
                quality, tie, variance, terms=terms, facts=facts, build_seconds=build_seconds,
                more=draw,
            )  # fmt: skip

        return draw(-(-self.draws // self.chains), 1, progress)


@dataclass(frozen=True)
class _State:
    quality: Floats
    tie: float
    variance: float
    share: float = 1.0
    steps: Floats = field(default_factory=lambda: np.empty(0))


@dataclass
class _Chain:
    """A chain under way: its generator, the sweeps of its warm-up to come, its state after them."""

    rng: Generator
    warmup: int
    state: _State | None = None


@dataclass(frozen=True, eq=False)
class _Sampler:
    """The conditional distributions of one model, with starts and slice widths from its mode."""

    model: BradleyTerry
    posterior: ConditionalPosterior
    start: _State
    tie_width: float
    log_alpha_width: float
    log_alpha_sd: float
    as_published: bool
    step_sds: Floats

    @classmethod
    def of(cls, model: BradleyTerry, *, as_published: bool) -> _Sampler:
        share = 1.0 if model.mixture is None else 0.5
        posterior = _conditional(model, share)
        marginal = fit_laplace_marginal(posterior)
        mode = marginal.mode
        tie_width = 1.0
        if posterior.tie_prior is not None:
            likelihood = model.negative_hessian(mode.quality, mode.tie)
            own = posterior.tie_hessian(mode.quality, mode.unconstrained_tie, likelihood)[1]
            tie_width = float(3 / np.sqrt(max(own, 1e-4)))
        stepped = SteppedLikelihood(model)
        steps = stepped.start()
        start = _State(mode.quality, mode.tie, float(np.exp(2 * mode.log_alpha)), share, steps)
        # Slices are stepped out from about three standard deviations. Conditional on λ/α, log α
        # depends on the likelihood alone, so that its marginal sd is a fair guess.
        width = 3 * max(marginal.sd, 1e-2)
        step_sds = stepped.sds(mode.quality, mode.tie, steps)
        return cls(model, posterior, start, tie_width, width, marginal.sd, as_published, step_sds)

    @cached_property
    def stepped(self) -> SteppedLikelihood:
        """The likelihood, that of graded answers with their steps."""
        return SteppedLikelihood(self.model)

    def log_likelihood(self, quality: Floats, tie: Floats, steps: Floats) -> Floats:
        """Log likelihood of qualities (items, values) and thresholds (values) at these steps."""
        columns = np.repeat(steps[:, None], len(tie), axis=1)
        return self.stepped.log_likelihood(quality, tie, columns)

    def run(
        self, chain: _Chain, draws: int, thin: int, counter: ProgressCounter
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The next draws of a chain after its warm-up, each the last of `thin` sweeps."""
        quality = np.empty((draws, self.model.size))
        steps = np.empty((draws, len(self.start.steps)))
        tie, variance, share = np.empty((3, draws))
        state, rng = chain.state or self._dispersed_start(chain.rng), chain.rng
        for k in range(-chain.warmup, draws):
            for _ in range(thin if k >= 0 else 1):
                state = self.sweep(state, rng)
            if k >= 0:
                quality[k], tie[k], variance[k] = state.quality, state.tie, state.variance
                share[k], steps[k] = state.share, state.steps
            counter.step()
        chain.state, chain.warmup = state, 0
        return quality, tie, variance, share, steps

    def _dispersed_start(self, rng: Generator) -> _State:
        """A start wider than the posterior in α and δ; the first sweep draws the qualities."""
        variance, tie = self.start.variance, self.start.tie
        if self.model.fixed_variance is None:
            variance *= float(np.exp(4 * self.log_alpha_sd * rng.normal()))
            variance = min(variance, MAX_VARIANCE / 2)
        if self.posterior.tie_prior is not None:
            prior = self.posterior.tie_prior
            t = prior.unconstrain(tie) + 2 / 3 * self.tie_width * rng.normal()
            tie = float(prior.constrain(np.array([t])).tie[0])
        share = 1.0 if self.model.mixture is None else float(rng.uniform(0.02, 0.98))
        steps = self.stepped.dispersed(self.start.steps, 2 * self.step_sds, rng)
        return _State(self.start.quality, tie, variance, share, steps)

    def sweep(self, state: _State, rng: Generator) -> _State:
        """Qualities, thresholds, variance, share: each from its conditional distribution."""
        state = replace(state, quality=self._draw_quality(state, rng))
        if self.posterior.tie_prior is not None:
            update = self._random_walk_tie if self.as_published else self._draw_tie
            state = replace(state, tie=update(state, rng))
        if self.model.steps:
            own = self.stepped.draw(state.quality, state.tie, state.steps, 3 * self.step_sds, rng)
            state = replace(state, steps=own)
        if self.model.fixed_variance is None:
            state = replace(state, variance=self._draw_variance(state, rng))
            if not self.as_published:
                state = self._draw_scale(state, rng)
        return state if self.model.mixture is None else self._draw_share(state, rng)

    def _draw_share(self, state: _State, rng: Generator) -> _State:
        """ρ twice: at fixed qualities, and at fixed standardised qualities."""
        mixture = self.model.mixture
        assert mixture is not None
        z = mixture.vectors.T @ state.quality
        share = draw_share(mixture, z, state.variance, state.share, rng)

        def log_likelihood(quality: Floats) -> Floats:
            tie = np.full(quality.shape[1], state.tie)
            return self.log_likelihood(quality, tie, state.steps)

        share, quality = draw_share_and_quality(mixture, z, share, log_likelihood, rng)
        return replace(state, share=share, quality=quality)

    def _draw_quality(self, state: _State, rng: Generator) -> Floats:
        """λ conditional on Pólya–Gamma variables z: N(S Xᵀ(k + δ z), S), S⁻¹ = XᵀZX + Σ⁻¹/α²."""
        first, second, forth, back = self.stepped.pairs
        tie = self.stepped.row_thresholds(state.tie, state.steps)
        ahead, behind = kernels.margins(state.quality[first] - state.quality[second], tie)
        z_forth, z_back = _polya_gamma(forth, ahead, rng), _polya_gamma(back, behind, rng)
        linear = (forth - back) / 2 + tie * (z_forth - z_back)
        size = self.model.size
        up, down = (np.bincount(side, linear, size) for side in (first, second))
        target: Floats = np.asarray(up - down, np.float64)
        weight = kernels.laplacian(first, second, z_forth + z_back, size)
        if (anchors := self.model.anchor_factor) is not None:
            anchors.add_conditional(state.quality, weight, target, rng)
        factor, precision = self.posterior.factor, self._precision(state)
        if precision is not None:
            return _gaussian(weight + precision / state.variance, target, rng)
        assert factor is not None
        inverse = factor.T @ weight @ factor
        inverse.flat[:: len(inverse) + 1] += 1 / state.variance
        quality: Floats = factor @ _gaussian(inverse, factor.T @ target, rng)
        return quality

    def _tie_log_density(self, state: _State) -> Callable[[Floats], Floats]:
        """Log density of the unconstrained threshold, conditional on everything else."""
        prior = self.posterior.tie_prior
        assert prior is not None

        def log_density(t: Floats) -> Floats:
            at = prior.constrain(t)
            with np.errstate(all="ignore"):
                columns = _columns(state.quality, len(t))
                total = self.log_likelihood(columns, at.tie, state.steps)
                total = total + prior.log_density(at.tie) + at.log_jacobian
            return np.where(np.isfinite(total), total, -np.inf)

        return log_density

    def _draw_tie(self, state: _State, rng: Generator) -> float:
        """δ by slice sampling, the Pólya–Gamma variables integrated out."""
        prior = self.posterior.tie_prior
        assert prior is not None
        log_density = self._tie_log_density(state)
        t = slice_draw(log_density, prior.unconstrain(state.tie), self.tie_width, rng)
        return float(prior.constrain(np.array([t])).tie[0])

    def _random_walk_tie(self, state: _State, rng: Generator) -> float:
        """δ by one step of the paper's random walk."""
        prior = self.posterior.tie_prior
        assert prior is not None
        new = state.tie + PUBLISHED_TIE_STEP * rng.normal()
        if not prior.low < new < prior.high:
            return state.tie
        ties = np.array([new, state.tie])
        log = self.log_likelihood(_columns(state.quality, 2), ties, state.steps)
        log = log + prior.log_density(ties)
        return new if np.log(rng.uniform()) < log[0] - log[1] else state.tie

    def _draw_variance(self, state: _State, rng: Generator) -> float:
        """α² conditional on the qualities."""
        square = self._square(state)
        rank, prior = self.posterior.rank, self.model.variance
        assert not isinstance(prior, Fixed)
        if isinstance(prior, InverseGamma):
            new = (prior.scale + square / 2) / float(rng.gamma(prior.shape + rank / 2))
            return new if new < MAX_VARIANCE else state.variance

        def log_density(a: Floats) -> Floats:
            out: Floats = prior.log_density(a) - rank * a - square * np.exp(-2 * a) / 2
            return out

        a = slice_draw(log_density, np.log(state.variance) / 2, 3 / np.sqrt(2 * rank), rng)
        return float(np.exp(2 * a))

    def _precision(self, state: _State) -> Floats | None:
        """Σ⁻¹ at the state's share, where it can be trusted."""
        mixture = self.model.mixture
        return self.posterior.precision if mixture is None else mixture.precision(state.share)

    def _square(self, state: _State) -> float:
        """λᵀ Σ⁻¹ λ."""
        quality, mixture = state.quality, self.model.mixture
        if mixture is not None:
            z = mixture.vectors.T @ quality
            return float(z**2 @ (1 / mixture.variances(state.share)))
        if self.posterior.precision is not None:
            return float(quality @ (self.posterior.precision @ quality))
        y = self.model.prior.coordinates(quality)
        return float(y @ y)

    def _draw_scale(self, state: _State, rng: Generator) -> _State:
        """α and the qualities together, at fixed λ/α."""
        prior = self.model.variance
        assert not isinstance(prior, Fixed)
        start = np.log(state.variance) / 2

        def log_density(a: Floats) -> Floats:
            with np.errstate(all="ignore"):
                quality = _columns(state.quality, len(a)) * np.exp(a - start)
                total = self.log_likelihood(quality, np.full(len(a), state.tie), state.steps)
                total = total + prior.log_density(a)
                possible = (np.exp(2 * a) < MAX_VARIANCE) & np.isfinite(total)
            return np.where(possible, total, -np.inf)

        a = slice_draw(log_density, start, self.log_alpha_width, rng)
        quality = state.quality * np.exp(a - start)
        return replace(state, quality=quality, variance=float(np.exp(2 * a)))


def _conditional(model: BradleyTerry, share: float) -> ConditionalPosterior:
    """The posterior conditional on α, and on ρ where it is inferred."""
    mixture = model.mixture
    return ConditionalPosterior(model, None if mixture is None else mixture.precision(share))


def _columns(quality: Floats, number: int) -> Floats:
    return np.repeat(quality[:, None], number, axis=1)


def _polya_gamma(successes: Floats, margin: Floats, rng: Generator) -> Floats:
    """Pólya–Gamma variables of directed successes; 0 where there is no success."""
    out = np.zeros_like(successes)
    large = np.abs(margin) > LARGE_MARGIN
    small, large = (successes > 0) & ~large, (successes > 0) & large
    if small.any():
        out[small] = _small_margin_polya_gamma(successes[small], margin[small], rng)
    if large.any():
        # PG(b, c) is inverse Gaussian but for e^{-|c|}; the library is wrong from |c| = 30 on.
        mean = successes[large] / (2 * np.abs(margin[large]))
        out[large] = rng.wald(mean, successes[large] ** 2 / 4)
    return out


def _small_margin_polya_gamma(successes: Floats, margin: Floats, rng: Generator) -> Floats:
    """Pólya–Gamma variables at margins where the library is right."""
    from polyagamma import random_polyagamma

    # Above 50 the library uses a normal approximation; a sum of smaller ones stays exact.
    parts = np.ceil(successes / 50).astype(np.int64)
    row = np.repeat(np.arange(len(parts)), parts)
    values = random_polyagamma((successes / parts)[row], margin[row], random_state=rng)
    return np.asarray(np.bincount(row, values, len(parts)), np.float64)


def _gaussian(inverse: Floats, target: Floats, rng: Generator) -> Floats:
    """A draw from N(S target, S) with S the inverse of `inverse`, which is overwritten."""
    from scipy.linalg import cholesky, solve_triangular

    lower = cholesky(inverse, lower=True, overwrite_a=True, check_finite=False)
    middle = solve_triangular(lower, target, lower=True, check_finite=False)
    noisy = middle + rng.normal(size=len(target))
    out: Floats = solve_triangular(lower, noisy, lower=True, trans="T", check_finite=False)
    return out
