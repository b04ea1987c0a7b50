"""The uniform policy: every new pair with the same probability."""

from __future__ import annotations

from numpy.random import Generator

from tiewise.pairing.candidates import Candidates, Indices, Policy


def choose_uniform(candidates: Candidates, rng: Generator) -> Indices:
    """One of the pairs that were not seen, each with the same probability."""
    # While most pairs are new, rejection sampling costs less than a list of all of them.
    while candidates.mostly_new:
        i, j = rng.choice(len(candidates.items), 2, replace=False)
        if candidates.is_new(i, j):
            return int(i), int(j)
    pairs = candidates.new_pairs()
    return pairs[int(rng.integers(len(pairs)))]


POLICY = Policy(choose_uniform)
