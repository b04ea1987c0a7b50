"""Made-up judgements with known truth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.core.beliefs import Fixed, TiePrior, VariancePrior
from tiewise.core.counts import Counts
from tiewise.core.data import Comparisons
from tiewise.core.model import answer_probabilities
from tiewise.core.prior import Prior
from tiewise.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Truth:
    """What judgements are simulated from."""

    items: tuple[str, ...]
    quality: Floats = field(repr=False)
    tie: float
    variance: float

    @classmethod
    def drawn(
        cls,
        prior: Prior,
        variance: VariancePrior | Fixed,
        tie: TiePrior | Fixed | None,
        rng: Generator,
        *,
        items: tuple[str, ...] | None = None,
    ) -> Truth:
        """A truth drawn from the prior."""
        names = prior.items or items
        if names is None:
            raise InputError("this prior speaks of no items of its own; say which there are")
        spread = variance.sample(rng)
        factor = prior.factor(len(names))
        rank = len(names) if factor is None else factor.shape[1]
        noise = rng.normal(size=rank) * np.sqrt(spread)
        quality = noise if factor is None else factor @ noise
        return cls(names, quality, 0.0 if tie is None else tie.sample(rng), spread)


def random_pairs(size: int, comparisons: int, rng: Generator) -> tuple[Integers, Integers]:
    """Pairs of distinct items, uniform over pairs and over sides."""
    first = rng.integers(size, size=comparisons)
    second = (first + rng.integers(1, size, size=comparisons)) % size
    return first, second


def answers(truth: Truth, first: Integers, second: Integers, rng: Generator) -> Integers:
    """What a judge says of each pair: 0 the first, 1 about equal, 2 the second."""
    gap = truth.quality[first] - truth.quality[second]
    win, tied, _ = answer_probabilities(gap, np.asarray(truth.tie))
    chance = rng.uniform(size=len(first))
    out: Integers = (chance >= win).astype(np.int64) + (chance >= win + tied)
    return out


def simulate_counts(
    truth: Truth, comparisons: int, rng: Generator, pairs: tuple[Integers, Integers] | None = None
) -> Counts:
    """Counts of made-up judgements about random pairs, or about the pairs given."""
    first, second = random_pairs(len(truth.items), comparisons, rng) if pairs is None else pairs
    said = answers(truth, first, second, rng)
    return Counts.of(truth.items, first, second, said == 0, said == 2, said == 1)


def simulate_comparisons(
    truth: Truth, comparisons: int, rng: Generator, *, judges: int = 1, skip: float = 0.0
) -> Comparisons:
    """Made-up judgements by judges who take turns and skip a pair with chance `skip`."""
    first, second = random_pairs(len(truth.items), comparisons, rng)
    said = answers(truth, first, second, rng)
    words = np.array(["first", "tie", "second"])[said].astype(object)
    words[rng.uniform(size=comparisons) < skip] = "skip"
    names = np.array(truth.items, dtype=object)
    return Comparisons.from_columns(
        first=names[first],
        second=names[second],
        outcome=words,
        judge=[f"judge {1 + k % judges}" for k in range(comparisons)],
    )
