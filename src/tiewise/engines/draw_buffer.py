"""The buffer that chains of an engine fill with draws, in memory or, of many items, on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.quality_file import QualityFile, StoredQualities
from tiewise.engines.stored_draws import StoredDraws, centred_rows, is_stored

Floats = NDArray[np.float64]


class DrawBuffer(NamedTuple):
    """Arrays (chains, draws, ...) that the chains fill.

    Of more than `MANY_ITEMS` items, `quality` is not among the arrays but in a `file`, centred;
    `level` is then what was subtracted. `first` is the place in the file of this buffer's first
    chain.
    """

    values: dict[str, Floats]
    acceptance: Floats
    file: QualityFile | None = None
    first: int = 0

    @classmethod
    def empty(cls, example: Mapping[str, Floats], chains: int, draws: int) -> DrawBuffer:
        """A buffer for draws of the shapes in `example`, whose last axis runs over chains."""
        items = example["quality"].shape[0]
        on_disk = is_stored(items, example)
        values = {
            name: np.empty((chains, draws, *one.shape[:-1]))
            for name, one in example.items()
            if not (on_disk and name == "quality")
        }
        if not on_disk:
            return cls(values, np.empty((chains, draws)))
        values["level"] = np.empty((chains, draws))
        return cls(values, np.empty((chains, draws)), QualityFile(draws, chains, items))

    def split(self, blocks: int) -> list[DrawBuffer]:
        """Views of this buffer, one for each block of chains."""
        parts = {name: np.array_split(whole, blocks) for name, whole in self.values.items()}
        acceptance = np.array_split(self.acceptance, blocks)
        firsts = np.cumsum([0, *map(len, acceptance)])
        return [
            DrawBuffer(
                {name: part[k] for name, part in parts.items()},
                acceptance[k],
                self.file,
                int(firsts[k]),
            )
            for k in range(blocks)
        ]

    def put(self, draw: int, values: Mapping[str, Floats]) -> None:
        """Put one draw of every chain in its place; the last axis of values runs over chains."""
        for name, own in values.items():
            by_chain = np.moveaxis(own, -1, 0)
            if name == "quality" and self.file is not None:
                rows, self.values["level"][:, draw] = centred_rows(by_chain)
                self.file.write(draw, self.first, rows)
            else:
                self.values[name][:, draw] = by_chain

    def fields(self) -> dict[str, Any]:
        """The draws, as fields of `Draws`."""
        values, stats = dict(self.values), {"acceptance_rate": self.acceptance}
        scales = {name: values.pop(name) for name in ("tie", "variance")}
        if self.file is None:
            return {"quality": values.pop("quality"), **scales, "terms": values, "stats": stats}
        level, quality = values.pop("level"), StoredQualities(self.file)
        return StoredDraws(quality, level, **scales, terms=values, stats=stats).kept()
