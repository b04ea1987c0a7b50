"""Leave-one-judge-out: how well a model predicts all the answers of a judge it has not seen.

The score of a judge is log p(answers of the judge | answers of the others), the judge's own terms
integrated out. It comes from weighted draws (PSIS) where k-hat is at most 0.7. Where it is higher
the model is fitted again without the judge, and the ratio of the normalising constants of the two
posteriors is taken from the draws of both (Bennett 1976; Meng and Wong 1996).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_influence import (
    own_answers,
    pareto_smoothed,
    posterior_draws,
    refit_without,
    refuse_unknown_strata,
)
from tiewise.criticism.judge_likelihood import OwnAnswers, judge_log_likelihood
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import TRUSTED_K
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.tree import rebuild_model
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed_sequence

Floats = NDArray[np.float64]

STEPS = 200
"""Steps of the fixed point of a ratio of normalising constants; about twenty are needed."""


class JudgeScores(NamedTuple):
    """Log score of each judge left out, its score in the sample, k-hat, and who was fitted again.

    Where k-hat is above 0.7 and nothing was fitted again, the score is rough.
    """

    judges: tuple[str, ...]
    score: Floats
    in_sample: Floats
    k_hat: Floats
    refitted: NDArray[np.bool_]

    @property
    def rough(self) -> NDArray[np.bool_]:
        """Whose score rests on weights that cannot be trusted."""
        return (self.k_hat > TRUSTED_K) & ~self.refitted


def leave_one_judge_out(
    tree: DataTree,
    model: BradleyTerry | None = None,
    *,
    rng: RNGLike = 1,
    trusted: float = TRUSTED_K,
    progress: Progress = no_progress,
) -> JudgeScores:
    """The log score of every judge under the fit without that judge.

    Without the `model` it is built again from the results; where these do not allow it nothing is
    fitted again. Weights are used up to a k-hat of `trusted`: 0 fits again for every judge.
    """
    record = JudgementRecord.from_tree(tree)
    if record is None or not record.judges:
        raise InputError(
            "nobody knows who judged, so no judge can be left out; fit a file that names judges, "
            "and keep the record"
        )
    if record.stratum is None and int(tree["observed_data/stratum"].max()) > 0:
        raise InputError(
            "these results do not say whose terms a judgement falls under; fit the file again"
        )
    model = model or _rebuilt(tree, record)
    draws, ties = posterior_draws(tree), bool((tree["posterior/tie"] > 0).any())
    seeds = as_seed_sequence(rng).generate_state(len(record.judges))
    rows = []
    for judge, own in own_answers(record, ties=ties):
        progress("judges", judge, len(record.judges))
        log_likelihood = judge_log_likelihood(draws, own)
        k_hat = pareto_smoothed(-log_likelihood)[1]
        again = k_hat > trusted and model is not None
        score = _by_weights(log_likelihood)
        if again and model is not None:
            refit = refit_without(model, record, judge, int(seeds[judge]))
            score = _by_refit(log_likelihood, draws, refit, own)
        rows.append((record.judges[judge], score, _log_mean(log_likelihood), k_hat, again))
    judges, *columns = zip(*rows, strict=True)
    scores, in_sample, k_hats, refitted = (np.array(column) for column in columns)
    return JudgeScores(judges, scores, in_sample, k_hats, refitted.astype(bool))


def _rebuilt(tree: DataTree, record: JudgementRecord) -> BradleyTerry | None:
    """The model of these results, or None where they do not hold enough of it."""
    try:
        model = rebuild_model(tree)
        refuse_unknown_strata(model, record)
    except InputError:
        return None
    return model


def _by_weights(log_likelihood: Floats) -> float:
    """Log of the mean likelihood under the posterior without the answers, by smoothed weights."""
    weight, _ = pareto_smoothed(-log_likelihood)
    top = log_likelihood.max()
    return float(top + np.log(weight @ np.exp(log_likelihood - top)))


def _by_refit(
    log_likelihood: Floats, draws: PosteriorDraws, refit: PosteriorDraws, own: OwnAnswers
) -> float:
    step = max(len(refit) // len(draws), 1)
    some = refit.select(slice(None, None, step))
    return log_ratio(log_likelihood, judge_log_likelihood(some, own, draws))


def log_ratio(with_answers: Floats, without: Floats) -> float:
    """Log of ∫ L p over ∫ p, from log L at draws from the density L p, and at draws from p.

    The optimal bridge: r = mean over p of L / (s L + t r), over the mean over L p of
    1 / (s L + t r), with s and t the shares of draws.
    """
    share = len(with_answers) / (len(with_answers) + len(without))
    log_share, log_rest = np.log(share), np.log1p(-share)
    ratio = float(np.median(np.concatenate([with_answers, without])))
    for _ in range(STEPS):
        above = without - np.logaddexp(log_share + without, log_rest + ratio)
        below = -np.logaddexp(log_share + with_answers, log_rest + ratio)
        new = _log_mean(above) - _log_mean(below)
        if abs(new - ratio) < 1e-9:
            break
        ratio = new
    return ratio


def _log_mean(log: Floats) -> float:
    """Log of the mean of what these are logs of."""
    return float(np.logaddexp.reduce(log) - np.log(len(log)))
