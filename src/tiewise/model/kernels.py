"""The plain model's likelihood: its loops over pairs, fused and compiled.

Every loop runs over (pair, chain): qualities are a matrix (items, chains), thresholds a vector
(chains), `s_first` and `s_second` directed successes of each pair, of which a tie is one each way.
The margin of inference.md, section 1, is in `margins`; what a stratum adds to the gap and the
threshold that go into it (sharpness, order, its own threshold) is in `strata_kernels`.

Where no two items are further than `MAX_RANGE` apart the loops need no exponential per pair: with
e = e^{λᵢ}·e^{−λⱼ} and k = e^{−δ},

    1 − σ(λᵢ−λⱼ−δ) = 1/(1 + e·k),   1 − σ(λⱼ−λᵢ−δ) = (e/k)/(1 + e/k),

and the log likelihood is the logarithm of one long product. Beyond `MAX_RANGE`, slower loops are
used that are right for any distance. Slopes may be computed in single precision: they are where
qualities are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Loop = TypeVar("Loop", bound=Callable[..., Any])

MAX_RANGE, MAX_RANGE_SINGLE = 300.0, 40.0
# A product is scaled down where it has passed BIG, and asked before it could have grown by as much
# again; its factors stay below e^{MAX_RANGE}.
BIG, SMALL, BIG_BITS = 2.0**500, 2.0**-500, 500.0
LOG_BIG = BIG_BITS * math.log(2)
MOST_FACTORS = 8
FLUSH = 128  # rows after which sums in single precision are added to those in double precision


def compiled(loop: Loop) -> Loop:
    """A loop compiled by Numba, kept between runs, and off the interpreter's lock."""
    return cast("Loop", njit(cache=True, nogil=True, error_model="numpy")(loop))


def inlined(loop: Loop) -> Loop:
    """A loop's small part, written by Numba into every loop that calls it."""
    return cast("Loop", njit(nogil=True, error_model="numpy", inline="always")(loop))


def margins(gap: Any, tie: Any) -> tuple[Any, Any]:
    """Log-odds that the first, and that the second, of a pair is chosen, gap apart in quality."""
    return gap - tie, -gap - tie


_margins = inlined(margins)


@inlined
def log_sigmoid(x: float) -> float:
    """log σ(x), for any x."""
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@inlined
def complement(x: float) -> float:
    """1 − σ(x): what a success with log-odds x leaves to be explained."""
    return 1.0 / (1.0 + math.exp(x))


def pair_log_likelihood(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    tie: Floats,
) -> Floats:
    """Σ s log σ(margin) for each chain; the threshold's own factor is left to the caller."""
    exponentials = _exponentials(quality, tie)
    if exponentials is None:
        return any_pair_value(first, second, s_first, s_second, quality, tie)
    if tie.size == 1:
        return one_chain_value(first, second, s_first, s_second, quality, tie, *exponentials)
    return close_pair_value(first, second, s_first, s_second, quality, tie, *exponentials)


def pair_gradient(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    tie: Floats,
) -> tuple[Floats, Floats]:
    """Its derivatives by every quality (items, chains) and by the threshold (chains).

    Those by quality are in the precision of `quality`, which counts must have, too.
    """
    exponentials = _exponentials(quality, tie)
    if exponentials is None:
        by_quality, by_tie = any_pair_gradient(first, second, s_first, s_second, quality, tie)
        return by_quality.astype(quality.dtype), by_tie
    return close_pair_gradient(first, second, s_first, s_second, tie, *exponentials)


def max_range(dtype: Any) -> float:
    """How far apart items may be for loops without an exponential per pair, in this precision."""
    return MAX_RANGE_SINGLE if dtype == np.float32 else MAX_RANGE


def _exponentials(quality: Floats, tie: Floats) -> tuple[Floats, Floats] | None:
    """e^λ and e^−λ about the middle of each chain's range; None where a product could overflow."""
    low, high = quality.min(axis=0), quality.max(axis=0)
    if not (high - low + tie < max_range(quality.dtype)).all():
        return None
    exp_quality = np.exp(quality - (low + high) / 2)
    return exp_quality, 1 / exp_quality


@compiled
def any_pair_value(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    tie: Floats,
) -> Floats:
    """`pair_log_likelihood` for any distance between items."""
    total = np.zeros(quality.shape[1])
    for r in range(first.size):
        i, j = first[r], second[r]
        for c in range(quality.shape[1]):
            ahead, behind = _margins(quality[i, c] - quality[j, c], tie[c])
            total[c] += s_first[r] * log_sigmoid(ahead) + s_second[r] * log_sigmoid(behind)
    return total


