"""Arrowhead Hessian of a posterior whose judges are independent conditional on the core.

The core is dense. Each judge's sharpness and threshold have second derivatives with the core and
with each other, and with no other judge: they are eliminated one number at a time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.hierarchical import CoordinateBlocks, HierarchicalPosterior
from tiewise.engines.preconditioners.newton import cholesky
from tiewise.model.likelihood import LikelihoodArguments, StrataHessian
from tiewise.model.unconstrained_tie import ConstrainedTie, UnconstrainedTie

Floats = NDArray[np.float64]

# Terms whose mean is zero at the truth may lower a second derivative to this share of the rest.
MIN_SHARE = 0.1
MANY_JUDGES = 1000  # from which on threads share them


class ArrowheadHessian(NamedTuple):
    """Minus the second derivatives of log likelihood and δ's prior, without the layers' priors.

    `core` has a row for each coordinate of the core and, last, for unconstrained thresholds.
    `sharpness_rows` and `threshold_rows` have a row for each judge, against the likelihood's
    arguments: times `design` they are against the core. The other parts are one number per judge.
    `sharpness_residual` and `threshold_residual` are to be added to the diagonals: their mean is
    zero at the truth, but a judge with few answers may have more of them than of the rest.
    """

    core: Floats
    design: Floats
    sharpness_rows: Floats
    threshold_rows: Floats
    sharpness_diagonal: Floats
    threshold_diagonal: Floats
    sharpness_threshold: Floats
    sharpness_residual: Floats
    threshold_residual: Floats

    def eliminate_judges(
        self, sharpness_precision: float, threshold_precision: float
    ) -> ArrowheadHessian:
        """The Schur complements after eliminating thresholds, and then sharpnesses.

        The arguments are prior precisions; they are not added to the diagonals in the result.
        """
        judges = max(len(self.sharpness_rows), len(self.threshold_rows))
        if not judges:
            return self
        # Of many judges there are always two parts, however many threads there are.
        middle = judges // 2 if judges >= MANY_JUDGES else judges
        parts = [slice(0, middle), slice(middle, judges)][: 1 + (middle < judges)]
        eliminate = partial(self._eliminate, sharpness_precision, threshold_precision)
        with ThreadPoolExecutor(len(parts)) as pool:
            reduced = list(pool.map(eliminate, parts))
        subtracted = np.asarray(sum(part.subtracted for part in reduced), np.float64)
        core = self.core - self.design.T @ subtracted @ self.design
        own = (part[1:] for part in reduced)
        rows, sharpness, threshold = map(np.concatenate, zip(*own, strict=True))
        return self._replace(
            core=core,
            sharpness_rows=rows,
            sharpness_diagonal=sharpness,
            threshold_diagonal=threshold,
        )

    def _eliminate(
        self, sharpness_precision: float, threshold_precision: float, own: slice
    ) -> ReducedJudges:
        """The same for some of the judges."""
        rows, cross = self.sharpness_rows[own], self.sharpness_threshold[own]
        # Residuals may use up a part of the prior's precision, not all of it: the whole must stay
        # positive definite.
        sharpness = self.sharpness_diagonal[own] + np.maximum(
            self.sharpness_residual[own], (MIN_SHARE - 1) * sharpness_precision
        )
        threshold = self.threshold_diagonal[own] + np.maximum(
            self.threshold_residual[own], (MIN_SHARE - 1) * threshold_precision
        )
        subtracted = np.zeros((len(self.design), len(self.design)))
        if len(self.threshold_rows):
            precision = threshold + threshold_precision
            subtracted += _weighted_gram(self.threshold_rows[own], precision)
            if len(self.sharpness_rows):
                rows = rows - (cross / precision)[:, None] * self.threshold_rows[own]
                sharpness = sharpness - cross**2 / precision
        if len(self.sharpness_rows):
            subtracted += _weighted_gram(rows, sharpness + sharpness_precision)
        return ReducedJudges(subtracted, rows, sharpness, threshold)


class ReducedJudges(NamedTuple):
    """What eliminating judges subtracts between arguments, and their rows and diagonals then."""

    subtracted: Floats
    sharpness_rows: Floats
    sharpness: Floats
    threshold: Floats


def _weighted_gram(rows: Floats, precision: Floats) -> Floats:
    """Σ rowᵀ row / precision, with one half of it computed."""
    from scipy.linalg.blas import dsyrk

    scaled = rows / np.sqrt(precision)[:, None]
    # Transposed, the rows are in the order of LAPACK, and are not copied.
    upper = dsyrk(1.0, scaled.T)
    out: Floats = upper + np.triu(upper, 1).T
    return out


def arrowhead_hessian(
    posterior: HierarchicalPosterior, arguments: LikelihoodArguments, t: Floats
) -> ArrowheadHessian:
    """The arrowhead at a point of one chain; positive definite once priors are added."""
    has_shifts = posterior.matrices.shift.shape[1] > 0
    hessian = posterior.likelihood.negative_hessian(arguments, with_shift=has_shifts)
    by = posterior.likelihood.gradient(arguments)
    shape = (posterior.likelihood.levels, posterior.likelihood.strata)
    tie = arguments.tie[:, 0].reshape(shape)
    by_log_tie = by.tie[:, 0].reshape(shape) * tie
    at = posterior.constrain_ties(t)
    by_log, expected = _by_log_thresholds(hessian.tie_tie, tie, by_log_tie)
    log_tie_by_t = np.array([float(own.by_t[0] / own.tie[0]) for own in at])
    rows = _rows(posterior, hessian, tie, by_log, log_tie_by_t)
    core = _core(posterior, hessian, rows, log_tie_by_t)
    if posterior.anchors is not None:
        qualities = posterior.argument_matrix[: len(arguments.quality)]
        core += posterior.anchors.curvature(arguments.quality[:, 0], qualities)
    for k, (step, prior) in enumerate(posterior.inferred_ties):
        last = len(core) - len(at) + k
        core[last, last] = _tie_diagonal(prior, at[k], by_log[step, step], by_log_tie[step])
    design, none = posterior.argument_matrix, np.empty(0)
    empty = np.empty((0, len(design)))
    sharpness: tuple[Floats, ...] = (empty, none, none)
    threshold, cross = sharpness, none
    relative, terms = posterior.design.relative, posterior.design
    if posterior.has_sharpness:
        parts = rows.sharpness, hessian.sharpness_sharpness, -by.log_sharpness[:, 0]
        sharpness = tuple(relative(terms.sharpness, part) for part in parts)
    if posterior.has_thresholds:
        parts = rows.tie.sum(axis=0), expected.sum(axis=(0, 1)), -by_log_tie.sum(axis=0)
        threshold = tuple(relative(terms.thresholds, part) for part in parts)
    if posterior.has_sharpness and posterior.has_thresholds:
        cross = relative(terms.sharpness, (hessian.sharpness_tie * tie).sum(axis=0))
        cross = relative(terms.thresholds, cross)
    return ArrowheadHessian(
        core, design, sharpness[0], threshold[0], sharpness[1], threshold[1], cross,
        sharpness[2], threshold[2],
    )  # fmt: skip


def _by_log_thresholds(tie_tie: Floats, tie: Floats, by_log_tie: Floats) -> tuple[Floats, Floats]:
    """Minus second derivatives by logarithms of thresholds (steps, steps, strata), twice.

    With what has mean zero at the truth, bounded away from zero; and without it.
    """
    expected = tie_tie * tie[:, None] * tie
    out, step = expected.copy(), np.arange(len(tie))
    diagonal = expected[step, step]
    out[step, step] = np.maximum(diagonal - by_log_tie, MIN_SHARE * diagonal)
    return out, expected


def _rows(
    posterior: HierarchicalPosterior,
    hessian: StrataHessian,
    tie: Floats,
    by_log: Floats,
    log_tie_by_t: Floats,
) -> StrataHessian:
    """Second derivatives of a stratum's shift, log sharpness and log thresholds with arguments.

    Arguments are qualities, advantages, and unconstrained thresholds. Those of thresholds have the
    steps of graded answers in front.
    """
    matrices, steps = posterior.matrices, [step for step, _ in posterior.inferred_ties]

    def with_arguments(
        quality: Floats, shift: Floats, log_tie: Floats, facts: Floats | None
    ) -> Floats:
        by_t = (log_tie_by_t[:, None] * log_tie[steps]).T
        advantages = shift[:, None] * matrices.shift if facts is None else facts
        return np.concatenate([quality, advantages, by_t], axis=1)

    shift = np.empty((0, 0))
    if matrices.shift.shape[1]:
        shift = with_arguments(hessian.shift, hessian.shift_shift, hessian.shift_tie * tie, None)
    facts = hessian.facts
    thresholds = [
        with_arguments(
            hessian.tie[k] * own[:, None], hessian.shift_tie[k] * own, by_log[k],
            None if facts is None else facts.tie[k] * own[:, None],
        )
        for k, own in enumerate(tie)
    ]  # fmt: skip
    return hessian._replace(
        shift=shift,
        sharpness=with_arguments(
            hessian.sharpness,
            hessian.shift_sharpness,
            hessian.sharpness_tie * tie,
            None if facts is None else facts.sharpness,
        ),
        tie=np.stack(thresholds),
    )


def _core(
    posterior: HierarchicalPosterior,
    hessian: StrataHessian,
    rows: StrataHessian,
    log_tie_by_t: Floats,
) -> Floats:
    """The core's block: items from Laplacians, advantages and thresholds from strata."""
    design, items = posterior.argument_matrix, posterior.offsets[len(posterior.item_layers)]
    out = np.empty((design.shape[1], design.shape[1]))
    out[:items, :items] = _items(posterior, hessian.laplacians)
    advantages = slice(items, posterior.offsets[-1])
    if len(rows.shift):
        out[advantages] = posterior.matrices.shift.T @ rows.shift @ design
        out[:, advantages] = out[advantages].T
    if (facts := hessian.facts) is not None:
        with_ties = np.zeros((len(facts.facts), len(log_tie_by_t)))  # they follow, below
        out[advantages] = np.concatenate([facts.quality, facts.facts, with_ties], 1) @ design
        out[:, advantages] = out[advantages].T
    for k, (step, _) in enumerate(posterior.inferred_ties):
        last = posterior.offsets[-1] + k
        out[last] = log_tie_by_t[k] * rows.tie[step].sum(axis=0) @ design
        out[:, last] = out[last]
    return out


