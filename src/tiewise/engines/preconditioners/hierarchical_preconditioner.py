"""The preconditioner of a model with terms: coordinates in which its posterior is nearly N(0, I).

Layers follow one another, each Gaussian conditional on those before it. With its own scale a layer
does what the plain preconditioner does with α: prior and likelihood are diagonalised together,
later layers eliminated, so that a change of scale costs no factorisation.

With many comparisons, slopes and what layers have in common are computed in single precision, as in
`plain`: a trajectory stays reversible, and the density that decides about its end is in double.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.arrowhead import judge_precisions
from tiewise.engines.preconditioners.hierarchical import DesignMatrices, HierarchicalPosterior
from tiewise.engines.preconditioners.hierarchical_marginal import ScaleMarginal, fit_scale_marginal
from tiewise.engines.preconditioners.layer_conditionals import (
    SMALL,
    TIE,
    LayerConditional,
    layer_conditionals,
)
from tiewise.engines.preconditioners.newton import near_the_mean
from tiewise.engines.preconditioners.plain import diagonalise
from tiewise.engines.preconditioners.plain_kernels import (
    log_prior_and_jacobian,
    transform_layer,
    transform_layer_gradient,
)
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import LikelihoodArguments

Floats = NDArray[np.float64]

SINGLE_PRECISION_ROWS = 50_000  # rows of the likelihood from which on single precision pays


class HierarchicalParameters(NamedTuple):
    """Parameters of a model with terms at a matrix q (dimensions, chains)."""

    x: Floats
    mean: Floats
    sd: Floats
    unconstrained_scales: Floats
    log_scales: Floats
    quality: Floats
    shift: Floats
    sharpness: Floats
    tie: Floats
    facts: Floats

    @property
    def arguments(self) -> LikelihoodArguments:
        """The arguments of the likelihood."""
        return LikelihoodArguments(self.quality, self.shift, self.sharpness, self.tie, self.facts)


@dataclass(frozen=True, eq=False)
class HierarchicalPreconditioner:
    """A map from q, nearly N(0, I), to the parameters of a model with terms, and q's density.

    Rows of q: `rank` of layers with many coordinates, then those of small layers and of δ, then of
    scales. `rotations` are the eigenvectors that take x of each layer of the core to its
    coordinates; `matrices` take x to the likelihood's arguments.
    """

    posterior: HierarchicalPosterior
    conditionals: list[LayerConditional]
    rotations: list[Floats]
    matrices: DesignMatrices
    mode: Floats
    rank: int
    dimensions: int
    marginal: ScaleMarginal
    warm_start: None = None
    single: bool = False

    def parameters(self, q: Floats, *, single: bool = False) -> HierarchicalParameters:
        """The model's parameters at q; `single` is precise enough for a gradient."""
        marginal, posterior = self.marginal, self.posterior
        last = q[len(q) - len(marginal.mean) :]
        free = marginal.mean[:, None] + marginal.covariance_root @ last
        log_scales = posterior.log_scales(posterior.scales.constrain(free).log_scale)
        x, mean, sd = np.empty((3, len(self.mode), q.shape[1]))
        deviation = np.empty_like(x)
        for layer in self.conditionals:
            shift = layer.shift(deviation, single=single)
            rows, own_q = layer.x_rows, np.ascontiguousarray(q[layer.q_rows])
            precision = layer.prior_precision(log_scales)
            x[rows], mean[rows], sd[rows] = transform_layer(
                own_q, layer.eigenvalues, layer.precision_mean, shift, precision
            )
            deviation[rows] = x[rows] - self.mode[rows, None]
        arguments = posterior.arguments(self.matrices, posterior.split(x))
        return HierarchicalParameters(x, mean, sd, free, log_scales, *arguments)

    def unconstrained_ties(self, x: Floats) -> Floats:
        """Unconstrained thresholds (thresholds, chains)."""
        out: Floats = self.matrices.ties @ self.posterior.split(x).unconstrained_tie
        return out

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.log_density_at(self.parameters(q))

    def log_density_at(self, parameters: HierarchicalParameters) -> Floats:
        """Log density of the q with these parameters."""
        posterior, log_scales = self.posterior, parameters.log_scales
        x, sd = parameters.x, parameters.sd
        with np.errstate(all="ignore"):
            total = posterior.log_likelihood(parameters.arguments)
            total = total + posterior.tie_log_prior(self.unconstrained_ties(x))
            for own in self.conditionals:
                rows, precision = own.x_rows, own.prior_precision(log_scales)
                total += log_prior_and_jacobian(x[rows], sd[rows], precision)
            scales = posterior.scales.constrain(parameters.unconstrained_scales)
            total += scales.log_jacobian.sum(axis=0)
            for normaliser, prior in posterior.scale_terms(scales.log_scale, log_scales):
                if prior is not None:
                    total += prior - normaliser
        return np.where(np.isfinite(total), total, -np.inf)

    def gradient(self, q: Floats) -> Floats:
        """Gradient of `log_density`."""
        return self.gradient_at(self.parameters(q))

    def gradient_at(self, parameters: HierarchicalParameters) -> Floats:
        """Gradient of `log_density` by the q with these parameters, perhaps in single precision."""
        posterior, x, log_scales = self.posterior, parameters.x, parameters.log_scales
        t, arguments = posterior.split(x).unconstrained_tie, parameters.arguments
        if self.single:
            arguments = arguments._replace(quality=arguments.quality.astype(np.float32))
        by_x = np.concatenate(posterior.gradient(self.matrices, arguments, t))
        out, by_scales = np.empty((self.dimensions, x.shape[1])), np.zeros_like(log_scales)
        for layer in reversed(self.conditionals):
            rows = layer.x_rows
            by_scale, by_shift = transform_layer_gradient(
                by_x[rows], x[rows], parameters.mean[rows], parameters.sd[rows],
                layer.prior_precision(log_scales), out[layer.q_rows],
            )  # fmt: skip
            layer.add_gradient(by_shift, by_x)
            if layer.scale is not None:
                by_scales[layer.scale] += by_scale
        self._scale_gradient(parameters, by_scales, out)
        return out

    def _scale_gradient(
        self, parameters: HierarchicalParameters, by_scales: Floats, out: Floats
    ) -> None:
        """Gradient by the scales' rows of q into `out`, their priors included."""
        if len(self.marginal.mean):
            scales = self.posterior.scales.constrain(parameters.unconstrained_scales)
            by_free = self.posterior.scale_gradient(scales.log_scale, by_scales)
            by_t = by_free * scales.by_t + scales.log_jacobian_by_t
            out[self.dimensions - len(by_t) :] = self.marginal.covariance_root.T @ by_t

    def draws(self, parameters: HierarchicalParameters) -> dict[str, Floats]:
        """The parameters that are results, by name; the last axis runs over chains."""
        return dict(_named_draws(self, parameters))


