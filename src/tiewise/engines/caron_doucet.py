"""CaronDoucet: latent exponentials for Rao–Kupper ties (Caron & Doucet 2012, JCGS 21:174–196).

With πᵢ = exp(λᵢ), θ = e^δ and s_ij directed successes of i over j, T ties in all, a sweep draws

    Z_ij | π, θ ~ Gamma(s_ij, πᵢ + θ πⱼ)
    πᵢ | Z, θ   ~ Gamma(shape + Σⱼ s_ij, rate + Σⱼ Z_ij + θ Σⱼ Z_ji)
    θ | Z, π    ∝ (θ² − 1)^T exp(−C θ) on θ > 1, with C = Σ Z_ij πⱼ
    Σᵢ πᵢ       ~ Gamma(items · shape, rate), the total, on which the likelihood does not depend

(second arguments are rates). The paper moves θ by a random walk; here it is drawn exactly: with
u = θ − 1, u^T (u + 2)^T e^{−Cu} is a mixture of Gamma(T + k + 1, C) over k = 0..T.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.data.counts import Counts, Integers
from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.capacity import announce, require_room_for_draws
from tiewise.engines.threads import chain_generators, in_threads
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.prior_sets import DEFAULT_TIE, DEFAULT_VARIANCE, PAPER_TIE, PAPER_VARIANCE
from tiewise.model.quality_priors import Independent, describe_quality_prior
from tiewise.progress import Progress, ProgressCounter
from tiewise.text import some_names

Floats = NDArray[np.float64]

OTHERS = "or use an engine that takes the model's priors (gibbs, metropolis)"


@dataclass(frozen=True)
class CaronDoucet:
    """Latent-exponential Gibbs sampling: exact, no tuning, with a prior of its own.

    exp(quality) ~ Gamma(shape, rate), each item on its own, and e^δ flat above 1: the model must
    leave its own priors at their defaults, which are not used (δ may be fixed, or ties left out).
    There is no α², so `variance` is not a number. `rate` moves only the common level of qualities.

    `draws` are shared out over the chains, and each is the last of `thin` sweeps; the first
    `warmup` draws of each chain are dropped.
    """

    shape: float = 1.0
    rate: float = 1.0
    draws: int = 4000
    thin: int = 5
    warmup: int = 200
    chains: int = 4
    threads: int = 2

    name = "caron-doucet"
    kind = "exact"

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"{name} must be a positive number, not {value!r}")
        if self.thin < 1:
            raise InputError(f"thin must be 1 sweep or more a draw, not {self.thin!r}")

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws from several independent chains."""
        refuse_terms(model, self)
        refuse_graded_answers(model)
        refuse_other_priors(model)
        if model.fixed_tie is None:
            refuse_improper(model.counts, self.shape)
        require_room_for_draws(model, self.name, self.draws)
        sweeps = (self.draws + self.warmup * self.chains) * self.thin
        announce(self.name, model, sweeps * 1e-7 * len(model.counts.first) / self.threads)
        begin = perf_counter()
        sampler = _Sampler.of(model, self.shape, self.rate)
        build_seconds = perf_counter() - begin
        chains = [_Chain(rng, self.warmup) for rng in chain_generators(seed, self.chains)]
        facts: dict[str, str | int | float] = {
            "warmup": self.warmup, "thin": self.thin, "prior": self._describe(model),
        }  # fmt: skip

        def draw(each: int, thin: int, progress: Progress) -> Draws:
            steps = sum(chain.warmup + each for chain in chains)
            counter = ProgressCounter(progress, "sampling", steps)
            runs = in_threads(
                lambda chain, counter: sampler.run(chain, each, self.thin, thin, counter),
                chains, counter, self.threads,
            )  # fmt: skip
            quality, tie = (np.stack(part) for part in zip(*runs, strict=True))
            return Draws(
                quality, tie, np.full_like(tie, np.nan), facts=facts, build_seconds=build_seconds,
                more=draw,
            )  # fmt: skip

        return draw(-(-self.draws // self.chains), 1, progress)

    def _describe(self, model: BradleyTerry) -> str:
        own = f"exp(quality) ~ gamma({self.shape:g}, {self.rate:g}), independent"
        return own + ("; exp(tie) flat above 1" if model.fixed_tie is None else "")


def refuse_graded_answers(model: BradleyTerry) -> None:
    """Raise InputError if answers are graded: upper cuts have no latent exponentials."""
    if model.steps:
        raise InputError(
            "Caron and Doucet's sampler does not know graded answers; leave the grades out "
            "(ungraded()), or use another engine (transport, gibbs, metropolis)"
        )


def refuse_other_priors(model: BradleyTerry) -> None:
    """Raise InputError if the model has priors of its own, which this engine does not use."""
    unused = []
    if not isinstance(model.prior, Independent):
        unused.append(describe_quality_prior(model.prior.to_dict()))
    if model.variance not in (DEFAULT_VARIANCE, PAPER_VARIANCE):
        unused.append(f"variance {model.variance!r}")
    if model.fixed_tie is None and model.tie not in (DEFAULT_TIE, PAPER_TIE):
        unused.append(f"tie {model.tie!r}")
    if unused:
        raise InputError(
            f"the model asks for {' and '.join(unused)}, but Caron and Doucet's sampler has priors "
            "of its own: independent gamma for exp(quality) and flat for exp(tie). Leave the "
            f"model's priors out (a fixed threshold may stay), {OTHERS}"
        )


def refuse_improper(counts: Counts, shape: float) -> None:
    """Raise InputError if the posterior under the flat prior of e^δ is improper.

    Let δ grow with λ = −δ·depth, depths being 0 or more. Per unit of δ the log posterior loses
    shape × total depth, 1 for each step by which a loser is less than one step below the winner,
    and 1 for each step by which a tie is more than one step apart; the flat prior gains 1. Proper
    means that every choice of depths loses more than 1. The least loss is at whole numbers: at
    depth 0, where it is the number of wins, or at the least depths that no judgement contradicts.
    """
    wins = counts.comparisons - counts.total_ties
    if wins < 2:
        raise InputError(
            f"there {'is 1 win' if wins == 1 else 'are no wins'} among {counts.comparisons} "
            "judgements, and the flat prior of the tie parameter needs two to be proper: "
            f"fix the threshold (tie=Fixed(0.5)), collect more, {OTHERS}"
        )
    depth = _depths(counts, shape)
    if shape * depth.sum() <= 1:
        below = [item for item, own in zip(counts.items, depth, strict=True) if own]
        raise InputError(
            f"all {wins} wins are explained by {some_names(below)} lying lower and lower as the "
            "tie parameter grows, so that its flat prior is not proper: fix the threshold "
            f"(tie=Fixed(0.5)), take a shape above {1 / depth.sum():.3g}, collect more, {OTHERS}"
        )


def _depths(counts: Counts, shape: float) -> Integers:
    """Least depths that put losers below winners and ties within one step, where there are any.

    Goes no deeper than shape × total depth = 1, beyond which the posterior is proper.
    """
    forth, back, tied = counts.wins_first > 0, counts.wins_second > 0, counts.ties > 0
    one, two = counts.first, counts.second
    above = np.concatenate([one[forth], two[back], one[tied], two[tied]])
    below = np.concatenate([two[forth], one[back], two[tied], one[tied]])
    step = np.repeat([1, -1], [forth.sum() + back.sum(), 2 * tied.sum()])
    depth = np.zeros(len(counts.items), np.int64)
    while shape * depth.sum() <= 1:
        deeper = depth.copy()
        np.maximum.at(deeper, below, depth[above] + step)
        if (deeper == depth).all():
            break
        depth = deeper
    return depth


@dataclass
class _Chain:
    """A chain under way: its generator, the draws of its warm-up to come, its state after them."""

    rng: Generator
    warmup: int
    state: tuple[Floats, float] | None = None


@dataclass(frozen=True, eq=False)
class _Sampler:
    """The conditional distributions of one model: `heads` won `successes` times over `tails`."""

    model: BradleyTerry
    shape: float
    rate: float
    observed: NDArray[np.bool_]
    heads: Integers
    tails: Integers
    successes: Floats
    shapes: Floats
    mixture: Floats

    @classmethod
    def of(cls, model: BradleyTerry, shape: float, rate: float) -> _Sampler:
        """The sampler of a model under independent Gamma(shape, rate)."""
        first, second, forth, back = model.rows
        successes = np.concatenate([forth, back])
        observed = successes > 0
        heads = np.concatenate([first, second])[observed]
        tails = np.concatenate([second, first])[observed]
        shapes: Floats = shape + np.bincount(heads, successes[observed], model.size).astype(float)
        mixture = _mixture(model.counts.total_ties)
        return cls(model, shape, rate, observed, heads, tails, successes[observed], shapes, mixture)

    def run(
        self, chain: _Chain, draws: int, sweeps: int, thin: int, counter: ProgressCounter
    ) -> tuple[Floats, Floats]:
        """The next draws of a chain after its warm-up, each the last of `thin` times `sweeps`."""
        quality, tie = np.empty((draws, self.model.size)), np.empty(draws)
        state, delta = chain.state or self.start(chain.rng)
        # The log of an empty sum of latents is −∞, and a huge margin is a probability of 0 or 1.
        with np.errstate(divide="ignore", over="ignore"):
            for k in range(-chain.warmup, draws):
                for _ in range(sweeps * (thin if k >= 0 else 1)):
                    state, delta = self.sweep(state, delta, chain.rng)
                if k >= 0:
                    quality[k], tie[k] = state, delta
                counter.step()
        chain.state, chain.warmup = (state, delta), 0
        return quality, tie

    def start(self, rng: Generator) -> tuple[Floats, float]:
        """Qualities and a threshold more dispersed than in most studies."""
        fixed = self.model.fixed_tie
        return 2 * rng.normal(size=self.model.size), rng.exponential() if fixed is None else fixed

    def sweep(self, quality: Floats, tie: float, rng: Generator) -> tuple[Floats, float]:
        """Latents, qualities, threshold, total: each from its conditional distribution."""
        # Latents are scaled by π of the head, or by θ and π of the tail, so that none overflows.
        margin = np.concatenate(self.model.margins(quality, tie))[self.observed]
        noise, size = rng.gamma(self.successes), self.model.size
        won = np.bincount(self.heads, noise / (1 + np.exp(-margin)), size)
        lost = np.bincount(self.tails, noise / (1 + np.exp(margin)), size)
        rates = np.logaddexp(np.log(self.rate) + quality, np.log(won + lost))
        move = _log_gamma(self.shapes, rng) - rates
        if self.model.fixed_tie is None:
            tie = self._draw_tie(float(np.logaddexp.reduce(move + np.log(lost))) - tie, rng)
        quality = quality + move
        total = float(_log_gamma(np.array(size * self.shape), rng)) - np.log(self.rate)
        return quality + total - np.logaddexp.reduce(quality), tie

    def _draw_tie(self, log_rate: float, rng: Generator) -> float:
        """δ = log(1 + u), with u from the mixture of gammas of this rate."""
        ties = len(self.mixture) - 1
        weight = self.mixture - np.arange(ties + 1) * log_rate
        cumulative = np.cumsum(np.exp(weight - weight.max()))
        k = int(np.searchsorted(cumulative, rng.uniform() * cumulative[-1]))
        return float(np.logaddexp(0, np.log(rng.gamma(ties + k + 1)) - log_rate))


def _mixture(ties: int) -> Floats:
    """Log weights of u^{T+k} in u^T (u + 2)^T, each with the integral of u^{T+k} e^{−u}."""
    from scipy.special import gammaln

    k = np.arange(ties + 1)
    log_binomial = gammaln(ties + 1) - gammaln(k + 1) - gammaln(ties - k + 1)
    out: Floats = log_binomial + (ties - k) * np.log(2) + gammaln(ties + k + 1)
    return out


def _log_gamma(shape: Floats, rng: Generator) -> Floats:
    """Log of gamma draws, finite however small the shape."""
    out: Floats = np.log(rng.gamma(shape + 1)) - rng.exponential(size=shape.shape) / shape
    return out
