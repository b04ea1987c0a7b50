"""The posterior of a model with terms, as Gaussian layers whose scales are inferred.

Qualities, contrasts, coefficients and advantages are the core, which is dense, and so is its
Hessian. Judges' sharpnesses and thresholds are many, but conditional on the core judges are
independent, so that they can be eliminated one by one. Coordinates of a layer have the prior
N(0, scale² I).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.newton import initial_threshold, unconstrained_thresholds
from tiewise.model.anchors.common import CommonAnchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import LikelihoodArguments
from tiewise.model.map_priors import Mixture, log_share_prior, share_of
from tiewise.model.quality_priors import RANK_TOLERANCE
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.unconstrained_tie import ConstrainedTie, UnconstrainedTie

Floats = NDArray[np.float64]


class ConstrainedScales(NamedTuple):
    """Log scales, their derivatives by the unconstrained coordinates t, and the log Jacobian."""

    log_scale: Floats
    by_t: Floats
    log_jacobian: Floats
    log_jacobian_by_t: Floats


class UnconstrainedScales:
    """Unconstrained coordinates t of the scales that are inferred, a row each.

    t is the log scale; under a half-normal prior scale = unit · log(1 + eᵗ) instead. Below the
    unit that t is still a log scale, above it the scale itself, in which such a prior is Gaussian.
    In log scale, with few judges, one tail of the density would be too steep to sample.
    """

    def __init__(self, variances: Sequence[VariancePrior | Fixed], others: int = 0) -> None:
        """`others` are last rows that are on the real line already."""
        free = [one for one in variances if not isinstance(one, Fixed)] + [None] * others
        self.half_normal = np.array([isinstance(one, HalfNormalSpread) for one in free], bool)
        units = [one.scale / 2 if isinstance(one, HalfNormalSpread) else 1.0 for one in free]
        self.log_unit = np.log(np.array(units, float))

    def __len__(self) -> int:
        return len(self.half_normal)

    def constrain(self, t: Floats) -> ConstrainedScales:
        """Log scales at t (scales) or (scales, chains)."""
        column = (slice(None), *(None,) * (t.ndim - 1))
        half_normal, log_unit = self.half_normal[column], self.log_unit[column]
        softplus = np.logaddexp(0.0, t)
        sigmoid = np.exp(np.minimum(t, 0.0)) / (1 + np.exp(-np.abs(t)))
        # Far to the left log(1 + eᵗ) is eᵗ, and its logarithm t.
        far = t < -30.0
        ratio = np.where(far, 1.0, sigmoid / np.where(far, 1.0, softplus))
        log_softplus = np.where(far, t, np.log(np.maximum(softplus, 1e-30)))
        return ConstrainedScales(
            np.where(half_normal, log_unit + log_softplus, t),
            np.where(half_normal, ratio, 1.0),
            np.where(half_normal, np.log(ratio), 0.0),
            np.where(half_normal, 1.0 - sigmoid - ratio, 0.0),
        )

    def unconstrain(self, log_scale: Floats) -> Floats:
        """The coordinates t of log scales."""
        softplus = np.exp(log_scale - self.log_unit)
        t = softplus + np.log(-np.expm1(-softplus))
        return np.where(self.half_normal, t, log_scale)


@dataclass(frozen=True, eq=False)
class Layer:
    """One Gaussian layer: its name, its number of coordinates, and the prior of its variance.

    A layer of items has `basis` (items, coordinates of a copy), from coordinates to effects of
    items, and `group_weights` (groups, copies), the weights of copies in each group's qualities.
    """

    name: str
    size: int
    variance: VariancePrior | Fixed
    basis: Floats | None = None
    group_weights: Floats | None = None

    @property
    def free(self) -> bool:
        """Whether its variance is inferred."""
        return not isinstance(self.variance, Fixed)

    @property
    def matrix(self) -> Floats:
        """From all coordinates to the effects of all copies (copies · items)."""
        assert self.basis is not None
        assert self.group_weights is not None
        copies = self.group_weights.shape[1]
        return self.basis if copies == 1 else np.asarray(np.kron(np.eye(copies), self.basis), float)


class DesignMatrices(NamedTuple):
    """From coordinates to the arguments of the likelihood.

    `items` has a matrix for each layer of items, to effects of items; `shift` is one matrix, from
    advantages to the shift of each stratum, or `facts` one from them to the coefficients of facts,
    and `ties` one to unconstrained thresholds.
    """

    items: list[Floats]
    shift: Floats
    ties: Floats
    facts: Floats


class CoordinateBlocks(NamedTuple):
    """Coordinates by kind, each (coordinates, chains)."""

    core: Floats
    unconstrained_tie: Floats
    sharpness: Floats
    threshold: Floats


class HierarchicalPosterior:
    """The posterior of a model with terms, in the coordinates of its layers."""

    def __init__(self, model: BradleyTerry) -> None:
        self.model, self.design = model, model.design
        self.likelihood, anchors = self.design.likelihood, model.anchor_factor
        groups = self.likelihood.groups
        self.anchors = None if anchors is None else CommonAnchors(anchors, groups)
        self.core, self.judges = core_layers(model), judge_layers(model)
        self.tie_priors = unconstrained_thresholds(model)
        self.item_layers = [layer for layer in self.core if layer.basis is not None]
        # Strata that are pooled have one shift, one sharpness and one threshold.
        shift = self.design.advantage_values if self.likelihood.stratified else np.zeros((1, 0))
        facts = 0 if self.design.facts is None else len(self.design.advantages)
        self.matrices = DesignMatrices(
            [layer.matrix for layer in self.item_layers], shift, np.eye(len(self.inferred_ties)),
            np.eye(facts),
        )  # fmt: skip
        sizes = [layer.size for layer in self.core]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.mixed = model.mixture is not None
        variances = [layer.variance for layer in self.layers]
        self.scales = UnconstrainedScales(variances, int(self.mixed))
        self.has_sharpness = any(layer.name == "sharpness" for layer in self.judges)
        self.has_thresholds = any(layer.name == "threshold" for layer in self.judges)

    @property
    def layers(self) -> list[Layer]:
        """All layers, the core's first."""
        return [*self.core, *self.judges]

    @property
    def sizes(self) -> list[int]:
        """Numbers of coordinates, in the order of `CoordinateBlocks`."""
        core, tie, judges = (
            int(self.offsets[-1]),
            len(self.inferred_ties),
            self.likelihood.strata,
        )
        return [core, tie, judges * self.has_sharpness, judges * self.has_thresholds]

    @property
    def layer_slices(self) -> list[slice]:
        """The coordinates of each layer in a point."""
        judges = sum(self.sizes[:2]) + self.likelihood.strata * np.arange(len(self.judges))
        starts = [*self.offsets[:-1], *judges]
        return [slice(k, k + layer.size) for k, layer in zip(starts, self.layers, strict=True)]

    def split(self, point: Floats) -> CoordinateBlocks:
        """A vector, or a matrix with a column per chain, by kinds of coordinates."""
        columns = point if point.ndim == 2 else point[:, None]
        return CoordinateBlocks(*np.split(columns, np.cumsum(self.sizes)[:-1]))

    def start(self) -> Floats:
        """Equal qualities, equal judges, and the threshold that explains the share of ties."""
        point = np.zeros(sum(self.sizes))
        starts = [initial_threshold(prior) for _, prior in self.inferred_ties]
        point[self.offsets[-1] : self.offsets[-1] + len(starts)] = starts
        return point

    def log_scales(self, free: Floats) -> Floats:
        """Log scale of every layer, from what is inferred (scales, ...).

        A mixture prior is the sum of two layers, α √ρ F x and α √(1 − ρ) x′: logit ρ is the last
        row of what is inferred.
        """
        out, inferred = np.empty((len(self.layers), *free.shape[1:])), iter(free)
        for k, layer in enumerate(self.layers):
            fixed = layer.variance.value if isinstance(layer.variance, Fixed) else None
            out[k] = next(inferred) if fixed is None else np.log(fixed) / 2
        if self.mixed:
            out[1] = out[0] - np.logaddexp(0.0, free[-1]) / 2
            out[0] = out[0] - np.logaddexp(0.0, -free[-1]) / 2
        return out

    def scale_terms(
        self, free: Floats, log_scales: Floats
    ) -> Iterator[tuple[Floats, Floats | float | None]]:
        """Size · log scale of each layer, and the log prior of its scale; None where it is fixed.

        `free` are the inferred log scales, (scales, chains), with logit ρ last.
        """
        inferred = iter(free)
        for k, layer in enumerate(self.layers):
            prior: Floats | float | None = 0.0 if self.mixed and k == 0 else None
            if not isinstance(layer.variance, Fixed):
                prior = layer.variance.log_density(next(inferred))
            if self.mixed and k == 1:
                prior = log_share_prior(free[-1])
            yield layer.size * log_scales[k], prior

    def scale_gradient(self, free: Floats, by_scales: Floats) -> Floats:
        """Derivatives by what is inferred, priors included, from those by layers' log scales."""
        by = by_scales.copy()
        if self.mixed:
            by[0] += by[1]
        rows, inferred = [], iter(free)
        for k, layer in enumerate(self.layers):
            if not isinstance(layer.variance, Fixed):
                rows.append(by[k] + layer.variance.derivative(next(inferred)))
        if self.mixed:
            share = share_of(free[-1])
            by_share = ((1 - share) * by_scales[0] - share * by_scales[1]) / 2
            rows.append(by_share + 1 - 2 * share)
        return np.stack(rows) if rows else np.empty((0, *by_scales.shape[1:]))

    def qualities(self, matrices: DesignMatrices, core: Floats) -> Floats:
        """Qualities of all groups (groups · items, chains) from coordinates of the core."""
        items, chains = self.likelihood.items, core.shape[1]
        out = np.zeros((self.likelihood.groups, items, chains))
        for k, (layer, matrix) in enumerate(zip(self.item_layers, matrices.items, strict=True)):
            coordinates = core[self.offsets[k] : self.offsets[k + 1]]
            effects = (matrix @ coordinates).reshape(-1, items, chains)
            assert layer.group_weights is not None
            out += np.tensordot(layer.group_weights, effects, 1)
        return out.reshape(-1, chains)

    @cached_property
    def argument_matrix(self) -> Floats:
        """From the core, unconstrained thresholds last, to qualities, advantages and these."""
        core, items = int(self.offsets[-1]), int(self.offsets[len(self.item_layers)])
        ties = len(self.inferred_ties)
        quality = self.qualities(self.matrices, np.eye(core))
        rest = core - items + ties
        out = np.zeros((len(quality) + rest, core + ties))
        out[: len(quality), :core] = quality
        out[len(quality) :, items:] = np.eye(rest)
        return out

    def pullback(self, matrices: DesignMatrices, by_quality: Floats) -> Floats:
        """Derivatives by coordinates of items (coordinates, ...) from those by quality."""
        items, number = self.likelihood.items, by_quality.shape[1]
        groups = by_quality.reshape(self.likelihood.groups, items, number)
        parts = []
        for layer, matrix in zip(self.item_layers, matrices.items, strict=True):
            assert layer.group_weights is not None
            by_effects = np.tensordot(layer.group_weights.T, groups, 1).reshape(-1, number)
            parts.append(matrix.T @ by_effects)
        return np.concatenate(parts)

    def arguments(self, matrices: DesignMatrices, blocks: CoordinateBlocks) -> LikelihoodArguments:
        """The arguments of the likelihood at these coordinates."""
        advantage = blocks.core[self.offsets[len(self.item_layers)] :]
        strata, chains = self.likelihood.strata, blocks.core.shape[1]
        zeros = np.zeros((strata, chains))
        t = matrices.ties @ blocks.unconstrained_tie
        tie = np.repeat(self.ties(t, chains), strata, axis=0)
        if self.has_thresholds:
            own = self.design.relative(self.design.thresholds, blocks.threshold)
            tie = tie * np.tile(np.exp(own), (self.likelihood.levels, 1))
        return LikelihoodArguments(
            self.qualities(matrices, blocks.core),
            matrices.shift @ advantage if matrices.shift.shape[1] else zeros,
            self.design.relative(self.design.sharpness, blocks.sharpness)
            if self.has_sharpness
            else zeros,
            tie,
            matrices.facts @ advantage if len(matrices.facts) else np.empty((0, chains)),
        )

    @cached_property
    def inferred_ties(self) -> list[tuple[int, UnconstrainedTie]]:
        """The thresholds that are inferred: which they are, δ and then steps, and their priors."""
        return [(k, prior) for k, prior in enumerate(self.tie_priors) if prior is not None]

    def constrain_ties(self, t: Floats) -> list[ConstrainedTie]:
        """The inferred thresholds and the derivatives of the change of variable, one by one."""
        return [prior.constrain(t[k]) for k, (_, prior) in enumerate(self.inferred_ties)]

    def ties(self, t: Floats, chains: int) -> Floats:
        """δ and the steps from there to further cuts (steps, chains)."""
        fixed = self.model.fixed_tie
        out = np.full((len(self.tie_priors), chains), 0.0 if fixed is None else fixed)
        for (k, _), at in zip(self.inferred_ties, self.constrain_ties(t), strict=True):
            out[k] = at.tie
        return out

    def tie_log_prior(self, t: Floats) -> Floats | float:
        """Log prior density of the unconstrained thresholds."""
        total: Floats | float = 0.0
        for (_, prior), at in zip(self.inferred_ties, self.constrain_ties(t), strict=True):
            total = total + (prior.log_density(at.tie) + at.log_jacobian)
        return total

    def log_likelihood(self, arguments: LikelihoodArguments) -> Floats:
        """Log likelihood of answers and, where there are any, of anchors."""
        own = self.likelihood.log_likelihood(arguments)
        return own if self.anchors is None else own + self.anchors.log_density(arguments.quality)

    def gradient(
        self, matrices: DesignMatrices, arguments: LikelihoodArguments, t: Floats
    ) -> CoordinateBlocks:
        """Derivatives of log likelihood and of thresholds' priors by coordinates; t are theirs."""
        by = self.likelihood.gradient(arguments)
        if self.anchors is not None:
            self.anchors.add_gradient(arguments.quality, by.quality)
        core = [self.pullback(matrices, by.quality)]
        if matrices.shift.shape[1]:
            core.append(matrices.shift.T @ by.shift)
        if len(matrices.facts):
            core.append(matrices.facts.T @ by.facts)
        by_log_tie = by.tie * arguments.tie
        levels, strata = self.likelihood.levels, self.likelihood.strata
        by_log_step = by_log_tie.reshape(levels, strata, -1)
        empty = np.empty((0, arguments.quality.shape[1]))
        by_t = [
            ((by_log_step[k].sum(axis=0) / at.tie + prior.derivative(at.tie)) * at.by_t
            + at.log_jacobian_by_t)[None]
            for (k, prior), at in zip(
                self.inferred_ties, self.constrain_ties(matrices.ties @ t), strict=True
            )
        ]  # fmt: skip
        sharpness, threshold, relative = empty, empty, self.design.relative
        if self.has_sharpness:
            sharpness = relative(self.design.sharpness, by.log_sharpness)
        if self.has_thresholds:
            threshold = relative(self.design.thresholds, by_log_step.sum(axis=0))
        by_ties = matrices.ties.T @ np.concatenate([empty, *by_t])
        return CoordinateBlocks(np.concatenate(core), by_ties, sharpness, threshold)


