"""MaximumLikelihood: Rao and Kupper's estimate, with no prior at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.newton import climb
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MaximumLikelihood:
    """The qualities (summing to zero) and threshold that make the data most likely.

    A point, with standard errors from the curvature there. The model's priors are not used, so
    there is no α². Data without a finite estimate are refused, and the items named.
    """

    name = "maximum-likelihood"
    kind = "point"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """One draw: the estimate."""
        refuse_terms(model, self)
        refuse_without_estimate(model.counts)
        free = model.fixed_tie is None and model.counts.total_ties > 0
        top = _Likelihood(model, free=free)
        summit = climb(top, top.start(), longest=2.0 if free else np.inf)
        quality, tie = top.unpack(summit.point)
        errors = np.sqrt(np.diag(top.spread(summit.point)))
        progress("climbing", 1, 1)
        return Draws(
            (quality - quality.mean())[None, None],
            np.array([[tie]]),
            np.array([[np.nan]]),
            standard_error=errors[: model.size],
            tie_standard_error=_tie_error(model, float(errors[-1] * tie), free=free),
            facts={"prior": "none: maximum likelihood"},
        )


def _tie_error(model: BradleyTerry, error: float, *, free: bool) -> float | None:
    """None where δ sits at its boundary because no tie was seen, 0 where it was fixed."""
    if model.fixed_tie is not None:
        return 0.0
    return error if free else None


@dataclass(frozen=True)
class _Likelihood:
    """The log likelihood in qualities and log δ, with the common level tied down."""

    model: BradleyTerry
    free: bool

    def start(self) -> Floats:
        zero = np.zeros(self.model.size)
        share = self.model.counts.total_ties / self.model.counts.comparisons
        return np.append(zero, np.log(2 * np.arctanh(share))) if self.free else zero

    def unpack(self, point: Floats) -> tuple[Floats, float]:
        size = self.model.size
        return point[:size], float(np.exp(point[-1])) if self.free else self.model.fixed_tie or 0.0

    def value(self, point: Floats) -> float:
        quality, tie = self.unpack(point)
        level = float(quality.sum()) ** 2 / (2 * len(quality))
        return float(self.model.log_likelihood(quality[:, None], np.array([tie]))[0]) - level

    def slope(self, point: Floats) -> Floats:
        quality, tie = self.unpack(point)
        by_quality, by_tie = self.model.slopes(quality[:, None], np.array([tie]))
        slope = by_quality[:, 0] - quality.mean()
        return np.append(slope, by_tie[0] * tie) if self.free else slope

    def bend(self, point: Floats) -> Floats:
        quality, tie = self.unpack(point)
        curve = self.model.curvature(quality, tie)
        matrix = curve.qualities + 1 / len(quality)
        if not self.free:
            return matrix
        by_tie = self.model.slopes(quality[:, None], np.array([tie]))[1]
        edge = (curve.quality_and_tie * tie)[:, None]
        own = curve.tie * tie**2 - by_tie[0] * tie
        return np.block([[matrix, edge], [edge.T, np.array([[own]])]])

    def spread(self, point: Floats) -> Floats:
        """Covariance of the estimate; the level, tied down by hand, has none."""
        size = self.model.size
        out = np.asarray(np.linalg.inv(self.bend(point)), np.float64)
        out[:size, :size] -= 1 / size
        return out


def refuse_without_estimate(counts: Counts) -> None:
    """Say which items keep the likelihood from having a finite maximum, if any do."""
    parts = counts.components()
    if len(parts) > 1:
        raise InputError(
            f"maximum likelihood needs one connected set of comparisons; {_list(parts[1])} "
            f"{_verb(parts[1], 'is', 'are')} never compared with the rest: compare them, "
            "or use an engine with a prior (transport)"
        )
    rings = counts.components(directed=True)
    if len(rings) > 1:
        best, worst = _ends(counts, rings)
        said = [f"{_list(best)} always won against the rest"] if best else []
        said += [f"{_list(worst)} always lost to the rest"] if worst else []
        raise InputError(
            f"maximum likelihood has no finite estimate: {'; '.join(said)}. "
            "Collect more comparisons of them, or use an engine with a prior (transport)"
        )
    if counts.comparisons == counts.total_ties:
        raise InputError(
            "every judgement is a tie, so maximum likelihood has no finite estimate; "
            "use an engine with a prior (transport)"
        )


def _ends(
    counts: Counts, rings: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Items of the rings that nothing beats, and of those that beat nothing."""
    ring = {item: k for k, part in enumerate(rings) for item in part}
    where = np.array([ring[item] for item in counts.items])
    forth, back = counts.successes()
    heads = np.concatenate([counts.first[forth > 0], counts.second[back > 0]])
    tails = np.concatenate([counts.second[forth > 0], counts.first[back > 0]])
    across = where[heads] != where[tails]
    winners, losers = set(where[heads][across]), set(where[tails][across])
    best = tuple(i for i in counts.items if ring[i] in winners - losers)
    worst = tuple(i for i in counts.items if ring[i] in losers - winners)
    return best, worst


def _list(items: Sequence[str], most: int = 8) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(repr(item) for item in items[:most]) + more


def _verb(items: Sequence[str], one: str, many: str) -> str:
    return one if len(items) == 1 else many
