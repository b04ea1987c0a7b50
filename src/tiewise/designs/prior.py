"""DesignPrior: what is assumed of qualities and answers before the first of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.model.anchors.anchors import Anchors
from tiewise.model.quality_priors import QualityPrior
from tiewise.planning.answer_information import fisher_information

Floats = NDArray[np.float64]

NODES, GRID = 31, 400
ROWS = 256
"""Rows of a matrix that are worked on at a time."""
DOUBLE_PRECISION = 1500
"""Items up to which numbers have sixteen digits; beyond, seven, in half of the memory."""


def precision_for(size: int) -> type[np.floating[Any]]:
    """The numbers of matrices of so many items."""
    return np.float64 if size <= DOUBLE_PRECISION else np.float32


@dataclass(frozen=True, eq=False)
class DesignPrior:
    """Normal qualities with `mean` and `covariance`, and the `cuts` between answers, δ first."""

    mean: Floats
    covariance: NDArray[Any]
    cuts: Floats

    @classmethod
    def of(
        cls,
        prior: QualityPrior,
        items: tuple[str, ...],
        *,
        spread: float,
        cuts: Floats,
        anchors: Anchors | None = None,
    ) -> DesignPrior:
        """That of a model's own prior of quality, averaged over the share of a map."""
        factor, kind = prior.factor(len(items)), precision_for(len(items))
        mean = np.zeros(len(items))
        if factor is None:
            covariance = np.diag(np.full(len(items), spread, kind))
        else:
            scaled = (np.sqrt(spread) * factor).astype(kind)
            covariance = scaled @ scaled.T
        if anchors is not None:
            mean, covariance = _given_anchors(covariance, anchors, items)
            covariance = covariance.astype(kind, copy=False)
        return cls(mean, covariance, np.asarray(cuts, np.float64))

    def information(self) -> NDArray[Any]:
        """Expected Fisher information of an answer about each pair, averaged over qualities."""
        tell = self._tell()
        out: NDArray[Any] = np.empty_like(self.covariance)
        own = np.diag(self.covariance)
        for begin in range(0, len(own), ROWS):
            rows = slice(begin, begin + ROWS)
            square = own[rows, None] + own - 2 * self.covariance[rows]
            out[rows] = tell(self.mean[rows, None] - self.mean, np.sqrt(square.clip(0)))
        np.fill_diagonal(out, 0.0)
        return out

    def information_of(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        """`information` about these pairs alone."""
        own = np.diag(self.covariance)
        square = own[i] + own[j] - 2 * self.covariance[i, j]
        tells = self._tell()
        return tells(self.mean[i] - self.mean[j], np.sqrt(square.clip(0)))

    def _tell(self) -> Callable[[Floats, Floats], Floats]:
        """Expected information by mean and standard deviation of a difference."""
        nodes, weight = np.polynomial.hermite_e.hermegauss(NODES)
        weight = weight / weight.sum()
        if np.any(self.mean):
            return lambda gap, sd: np.sum(
                [w * fisher_information(gap + sd * z, self.cuts)
                 for z, w in zip(nodes, weight, strict=True)], axis=0,
            )  # fmt: skip
        grid = np.linspace(0.0, 2.001 * np.sqrt(np.diag(self.covariance).max()), GRID)
        table = fisher_information(grid[:, None] * nodes, self.cuts) @ weight
        return lambda _, sd: np.interp(sd, grid, table)

    def target(self, kind: str, top: int) -> NDArray[Any]:
        """T of the quantity Tλ whose total variance a design is to make small.

        "differences" has the centred qualities; "ranks" how ranks vary with qualities, averaged
        over these; "top" how being among the best does. Scaled so that tr(T Σ Tᵀ) is 1 beforehand.
        """
        out = {"differences": self._centring, "ranks": self._rank_slopes}.get(
            kind, lambda: self._top_slopes(top)
        )()
        out /= np.sqrt(np.vdot(out @ self.covariance, out))
        return out

    def _centring(self) -> NDArray[Any]:
        size = len(self.mean)
        out = np.full((size, size), -1 / size, self.covariance.dtype)
        out[np.diag_indices(size)] += 1
        return out

    def _rank_slopes(self) -> NDArray[Any]:
        """A rank changes with a difference by the density of that difference at 0."""
        own = np.diag(self.covariance)
        sd = np.sqrt((own[:, None] + own - 2 * self.covariance).clip(1e-12))
        gap = (self.mean[:, None] - self.mean).astype(sd.dtype)
        density = np.exp(-((gap / sd) ** 2) / 2) / sd
        np.fill_diagonal(density, 0.0)
        return np.asarray(np.diag(density.sum(axis=1)) - density)

    def _top_slopes(self, top: int) -> NDArray[Any]:
        """Being above the k-th best changes with an item's quality by its density there."""
        from scipy.optimize import brentq
        from scipy.stats import norm

        centred = self._centring()
        sd = np.sqrt(np.einsum("ij,ij->i", centred @ self.covariance, centred))
        mean = self.mean - self.mean.mean()
        far = float(np.abs(mean).max() + 10 * sd.max())
        edge = brentq(lambda x: norm.sf(x, mean, sd).sum() - top, -far, far)
        slopes = norm.pdf(edge, mean, sd).astype(centred.dtype)
        return np.asarray(slopes[:, None] * centred)


def _given_anchors(
    covariance: Floats, anchors: Anchors, items: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """Mean and covariance of qualities given the values of anchors, whose level is free."""
    factor = anchors.over(items)
    own, slope = factor.positions, factor.slope
    values, sd = np.asarray(anchors.values) / slope, np.asarray(anchors.sd) / slope
    differences = np.eye(len(own))[1:] - np.eye(len(own))[0]
    noise = differences @ np.diag(sd**2) @ differences.T
    with_all = differences @ covariance[own]
    inner = with_all[:, own] @ differences.T + noise
    gain = np.linalg.solve(inner, with_all).T
    return gain @ (differences @ values), covariance - gain @ with_all