def _items(posterior: HierarchicalPosterior, laplacians: Floats) -> Floats:
    """Second derivatives between layers of items: Σ over groups of weights ⊗ basisᵀ L basis."""
    bases, columns = _joined_bases(posterior)
    layers, offsets = posterior.item_layers, posterior.offsets
    size = offsets[len(layers)]
    out = np.zeros((size, size))
    for g, laplacian in enumerate(laplacians):
        inner = bases.T @ (laplacian @ bases)
        for k, one in enumerate(layers):
            for m, two in enumerate(layers):
                assert one.group_weights is not None
                assert two.group_weights is not None
                weights = np.outer(one.group_weights[g], two.group_weights[g])
                block = out[offsets[k] : offsets[k + 1], offsets[m] : offsets[m + 1]]
                block += np.kron(weights, inner[columns[k], columns[m]])
    return out


def _joined_bases(posterior: HierarchicalPosterior) -> tuple[Floats, list[slice]]:
    """The bases of layers side by side, equal ones once, and the columns of each layer."""
    bases: list[Floats] = []
    columns_by_id: dict[int, slice] = {}
    columns, end = [], 0
    for layer in posterior.item_layers:
        assert layer.basis is not None
        if id(layer.basis) not in columns_by_id:
            columns_by_id[id(layer.basis)] = slice(end, end + layer.basis.shape[1])
            bases.append(layer.basis)
            end += layer.basis.shape[1]
        columns.append(columns_by_id[id(layer.basis)])
    return bases[0] if len(bases) == 1 else np.concatenate(bases, axis=1), columns


