"""Terms in the likelihood: each judgement written out longhand beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from support.reference_formulas import DIFFERENCE, LEVEL, chances, derivative, within_chance
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors import Exponential, Fixed, HalfNormalSpread, InverseGamma
from tiewise.model.simulate import Truth, judged_again
from tiewise.model.strata import Point
from tiewise.model.term_design import Design
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds

ITEMS, JUDGES = ("a", "b", "c", "d"), ("p", "q", "r")
GROUP = {"p": "old", "q": "young", "r": "old"}
EVERY = (Order(), Groups(GROUP), Sharpness(), Thresholds())


def said_of(number: int, seed: int = 2) -> list[tuple[int, int, int, str]]:
    """Judgements (first, second, judge, answer), some of them repeated."""
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=number)
    second = (first + rng.integers(1, 4, size=number)) % 4
    answers = np.array(["first", "tie", "second"])[rng.integers(3, size=number)]
    return list(zip(first, second, rng.integers(3, size=number), answers, strict=True))


def counted(said: list[tuple[int, int, int, str]], *, ordered: bool = True) -> Counts:
    first, second, judge, answer = (np.array(column) for column in zip(*said, strict=True))
    return Counts.of(
        ITEMS, first, second, answer == "first", answer == "second", answer == "tie",
        stratum=judge, strata=JUDGES, ordered=ordered,
    )  # fmt: skip


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


def longhand(said: list[tuple[int, int, int, str]], at: dict[str, np.ndarray]) -> float:
    """One judgement after the other, each with its judge's own view."""
    total = 0.0
    for one, two, judge, answer in said:
        group = 1 if GROUP[JUDGES[judge]] == "young" else 0
        seen = at["quality"] + at["contrast"][group]
        sharp = at["sharpness"][judge]
        ahead, behind = sharp * (seen[one] + at["order"][0]), sharp * seen[two]
        total += np.log(chances(ahead, behind, at["threshold"][judge])[answer])
    return total


def asked(design: Design, at: dict[str, np.ndarray]) -> Point:
    more = {name: value[..., None] for name, value in at.items() if name != "quality"}
    return design.point(at["quality"][:, None], np.ones(1), more)


@given(points(), st.integers(1, 40), st.sampled_from([1.0, 30.0]))
@settings(max_examples=60, deadline=None)
def test_likelihood_is_that_of_each_judges_own_view(at, number, wide):
    """Also at gaps of a hundred, where one way of computing gives over to another."""
    said = said_of(number)
    at = at | {"quality": wide * at["quality"]}
    design = BradleyTerry(counted(said), terms=EVERY).design
    ours = design.rows.log_likelihood(asked(design, at))[0]
    assert ours == pytest.approx(longhand(said, at), rel=1e-11, abs=1e-11)


@given(points())
@settings(max_examples=30, deadline=None)
def test_groups_alone_need_no_loop_of_their_own(at):
    """Two groups with one threshold: the loops of the plain model, on twice the items."""
    said = said_of(30)
    design = BradleyTerry(counted(said, ordered=False), terms=(Groups(GROUP),)).design
    assert not design.rows.apart
    alike = {"order": np.zeros(1), "sharpness": np.ones(3), "threshold": np.ones(3)}
    more = {"contrast": at["contrast"][..., None]}
    ours = design.rows.log_likelihood(design.point(at["quality"][:, None], np.ones(1), more))[0]
    assert ours == pytest.approx(longhand(said, at | alike), rel=1e-11, abs=1e-11)


def flat(point: Point) -> np.ndarray:
    return np.concatenate([part[:, 0] for part in point])


def unflat(vector: np.ndarray) -> Point:
    return Point(*(part[:, None] for part in np.split(vector, [8, 11, 14])))


@given(points(), st.sampled_from([1.0, 30.0]))
@settings(max_examples=30, deadline=None)
def test_slopes_are_derivatives_of_the_likelihood(at, wide):
    design = BradleyTerry(counted(said_of(30)), terms=EVERY).design
    point = flat(asked(design, at))
    point[:8] *= wide
    point[14:] += 0.1
    differences = derivative(lambda p: design.rows.log_likelihood(unflat(p))[0], point)
    # Sums of hundreds lose what a double cannot hold of them; thin thresholds bend sharply.
    scale = 30 * wide**2 / point[14:].min() ** 4
    ours = flat(design.rows.slopes(unflat(point)))
    assert np.allclose(ours, differences, rtol=0, atol=DIFFERENCE * scale)


def test_bends_are_derivatives_of_the_slopes():
    """But for those by sharpness, of which those with mean zero are left out."""
    design = BradleyTerry(counted(said_of(40)), terms=EVERY).design
    rng = np.random.default_rng(2)
    point = np.concatenate([rng.normal(size=14), np.exp(rng.normal(size=3) / 3)])
    bends = -derivative(lambda p: flat(design.rows.slopes(unflat(p))), point)
    ours = design.rows.bends(unflat(point))
    quality, shift, sharp, tie = slice(8), slice(8, 11), slice(11, 14), slice(14, 17)
    blocks = np.block(
        [[ours.laplacians[0], np.zeros((4, 4))], [np.zeros((4, 4)), ours.laplacians[1]]]
    )
    assert np.allclose(bends[quality, quality], blocks, atol=1e-6)
    assert np.allclose(bends[shift, quality], ours.shift, atol=1e-6)
    assert np.allclose(bends[tie, quality], ours.tie, atol=1e-6)
    for one, two, known in (
        (shift, shift, ours.shift_shift), (shift, tie, ours.shift_tie),
        (tie, tie, ours.tie_tie), (sharp, tie, ours.sharpness_tie),
    ):  # fmt: skip
        assert np.allclose(bends[one, two], np.diag(known), atol=1e-6)


