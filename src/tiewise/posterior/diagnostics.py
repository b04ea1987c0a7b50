"""Effective sample sizes and R-hat, nested where chains share a start.

Rank-normalised split diagnostics (Vehtari et al. 2021; Margossian et al. 2024 for nested R-hat),
for all parameters at once: a thousand items take a second, where one call a parameter takes ten.
Tests hold them against ArviZ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.engines.stored_draws import MANY_ITEMS as MANY_ITEMS
from tiewise.posterior.kernels.convergence import parameter_worth

Floats = NDArray[np.float64]

TAILS = (0.05, 0.95)
THREADS = 2
BATCH = 32  # parameters processed together: enough to be quick, few enough to be small
LEVELS = ("level", "contrast_level")
"""Variables that were subtracted in centring others: stored, not reported."""
LEAST_COMPARED, EXTREMES, SPACED = 300, 250, 200
"""Watched items: the least compared, the highest and the lowest, and some along the list."""


class Convergence(NamedTuple):
    """The least effective sample size, the largest R-hat, and the parameter that has the least."""

    ess: float
    rhat: float
    parameter: str


def centred_parts(tree: DataTree) -> Iterator[Floats]:
    """Qualities (chains, draws, some items), each draw less its own mean over all items."""
    posterior = tree["posterior"]
    quality = posterior["quality"].to_numpy()
    level = 0.0 if "level" in posterior else quality.mean(axis=-1, keepdims=True)
    for k in range(0, quality.shape[-1], BATCH):
        yield quality[..., k : k + BATCH] - level


def watched_items(quality: Floats, comparisons: NDArray[np.int64]) -> NDArray[np.int64]:
    """The items whose draws are looked at: all, or of very many some, the same every time."""
    items = quality.shape[-1]
    if items <= MANY_ITEMS:
        return np.arange(items)
    return watched_by_mean(quality.mean(axis=(0, 1)), comparisons)


def watched_by_mean(
    mean: Floats, comparisons: NDArray[np.int64], named: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Watched items of very many, from their mean qualities; those that are `named` are among them.

    `LEAST_COMPARED` of them are those with fewest comparisons, `EXTREMES` each the highest and the
    lowest by their mean, and `SPACED` lie evenly along the list.
    """
    order = np.argsort(mean, kind="stable")
    least = np.argsort(comparisons, kind="stable")[:LEAST_COMPARED]
    spaced = np.linspace(0, len(mean) - 1, SPACED).astype(np.int64)
    some = np.empty(0, np.int64) if named is None else named
    return np.unique(np.concatenate([least, order[:EXTREMES], order[-EXTREMES:], spaced, some]))


def convergence(
    values: Mapping[str, Floats], comparisons: NDArray[np.int64], superchains: int = 0
) -> Convergence:
    """Effective sample size and R-hat of everything that is reported, where each is worst.

    `values` are draws (chains, draws, ...) by name, qualities and contrasts centred. The size is
    the smaller of bulk and tail; it is at most the number of draws.
    """
    chains, number = values["quality"].shape[:2]
    if number < 4:
        return Convergence(np.nan, np.nan, "")
    parts = list(_parts(values, comparisons))

    def worth(part: tuple[str, Floats, NDArray[np.int64]]) -> tuple[str, float, float] | None:
        # Copied where they are needed: of a thousand items all copies together are large.
        name, draws, which = part
        own = draws[..., which]
        free = np.ptp(own, axis=(0, 1)) > 0
        own = own if free.all() else own[..., free]
        return (name, *least_and_rhat(own, superchains)) if free.any() else None

    with ThreadPoolExecutor(THREADS) as pool:
        worths = [own for own in pool.map(worth, parts) if own is not None]
    least = min([(size, name) for name, size, _ in worths], default=(np.inf, ""))
    agreement = max([rhat for _, _, rhat in worths], default=0.0)
    return Convergence(min(least[0], float(chains * number)), agreement or 1.0, least[1])


