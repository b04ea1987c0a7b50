"""Terms in the likelihood: each judgement written out longhand beside them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from support.judge_studies import (
    GROUP,
    ITEMS,
    JUDGES,
    count_answers,
    random_answers,
    term_log_likelihood,
)
from support.reference_formulas import (
    DIFFERENCE,
    LEVEL,
    assert_normal_scores,
    derivative,
)
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import LikelihoodArguments
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.notation import format_prior
from tiewise.model.simulate import Truth, replicate_counts
from tiewise.model.strata_kernels import MAX_GAP, exp_double, exp_single
from tiewise.model.term_design import TermDesign
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds, describe_term

EVERY = (Order(), Groups(GROUP), Sharpness(), Thresholds())


@st.composite
def points(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """A value for everything that terms have: two groups, one advantage, three judges."""

    def numbers(size: int, low: float, high: float) -> np.ndarray:
        return np.array(draw(st.lists(st.floats(low, high), min_size=size, max_size=size)))

    return {
        "quality": numbers(4, -3, 3),
        "contrast": numbers(8, -1, 1).reshape(2, 4),
        "order": numbers(1, -1, 1),
        "sharpness": np.exp(numbers(3, -1, 1)),
        "threshold": np.exp(numbers(3, -3, 1)),
    }


def arguments_at(design: TermDesign, at: dict[str, np.ndarray]) -> LikelihoodArguments:
    more = {name: value[..., None] for name, value in at.items() if name != "quality"}
    return design.arguments(at["quality"][:, None], np.ones(1), more)


def test_the_quick_exponential_is_as_exact_as_it_says():
    gaps = np.linspace(-MAX_GAP, MAX_GAP, 20_001)
    quick = np.array([exp_double(gap) for gap in gaps])
    assert np.abs(quick / np.exp(gaps) - 1).max() < 1e-13


def test_the_exponential_in_single_precision_is_as_exact_as_it_says():
    gaps = np.linspace(-8, 8, 2001, dtype=np.float32)
    # Without Numba, which would give back numbers of double precision.
    quick = np.array([exp_single.py_func(gap) for gap in gaps])
    assert quick.dtype == np.float32
    assert np.abs(quick / np.exp(gaps.astype(float)) - 1).max() < 4e-6


@pytest.mark.parametrize("wide", [1.0, 5.0, 50.0])
def test_slopes_in_single_precision_are_those_in_double(wide):
    """Also at gaps so wide that their exponentials are beyond single precision."""
    rng = np.random.default_rng(6)
    design = BradleyTerry(count_answers(random_answers(400)), terms=EVERY).design
    likelihood, chains = design.likelihood, 3
    shift, log_sharpness, log_tie = rng.normal(0, 0.4, (3, likelihood.strata, chains))
    quality = wide * rng.normal(size=(likelihood.groups * likelihood.items, chains))
    at = LikelihoodArguments(quality, shift, log_sharpness, np.exp(log_tie))
    single = at._replace(quality=quality.astype(np.float32))
    for ours, exact in zip(likelihood.gradient(single), likelihood.gradient(at), strict=True):
        assert np.allclose(ours, exact, rtol=1e-4, atol=1e-4 * wide)


@given(points(), st.integers(1, 40), st.sampled_from([1.0, 30.0]))
@settings(max_examples=60, deadline=None)
def test_likelihood_is_that_of_each_judges_own_view(at, number, wide):
    """Also at gaps of a hundred, where one way of computing gives over to another."""
    answers = random_answers(number)
    at = at | {"quality": wide * at["quality"]}
    design = BradleyTerry(count_answers(answers), terms=EVERY).design
    ours = design.likelihood.log_likelihood(arguments_at(design, at))[0]
    assert ours == pytest.approx(term_log_likelihood(answers, at), rel=1e-11, abs=1e-11)


@given(points())
@settings(max_examples=30, deadline=None)
def test_groups_alone_need_no_loop_of_their_own(at):
    """Two groups with one threshold: the loops of the plain model, on twice the items."""
    answers = random_answers(30)
    design = BradleyTerry(count_answers(answers, ordered=False), terms=(Groups(GROUP),)).design
    assert not design.likelihood.stratified
    alike = {"order": np.zeros(1), "sharpness": np.ones(3), "threshold": np.ones(3)}
    more = {"contrast": at["contrast"][..., None]}
    ours = design.likelihood.log_likelihood(
        design.arguments(at["quality"][:, None], np.ones(1), more)
    )[0]
    assert ours == pytest.approx(term_log_likelihood(answers, at | alike), rel=1e-11, abs=1e-11)


def flat(point: LikelihoodArguments) -> np.ndarray:
    return np.concatenate([part[:, 0] for part in point])


def unflat(vector: np.ndarray) -> LikelihoodArguments:
    return LikelihoodArguments(*(part[:, None] for part in np.split(vector, [8, 11, 14])))


@given(points(), st.sampled_from([1.0, 30.0]))
@settings(max_examples=30, deadline=None)
def test_slopes_are_derivatives_of_the_likelihood(at, wide):
    design = BradleyTerry(count_answers(random_answers(30)), terms=EVERY).design
    point = flat(arguments_at(design, at))
    point[:8] *= wide
    point[14:] += 0.1
    differences = derivative(lambda p: design.likelihood.log_likelihood(unflat(p))[0], point)
    # Sums of hundreds lose what a double cannot hold of them; thin thresholds bend sharply.
    scale = 30 * wide**2 / point[14:].min() ** 4
    ours = flat(design.likelihood.gradient(unflat(point)))
    assert np.allclose(ours, differences, rtol=0, atol=DIFFERENCE * scale)


def test_bends_are_derivatives_of_the_slopes():
    """But for those by sharpness, of which those with mean zero are left out."""
    design = BradleyTerry(count_answers(random_answers(40)), terms=EVERY).design
    rng = np.random.default_rng(2)
    point = np.concatenate([rng.normal(size=14), np.exp(rng.normal(size=3) / 3)])
    hessian = -derivative(lambda p: flat(design.likelihood.gradient(unflat(p))), point)
    ours = design.likelihood.negative_hessian(unflat(point))
    quality, shift, sharp, tie = slice(8), slice(8, 11), slice(11, 14), slice(14, 17)
    blocks = np.block(
        [[ours.laplacians[0], np.zeros((4, 4))], [np.zeros((4, 4)), ours.laplacians[1]]]
    )
    assert np.allclose(hessian[quality, quality], blocks, atol=1e-6)
    assert np.allclose(hessian[shift, quality], ours.shift, atol=1e-6)
    assert np.allclose(hessian[tie, quality], ours.tie[0], atol=1e-6)
    for one, two, known in (
        (shift, shift, ours.shift_shift), (shift, tie, ours.shift_tie[0]),
        (tie, tie, ours.tie_tie[0, 0]), (sharp, tie, ours.sharpness_tie[0]),
    ):  # fmt: skip
        assert np.allclose(hessian[one, two], np.diag(known), atol=1e-6)


def test_chains_do_not_touch_each_other():
    design = BradleyTerry(count_answers(random_answers(30)), terms=EVERY).design
    rng = np.random.default_rng(2)
    vectors = [np.append(rng.normal(size=14), np.exp(rng.normal(size=3))) for _ in range(3)]
    together = LikelihoodArguments(
        *(np.concatenate(parts, axis=1) for parts in zip(*map(unflat, vectors), strict=True))
    )
    likelihood, slopes = (
        design.likelihood.log_likelihood(together),
        design.likelihood.gradient(together),
    )
    for k, vector in enumerate(vectors):
        assert design.likelihood.log_likelihood(unflat(vector))[0] == likelihood[k]
        assert np.array_equal(
            flat(design.likelihood.gradient(unflat(vector))), flat(slopes.chain(k))
        )


@pytest.mark.parametrize("number", [2, 3, 5])
def test_contrasts_are_independent_views_less_their_mean(number):
    """Their covariance over groups is I − 1/G, whatever columns give it."""
    names = tuple("pqrst"[:number])
    counts = Counts.of(("a", "b"), [0] * number, [1] * number, [1] * number, [0] * number,
                       stratum=range(number), strata=names)  # fmt: skip
    Q = TermDesign.of(counts, (Groups(),)).contrasts
    assert np.allclose(Q @ Q.T, np.eye(number) - 1 / number)


# Made-up judgements.


def test_judging_again_has_the_chances_of_the_model():
    """Thousands of answers to four questions, each with its own judge, side and group."""
    counts = Counts.of(ITEMS, [0, 1, 3, 0], [1, 0, 2, 3], [4000] * 4, [0] * 4,
                       stratum=[0, 1, 2, 0], strata=JUDGES, ordered=True)  # fmt: skip
    model = BradleyTerry(counts, variance=InverseGamma(3, 2), tie=Exponential(2.0), terms=EVERY)
    truth = Truth.from_model(model, np.random.default_rng(2))
    again = replicate_counts(model, truth, np.random.default_rng(3))
    at = {"quality": truth.quality, **truth.terms}
    for row in range(4):
        one, two, judge = again.first[row], again.second[row], again.stratum[row]
        expected = [
            np.exp(term_log_likelihood([(one, two, judge, a)], at))
            for a in ("first", "tie", "second")
        ]
        observed = [again.wins_first[row], again.ties[row], again.wins_second[row]]
        assert stats.chisquare(observed, 4000 * np.array(expected)).pvalue > LEVEL / 4


def test_a_truth_has_the_spread_of_its_prior():
    table = {"item": list(ITEMS), "x": [1.0, 2.0, 4.0, 8.0]}
    terms = (
        Covariates(table, "x", variance=Fixed(4.0)), Order(variance=Fixed(0.25)),
        Groups(GROUP, variance=Fixed(0.5)), Sharpness(variance=Fixed(0.09)),
        Thresholds(variance=Fixed(0.36)),
    )  # fmt: skip
    counts = count_answers(random_answers(9))
    model = BradleyTerry(counts, Independent(), variance=Fixed(1.0), tie=Fixed(0.7), terms=terms)
    truths = [Truth.from_model(model, rng).terms for rng in np.random.default_rng(2).spawn(2000)]
    known = {
        "coefficient": 2.0 / np.std(table["x"]), "order": 0.5, "contrast": np.sqrt(0.5 / 2),
    }  # fmt: skip
    scores = [sampled_values(truths, name, lambda x: x) / sd for name, sd in known.items()]
    scores += [sampled_values(truths, "sharpness", np.log) / 0.3]
    scores += [sampled_values(truths, "threshold", lambda x: np.log(x / 0.7)) / 0.6]
    z = [np.sqrt(2000 / 2) * (score**2 - 1).mean() for score in scores]
    assert_normal_scores(np.array(z))


def sampled_values(truths, name, of):
    return np.array([of(np.ravel(more[name])[0]) for more in truths])


# What cannot be.


@pytest.mark.parametrize(
    ("terms", "answers"),
    [
        ((Order(), Order()), "Order is given 2 times"),
        ((Groups({"p": "x", "q": "y"}),), "no group is given for 'r'"),
        ((Groups(dict.fromkeys(JUDGES, "x")),), "there is only 'x'"),
        ((Order(by={"home": {"p": 1.0}}),), "'home' has no value for 'q', 'r'"),
        ((Groups(prior=Independent(("z",))),), "other items"),
    ],
)
def test_terms_that_cannot_be_are_refused(terms, answers):
    with pytest.raises(InputError, match=answers):
        BradleyTerry(count_answers(random_answers(9)), terms=terms)


def test_order_needs_to_know_who_was_first():
    with pytest.raises(InputError, match="ordered=True"):
        BradleyTerry(count_answers(random_answers(9), ordered=False), terms=(Order(),))


@pytest.mark.parametrize("term", [Sharpness(), Thresholds()])
def test_judges_are_told_apart_only_where_they_are_counted_apart(term):
    with pytest.raises(InputError, match="by='judge'"):
        BradleyTerry(count_answers(random_answers(9)).pooled(), terms=(term,))


def test_thresholds_need_ties():
    counts = count_answers(random_answers(9)).without_ties()
    with pytest.raises(InputError, match="has none"):
        BradleyTerry(counts, tie=None, terms=(Thresholds(),))


def test_a_model_can_be_copied_with_other_counts():
    model = BradleyTerry(count_answers(random_answers(9)), terms=EVERY, variance=InverseGamma(3, 2))
    other = replace(model, counts=count_answers(random_answers(20, seed=3)))
    assert other.terms == model.terms
    assert other.design.counts.comparisons == 20


def test_every_term_says_what_it_is():
    table = {"item": list(ITEMS), "x": [1.0, 2.0, 4.0, 8.0]}
    for term in (*EVERY, Covariates(table, "x", variance=HalfNormalSpread(1.0))):
        facts = json.loads(json.dumps(term.to_dict()))
        assert facts["kind"] == type(term).__name__.lower()
        assert format_prior(facts["variance"]) in describe_term(facts)
