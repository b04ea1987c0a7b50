"""Earlier studies with terms, or with a map whose share is learned, against fits of both years."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from xarray import DataTree

from tiewise.data.counts import Counts
from tiewise.engines.laplace import Laplace
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.simulate import Truth, random_pairs, replicate_counts
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.scales.anchored import contradicted
from tiewise.posterior.scales.link_check import link_table
from tiewise.posterior.scales.linking import (
    divided,
    excess_kurtosis,
    linked_anchors,
    prior_covariance,
)
from tiewise.posterior.tree import attach_record

ITEMS = tuple("abcdefgh")
STRATA = tuple("pqrs")
YEARS = {"p": "then", "q": "then", "r": "now", "s": "now"}
# So little variance that the prior counts for as much as a year's answers.
HELD = {"variance": Fixed(0.1), "tie": Fixed(0.4)}
TABLE = {"item": list(ITEMS), "x": np.linspace(-1, 1, 8) ** 3}
ENGINE = Transport(draws=4000)
MAP = Graph(ITEMS, Graph.grid(2, 4).edges)


def of_strata(counts: Counts, names: tuple[str, ...]) -> Counts:
    """The judgements of some of the judges."""
    mine = np.isin(counts.stratum, [counts.strata.index(name) for name in names])
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    place = np.array([names.index(s) if s in names else -1 for s in counts.strata])
    return Counts.of(
        counts.items, *(getattr(counts, name)[mine] for name in columns),
        stratum=place[counts.stratum[mine]], strata=names, ordered=counts.ordered,
    )  # fmt: skip


def both_years(terms=(), prior=None) -> Counts:
    """Answers of four judges about eight items, two judges in each year."""
    rng = np.random.default_rng(11)
    first, second = random_pairs(8, 700, rng)
    counts = Counts.of(
        ITEMS, first, second, np.ones(700), np.zeros(700), ordered=True,
        stratum=rng.choice(4, 700, p=[0.3, 0.3, 0.2, 0.2]), strata=STRATA,
    )  # fmt: skip
    model = BradleyTerry(counts, prior or Independent(ITEMS), terms=terms, **HELD)
    return replicate_counts(model, Truth.from_model(model, rng), rng)


def simulated(size: int) -> Counts:
    """Answers about so many items, each beside the next."""
    items = [f"i{k}" for k in range(size)]
    places = np.arange(size)
    return Counts.of(items, places, (places + 1) % size, np.ones(size), np.ones(size))


def agree(one: np.ndarray, two: np.ndarray, *, each: bool = True) -> bool:
    """Whether two posteriors are alike, beside Monte Carlo error and what is not Gaussian.

    Standard deviations are compared item by item, or on average over items.
    """
    sd = two.std(axis=(0, 1))
    means = np.abs(one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) < 0.15 * sd
    ratio = one.std(axis=(0, 1)) / sd
    return bool(means.all() and np.allclose(ratio if each else ratio.mean(), 1, atol=0.06))


JUDGES = (Sharpness(variance=Fixed(0.2)), Thresholds(variance=Fixed(0.2)))
BY_YEAR = {
    year: {judge: float(YEARS[judge] == year) for judge in STRATA} for year in ("then", "now")
}
CASES = {
    # Terms of one year, terms of both, and the prior of qualities.
    "order and judges": ((Order(), *JUDGES), (Order(by=BY_YEAR), *JUDGES), None),
    "covariates": ((Covariates(TABLE, "x", variance=Fixed(0.5)),), None, None),
    "share": ((), None, Network(MAP)),
}


@cache
def linked_and_joint(name: str) -> tuple[list[BradleyTerry], BradleyTerry, DataTree, DataTree]:
    """Models of last year, this year and both; this year's linked; its fit, and that of both."""
    own, joint, prior = CASES[name]
    joint = own if joint is None else joint
    prior = prior or Independent(ITEMS)
    whole = both_years(joint, prior)
    last, this = (of_strata(whole, names) for names in (("p", "q"), ("r", "s")))
    models = [
        BradleyTerry(counts, prior, terms=terms, **HELD)
        for counts, terms in ((last, own), (this, own), (whole, joint))
    ]
    # Dividing the prior out enlarges the earlier study's Monte Carlo error, most of all of a map.
    engine = ENGINE if own else Transport(draws=16_000)
    earlier, both = fit(models[0], engine, rng=0), fit(models[2], ENGINE, rng=2)
    attach_record(earlier, models[0], None)
    attach_record(both, models[2], None)
    linked = replace(models[1], anchors=linked_anchors(earlier, ITEMS))
    later = fit(linked, ENGINE, rng=5)
    return models, linked, later, both


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_linking_agrees_with_a_fit_of_both_studies(name):
    """Where α and δ are held: terms are integrated out, and the prior counts once."""
    models, linked, later, both = linked_and_joint(name)
    expected = both["posterior/quality"].to_numpy()
    # With judges' sharpness single items differ by as much as 8 %, with 16,000 draws as well: their
    # likelihood is not Gaussian, and that is said (docs/anchors.md).
    each = name != "order and judges"
    warned = [line for line in json.loads(later.attrs["warnings"]) if "not quite Gaussian" in line]
    assert len(warned) == (not each)
    assert agree(later["posterior/quality"].to_numpy(), expected, each=each)
    alone = fit(models[1], ENGINE, rng=6)
    assert not agree(alone["posterior/quality"].to_numpy(), expected, each=each)
    # What is linked can be linked again, and says what both years say.
    attach_record(later, linked, None)
    ours, theirs = (linked_anchors(tree, ITEMS) for tree in (later, both))
    information = [np.trace(one.level_free.matrix) for one in (ours, theirs)]
    assert information[0] == pytest.approx(information[1], rel=0.15)


