"""Leaving a judge out, against integrals over qualities and the judge's own terms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from support.everyday import everyday
from support.panel import crowd, fitted, network
from tiewise.criticism.judge_influence import own_answers
from tiewise.criticism.judge_likelihood import forget_judge, judge_log_likelihood
from tiewise.criticism.leave_one_judge_out import leave_one_judge_out, log_ratio
from tiewise.criticism.model_comparison import clustered_error, compare
from tiewise.data.comparisons import Comparisons
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.terms import Sharpness, Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.tree import attach_record

ITEMS, TIE, VARIANCE, SPREAD = ("a", "b", "c"), 0.5, 1.0, 0.6
TERMS = {
    "plain": (),
    "sharpness": (Sharpness(variance=Fixed(SPREAD**2)),),
    "thresholds": (Thresholds(variance=Fixed(SPREAD**2)),),
    "both": (Sharpness(variance=Fixed(SPREAD**2)), Thresholds(variance=Fixed(SPREAD**2))),
}
JUDGED = {
    "p": [(0, 1, 0), (1, 2, 0), (0, 2, 0), (0, 1, 1), (2, 1, 2)],
    "q": [(1, 0, 1), (1, 2, 1), (0, 2, 1), (2, 0, 2), (0, 1, 1), (1, 2, 1)],
    "r": [(0, 1, 2), (2, 1, 0), (0, 2, 0), (1, 0, 0)],
}
"""Answers of each judge: first, second, and 0 for the first, 1 for a tie, 2 for the second."""


@cache
def study(terms: str, draws: int = 4000):
    """Three judges of three items: model, posterior and record."""
    rows = [(judge, *row) for judge, answers in JUDGED.items() for row in answers]
    judge, first, second, answer = zip(*rows, strict=True)
    words = np.array(["first", "tie", "second"])
    comparisons = Comparisons.from_columns(
        first=np.array(ITEMS)[list(first)], second=np.array(ITEMS)[list(second)],
        outcome=words[list(answer)], judge=list(judge),
    )  # fmt: skip
    counts = comparisons.counts(by="judge" if TERMS[terms] else None)
    model = BradleyTerry(
        counts, Independent(ITEMS), variance=Fixed(VARIANCE), tie=Fixed(TIE), terms=TERMS[terms]
    )
    tree = fit(model, Transport(draws=draws), rng=4)
    attach_record(tree, model, comparisons)
    return model, tree, JudgementRecord.from_tree(tree)


def log_answers(gaps: np.ndarray, answer: int, tie: np.ndarray | float) -> np.ndarray:
    """Log probability of an answer, from Rao and Kupper's formulas."""
    win, lose = 1 / (1 + np.exp(tie - gaps)), 1 / (1 + np.exp(tie + gaps))
    return np.log([win, np.expm1(2 * tie) * win * lose, lose][answer])


def judge_integral(quality: np.ndarray, answers, terms: str) -> np.ndarray:
    """Log likelihood of a judge's answers at qualities (points, 3), by a fine grid over terms."""
    line = np.linspace(-5, 5, 61)
    weight = np.exp(-(line**2) / 2)
    weight /= weight.sum()
    zero, one = np.zeros(1), np.ones(1)
    sharp = line if terms in ("sharpness", "both") else zero
    loose = line if terms in ("thresholds", "both") else zero
    total = []
    for x, at_x in zip(sharp, weight if len(sharp) > 1 else one, strict=True):
        for y, at_y in zip(loose, weight if len(loose) > 1 else one, strict=True):
            scale, tie = np.exp(SPREAD * x), TIE * np.exp(SPREAD * y)
            log = sum(
                log_answers(scale * (quality[:, i] - quality[:, j]), answer, tie)
                for i, j, answer in answers
            )
            total.append(np.log(at_x * at_y) + log)
    return np.logaddexp.reduce(total)


def exact_scores(terms: str) -> dict[str, float]:
    """log p(answers of a judge | those of the others), by a grid over two differences."""
    line = np.linspace(-5, 5, 61)
    one, two = (part.ravel() for part in np.meshgrid(line, line, indexing="ij"))
    level = (one + two) / 3  # quality 2 integrated out: what is left of three standard normals
    prior = -(one**2 + two**2 - 3 * level**2) / (2 * VARIANCE)
    quality = np.stack([one, two, np.zeros_like(one)], 1)
    each = {judge: judge_integral(quality, answers, terms) for judge, answers in JUDGED.items()}
    whole = np.logaddexp.reduce(prior + sum(each.values()))
    return {
        judge: float(whole - np.logaddexp.reduce(prior + sum(each.values()) - own))
        for judge, own in each.items()
    }


