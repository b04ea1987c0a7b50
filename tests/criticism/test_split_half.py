"""Reliability by halves of judges and by standard errors, beside what is known to be true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from support.panel import crowd, fitted
from tiewise.criticism.split_half import (
    MOST_ITEMS,
    Scales,
    attach_split_half,
    separation_reliability,
    spearman_brown,
    split_half,
)
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.reliability import reliability_facts, scale_separation
from tiewise.progress import no_progress
from tiewise.report.reliability import reliability_sentences, which_to_quote

ITEMS = tuple(f"{k:02d}" for k in range(30))


def test_scale_separation_is_the_share_of_variance_that_is_not_error():
    estimate, error = np.array([-1.0, 0.0, 1.0]), np.array([0.3, 0.5, 0.4])
    assert scale_separation(estimate, error) == pytest.approx(1 - (0.09 + 0.25 + 0.16) / 3 / 1.0)
    assert scale_separation(estimate, 10 * error) == 0.0
    assert np.isnan(scale_separation(np.array([np.inf, 0.0]), error[:2]))


def test_two_halves_make_a_whole():
    """Spearman and Brown: halves that agree to 0.5 make a whole of 2/3."""
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
    assert spearman_brown(1.0) == 1.0
    assert spearman_brown(0.0) == 0.0
    assert spearman_brown(-1.0) == spearman_brown(-0.999) == -1.0


def test_separation_is_not_known_where_an_item_won_every_time():
    counts = Counts.of(("a", "b", "c"), [0, 0, 1], [1, 2, 2], [3, 3, 1], [0, 0, 1], [0, 0, 1])
    assert np.isnan(separation_reliability(BradleyTerry(counts, variance=Fixed(1.0))))


def test_three_judges_cannot_be_halved():
    _, data = crowd(Independent(ITEMS), np.random.default_rng(1), good=3)
    model, _ = fitted(data, Independent(ITEMS), draws=200)
    assert split_half(model, JudgementRecord.from_comparisons(data, model.items), splits=3) is None


@pytest.fixture(scope="module")
def panel():
    _, data = crowd(Independent(ITEMS), np.random.default_rng(2), good=8, each=40)
    model, tree = fitted(data, Independent(ITEMS), draws=400)
    return model, tree, JudgementRecord.from_comparisons(data, model.items)


def test_a_fit_says_how_reliable_it_is_and_which_figure_to_quote(panel):
    model, tree, record = panel
    attach_split_half(tree, model, record, no_progress)
    facts = reliability_facts(tree)
    alone = split_half(model, record, splits=facts["splits"], scales=Scales.from_tree(tree))
    assert alone is not None
    assert facts["split_half"] == round(alone.reliability, 4)
    assert facts["split_half_low"] < facts["split_half"] < facts["split_half_high"]
    ssr, halves, quote = reliability_sentences(facts, "items")
    assert ssr.startswith(f"SSR (scale separation reliability) {facts['ssr']:.2f}: ")
    assert halves.startswith(f"Split-half reliability {facts['split_half']:.2f} (")
    assert quote == which_to_quote(facts)
    assert quote.startswith("Quote the split halves")


def test_scales_of_the_whole_hardly_change_what_halves_agree_on(panel):
    model, tree, record = panel
    quick, slow = (
        split_half(model, record, splits=6, scales=scales)
        for scales in (Scales.from_tree(tree), None)
    )
    assert quick is not None
    assert slow is not None
    assert quick.reliability == pytest.approx(slow.reliability, abs=0.03)


def test_why_there_are_no_halves_is_said(panel):
    model, tree, record = panel
    few = record._replace(judgements=record.judgements.where(record.judgements.judge < 3))
    many = BradleyTerry(model.counts.over(tuple(f"{k:02d}" for k in range(MOST_ITEMS + 1))))
    for part, own, words in (
        (model, few, "fewer than 4 judges are known"), (model, None, "fewer than 4 judges"),
        (many, record, "`tiewise judges` computes it"),
    ):  # fmt: skip
        attach_split_half(tree, part, own, no_progress)
        facts = reliability_facts(tree)
        assert facts["split_half"] is None
        _, halves, quote = reliability_sentences(facts, "items")
        assert words in halves
        assert quote.startswith("Quote SSR")


def test_halves_that_do_not_vary_do_not_agree():
    """Two items that both halves call equal every time: 0, not a division by nothing."""
    pairs = np.zeros(8, int)
    record = JudgementRecord.from_comparisons(
        read_comparisons(
            pd.DataFrame({"user_id": [f"j{k}" for k in range(8)], "item_1_id": "a",
                          "item_2_id": "b", "selected_item_id": "", "state": "tied"})
        ), ("a", "b"),
    )  # fmt: skip
    counts = Counts.of(("a", "b"), pairs, pairs + 1, pairs, pairs, pairs + 1)
    model = BradleyTerry(counts, variance=Fixed(1.0))
    assert record is not None
    result = split_half(model, record, splits=2)
    assert result is not None
    assert np.isfinite(result).all()


@pytest.mark.slow
def test_split_halves_agree_as_well_as_two_panels_would():
    """Half of another panel of the same truth agrees with half of this one to the same degree."""
    rng, prior = np.random.default_rng(5), Independent(ITEMS)
    truth, data = crowd(prior, rng, good=12, each=60, variance=1.5)
    model, tree = fitted(data, prior, draws=1000)
    result = split_half(model, JudgementRecord.from_comparisons(data, model.items), splits=30)
    quality = tree["posterior/quality"].to_numpy().reshape(-1, len(ITEMS))
    squared = np.corrcoef(quality.mean(axis=0), truth.quality)[0, 1] ** 2
    # Reliability is the squared correlation of estimates with the truth.
    spread = 3 * (1 - squared) / np.sqrt(len(ITEMS)) * 2
    assert result.low < result.reliability < result.high
    assert abs(result.reliability - squared) < spread