def build_hierarchical_preconditioner(model: BradleyTerry) -> HierarchicalPreconditioner:
    """The preconditioner of a model with terms."""
    near = near_the_mean(model)
    posterior = HierarchicalPosterior(near)
    marginal = fit_scale_marginal(posterior)
    precisions = np.exp(-2 * marginal.mode.log_scales)
    hessian = marginal.hessian.eliminate_judges(*judge_precisions(posterior, precisions))
    eigenvalues, rotations, crosses = _diagonalise_core(posterior, hessian.core.copy(), precisions)
    blocks = posterior.split(marginal.mode.point)
    slices = _core_slices(posterior)
    y = np.concatenate([blocks.core, blocks.unconstrained_tie])
    modes = [rotation.T @ y[own, 0] for rotation, own in zip(rotations, slices, strict=True)]
    names = [layer.name for layer in posterior.core] + [TIE] * bool(posterior.inferred_ties)
    for name, cross, diagonal, mode in (
        ("sharpness", hessian.sharpness_rows, hessian.sharpness_diagonal, blocks.sharpness),
        ("threshold", hessian.threshold_rows, hessian.threshold_diagonal, blocks.threshold),
    ):
        if len(diagonal):
            names.append(name)
            eigenvalues.append(np.clip(diagonal, 0.0, None))
            crosses.append(cross)
            modes.append(mode[:, 0])
    conditionals = layer_conditionals(
        posterior, names, eigenvalues, crosses, modes, precisions, hessian.sharpness_threshold,
        _rotate(hessian.design, rotations, slices),
    )  # fmt: skip
    looped = posterior.likelihood.stratified or posterior.design.facts is not None
    single = looped and len(posterior.likelihood.first) >= SINGLE_PRECISION_ROWS
    if single:
        conditionals = [
            replace(layer, cross_single=layer.cross.astype(np.float32)) for layer in conditionals
        ]
    whole, matrices = np.concatenate(modes), _rotated_matrices(posterior, rotations)
    rank = sum(len(own.eigenvalues) for own in conditionals if own.name not in SMALL)
    if near is not model:
        posterior = HierarchicalPosterior(model)
    return HierarchicalPreconditioner(
        posterior, conditionals, rotations, matrices, whole, rank,
        len(whole) + len(marginal.mean), marginal, single=single,
    )  # fmt: skip


def _core_slices(posterior: HierarchicalPosterior) -> list[slice]:
    """The coordinates of the core's layers, and of unconstrained thresholds after them."""
    offsets = [*posterior.offsets]
    if posterior.inferred_ties:
        offsets.append(offsets[-1] + len(posterior.inferred_ties))
    return [slice(one, two) for one, two in pairwise(offsets)]


