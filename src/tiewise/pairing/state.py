"""PairingState: what the answers so far tell a pairing policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tiewise.data.counts import Counts

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PairingState:
    """How often each item was compared, connected components, and the utility of every pair.

    `component` labels the connected components of the comparisons; an item never compared is a
    component of its own. `utility` (items, items) is relative to the best pair, which has 1;
    `quality` is the posterior mean of each item. Both are None until there is a posterior.
    """

    items: tuple[str, ...]
    comparisons: Integers = field(repr=False)
    component: Integers = field(repr=False)
    utility: Floats | None = field(default=None, repr=False)
    quality: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, counts: Counts) -> PairingState:
        """The state of these counts, before anything is fitted."""
        label = {item: k for k, part in enumerate(counts.components()) for item in part}
        component = np.array([label[item] for item in counts.items], np.int32)
        return cls(counts.items, counts.per_item().astype(np.int32), component)

    def with_posterior(
        self,
        mean: NDArray[np.float64],
        covariance: NDArray[np.float64],
        cuts: float | NDArray[np.float64],
    ) -> PairingState:
        """The same with a posterior: mean and covariance of qualities, in the order of items.

        `cuts` is the threshold δ, or has all cuts of graded answers.
        """
        from tiewise.pairing.information import expected_variance_reduction

        reduction = expected_variance_reduction(mean, covariance, cuts)
        best = float(reduction.max(initial=0.0))
        utility = (reduction / best if best > 0 else reduction).astype(np.float32)
        return replace(self, utility=utility, quality=mean.astype(np.float32))

    @cached_property
    def position(self) -> dict[str, int]:
        """The index of each item in every array."""
        return {item: k for k, item in enumerate(self.items)}

    def to_bytes(self) -> bytes:
        """All of it, for storage; of the utility one triangle in half precision."""
        arrays = {
            "items": np.array(self.items, dtype=np.str_),
            "comparisons": self.comparisons,
            "part": self.component,
        }
        if self.utility is not None and self.quality is not None:
            above = np.triu_indices(len(self.items), 1)
            arrays |= {"worth": self.utility[above].astype(np.float16), "quality": self.quality}
        out = BytesIO()
        np.savez(out, allow_pickle=False, **arrays)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> PairingState:
        """The state that `to_bytes` wrote."""
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        items = tuple(arrays["items"].tolist())
        triangle = arrays.get("worth")
        return cls(
            items,
            arrays["comparisons"],
            arrays["part"],
            None if triangle is None else _symmetric(triangle, len(items)),
            arrays.get("quality"),
        )


def _symmetric(triangle: NDArray[np.float16], size: int) -> Floats:
    """The symmetric matrix whose upper triangle this is."""
    out = np.zeros((size, size), np.float32)
    out[np.triu_indices(size, 1)] = triangle
    return out + out.T
