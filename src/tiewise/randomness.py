"""What may be handed in as `rng=`, and the seed that it stands for."""

from __future__ import annotations

import secrets
from operator import index

from numpy.random import Generator, SeedSequence

RNGLike = int | SeedSequence | Generator | None
"""A seed, a sequence of seeds, a generator, or None for fresh entropy (SPEC 7)."""


def as_seed(rng: RNGLike) -> int:
    """One integer that repeats what follows, so that it can be recorded.

    An integer stands for itself. A generator is advanced, so that its next seed is another one.
    """
    if rng is None:
        return secrets.randbits(32)
    if isinstance(rng, Generator):
        return _joined(rng.integers(2**32, size=4).tolist())
    if isinstance(rng, SeedSequence):
        if isinstance(rng.entropy, int) and not rng.spawn_key:
            return rng.entropy
        return _joined(rng.generate_state(4).tolist())
    return index(rng)


def as_seed_sequence(rng: RNGLike) -> SeedSequence:
    """The sequence of seeds that starts from `as_seed`."""
    return SeedSequence(as_seed(rng))


def _joined(words: list[int]) -> int:
    """One integer of words of 32 bits each."""
    return sum(word << (32 * place) for place, word in enumerate(words))
