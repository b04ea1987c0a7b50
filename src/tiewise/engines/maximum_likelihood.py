"""MaximumLikelihood: Rao and Kupper's estimate, with no prior at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.capacity import FLOPS, announce, require_memory
from tiewise.engines.preconditioners.newton import maximise
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress
from tiewise.text import some_names

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MaximumLikelihood:
    """The qualities (summing to zero) and threshold that make the data most likely.

    A point, with standard errors from the Hessian there. The model's priors are not used, so
    there is no α². Data without a finite estimate are refused, and the items named.
    """

    name = "maximum-likelihood"
    kind = "point"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """One draw: the estimate."""
        refuse_terms(model, self)
        require_memory(model, self.name, matrices=4)
        announce(self.name, model, 10 * model.size**3 / FLOPS)
        refuse_without_estimate(model.counts)
        free = model.fixed_tie is None and model.counts.total_ties > 0
        likelihood = _Likelihood(model, free=free)
        max_step = 2.0 if free else np.inf
        estimate = maximise(likelihood, likelihood.start(), max_step=max_step).point
        quality, tie = likelihood.unpack(estimate)
        errors = np.sqrt(np.diag(likelihood.covariance(estimate)))
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
    """None where δ is at its boundary because there are no ties, 0 where it is fixed."""
    if model.fixed_tie is not None:
        return 0.0
    return error if free else None


@dataclass(frozen=True)
class _Likelihood:
    """The log likelihood of qualities and log δ, with a penalty that fixes the common level."""

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

    def gradient(self, point: Floats) -> Floats:
        quality, tie = self.unpack(point)
        by_quality, by_tie = self.model.gradient(quality[:, None], np.array([tie]))
        gradient = by_quality[:, 0] - quality.mean()
        return np.append(gradient, by_tie[0] * tie) if self.free else gradient

    def negative_hessian(self, point: Floats) -> Floats:
        quality, tie = self.unpack(point)
        hessian = self.model.negative_hessian(quality, tie)
        matrix = hessian.qualities + 1 / len(quality)
        if not self.free:
            return matrix
        by_tie = self.model.gradient(quality[:, None], np.array([tie]))[1]
        cross = (hessian.quality_and_tie * tie)[:, None]
        own = hessian.tie * tie**2 - by_tie[0] * tie
        return np.block([[matrix, cross], [cross.T, np.array([[own]])]])

    def covariance(self, point: Floats) -> Floats:
        """Covariance of the estimate; the level, which the penalty fixes, has none."""
        size = self.model.size
        out = np.asarray(np.linalg.inv(self.negative_hessian(point)), np.float64)
        out[:size, :size] -= 1 / size
        return out


def refuse_without_estimate(counts: Counts) -> None:
    """Raise InputError if the likelihood has no finite maximum, and name the items."""
    parts = counts.components()
    if len(parts) > 1:
        raise InputError(
            f"maximum likelihood needs one connected set of comparisons; {some_names(parts[1], 8)} "
            f"{_verb(parts[1], 'is', 'are')} never compared with the rest: compare them, "
            "or use an engine with a prior (transport)"
        )
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
