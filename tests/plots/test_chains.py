"""Plots of the chains: the right chains, with the numbers that are in the tables."""

from __future__ import annotations

import numpy as np
import pytest

from support.drawings import results_of, table_of, words
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.plots.chains import (
    BINS,
    autocorrelation_plot,
    diagnostic_chains,
    rank_plot,
    trace_plot,
)
from tiewise.posterior.diagnostics import autocorrelation, ess
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import Wording, write_results_folder
from tiewise.posterior.summaries import parameters

PLOTS = [trace_plot, rank_plot, autocorrelation_plot]


@pytest.fixture(scope="module")
def farms(village, tmp_path_factory):
    """The village, explored by 64 chains."""
    tree = fit(village.model, Transport(draws=4000), rng=4)
    return write_results_folder(
        tree, tmp_path_factory.mktemp("farms") / "out", wording=Wording(noun="farm")
    )


def test_each_panel_has_its_numbers_above_it(farms):
    table = parameters(farms.tree)
    for plot in PLOTS:
        text = words(plot(farms))
        for name, label in (("tie", "tie threshold δ"), ("variance", "variance α²")):
            row = table.loc[name]
            assert f"{label}: R-hat {row['rhat']:.3f}, ESS {row['ess_bulk']:,.0f}" in text


def test_the_quality_that_mixes_worst_is_shown():
    """One item out of four is a slow walk; it is the third of the table."""
    rng = np.random.default_rng(6)
    draws = rng.normal(size=(4, 400, 4))
    draws[..., 2] += np.cumsum(rng.normal(size=(4, 400)), axis=1)
    chains = diagnostic_chains(results_of(table_of(4), draws=draws))
    assert [one.name for one in chains] == ["tie threshold δ", "variance α²", "quality of Ward 3"]
    assert chains[-1].rhat > 1.05
    centred = draws - draws.mean(axis=2, keepdims=True)
    assert np.allclose(chains[-1].draws, centred[..., 2])
    assert chains[-1].ess == pytest.approx(min(ess(centred[..., [k]])[0] for k in range(4)))


def test_qualities_can_be_chosen():
    results = results_of(table_of(4))
    names = [one.name for one in diagnostic_chains(results, ["4", "1"])]
    assert names[2:] == ["quality of Ward 4", "quality of Ward 1"]
    with pytest.raises(InputError, match="'9'"):
        diagnostic_chains(results, ["9"])


def test_what_is_held_has_no_trace():
    names = [
        one.name for one in diagnostic_chains(results_of(table_of(4), tie=0.5, variance=np.nan))
    ]
    assert len(names) == 1
    assert names[0].startswith("quality of")


@pytest.mark.parametrize("kind", ["approximate", "point"])
@pytest.mark.parametrize("plot", PLOTS)
def test_without_chains_there_is_nothing_to_plot(kind, plot):
    with pytest.raises(InputError, match="no chains"):
        plot(results_of(table_of(4), kind=kind))


def test_every_chain_is_drawn_and_one_of_each_start_in_colour(farms):
    axes = trace_plot(farms).axes[0]
    assert len(axes.lines) == 64
    greys = [line for line in axes.lines if line.get_color() == "#c8c8c8"]
    assert len(greys) == 60
    lines = np.sort([line.get_ydata() for line in axes.lines], axis=0)
    assert np.array_equal(lines, np.sort(farms.tree["posterior/tie"].to_numpy(), axis=0))
    assert "64 chains of 63 draws; one from each start in colour" in words(trace_plot(farms))


def test_long_chains_are_thinned_and_it_is_said():
    results = results_of(table_of(3), draws=np.random.default_rng(1).normal(size=(4, 6000, 3)))
    figure = trace_plot(results)
    assert sum(len(line.get_ydata()) for line in figure.axes[0].lines) <= 6000
    assert "Every 4th draw is shown." in words(figure)
    assert "each has its colour" in words(figure)


def test_ranks_are_level_where_chains_agree_and_not_where_one_is_stuck():
    """A chain that lies above all others has every draw among the highest ranks."""
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(4, 200, 2))
    tie = rng.uniform(size=(4, 200))
    tie[3] += 5
    axes = rank_plot(results_of(table_of(2), draws=draws, tie=tie)).axes[0]
    bars = [patch.get_data() for patch in axes.patches if hasattr(patch, "get_data")]
    heights = [values - base for values, _, base in bars]
    stuck, others = heights[3], heights[:3]
    assert np.flatnonzero(stuck).tolist() == list(range(BINS - BINS // 4, BINS))
    assert all(some[-BINS // 4 :].sum() == 0 for some in others)


def test_chains_of_one_start_share_a_row(farms):
    axes = rank_plot(farms).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["start 1", "start 2", "start 3", "start 4"]


def test_very_many_chains_share_rows():
    draws = np.random.default_rng(1).normal(size=(20, 50, 3))
    figure = rank_plot(results_of(table_of(3), draws=draws))
    assert len(figure.axes[0].get_yticks()) == 8
    assert "some of the chains" in words(figure)


def test_autocorrelation_of_a_walk_with_a_pull_falls_as_its_power():
    """AR(1) with 0.8: 0.8, 0.64, ... within three standard errors (Bartlett) of 38,000 draws."""
    rng, walk = np.random.default_rng(9), np.zeros((20, 2000))
    for k in range(1, 2000):
        walk[:, k] = 0.8 * walk[:, k - 1] + 0.6 * rng.normal(size=20)
    got = autocorrelation(walk[:, 100:])
    error = 3 * np.sqrt((1 + 0.8**2) / (1 - 0.8**2) / 38_000)
    assert got[:6] == pytest.approx(0.8 ** np.arange(6), abs=error)


def test_chains_that_disagree_never_forget():
    rng = np.random.default_rng(9)
    apart = rng.normal(size=(4, 500)) + 10 * np.arange(4)[:, None]
    assert autocorrelation(apart)[50] > 0.95


def test_bars_are_the_autocorrelations(farms):
    heights = [bar.get_height() for bar in autocorrelation_plot(farms).axes[0].patches]
    assert heights == pytest.approx(autocorrelation(farms.tree["posterior/tie"].to_numpy())[:31])
