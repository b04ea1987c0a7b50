"""Plots of ties, of the two scalars and of what was learnt, held against formulas and SciPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from xarray import DataTree

from support.drawings import MODEL, results_of, table_of, words
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.plots.learning import learning_plot, remaining_uncertainty
from tiewise.plots.parameters import parameter_plot, prior_density
from tiewise.plots.tie_curve import TIE_CURVE, observed_shares, observed_ties, tie_curve_plot
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import Wording, write_results_folder

# Ties.


def test_the_curve_is_the_chance_of_a_tie():
    """Neither wins: 1 − σ(d − δ) − σ(−d − δ), in percent."""
    figure = tie_curve_plot(results_of(table_of(4), tie=0.8))
    gap, shown = figure.axes[0].lines[0].get_data()
    want = 1 - 1 / (1 + np.exp(0.8 - gap)) - 1 / (1 + np.exp(0.8 + gap))
    assert shown == pytest.approx(100 * want)
    assert gap[0] == 0


@pytest.mark.parametrize(
    ("scale", "label", "ticks"),
    [
        ("elo", "difference in Elo rating", ["0", "50", "100", "150"]),
        ("0-100", "difference in quality, in logits", None),
    ],
)
def test_differences_are_on_the_scale_that_is_shown(scale, label, ticks):
    """Where a logit is as much everywhere on it: an Elo rating has 174 points for each."""
    columns = dict.fromkeys(("score", "score_sd", "score_q2.5", "score_q97.5"), 1500.0)
    table = table_of(4).assign(scale=scale, **columns)
    axes = tie_curve_plot(results_of(table, tie=0.8, wording=Wording(scale=scale))).axes[0]
    assert axes.get_xlabel() == label
    if ticks:
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ticks
        assert axes.get_xticks()[1] == pytest.approx(50 * np.log(10) / 400)


def test_answers_are_shared_out_by_the_difference_of_their_pairs():
    """Two kinds of pairs, near ones and far ones: two dots, each with its own share of ties."""
    table = table_of(4, mean=[1.0, 0.9, -0.9, -1.0])
    quality = np.broadcast_to(table["mean"].to_numpy(), (1, 5, 4))
    near, far = [(0, 1, 10, 0, 5), (2, 3, 10, 5, 0)], [(0, 3, 15, 0, 0), (1, 2, 12, 1, 2)]
    observed = observed_ties(results_of(table, draws=quality, pairs=[*far, *near]))
    assert observed["answers"].tolist() == [15, 15, 15, 15]
    assert observed["gap"].to_numpy() == pytest.approx([0.1, 0.1, 1.8, 2.0])
    assert sorted(observed["share"].head(2)) == pytest.approx([0, 1 / 3])
    assert observed["share"].tail(2).tolist() == pytest.approx([2 / 15, 0])


def test_every_answer_is_in_one_dot():
    rng = np.random.default_rng(5)
    pairs = [
        (int(i), int(j), *map(int, rng.integers(0, 9, 3))) for i, j in rng.integers(0, 9, (99, 2))
    ]
    observed = observed_ties(results_of(table_of(9), pairs=pairs))
    totals = np.array(pairs)[:, 2:].sum(axis=0)
    assert observed["answers"].sum() == totals.sum()
    assert (observed["share"] * observed["answers"]).sum() == pytest.approx(totals[2])
    assert observed["gap"].is_monotonic_increasing


def test_the_interval_of_a_share_is_wilsons():
    observed = observed_ties(results_of(table_of(2), pairs=[(0, 1, 20, 13, 7)]))
    test = stats.binomtest(7, 40).proportion_ci(method="wilson")
    (row,) = observed[observed["answers"] == 40].to_dict("records")
    assert (row["low"], row["high"]) == pytest.approx((test.low, test.high), abs=1e-4)


def test_too_few_answers_make_no_dot():
    results = results_of(table_of(3), pairs=[(0, 1, 3, 2, 1)])
    assert observed_ties(results).empty
    assert "Dots" not in words(tie_curve_plot(results))


def test_an_estimate_without_draws_has_no_band():
    results = results_of(table_of(3), draws=np.zeros((1, 1, 3)), kind="point")
    assert "band" not in words(tie_curve_plot(results))


# Graded answers.


def graded_results(tie: float):
    """Two items 1 apart, cuts at 0.5 (or none) and 1.5, and twenty answers of every grade."""
    table = table_of(2, mean=[0.5, -0.5])
    quality = np.broadcast_to(table["mean"].to_numpy(), (1, 5, 2))
    ties = 20 if tie else 0
    # Items are stored in the other order: position 0 of the table is their second.
    results = results_of(table, draws=quality, tie=tie, pairs=[(1, 0, 30, 70, ties)])
    for group, name, dims, values in (
        ("posterior", "cut", ("chain", "draw", "strength"), np.full((1, 5, 2), (tie, 1.5))),
        ("observed_data", "strengths", ("pair", "side", "strength"), [[[20, 10], [30, 40]]]),
    ):
        whole = results.tree[group].to_dataset().assign({name: (dims, values)})
        results.tree[group] = DataTree(whole)
    return results


@pytest.mark.parametrize("tie", [0.5, 0.0])
def test_every_graded_answer_has_its_curve(tie):
    """Between cuts a and b: σ(d − a) − σ(d − b), in percent."""
    axes = tie_curve_plot(graded_results(tie)).axes[0]
    bounds = [np.inf, 1.5, 0.5, -0.5, -1.5, -np.inf] if tie else [np.inf, 1.5, 0, -1.5, -np.inf]
    lines = {line.get_label(): line.get_data() for line in axes.lines}
    middle = ["about equal"] if tie else []
    assert list(lines) == ["much more", "more", *middle, "less", "much less"]
    for (gap, shown), (upper, lower) in zip(lines.values(), pairwise(bounds), strict=True):
        want = 1 / (1 + np.exp(lower - gap)) - 1 / (1 + np.exp(upper - gap))
        assert shown == pytest.approx(100 * want)


def test_shares_are_of_the_higher_one_of_a_pair():
    """The second of the pair is the higher one: its strongest answers come first."""
    shares = observed_shares(graded_results(0.5))
    assert [float(own["share"].iloc[-1]) for own in shares] == pytest.approx(
        [40 / 120, 30 / 120, 20 / 120, 20 / 120, 10 / 120]
    )
    assert [float(own["gap"].iloc[-1]) for own in shares] == pytest.approx([1.0] * 5)


def test_the_caption_has_every_answer_in_figures():
    caption = TIE_CURVE.caption(graded_results(0.0))
    assert "about equal" not in caption
    # σ(−1.5) where qualities do not differ, σ(0.5) where they differ by 2.
    assert "much more 18 % and 62 %" in caption


# The two scalars.

PRIORS = [
    (InverseGamma(2, 3), stats.invgamma(2, scale=3)),
    (InverseGamma(0.01, 0.01), stats.invgamma(0.01, scale=0.01)),
    # The square of a normal number is chi-squared.
    (HalfNormalSpread(1.7), stats.chi2(1, scale=1.7**2)),
    (Exponential(1.5), stats.expon(scale=1 / 1.5)),
    (Gamma(2.5, 3), stats.gamma(2.5, scale=1 / 3)),
    (HalfNormal(0.7), stats.halfnorm(scale=0.7)),
    (Uniform(0.5, 1.5), stats.uniform(0.5, 1.0)),
]


@pytest.mark.parametrize(("prior", "witness"), PRIORS)
def test_densities_are_those_of_scipy(prior, witness):
    where = np.array([0.01, 0.2, 0.51, 0.9, 1.4, 1.6, 7.0])
    assert prior_density(prior, where) == pytest.approx(witness.pdf(where))


@pytest.mark.parametrize("prior", [InverseGamma(2, 3), HalfNormalSpread(1.7), Gamma(2.5, 3)])
def test_a_density_has_area_one(prior):
    area, _ = quad(lambda x: float(prior_density(prior, np.array([x]))[0]), 0, np.inf)
    assert area == pytest.approx(1, abs=1e-4)


def test_a_prior_is_drawn_over_the_histogram_on_the_same_scale():
    """Bars and line are densities both: the bars' area is 1 but for the few draws left out."""
    figure = parameter_plot(results_of(table_of(4)))
    tie, variance = figure.axes
    for axes, witness in (
        (tie, stats.expon(scale=1 / 1.5)),
        (variance, stats.invgamma(2, scale=3)),
    ):
        x, y = axes.lines[0].get_data()
        assert y[1:] == pytest.approx(witness.pdf(x)[1:])
        (bars,) = [patch for patch in axes.patches if hasattr(patch, "get_data")]
        heights, edges, _ = bars.get_data()
        assert (heights * np.diff(edges)).sum() == pytest.approx(1)
    assert "exponential(1.5)" in words(figure)
    assert "tie threshold δ" in words(figure)


