"""Layers: a model with terms as Gaussian layers, and its posterior given their scales.

Qualities, contrasts, coefficients and advantages are the core; it is dense, and so are its second
derivatives. Judges' sharpnesses and thresholds are many, but given the core each judge is on its
own, so that they are eliminated one by one. Coordinates y of a layer have the prior N(0, scale² I).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.newton import threshold_line, typical_tie
from tiewise.engines.scale_coordinates import ScaleLines
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors import Fixed, OnLine, VariancePrior
from tiewise.model.strata import Point

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layer:
    """One Gaussian layer: its name, how many coordinates it has, and the prior of its variance.

    `base` (items, coordinates of a copy) takes coordinates to effects of items, and `share`
    (groups, copies) says how much of each copy a group's qualities have. Layers without are not of
    items.
    """

    name: str
    size: int
    variance: VariancePrior | Fixed
    base: Floats | None = None
    share: Floats | None = None

    @property
    def free(self) -> bool:
        """Whether its variance is inferred."""
        return not isinstance(self.variance, Fixed)

    @property
    def lift(self) -> Floats:
        """Effects of all copies (copies · items) from all coordinates."""
        assert self.base is not None
        assert self.share is not None
        copies = self.share.shape[1]
        return self.base if copies == 1 else np.asarray(np.kron(np.eye(copies), self.base), float)


class Lifts(NamedTuple):
    """From coordinates to what the likelihood is asked about.

    A matrix for each layer of items, to effects of items; and one to each stratum's shift.
    """

    items: list[Floats]
    sides: Floats


class Parts(NamedTuple):
    """Coordinates by kind, each (coordinates, chains): the core's, the line's, and judges'."""

    core: Floats
    line: Floats
    sharpness: Floats
    threshold: Floats


