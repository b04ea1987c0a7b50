"""Draws of very many items: all of them on disk, some of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.quality_file import QualityFile, StoredQualities

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

MANY_ITEMS = 2000
"""Items above which draws are stored on disk in single precision, and only some are watched."""
KEPT_NUMBERS = 20_000_000
"""Qualities that are kept in memory and with the results: 80 MB."""
STORED_NUMBERS = 600_000_000
"""Qualities that are stored while sampling goes on: 2.4 GB, and as much again for their ranks."""


def is_stored(items: int, names: Iterable[str]) -> bool:
    """Whether draws of so many items, and of terms of these names, are stored on disk."""
    # Contrasts have a quality of every item for each group, and are kept in memory.
    return items > MANY_ITEMS and "contrast" not in names


@dataclass(frozen=True)
class StoredDraws:
    """All draws of a run: centred qualities on disk, the rest as arrays (chains, draws, ...).

    `level` is what was subtracted from the qualities of each draw.
    """

    quality: StoredQualities
    level: Floats
    tie: Floats
    variance: Floats
    terms: Mapping[str, Floats] = field(default_factory=dict)
    stats: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls, quality: Floats, tie: Floats, variance: Floats,
        terms: Mapping[str, Floats], stats: Mapping[str, Floats],
    ) -> StoredDraws:  # fmt: skip
        """Draws that are in memory (chains, draws, ...), put on disk."""
        chains, draws, items = quality.shape
        file, level = QualityFile(draws, chains, items), np.empty((chains, draws))
        for draw in range(draws):
            rows, level[:, draw] = centred_rows(quality[:, draw])
            file.write(draw, 0, rows)
        return cls(StoredQualities(file), level, tie, variance, terms, stats)

    def joined(self, later: StoredDraws) -> StoredDraws:
        """These draws followed by later ones of the same chains."""

        def join(one: Floats, two: Floats) -> Floats:
            return np.concatenate([one, two], axis=1)

        return StoredDraws(
            self.quality.joined(later.quality),
            join(self.level, later.level),
            join(self.tie, later.tie),
            join(self.variance, later.variance),
            {name: join(own, later.terms[name]) for name, own in self.terms.items()},
            {name: join(own, later.stats[name]) for name, own in self.stats.items()},
        )

    def every_second(self) -> StoredDraws:
        """Every second draw of each chain."""
        return StoredDraws(self.quality.every_second(), **self._at(np.s_[:, 1::2]))

    @property
    def kept_positions(self) -> Integers:
        """The draws of each chain, evenly spaced, that `KEPT_NUMBERS` has room for."""
        quality = self.quality
        room = max(KEPT_NUMBERS // (quality.chains * quality.size), 1)
        step = -(-quality.draws // room)
        return np.arange(step - 1, quality.draws, step)

    def kept(self) -> dict[str, Any]:
        """The arrays of the draws that stay in memory, qualities in single precision."""
        which = self.kept_positions
        quality = self.quality.some_draws(which)
        return {"quality": quality, **self._at(np.s_[:, which]), "stored": self}

    def _at(self, which: Any) -> dict[str, Any]:
        """What is not quality, at these positions."""
        return {
            "level": self.level[which],
            "tie": self.tie[which],
            "variance": self.variance[which],
            "terms": {name: own[which] for name, own in self.terms.items()},
            "stats": {name: own[which] for name, own in self.stats.items()},
        }


def centred_rows(quality: Floats) -> tuple[Singles, Floats]:
    """Qualities (chains, items) less their mean over items, in single precision; and that mean."""
    level = quality.mean(axis=1, dtype=np.float64)
    return (quality - level[:, None]).astype(np.float32), level
