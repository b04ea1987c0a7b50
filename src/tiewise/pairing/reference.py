"""The reference policy: each new item with the anchors nearest to it, none of them too often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.pairing.balanced import choose_balanced, counts_and_components, draw_rare
from tiewise.pairing.candidates import Candidates, Indices, Policy

NEAREST = 3
"""Anchors that one is drawn from: those who ask at once need not all see the same."""


def choose_reference(candidates: Candidates, rng: Generator) -> Indices | None:
    """A rarely compared item with one of the nearest anchors; else a pair without these.

    Anchors that have reached their limit are left out; None where every other pair was seen.
    """
    count, _ = counts_and_components(candidates)
    anchored = np.array([item in candidates.anchors for item in candidates.items])
    shown = ~anchored | (_exposure(candidates, count) < candidates.anchor_limit)
    anchors, items = np.flatnonzero(anchored & shown), np.flatnonzero(~anchored)
    new = _new_pairs(candidates, items, anchors)
    if new.any():
        partners = new.any(axis=1)
        i = draw_rare(items[partners], count, rng)
        open_anchors = anchors[new[np.searchsorted(items, i)]]
        return i, _near(candidates, i, open_anchors, count, rng)
    return _without(candidates, anchored, rng) or _without(candidates, ~shown, rng)


def _exposure(candidates: Candidates, count: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each item was compared, by this judge alone where that is more."""
    own = np.zeros(len(candidates.items), np.int64)
    position = {item: k for k, item in enumerate(candidates.items)}
    for pair in candidates.seen:
        for item in pair:
            own[position[item]] += 1
    return np.maximum(count, own)


def _new_pairs(
    candidates: Candidates, items: NDArray[np.intp], anchors: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which items (rows) the judge has not seen with which anchors (columns)."""
    new = np.ones((len(items), len(anchors)), bool)
    row = {candidates.items[k]: number for number, k in enumerate(items)}
    column = {candidates.items[k]: number for number, k in enumerate(anchors)}
    for pair in candidates.seen:
        rows, columns = [row[one] for one in pair & row.keys()], pair & column.keys()
        for one in columns:
            new[rows, column[one]] = False
    return new


def _near(
    candidates: Candidates,
    i: int,
    anchors: NDArray[np.intp],
    count: NDArray[np.int64],
    rng: Generator,
) -> int:
    """One of the anchors nearest to an item's estimate; without one, one that came rarely."""
    quality = _estimates(candidates, count)
    if np.isnan(quality[i]):
        return draw_rare(anchors, count, rng)
    # An anchor that was never compared has an estimate, too: its value is known.
    gap = np.nan_to_num(np.abs(quality[anchors] - quality[i]), nan=np.inf)
    nearest = anchors[np.argsort(gap, kind="stable")[:NEAREST]]
    return int(nearest[rng.integers(len(nearest))])


def _estimates(candidates: Candidates, count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Posterior mean of each item; NaN of new items that were never compared."""
    out, state = np.full(len(candidates.items), np.nan), candidates.state
    if state is None or state.quality is None:
        return out
    for k, item in enumerate(candidates.items):
        if item in state.position and (count[k] or item in candidates.anchors):
            out[k] = state.quality[state.position[item]]
    return out


def _without(candidates: Candidates, out: NDArray[np.bool_], rng: Generator) -> Indices | None:
    """A balanced pair of the items that are not left out; None where all were seen."""
    kept = np.flatnonzero(~out)
    items = tuple(candidates.items[k] for k in kept)
    among = frozenset(items)
    seen = frozenset(pair for pair in candidates.seen if pair <= among)
    rest = replace(candidates, items=items, seen=seen)
    if not rest.left:
        return None
    i, j = choose_balanced(rest, rng)
    return int(kept[i]), int(kept[j])


POLICY = Policy(choose_reference, needs_state=True, needs_posterior=True, needs_anchors=True)
