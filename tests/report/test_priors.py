"""The priors of a fit in words: which they are, and how much they matter."""

from __future__ import annotations

import pytest

import tiewise as tw
from tiewise.criticism.verdict_parts import THRESHOLDS
from tiewise.report.priors import prior_rows, sensitivity_sentence

COUNTS = tw.Counts.of(["a", "b", "c"], [0, 1], [1, 2], [3, 1], [2, 1], [1, 0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "the defaults of Tiewise"),
        (tw.paper_priors(), "those of the paper"),
        ({"variance": tw.Fixed(1.0)}, "chosen for this fit"),
    ],
)
def test_the_set_of_priors_is_named_before_its_priors(options, words):
    rows = prior_rows(tw.build_model(COUNTS, **options).to_dict())
    assert rows[0] == ("Priors", words)
    assert [label for label, _ in rows[1:]] == ["Qualities, Σ", "Variance, α²", "Tie threshold, δ"]


def test_priors_that_hardly_matter_are_said_to():
    facts = {"prior_sensitivity": {"tie": 0.01, "alpha": 0.021, "quality": 0.004, "item": "a"}}
    sentence = sensitivity_sentence(facts, {})
    assert sentence.startswith("The priors of the scales matter little:")
    assert "at most 0.021; 0.05 is where it would begin to matter" in sentence


def test_what_depends_on_the_priors_is_named_with_its_sensitivity():
    above = THRESHOLDS.prior_sensitivity + 0.02
    facts = {"prior_sensitivity": {"tie": 0.01, "alpha": 0.2, "quality": above, "item": "a"}}
    sentence = sensitivity_sentence(facts, {"a": "Ash"})
    assert "they would move the spread α (0.20) and the quality of Ash (0.07)" in sentence
    assert "δ" not in sentence


@pytest.mark.parametrize("facts", [{}, {"prior_sensitivity": {}}])
def test_nothing_is_said_where_it_is_not_known(facts):
    """A point estimate, an engine with priors of its own, results of an earlier version."""
    assert sensitivity_sentence(facts, {}) == ""
