"""What is believed before any judgement: covariances of quality, and priors of α² and δ.

A prior of quality is a value that gives a factor F with λ ~ N(0, α² F Fᵀ). The prior of α² is
spoken of through log α, where every engine moves; the prior of the threshold δ through δ itself
and through a line coordinate t that carries (0, ∞) or a bounded interval to all of ℝ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.errors import InputError
from tiewise.geo.graph import Graph

Floats = NDArray[np.float64]

# Below this share of the largest eigenvalue an eigenvalue counts as zero.
RANK_TOLERANCE = 1e-10
# A covariance worse conditioned than this is worked with through its factor alone.
INVERTIBLE = 1e10


@runtime_checkable
class Prior(Protocol):
    """A Gaussian belief about qualities, up to the common variance α²."""

    @property
    def items(self) -> tuple[str, ...] | None:
        """The items it speaks of, or None for whatever items there are."""

    def factor(self, size: int) -> Floats | None:
        """F (items, rank) with covariance F Fᵀ; None stands for the identity."""

    def coordinates(self, quality: Floats) -> Floats:
        """y with quality = F y."""

    def precision(self, size: int) -> Floats | None:
        """The inverse covariance where it can be trusted; None where only F can."""

    def describe(self) -> str:
        """One line for reports."""


@dataclass(frozen=True)
class Independent:
    """Every item on its own: Σ = I."""

    items: tuple[str, ...] | None = None

    def factor(self, size: int) -> None:
        """The identity."""
        return

    def coordinates(self, quality: Floats) -> Floats:
        """The qualities themselves."""
        return quality

    def precision(self, size: int) -> Floats:
        """The identity, written out."""
        return np.eye(size)

    def describe(self) -> str:
        """One line for reports."""
        return "independent qualities"


class _Spectral:
    """A covariance known through eigenvectors V and eigenvalues w of some scaling of it."""

    items: tuple[str, ...]

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Scale s, eigenvectors V and eigenvalues w, so that Σ = diag(s) V diag(w) Vᵀ diag(s)."""
        raise NotImplementedError  # pragma: no cover

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats, Floats]:
        scale, vectors, values = self._spectrum()
        # Eigenvalues come in order, so those kept stand together: a view, not a copy.
        kept = np.flatnonzero(values > RANK_TOLERANCE * values.max())
        some = slice(kept[0], kept[-1] + 1)
        return scale, vectors[:, some], values[some]

    # Kept: models of one prior and ever more judgements share them.

    @cached_property
    def _factor(self) -> Floats:
        scale, vectors, values = self._pieces
        return np.ascontiguousarray(scale[:, None] * vectors * np.sqrt(values))

    @cached_property
    def _precision(self) -> Floats | None:
        scale, vectors, values = self._pieces
        if len(values) < len(scale) or values.max() > INVERTIBLE * values.min():
            return None
        half = vectors / np.sqrt(values) / scale[:, None]
        out: Floats = half @ half.T
        return out

    def factor(self, size: int) -> Floats:
        """F (items, rank) with Σ = F Fᵀ."""
        return self._factor

    def coordinates(self, quality: Floats) -> Floats:
        """y with quality = F y."""
        scale, vectors, values = self._pieces
        out: Floats = vectors.T @ (quality / scale) / np.sqrt(values)
        return out

    def precision(self, size: int) -> Floats | None:
        """Σ⁻¹, or None where Σ is singular or nearly so."""
        return self._precision

    def covariance(self) -> Floats:
        """Σ, written out."""
        F = self.factor(len(self.items))
        out: Floats = F @ F.T
        return out


@dataclass(frozen=True)
class Network(_Spectral):
    """Neighbours are alike: Σ = D^{-1/2} e^A D^{-1/2}, with A who borders whom, D = diag(e^A)."""

    graph: Graph

    @property
    def items(self) -> tuple[str, ...]:  # type: ignore[override]
        """The items of the graph."""
        return self.graph.items

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        values, vectors = np.linalg.eigh(self.graph.adjacency().toarray())
        grown = np.exp(values)
        scale = 1.0 / np.sqrt((vectors**2) @ grown)
        return scale, vectors, grown

    def describe(self) -> str:
        """One line for reports."""
        return f"network: matrix exponential of {len(self.graph.edges)} borders, unit variances"


@dataclass(frozen=True, eq=False)
class Covariance(_Spectral):
    """A covariance as given; `rescale=True` divides it to unit variances first."""

    matrix: ArrayLike = field(repr=False)
    items: tuple[str, ...]
    rescale: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        given = _square(self.matrix, self.items, "covariance")
        if self.rescale:
            if not (np.diag(given) > 0).all():
                raise InputError("rescale needs positive variances on the covariance's diagonal")
            unit = 1.0 / np.sqrt(np.diag(given))
            given = unit[:, None] * given * unit
        object.__setattr__(self, "matrix", given)
        lowest, highest = self._eigen[0][[0, -1]]
        if highest <= 0 <= lowest:
            raise InputError("the covariance is 0 everywhere: all qualities would be equal")
        if lowest < -RANK_TOLERANCE * highest:
            raise InputError(
                f"the covariance is not positive semi-definite (its smallest eigenvalue is "
                f"{lowest:.3g}); a covariance of real quantities cannot be: check its source"
            )

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(np.asarray(self.matrix))
        return values, vectors

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        values, vectors = self._eigen
        return np.ones(len(values)), vectors, values

    def describe(self) -> str:
        """One line for reports."""
        return "covariance as given" + (", rescaled to unit variances" if self.rescale else "")


