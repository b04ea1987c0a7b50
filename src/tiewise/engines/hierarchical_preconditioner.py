"""The chart of a model with terms: coordinates in which its posterior is nearly N(0, I).

Layers are placed one after the other, each where the earlier ones lean it. For the scale of its own
a layer does what the plain chart does for α: prior and likelihood are diagonalised together, with
later layers taken out, so that moving the scale costs no factorisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines import preconditioner_kernels as loops
from tiewise.engines.arrowhead import judge_shrinks
from tiewise.engines.hierarchical import Layers, Lifts
from tiewise.engines.hierarchical_marginal import Scales, find_scales
from tiewise.engines.newton import diagonalised
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors import Fixed
from tiewise.model.strata import Point

Floats = NDArray[np.float64]

LINE = "line"  # the step that places δ
ALONE = ("coefficient", "order", LINE)  # few, and each of them looked at on its own


@dataclass(frozen=True, eq=False)
class Step:
    """How one layer is placed: x = (pulled − lean) / (bend + shrink) + q · width.

    `rows` are its rows of q, `span` its rows of x. It leans on all of x before it by `cross`, and
    on as many x from `beside` on, one by one, by `link`. `scale` is the place of its scale among
    all; the line has none.
    """

    name: str
    rows: slice
    span: slice
    bend: Floats
    pulled: Floats
    cross: Floats
    scale: int | None
    beside: int = 0
    link: Floats | None = None


class LayeredPlace(NamedTuple):
    """Where a matrix of chart points q (dimensions, chains) lies in the model."""

    x: Floats
    middle: Floats
    width: Floats
    lines: Floats
    log_scales: Floats
    quality: Floats
    shift: Floats
    sharpness: Floats
    tie: Floats


@dataclass(frozen=True, eq=False)
class LayeredChart:
    """A map from q ~ nearly N(0, I) to everything a model with terms has, and the density of q.

    Rows of q: `rank` of layers that are many, then those of few and of δ, then of scales.
    """

    layers: Layers
    steps: list[Step]
    turns: list[Floats]
    lifts: Lifts
    top: Floats
    rank: int
    dimensions: int
    mean: Floats
    root: Floats
    scales: Scales
    spread: None = None
    """It begins anew each time."""

    def place(self, q: Floats, *, rough: bool = False) -> LayeredPlace:
        """Everything at q; a kick has no use for less than this, so `rough` changes nothing."""
        free = self.mean[:, None] + self.root @ q[len(q) - len(self.mean) :]
        log_scales = self.layers.log_scales(self.layers.lines.at(free).log_scale)
        x, middle, width = np.empty((3, len(self.top), q.shape[1]))
        away = np.empty_like(x)
        for step in self.steps:
            lean = step.cross @ away[: step.cross.shape[1]]
            if step.link is not None:
                lean += step.link[:, None] * away[step.beside : step.beside + len(lean)]
            shrink = self._shrink(step, log_scales)
            x[step.span], middle[step.span], width[step.span] = loops.spread_layer(
                np.ascontiguousarray(q[step.rows]), step.bend, step.pulled, lean, shrink
            )
            away[step.span] = x[step.span] - self.top[step.span, None]
        at = self.layers.point(self.lifts, self.layers.parts(x))
        return LayeredPlace(x, middle, width, free, log_scales, *at)

    def _shrink(self, step: Step, log_scales: Floats) -> Floats:
        # The line's prior is not Gaussian, and has its say in the density.
        if step.scale is None:
            return np.zeros(log_scales.shape[1])
        return np.asarray(np.exp(-2 * log_scales[step.scale]), np.float64)

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.density_at(self.place(q))

    def density_at(self, at: LayeredPlace) -> Floats:
        """Log density of the q that lies at a place."""
        layers = self.layers
        with np.errstate(all="ignore"):
            total = layers.rows.log_likelihood(Point(*at[5:]))
            total = total + layers.line_density(layers.parts(at.x).line)
            for step in self.steps:
                shrink = self._shrink(step, at.log_scales)
                total += loops.prior_part(at.x[step.span], at.width[step.span], shrink)
            total += layers.lines.at(at.lines).log_stretch.sum(axis=0)
            for layer, a in zip(layers.layers, at.log_scales, strict=True):
                if not isinstance(layer.variance, Fixed):
                    total += layer.variance.log_density(a) - layer.size * a
        return np.where(np.isfinite(total), total, -np.inf)

    def slope(self, q: Floats) -> Floats:
        """Derivative of `log_density` by q."""
        return self.slope_at(self.place(q))

    def slope_at(self, at: LayeredPlace) -> Floats:
        """Derivative of `log_density` by the q that lies at a place."""
        layers, chains = self.layers, at.x.shape[1]
        by_x = np.concatenate(layers.slopes(self.lifts, Point(*at[5:]), layers.parts(at.x).line))
        out, by_scales = np.empty((self.dimensions, chains)), np.zeros_like(at.log_scales)
        for step in reversed(self.steps):
            span = step.span
            by_scale, by_lean = loops.gather_layer(
                by_x[span], at.x[span], at.middle[span], at.width[span],
                self._shrink(step, at.log_scales), out[step.rows],
            )  # fmt: skip
            by_x[: step.cross.shape[1]] += step.cross.T @ by_lean
            if step.link is not None:
                by_x[step.beside : step.beside + len(by_lean)] += step.link[:, None] * by_lean
            if step.scale is not None:
                by_scales[step.scale] += by_scale
        free = [
            by_scales[k] + layer.variance.slope(at.log_scales[k])
            for k, layer in enumerate(layers.layers)
            if not isinstance(layer.variance, Fixed)
        ]
        if free:
            there = layers.lines.at(at.lines)
            by_lines = np.stack(free) * there.by_t + there.log_stretch_by_t
            out[self.dimensions - len(free) :] = self.root.T @ by_lines
        return out

    def told(self, at: LayeredPlace) -> dict[str, Floats]:
        """What is kept of a place, by the names that results have for it."""
        return dict(_told(self, at))


def draw_layered_chart(model: BradleyTerry) -> LayeredChart:
    """The chart of a model with terms."""
    layers = Layers(model)
    scales = find_scales(layers)
    shrinks = np.exp(-2 * scales.top.log_scales)
    arrow = scales.arrow.without_judges(*judge_shrinks(layers, shrinks))
    bends, turns, crosses = _diagonalised(layers, arrow.core.copy(), shrinks)
    parts = layers.parts(scales.top.point)
    spans = _core_spans(layers)
    y = np.concatenate([parts.core, parts.line])
    top = [turn.T @ y[span, 0] for turn, span in zip(turns, spans, strict=True)]
    names = [layer.name for layer in layers.core] + [LINE] * (layers.tie_prior is not None)
    for name, cross, own in (
        ("sharpness", arrow.sharpness, arrow.sharpness_own),
        ("threshold", arrow.threshold, arrow.threshold_own),
    ):
        if len(own):
            names.append(name)
            bends.append(np.clip(own, 0.0, None))
            crosses.append(_turned(cross, turns, spans))
            top.append(parts.sharpness[:, 0] if name == "sharpness" else parts.threshold[:, 0])
    steps, rank = _steps(layers, names, bends, crosses, top, shrinks, arrow.between)
    items = [lift @ turn for lift, turn in zip(layers.lifts.items, turns, strict=False)]
    ordered = len(layers.core) > len(items)
    sides = layers.lifts.sides @ turns[len(items)] if ordered else layers.lifts.sides
    whole = np.concatenate(top)
    return LayeredChart(
        layers, steps, turns, Lifts(items, sides), whole, rank, len(whole) + len(scales.mean),
        scales.mean, scales.root, scales,
    )  # fmt: skip


def _core_spans(layers: Layers) -> list[slice]:
    """Where the core's layers are, and the line after them."""
    ends = [*layers.ends, layers.ends[-1] + 1][: len(layers.ends) + (layers.tie_prior is not None)]
    return [slice(one, two) for one, two in pairwise(ends)]


