"""Anchors of a model with terms: they speak of the quality that all groups of judges share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.model.anchors.factor import AnchorFactor

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CommonAnchors:
    """What anchors say of qualities (groups · items), one group after the other.

    Contrasts of groups sum to zero, so that the quality in common is the mean over groups.
    """

    factor: AnchorFactor
    groups: int

    def log_density(self, quality: NDArray[Any]) -> Floats:
        """For qualities of all groups (groups · items, chains), up to a constant."""
        return self.factor.log_density(self.common(quality))

    def add_gradient(self, quality: NDArray[Any], by_quality: NDArray[Any]) -> None:
        """Add its derivatives to those by the qualities of all groups."""
        if self.groups == 1:
            self.factor.add_gradient(quality, by_quality)
            return
        common = self.common(quality)
        by_common = np.zeros(common.shape)
        self.factor.add_gradient(common, by_common)
        by_quality += np.tile(by_common / self.groups, (self.groups, 1))

    def curvature(self, quality: Floats, design: Floats) -> Floats:
        """Minus its second derivatives by coordinates, at the qualities (groups · items) there.

        `design` (groups · items, coordinates) takes coordinates to the qualities of all groups.
        """
        own = self.common(design)[self.factor.positions]
        inner = self.factor.curvature(self.common(quality[:, None])[:, 0]).matrix
        return np.asarray(own.T @ inner @ own, np.float64)

    def common(self, quality: NDArray[Any]) -> NDArray[Any]:
        """The mean over groups (items, columns)."""
        if self.groups == 1:
            return quality
        return np.asarray(quality.reshape(self.groups, -1, quality.shape[1]).mean(axis=0))