def test_heavy_tails_are_measured_and_noise_is_not():
    """Of a scale mixture, whose kurtosis is known: 3 var(s²) / E(s²)², s the scale."""
    rng = np.random.default_rng(41)
    for size, number in ((3, 4000), (60, 120), (200, 400)):
        assert excess_kurtosis(rng.normal(size=(number, size)), number) == 0
    scales = rng.choice([1, 1.5], size=(40_000, 1))
    expected = 3 * 0.625**2 / 1.625**2
    mixed = scales * rng.multivariate_normal(np.zeros(6), np.eye(6) + 3, size=40_000)
    assert excess_kurtosis(mixed, 40_000) == pytest.approx(expected, rel=0.1)


def test_the_prior_that_is_divided_out_is_its_precision_averaged_over_scales():
    """Of α², the share of the map and the spread of coefficients, draw by draw."""
    terms = (Covariates(TABLE, "x", variance=HalfNormalSpread(1.0)), Groups(YEARS))
    model = BradleyTerry(both_years(), Network(MAP), terms=terms, tie=Fixed(0.4))
    tree = fit(model, Transport(draws=400), rng=1)
    attach_record(tree, model, None)
    some = np.array([0, 2, 3, 7])
    draws = tree["posterior"].to_dataset().stack(all=("chain", "draw"))
    mixture, x = model.mixture, model.design.columns.standard[some]
    gaps = np.eye(4)[1:] - np.eye(4)[:-1]
    total = np.zeros((3, 3))
    for k in range(draws.sizes["all"]):
        at = {name: float(draws[name][k]) for name in ("variance", "share", "coefficient_sd")}
        whole = (mixture.vectors * mixture.variances(at["share"])) @ mixture.vectors.T
        own = at["variance"] * whole[np.ix_(some, some)] + at["coefficient_sd"] ** 2 * x @ x.T
        total += np.linalg.inv(gaps @ own @ gaps.T)
    expected = np.linalg.inv(total / draws.sizes["all"])
    ours = gaps @ prior_covariance(tree, some) @ gaps.T
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_what_cannot_be_divided_out_is_refused_with_the_reason():
    counts = both_years()
    flat = np.outer(np.arange(8.0), np.arange(8.0)) + 1
    for prior, change, words in (
        (Covariance(flat, ITEMS), None, "rules some differences between shared items out"),
        (Independent(ITEMS), "covariate_value", "do not hold their values; fit that one again"),
    ):
        terms = (Covariates(TABLE, "x"),) if change else ()
        model = BradleyTerry(counts, prior, terms=terms, **HELD)
        tree = fit(model, Transport(draws=400), rng=1)
        attach_record(tree, model, None)
        if change:
            tree["constant_data"] = DataTree(tree["constant_data"].to_dataset().drop_vars(change))
        with pytest.raises(InputError, match=words):
            linked_anchors(tree, ITEMS)


