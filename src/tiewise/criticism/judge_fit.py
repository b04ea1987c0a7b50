"""Infit and outfit of each judge and each item.

The score of an answer is 1, ½ or 0 for the first of a pair: chosen, tie, not chosen; of graded
answers it falls in equal steps, with five of them 1, ¾, ½, ¼ and 0. Its residual is the score
less its expectation. Infit is the sum of squared residuals over the sum of their variances; outfit
is the mean of squared residuals, each over its own variance. Without ties these are the usual
figures of comparative judgement. Above 1 is less predictable than the model expects, below 1 more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_influence import (
    PosteriorWithoutJudge,
    QualitySummary,
    influence,
    leave_each_judge_out,
    own_answers,
    refuse_unknown_strata,
)
from tiewise.criticism.judge_statistics import judge_statistics
from tiewise.criticism.leave_own_out import GaussianPosterior
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.judgement_record import (
    JudgementRecord,
    JudgementTable,
    fitted_judgements,
    fitted_judgements_by_stratum,
    fitted_strata,
)
from tiewise.posterior.predictions import (
    PosteriorDraws,
    has_strata,
    replicate_answers,
    tail_probability,
)
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

REPLICATES = 1000
"""Replicated sets of answers for each judge."""
ITEM_DRAWS = 300
"""Posterior draws used for items."""


class JudgeFit(NamedTuple):
    """Infit and outfit, with the probability of as much or more if the model is right.

    95 % of infits lie between `infit_low` and `infit_high` then.
    """

    infit: float
    outfit: float
    infit_p: float
    outfit_p: float
    infit_low: float
    infit_high: float


# Judges.


def judge_fit(
    without: PosteriorWithoutJudge,
    own: JudgementTable,
    rng: Generator,
    *,
    stratum: Integers | None = None,
    replicates: int = REPLICATES,
) -> JudgeFit:
    """Infit and outfit of a judge's answers under the posterior of all the other judges.

    Both are 1 on average for a judge who follows the model, and p-values are uniform then:
    expectations and replicates both come from the posterior without the judge. `stratum` is that
    of each answer, in a model that has any.
    """
    draws = _resample(without, replicates, rng)
    probability, scores = draws.grade_probabilities(own.left, own.right, stratum), draws.scores
    mean, variance = _score_moments(probability.mean(axis=1), scores)
    answers = np.vstack([own.grades(draws.levels)[None, :], replicate_answers(probability, rng)])
    square = (scores[answers] - mean) ** 2
    infit, outfit = square.sum(axis=1) / variance.sum(), (square / variance).mean(axis=1)
    return JudgeFit(
        float(infit[0]), float(outfit[0]),
        float(tail_probability(infit[1:], infit[0])),
        float(tail_probability(outfit[1:], outfit[0])),
        *(float(end) for end in np.quantile(infit[1:], (0.025, 0.975))),
    )  # fmt: skip


def _resample(without: PosteriorWithoutJudge, number: int, rng: Generator) -> PosteriorDraws:
    """Draws in proportion to their weights, by systematic resampling."""
    steps = (np.arange(number) + rng.uniform()) / number
    which = np.searchsorted(np.cumsum(without.weight), steps).clip(max=len(without.weight) - 1)
    return without.draws.select(which)


def _score_moments(probability: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the score of an answer, from the probabilities (grades, ...)."""
    # The first answer has the score 1.
    mean, square = (
        sum((s * p for s, p in zip(own[1:], probability[1:], strict=True)), probability[0])
        for own in (scores, scores**2)
    )
    return mean, np.maximum(square - mean**2, 1e-9)