def _diagonalise_core(
    posterior: HierarchicalPosterior, core: Floats, precisions: Floats
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Eigenvalues and rotation of each layer, and its rows against earlier layers.

    Later layers are eliminated first. The core is overwritten.
    """
    slices = _core_slices(posterior)
    eigenvalues, rotations, crosses = [], [], []
    for k in reversed(range(len(slices))):
        own, before = slices[k], slices[k].start
        values, rotation = diagonalise(core[own, own].copy())
        cross = rotation.T @ core[own, :before]
        # The threshold's prior is in its Hessian already; a layer's is not.
        precision = precisions[k] if k < len(posterior.core) else 0.0
        core[:before, :before] -= cross.T @ (cross / (values + precision)[:, None])
        eigenvalues.append(values)
        rotations.append(rotation)
        crosses.append(cross)
    eigenvalues, rotations, crosses = eigenvalues[::-1], rotations[::-1], crosses[::-1]
    rotated = [_rotate(cross, rotations[:k], slices[:k]) for k, cross in enumerate(crosses)]
    return eigenvalues, rotations, rotated


def _rotate(rows: Floats, rotations: list[Floats], slices: list[slice]) -> Floats:
    """Rows against the core, in the rotated coordinates of its layers."""
    parts = [rows[:, own] @ rotation for rotation, own in zip(rotations, slices, strict=True)]
    return np.concatenate([np.empty((len(rows), 0)), *parts], axis=1)


def _rotated_matrices(posterior: HierarchicalPosterior, rotations: list[Floats]) -> DesignMatrices:
    """Design matrices from x instead of coordinates."""
    matrices = posterior.matrices
    pairs = zip(matrices.items, rotations, strict=False)
    items = [matrix @ rotation for matrix, rotation in pairs]
    ordered = len(posterior.core) > len(items)
    shift, facts = matrices.shift, matrices.facts
    if ordered and len(facts):
        facts = rotations[len(items)]
    elif ordered:
        shift = shift @ rotations[len(items)]
    ties = rotations[-1] if posterior.inferred_ties else matrices.ties
    return DesignMatrices(items, shift, ties, facts)


def _named_draws(
    preconditioner: HierarchicalPreconditioner, parameters: HierarchicalParameters
) -> Iterator[tuple[str, Floats]]:
    """Names and values of the results."""
    posterior, x = preconditioner.posterior, parameters.x
    design, rotations = posterior.design, preconditioner.rotations
    groups = parameters.quality.reshape(posterior.likelihood.groups, posterior.likelihood.items, -1)
    # Contrasts sum to zero over groups.
    quality = groups.mean(axis=0)
    yield "quality", quality
    ties = posterior.ties(preconditioner.unconstrained_ties(x), x.shape[1])
    yield "tie", ties[0]
    if len(ties) > 1:
        yield "cut", np.cumsum(ties, axis=0)
    index = {layer.name: k for k, layer in enumerate(posterior.layers)}
    scale = {name: np.exp(parameters.log_scales[k]) for name, k in index.items()}
    rows = [layer.x_rows for layer in preconditioner.conditionals]
    variance = scale["quality"] ** 2
    if posterior.mixed:
        yield "share", variance / (variance + scale["independent"] ** 2)
        variance = variance + scale["independent"] ** 2
        if (held := posterior.model.fixed_variance) is not None:
            # The sum of both layers is the held variance but for rounding.
            variance = np.full_like(variance, held)
    yield "variance", variance
    if design.columns is not None:
        k = index["coefficient"]
        coefficient = rotations[k] @ x[rows[k]]
        known = design.columns.standard @ coefficient
        explained = known.var(axis=0)
        yield "coefficient", coefficient / design.columns.sd[:, None]
        if posterior.layers[k].free:
            yield "coefficient_sd", scale["coefficient"]
        yield "explained", explained / (explained + (quality - known).var(axis=0))
    if design.order is not None:
        order = rotations[index["order"]] @ x[rows[index["order"]]]
        yield "order", order if design.facts is None else design.facts.per_unit(order)
    if design.groups is not None:
        yield "contrast", groups - quality
        yield "contrast_variance", scale["contrast"] ** 2
    if design.sharpness is not None:
        yield "sharpness", np.exp(parameters.sharpness)
        if design.sharpness.reference is None:
            yield "sharpness_sd", scale["sharpness"]
    if design.thresholds is not None:
        # Of δ, or where ties were not offered of the first step.
        strata, skip = posterior.likelihood.strata, posterior.model.fixed_tie == 0
        yield "threshold", parameters.tie[skip * strata : (1 + skip) * strata]
        if design.thresholds.reference is None:
            yield "threshold_sd", scale["threshold"]
