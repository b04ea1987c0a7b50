"""Arrow: second derivatives of a posterior whose judges are independent given the rest.

The core is dense. Each judge's sharpness and threshold touch the core and each other, and no other
judge: they are eliminated one number at a time, whatever their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.hierarchical import Layers, Parts
from tiewise.engines.newton import cholesky
from tiewise.model.scalar_priors import OnLine
from tiewise.model.strata import Bends, Point

Floats = NDArray[np.float64]

# What a curvature may lose to terms that have mean zero at the truth, as a share of the rest.
LEAST = 0.1


class Arrow(NamedTuple):
    """Minus second derivatives of log likelihood and δ's prior; layers' priors are left out.

    `core` has a row for each coordinate of the core and, last, for the threshold's line. A judge's
    `sharpness` and `threshold` have rows against it, numbers of their `own`, and one `between`.
    `sharpness_rest` and `threshold_rest` are what these numbers have besides, of either sign and
    with mean zero at the truth: a judge who has little to say may have more of it than of the rest.
    """

    core: Floats
    sharpness: Floats
    threshold: Floats
    sharpness_own: Floats
    threshold_own: Floats
    between: Floats
    sharpness_rest: Floats
    threshold_rest: Floats

    def without_judges(self, shrink_sharpness: float, shrink_threshold: float) -> Arrow:
        """Thresholds taken out, then sharpnesses: what is left for each to be placed by.

        `shrink` is a layer's prior precision. Own numbers stay without it.
        """
        core, sharp = self.core, self.sharpness
        # A prior makes up for a part of itself at most, or the whole were not positive definite.
        own = self.sharpness_own + np.maximum(self.sharpness_rest, (LEAST - 1) * shrink_sharpness)
        tie = self.threshold_own + np.maximum(self.threshold_rest, (LEAST - 1) * shrink_threshold)
        if len(self.threshold):
            through = self.threshold / (tie + shrink_threshold)[:, None]
            core = core - self.threshold.T @ through
            if len(sharp):
                sharp = sharp - self.between[:, None] * through
                own = own - self.between**2 / (tie + shrink_threshold)
        if len(sharp):
            core = core - sharp.T @ (sharp / (own + shrink_sharpness)[:, None])
        return self._replace(core=core, sharpness=sharp, sharpness_own=own, threshold_own=tie)


def arrow_at(layers: Layers, at: Point, line: Floats) -> Arrow:
    """The arrow at a point of one chain; positive definite once priors are added."""
    bends, by = layers.rows.bends(at), layers.rows.slopes(at)
    tie = at.tie[:, 0]
    by_log_tie = by.tie[:, 0] * tie
    plain = bends.tie_tie * tie**2
    own = np.maximum(plain - by_log_tie, LEAST * plain)
    there = layers.on_line(line)
    stretch = 0.0 if there is None else float(there.by_t[0] / there.tie[0])
    rows = _against_core(layers, bends, tie, own, stretch)
    core = _core(layers, bends, rows, stretch)
    if there is not None:
        core[-1, -1] = _line_own(layers, there, own, by_log_tie)
    none = np.empty((0, len(core)))
    return Arrow(
        core,
        rows.sharpness if layers.sharp else none,
        rows.tie if layers.tying else none,
        bends.sharpness_sharpness if layers.sharp else np.empty(0),
        plain if layers.tying else np.empty(0),
        bends.sharpness_tie * tie if layers.sharp and layers.tying else np.empty(0),
        -by.sharpness[:, 0] if layers.sharp else np.empty(0),
        -by_log_tie if layers.tying else np.empty(0),
    )


def _against_core(layers: Layers, bends: Bends, tie: Floats, own: Floats, stretch: float) -> Bends:
    """A stratum's shift, log sharpness and log threshold against the coordinates of the core."""

    def against(quality: Floats, shift: Floats, log_tie: Floats) -> Floats:
        parts = [layers.pulled(layers.lifts, quality.T).T, shift[:, None] * layers.lifts.sides]
        if layers.tie_prior is not None:
            parts.append(stretch * log_tie[:, None])
        return np.concatenate(parts, axis=1)

    return bends._replace(
        shift=against(bends.shift, bends.shift_shift, bends.shift_tie * tie),
        sharpness=against(bends.sharpness, bends.shift_sharpness, bends.sharpness_tie * tie),
        tie=against(bends.tie * tie[:, None], bends.shift_tie * tie, own),
    )


