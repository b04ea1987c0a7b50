"""Influence of each judge: the posterior without the judge, by importance weights or a new fit.

A draw's weight is the inverse of the likelihood of the judge's own answers. Pareto smoothing (PSIS)
shows whether such weights can be trusted: k-hat up to 0.7. Where it is higher the model is fitted
again without the judge. Terms of the judge's own (sharpness, threshold) are then those of anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_likelihood import (
    OwnAnswers,
    forget_judge,
    has_own_terms,
    judge_log_likelihood,
)
from tiewise.data.answers import FIRST, SECOND, TIE
from tiewise.data.counts import Counts, Integers
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import TRUSTED_K, fit, make_engine
from tiewise.posterior.judgement_record import JudgementRecord, JudgementTable
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.randomness import RNGLike, as_seed_sequence

Floats = NDArray[np.float64]

REFIT_DRAWS = 2000
TERM_DRAWS = 1000
"""Draws used of a model whose judges have terms of their own: each takes an integral."""


class PosteriorWithoutJudge(NamedTuple):
    """A posterior without one judge: draws with weights that sum to 1, and how it was computed."""

    judge: int
    draws: PosteriorDraws
    weight: Floats
    k_hat: float
    refitted: bool


def own_answers(record: JudgementRecord, *, ties: bool) -> Iterator[tuple[int, OwnAnswers]]:
    """The answers of each judge, judge by judge; those of a model without `ties` are decided."""
    table, stratum = record.compared, record.compared_stratum
    used = np.ones(len(table.answer), bool) if ties else table.answer != TIE
    for judge in np.unique(table.judge[used]):
        rows = used & (table.judge == judge)
        own = np.zeros(rows.sum(), np.int64) if stratum is None else stratum[rows]
        yield int(judge), OwnAnswers(table.where(rows), own)


def refuse_unknown_strata(model: BradleyTerry, record: JudgementRecord) -> None:
    """Refuse a model with strata whose record does not say to which each judgement belongs."""
    told_apart = len(model.counts.strata) > 1 or model.counts.facts is not None
    if told_apart and record.stratum is None:
        raise InputError(
            "these results do not say whose terms a judgement falls under; give the file of "
            "judgements, or fit it again"
        )


def posterior_draws(tree: DataTree) -> PosteriorDraws:
    """The draws of a fit, or as many of them as integrals over judges' terms allow."""
    draws = PosteriorDraws.from_tree(tree)
    return PosteriorDraws.from_tree(tree, TERM_DRAWS) if has_own_terms(draws) else draws


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
    draws = posterior_draws(tree)
    seeds = as_seed_sequence(rng).generate_state(max(len(record.judges), 1))
    for judge, own in own_answers(record, ties=model.fixed_tie != 0):
        weight, k_hat = pareto_smoothed(-judge_log_likelihood(draws, own))
        seed = int(seeds[judge])
        if k_hat <= trusted:
            without = forget_judge(draws, own, np.random.default_rng([seed, 19]))
            yield PosteriorWithoutJudge(judge, without, weight, k_hat, False)
            continue
        refit = refit_without(model, record, judge, seed)
        equal = np.full(len(refit), 1 / len(refit))
        yield PosteriorWithoutJudge(judge, refit, equal, k_hat, True)


def pareto_smoothed(log_weight: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed weights that sum to 1, and their k-hat; infinite where it is not known."""
    from arviz_stats.base import array_stats

    if np.ptp(log_weight) < 1e-9:
        return np.full(len(log_weight), 1 / len(log_weight)), 0.0
    # ArviZ takes log likelihoods here, whose inverses are the weights: hence the sign.
    smooth, k_hat = array_stats.psislw(log_weight.max() - log_weight)
    weight = np.exp(smooth - smooth.max())
    return weight / weight.sum(), float(k_hat) if np.isfinite(k_hat) else np.inf


def refit_without(
    model: BradleyTerry, record: JudgementRecord, judge: int, seed: int
) -> PosteriorDraws:
    """Draws of the model fitted again without a judge."""
    engine = make_engine("transport", draws=REFIT_DRAWS)
    others = np.arange(max(len(record.judges), 1)) != judge
    return PosteriorDraws.from_tree(
        fit(restrict_to_judges(model, record, others), engine, rng=seed)
    )


def restrict_to_judges(
    model: BradleyTerry, record: JudgementRecord, judges: NDArray[np.bool_]
) -> BradleyTerry:
    """The same model of the judgements of these judges alone.

    Strata of the others stay, without answers: terms of theirs are those of anybody.
    """
    return restrict_to_judgements(model, record, judges[record.compared.judge])


def restrict_to_judgements(
    model: BradleyTerry, record: JudgementRecord, rows: NDArray[np.bool_]
) -> BradleyTerry:
    """The same model of these compared judgements alone."""
    table, stratum = record.compared.where(rows), record.compared_stratum
    own = None if stratum is None else stratum[rows]
    if model.counts.facts is not None and own is not None:
        return replace(model, counts=_count_in_rows(model.counts, table, own))
    counts = table.counts(
        model.items, model.counts.levels, stratum=own,
        strata=model.counts.strata, ordered=model.counts.ordered,
    )  # fmt: skip
    return replace(model, counts=counts.without_ties() if model.fixed_tie == 0 else counts)


def _count_in_rows(counts: Counts, table: JudgementTable, row: Integers) -> Counts:
    """Judgements counted in rows that stay as they are, so that a row is the same in every fit.

    Where comparisons have facts, the row of a judgement is its stratum in a record.
    """
    size, strengths = len(counts.first), None
    sides = [table.answer == code for code in (FIRST, SECOND)]
    first, second, ties = (
        np.bincount(row[own], minlength=size) for own in (*sides, table.answer == TIE)
    )
    if counts.strengths is not None and table.strength is not None:
        strengths = np.zeros_like(counts.strengths)
        for k, own in enumerate(sides):
            np.add.at(strengths, (row[own], k, table.strength[own] - 1), 1)
    return replace(counts, wins_first=first, wins_second=second, ties=ties, strengths=strengths)


def without_terms(model: BradleyTerry) -> BradleyTerry:
    """The same model with one quality for all and one threshold: strata and sides together."""
    if not model.terms:
        return model
    pooled = model.counts.pooled()
    return replace(model, counts=replace(pooled, ordered=False).over(model.items), terms=())


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