@pytest.mark.parametrize("terms", everyday(TERMS, "plain", "thresholds"))
def test_the_likelihood_of_a_judge_has_the_judges_own_terms_integrated_out(terms):
    _, tree, record = study(terms, 400)
    draws = PosteriorDraws.from_tree(tree)
    for judge, own in own_answers(record, ties=True):
        quick = judge_log_likelihood(draws, own)
        exact = judge_integral(draws.quality, JUDGED[record.judges[judge]], terms)
        assert np.abs(quick - exact).max() < 5e-3


@pytest.mark.parametrize(
    ("terms", "trusted"),
    everyday(
        [(terms, k) for terms in ("plain", "sharpness", "thresholds") for k in (np.inf, 0.0)],
        ("thresholds", np.inf),
    ),
)
def test_scores_of_judges_are_those_of_exact_integration(terms, trusted):
    """By weights alone, and by a new fit for every judge, within Monte Carlo error."""
    model, tree, _ = study(terms)
    exact = exact_scores(terms)
    result = leave_one_judge_out(tree, model, rng=2, trusted=trusted)
    assert result.refitted.all() == (trusted == 0.0)
    # A thousand draws or more, of likelihoods that vary by less than their own size.
    assert dict(zip(result.judges, result.score, strict=True)) == pytest.approx(exact, abs=0.12)


def test_a_ratio_of_normalising_constants_is_that_of_gaussians():
    """Draws from N(0, 1) and from N(0, 1) times a likelihood, whose integral is known."""
    rng = np.random.default_rng(3)
    shift, sd = 2.5, 0.7

    def log_likelihood(x):
        return -((x - shift) ** 2) / (2 * sd**2)

    variance = 1 / (1 + sd**-2)
    with_it = rng.normal(variance * shift / sd**2, np.sqrt(variance), 20_000)
    exact = np.log(sd / np.sqrt(1 + sd**2)) - shift**2 / (2 * (1 + sd**2))
    result = log_ratio(log_likelihood(with_it), log_likelihood(rng.normal(size=20_000)))
    assert result == pytest.approx(exact, abs=0.05)


def test_somebody_unknown_has_the_terms_of_anybody():
    """Logarithms of new thresholds centre on the common one, with the spread of judges."""
    _, tree, record = study("both")
    draws = PosteriorDraws.from_tree(tree)
    own = dict(own_answers(record, ties=True))[1]
    new = forget_judge(draws, own, np.random.default_rng(1)).terms
    logs = np.log(new.threshold[:, 1]), np.log(new.sharpness[:, 1])
    for log, centre in zip(logs, (np.log(TIE), 0.0), strict=True):
        assert abs(log.mean() - centre) < 4 * SPREAD / np.sqrt(len(log))
        assert log.std() == pytest.approx(SPREAD, rel=0.06)
    assert np.array_equal(new.threshold[:, [0, 2]], draws.terms.threshold[:, [0, 2]])


@pytest.mark.slow
def test_new_fits_and_weights_agree_where_weights_can_be_trusted():
    """A crowd on a map, judge by judge; and the rest are fitted again."""
    prior = network(20)
    _, comparisons = crowd(prior, np.random.default_rng(5), good=8, each=15)
    model, tree = fitted(comparisons, prior, draws=8000)
    quick = leave_one_judge_out(tree, model, rng=1)
    slow = leave_one_judge_out(tree, model, rng=1, trusted=0.0)
    trusted = quick.k_hat < 0.5
    assert trusted.sum() >= 3
    assert np.abs(quick.score - slow.score)[trusted].max() < 0.3
    assert (quick.refitted == (quick.k_hat > 0.7)).all()


def test_left_out_judges_are_compared_judge_by_judge():
    trees = {name: study(name)[1] for name in ("plain", "thresholds")}
    result = compare(trees, leave_out="judge")
    scores = {name: leave_one_judge_out(tree, rng=1).score for name, tree in trees.items()}
    gap = scores["thresholds"] - scores["plain"]
    assert abs(result.table["difference"].iloc[1]) == pytest.approx(abs(gap.sum()))
    assert result.table["difference_se"].iloc[1] == pytest.approx(clustered_error(gap))
    assert list(result.by_judge.index) == ["p", "q", "r"]
    assert "3 judges are few" in result.sentences[-1]


def test_nobody_can_be_left_out_of_judgements_that_name_nobody():
    tree = fit(study("plain", 400)[0], Transport(draws=200), rng=1)
    with pytest.raises(InputError, match="nobody knows who judged"):
        leave_one_judge_out(tree)