@compiled
def any_pair_gradient(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    tie: Floats,
) -> tuple[Floats, Floats]:
    """`pair_gradient` for any distance between items."""
    by_quality = np.zeros(quality.shape)
    by_tie = np.zeros(quality.shape[1])
    for r in range(first.size):
        i, j = first[r], second[r]
        for c in range(quality.shape[1]):
            ahead, behind = _margins(quality[i, c] - quality[j, c], tie[c])
            up, down = s_first[r] * complement(ahead), s_second[r] * complement(behind)
            by_quality[i, c] += up - down
            by_quality[j, c] -= up - down
            by_tie[c] -= up + down
    return by_quality, by_tie


@compiled
def close_pair_gradient(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    tie: Floats,
    exp_quality: Floats,
    exp_minus_quality: Floats,
) -> tuple[Floats, Floats]:
    """`pair_gradient` with one division per pair and no exponential."""
    by_quality, by_tie = np.zeros_like(exp_quality), np.zeros(tie.size)
    # Rows of scratch in the precision of `exp_quality`; `unit` is 1 in it.
    scratch = np.ones((5, tie.size), exp_quality.dtype)
    flow, close, wide, total, unit = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4, 0]
    for c in range(tie.size):
        close[c], wide[c], total[c] = math.exp(-tie[c]), math.exp(tie[c]), 0.0
    for r in range(first.size):
        f, b = s_first[r], s_second[r]
        one, two = exp_quality[first[r]], exp_minus_quality[second[r]]
        for c in range(tie.size):
            e = one[c] * two[c]
            odds = e * wide[c]
            ahead, behind = unit + e * close[c], unit + odds
            share = unit / (ahead * behind)
            up, down = f * behind * share, b * odds * ahead * share
            flow[c] = up - down
            total[c] += up + down
        gain, loss = by_quality[first[r]], by_quality[second[r]]
        for c in range(tie.size):
            gain[c] += flow[c]
        for c in range(tie.size):
            loss[c] -= flow[c]
        if r % FLUSH == FLUSH - 1 or r == first.size - 1:
            for c in range(tie.size):
                by_tie[c] -= total[c]
                total[c] = 0.0
    return by_quality, by_tie


@compiled
def _multiply(
    product: Floats, one: Floats, two: Floats, side: Floats, times: int, power: Floats
) -> None:
    """Multiply by (1 + e · side) so many times; many times by squares, of which `power` is one."""
    if times <= MOST_FACTORS:
        for _ in range(times):
            for c in range(product.size):
                product[c] *= 1.0 + one[c] * two[c] * side[c]
        return
    for c in range(product.size):
        power[c] = 1.0 + one[c] * two[c] * side[c]
    while times:
        if times % 2:
            for c in range(product.size):
                product[c] *= power[c]
        times //= 2
        if times:
            for c in range(product.size):
                power[c] *= power[c]


@compiled
def close_pair_value(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    tie: Floats,
    exp_quality: Floats,
    exp_minus_quality: Floats,
) -> Floats:
    """`pair_log_likelihood` as the logarithm of one long product per chain."""
    close, wide = np.exp(-tie), np.exp(tie)
    total, product, carried = np.zeros(tie.size), np.ones(tie.size), np.zeros(tie.size)
    largest = exp_quality.max() * exp_minus_quality.max() * wide.max()
    bits, grown = math.log2(1.0 + largest) + 0.1, 0.0
    net, power = np.zeros(quality.shape[0]), np.empty(tie.size)
    for r in range(first.size):
        f, b = s_first[r], s_second[r]
        net[first[r]] += f
        net[second[r]] -= f
        one, two = exp_quality[first[r]], exp_minus_quality[second[r]]
        factors = f + b
        odd = f != math.floor(f) or b != math.floor(b)
        if odd or max(f, b) * bits > BIG_BITS:
            for c in range(tie.size):
                e = one[c] * two[c]
                total[c] -= f * math.log1p(e * close[c]) + b * math.log1p(e * wide[c])
            continue
        # Both sides at once, or one after the other where together they would be too much.
        parts = 1 if factors * bits <= BIG_BITS else 2
        for part in range(parts):
            more = bits * (factors if parts == 1 else f if part == 0 else b)
            grown += more
            if grown > BIG_BITS:
                grown = more
                for c in range(tie.size):
                    over = product[c] > BIG
                    product[c] *= SMALL if over else 1.0
                    carried[c] += 1.0 if over else 0.0
            if parts == 1 or part == 0:
                _multiply(product, one, two, close, int(f), power)
            if parts == 1 or part == 1:
                _multiply(product, one, two, wide, int(b), power)
    _add_linear(total, net, s_first.sum(), quality, tie)
    for c in range(tie.size):
        total[c] -= math.log(product[c]) + carried[c] * LOG_BIG
    return total


