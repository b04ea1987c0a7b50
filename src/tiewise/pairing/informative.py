"""The informative policy: the most useful pair of a random sample, by the current posterior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from tiewise.pairing.balanced import choose_balanced
from tiewise.pairing.candidates import Candidates, Indices, Policy
from tiewise.pairing.difficulty import Difficulty
from tiewise.pairing.uniform import choose_uniform

# The best of a random sample is near the top, and yet not the same pair for all who ask at once.
SAMPLE_SIZE = 16
# The sample is at most this share of the pairs left to judges who know few items.
SAMPLE_SHARE = 0.25


def choose_informative(candidates: Candidates, rng: Generator) -> Indices:
    """The most useful pair of a random sample; a balanced one before there is a posterior."""
    state = candidates.state
    if state is None or state.utility is None:
        return choose_balanced(candidates, rng)
    if not state.position.keys() >= set(candidates.items):
        balanced = choose_balanced(candidates, rng)
        if any(candidates.items[k] not in state.position for k in balanced):
            return balanced
    if rng.random() < candidates.random_share:
        return choose_uniform(candidates, rng)
    utility = _utilities(candidates, _sample(candidates, rng))
    return max(utility, key=utility.__getitem__)


def _sample(candidates: Candidates, rng: Generator) -> list[Indices]:
    """Some of the pairs that were not seen, at random."""
    size = int(np.clip(SAMPLE_SHARE * candidates.left, 1, SAMPLE_SIZE))
    if not candidates.mostly_new:
        pairs = candidates.new_pairs()
        return [pairs[k] for k in rng.choice(len(pairs), size, replace=False)]
    sample: list[Indices] = []
    items = len(candidates.items)
    while len(sample) < size:
        i = rng.integers(items, size=2 * size)
        j = (i + rng.integers(1, items, size=2 * size)) % items
        pairs = list(zip(i.tolist(), j.tolist(), strict=True))
        sample += [pair for pair in pairs if candidates.is_new(*pair)]
    return sample[:size]


def _utilities(candidates: Candidates, pairs: Sequence[Indices]) -> dict[Indices, float]:
    """The utility of asking this judge each pair; 0 where an item is not in the posterior yet."""
    state, hard = candidates.state, candidates.hard_pairs
    assert state is not None
    assert state.utility is not None
    assert state.quality is not None
    quality = dict(zip(state.items, state.quality.tolist(), strict=True)) if hard else {}
    difficulty = Difficulty.of(candidates.seen, hard, quality)
    out = {}
    for i, j in pairs:
        one, two = candidates.items[i], candidates.items[j]
        a, b = state.position.get(one), state.position.get(two)
        known = a is not None and b is not None
        gap = abs(quality[one] - quality[two]) if hard and known else np.inf
        out[i, j] = float(state.utility[a, b]) * difficulty.weight(one, two, gap) if known else 0.0
    return out


POLICY = Policy(choose_informative, needs_state=True, needs_posterior=True)