def test_the_numbers_above_a_histogram_are_those_of_its_draws():
    results = results_of(table_of(4))
    middle, low, high = np.quantile(results.tree["posterior/tie"], (0.5, 0.025, 0.975))
    heading = f"δ: median {middle:.2f}, 95 % interval {low:.2f} to {high:.2f}"
    assert heading in words(parameter_plot(results))


def test_what_was_held_is_said_and_not_drawn():
    figure = parameter_plot(results_of(table_of(4), variance=1.5))
    assert len(figure.axes) == 1
    assert "Variance of quality α²: held at 1.5, not inferred." in words(figure)
    without = results_of(table_of(4), tie=0.0, model=MODEL | {"tie": None})
    assert "Tie threshold δ: this model has no ties." in words(parameter_plot(without))


def test_an_engine_with_its_own_prior_has_no_dashed_line():
    results = results_of(
        table_of(4),
        variance=np.nan,
        model={"prior": {"kind": "engine", "text": "gamma of strengths"}},
    )
    figure = parameter_plot(results)
    assert len(figure.axes[0].lines) == 1, "the median"
    assert "not a parameter of this engine" in words(figure)
    assert "Dashed" not in words(figure)


def test_where_both_are_held_there_is_no_histogram():
    with pytest.raises(InputError, match="neither"):
        parameter_plot(results_of(table_of(4), tie=0.5, variance=1.0))