def test_chains_do_not_touch_each_other():
    design = BradleyTerry(counted(said_of(30)), terms=EVERY).design
    rng = np.random.default_rng(2)
    vectors = [np.append(rng.normal(size=14), np.exp(rng.normal(size=3))) for _ in range(3)]
    together = Point(
        *(np.concatenate(parts, axis=1) for parts in zip(*map(unflat, vectors), strict=True))
    )
    likelihood, slopes = design.rows.log_likelihood(together), design.rows.slopes(together)
    for k, vector in enumerate(vectors):
        assert design.rows.log_likelihood(unflat(vector))[0] == likelihood[k]
        assert np.array_equal(flat(design.rows.slopes(unflat(vector))), flat(slopes.chain(k)))


@pytest.mark.parametrize("number", [2, 3, 5])
def test_contrasts_are_independent_views_less_their_mean(number):
    """Their covariance over groups is I − 1/G, whatever columns give it."""
    names = tuple("pqrst"[:number])
    counts = Counts.of(("a", "b"), [0] * number, [1] * number, [1] * number, [0] * number,
                       stratum=range(number), strata=names)  # fmt: skip
    Q = Design.of(counts, (Groups(),)).contrasts
    assert np.allclose(Q @ Q.T, np.eye(number) - 1 / number)


# Made-up judgements.


def test_judging_again_has_the_chances_of_the_model():
    """Thousands of answers to four questions, each with its own judge, side and group."""
    counts = Counts.of(ITEMS, [0, 1, 3, 0], [1, 0, 2, 3], [4000] * 4, [0] * 4,
                       stratum=[0, 1, 2, 0], strata=JUDGES, ordered=True)  # fmt: skip
    model = BradleyTerry(counts, variance=InverseGamma(3, 2), tie=Exponential(2.0), terms=EVERY)
    truth = Truth.of(model, np.random.default_rng(2))
    again = judged_again(model, truth, np.random.default_rng(3))
    at = {"quality": truth.quality, **truth.more}
    for row in range(4):
        one, two, judge = again.first[row], again.second[row], again.stratum[row]
        expected = [
            np.exp(longhand([(one, two, judge, a)], at)) for a in ("first", "tie", "second")
        ]
        seen = [again.wins_first[row], again.ties[row], again.wins_second[row]]
        assert stats.chisquare(seen, 4000 * np.array(expected)).pvalue > LEVEL / 4


def test_a_truth_has_the_spread_of_its_prior():
    table = {"item": list(ITEMS), "x": [1.0, 2.0, 4.0, 8.0]}
    terms = (
        Covariates(table, "x", variance=Fixed(4.0)), Order(variance=Fixed(0.25)),
        Groups(GROUP, variance=Fixed(0.5)), Sharpness(variance=Fixed(0.09)),
        Thresholds(variance=Fixed(0.36)),
    )  # fmt: skip
    model = BradleyTerry(counted(said_of(9)), Independent(), variance=Fixed(1.0), tie=Fixed(0.7),
                         terms=terms)  # fmt: skip
    drawn = [Truth.of(model, rng).more for rng in np.random.default_rng(2).spawn(2000)]
    known = {
        "coefficient": 2.0 / np.std(table["x"]), "order": 0.5, "contrast": np.sqrt(0.5 / 2),
    }  # fmt: skip
    scores = [drawn_value(drawn, name, lambda x: x) / sd for name, sd in known.items()]
    scores += [drawn_value(drawn, "sharpness", np.log) / 0.3]
    scores += [drawn_value(drawn, "threshold", lambda x: np.log(x / 0.7)) / 0.6]
    z = [np.sqrt(2000 / 2) * (score**2 - 1).mean() for score in scores]
    within_chance(np.array(z))


def drawn_value(drawn, name, of):
    return np.array([of(np.ravel(more[name])[0]) for more in drawn])


# What cannot be.


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ((Order(), Order()), "Order is given 2 times"),
        ((Groups({"p": "x", "q": "y"}),), "no group is given for 'r'"),
        ((Groups(dict.fromkeys(JUDGES, "x")),), "there is only 'x'"),
        ((Order(by={"home": {"p": 1.0}}),), "'home' has no value for 'q', 'r'"),
        ((Groups(prior=Independent(("z",))),), "other items"),
    ],
)
def test_terms_that_cannot_be_are_refused(terms, said):
    with pytest.raises(InputError, match=said):
        BradleyTerry(counted(said_of(9)), terms=terms)


def test_order_needs_to_know_who_was_first():
    with pytest.raises(InputError, match="ordered=True"):
        BradleyTerry(counted(said_of(9), ordered=False), terms=(Order(),))


@pytest.mark.parametrize("term", [Sharpness(), Thresholds()])
def test_judges_are_told_apart_only_where_they_are_counted_apart(term):
    with pytest.raises(InputError, match="by='judge'"):
        BradleyTerry(counted(said_of(9)).pooled(), terms=(term,))


def test_thresholds_need_ties():
    counts = counted(said_of(9)).without_ties()
    with pytest.raises(InputError, match="has none"):
        BradleyTerry(counts, tie=None, terms=(Thresholds(),))


def test_a_model_can_be_copied_with_other_counts():
    model = BradleyTerry(counted(said_of(9)), terms=EVERY, variance=InverseGamma(3, 2))
    other = replace(model, counts=counted(said_of(20, seed=3)))
    assert other.terms == model.terms
    assert other.design.counts.comparisons == 20


def test_every_term_says_what_it_is():
    table = {"item": list(ITEMS), "x": [1.0, 2.0, 4.0, 8.0]}
    for term in (*EVERY, Covariates(table, "x", variance=HalfNormalSpread(1.0))):
        assert "half-normal" in term.describe() or "fixed" in term.describe()
