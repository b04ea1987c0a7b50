"""Priors of quality on a map: neighbours are alike, or areas that lie close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.geo.graph_exponential import GraphExponential as GraphExponential
from tiewise.model.quality_priors import DENSE_ITEMS, RANK_TOLERANCE, Precision, SpectralPrior

if TYPE_CHECKING:
    from tiewise.geo.item_context import ItemContext

Floats = NDArray[np.float64]


class Mixture(NamedTuple):
    """A correlation R = E diag(r) Eᵀ whose share ρ is inferred: Σ = ρ R + (1 − ρ) I.

    R and I have the same eigenvectors, so that Σ is E diag(ρ r + 1 − ρ) Eᵀ for every ρ.
    """

    vectors: Floats
    values: Floats

    def variances(self, share: ArrayLike) -> Floats:
        """ρ r + 1 − ρ: eigenvalues of Σ, (directions) or (directions, shares)."""
        own: Floats = np.asarray(share, float)
        return np.multiply.outer(self.values - 1.0, own) + 1.0

    def precision(self, share: float) -> Floats:
        """Σ⁻¹ at a share below 1."""
        out: Floats = (self.vectors / self.variances(share)) @ self.vectors.T
        return out

    @property
    def unevenness(self) -> float:
        """t = tr(C R C)/(N − 1), C the centring matrix: the variance of differences under R.

        Independent qualities have 1, a complete graph nearly 0: there ρ and α tell the same tale.
        """
        size = len(self.values)
        level = self.vectors.sum(axis=0) ** 2 @ self.values / size
        return float((self.values.sum() - level) / (size - 1))

    def share_of_map(self, share: Floats) -> Floats:
        """ρt / (ρt + 1 − ρ): how much of the differences between items follows the map."""
        t = self.unevenness
        out: Floats = share * t / (share * t + 1.0 - share)
        return out


def share_of(tau: ArrayLike) -> Floats:
    """ρ = 1 / (1 + e^{−τ})."""
    out: Floats = 0.5 * (1 + np.tanh(np.asarray(tau, float) / 2))
    return out


def log_share_prior(tau: Floats) -> Floats:
    """Log density of τ where ρ is uniform."""
    out: Floats = -np.abs(tau) - 2 * np.log1p(np.exp(-np.abs(tau)))
    return out


@dataclass(frozen=True)
class Network(SpectralPrior):
    """Neighbours are alike: Σ = ρ R + (1 − ρ) I, R = D^{-1/2} e^A D^{-1/2}, D = diag(e^A).

    A says who borders whom. `share` is ρ, inferred with a uniform prior where it is None; 1 is the
    prior of the paper. Where ρ is inferred, `factor` is that of the covariance averaged over it.
    """

    kind: ClassVar[str] = "network"
    meaning: ClassVar[str] = "Σ = D^−½ e^A D^−½, with A who borders whom and D the diagonal of e^A"
    takes: ClassVar[frozenset[str]] = frozenset({"share"})

    graph: Graph
    share: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 1:
            raise InputError(
                f"share must be between 0 and 1, or None to infer it, not {self.share!r}"
            )

    @property
    def items(self) -> tuple[str, ...]:  # type: ignore[override]
        """The items of the graph."""
        return self.graph.items

    @property
    def mixture(self) -> Mixture | None:
        """The correlation whose share is inferred; None where it is fixed, or nothing borders."""
        inferred = self.share is None and len(self.graph.edges) > 0
        return self.correlation if inferred else None

    @cached_property
    def correlation(self) -> Mixture:
        """Eigenpairs of R, component by component; an island has R = 1."""
        size = len(self.items)
        position = {item: k for k, item in enumerate(self.items)}
        vectors, values, column = np.zeros((size, size)), np.empty(size), 0
        adjacency = self.graph.adjacency()
        for part in self.graph.components():
            own = np.array([position[item] for item in part])
            block = _normalised_exponential(adjacency[own][:, own].toarray())
            columns = np.arange(column, column + len(own))
            values[columns], vectors[np.ix_(own, columns)] = np.linalg.eigh(block)
            column += len(own)
        order = np.argsort(values, kind="stable")
        return Mixture(np.ascontiguousarray(vectors[:, order]), values[order].clip(0.0))

    @cached_property
    def exponential(self) -> GraphExponential:
        """Products with e^{A/2}, without any matrix of items by items."""
        return GraphExponential(self.graph)

    def at(self, share: float) -> Network:
        """The same with its share held at a value; what was computed for the map is kept."""
        held = Network(self.graph, share=share)
        held.__dict__["correlation"] = self.correlation
        return held

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        if self.share == 1:
            values, vectors = np.linalg.eigh(self.graph.adjacency().toarray())
            if values[0] - values[-1] > np.log(RANK_TOLERANCE):
                exponentials = np.exp(values)
                return 1.0 / np.sqrt((vectors**2) @ exponentials), vectors, exponentials
        # A cut relative to the largest eigenvalue of e^A would take sparse parts beside dense
        # ones: what is cut is the correlation.
        mixture = self.correlation
        share = 0.5 if self.share is None else self.share
        return np.ones(len(self.items)), mixture.vectors, mixture.variances(share)

    @classmethod
    def from_context(cls, context: ItemContext, *, share: float | None = None) -> Network:
        """The prior for items of which this is known."""
        if context.graph is None:
            raise InputError("a network prior needs neighbours: give areas= or edges=")
        return cls(context.graph, share=share)

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {"kind": self.kind, "borders": len(self.graph.edges), "share": self.share}

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports."""
        text = f"network: matrix exponential of {facts['borders']} borders, unit variances"
        share = facts.get("share", 1.0)
        if share is None:
            return f"{text}, mixed with independent qualities in a share that is inferred"
        return text if share == 1 else f"{text}, a share of {share:g}; the rest independent"


