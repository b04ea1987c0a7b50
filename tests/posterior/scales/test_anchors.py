"""Anchors and linked studies, held against closed forms and against a fit of everything at once."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import stats

from support.calibration import RANKS, assert_uniform_ranks
from tiewise.criticism.verdict import verdict
from tiewise.data.counts import Counts
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.diagnostics import mcse
from tiewise.posterior.fit import fit, run_engine
from tiewise.posterior.scales.anchored import anchor_sentences, anchor_table, contradicted
from tiewise.posterior.scales.linking import divided, linked_anchors
from tiewise.posterior.summaries import summarise
from tiewise.posterior.tree import attach_record, rebuild_model
from tiewise.progress import no_progress

ITEMS = tuple("abcdef")
LANES = (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "a"), ("a", "d"))
VALUES, SD = np.array([3.0, 4.0, 2.5, 6.0]), np.array([0.5, 0.4, 0.8, 1.0])
ANCHORS = Anchors(ITEMS[:4], VALUES, SD)
VARIANCE = 1.5
# A comparison of items that are independent of the others: what is left is Gaussian.
APART = Counts.of(ITEMS, [4], [5], [1], [0], [0])
GAUSSIAN = BradleyTerry(APART, variance=Fixed(VARIANCE), tie=None, anchors=ANCHORS)


def closed_form(values=VALUES, sd=SD):
    """Mean and covariance of (a, b, c, d, level), the level with a flat prior."""
    design = np.column_stack([np.eye(4), np.ones(4)])[: len(values)]
    prior = np.diag([1 / VARIANCE] * 4 + [0.0])
    covariance = np.linalg.inv(prior + (design.T / sd**2) @ design)
    return covariance @ (design.T / sd**2) @ values, covariance


@pytest.fixture(scope="module")
def gaussian():
    return fit(GAUSSIAN, Transport(draws=4000), rng=4)


def family_p(z: np.ndarray) -> float:
    """How often the largest of so many z-scores would be at least as large."""
    return float(1 - (1 - 2 * stats.norm.sf(np.abs(z).max())) ** np.size(z))


@pytest.mark.parametrize("engine", [Transport(draws=4000), Laplace(draws=4000, weighted=False)])
def test_a_gaussian_case_has_its_closed_form(engine, gaussian):
    """Means of qualities and level within Monte Carlo error, and their variances."""
    tree = gaussian if isinstance(engine, Transport) else fit(GAUSSIAN, engine, rng=4)
    mean, covariance = closed_form()
    posterior = tree["posterior"]
    quality = (posterior["quality"] + posterior["level"]).to_numpy()[..., :4]
    level = (posterior["anchor_level"] - posterior["level"]).to_numpy()[..., None]
    draws = np.concatenate([quality, level], axis=-1)
    own = np.diag(covariance)
    z = (draws.mean(axis=(0, 1)) - mean) / np.sqrt(own / draws[..., 0].size)
    assert family_p(z) > 0.001
    squares = (draws - mean) ** 2 / own
    assert family_p((squares.mean(axis=(0, 1)) - 1) / mcse(squares)) > 0.001


def test_the_level_of_anchors_does_not_inflate_the_variance():
    """The same differences on another level give the same posterior, the variance included."""
    model = BradleyTerry(APART, tie=None, anchors=ANCHORS)
    raised = BradleyTerry(APART, tie=None, anchors=Anchors(ITEMS[:4], VALUES + 30, SD))
    one, two = (fit(each, Transport(draws=400), rng=2)["posterior"] for each in (model, raised))
    np.testing.assert_allclose(one["variance"], two["variance"], rtol=1e-6)
    np.testing.assert_allclose(one["anchor_level"] + 30, two["anchor_level"], rtol=1e-6)


def test_derivatives_are_those_of_the_density():
    """By finite differences, and the same with errors written as a precision."""
    model = BradleyTerry(APART, tie=None, anchors=ANCHORS)
    quality = np.random.default_rng(5).normal(size=(6, 1))
    tie, step = np.zeros(1), 1e-5
    moves = step * np.eye(6)[:, :, None]

    def value(at):
        return model.log_likelihood(at, tie)[0]

    def gradient(at):
        return model.gradient(at, tie)[0][:, 0]

    slope = [(value(quality + move) - value(quality - move)) / (2 * step) for move in moves]
    np.testing.assert_allclose(gradient(quality), slope, atol=1e-7)
    curvature = [(gradient(quality - m) - gradient(quality + m)) / (2 * step) for m in moves]
    hessian = model.negative_hessian(quality[:, 0], 0.0).through(None)
    np.testing.assert_allclose(hessian, curvature, atol=1e-6)
    correlated = Anchors(ITEMS[:4], VALUES, precision=ANCHORS.level_free.matrix)
    again = BradleyTerry(APART, tie=None, anchors=correlated)
    assert again.log_likelihood(quality, tie) == pytest.approx(value(quality))


def test_each_anchor_is_checked_against_everything_else(gaussian):
    """The z of an anchor is that of the closed form without it."""
    table = anchor_table(gaussian).set_index("item")
    for k, item in enumerate(ITEMS[:4]):
        keep = np.arange(4) != k
        design = np.column_stack([np.eye(4), np.ones(4)])[keep]
        precision = np.diag([1 / VARIANCE] * 4 + [0.0]) + (design.T / SD[keep] ** 2) @ design
        covariance = np.linalg.inv(precision)
        mean = covariance @ (design.T / SD[keep] ** 2) @ VALUES[keep]
        row = np.append(np.eye(4)[k], 1.0)
        expected, spread = row @ mean, np.sqrt(row @ covariance @ row)
        assert table["expected_sd"][item] == pytest.approx(spread)
        # The mean is that of draws, of which an anchor's own share is taken off.
        precision = 1 / SD[k] ** 2 + 1 / spread**2
        error = precision * spread**2 / np.sqrt(4000 * precision)
        assert abs(table["expected"][item] - expected) < 4 * error
        z = (table["value"][item] - table["expected"][item]) / np.hypot(SD[k], spread)
        assert table["z"][item] == pytest.approx(z)
    assert "4 anchors fix the level" in anchor_sentences(gaussian)[0]


def test_an_anchor_that_disagrees_is_named():
    """In the warnings of the fit, by its name and with its z, and in the verdict."""
    rng = np.random.default_rng(1)
    truth = Truth(ITEMS, np.linspace(-1, 1, 6), 0.0, 1.0)
    counts = simulate_counts(truth, 3000, rng)
    values = truth.quality + 2.0
    values[5] += 1.5
    model = BradleyTerry(counts, tie=None, anchors=Anchors(ITEMS, values, 0.2))
    tree = fit(model, Transport(draws=400), rng=3, names={"f": "Fir"})
    messages = json.loads(tree.attrs["warnings"])
    assert sum("1 anchor disagrees" in line and "Fir (z +" in line for line in messages) == 1
    part = verdict(tree).model
    assert part.level == "care"
    assert "The answers contradict the anchors." in part.text
    # An anchor as far off as the largest of six may be says nothing.
    tree["anchors"]["z"][:] = [0.1, -2.9, 0.4, 1.0, 0.2, 0.0]
    assert contradicted(tree) == ""
    tree["anchors"]["z"][1] = -3.2  # P(max of six |z| > 3.14) = 1 %
    assert contradicted(tree) == "the anchors"


def test_anchored_scores_are_not_centred(gaussian):
    """They are the anchors' own values, as far as these are sure."""
    table = summarise(gaussian, scale="anchored").set_index("item")
    mean, covariance = closed_form()
    row = np.array([0, 1, 0, 0, 1.0])
    assert table["score"]["b"] == pytest.approx(row @ mean, abs=0.04)
    assert table["score_sd"]["b"] == pytest.approx(np.sqrt(row @ covariance @ row), rel=0.08)


