"""The posterior without one judge: by weighting the draws there are, or by fitting again.

A draw weighs as much as it makes the judge's own answers unlikely. Pareto smoothing (PSIS) tells
whether such weights can be trusted: k-hat up to 0.7. Where it is higher the fit is made again
without the judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_statistics import TIE
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import ENGINES, TRUSTED_K, fit
from tiewise.posterior.judgement_record import Record
from tiewise.posterior.predictions import Opinions

Floats = NDArray[np.float64]

REFIT_DRAWS = 2000


class Without(NamedTuple):
    """A posterior without one judge: draws with weights that sum to 1, and how it came about."""

    judge: int
    opinions: Opinions
    weight: Floats
    k_hat: float
    refitted: bool


def without_each(
    model: BradleyTerry, tree: DataTree, record: Record, *, seed: int, trusted: float = TRUSTED_K
) -> Iterator[Without]:
    """The posterior without each judge who compared something, judge after judge.

    `trusted=0` fits again for everybody, `trusted=inf` never does.
    """
    opinions = Opinions.of(tree)
    seeds = SeedSequence(seed).generate_state(max(len(record.judges), 1))
    told = record.compared
    if model.fixed_tie == 0:
        told = told.where(told.outcome != TIE)
    for judge in np.unique(told.judge):
        own = told.where(told.judge == judge)
        log = np.concatenate([
            part.log_chance(own.left, own.right, own.outcome).sum(axis=1)
            for part in opinions.in_parts(len(own.left))
        ])  # fmt: skip
        weight, k_hat = smoothed(-log)
        if k_hat <= trusted:
            yield Without(int(judge), opinions, weight, k_hat, False)
            continue
        others = np.arange(max(len(record.judges), 1)) != judge
        again = _refitted(model, record, others, int(seeds[judge]))
        yield Without(int(judge), again, np.full(len(again), 1 / len(again)), k_hat, True)


def smoothed(log_weight: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed weights that sum to 1, and their k-hat; infinite where it is not known."""
    from arviz_stats.base import array_stats

    if np.ptp(log_weight) < 1e-9:
        return np.full(len(log_weight), 1 / len(log_weight)), 0.0
    # ArviZ takes log likelihoods here, whose inverses are the weights: hence the sign.
    smooth, k_hat = array_stats.psislw(log_weight.max() - log_weight)
    weight = np.exp(smooth - smooth.max())
    return weight / weight.sum(), float(k_hat) if np.isfinite(k_hat) else np.inf


def _refitted(
    model: BradleyTerry, record: Record, judges: NDArray[np.bool_], seed: int
) -> Opinions:
    engine: Any = ENGINES["transport"]
    return Opinions.of(fit(fewer(model, record, judges), engine(draws=REFIT_DRAWS), seed=seed))


def fewer(model: BradleyTerry, record: Record, judges: NDArray[np.bool_]) -> BradleyTerry:
    """The same model of what these judges alone have said."""
    counts = record.counts(model.items, judges)
    return replace(model, counts=counts.without_ties() if model.fixed_tie == 0 else counts)


# What a judge does to the results.


class Influence(NamedTuple):
    """How the results would change without a judge, in posterior standard deviations.

    `shift` is the root mean square over items, `most` the largest change, signed, of `item`;
    `moved` is the number of items whose rank changes by at least `PLACES` of the list.
    """

    shift: float
    most: float
    item: int
    moved: int


PLACES = 0.05
"""Share of the list that a rank moves by before it counts."""


class Standing(NamedTuple):
    """Where items stand: means and standard deviations of centred quality, and mean ranks."""

    mean: Floats
    sd: Floats
    rank: Floats

    @classmethod
    def of(cls, opinions: Opinions, weight: Floats | None = None) -> Standing:
        """From draws, perhaps weighted."""
        from tiewise.posterior.summaries import ranks

        quality = opinions.quality - opinions.quality.mean(axis=1, keepdims=True)
        share = np.full(len(opinions), 1 / len(opinions)) if weight is None else weight
        mean = share @ quality
        return cls(mean, np.sqrt(share @ (quality - mean) ** 2), share @ ranks(quality))


def influence(all_of_them: Standing, without: Standing) -> Influence:
    """How far the results with all judges are from those without one."""
    change = (all_of_them.mean - without.mean) / np.maximum(all_of_them.sd, 1e-12)
    item = int(np.abs(change).argmax())
    places = np.abs(all_of_them.rank - without.rank)
    far = max(PLACES * len(change), 1.0)
    return Influence(
        float(np.sqrt((change**2).mean())), float(change[item]), item, int((places >= far).sum())
    )
