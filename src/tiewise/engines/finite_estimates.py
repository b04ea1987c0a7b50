"""Whether the likelihood has a finite maximum, and what keeps it from one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.semiorder import graded_margins
from tiewise.text import some_names

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALL = 1e-7  # margins that grow by less in all do not grow


def refuse_without_estimate(counts: Counts) -> None:
    """Raise InputError if the likelihood has no finite maximum, and name the items."""
    _refuse_disconnected(counts)
    components = counts.components(directed=True)
    if len(components) > 1:
        best, worst = _extremes(counts, components)
        reasons = [f"{some_names(best, 8)} always won against the rest"] if best else []
        reasons += [f"{some_names(worst, 8)} always lost to the rest"] if worst else []
        raise InputError(
            f"maximum likelihood has no finite estimate: {'; '.join(reasons)}. "
            "Collect more comparisons of them, or use an engine with a prior (transport)"
        )
    if counts.comparisons == counts.total_ties:
        raise InputError(
            "every judgement is a tie, so maximum likelihood has no finite estimate; "
            "use an engine with a prior (transport)"
        )


def _refuse_disconnected(counts: Counts) -> None:
    parts = counts.components()
    if len(parts) > 1:
        raise InputError(
            f"maximum likelihood needs one connected set of comparisons; {some_names(parts[1], 8)} "
            f"{_verb(parts[1], 'is', 'are')} never compared with the rest: compare them, "
            "or use an engine with a prior (transport)"
        )


def _extremes(
    counts: Counts, components: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Items of the strong components that nothing beats, and of those that beat nothing."""
    component = {item: k for k, part in enumerate(components) for item in part}
    index = np.array([component[item] for item in counts.items])
    forth, back = counts.successes()
    heads = np.concatenate([counts.first[forth > 0], counts.second[back > 0]])
    tails = np.concatenate([counts.second[forth > 0], counts.first[back > 0]])
    across = index[heads] != index[tails]
    winners, losers = set(index[heads][across]), set(index[tails][across])
    best = tuple(i for i in counts.items if component[i] in winners - losers)
    worst = tuple(i for i in counts.items if component[i] in losers - winners)
    return best, worst


def _verb(items: Sequence[str], one: str, many: str) -> str:
    return one if len(items) == 1 else many


# Graded answers.


def refuse_graded_without_estimate(counts: Counts, free: Integers) -> None:
    """The same as `refuse_without_estimate` of graded answers.

    There is no finite maximum if the likelihood never falls along some direction, and rises.
    """
    _refuse_disconnected(counts)
    assert counts.strengths is not None
    if not counts.strengths[..., -1].any():
        raise InputError(
            f"nobody chose as strongly as {counts.levels} of {counts.levels}, so maximum "
            "likelihood has no finite estimate of that cut; leave this grade out, or use an engine "
            "with a prior (transport)"
        )
    direction = rising_direction(counts, free)
    if direction is not None:
        high, low = (
            [i for i, own in zip(counts.items, direction, strict=True) if own == end]
            for end in (direction.max(), direction.min())
        )
        raise InputError(
            "maximum likelihood has no finite estimate: the answers become ever more likely as "
            f"{some_names(high, 8)} {_verb(high, 'rises', 'rise')} above {some_names(low, 8)}. "
            "Collect more comparisons of them, or use an engine with a prior (transport)"
        )


def rising_direction(counts: Counts, free: Integers) -> Floats | None:
    """A direction of qualities along which the likelihood of graded answers rises for ever.

    Along it every answer's difference in quality stays above its lower cut and below its upper
    one, by a linear programme over directions of qualities and of the thresholds that are `free`;
    None where there is none. A margin that grows is a likelihood that rises.
    """
    from scipy.optimize import linprog

    size, margins = len(counts.items), graded_margins(counts, free)
    box = [(-1.0, 1.0)] * size + [(0.0, 1.0)] * len(free)
    best: Any = linprog(
        -margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(margins.shape[0]), bounds=box
    )
    return None if -best.fun < SMALL else np.asarray(best.x[:size], np.float64).round(6)
