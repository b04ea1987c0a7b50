"""Tables a person reads, held against numbers worked out by hand and by other means."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy import stats
from xarray import DataArray, Dataset, DataTree

from support.reference_formulas import rao_kupper_probabilities
from tiewise.data.counts import Counts
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import parameters, preference, ranks, summarise, tie_curve

AXES = {"chain_axis": 0, "draw_axis": 1}
ARVIZ = {
    "ess_bulk": partial(array_stats.ess, **AXES, method="bulk"),
    "ess_tail": partial(array_stats.ess, **AXES, method="tail", prob=(0.05, 0.95)),
    "rhat": partial(array_stats.rhat, **AXES),
}


def tree_of(quality: list, tie: list, variance: list, kind: str = "exact") -> DataTree:
    """Draws written down by hand: qualities (chains, draws, items a b c ...)."""
    items = list("abcdefgh"[: np.shape(quality)[-1]])
    posterior = Dataset(
        {
            "quality": DataArray(np.array(quality, float), dims=("chain", "draw", "item")),
            "tie": DataArray(np.array(tie, float), dims=("chain", "draw")),
            "variance": DataArray(np.array(variance, float), dims=("chain", "draw")),
        },
        coords={"item": items},
    )
    constant = Dataset(
        {
            "name": ("item", [f"farm {item}" for item in items]),
            "comparisons": ("item", np.arange(10, 10 + len(items))),
        },
        coords={"item": items},
    )
    tree = DataTree.from_dict({"posterior": posterior, "constant_data": constant})
    tree.attrs.update(kind=kind, superchains=0)
    return tree


@pytest.fixture
def four_draws() -> DataTree:
    """Three items, two chains of two draws; each draw sits at a level of its own."""
    quality = [[[0, 2, 1], [10, 13, 10.5]], [[-5, -4, -3], [1, 1.5, 0.5]]]
    return tree_of(quality, [[0.2, 0.4], [0.6, 0.8]], [[1, 2], [3, 4]])


def test_qualities_are_centred_draw_by_draw(four_draws):
    """The level of a draw says nothing: means are of what is left when it is taken off."""
    table = summarise(four_draws, top=1).set_index("item")
    by_hand = np.array([[-1, 1, 0], [-7 / 6, 11 / 6, -4 / 6], [-1, 0, 1], [0, 0.5, -0.5]])
    assert np.allclose(table.loc[list("abc"), "mean"], by_hand.mean(axis=0))
    assert np.allclose(table.loc[list("abc"), "median"], np.median(by_hand, axis=0))
    assert np.allclose(table.loc[list("abc"), "sd"], by_hand.std(axis=0, ddof=1))
    ends = stats.mstats.mquantiles(by_hand, (0.025, 0.975), alphap=1, betap=1, axis=0)
    assert np.allclose(table.loc[list("abc"), ["q2.5", "q97.5"]].T, ends)


def test_ranks_and_the_top_are_counted(four_draws):
    """By hand: a is 3, 3, 3, 2; b is 1, 1, 2, 1; c is 2, 2, 1, 3."""
    table = summarise(four_draws, top=1).set_index("item")
    assert dict(table["rank"]) == {"a": 3, "b": 1, "c": 2}
    assert dict(table["rank_q2.5"]) == {"a": 2, "b": 1, "c": 1}
    assert dict(table["rank_q97.5"]) == {"a": 3, "b": 2, "c": 3}
    assert dict(table["top_k_probability"]) == {"a": 0, "b": 0.75, "c": 0.25}
    assert dict(summarise(four_draws, top=2).set_index("item")["top_k_probability"]) == {
        "a": 0.25, "b": 1, "c": 0.75,
    }  # fmt: skip
    assert (summarise(four_draws, top=3)["top_k_probability"] == 1).all()


def test_highest_mean_first_and_every_column_there(four_draws):
    table = summarise(four_draws, top=2)
    assert list(table["item"]) == ["b", "c", "a"]
    assert list(table["name"]) == ["farm b", "farm c", "farm a"]
    assert list(table["comparisons"]) == [11, 12, 10]
    assert ",".join(table.columns) == (
        "item,name,mean,median,sd,q2.5,q97.5,rank,rank_q2.5,rank_q97.5,top_k_probability,band,"
        "comparisons"
    )


def test_everybody_is_among_the_top_of_more_than_there_are(four_draws):
    """The default top is 5, and there may be fewer items."""
    pd.testing.assert_frame_equal(summarise(four_draws), summarise(four_draws, top=3))
    assert (summarise(four_draws, top=4)["top_k_probability"] == 1).all()


@pytest.mark.parametrize("top", [0, -1])
def test_a_top_that_cannot_be_is_refused(four_draws, top):
    with pytest.raises(InputError, match="between 1 and the number of items, 3"):
        summarise(four_draws, top=top)


def test_ranks_are_scipys():
    flat = np.random.default_rng(2).normal(size=(50, 7))
    assert np.array_equal(ranks(flat), stats.rankdata(-flat, axis=1))


def test_preference_averages_over_the_posterior(four_draws):
    """Of b over c: higher in three draws of four, and the paper's chances draw by draw."""
    quality = four_draws["posterior/quality"].to_numpy().reshape(-1, 3)
    ties = four_draws["posterior/tie"].to_numpy().ravel()
    by_hand = [
        rao_kupper_probabilities(q[1], q[2], tie) for q, tie in zip(quality, ties, strict=True)
    ]
    estimate = preference(four_draws, "b", "c")
    assert estimate.higher == 0.75
    for answer in ("first", "tie", "second"):
        mean = np.mean([probabilities[answer] for probabilities in by_hand])
        assert getattr(estimate, answer) == pytest.approx(mean)
    back = preference(four_draws, "c", "b")
    assert (back.first, back.tie, back.second) == pytest.approx(
        (estimate.second, estimate.tie, estimate.first)
    )


