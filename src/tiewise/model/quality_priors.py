"""Priors of quality: Gaussian, each with a factor F of its covariance, λ ~ N(0, α² F Fᵀ)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.errors import InputError
from tiewise.model import QUALITY_PRIORS
from tiewise.registry import load

if TYPE_CHECKING:
    from tiewise.geo.item_context import ItemContext

Floats = NDArray[np.float64]

# Below this share of the largest eigenvalue an eigenvalue counts as zero.
RANK_TOLERANCE = 1e-10
# A covariance worse conditioned than this is worked with through its factor alone.
INVERTIBLE = 1e10
DENSE_ITEMS = 1500
"""Items up to which matrices of items by items are written out wherever there is another way."""
NOT_SYMMETRIC = "the {} is not symmetric; give the same value for (i, j) and (j, i)"


class QualityPrior(Protocol):
    """A Gaussian prior of qualities, up to the common variance α²."""

    @property
    def items(self) -> tuple[str, ...] | None:
        """The items it is about, or None for whatever items there are."""

    def factor(self, size: int) -> Floats | None:
        """F (items, rank) with covariance F Fᵀ; None stands for the identity."""

    def coordinates(self, quality: Floats) -> Floats:
        """y with quality = F y."""

    def precision(self, size: int) -> Floats | None:
        """The inverse covariance where it can be trusted; None where only F can."""

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data: its `kind`, and figures that say more.

        Of a kind that is not in the registry, `text` is a line for reports.
        """


class RegisteredPrior(QualityPrior, Protocol):
    """A prior of quality that is known by name (`tiewise.model.QUALITY_PRIORS`)."""

    kind: ClassVar[str]
    meaning: ClassVar[str]
    """What it makes of Σ, in the words of the report."""
    takes: ClassVar[frozenset[str]]
    """Which of `matrix`, `reach` and `share` it is built from."""

    @classmethod
    def from_context(cls, context: ItemContext, **options: Any) -> QualityPrior:
        """The prior for items of which this is known; `reach` or `share` where it takes one."""

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports, from what `to_dict` gave."""


def quality_prior_class(kind: str) -> type[RegisteredPrior]:
    """The class that the registry has under this name."""
    registered: type[RegisteredPrior] = load(QUALITY_PRIORS[kind])
    return registered


def describe_quality_prior(facts: Mapping[str, Any]) -> str:
    """A line for reports about a prior of quality, from what its `to_dict` gave."""
    if facts["kind"] not in QUALITY_PRIORS:
        return str(facts.get("text", facts["kind"]))
    return quality_prior_class(facts["kind"]).describe(facts)


@dataclass(frozen=True)
class Independent:
    """Every item on its own: Σ = I."""

    kind: ClassVar[str] = "independent"
    meaning: ClassVar[str] = "Σ is the identity: each item on its own"
    takes: ClassVar[frozenset[str]] = frozenset()

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

    @classmethod
    def from_context(cls, context: ItemContext) -> Independent:
        """The prior for items of which this is known."""
        return cls(context.items)

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {"kind": self.kind}

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports."""
        return "independent qualities"


