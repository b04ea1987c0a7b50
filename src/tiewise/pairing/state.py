"""Standing: what all judgements so far say about which pairs are wanted."""

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
class Standing:
    """How often each item was compared, what it hangs together with, and what pairs are worth.

    `part` labels the connected parts of the comparisons; an item never compared is a part of its
    own. `worth` (items, items) is in units of its own, 1 for the best pair; `quality` is what is
    believed of each item. Both are None until there is a posterior.
    """

    items: tuple[str, ...]
    comparisons: Integers = field(repr=False)
    part: Integers = field(repr=False)
    worth: Floats | None = field(default=None, repr=False)
    quality: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, counts: Counts) -> Standing:
        """The standing of these counts, before anything is fitted."""
        label = {item: k for k, part in enumerate(counts.components()) for item in part}
        part = np.array([label[item] for item in counts.items], np.int32)
        return cls(counts.items, counts.per_item().astype(np.int32), part)

    def with_worth(
        self, mean: NDArray[np.float64], covariance: NDArray[np.float64], tie: float
    ) -> Standing:
        """The same with a posterior: mean and covariance of qualities, in the order of items."""
        from tiewise.pairing.information import worth

        value = worth(mean, covariance, tie)
        best = float(value.max(initial=0.0))
        even = (value / best if best > 0 else value).astype(np.float32)
        return replace(self, worth=even, quality=mean.astype(np.float32))

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each item stands in every array."""
        return {item: k for k, item in enumerate(self.items)}

    def to_bytes(self) -> bytes:
        """All of it, for keeping; of worth half the matrix in half precision."""
        arrays = {
            "items": np.array(self.items, dtype=np.str_),
            "comparisons": self.comparisons,
            "part": self.part,
        }
        if self.worth is not None and self.quality is not None:
            above = np.triu_indices(len(self.items), 1)
            arrays |= {"worth": self.worth[above].astype(np.float16), "quality": self.quality}
        out = BytesIO()
        np.savez(out, allow_pickle=False, **arrays)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, kept: bytes) -> Standing:
        """What `to_bytes` kept."""
        with np.load(BytesIO(kept), allow_pickle=False) as arrays:
            there = {name: arrays[name] for name in arrays.files}
        items = tuple(there["items"].tolist())
        half = there.get("worth")
        return cls(
            items,
            there["comparisons"],
            there["part"],
            None if half is None else _whole(half, len(items)),
            there.get("quality"),
        )


def _whole(half: NDArray[np.float16], size: int) -> Floats:
    """The symmetric matrix whose upper triangle this is."""
    out = np.zeros((size, size), np.float32)
    out[np.triu_indices(size, 1)] = half
    return out + out.T