@dataclass(frozen=True, eq=False)
class Precision(_Spectral):
    """An inverse covariance as given, dense or sparse.

    A singular one says nothing of some direction and is refused, unless that direction is the
    common level and `sum_to_zero=True` states it: qualities then sum to zero by construction.
    """

    matrix: Any = field(repr=False)
    items: tuple[str, ...]
    sum_to_zero: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        given = self.matrix.toarray() if hasattr(self.matrix, "toarray") else self.matrix
        object.__setattr__(self, "matrix", _square(given, self.items, "precision"))
        lowest, highest = self._spectrum()[2][[0, -1]] ** -1.0
        if lowest <= RANK_TOLERANCE * highest:
            raise InputError(
                f"the precision is singular or indefinite (eigenvalues from {lowest:.3g} to "
                f"{highest:.3g}); give a positive definite one, or state sum_to_zero=True "
                "if only the common level is free"
            )

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        given = np.asarray(self.matrix)
        if self.sum_to_zero:
            level = np.full((len(given), 1), 1.0 / np.sqrt(len(given)))
            flat = given - level @ (level.T @ given)
            flat -= (flat @ level) @ level.T
            values, vectors = np.linalg.eigh(flat + level @ level.T * np.abs(given).sum())
            values, vectors = values[:-1], vectors[:, :-1]
        else:
            values, vectors = np.linalg.eigh(given)
        with np.errstate(divide="ignore"):
            return np.ones(len(given)), vectors, 1.0 / values

    def describe(self) -> str:
        """One line for reports."""
        return "precision as given" + (", qualities sum to zero" if self.sum_to_zero else "")


KERNELS = {
    "exponential": lambda u: np.exp(-u),
    "matern32": lambda u: (1 + np.sqrt(3) * u) * np.exp(-np.sqrt(3) * u),
    "matern52": lambda u: (1 + np.sqrt(5) * u + 5 * u**2 / 3) * np.exp(-np.sqrt(5) * u),
}


@dataclass(frozen=True, eq=False)
class Distance(_Spectral):
    """Areas are alike that lie close: correlation falls with distance between their centroids.

    `reach` is the distance, in the unit of the places (metres for areas), of the covariance
    function's own scale: at that distance the exponential's correlation is 1/e. Left out, it is
    twice the typical distance to the nearest other place.
    """

    places: ArrayLike = field(repr=False)
    items: tuple[str, ...]
    reach: float | None = field(default=None, kw_only=True)
    shape: str = field(default="exponential", kw_only=True)

    def __post_init__(self) -> None:
        places = np.asarray(self.places, float)
        if places.shape != (len(self.items), 2):
            raise InputError(
                f"{len(self.items)} items need as many places (x, y), not {places.shape}"
            )
        if self.shape not in KERNELS:
            raise InputError(
                f"no covariance function {self.shape!r}; there are {', '.join(KERNELS)}"
            )
        object.__setattr__(self, "places", places)
        reach = 2 * self._typical_step() if self.reach is None else self.reach
        if not reach > 0:
            raise InputError(f"reach must be a positive distance, not {reach!r}")
        object.__setattr__(self, "reach", float(reach))

    def _apart(self) -> Floats:
        from scipy.spatial.distance import cdist

        places = np.asarray(self.places, float)
        return cdist(places, places)

    def _typical_step(self) -> float:
        apart = self._apart()
        np.fill_diagonal(apart, np.inf)
        return float(np.median(apart.min(axis=1))) if len(apart) > 1 else 1.0

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        assert self.reach is not None
        values, vectors = np.linalg.eigh(KERNELS[self.shape](self._apart() / self.reach))
        return np.ones(len(values)), vectors, values

    def describe(self) -> str:
        """One line for reports."""
        return f"distance between areas: {self.shape} with reach {self.reach:.4g}"


def _square(matrix: Any, items: Sequence[str], what: str) -> Floats:
    given = np.asarray(matrix, float)
    if given.shape != (len(items), len(items)):
        raise InputError(
            f"a {what} for {len(items)} items is {len(items)} square, not {given.shape}"
        )
    if not np.isfinite(given).all():
        raise InputError(f"the {what} holds values that are not finite numbers")
    if not np.allclose(given, given.T, rtol=1e-8, atol=1e-10 * np.abs(given).max()):
        raise InputError(f"the {what} is not symmetric; give the same value for (i, j) and (j, i)")
    return given if np.array_equal(given, given.T) else (given + given.T) / 2
