"""A witness for many items: Pólya–Gamma Gibbs by perturbation and conjugate gradients.

Qualities are drawn from N(A⁻¹b, A⁻¹) as the solution of A λ = b + noise with covariance A
(Papandreou and Yuille 2010), to a relative tolerance of 1e-8; the likelihood is written out here.
`root` is E with prior precision Q = EᵀE, None for independent qualities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from polyagamma import random_polyagamma
from scipy import sparse

from tiewise.model.bradley_terry import BradleyTerry

Floats = np.ndarray[Any, np.dtype[np.float64]]

TOLERANCE = 1e-8


class WitnessDraws(NamedTuple):
    """Centred qualities of watched items (draws, items), thresholds and variances (draws)."""

    quality: Floats
    tie: Floats
    variance: Floats


def perturbation_gibbs(
    model: BradleyTerry, draws: int, rng: Generator, *, warmup: int = 100,
    root: Any = None, watched: Any = slice(None),
) -> WitnessDraws:  # fmt: skip
    """One chain, from qualities 0, a variance of 1 and the threshold 0.5 where it is inferred."""
    sampler = _Sampler(model, root)
    quality, log_alpha = np.zeros(model.size), 0.0
    tie = 0.5 if model.fixed_tie is None else model.fixed_tie
    kept: list[tuple[Floats, float, float]] = []
    for sweep in range(warmup + draws):
        quality = sampler.draw_quality(quality, tie, np.exp(log_alpha), rng)
        if model.fixed_variance is None:
            log_alpha, quality = sampler.draw_scale(quality, tie, log_alpha, rng)
        else:
            log_alpha = np.log(model.fixed_variance) / 2
        if model.fixed_tie is None:
            tie = sampler.draw_tie(quality, tie, rng)
        if sweep >= warmup:
            centred = quality - quality.mean()
            kept.append((centred[watched], tie, float(np.exp(2 * log_alpha))))
    return WitnessDraws(*(np.array(part) for part in zip(*kept, strict=True)))


class _Sampler:
    def __init__(self, model: BradleyTerry, root: Any) -> None:
        self.model, rows = model, len(model.counts.first)
        counts, size = model.counts, model.size
        sign = np.concatenate([np.ones(rows), -np.ones(rows)])
        where = np.tile(np.arange(rows), 2), np.concatenate([counts.first, counts.second])
        self.pairs = sparse.csr_array((sign, where), shape=(rows, size))
        self.pairs_back = self.pairs.T.tocsr()
        self.forth = (counts.wins_first + counts.ties).astype(float)
        self.back = (counts.wins_second + counts.ties).astype(float)
        self.root = sparse.eye_array(size, format="csr") if root is None else sparse.csr_array(root)
        self.precision = (self.root.T @ self.root).tocsr()
        # Where the common level has no precision, qualities sum to zero: one dimension less.
        flat = bool(np.abs(self.precision @ np.ones(size)).max() < 1e-9)
        self.rank = size - 1 if flat else size

    def log_likelihood(self, quality: Floats, tie: float) -> float:
        gap = self.pairs @ quality
        total = -float(self.forth @ np.logaddexp(0, tie - gap))
        total -= float(self.back @ np.logaddexp(0, tie + gap))
        ties = self.model.counts.total_ties
        return total + (ties * float(np.log(np.expm1(2 * tie))) if ties else 0.0)

    def draw_quality(self, quality: Floats, tie: float, alpha: float, rng: Generator) -> Floats:
        gap = self.pairs @ quality
        ahead, behind = (
            _polya_gamma(self.forth, gap - tie, rng),
            _polya_gamma(self.back, -gap - tie, rng),
        )
        weight = ahead + behind
        push = (self.forth - self.back) / 2 + tie * (ahead - behind)
        push += np.sqrt(weight) * rng.standard_normal(len(weight))
        right = self.pairs_back @ push
        right += self.root.T @ rng.standard_normal(self.root.shape[0]) / alpha

        def product(x: Floats) -> Floats:
            out: Floats = self.pairs_back @ (weight * (self.pairs @ x))
            return out + self.precision @ x / alpha**2

        squares = self.pairs_back.copy()
        squares.data **= 2
        return _solve(product, squares @ weight + self.precision.diagonal() / alpha**2, right)

    def draw_scale(
        self, quality: Floats, tie: float, log_alpha: float, rng: Generator
    ) -> tuple[float, Floats]:
        """α at fixed qualities, then at fixed λ/α."""
        square, prior = float(quality @ (self.precision @ quality)), self.model.variance
        width = 2 / np.sqrt(2 * self.rank)

        def given_quality(a: float) -> float:
            own = -self.rank * a - square * np.exp(-2 * a) / 2
            return own + float(prior.log_density(np.array([a]))[0])

        log_alpha = _slice(given_quality, log_alpha, width, rng)
        shape = quality / np.exp(log_alpha)

        def given_shape(a: float) -> float:
            own = self.log_likelihood(np.exp(a) * shape, tie)
            return own + float(prior.log_density(np.array([a]))[0])

        log_alpha = _slice(given_shape, log_alpha, width, rng)
        return log_alpha, np.exp(log_alpha) * shape

    def draw_tie(self, quality: Floats, tie: float, rng: Generator) -> float:
        prior = self.model.tie

        def density(delta: float) -> float:
            if not prior.low < delta < prior.high:
                return -np.inf
            own = float(prior.log_density(np.array([delta]))[0])
            return own + self.log_likelihood(quality, delta)

        width = 4 / np.sqrt(self.model.counts.comparisons)
        return _slice(density, tie, width, rng)


def _polya_gamma(number: Floats, margin: Floats, rng: Generator) -> Floats:
    """PG(number, margin), 0 where the number is 0."""
    out = np.zeros(len(number))
    some = number > 0
    out[some] = random_polyagamma(number[some], margin[some], random_state=rng)
    return out


def _solve(product: Callable[[Floats], Floats], diagonal: Floats, right: Floats) -> Floats:
    """Conjugate gradients with the diagonal as preconditioner."""
    x, residual = np.zeros_like(right), right.copy()
    step = residual / diagonal
    size = first = float(residual @ step)
    while size > TOLERANCE**2 * first:
        image = product(step)
        length = size / float(step @ image)
        x += length * step
        residual -= length * image
        scaled = residual / diagonal
        size, before = float(residual @ scaled), size
        step = scaled + size / before * step
    return x


def _slice(density: Callable[[float], float], now: float, width: float, rng: Generator) -> float:
    """One update by stepping out and shrinking (Neal 2003)."""
    floor = density(now) - rng.exponential()
    left = now - width * rng.uniform()
    right = left + width
    while density(left) > floor:
        left -= width
    while density(right) > floor:
        right += width
    while True:
        new = rng.uniform(left, right)
        if density(new) > floor:
            return float(new)
        left, right = (new, right) if new < now else (left, new)