def test_preference_of_a_stranger_is_refused(four_draws):
    with pytest.raises(InputError, match="no item 'z'"):
        preference(four_draws, "a", "z")


def test_tie_curve_is_the_papers_at_every_gap(four_draws):
    curve = tie_curve(four_draws, gaps=[0.0, 1.5])
    by_hand = np.array(
        [[rao_kupper_probabilities(g, 0, t)["tie"] for t in (0.2, 0.4, 0.6, 0.8)] for g in (0, 1.5)]
    )
    assert np.allclose(curve["gap"], [0, 1.5])
    assert np.allclose(curve["mean"], by_hand.mean(axis=1))
    assert np.allclose(curve["median"], np.median(by_hand, axis=1))
    ends = stats.mstats.mquantiles(by_hand, (0.025, 0.975), alphap=1, betap=1, axis=1)
    assert np.allclose(curve[["q2.5", "q97.5"]], ends)


def test_tie_curve_falls_with_the_gap_and_starts_at_tanh(four_draws):
    curve = tie_curve(four_draws)
    assert (np.diff(curve["mean"]) < 0).all()
    assert curve["mean"][0] == pytest.approx(np.tanh(np.array([0.1, 0.2, 0.3, 0.4])).mean())


def test_parameters_are_those_of_the_draws():
    """Summaries by NumPy, diagnostics by ArviZ."""
    draws = np.random.default_rng(2).normal(size=(2, 4, 2000)) * 0.1 + 1
    tree = tree_of(np.zeros((4, 2000, 3)), draws[0], draws[1])
    table = parameters(tree)
    assert list(table.index) == ["tie", "variance"]
    assert ",".join([table.index.name, *table.columns]) == (
        "parameter,mean,median,sd,q2.5,q97.5,ess_bulk,ess_tail,rhat"
    )
    for row, known in zip(("tie", "variance"), draws, strict=True):
        figures = table.loc[row]
        assert figures["mean"] == pytest.approx(known.mean())
        assert figures["median"] == pytest.approx(np.median(known))
        assert figures["sd"] == pytest.approx(known.std(ddof=1))
        assert figures[["q2.5", "q97.5"]].tolist() == pytest.approx(
            np.quantile(known, [0.025, 0.975])
        )
        for column, witness in ARVIZ.items():
            assert figures[column] == pytest.approx(float(witness(known)), rel=1e-6)


def test_a_fixed_parameter_has_no_spread_and_no_diagnostics():
    rng = np.random.default_rng(2)
    tree = tree_of(rng.normal(size=(2, 50, 3)), rng.uniform(size=(2, 50)), np.full((2, 50), 1.3))
    figures = parameters(tree).loc["variance"]
    assert figures[["mean", "median", "q2.5", "q97.5"]].tolist() == pytest.approx([1.3] * 4)
    assert figures["sd"] == 0
    assert figures[["ess_bulk", "ess_tail", "rhat"]].isna().all()
    assert parameters(tree).loc["tie"].notna().all()


# Through `fit`, engine by engine.


@pytest.fixture(scope="module")
def study() -> Counts:
    return Counts.of(list("abc"), [0, 1, 0], [1, 2, 2], [6, 4, 3], [2, 4, 1], [3, 2, 3], skips=5)


def test_an_exact_engine_says_everything(study):
    tree = fit(BradleyTerry(study), Gibbs(draws=400, warmup=50), rng=2, names={"a": "Ashby"})
    table = summarise(tree, top=2)
    assert table.notna().all(axis=None)
    assert parameters(tree).notna().all(axis=None)
    assert dict(zip(table["item"], table["name"], strict=True)) == {
        "a": "Ashby", "b": "b", "c": "c",
    }  # fmt: skip
    assert dict(zip(table["item"], table["comparisons"], strict=True)) == {
        "a": 18, "b": 21, "c": 17,
    }  # fmt: skip
    assert tree.attrs["kind"] == "exact"
    assert tree.attrs["seed"] == "2"