def _core(layers: Layers, bends: Bends, rows: Bends, stretch: float) -> Floats:
    """The core against itself: items through their Laplacians, the rest through strata."""
    size, items = rows.shift.shape[1], layers.ends[len(layers.of_items)]
    out = np.empty((size, size))
    out[:items, :items] = _items(layers, bends.laplacians)
    advantages = slice(items, layers.ends[-1])
    out[advantages] = layers.lifts.sides.T @ rows.shift
    out[:, advantages] = out[advantages].T
    if layers.tie_prior is not None:
        out[-1] = stretch * rows.tie.sum(axis=0)
        out[:, -1] = out[-1]
    return out


def _items(layers: Layers, laplacians: Floats) -> Floats:
    """Layers of items against each other: Σ over groups of shares ⊗ baseᵀ L base."""
    every, spans = _bases(layers)
    size, ends = layers.ends[len(layers.of_items)], layers.ends
    out = np.zeros((size, size))
    for g, laplacian in enumerate(laplacians):
        inner = every.T @ (laplacian @ every)
        for k, one in enumerate(layers.of_items):
            for m, two in enumerate(layers.of_items):
                assert one.share is not None
                assert two.share is not None
                shares = np.outer(one.share[g], two.share[g])
                here = out[ends[k] : ends[k + 1], ends[m] : ends[m + 1]]
                here += np.kron(shares, inner[spans[k], spans[m]])
    return out


def _bases(layers: Layers) -> tuple[Floats, list[slice]]:
    """The bases of layers side by side, each once, and where each layer's is."""
    columns: list[Floats] = []
    places: dict[int, slice] = {}
    spans, end = [], 0
    for layer in layers.of_items:
        assert layer.base is not None
        if id(layer.base) not in places:
            places[id(layer.base)] = slice(end, end + layer.base.shape[1])
            columns.append(layer.base)
            end += layer.base.shape[1]
        spans.append(places[id(layer.base)])
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1), spans


def _line_own(layers: Layers, there: OnLine, own: Floats, by_log_tie: Floats) -> float:
    """Minus the second derivative by the line's coordinate, or a part of what it mostly is."""
    prior = layers.tie_prior
    assert prior is not None
    tie, by_t, twice = (float(part[0]) for part in (there.tie, there.by_t, there.by_t_twice))
    plain = float(own.sum()) * (by_t / tie) ** 2
    of_prior = float(-prior.bend(there.tie)[0]) * by_t**2 - float(prior.slope(there.tie)[0]) * twice
    of_prior -= float(there.log_stretch_by_t_twice[0])
    rest = of_prior - float(by_log_tie.sum()) * (twice / tie - (by_t / tie) ** 2)
    return max(plain + rest, LEAST * plain + 1e-3)


def newton_step(
    layers: Layers, arrow: Arrow, log_scales: Floats, slope: Parts
) -> tuple[Floats, float]:
    """Newton's step for a slope, and the log determinant of the whole matrix, priors added."""
    from scipy.linalg import cho_solve

    shrinks = np.exp(-2 * log_scales)
    sharp_shrink, tie_shrink = judge_shrinks(layers, shrinks)
    left = arrow.without_judges(sharp_shrink, tie_shrink)
    by_core = np.concatenate([slope.core[:, 0], slope.line[:, 0]])
    by_sharp, by_tie = slope.sharpness[:, 0], slope.threshold[:, 0]
    own_sharp, own_tie = left.sharpness_own + sharp_shrink, left.threshold_own + tie_shrink
    if layers.tying:
        by_core = by_core - arrow.threshold.T @ (by_tie / own_tie)
        if layers.sharp:
            by_sharp = by_sharp - arrow.between * by_tie / own_tie
    if layers.sharp:
        by_core = by_core - left.sharpness.T @ (by_sharp / own_sharp)
    core = left.core.copy()
    for k, shrink in enumerate(shrinks[: len(layers.core)]):
        span = np.arange(layers.ends[k], layers.ends[k + 1])
        core[span, span] += shrink
    factor = cholesky(core.copy)
    step = cho_solve(factor, by_core, check_finite=False)
    parts, log_det = [step], 2 * float(np.log(np.diag(factor[0])).sum())
    if layers.sharp:
        parts.append((by_sharp - left.sharpness @ step) / own_sharp)
        log_det += float(np.log(own_sharp).sum())
    if layers.tying:
        pull = by_tie - arrow.threshold @ step
        parts.append((pull - arrow.between * parts[1] if layers.sharp else pull) / own_tie)
        log_det += float(np.log(own_tie).sum())
    return np.concatenate(parts), log_det


def judge_shrinks(layers: Layers, shrinks: Floats) -> tuple[float, float]:
    """Prior precisions of sharpnesses and thresholds, 0 where there are none."""
    of = {layer.name: float(shrink) for layer, shrink in zip(layers.layers, shrinks, strict=True)}
    return of.get("sharpness", 0.0), of.get("threshold", 0.0)
