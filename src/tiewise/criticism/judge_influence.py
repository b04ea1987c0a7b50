"""Influence of each judge: the posterior without the judge, by importance weights or a new fit.

A draw's weight is the inverse of the likelihood of the judge's own answers. Pareto smoothing (PSIS)
shows whether such weights can be trusted: k-hat up to 0.7. Where it is higher the model is fitted
again without the judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.data.answers import TIE
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import TRUSTED_K, fit, make_engine
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.randomness import RNGLike, as_seed_sequence

Floats = NDArray[np.float64]

REFIT_DRAWS = 2000


class PosteriorWithoutJudge(NamedTuple):
    """A posterior without one judge: draws with weights that sum to 1, and how it was computed."""

    judge: int
    draws: PosteriorDraws
    weight: Floats
    k_hat: float
    refitted: bool


def leave_each_judge_out(
    model: BradleyTerry,
    tree: DataTree,
    record: JudgementRecord,
    *,
    rng: RNGLike,
    trusted: float = TRUSTED_K,
) -> Iterator[PosteriorWithoutJudge]:
    """The posterior without each judge who compared something, one at a time.

    Weights are used up to a k-hat of `trusted`: 0 fits again for every judge, infinity never does.
    """
    draws = PosteriorDraws.from_tree(tree)
    seeds = as_seed_sequence(rng).generate_state(max(len(record.judges), 1))
    table = record.compared
    if model.fixed_tie == 0:
        table = table.where(table.answer != TIE)
    for judge in np.unique(table.judge):
        own = table.where(table.judge == judge)
        log_likelihood = np.concatenate([
            part.log_probability(own.left, own.right, own.answer).sum(axis=1)
            for part in draws.batches(len(own.left))
        ])  # fmt: skip
        weight, k_hat = pareto_smoothed(-log_likelihood)
        if k_hat <= trusted:
            yield PosteriorWithoutJudge(int(judge), draws, weight, k_hat, False)
            continue
        others = np.arange(max(len(record.judges), 1)) != judge
        refit = _refit(model, record, others, int(seeds[judge]))
        equal = np.full(len(refit), 1 / len(refit))
        yield PosteriorWithoutJudge(int(judge), refit, equal, k_hat, True)


def pareto_smoothed(log_weight: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed weights that sum to 1, and their k-hat; infinite where it is not known."""
    from arviz_stats.base import array_stats

    if np.ptp(log_weight) < 1e-9:
        return np.full(len(log_weight), 1 / len(log_weight)), 0.0
    # ArviZ takes log likelihoods here, whose inverses are the weights: hence the sign.
    smooth, k_hat = array_stats.psislw(log_weight.max() - log_weight)
    weight = np.exp(smooth - smooth.max())
    return weight / weight.sum(), float(k_hat) if np.isfinite(k_hat) else np.inf


def _refit(
    model: BradleyTerry, record: JudgementRecord, judges: NDArray[np.bool_], seed: int
) -> PosteriorDraws:
    engine = make_engine("transport", draws=REFIT_DRAWS)
    return PosteriorDraws.from_tree(
        fit(restrict_to_judges(model, record, judges), engine, rng=seed)
    )


def restrict_to_judges(
    model: BradleyTerry, record: JudgementRecord, judges: NDArray[np.bool_]
) -> BradleyTerry:
    """The same model of the judgements of these judges alone."""
    counts = record.counts(model.items, judges)
    return replace(model, counts=counts.without_ties() if model.fixed_tie == 0 else counts)


# The change in the results.


class Influence(NamedTuple):
    """How the results change without a judge, in posterior standard deviations.

    `shift` is the root mean square over items, `most` the largest change, signed, of `item`;
    `moved` is the number of items whose rank changes by at least `RANK_SHIFT` of the list.
    """

    shift: float
    most: float
    item: int
    moved: int


RANK_SHIFT = 0.05
"""Share of the list by which a rank must change to be counted."""


class QualitySummary(NamedTuple):
    """Means and standard deviations of centred quality, and mean ranks."""

    mean: Floats
    sd: Floats
    rank: Floats

    @classmethod
    def from_draws(cls, draws: PosteriorDraws, weight: Floats | None = None) -> QualitySummary:
        """From draws, perhaps weighted."""
        from tiewise.posterior.summaries import ranks

        quality = draws.quality - draws.quality.mean(axis=1, keepdims=True)
        share = np.full(len(draws), 1 / len(draws)) if weight is None else weight
        mean = share @ quality
        return cls(mean, np.sqrt(share @ (quality - mean) ** 2), share @ ranks(quality))


def influence(whole: QualitySummary, without: QualitySummary) -> Influence:
    """How far the results with all judges are from those without one."""
    change = (whole.mean - without.mean) / np.maximum(whole.sd, 1e-12)
    item = int(np.abs(change).argmax())
    rank_change = np.abs(whole.rank - without.rank)
    far = max(RANK_SHIFT * len(change), 1.0)
    return Influence(
        float(np.sqrt((change**2).mean())),
        float(change[item]),
        item,
        int((rank_change >= far).sum()),
    )