def _diagonalised(
    layers: Layers, core: Floats, shrinks: Floats
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Each layer's bends and turn, later layers taken out, and its rows against earlier ones.

    The core is overwritten.
    """
    spans = _core_spans(layers)
    bends, turns, rows = [], [], []
    for k in reversed(range(len(spans))):
        span, before = spans[k], spans[k].start
        bend, turn = diagonalised(core[span, span].copy())
        inner = turn.T @ core[span, :before]
        # The line's own bend has its prior in it; a layer's has not.
        shrink = shrinks[k] if k < len(layers.core) else 0.0
        core[:before, :before] -= inner.T @ (inner / (bend + shrink)[:, None])
        bends.append(bend)
        turns.append(turn)
        rows.append(inner)
    bends, turns, rows = bends[::-1], turns[::-1], rows[::-1]
    return bends, turns, [_turned(row, turns[:k], spans[:k]) for k, row in enumerate(rows)]


def _turned(rows: Floats, turns: list[Floats], spans: list[slice]) -> Floats:
    """Rows against the core in the coordinates that its layers are turned to."""
    parts = [rows[:, span] @ turn for turn, span in zip(turns, spans, strict=True)]
    return np.concatenate([np.empty((len(rows), 0)), *parts], axis=1)


def _steps(
    layers: Layers,
    names: list[str],
    bends: list[Floats],
    crosses: list[Floats],
    top: list[Floats],
    shrinks: Floats,
    between: Floats,
) -> tuple[list[Step], int]:
    """The steps in their order, and how many rows of q belong to layers that are many."""
    order = sorted(range(len(names)), key=lambda k: names[k] in ALONE)
    rows, begun = {}, 0
    for k in order:
        rows[k] = slice(begun, begun + len(bends[k]))
        begun += len(bends[k])
    scale_of = {layer.name: k for k, layer in enumerate(layers.layers)}
    steps, start = [], 0
    for k, name in enumerate(names):
        scale = scale_of.get(name)
        precision = bends[k] + (0.0 if scale is None else shrinks[scale])
        span = slice(start, start + len(bends[k]))
        step = Step(name, rows[k], span, bends[k], precision * top[k], crosses[k], scale)
        if name == "threshold" and len(between):
            step = replace(step, beside=start - len(between), link=between)
        steps.append(step)
        start = span.stop
    return steps, sum(len(b) for b, name in zip(bends, names, strict=True) if name not in ALONE)


def _told(chart: LayeredChart, at: LayeredPlace) -> Iterator[tuple[str, Floats]]:
    """Names and values, the last axis over chains."""
    layers, design = chart.layers, chart.layers.design
    groups = at.quality.reshape(layers.rows.groups, layers.rows.items, -1)
    # Contrasts sum to zero over groups.
    quality = groups.mean(axis=0)
    yield "quality", quality
    yield "tie", layers.tie(layers.parts(at.x).line, at.x.shape[1])
    place = {layer.name: k for k, layer in enumerate(layers.layers)}
    spread = {name: np.exp(at.log_scales[k]) for name, k in place.items()}
    yield "variance", spread["quality"] ** 2
    if design.columns is not None:
        own = chart.turns[place["coefficient"]] @ at.x[chart.steps[place["coefficient"]].span]
        known = design.columns.standard @ own
        explained = known.var(axis=0)
        yield "coefficient", own / design.columns.sd[:, None]
        if layers.layers[place["coefficient"]].free:
            yield "coefficient_sd", spread["coefficient"]
        yield "explained", explained / (explained + (quality - known).var(axis=0))
    if design.order is not None:
        yield "order", chart.turns[place["order"]] @ at.x[chart.steps[place["order"]].span]
    if design.groups is not None:
        yield "contrast", groups - quality
        yield "contrast_variance", spread["contrast"] ** 2
    if design.sharpness is not None:
        yield "sharpness", np.exp(at.sharpness)
        yield "sharpness_sd", spread["sharpness"]
    if design.thresholds is not None:
        yield "threshold", at.tie
        yield "threshold_sd", spread["threshold"]
