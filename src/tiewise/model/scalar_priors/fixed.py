"""Fixed: a variance or a threshold that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.errors import InputError


@dataclass(frozen=True)
class Fixed:
    """Known, not inferred: α² or δ set to a value."""

    kind: ClassVar[str] = "fixed"
    numbers: ClassVar[str] = "held at this value"

    value: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value >= 0):
            raise InputError(f"a fixed value is 0 or more, not {self.value!r}")

    def sample(self, rng: Generator) -> float:
        """The value."""
        return self.value