def _tie_diagonal(
    prior: UnconstrainedTie, at: ConstrainedTie, own: Floats, by_log_tie: Floats
) -> float:
    """Minus the second derivative by an unconstrained threshold, bounded away from zero."""
    tie, by_t, twice = (float(part[0]) for part in (at.tie, at.by_t, at.by_t_twice))
    expected = float(own.sum()) * (by_t / tie) ** 2
    second, first = float(-prior.second_derivative(at.tie)[0]), float(prior.derivative(at.tie)[0])
    of_prior = second * by_t**2 - first * twice
    of_prior -= float(at.log_jacobian_by_t_twice[0])
    rest = of_prior - float(by_log_tie.sum()) * (twice / tie - (by_t / tie) ** 2)
    return max(expected + rest, MIN_SHARE * expected + 1e-3)


def newton_step(
    posterior: HierarchicalPosterior,
    hessian: ArrowheadHessian,
    log_scales: Floats,
    gradient: CoordinateBlocks,
) -> tuple[Floats, float]:
    """Newton step for a gradient, and the log determinant of the Hessian with the priors added."""
    from scipy.linalg import cho_solve

    precisions, design = np.exp(-2 * log_scales), hessian.design
    sharpness_precision, threshold_precision = judge_precisions(posterior, precisions)
    reduced = hessian.eliminate_judges(sharpness_precision, threshold_precision)
    by_core = np.concatenate([gradient.core[:, 0], gradient.unconstrained_tie[:, 0]])
    by_sharpness, by_threshold = gradient.sharpness[:, 0], gradient.threshold[:, 0]
    sharpness = reduced.sharpness_diagonal + sharpness_precision
    threshold = reduced.threshold_diagonal + threshold_precision
    if posterior.has_thresholds:
        by_core = by_core - design.T @ (hessian.threshold_rows.T @ (by_threshold / threshold))
        if posterior.has_sharpness:
            by_sharpness = by_sharpness - hessian.sharpness_threshold * by_threshold / threshold
    if posterior.has_sharpness:
        by_core = by_core - design.T @ (reduced.sharpness_rows.T @ (by_sharpness / sharpness))
    core = reduced.core.copy()
    for k, precision in enumerate(precisions[: len(posterior.core)]):
        diagonal = np.arange(posterior.offsets[k], posterior.offsets[k + 1])
        core[diagonal, diagonal] += precision
    factor = cholesky(core.copy)
    step = cho_solve(factor, by_core, check_finite=False)
    of_arguments = design @ step
    steps, log_determinant = [step], 2 * float(np.log(np.diag(factor[0])).sum())
    if posterior.has_sharpness:
        steps.append((by_sharpness - reduced.sharpness_rows @ of_arguments) / sharpness)
        log_determinant += float(np.log(sharpness).sum())
    if posterior.has_thresholds:
        rest = by_threshold - hessian.threshold_rows @ of_arguments
        if posterior.has_sharpness:
            rest = rest - hessian.sharpness_threshold * steps[1]
        steps.append(rest / threshold)
        log_determinant += float(np.log(threshold).sum())
    return np.concatenate(steps), log_determinant


def judge_precisions(posterior: HierarchicalPosterior, precisions: Floats) -> tuple[float, float]:
    """Prior precisions of sharpnesses and thresholds, 0 where there are none."""
    names = [layer.name for layer in posterior.layers]
    by_name = {name: float(precision) for name, precision in zip(names, precisions, strict=True)}
    return by_name.get("sharpness", 0.0), by_name.get("threshold", 0.0)