def test_a_model_is_rebuilt_with_its_anchors(gaussian):
    again = rebuild_model(gaussian).anchors
    assert again.items == ANCHORS.items
    np.testing.assert_array_equal(again.values, VALUES)
    np.testing.assert_array_equal(again.sd, SD)


# What is refused.


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"item": ["a"], "value": [1], "sd": [1]}, "there is 1 anchor"),
        ({"item": ["a", "a"], "value": [1, 2], "sd": [1, 1]}, "anchors name 'a' twice"),
        (
            {"item": ["a", "b"], "value": [1, 2], "sd": [1, 0]},
            "anchor 'b' has an sd that is not above 0",
        ),
        ({"item": ["a", "b"], "value": [1, "x"], "sd": [1, 1]}, "value 'x' is no number"),
        (
            {"item": ["a", "b"], "value": [1, np.nan], "sd": [1, 1]},
            "anchor 'b' has a value .* no finite",
        ),
        (
            {"item": ["a", "b"], "value": [1500, 1620], "sd": [30, 30]},
            "120 logits apart, .* other units, give anchor_slope='learned'",
        ),
        ({"item": ["a", "b"], "value": [1e300, 2], "sd": [1, 1]}, r"1e\+300 logits apart"),
        (
            {"item": ["a", "b"], "value": [1, 2], "sd": [1, 1e-9]},
            "anchor 'b' has an sd below 0.001, surer than",
        ),
        ({"item": ["a", "b"], "value": [1, 2]}, "anchors need item, value and sd"),
        ({"item": ["a", "b"], "value": [1], "sd": [1, 1]}, "1 values came for 2 anchors"),
    ],
)
def test_anchors_that_cannot_be_are_refused(columns, words):
    with pytest.raises(InputError, match=words):
        Anchors.read(columns)