class SpectralPrior:
    """A covariance known through eigenvectors V and eigenvalues w of some scaling of it."""

    items: tuple[str, ...]

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Scale s, eigenvectors V and eigenvalues w, so that Σ = diag(s) V diag(w) Vᵀ diag(s)."""
        raise NotImplementedError  # pragma: no cover

    # Cached, because models of one prior and ever more judgements share it. Eigenvectors are not
    # kept beside the factor: they are V = diag(s)⁻¹ F diag(w)^{−½}.

    @cached_property
    def _decomposition(self) -> tuple[Floats, Floats, Floats]:
        """Scale s, factor F and eigenvalues w."""
        return _decompose(*self._spectrum())

    def factor(self, size: int) -> Floats:
        """F (items, rank) with Σ = F Fᵀ."""
        return self._decomposition[1]

    def coordinates(self, quality: Floats) -> Floats:
        """y with quality = F y."""
        scale, factor, values = self._decomposition
        out: Floats = factor.T @ (quality / scale**2) / values
        return out

    def precision(self, size: int) -> Floats | None:
        """Σ⁻¹, or None where Σ is singular or nearly so; computed anew, and not kept."""
        scale, factor, values = self._decomposition
        if len(values) < len(scale) or values.max() > INVERTIBLE * values.min():
            return None
        half = factor / values / scale[:, None] ** 2
        out: Floats = half @ half.T
        return out

    def covariance(self) -> Floats:
        """Σ, written out."""
        F = self.factor(len(self.items))
        out: Floats = F @ F.T
        return out


def _decompose(scale: Floats, vectors: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale, factor and eigenvalues without the directions that have no variance to speak of."""
    # Eigenvalues come in order, so the large ones stand together: a view, not a copy.
    large = np.flatnonzero(values > RANK_TOLERANCE * values.max())
    span = slice(large[0], large[-1] + 1)
    kept = values[span]
    return scale, np.ascontiguousarray(scale[:, None] * vectors[:, span] * np.sqrt(kept)), kept


@dataclass(frozen=True, eq=False)
class Covariance(SpectralPrior):
    """A covariance as given; `rescale=True` divides it to unit variances first.

    Its factor is kept and the matrix itself is not: of a thousand items each takes 8 MB.
    """

    kind: ClassVar[str] = "covariance"
    meaning: ClassVar[str] = "Σ as it was given"
    takes: ClassVar[frozenset[str]] = frozenset({"matrix"})

    matrix: InitVar[ArrayLike]
    items: tuple[str, ...]
    rescale: bool = field(default=False, kw_only=True)

    def __post_init__(self, matrix: ArrayLike) -> None:
        square = _square(matrix, self.items, "covariance")
        if self.rescale:
            if not (np.diag(square) > 0).all():
                raise InputError("rescale needs positive variances on the covariance's diagonal")
            unit = 1.0 / np.sqrt(np.diag(square))
            square = unit[:, None] * square * unit
        values, vectors = np.linalg.eigh(square)
        lowest, highest = values[[0, -1]]
        if highest <= 0 <= lowest:
            raise InputError("the covariance is 0 everywhere: all qualities would be equal")
        if lowest < -RANK_TOLERANCE * highest:
            raise InputError(
                f"the covariance is not positive semi-definite (its smallest eigenvalue is "
                f"{lowest:.3g}); a covariance of real quantities cannot be: check its source"
            )
        self.__dict__["_decomposition"] = _decompose(np.ones(len(values)), vectors, values)

    @classmethod
    def from_context(cls, context: ItemContext) -> Covariance:
        """The prior for items of which this is known."""
        return cls(*_matrix(context, cls.kind))

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {"kind": self.kind, "rescale": self.rescale}

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports."""
        return "covariance as given" + (", rescaled to unit variances" if facts["rescale"] else "")


@dataclass(frozen=True, eq=False)
class Precision(SpectralPrior):
    """An inverse covariance as given, dense or sparse; of many items it stays sparse.

    A singular one says nothing of some direction and is refused, unless that direction is the
    common level and `sum_to_zero=True` states it: qualities then sum to zero by construction.
    """

    kind: ClassVar[str] = "precision"
    meaning: ClassVar[str] = "Σ is the inverse of the matrix that was given"
    takes: ClassVar[frozenset[str]] = frozenset({"matrix"})

    matrix: Any = field(repr=False)
    items: tuple[str, ...]
    sum_to_zero: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.is_large:
            square = _sparse_square(self.matrix, self.items, sum_to_zero=self.sum_to_zero)
            object.__setattr__(self, "matrix", square)
            return
        square = self.matrix.toarray() if hasattr(self.matrix, "toarray") else self.matrix
        object.__setattr__(self, "matrix", _square(square, self.items, "precision"))
        lowest, highest = self._spectrum()[2][[0, -1]] ** -1.0
        if lowest <= RANK_TOLERANCE * highest:
            raise InputError(
                f"the precision is singular or indefinite (eigenvalues from {lowest:.3g} to "
                f"{highest:.3g}); give a positive definite one, or state sum_to_zero=True "
                "if only the common level is free"
            )

    @property
    def is_large(self) -> bool:
        """Whether it is of too many items for a matrix of items by items to be written out."""
        return len(self.items) > DENSE_ITEMS

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        if self.is_large:
            raise InputError(
                f"a precision of {len(self.items):,} items has no factor that fits in memory; "
                "use transport, which needs none, and a model without terms"
            )
        square = np.asarray(self.matrix)
        if self.sum_to_zero:
            level = np.full((len(square), 1), 1.0 / np.sqrt(len(square)))
            flat = square - level @ (level.T @ square)
            flat -= (flat @ level) @ level.T
            values, vectors = np.linalg.eigh(flat + level @ level.T * np.abs(square).sum())
            values, vectors = values[:-1], vectors[:, :-1]
        else:
            values, vectors = np.linalg.eigh(square)
        with np.errstate(divide="ignore"):
            return np.ones(len(square)), vectors, 1.0 / values

    @classmethod
    def from_context(cls, context: ItemContext) -> Precision:
        """The prior for items of which this is known."""
        return cls(*_matrix(context, cls.kind))

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {"kind": self.kind, "sum_to_zero": self.sum_to_zero}

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports."""
        return "precision as given" + (", qualities sum to zero" if facts["sum_to_zero"] else "")


