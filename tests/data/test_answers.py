"""Answers: one encoding, and scales that agree with the model by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from tiewise.data.answers import (
    ANSWERS,
    CHOOSE,
    CHOOSE_OR_TIE,
    CODE_OF_STORED,
    CODE_OF_VOTE,
    CODE_OF_WORD,
    FIRST,
    SECOND,
    SKIP,
    TIE,
    AnswerScale,
)


def test_every_answer_is_at_its_own_code():
    assert [ANSWERS[answer.code] for answer in ANSWERS] == list(ANSWERS)
    assert [answer.code for answer in ANSWERS] == [FIRST, TIE, SECOND, SKIP]


def test_names_of_answers_mean_one_answer_each():
    assert CODE_OF_WORD == {"first": FIRST, "tie": TIE, "second": SECOND, "skip": SKIP}
    assert CODE_OF_STORED == {"left": FIRST, "tie": TIE, "right": SECOND, "skip": SKIP}
    assert CODE_OF_VOTE["model_b"] == SECOND
    assert {CODE_OF_VOTE[vote] for vote in ("tie", "tie (bothbad)", "both_bad")} == {TIE}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("skips", [False, True])
def test_a_scale_offers_what_a_study_allows(ties, skips):
    scale = AnswerScale.of(ties=ties, skips=skips)
    offered = ["left", *["tie"] * ties, "right", *["skip"] * skips]
    assert [answer.stored for answer in scale.answers] == offered
    assert scale.codes == {CODE_OF_STORED[name] for name in offered}
    assert (scale.named("tie") is not None, scale.named("skip") is not None) == (ties, skips)
    assert scale.named("both") is None


@pytest.mark.parametrize(
    ("ties", "levels", "names", "cuts"),
    [
        (True, 2, "left_2 left tie right right_2", 4),
        (False, 2, "left_2 left right right_2", 3),
        (True, 3, "left_3 left_2 left tie right right_2 right_3", 6),
    ],
)
def test_graded_answers_run_from_the_strongest_for_one_to_that_for_the_other(
    ties, levels, names, cuts
):
    scale = AnswerScale.of(ties=ties, skips=True, levels=levels)
    assert [answer.name for answer in scale.grades] == names.split()
    assert [answer.number for answer in scale.grades] == [str(k + 1) for k in range(cuts + 1)]
    assert (scale.levels, scale.cuts) == (levels, cuts)
    # What is stored of them are the plain answers, and the strength beside.
    assert {answer.stored for answer in scale.answers} <= set(CODE_OF_STORED)
    assert scale.named("left_2").strength == 2
    assert scale.named("left_4") is None
    # Neighbours share a cut.
    bounds = [scale.bounds(answer.code, answer.strength) for answer in scale.grades]
    assert [low for low, _ in bounds[:-1]] == [high for _, high in bounds[1:]]
    # No key presses two buttons, and words of either side are the same.
    keys = [key for answer in scale.answers for key in answer.shortcuts.split()]
    assert len(keys) == len(set(keys))
    wordings = [scale.wording(answer) for answer in scale.grades]
    assert wordings == wordings[::-1]


def test_grades_lie_between_cuts():
    """A higher difference is for the first: it has no upper bound, and the second no lower."""
    assert [CHOOSE_OR_TIE.bounds(code) for code in (FIRST, TIE, SECOND)] == [
        (1, None), (0, 1), (None, 0),
    ]  # fmt: skip
    assert [CHOOSE.bounds(code) for code in (FIRST, SECOND)] == [(0, None), (None, 0)]
    assert (CHOOSE.cuts, CHOOSE_OR_TIE.cuts) == (1, 2)


@pytest.mark.parametrize("tie", [1e-6, 0.1, 0.5, 2.0, 12.0])
def test_the_factor_of_a_tie_is_what_two_successes_lack(tie):
    """σ(g + δ) − σ(g − δ) is a success each way times e^{2δ} − 1, whatever the difference."""
    for gap in (-2.0, 0.0, 0.7):
        above, below = 1 / (1 + exp(-(gap - tie))), 1 / (1 + exp(gap + tie))
        middle = 1 / (1 + exp(-(gap + tie))) - above
        factor = exp(float(CHOOSE_OR_TIE.log_factor(tie)))
        assert factor * above * below == pytest.approx(middle, rel=1e-6)


def test_the_factor_has_the_slope_and_curvature_of_its_logarithm():
    tie, step = np.array([0.05, 0.5, 3.0]), 1e-4
    up, here, down = (CHOOSE_OR_TIE.log_factor(tie + move, 7) for move in (step, 0.0, -step))
    slope, curvature = (up - down) / (2 * step), -(up - 2 * here + down) / step**2
    assert CHOOSE_OR_TIE.log_factor_slope(tie, 7) == pytest.approx(slope, rel=1e-4)
    assert CHOOSE_OR_TIE.log_factor_curvature(tie, 7) == pytest.approx(curvature, rel=1e-2)


def test_the_factor_does_not_overflow():
    assert float(CHOOSE_OR_TIE.log_factor(1000.0)) == 2000.0
    assert float(CHOOSE_OR_TIE.log_factor_curvature(1000.0)) == pytest.approx(0.0, abs=1e-200)
    assert float(CHOOSE_OR_TIE.log_factor(1e-9)) == pytest.approx(log(2e-9))