def core_layers(model: BradleyTerry) -> list[Layer]:
    """Layers of items, then of advantages; those with inferred scales come first."""
    design, size = model.design, model.size
    ones = np.ones((len(design.group_names), 1))
    basis = np.eye(size) if model.factor is None else model.factor
    layers = [Layer("quality", basis.shape[1], model.variance, basis, ones)]
    if model.mixture is not None:
        factor = _correlation_factor(model.mixture)
        layers = [
            Layer("quality", factor.shape[1], model.variance, factor, ones),
            Layer("independent", size, Fixed(1.0), np.eye(size), ones),
        ]
    if design.groups is not None:
        own = basis if design.groups.prior is None else design.groups.prior.factor(size)
        own = np.eye(size) if own is None else own
        copies = design.contrasts.shape[1]
        layers.append(
            Layer("contrast", copies * own.shape[1], design.groups.variance, own, design.contrasts)
        )
    if design.covariates is not None and design.columns is not None:
        values = design.columns.standard
        layers.append(
            Layer("coefficient", values.shape[1], design.covariates.variance, values, ones)
        )
    if design.order is not None:
        layers.append(Layer("order", len(design.advantages), design.order.variance))
    return layers


def _correlation_factor(mixture: Mixture) -> Floats:
    """F with F Fᵀ = R, without the directions in which R allows nothing."""
    large = mixture.values > RANK_TOLERANCE * mixture.values.max()
    return np.ascontiguousarray(mixture.vectors[:, large] * np.sqrt(mixture.values[large]))


def judge_layers(model: BradleyTerry) -> list[Layer]:
    """Layers with a coordinate for each judge."""
    design, layers = model.design, []
    if design.sharpness is not None:
        layers.append(Layer("sharpness", design.likelihood.strata, design.sharpness.variance))
    if design.thresholds is not None:
        layers.append(Layer("threshold", design.likelihood.strata, design.thresholds.variance))
    return layers