@compiled
def one_chain_value(
    first: Integers, second: Integers, s_first: Floats, s_second: Floats,
    quality: Floats, tie: Floats, exp_quality: Floats, exp_minus_quality: Floats,
) -> Floats:  # fmt: skip
    """`close_pair_value` for one chain, several times as quick."""
    net, log, product = np.zeros(quality.shape[0]), 0.0, 1.0
    close, wide = math.exp(-tie[0]), math.exp(tie[0])
    for r in range(first.size):
        f, b = s_first[r], s_second[r]
        net[first[r]] += f
        net[second[r]] -= f
        e = exp_quality[first[r], 0] * exp_minus_quality[second[r], 0]
        if f + b > MOST_FACTORS or f != math.floor(f) or b != math.floor(b):
            log += f * math.log1p(e * close) + b * math.log1p(e * wide)
            continue
        for k in range(int(f + b)):
            product *= 1.0 + e * (close if k < f else wide)
            if product > BIG:
                log, product = log + math.log(product), 1.0
    total = np.full(1, -log - math.log(product))
    _add_linear(total, net, s_first.sum(), quality, tie)
    return total


@compiled
def _add_linear(total: Floats, net: Floats, successes: float, quality: Floats, tie: Floats) -> None:
    """Σ s_first (λ_first − λ_second − δ), from each item's `net` successes as the first."""
    for i in range(net.size):
        for c in range(tie.size):
            total[c] += net[i] * quality[i, c]
    for c in range(tie.size):
        total[c] -= successes * tie[c]


def is_compiled() -> bool:
    """Whether the loops are kept from an earlier run; else their first use compiles them."""
    if not hasattr(close_pair_value, "stats"):  # Numba is told not to compile
        return True
    cache = Path(close_pair_value.stats.cache_path)
    return any(cache.glob("kernels.close_pair_value*.nbi"))


@compiled
def pair_negative_hessian(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    tie: float,
) -> tuple[Floats, Floats, float]:
    """Minus the second derivatives of one chain.

    By qualities they are the Laplacian of a weight per row; then those by quality and threshold,
    and by the threshold alone.
    """
    weight, cross, own = np.empty(first.size), np.zeros(quality.size), 0.0
    for r in range(first.size):
        i, j = first[r], second[r]
        ahead, behind = _margins(quality[i] - quality[j], tie)
        rest_first, rest_second = complement(ahead), complement(behind)
        up = s_first[r] * rest_first * (1.0 - rest_first)
        down = s_second[r] * rest_second * (1.0 - rest_second)
        weight[r] = up + down
        cross[i] += down - up
        cross[j] += up - down
        own += up + down
    return weight, cross, own


# Seven nodes of Gauss and Hermite for the standard normal, and their weights.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@compiled
def averaged_pair_derivatives(
    s_first: Floats, s_second: Floats, gap: Floats, sd: Floats, tie: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Derivatives of each row, averaged over normal gaps: means `gap`, standard deviations `sd`.

    The slope by the gap and that by the threshold; minus the second derivatives by the gap (and by
    the threshold, which is the same) and by both.
    """
    by_gap, by_tie = np.zeros(gap.size), np.zeros(gap.size)
    weight, cross = np.zeros(gap.size), np.zeros(gap.size)
    for r in range(gap.size):
        for h in range(_NODES.size):
            ahead, behind = _margins(gap[r] + sd[r] * _NODES[h], tie)
            rest_first, rest_second = complement(ahead), complement(behind)
            first, second = s_first[r] * rest_first, s_second[r] * rest_second
            up, down = first * (1.0 - rest_first), second * (1.0 - rest_second)
            by_gap[r] += _WEIGHTS[h] * (first - second)
            by_tie[r] -= _WEIGHTS[h] * (first + second)
            weight[r] += _WEIGHTS[h] * (up + down)
            cross[r] += _WEIGHTS[h] * (down - up)
    return by_gap, by_tie, weight, cross


@compiled
def laplacian(first: Integers, second: Integers, weight: Floats, size: int) -> Floats:
    """Σ w x xᵀ over pairs, with x = 1 at the first of a pair and −1 at the second."""
    out = np.zeros((size, size))
    for r in range(first.size):
        i, j, w = first[r], second[r], weight[r]
        out[i, i] += w
        out[j, j] += w
        out[i, j] -= w
        out[j, i] -= w
    return out


@compiled
def laplacian_product(first: Integers, second: Integers, weight: Floats, matrix: Floats) -> Floats:
    """`laplacian(...) @ matrix`, without writing the Laplacian out."""
    out = np.zeros(matrix.shape)
    for r in range(first.size):
        one, two = matrix[first[r]], matrix[second[r]]
        gain, loss = out[first[r]], out[second[r]]
        for c in range(matrix.shape[1]):
            gain[c] += weight[r] * (one[c] - two[c])
        for c in range(matrix.shape[1]):
            loss[c] -= weight[r] * (one[c] - two[c])
    return out
