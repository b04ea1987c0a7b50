"""Posteriors of models with facts of comparisons, against other people's logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

from support.judge_studies import model_with_terms
from support.reference_formulas import monte_carlo_error
from tiewise.criticism.judge_influence import restrict_to_judgements
from tiewise.criticism.leave_one_out import answer_rows
from tiewise.data.counts import Counts
from tiewise.engines import transport
from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.terms import Order
from tiewise.posterior.fit import fit
from tiewise.posterior.judgement_record import (
    JudgementRecord,
    fitted_judgements_by_stratum,
    fitted_strata,
)
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.tree import rebuild_model

ITEMS, VOTES = 8, 4000
TRUTH = np.array([0.5, -0.002, 0.0])
NAMES = ("markdown", "length", "lists")


def style_votes(seed: int, tie: float = 0.0) -> tuple[Counts, dict[str, np.ndarray]]:
    """Votes of an arena whose answers have a style, by known coefficients."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(-1.5, 1.5, ITEMS)
    first = rng.integers(ITEMS, size=VOTES)
    second = (first + rng.integers(1, ITEMS, size=VOTES)) % ITEMS
    facts = rng.normal(size=(VOTES, 3)) * [1.0, 200.0, 3.0]
    gap = quality[first] - quality[second] + facts @ TRUTH
    ahead, tied, _ = answer_probabilities(gap, np.full(VOTES, tie))
    uniform = rng.uniform(size=VOTES)
    answer = (uniform >= ahead).astype(int) + (uniform >= ahead + tied)
    counts = Counts.of(
        [str(k) for k in range(ITEMS)], first, second, answer == 0, answer == 2, answer == 1,
        ordered=True, facts=facts, fact_names=NAMES,
    )  # fmt: skip
    return counts, {"first": first, "second": second, "facts": facts, "won": answer == 0}


@pytest.mark.slow
def test_style_control_is_the_logistic_regression_of_arenas():
    """The witness is statsmodels: with flat priors, its estimates and standard errors."""
    import statsmodels.api as sm

    counts, votes = style_votes(1)
    rows = np.arange(VOTES)
    items = np.zeros((VOTES, ITEMS))
    items[rows, votes["first"]], items[rows, votes["second"]] = 1.0, -1.0
    standard = votes["facts"] / votes["facts"].std(axis=0)
    result = sm.Logit(votes["won"], np.c_[items[:, 1:], standard]).fit(disp=0)
    model = BradleyTerry(
        counts, variance=Fixed(400.0), tie=None, terms=(Order(facts=NAMES, variance=Fixed(400.0)),)
    )
    tree = fit(model, Transport(draws=800), rng=1)
    order = tree["posterior/order"].to_numpy() * votes["facts"].std(axis=0)
    quality = tree["posterior/quality"].to_numpy()
    draws = np.concatenate([quality[..., 1:] - quality[..., :1], order], axis=-1)
    flat = draws.reshape(-1, draws.shape[-1])
    sd = flat.std(axis=0)
    assert np.abs((flat.mean(axis=0) - result.params) / sd).max() < 0.2
    assert sd == pytest.approx(result.bse, rel=0.12)


def test_known_coefficients_come_back():
    counts, _ = style_votes(2, tie=0.4)
    tree = fit(BradleyTerry(counts, terms=(Order(facts=("first", *NAMES)),)), rng=3)
    order = tree["posterior/order"]
    assert order["advantage"].to_numpy().tolist() == ["first", *NAMES]
    mean, sd = order.mean(("chain", "draw")).to_numpy(), order.std(("chain", "draw")).to_numpy()
    assert np.abs((mean - [0.0, *TRUTH]) / sd).max() < 4
    assert tree.attrs["ess_min"] > 400
    assert float(tree["posterior/tie"].mean()) == pytest.approx(0.4, abs=0.06)


@pytest.mark.slow
def test_single_precision_and_fewer_draws_give_the_same_posterior(monkeypatch):
    """As for a million votes: the same means within Monte Carlo error."""
    from tiewise.engines.preconditioners import hierarchical_preconditioner

    counts, _ = style_votes(4, tie=0.4)
    model = BradleyTerry(counts, terms=(Order(facts=NAMES),))
    double = fit(model, rng=5)
    monkeypatch.setattr(transport, "MANY_ROWS", 1000)
    monkeypatch.setattr(hierarchical_preconditioner, "SINGLE_PRECISION_ROWS", 1000)
    single = fit(model, rng=6)
    assert single["posterior"].sizes["chain"] * single["posterior"].sizes["draw"] == 1600
    for name in ("order", "quality"):
        one, two = (tree[f"posterior/{name}"].to_numpy() for tree in (double, single))
        error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
        assert np.abs((one.mean((0, 1)) - two.mean((0, 1))) / error).max() < 4.5


def test_predictions_know_the_facts_of_every_answer():
    """Answer by answer, their probabilities multiply to the likelihood of the fit."""
    model = model_with_terms("facts and judges")
    tree = fit(model, Transport(draws=200), rng=7)
    rows, draws = answer_rows(tree), PosteriorDraws.from_tree(tree)
    each = draws.log_probability(rows.first, rows.second, rows.answer, rows.stratum)
    whole = tree["log_likelihood/judgements"].to_numpy().ravel()
    assert np.allclose(each @ rows.times, whole, rtol=0, atol=1e-9)


def test_a_model_with_facts_is_put_together_again_and_keeps_its_rows():
    counts, _ = style_votes(8, tie=0.4)
    model = BradleyTerry(counts, terms=(Order(facts=NAMES),))
    tree = fit(model, Transport(draws=100), rng=8)
    again = rebuild_model(tree)
    assert again.counts.digest() == counts.digest()
    assert again.terms == model.terms
    table = fitted_judgements_by_stratum(tree)
    record = JudgementRecord((), table, has_sides=True, stratum=fitted_strata(tree))
    half = np.arange(VOTES) % 2 == 0
    parts = [restrict_to_judgements(again, record, own).counts for own in (half, ~half)]
    assert all(np.array_equal(part.facts, counts.facts) for part in parts)
    assert [part.comparisons for part in parts] == [VOTES // 2, VOTES // 2]
    assert np.array_equal(parts[0].ties + parts[1].ties, counts.ties)