# What was learnt.


def test_what_is_left_is_the_ratio_of_standard_deviations():
    """Before: 0.8 · √4. After: as the table has it."""
    results = results_of(table_of(3, sd=[0.8, 0.4, 1.6]), variance=4.0, prior_sd=0.8)
    assert remaining_uncertainty(results)[["1", "2", "3"]].tolist() == pytest.approx(
        [0.5, 0.25, 1.0]
    )


def test_an_item_nobody_compared_keeps_nearly_all_of_its_uncertainty(village, tmp_path):
    """Independent items: the one without comparisons learns only of the average."""
    from tiewise.model.bradley_terry import BradleyTerry
    from tiewise.model.quality_priors import Independent

    items = (*village.counts.items, "zelkova")
    model = BradleyTerry(village.counts, Independent(items), variance=InverseGamma(30, 30))
    results = write_results_folder(fit(model, Transport(draws=800), rng=3), tmp_path / "out")
    left = remaining_uncertainty(results)
    assert left["zelkova"] == pytest.approx(1, abs=0.15)
    assert left.drop("zelkova").max() < 0.6
    figure = learning_plot(results)
    compared, uncompared = (some.get_offsets() for some in figure.axes[0].collections)
    assert (len(compared), len(uncompared)) == (8, 1)
    assert uncompared[0].tolist() == pytest.approx([0, 100 * left["zelkova"]])
    assert "not compared: nothing is known of it" in words(figure)


def test_without_a_variance_there_is_nothing_to_start_from():
    results = results_of(table_of(3), variance=np.nan)
    assert remaining_uncertainty(results) is None
    with pytest.raises(InputError, match="no prior"):
        learning_plot(results)