def least_and_rhat(part: Floats, superchains: int = 0) -> tuple[float, float]:
    """The smallest of bulk and tail sizes of draws (chains, draws, parameters); the largest R-hat.

    In compiled loops; where chains move slowly, so that many lags matter, by Fourier transform.
    """
    chains, number, parameters = part.shape
    rows = np.ascontiguousarray(part.reshape(-1, parameters).T, dtype=np.float64)
    quantiles = _quantiles(2 * chains * (number // 2))
    sizes, moments = parameter_worth(
        rows, np.argsort(rows, axis=1), chains, number, quantiles, np.array(TAILS)
    )
    slow = (sizes < 0).any(axis=1)
    if slow.any():
        own = part[..., slow]
        bulk = _effective(_normal_scores(_split(own)))
        sizes[slow] = np.stack([bulk, *_tail_sizes(own)], axis=1)
    rhats = _moment_rhat(moments, number // 2, superchains)
    return float(np.fmin.reduce(sizes, axis=None, initial=np.inf)), float(
        np.fmax.reduce(rhats, axis=None, initial=0.0)
    )


def _moment_rhat(moments: Floats, number: int, superchains: int) -> Floats:
    """R-hat from means and variances (..., 2, split chains): nested where there are superchains."""
    means, variances = moments[..., 0, :], moments[..., 1, :]
    with np.errstate(all="ignore"):
        if not superchains:
            ratio = means.var(axis=-1, ddof=1) / variances.mean(axis=-1)
            return np.asarray(np.sqrt((number - 1) / number + ratio), np.float64)
        grouped, spread = (
            np.concatenate(np.split(own.reshape(*own.shape[:-1], 2 * superchains, -1), 2, -2), -1)
            for own in (means, variances)
        )
        within = spread.mean(axis=-1) + grouped.var(axis=-1, ddof=1)
        between = grouped.mean(axis=-1).var(axis=-1, ddof=1)
        return np.asarray(np.sqrt(1 + between / within.mean(axis=-1)), np.float64)


def _parts(
    values: Mapping[str, Floats], comparisons: NDArray[np.int64]
) -> Iterator[tuple[str, Floats, NDArray[np.int64]]]:
    """Names and draws (chains, draws, parameters) of what is reported, and some parameters each."""
    watched = watched_items(values["quality"], comparisons)
    for name, draws in values.items():
        if name in LEVELS:
            continue
        flat = draws.reshape(*draws.shape[:2], -1)
        which = watched if name == "quality" else np.arange(flat.shape[-1])
        for k in range(0, len(which), BATCH):
            yield name, flat, which[k : k + BATCH]


def ess(draws: Floats, method: str = "bulk") -> Floats:
    """Effective sample size over (chains, draws, ...): `bulk`, `tail` or `mean`."""
    if method == "bulk":
        return _in_parts(draws, lambda part: _effective(_normal_scores(_split(part))))
    if method == "mean":
        return _in_parts(draws, lambda part: _effective(_split(part)))
    return _in_parts(draws, _tail_ess)


def mcse(draws: Floats) -> Floats:
    """Monte Carlo standard error of the mean over (chains, draws, ...)."""
    out: Floats = draws.std(axis=(0, 1), ddof=1) / np.sqrt(ess(draws, "mean"))
    return out


def rhat(draws: Floats, superchains: int = 0) -> Floats:
    """R-hat over (chains, draws, ...); nested when chains belong to superchains, in order."""

    def worse(part: Floats) -> Floats:
        halves = _split(part)
        return _agreement(halves, _normal_scores(halves), superchains)

    return _in_parts(draws, worse)


def _agreement(halves: Floats, scores: Floats, superchains: int) -> Floats:
    """The worse R-hat of split chains: of their normal scores, or of those of their distances."""
    middle = np.median(halves.reshape(-1, halves.shape[-1]).T, axis=1)
    both = scores, _normal_scores(np.abs(halves - middle))
    if superchains:
        return np.maximum(*(_nested(some, superchains) for some in both))
    return np.maximum(*(_plain(some) for some in both))


def _in_parts(draws: Floats, measure: Callable[[Floats], Floats]) -> Floats:
    """A measure of every parameter (trailing axes), some of them at a time."""
    chains, number, *shape = draws.shape
    flat = draws.reshape(chains, number, -1)
    if number < 4:
        return np.full(shape, np.nan)
    parts = [measure(flat[:, :, k : k + BATCH]) for k in range(0, flat.shape[2], BATCH)]
    return np.concatenate(parts).reshape(shape)


def _split(draws: Floats) -> Floats:
    """Both halves of every chain as chains of their own."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Floats) -> Floats:
    """Draws replaced by the normal quantiles of their ranks among all chains."""
    rows = np.ascontiguousarray(draws.reshape(-1, draws.shape[-1]).T)
    scores = _quantiles(rows.shape[1])[_twice_ranks(rows)]
    return np.ascontiguousarray(scores.T).reshape(draws.shape)


def _twice_ranks(rows: Floats) -> NDArray[np.int64]:
    """Twice the rank (from 1) of every value in its row; equal values share the middle one."""
    order = np.argsort(rows, axis=1)
    value = np.take_along_axis(rows, order, axis=1)
    place = np.arange(rows.shape[1])
    starts = np.ones(rows.shape, bool)
    starts[:, 1:] = value[:, 1:] != value[:, :-1]
    ends = np.ones(rows.shape, bool)
    ends[:, :-1] = starts[:, 1:]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    last = np.where(ends, place, len(place))[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    out = np.empty(rows.shape, np.int64)
    np.put_along_axis(out, order, first + last + 2, axis=1)
    return out


@lru_cache(maxsize=4)
def _quantiles(size: int) -> Floats:
    """Normal quantiles for twice-ranks up to 2·size. Without SciPy's statistics, slow to load."""
    inverse = NormalDist().inv_cdf
    scores = [inverse((k / 2 - 3 / 8) / (size + 1 / 4)) for k in range(2, 2 * size + 1)]
    return np.array([np.nan, np.nan, *scores])


def autocorrelation(draws: Floats) -> Floats:
    """Autocorrelation of draws (chains, draws) at each lag."""
    rho, _ = _correlations(draws[:, :, None])
    return rho[:, 0]


def _correlations(draws: Floats) -> tuple[Floats, Floats]:
    """Autocorrelations (lags, parameters), of which differences of chains are a part; variances."""
    chains, number, _ = draws.shape
    covariance = _autocovariance(draws)
    within = covariance[0] * number / (number - 1)
    total = covariance[0] + (draws.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(all="ignore"):
        rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    return rho, total


def _effective(draws: Floats) -> Floats:
    """Effective sample size of (chains, draws, parameters), by Geyer's monotone sequence."""
    chains, number, _ = draws.shape
    rho, total = _correlations(draws)
    # The last few lags rest on a few products each and are left out.
    last = max((number - 3) // 2, 1)
    pairs = rho[0 : 2 * last : 2] + rho[1 : 2 * last : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.where(
        positive, np.minimum.accumulate(np.where(positive, pairs, np.inf), axis=0), 0.0
    )
    next_even = rho[np.minimum(2 * positive.sum(axis=0), number - 1), np.arange(rho.shape[1])]
    tau = 2 * falling.sum(axis=0) - 1 + np.maximum(next_even, 0)
    size = chains * number
    out: Floats = size / np.maximum(tau, 1 / np.log10(size))
    return np.where(total > 0, out, np.nan)


def _autocovariance(draws: Floats) -> Floats:
    """Autocovariances (lags, parameters), averaged over chains."""
    number = draws.shape[1]
    length = 1 << (2 * number - 1).bit_length()
    wave = np.fft.rfft(draws - draws.mean(axis=1, keepdims=True), length, axis=1)
    power = (wave.real**2 + wave.imag**2).mean(axis=0)
    return np.asarray(np.fft.irfft(power, length, axis=0)[:number] / number, np.float64)


def _tail_ess(part: Floats) -> Floats:
    """The worse of the effective sizes for being below the 5 % and the 95 % quantile."""
    return np.minimum(*_tail_sizes(part))


def _tail_sizes(part: Floats) -> list[Floats]:
    """The effective sizes for being below each of the two quantiles."""
    halves = _split(part)
    ends = np.quantile(part, TAILS, axis=(0, 1))
    return [_effective((halves <= end).astype(float)) for end in ends]


def _plain(scores: Floats) -> Floats:
    """R-hat of (chains, draws, parameters)."""
    number = scores.shape[1]
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    between = scores.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(all="ignore"):
        return np.asarray(np.sqrt((number - 1) / number + between / within), np.float64)


def _nested(scores: Floats, superchains: int) -> Floats:
    """Nested R-hat of split chains: all first halves in order, then all second halves."""
    _, number, parameters = scores.shape
    grouped = scores.reshape(2, superchains, -1, number, parameters)
    grouped = np.concatenate([grouped[0], grouped[1]], axis=1)
    means = grouped.mean(axis=2)
    within = grouped.var(axis=2, ddof=1).mean(axis=1) + means.var(axis=1, ddof=1)
    between = means.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(all="ignore"):
        return np.asarray(np.sqrt(1 + between / within.mean(axis=0)), np.float64)


def worst(tree: DataTree) -> Convergence:
    """Effective sample size and R-hat of a fit, where each is worst."""
    posterior = tree["posterior"]
    values = {str(name): own.to_numpy() for name, own in posterior.data_vars.items()}
    for name, level in (("quality", "level"), ("contrast", "contrast_level")):
        if name in values and level not in values:
            values[name] = values[name] - values[name].mean(axis=-1, keepdims=True)
    comparisons = tree["constant_data/comparisons"].to_numpy()
    return convergence(values, comparisons, int(tree.attrs.get("superchains", 0)))
