"""The balanced policy: items that were compared rarely, and pairs that join separate components."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.pairing.candidates import Candidates, Indices, Policy

# How often a pair joins two components, where comparisons fall into several. Not always: everybody
# who asks at the same time would be shown the same last item.
JOIN_PROBABILITY = 0.5
MAX_DEFICIT = 3.0


def choose_balanced(candidates: Candidates, rng: Generator) -> Indices:
    """An item that was compared rarely, with another such, of another component if there is one."""
    count, component = counts_and_components(candidates)
    partners = _partners(candidates)
    i = draw_rare(np.flatnonzero(partners.any(axis=1)), count, rng)
    others = np.flatnonzero(partners[i])
    elsewhere = others[component[others] != component[i]]
    joins = len(elsewhere) > 0 and rng.random() < JOIN_PROBABILITY
    return i, draw_rare(elsewhere if joins else others, count, rng)


def counts_and_components(
    candidates: Candidates,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Comparisons and component of each item; an unknown item is a component of its own."""
    size, state = len(candidates.items), candidates.state
    count, component = np.zeros(size, np.int64), -1 - np.arange(size)
    if state is None:
        return count, component
    position = np.array([state.position.get(item, -1) for item in candidates.items])
    known = position >= 0
    count[known] = state.comparisons[position[known]]
    component[known] = state.component[position[known]]
    return count, component


def _partners(candidates: Candidates) -> NDArray[np.bool_]:
    """Which items each may still be compared with."""
    position = {item: k for k, item in enumerate(candidates.items)}
    out = ~np.eye(len(position), dtype=bool)
    for one, two in candidates.seen:
        i, j = position[one], position[two]
        out[i, j] = out[j, i] = False
    return out


def draw_rare(items: NDArray[np.intp], count: NDArray[np.int64], rng: Generator) -> int:
    """One of the items, the likelier the more rarely it was compared.

    A comparison less makes it e times as likely, and less than that where counts are far apart:
    judges who all see the same old counts then do not overshoot. Beyond `MAX_DEFICIT` an item
    is as likely as at it, so that it is not the only one they are asked about.
    """
    deficit = count[items].mean() - count[items]
    steps = np.clip(deficit / max(1.0, 2 * float(deficit.std())), -MAX_DEFICIT, MAX_DEFICIT)
    weight = np.cumsum(np.exp(steps))
    return int(items[np.searchsorted(weight, rng.random() * weight[-1], side="right")])


POLICY = Policy(choose_balanced, needs_state=True)