def judge_table(
    model: BradleyTerry,
    tree: DataTree,
    record: JudgementRecord | None = None,
    *,
    rng: RNGLike = 1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """One row for each judge: statistics, infit and outfit, influence on the results, and flags.

    Without a `record`, the one stored with the posterior is read.
    """
    seed = as_seed(rng)
    known = JudgementRecord.from_tree(tree) if record is None else record
    record = _check_judges(known)
    refuse_unknown_strata(model, record)
    draws = PosteriorDraws.from_tree(tree)
    gaussian = GaussianPosterior.from_draws(draws.quality, draws.tie, draws.cuts)
    excluded = np.zeros(len(record.judges), bool)
    rows = judge_statistics(record.judges, record.judgements, gaussian, excluded)
    table = pd.DataFrame(rows).set_index("judge", drop=False)
    if not record.has_sides:
        table = table.assign(left_share=np.nan)
    columns = _fit_and_influence(
        model, tree, record, QualitySummary.from_draws(draws), seed, progress
    )
    return _ordered(table.join(columns))


def _fit_and_influence(
    model: BradleyTerry, tree: DataTree, record: JudgementRecord, whole: QualitySummary, seed: int,
    progress: Progress,
) -> pd.DataFrame:  # fmt: skip
    """Infit, outfit and influence of every judge who compared something."""
    items, answers = model.items, dict(own_answers(record, ties=model.fixed_tie != 0))
    generator, rows = default_rng([seed, 11]), dict[str, Any]()
    for without in leave_each_judge_out(model, tree, record, rng=seed):
        progress("judges", len(rows), len(record.judges))
        own = answers[without.judge]
        moved = influence(whole, QualitySummary.from_draws(without.draws, without.weight))
        rows[record.judges[without.judge]] = {
            **judge_fit(without, own.table, generator, stratum=own.stratum)._asdict(),
            "influence": moved.shift, "most_moved": items[moved.item], "most_moved_by": moved.most,
            "ranks_moved": moved.moved, "k_hat": without.k_hat, "refitted": without.refitted,
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index")


COLUMNS = (
    "judge", "comparisons", "skips", "median_seconds", "tie_share", "skip_share", "left_share",
    "agreement", "expected_agreement", "misfit", "misfit_p", "infit", "infit_p", "infit_low",
    "infit_high", "outfit", "outfit_p", "influence", "most_moved", "most_moved_by", "ranks_moved",
    "k_hat", "refitted", "repeats", "consistency", "flags",
)  # fmt: skip
"""The columns of `judges.csv`."""


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    flags = table["flags"].map(lambda flags: "; ".join(flag["says"] for flag in flags))
    table = table.assign(flags=flags).reindex(columns=list(COLUMNS))
    # Judges with a flag come first, then those with the least likely infit.
    table = table.assign(plain=flags == "").sort_values(["plain", "infit_p"], kind="stable")
    return table.drop(columns="plain").reset_index(drop=True)


def _check_judges(record: JudgementRecord | None) -> JudgementRecord:
    if record is None or not record.judges:
        raise InputError(
            "nobody knows who judged: these judgements name no judges; "
            "name their column (judge=), or give a file that has one"
        )
    if len(np.unique(record.compared.judge)) < 2:
        raise InputError("there is but one judge, and nobody to set them against; give more")
    return record


# Items.


def item_fit(tree: DataTree, *, draws: int = ITEM_DRAWS, rng: RNGLike = 1) -> pd.DataFrame:
    """Infit and outfit of each item, averaged over draws, with posterior predictive p-values.

    At a draw of the posterior both are 1 on average where the model is right. The item's own
    answers are in the fit, so that p-values are nearer to ½ than uniform ones.
    """
    constant = tree["constant_data"]
    items, names = (constant[key].to_numpy().astype(str) for key in ("item", "name"))
    observed, replicated = _item_misfit(tree, len(items), draws, default_rng([as_seed(rng), 13]))
    p = tail_probability(replicated - observed, 0.0)
    compared = constant["comparisons"].to_numpy() > 0
    figures = {
        name: np.where(compared, column, np.nan)
        for name, column in zip(
            ("infit", "outfit", "infit_p", "outfit_p"), (*observed.mean(axis=0), *p), strict=True
        )
    }
    columns = {"item": items, "name": names, "comparisons": constant["comparisons"]}
    return pd.DataFrame({**columns, **figures})


def _item_misfit(tree: DataTree, items: int, draws: int, rng: Generator) -> tuple[Floats, Floats]:
    """Infit and outfit (draws, 2, items) of the observed answers, and of replicated ones."""
    table = fitted_judgements_by_stratum(tree) if has_strata(tree) else fitted_judgements(tree)
    stratum = fitted_strata(tree) if has_strata(tree) else None
    observed: list[Floats] = []
    replicated: list[Floats] = []
    whole = PosteriorDraws.from_tree(tree, draws)
    scores, grade = whole.scores, table.grades(whole.levels)
    for part in whole.batches(len(table.left)):
        probability = part.grade_probabilities(table.left, table.right, stratum)
        mean, variance = _score_moments(probability, scores)
        replicates = replicate_answers(probability, rng)
        for answer, out in ((grade[None, :], observed), (replicates, replicated)):
            square = (scores[answer] - mean) ** 2
            out.extend(_by_item(table, s, v, items) for s, v in zip(square, variance, strict=True))
    return np.stack(observed), np.stack(replicated)


def _by_item(table: JudgementTable, square: Floats, variance: Floats, size: int) -> Floats:
    """Infit and outfit (2, items) of one set of answers."""
    item = np.concatenate([table.left, table.right])

    def total(values: Floats) -> Floats:
        sums: Floats = np.bincount(item, np.concatenate([values, values]), size).astype(float)
        return sums

    number = np.maximum(np.bincount(item, minlength=size), 1)
    infit = total(square) / np.maximum(total(variance), 1e-9)
    return np.stack([infit, total(square / variance) / number])