def _normalised_exponential(adjacency: Floats) -> Floats:
    """D^{-1/2} e^A D^{-1/2} with D = diag(e^A)."""
    values, vectors = np.linalg.eigh(adjacency)
    half = vectors * np.exp((values - values[-1]) / 2)
    half /= np.sqrt((half**2).sum(axis=1, keepdims=True))
    out: Floats = half @ half.T
    return out


def icar(graph: Graph) -> Precision:
    """The intrinsic autoregression: differences of neighbours are independent, N(0, α²) each.

    Qualities sum to zero; the graph must be in one piece. Sparse, whatever the number of items.
    """
    from scipy.sparse import diags_array

    adjacency = graph.adjacency()
    degree = diags_array(np.asarray(adjacency.sum(axis=1), float))
    return Precision(degree - adjacency, graph.items, sum_to_zero=True)


COVARIANCE_FUNCTIONS = {
    "exponential": lambda u: np.exp(-u),
    "matern32": lambda u: (1 + np.sqrt(3) * u) * np.exp(-np.sqrt(3) * u),
    "matern52": lambda u: (1 + np.sqrt(5) * u + 5 * u**2 / 3) * np.exp(-np.sqrt(5) * u),
}


@dataclass(frozen=True, eq=False)
class Distance(SpectralPrior):
    """Areas are alike that lie close: correlation falls with distance between their centroids.

    `reach` is the distance, in the unit of the places (metres for areas), of the covariance
    function's own scale: at that distance the exponential's correlation is 1/e. Left out, it is
    twice the typical distance to the nearest other place.
    """

    kind: ClassVar[str] = "distance"
    meaning: ClassVar[str] = "Σ falls with the distance between centroids"
    takes: ClassVar[frozenset[str]] = frozenset({"reach"})

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
        if self.shape not in COVARIANCE_FUNCTIONS:
            known = ", ".join(COVARIANCE_FUNCTIONS)
            raise InputError(f"no covariance function {self.shape!r}; there are {known}")
        object.__setattr__(self, "places", places)
        reach = 2 * self._typical_step() if self.reach is None else self.reach
        if not reach > 0:
            raise InputError(f"reach must be a positive distance, not {reach!r}")
        object.__setattr__(self, "reach", float(reach))

    def _distances(self) -> Floats:
        from scipy.spatial.distance import cdist

        places = np.asarray(self.places, float)
        return cdist(places, places)

    def _typical_step(self) -> float:
        if len(self.items) > DENSE_ITEMS:
            from scipy.spatial import KDTree

            places = np.asarray(self.places, float)
            nearest = np.asarray(KDTree(places).query(places, k=2)[0])
            return float(np.median(nearest[:, 1]))
        distances = self._distances()
        np.fill_diagonal(distances, np.inf)
        return float(np.median(distances.min(axis=1))) if len(distances) > 1 else 1.0

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        assert self.reach is not None
        values, vectors = np.linalg.eigh(
            COVARIANCE_FUNCTIONS[self.shape](self._distances() / self.reach)
        )
        return np.ones(len(values)), vectors, values

    @classmethod
    def from_context(cls, context: ItemContext, *, reach: float | None = None) -> Distance:
        """The prior for items of which this is known."""
        if context.areas is None:
            raise InputError("a prior on distance needs a map: give areas=")
        return cls(context.areas.centroids(), context.areas.items, reach=reach)

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {"kind": self.kind, "shape": self.shape, "reach": self.reach}

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports."""
        return f"distance between areas: {facts['shape']} with reach {facts['reach']:.4g}"