@pytest.mark.parametrize("each", [2, 5, 20])
def test_a_link_by_few_draws_is_as_sure_as_both_studies_together(each):
    """In a Gaussian world, where the joint posterior is known; draws for each of 60 items."""
    rng, size = np.random.default_rng(21), 60
    centring = np.eye(size) - 1 / size

    def answers(number):
        information, linear = np.zeros((size, size)), np.zeros(size)
        for _ in range(number):
            row = np.zeros(size)
            row[rng.choice(size, 2, replace=False)] = 1, -1
            information += 0.2 * np.outer(row, row)
            linear += 0.2 * row * (row @ truth + rng.normal(0, 0.2**-0.5))
        return information, linear

    def posterior(information, linear):
        covariance = np.linalg.inv(np.eye(size) + information)
        return centring @ covariance @ linear, np.sqrt(np.diag(centring @ covariance @ centring))

    away, sds, covered = [], [], []
    for _ in range(6):
        truth = rng.normal(size=size)
        (then, then_linear), (now, now_linear) = answers(3 * size), answers(3 * size)
        covariance = np.linalg.inv(np.eye(size) + then)
        draws = rng.multivariate_normal(covariance @ then_linear, covariance, each * size)
        values, precision = divided(draws, np.eye(size))
        linked, joint = (
            posterior(now + precision, now_linear + precision @ values),
            posterior(now + then, now_linear + then_linear),
        )
        away.append((linked[0] - joint[0]) / joint[1])
        sds.append(linked[1].mean() / joint[1].mean())
        covered.append(np.abs(linked[0] - centring @ truth) < 1.96 * linked[1])
    # Neither surer than both together, nor much less sure: without last year it is 1.25.
    assert np.mean(sds) == pytest.approx(1.0, abs=0.03)
    # Means differ by what draws cannot tell, a part of the standard deviation.
    assert np.mean(np.square(away)) < 1 / each
    assert np.mean(covered) > 0.95 - 4 * (0.95 * 0.05 / 360) ** 0.5


def test_a_link_by_too_few_draws_is_refused_with_the_number_needed():
    counts = simulated(60)
    model = BradleyTerry(counts, **HELD)
    tree = fit(model, Transport(draws=64), rng=1, ess=0)
    attach_record(tree, model, None)
    with pytest.raises(InputError, match=r"too few for 60 shared items: 120 are needed; fit that"):
        linked_anchors(tree, counts.items)


def linked_study(change: float, rng: np.random.Generator) -> tuple[DataTree, np.ndarray, list]:
    """A Gaussian world: a link of six items against the prior alone, one of them changed.

    Two items that nobody linked are compared once. Also what the link holds, and the warnings.
    """
    items, half = tuple("abcdefgh"), rng.normal(size=(6, 6))
    centring = np.eye(6) - 1 / 6
    precision = centring @ (half @ half.T + np.eye(6)) @ centring
    # Of the values the prior knows the variance, the link the error.
    values = rng.multivariate_normal(np.zeros(6), np.eye(6) + np.linalg.pinv(precision))
    values[2] += change
    counts = Counts.of(items, [6], [7], [1], [1])
    link = Anchors(items[:6], values, precision=precision)
    model = BradleyTerry(counts, variance=Fixed(1.0), tie=None, anchors=link)
    tree = fit(model, Laplace(draws=4000), rng=1)
    return tree, precision, json.loads(tree.attrs["warnings"])


def test_a_link_is_checked_against_the_answers_item_by_item_and_as_a_whole():
    """Where all is Gaussian: the difference from the rest has a precision that is written out."""
    rng = np.random.default_rng(31)
    tree, precision, messages = linked_study(12.0, rng)
    table = link_table(tree).set_index("item")
    values = table["value"].to_numpy()
    # S = (C + Q⁺)⁻¹ of differences, C = I being all that is known without the link.
    contrast = np.linalg.svd(np.eye(6) - 1 / 6)[0][:, :5].T
    link = np.linalg.inv(contrast @ precision @ contrast.T)
    inner = np.linalg.inv(np.eye(5) + link)
    whole = contrast.T @ inner @ contrast
    z = whole @ values / np.sqrt(np.diag(whole))
    # Means of draws are off by a part of their standard deviation.
    np.testing.assert_allclose(table["z"], z, atol=0.3)
    distance = values @ whole @ values
    assert tree["link"].attrs["distance"] == pytest.approx(distance, rel=0.1)
    assert tree["link"].attrs["freedom"] == 5
    assert contradicted(tree) == "the earlier study"
    assert any("contradict the earlier study" in line and "c (z +" in line for line in messages)


@pytest.mark.slow
def test_a_link_that_holds_is_seldom_called_into_question():
    """In about two of 100 studies: as a whole in one, by its worst item in another, at most."""
    rng = np.random.default_rng(32)
    called = sum(
        any("contradict the earlier" in line for line in linked_study(0.0, rng)[2])
        for _ in range(40)
    )
    assert called <= 4  # more than that in fewer than one of a thousand such tests
