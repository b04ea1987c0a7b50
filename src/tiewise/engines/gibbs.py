"""Gibbs: the paper's algorithm, with its errata corrected (docs/inference.md).

Pólya–Gamma weights make the qualities jointly Gaussian. Given them, the threshold is drawn with
the weights integrated out, and α² twice: once at fixed qualities, once at fixed λ/α
(interweaving), because each alone is slow where the other is quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.newton import Slopes, find_spread
from tiewise.engines.slice_sampling import slice_draw
from tiewise.engines.threads import side_by_side
from tiewise.model import kernels
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors import Fixed, InverseGamma
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]

PUBLISHED_TIE_STEP = 0.1
FAR = 20.0
# Where the data do not bound α² its vague prior would go on to what a matrix of doubles cannot
# hold; at a variance of 10¹² every judgement is a certainty anyway.
WIDEST = 1e12


@dataclass(frozen=True)
class Gibbs:
    """Pólya–Gamma Gibbs sampling: exact, no tuning, one Cholesky factorisation a sweep.

    `draws` are shared out over the chains; `warmup` sweeps of each chain are left out.

    `as_published=True` keeps the paper's plain updates (random-walk threshold, α² at fixed
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
        refuse_terms(model, self)
        begun = perf_counter()
        sampler = _Sampler.of(model, as_published=self.as_published)
        built = perf_counter() - begun
        each = -(-self.draws // self.chains)
        counter = ProgressCounter(progress, "sampling", self.chains * (self.warmup + each))

        def run(rng: Generator, counter: ProgressCounter) -> tuple[Floats, Floats, Floats]:
            return sampler.run(rng, self.warmup, each, counter)

        runs = side_by_side(run, seed.spawn(self.chains), counter, self.threads)
        quality, tie, variance = (np.stack(part) for part in zip(*runs, strict=True))
        facts = {"warmup": self.warmup, "as_published": int(self.as_published)}
        return Draws(quality, tie, variance, facts=facts, build_seconds=built)


@dataclass(frozen=True)
class _State:
    quality: Floats
    tie: float
    variance: float


@dataclass(frozen=True, eq=False)
class _Sampler:
    """One model's conditionals, and the start and step widths its peak suggests."""

    model: BradleyTerry
    slopes: Slopes
    start: _State
    line_width: float
    alpha_width: float
    alpha_sd: float
    as_published: bool

    @classmethod
    def of(cls, model: BradleyTerry, *, as_published: bool) -> _Sampler:
        slopes = Slopes(model)
        spread = find_spread(slopes)
        peak = spread.peak
        line_width = 1.0
        if slopes.tie_prior is not None:
            curve = model.curvature(peak.quality, peak.tie)
            own = slopes.threshold_bend(peak.quality, peak.line, curve)[1]
            line_width = float(3 / np.sqrt(max(own, 1e-4)))
        start = _State(peak.quality, peak.tie, float(np.exp(2 * peak.log_alpha)))
        # A slice is stepped out from about three standard deviations; of log α given λ/α the
        # likelihood alone speaks, so its marginal sd is a fair guess.
        width = 3 * max(spread.sd, 1e-2)
        return cls(model, slopes, start, line_width, width, spread.sd, as_published)

    def run(
        self, rng: Generator, warmup: int, draws: int, counter: ProgressCounter
    ) -> tuple[Floats, Floats, Floats]:
        """One chain, its first `warmup` sweeps left out."""
        quality = np.empty((draws, self.model.size))
        tie, variance = np.empty(draws), np.empty(draws)
        state = self._disperse(rng)
        for sweep in range(-warmup, draws):
            state = self.sweep(state, rng)
            if sweep >= 0:
                quality[sweep], tie[sweep], variance[sweep] = (
                    state.quality, state.tie, state.variance,
                )  # fmt: skip
            counter.step()
        return quality, tie, variance

    def _disperse(self, rng: Generator) -> _State:
        """A start wider than the posterior in α and δ; the first sweep draws the qualities."""
        variance, tie = self.start.variance, self.start.tie
        if self.model.fixed_variance is None:
            variance *= float(np.exp(4 * self.alpha_sd * rng.normal()))
            variance = min(variance, WIDEST / 2)
        if self.slopes.tie_prior is not None:
            prior = self.slopes.tie_prior
            line = prior.to_line(tie) + 2 / 3 * self.line_width * rng.normal()
            tie = float(prior.from_line(np.array([line])).tie[0])
        return _State(self.start.quality, tie, variance)

    def sweep(self, state: _State, rng: Generator) -> _State:
        """Weights, qualities, threshold, variance: each from its conditional."""
        state = _State(self._draw_quality(state, rng), state.tie, state.variance)
        if self.slopes.tie_prior is not None:
            update = self._walk_tie if self.as_published else self._draw_tie
            state = _State(state.quality, update(state, rng), state.variance)
        if self.model.fixed_variance is None:
            state = _State(state.quality, state.tie, self._draw_variance(state, rng))
            if not self.as_published:
                state = self._stretch(state, rng)
        return state

    def _draw_quality(self, state: _State, rng: Generator) -> Floats:
        """λ given fresh Pólya–Gamma weights z: N(S Xᵀ(k + δ z), S), S⁻¹ = XᵀZX + Σ⁻¹/α²."""
        counts = self.model.counts
        forth, back = self.model.successes
        ahead, behind = self.model.margins(state.quality, state.tie)
        z_forth, z_back = _weights(forth, ahead, rng), _weights(back, behind, rng)
        pull = (forth - back) / 2 + state.tie * (z_forth - z_back)
        size = self.model.size
        up, down = (np.bincount(side, pull, size) for side in (counts.first, counts.second))
        target: Floats = np.asarray(up - down, np.float64)
        weight = kernels.laplacian(counts.first, counts.second, z_forth + z_back, size)
        lift, precision = self.slopes.lift, self.slopes.precision
        if precision is not None:
            return _gaussian(weight + precision / state.variance, target, rng)
        assert lift is not None
        inverse = lift.T @ weight @ lift
        inverse.flat[:: len(inverse) + 1] += 1 / state.variance
        quality: Floats = lift @ _gaussian(inverse, lift.T @ target, rng)
        return quality

    def _tie_density(self, quality: Floats) -> Callable[[Floats], Floats]:
        prior = self.slopes.tie_prior
        assert prior is not None

        def density(line: Floats) -> Floats:
            there = prior.from_line(line)
            with np.errstate(all="ignore"):
                total = self.model.log_likelihood(_columns(quality, len(line)), there.tie)
                total = total + prior.log_density(there.tie) + there.log_stretch
            return np.where(np.isfinite(total), total, -np.inf)

        return density

    def _draw_tie(self, state: _State, rng: Generator) -> float:
        """δ by a slice on its line, weights integrated out."""
        prior = self.slopes.tie_prior
        assert prior is not None
        density = self._tie_density(state.quality)
        line = slice_draw(density, prior.to_line(state.tie), self.line_width, rng)
        return float(prior.from_line(np.array([line])).tie[0])

    def _walk_tie(self, state: _State, rng: Generator) -> float:
        """δ by one step of the paper's random walk."""
        prior = self.slopes.tie_prior
        assert prior is not None
        new = state.tie + PUBLISHED_TIE_STEP * rng.normal()
        if not prior.low < new < prior.high:
            return state.tie
        ties = np.array([new, state.tie])
        log = self.model.log_likelihood(_columns(state.quality, 2), ties) + prior.log_density(ties)
        return new if np.log(rng.uniform()) < log[0] - log[1] else state.tie

    def _draw_variance(self, state: _State, rng: Generator) -> float:
        """α² given the qualities."""
        square = self._square(state.quality)
        rank, prior = self.slopes.rank, self.model.variance
        assert not isinstance(prior, Fixed)
        if isinstance(prior, InverseGamma):
            new = (prior.scale + square / 2) / float(rng.gamma(prior.shape + rank / 2))
            return new if new < WIDEST else state.variance

        def density(a: Floats) -> Floats:
            out: Floats = prior.log_density(a) - rank * a - square * np.exp(-2 * a) / 2
            return out

        a = slice_draw(density, np.log(state.variance) / 2, 3 / np.sqrt(2 * rank), rng)
        return float(np.exp(2 * a))

    def _square(self, quality: Floats) -> float:
        """λᵀ Σ⁻¹ λ."""
        if self.slopes.precision is not None:
            return float(quality @ (self.slopes.precision @ quality))
        y = self.model.prior.coordinates(quality)
        return float(y @ y)

    def _stretch(self, state: _State, rng: Generator) -> _State:
        """α and the qualities together, at fixed λ/α."""
        prior = self.model.variance
        assert not isinstance(prior, Fixed)
        start = np.log(state.variance) / 2

        def density(a: Floats) -> Floats:
            with np.errstate(all="ignore"):
                quality = _columns(state.quality, len(a)) * np.exp(a - start)
                total = self.model.log_likelihood(quality, np.full(len(a), state.tie))
                total = total + prior.log_density(a)
                possible = (np.exp(2 * a) < WIDEST) & np.isfinite(total)
            return np.where(possible, total, -np.inf)

        a = slice_draw(density, start, self.alpha_width, rng)
        return _State(state.quality * np.exp(a - start), state.tie, float(np.exp(2 * a)))


def _columns(quality: Floats, number: int) -> Floats:
    return np.repeat(quality[:, None], number, axis=1)


def _weights(successes: Floats, margin: Floats, rng: Generator) -> Floats:
    """Pólya–Gamma weights of directed successes; none where there is no success."""
    out = np.zeros_like(successes)
    far = np.abs(margin) > FAR
    near, far = (successes > 0) & ~far, (successes > 0) & far
    if near.any():
        out[near] = _near_weights(successes[near], margin[near], rng)
    if far.any():
        # PG(b, c) is inverse Gaussian but for e^{-|c|}; the library is wrong from |c| = 30 on.
        out[far] = rng.wald(successes[far] / (2 * np.abs(margin[far])), successes[far] ** 2 / 4)
    return out


def _near_weights(successes: Floats, margin: Floats, rng: Generator) -> Floats:
    """Pólya–Gamma weights at margins where the library is right."""
    from polyagamma import random_polyagamma

    # Above 50 the library turns to a normal; a sum of smaller ones stays Pólya–Gamma.
    parts = np.ceil(successes / 50).astype(np.int64)
    row = np.repeat(np.arange(len(parts)), parts)
    drawn = random_polyagamma((successes / parts)[row], margin[row], random_state=rng)
    return np.asarray(np.bincount(row, drawn, len(parts)), np.float64)


def _gaussian(inverse: Floats, target: Floats, rng: Generator) -> Floats:
    """A draw from N(S target, S) with S the inverse of `inverse`, which is overwritten."""
    from scipy.linalg import cholesky, solve_triangular

    lower = cholesky(inverse, lower=True, overwrite_a=True, check_finite=False)
    middle = solve_triangular(lower, target, lower=True, check_finite=False)
    noisy = middle + rng.normal(size=len(target))
    out: Floats = solve_triangular(lower, noisy, lower=True, trans="T", check_finite=False)
    return out