class Layers:
    """The posterior of a model with terms, in the coordinates of its layers."""

    def __init__(self, model: BradleyTerry) -> None:
        self.model, self.design = model, model.design
        self.rows = self.design.rows
        self.core, self.judges = core_layers(model), judge_layers(model)
        self.tie_prior = threshold_line(model)
        self.of_items = [layer for layer in self.core if layer.base is not None]
        # Strata that are not kept apart have one side, one sharpness and one threshold.
        sides = self.design.sides if self.rows.apart else np.zeros((1, 0))
        self.lifts = Lifts([layer.lift for layer in self.of_items], sides)
        sizes = [layer.size for layer in self.core]
        self.ends = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.lines = ScaleLines([layer.variance for layer in self.layers])
        self.sharp = any(layer.name == "sharpness" for layer in self.judges)
        self.tying = any(layer.name == "threshold" for layer in self.judges)

    @property
    def layers(self) -> list[Layer]:
        """All of them, the core's first."""
        return [*self.core, *self.judges]

    @property
    def sizes(self) -> list[int]:
        """Numbers of coordinates: of the core, of the line, of sharpnesses, of thresholds."""
        judges = self.rows.strata
        line = int(self.tie_prior is not None)
        return [int(self.ends[-1]), line, judges * self.sharp, judges * self.tying]

    @property
    def spans(self) -> list[slice]:
        """Where in a point each layer's coordinates are."""
        judges = sum(self.sizes[:2]) + self.rows.strata * np.arange(len(self.judges))
        starts = [*self.ends[:-1], *judges]
        return [slice(k, k + layer.size) for k, layer in zip(starts, self.layers, strict=True)]

    def parts(self, point: Floats) -> Parts:
        """A vector, or a matrix with a column per chain, by kinds of coordinates."""
        columns = point if point.ndim == 2 else point[:, None]
        return Parts(*np.split(columns, np.cumsum(self.sizes)[:-1]))

    def start(self) -> Floats:
        """Equal qualities, equal judges, and the threshold that gives the ties seen."""
        point = np.zeros(sum(self.sizes))
        if self.tie_prior is not None:
            low, high = self.tie_prior.low, self.tie_prior.high
            width = min(high - low, 1.0)
            inside = np.clip(typical_tie(self.model), low + 1e-3 * width, high - 1e-2 * width)
            point[self.ends[-1]] = self.tie_prior.to_line(float(inside))
        return point

    def log_scales(self, free: Floats) -> Floats:
        """Logarithm of each layer's scale, with those that are inferred given (scales, ...)."""
        out, given = np.empty((len(self.layers), *free.shape[1:])), iter(free)
        for k, layer in enumerate(self.layers):
            fixed = layer.variance.value if isinstance(layer.variance, Fixed) else None
            out[k] = next(given) if fixed is None else np.log(fixed) / 2
        return out

    def qualities(self, lifts: Lifts, core: Floats) -> Floats:
        """Qualities of all groups (groups · items, chains) from coordinates on these lifts."""
        items, chains = self.rows.items, core.shape[1]
        out = np.zeros((self.rows.groups, items, chains))
        for k, (layer, lift) in enumerate(zip(self.of_items, lifts.items, strict=True)):
            part = (lift @ core[self.ends[k] : self.ends[k + 1]]).reshape(-1, items, chains)
            assert layer.share is not None
            out += np.tensordot(layer.share, part, 1)
        return out.reshape(-1, chains)

    def pulled(self, lifts: Lifts, by_quality: Floats) -> Floats:
        """Derivatives by coordinates (coordinates, ...) from those by quality."""
        items, number = self.rows.items, by_quality.shape[1]
        groups = by_quality.reshape(self.rows.groups, items, number)
        parts = []
        for layer, lift in zip(self.of_items, lifts.items, strict=True):
            assert layer.share is not None
            shared = np.tensordot(layer.share.T, groups, 1).reshape(-1, number)
            parts.append(lift.T @ shared)
        return np.concatenate(parts)

    def point(self, lifts: Lifts, parts: Parts) -> Point:
        """What the likelihood is asked about."""
        advantage = parts.core[self.ends[len(self.of_items)] :]
        strata, chains = self.rows.strata, parts.core.shape[1]
        nothing = np.zeros((strata, chains))
        tie = np.repeat(self.tie(parts.line, chains)[None], strata, axis=0)
        return Point(
            self.qualities(lifts, parts.core),
            lifts.sides @ advantage if len(advantage) else nothing,
            parts.sharpness if self.sharp else nothing,
            tie * np.exp(parts.threshold) if self.tying else tie,
        )

    def on_line(self, line: Floats) -> OnLine | None:
        """δ and what a change of variable needs, where δ is inferred."""
        return None if self.tie_prior is None else self.tie_prior.from_line(line[0])

    def tie(self, line: Floats, chains: int) -> Floats:
        """δ of each chain."""
        there = self.on_line(line)
        if there is not None:
            return there.tie
        assert self.model.fixed_tie is not None
        return np.full(chains, self.model.fixed_tie)

    def line_density(self, line: Floats) -> Floats | float:
        """Log prior density of the line's coordinate."""
        there = self.on_line(line)
        if there is None or self.tie_prior is None:
            return 0.0
        return self.tie_prior.log_density(there.tie) + there.log_stretch

    def slopes(self, lifts: Lifts, at: Point, line: Floats) -> Parts:
        """Derivatives of log likelihood and δ's prior by coordinates on these lifts."""
        by = self.rows.slopes(at)
        core = [self.pulled(lifts, by.quality)]
        if lifts.sides.shape[1]:
            core.append(lifts.sides.T @ by.shift)
        by_log_tie = by.tie * at.tie
        there = self.on_line(line)
        by_line = np.empty((0, at.quality.shape[1]))
        if there is not None and self.tie_prior is not None:
            slope = by_log_tie.sum(axis=0) / there.tie + self.tie_prior.slope(there.tie)
            by_line = (slope * there.by_t + there.log_stretch_by_t)[None]
        none = np.empty((0, at.quality.shape[1]))
        return Parts(
            np.concatenate(core),
            by_line,
            by.sharpness if self.sharp else none,
            by_log_tie if self.tying else none,
        )


def core_layers(model: BradleyTerry) -> list[Layer]:
    """Layers of items, then of advantages; those with inferred scales come first."""
    design, size = model.design, model.size
    everyone = np.ones((len(design.group_names), 1))
    base = np.eye(size) if model.factor is None else model.factor
    layers = [Layer("quality", base.shape[1], model.variance, base, everyone)]
    if design.groups is not None:
        own = base if design.groups.prior is None else design.groups.prior.factor(size)
        own = np.eye(size) if own is None else own
        copies = design.contrasts.shape[1]
        layers.append(
            Layer("contrast", copies * own.shape[1], design.groups.variance, own, design.contrasts)
        )
    if design.covariates is not None and design.columns is not None:
        values = design.columns.standard
        layers.append(
            Layer("coefficient", values.shape[1], design.covariates.variance, values, everyone)
        )
    if design.order is not None:
        layers.append(Layer("order", len(design.advantages), design.order.variance))
    return layers


def judge_layers(model: BradleyTerry) -> list[Layer]:
    """Layers with a coordinate for each judge."""
    design, layers = model.design, []
    if design.sharpness is not None:
        layers.append(Layer("sharpness", design.rows.strata, design.sharpness.variance))
    if design.thresholds is not None:
        layers.append(Layer("threshold", design.rows.strata, design.thresholds.variance))
    return layers