def test_what_does_not_go_with_anchors_is_refused():
    with pytest.raises(InputError, match="anchors name 'z'"):
        Anchors(("a", "z"), [1, 2], 1.0).over(ITEMS)
    with pytest.raises(InputError, match="maximum-likelihood does not know anchors="):
        fit(GAUSSIAN, MaximumLikelihood(), rng=1)
    plain = fit(BradleyTerry(APART, tie=None), Laplace(draws=100), rng=1)
    with pytest.raises(InputError, match="there are none; give anchors="):
        summarise(plain, scale="anchored")
    with pytest.raises(InputError, match="link= needs draws of an exact engine"):
        linked_anchors(plain, ITEMS)


# Linked studies.


def test_dividing_the_prior_out_leaves_what_was_said():
    """Of a Gaussian likelihood of differences, its own mean and precision come back."""
    rng = np.random.default_rng(8)
    half = rng.normal(size=(5, 5))
    prior = half @ half.T + np.eye(5)
    rest = rng.normal(size=(5, 5))
    precision = rest @ rest.T
    precision -= np.outer(precision.sum(0), precision.sum(1)) / precision.sum()
    centre = rng.normal(size=5)
    covariance = np.linalg.inv(np.linalg.inv(prior) + precision)
    mean = covariance @ precision @ centre
    contrast = np.eye(5)[:4] - np.eye(5)[1:]
    # Draws with exactly this mean and covariance.
    draws = rng.normal(size=(200, 5))
    draws -= draws.mean(axis=0)
    draws = draws @ np.linalg.inv(np.linalg.cholesky(np.cov(draws.T))).T
    draws = mean + draws @ np.linalg.cholesky(covariance).T
    values, actual = divided(draws, prior, worth=np.inf)
    # The level of the prior is not known to the differences, so compare through these alone.
    inner = np.linalg.inv(contrast @ covariance @ contrast.T)
    inner -= np.linalg.inv(contrast @ prior @ contrast.T)
    np.testing.assert_allclose(actual, contrast.T @ inner @ contrast, atol=1e-8)
    linear = np.linalg.solve(contrast @ covariance @ contrast.T, contrast @ mean)
    np.testing.assert_allclose(inner @ (contrast @ values), linear, atol=1e-8)


def two_years():
    """Answers of two years about the same eight items, alike enough to be nearly Gaussian."""
    rng = np.random.default_rng(11)
    truth = Truth(tuple("abcdefgh"), rng.normal(0, 0.1**0.5, 8), 0.4, 0.1)
    return [simulate_counts(truth, size, rng) for size in (300, 200)]


# So little variance that the prior counts for as much as a year's answers.
HELD = {"variance": Fixed(0.1), "tie": Fixed(0.4)}