def test_models_with_fixed_values_say_so(study):
    model = BradleyTerry(study, variance=Fixed(1.3), tie=Fixed(0.4))
    table = parameters(fit(model, Gibbs(draws=100, warmup=10), rng=2))
    assert table["mean"].tolist() == pytest.approx([0.4, 1.3])
    assert table["sd"].tolist() == [0, 0]
    assert table[["ess_bulk", "ess_tail", "rhat"]].isna().all(axis=None)


def test_a_model_without_ties_has_a_threshold_of_nothing(study):
    model = BradleyTerry(study.without_ties(), tie=None)
    tree = fit(model, Gibbs(draws=100, warmup=10), rng=2)
    assert parameters(tree).loc["tie", ["mean", "sd"]].tolist() == [0, 0]
    assert (tie_curve(tree)["mean"] == 0).all()
    assert preference(tree, "a", "b").tie == 0


def test_an_approximation_has_no_diagnostics_of_chains(study):
    table = parameters(fit(BradleyTerry(study), Laplace(draws=400), rng=2))
    assert table[["mean", "median", "sd", "q2.5", "q97.5"]].notna().all(axis=None)
    assert table[["ess_bulk", "ess_tail", "rhat"]].isna().all(axis=None)


def test_a_point_leaves_empty_what_it_cannot_say(study):
    """Wald intervals from standard errors; no variance, no chances, no diagnostics."""
    tree = fit(BradleyTerry(study), MaximumLikelihood(), rng=2)
    table, figures = summarise(tree, top=1), parameters(tree)
    assert table["rank"].tolist() == [1, 2, 3]
    assert table[["rank_q2.5", "rank_q97.5", "top_k_probability"]].isna().all(axis=None)
    reach = stats.norm.ppf(0.975) * table["sd"]
    assert np.allclose(table["q97.5"] - table["mean"], reach)
    assert np.allclose(table["mean"] - table["q2.5"], reach)
    assert figures.loc["variance"].isna().all()
    assert figures.loc["tie", ["mean", "sd", "q2.5", "q97.5"]].notna().all()
    assert figures[["ess_bulk", "ess_tail", "rhat"]].isna().all(axis=None)


def test_the_tree_remembers_the_study(study):
    """Rows as counted, and enough to say where a result came from."""
    tree = fit(BradleyTerry(study), Laplace(draws=50), rng=2)
    observed = tree["observed_data"]
    assert observed["wins_first"].to_numpy().tolist() == study.wins_first.tolist()
    assert observed["ties"].to_numpy().tolist() == study.ties.tolist()
    assert int(tree["constant_data/skips"]) == 5
    assert tree.attrs["digest"] == study.digest()
    assert json.loads(tree.attrs["settings"])["draws"] == 50
    assert json.loads(tree.attrs["model"])["quality"] == {"kind": "independent"}


@pytest.mark.parametrize("kind", ["network", "independent"])
def test_the_tree_remembers_how_wide_the_prior_was(village, kind):
    """The standard deviations of qualities drawn from the prior, each draw centred."""
    prior = village.model.prior if kind == "network" else Independent(village.counts.items)
    tree = fit(BradleyTerry(village.counts, prior), Laplace(draws=50), rng=2)
    spread = np.eye(8) if kind == "independent" else prior.covariance()
    draws = np.random.default_rng(2).multivariate_normal(np.zeros(8), spread, 40_000)
    drawn = (draws - draws.mean(axis=1, keepdims=True)).std(axis=0)
    # The relative error of such a standard deviation is 1/√(2·40,000) = 0.0035: five of them.
    assert np.allclose(tree["constant_data/prior_sd"], drawn, rtol=0.0177)


def test_warnings_speak_of_what_the_data_lack():
    items = list("abcdef")
    apart = Counts.of(items, [0, 2], [1, 3], [30, 30], [0, 0])
    text = " ".join(
        json.loads(fit(BradleyTerry(apart), Laplace(draws=50), rng=2).attrs["warnings"])
    )
    assert "2 items (e, f) were never compared" in text
    assert "2 sets with no comparison between them" in text
    assert "No answer stands against another: there is no circle" in text


def test_chains_that_disagree_are_said_to():
    """Too few draws to have settled anything."""
    counts = Counts.of(list("ab"), [0], [1], [3], [2], [1])
    tree = fit(BradleyTerry(counts), Gibbs(draws=20, warmup=0), rng=2)
    (warning,) = [text for text in json.loads(tree.attrs["warnings"]) if "do not agree" in text]
    assert "worth only" in warning
    assert warning.endswith(tree.attrs["ess_cause"])
    assert tree.attrs["ess_cause"].startswith("As many draws were taken as were asked for")


def test_tables_survive_a_round_trip_through_csv(four_draws, tmp_path):
    table = summarise(four_draws, top=2)
    table.to_csv(tmp_path / "items.csv", index=False)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "items.csv"), table, check_dtype=False)
