"""The prior of quality by distance: areas that lie close are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.errors import InputError
from tiewise.model.quality_priors import SpectralPrior

if TYPE_CHECKING:
    from tiewise.model.item_context import ItemContext

Floats = NDArray[np.float64]

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