def _matrix(context: ItemContext, kind: str) -> tuple[Floats, tuple[str, ...]]:
    if context.matrix is None:
        raise InputError(f"a {kind} prior needs its matrix: give matrix=FILE")
    return context.matrix


def _square(matrix: Any, items: Sequence[str], what: str) -> Floats:
    square = np.asarray(matrix, float)
    if square.shape != (len(items), len(items)):
        raise InputError(
            f"a {what} for {len(items)} items is {len(items)} square, not {square.shape}"
        )
    if not np.isfinite(square).all():
        raise InputError(f"the {what} holds values that are not finite numbers")
    if not np.allclose(square, square.T, rtol=1e-8, atol=1e-10 * np.abs(square).max()):
        raise InputError(NOT_SYMMETRIC.format(what))
    return square if np.array_equal(square, square.T) else (square + square.T) / 2


# Sparse precisions of many items, checked without writing them out.


def _sparse_square(matrix: Any, items: Sequence[str], *, sum_to_zero: bool) -> Any:
    """A precision as a compressed sparse matrix, refused where it is not one."""
    from scipy.sparse import csr_array

    square = csr_array(matrix, dtype=float)
    if square.shape != (len(items), len(items)):
        raise InputError(
            f"a precision for {len(items)} items is {len(items)} square, not {square.shape}"
        )
    if not np.isfinite(square.data).all():
        raise InputError("the precision holds values that are not finite numbers")
    apart = abs(square - square.T)
    if apart.nnz and apart.max() > 1e-8 * abs(square).max():
        raise InputError(
            "the precision is not symmetric; give the same value for (i, j) and (j, i)"
        )
    _refuse_indefinite(square, sum_to_zero=sum_to_zero)
    return square


def _refuse_indefinite(square: Any, *, sum_to_zero: bool) -> None:
    """Raise InputError unless pivots are positive, but for one where the level is free."""
    sums = np.abs(np.asarray(square.sum(axis=1)))
    level_is_free = sum_to_zero and sums.max() <= 1e-10 * np.abs(square.diagonal()).max()
    part = square[1:, 1:] if level_is_free else square
    if (square.diagonal() > 0).all() and _positive_pivots(part):
        return
    raise InputError(
        "the precision is singular or indefinite; give a positive definite one, or state "
        "sum_to_zero=True if only the common level is free"
    )


def _positive_pivots(square: Any) -> bool:
    """Whether elimination meets positive pivots only, none of them next to 0."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    try:
        factor = splu(
            csc_array(square), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )  # fmt: skip
    except RuntimeError:  # exactly singular
        return False
    pivots = factor.U.diagonal()
    return bool(pivots.min() > 1e-10 * pivots.max())