def agree(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two posteriors are alike, beside Monte Carlo error and what is not Gaussian."""
    sd = two.std(axis=(0, 1))
    means = np.abs(one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) < 0.15 * sd
    return bool(means.all() and np.allclose(one.std(axis=(0, 1)), sd, rtol=0.06))


@pytest.mark.parametrize("shaped", [False, True])
def test_linking_agrees_with_a_fit_of_both_studies(shaped):
    """Where α and δ are held: the prior counts once, whether qualities are independent or not."""
    last, this = two_years()
    prior = {"prior": Covariance(0.5 * np.eye(8) + 0.5, last.items)} if shaped else {}
    joint_counts = Counts.of(
        last.items,
        *(np.concatenate([getattr(last, name), getattr(this, name)])
          for name in ("first", "second", "wins_first", "wins_second", "ties")),
    )  # fmt: skip
    models = [BradleyTerry(counts, **prior, **HELD) for counts in (last, this, joint_counts)]
    engine = Transport(draws=4000)
    earlier, both = (fit(models[k], engine, rng=k) for k in (0, 2))
    attach_record(earlier, models[0], None)
    linked = replace(models[1], anchors=linked_anchors(earlier, this.items))
    expected = both["posterior/quality"].to_numpy()
    assert agree(fit(linked, engine, rng=5)["posterior/quality"].to_numpy(), expected)
    # Last year's posterior as it is counts the prior twice.
    quality = earlier["posterior/quality"].to_numpy().reshape(-1, 8)
    whole = Anchors(this.items, quality.mean(axis=0), precision=np.linalg.pinv(np.cov(quality.T)))
    twice = fit(replace(models[1], anchors=whole), engine, rng=5)
    assert not agree(twice["posterior/quality"].to_numpy(), expected)


def test_studies_that_share_nothing_are_not_linked():
    last, _ = two_years()
    earlier = fit(BradleyTerry(last, **HELD), Transport(draws=400), rng=1)
    with pytest.raises(InputError, match="share 1 item;"):
        linked_anchors(earlier, ("a", "y", "z"))


# Calibration.


def anchored_study(rng: np.random.Generator, mapped: bool) -> tuple[BradleyTerry, Truth, float]:
    """A truth from the priors, answers, and anchors whose values are simulated, too, on a level."""
    prior = Network(Graph.from_edges(LANES, ITEMS)) if mapped else Independent(ITEMS)
    scales = {"variance": InverseGamma(3, 2), "tie": Exponential(2)}
    truth = Truth.from_priors(prior, scales["variance"], scales["tie"], rng, items=ITEMS)
    level, sd = float(rng.normal(0, 10)), rng.uniform(0.2, 1.5, 4)
    values = level + truth.quality[:4] + rng.normal(0, sd)
    anchors = Anchors(ITEMS[:4], values, sd)
    counts = simulate_counts(truth, 40, rng).over(ITEMS)
    return BradleyTerry(counts, prior, **scales, anchors=anchors), truth, level


def anchored_ranks(rng: np.random.Generator, mapped: bool) -> np.ndarray:
    """Ranks of three anchored scores, of a difference, of α², δ and the log likelihood."""
    model, truth, level = anchored_study(rng, mapped)
    settings = {"draws": 50 * (RANKS + 1), "chains": RANKS + 1, "threads": 1}
    seed = SeedSequence(int(rng.integers(2**32)))
    draws = run_engine(model, Transport(**settings), seed, no_progress)[1]
    quality = draws.quality[:RANKS, -1]
    levels = model.anchor_factor.level(quality, np.ones(len(quality)), rng)

    def quantities(quality, levels, tie, variance):
        scores = quality[:, [0, 3, 5]] + levels[:, None]
        fit = model.log_likelihood(np.ascontiguousarray(quality.T), tie)
        rest = (quality[:, 1] - quality[:, 4], variance, tie, fit)
        return np.column_stack([scores, *rest])

    ours = quantities(quality, levels, draws.tie[:RANKS, -1], draws.variance[:RANKS, -1])
    known = quantities(
        truth.quality[None], np.array([level]), np.array([truth.tie]), np.array([truth.variance])
    )
    return (ours < known).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("studies", "mapped"),
    [
        (30, False),
        pytest.param(300, False, marks=pytest.mark.thorough),
        pytest.param(150, True, marks=pytest.mark.thorough),
    ],
)
def test_truth_is_one_more_draw_over_many_studies(studies, mapped):
    """Simulation-based calibration in which the anchors' values are simulated, too.

    The level has a flat prior, under which ranks of what depends on it are uniform whatever it is.
    """
    seeds = SeedSequence(6).spawn(studies)
    ranks = [anchored_ranks(np.random.default_rng(seed), mapped) for seed in seeds]
    assert_uniform_ranks(np.array(ranks))
