"""Kinds of judges: what an answer of each is worth, against differences and known sharpness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from xarray import DataTree

from support.calibration import assert_uniform_ranks, transport_ranks
from support.quadrature_cases import IG
from tiewise.criticism.judge_likelihood import has_own_terms
from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.simulate import Truth, random_pairs, replicate_counts
from tiewise.model.term_options import GROUP_SHARPNESS, GROUP_THRESHOLDS, TermOptions
from tiewise.model.terms import Groups, Order, Sharpness, Thresholds, describe_term
from tiewise.posterior.diagnostics import worst
from tiewise.posterior.fit import fit
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.terms.judge_kinds import answer_information, has_kinds, kind_table
from tiewise.posterior.terms.tables import attach_terms
from tiewise.posterior.tree import rebuild_model

SHARPNESS, TIE, SIDE = {"machine": 0.5, "people": 1.5}, {"machine": 0.1, "people": 0.6}, 0.7
OPTIONS = {
    "judge_groups": "kind", "sharpness": "by-group", "thresholds": "by-group", "order": "by-group",
}  # fmt: skip


def two_kinds(number: int) -> Comparisons:
    """Machines see little, seldom tie, and favour the first; people do not."""
    kind = np.where(np.arange(number) % 2, "machine", "people")
    return answers(np.linspace(-2, 2, 6), kind, SHARPNESS, np.random.default_rng(1))


def answers(quality: np.ndarray, kind: np.ndarray, sharpness: dict, rng: Generator) -> Comparisons:
    """Answers of judges of these kinds, one after the other, about random pairs."""
    first, second = random_pairs(len(quality), len(kind), rng)
    sharp, tie = (np.array([own[name] for name in kind]) for own in (sharpness, TIE))
    gap = sharp * (quality[first] - quality[second] + SIDE * (kind == "machine"))
    ahead, tied, _ = answer_probabilities(gap, tie)
    uniform = rng.uniform(size=len(kind))
    answer = (uniform >= ahead).astype(int) + (uniform >= ahead + tied)
    items = np.array([f"item {k:02}" for k in range(len(quality))])
    return Comparisons.from_columns(
        first=items[first], second=items[second], kind=kind, judge=np.arange(len(kind)) % 10,
        outcome=np.array(["first", "tie", "second"])[answer],
    )  # fmt: skip


def test_information_is_the_variance_of_the_slope():
    """The witness is the derivatives of the three probabilities, written out."""
    gap, sharp, tie = np.linspace(-2, 2, 9), 1.3, 0.4
    first, second = (1 / (1 + np.exp(tie - side * sharp * gap)) for side in (1, -1))
    slopes = first * (1 - first), -second * (1 - second)
    expected = slopes[0] ** 2 / first + slopes[1] ** 2 / second
    expected += sum(slopes) ** 2 / (1 - first - second)
    assert answer_information(gap, sharp, np.array([tie])) == pytest.approx(sharp**2 * expected)
    # Without ties it is that of a logistic regression, and with many grades nearly 1/3.
    probability = 1 / (1 + np.exp(-gap))
    expected = probability * (1 - probability)
    assert answer_information(gap, 1.0, np.zeros(1)) == pytest.approx(expected)
    fine = np.linspace(0.02, 12, 300)[:, None]
    assert answer_information(gap, 1.0, fine) == pytest.approx(1 / 3, abs=1e-3)


def test_by_group_there_is_one_stratum_for_each_group():
    model = build_model(two_kinds(200), **OPTIONS)
    assert model.counts.strata == ("machine", "people")
    assert model.design.advantages == ("machine", "people")
    assert np.array_equal(model.design.advantage_values, np.eye(2))
    assert {type(term).__name__ for term in model.terms} == {
        "Order", "Groups", "Sharpness", "Thresholds",
    }  # fmt: skip


def test_by_group_needs_groups_and_no_single_judges():
    for options, words in (
        ({"sharpness": "by-group"}, "judge_groups="),
        ({"judge_groups": "kind", "sharpness": "by-group", "thresholds": True}, "or for none"),
        ({"judge_groups": "kind", "order": "by-group", "advantage": "x"}, "order=True"),
        ({"judge_groups": "kind", "sharpness": "by-judge"}, "'by-judge'"),
    ):
        with pytest.raises(InputError, match=words):
            TermOptions(**options)


@pytest.fixture(scope="module")
def small() -> tuple[BradleyTerry, DataTree]:
    """A model of two kinds, and a short fit of it."""
    model = build_model(two_kinds(400), **OPTIONS)
    tree = fit(model, Transport(draws=200), rng=2)
    attach_terms(tree, model, TermOptions(**OPTIONS).to_dict())
    return model, tree


def test_sharper_groups_are_worth_more(small):
    _, tree = small
    assert has_kinds(tree)
    table = kind_table(tree).set_index("group")
    assert table.loc["people", "worth"] == 1.0
    assert table.loc["machine", "worth_q97.5"] < 1


def test_the_largest_group_is_the_one_that_others_are_relative_to(small):
    model, tree = small
    posterior, own = tree["posterior"], {"judge": "machine"}
    # Two groups of 200 answers each: then it is the first.
    assert {term.reference for term in model.terms[2:]} == {"machine"}
    assert (posterior["sharpness"].sel(own) == 1).all()
    assert np.array_equal(posterior["threshold"].sel(own), posterior["tie"])
    assert posterior["sharpness"].sel(judge="people").std() > 0
    # What is held is not inferred, and no spread over judges.
    assert not {"sharpness_sd", "threshold_sd"} & set(posterior.data_vars)
    more = build_model(two_kinds(401), **OPTIONS)
    assert {term.reference for term in more.terms[2:]} == {"people"}


def test_a_reference_is_one_of_the_strata(small):
    model, tree = small
    for term in (Sharpness(reference="experts"), Thresholds(reference="experts")):
        with pytest.raises(InputError, match="'experts'"):
            replace(model, terms=(term,))
    again = rebuild_model(tree)
    assert [term.to_dict() for term in again.terms] == [term.to_dict() for term in model.terms]
    assert "relative to machine" in describe_term(model.terms[2].to_dict())


def test_the_terms_of_groups_are_not_a_judges_own(small):
    assert not has_own_terms(PosteriorDraws.from_tree(small[1]))


def test_gradient_against_differences(small):
    preconditioner = build_hierarchical_preconditioner(small[0])
    q, step = np.random.default_rng(5).normal(size=(preconditioner.dimensions, 1)), 1e-5
    moves = step * np.eye(len(q))
    up, down = (preconditioner.log_density(q + sign * moves) for sign in (1, -1))
    expected = (up - down) / (2 * step)
    assert preconditioner.gradient(q)[:, 0] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_the_reference_of_the_priors_sharpness_is_one(small):
    model = small[0]
    truth = Truth.from_model(model, 3)
    assert truth.terms["sharpness"][0] == 1 != truth.terms["sharpness"][1]
    assert truth.terms["threshold"][0] == truth.tie != truth.terms["threshold"][1]


# Sampling.


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_draws_are_worth_enough_and_the_truth_is_found(seed):
    """People give 400 answers, and machines of half the sharpness 2,000, which set the unit."""
    rng = np.random.default_rng(seed)
    quality, kind = rng.normal(size=20), np.repeat(["people", "machine"], [400, 2000])
    comparisons = answers(quality, kind, {"people": 2.0, "machine": 1.0}, rng)
    tree = fit(build_model(comparisons, **OPTIONS), Transport(draws=4000), rng=seed)
    assert worst(tree).ess >= 400
    posterior = tree["posterior"]
    people, machine = {"judge": "people"}, {"judge": "machine"}
    for draws, truth in (
        (posterior["sharpness"].sel(people), 2.0),
        (posterior["threshold"].sel(people), TIE["people"]),
        (posterior["threshold"].sel(machine), TIE["machine"]),
        (posterior["order"].sel(advantage="people"), 0.0),
        (posterior["order"].sel(advantage="machine"), SIDE),
        (posterior["quality"].std("item"), quality.std()),
    ):
        low, high = np.quantile(draws, (0.001, 0.999))
        assert low < truth < high


def one_study(rng: Generator) -> tuple[BradleyTerry, Truth]:
    """A hundred answers of three groups, by a truth drawn from the prior."""
    first, second = random_pairs(8, 100, rng)
    names = ("experts", "machines", "people")
    counts = Counts.of(
        tuple("abcdefgh"), first, second, np.ones(100), np.zeros(100),
        stratum=rng.choice(3, size=100, p=(0.2, 0.5, 0.3)), strata=names, ordered=True,
    )  # fmt: skip
    by = {own: {name: float(name == own) for name in names} for own in names}
    terms = (
        Order(by=by), Groups(), Sharpness(variance=GROUP_SHARPNESS, reference="machines"),
        Thresholds(variance=GROUP_THRESHOLDS, reference="machines"),
    )  # fmt: skip
    model = BradleyTerry(counts, Independent(), variance=IG, tie=Exponential(2.0), terms=terms)
    truth = Truth.from_model(model, rng)
    return replace(model, counts=replicate_counts(model, truth, rng)), truth


def quantities(model: BradleyTerry, quality, tie, variance, terms) -> np.ndarray:
    """Qualities and a gap, δ, α², the likelihood, and what terms have but for the reference."""
    likelihood = model.design.likelihood.log_likelihood(model.design.arguments(quality, tie, terms))
    others = [terms[name][[0, 2]] for name in ("sharpness", "threshold")]
    rest = [terms["order"], terms["contrast"][:, 0], terms["contrast_variance"][None]]
    rows = [quality[:2], quality[:1] - quality[1:2], tie[None], variance[None], likelihood[None]]
    return np.concatenate([*rows, *others, *rest])


@pytest.mark.slow
@pytest.mark.thorough
def test_truth_is_one_more_draw():
    """Simulation-based calibration over sixty studies."""
    ranks = []
    for rng in np.random.default_rng(4).spawn(60):
        model, truth = one_study(rng)
        ranks.append(transport_ranks(model, truth, quantities, rng))
    assert_uniform_ranks(np.array(ranks))
