"""Fits of very many items say what all draws say, and keep some of them.

The limit of what is many is lowered, so that the same fit can be made in memory, too.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tiewise.criticism.claim import leading_claim
from tiewise.criticism.replicates import observed_answers, replicate
from tiewise.data.answers import TIE
from tiewise.data.counts import Counts
from tiewise.engines import stored_draws
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior import diagnostics
from tiewise.posterior.fit import fit
from tiewise.posterior.large import watched_items as watching
from tiewise.posterior.large.groups import all_draws, is_thinned
from tiewise.posterior.large.summary import ranked
from tiewise.posterior.large.watched_items import named_items, watch
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.reliability import reliability_facts
from tiewise.posterior.results_folder import fit_facts
from tiewise.posterior.summaries import parameters, ranks, summarise
from tiewise.workflows.write_results import write_results

ITEMS = 40


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(8)
    quality = rng.normal(0, 1.2, ITEMS)
    first, second = np.triu_indices(ITEMS, 1)
    some = rng.uniform(size=len(first)) < 0.5
    first, second = first[some], second[some]
    wins = rng.uniform(size=len(first)) < 1 / (1 + np.exp(quality[second] - quality[first]))
    tied = rng.uniform(size=len(first)) < 0.2
    names = [f"item {k:02}" for k in range(ITEMS)]
    return BradleyTerry(Counts.of(names, first, second, wins & ~tied, ~wins & ~tied, tied))


ENGINE = Transport(draws=800, chains=8)


@pytest.fixture(scope="module")
def in_memory(model):
    return fit(model, ENGINE, rng=6)


def fit_many(model, engine=ENGINE, **options):
    """A fit with all draws on disk, of which one in four is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_draws, "MANY_ITEMS", ITEMS - 1)
        patch.setattr(diagnostics, "MANY_ITEMS", ITEMS - 1)
        patch.setattr(stored_draws, "KEPT_NUMBERS", 8 * ITEMS * 25)
        return fit(model, engine, rng=6, **options)


@pytest.fixture(scope="module")
def on_disk(model):
    return fit_many(model)


def test_tables_are_those_of_all_draws(in_memory, on_disk):
    assert is_thinned(on_disk)
    assert not is_thinned(in_memory)
    for top in (1, 5, ITEMS - 1):
        one, two = (summarise(tree, top).set_index("item") for tree in (in_memory, on_disk))
        two = two.loc[one.index]
        one, two = (table.drop(columns=["name", "band"]) for table in (one, two))
        assert np.allclose(one, two, atol=2e-6)
    exact = ["rank", "rank_q2.5", "rank_q97.5", "top_k_probability"]
    assert (one[exact] == two[exact]).all(axis=None)
    assert (parameters(in_memory) == parameters(on_disk)).all(axis=None)


def test_kept_draws_are_some_of_all(in_memory, on_disk):
    kept = on_disk["posterior/draw"].to_numpy()
    assert list(kept) == list(range(3, 100, 4))
    quality = on_disk["posterior/quality"].to_numpy()
    assert quality.dtype == np.float32
    assert np.allclose(quality, in_memory["posterior/quality"].to_numpy()[:, kept], atol=1e-6)
    assert on_disk.attrs["kept_one_of"] == 4
    facts = fit_facts(on_disk)
    assert (facts["draws"], facts["kept_one_of"]) == (800, 4)
    assert "kept_one_of" not in fit_facts(in_memory)


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(model, on_disk):
    again = fit_many(model, replace(ENGINE, threads=1))
    for group in ("posterior", "item_summary", "all_draws", "log_prior", "log_likelihood"):
        one, two = on_disk[group], again[group]
        assert set(one.data_vars) == set(two.data_vars)
        for name in one.data_vars:
            assert one[name].to_numpy().tobytes() == two[name].to_numpy().tobytes(), name


def test_what_draws_are_worth_is_counted_on_all(in_memory, on_disk):
    for name in ("ess_min", "rhat_max"):
        assert on_disk.attrs[name] == pytest.approx(in_memory.attrs[name], rel=1e-3)


def test_log_densities_are_of_all_draws(in_memory, on_disk):
    whole = all_draws(on_disk)
    for name, group in (("judgements", "log_likelihood"), ("scales", "log_prior")):
        expected = in_memory[group][name].to_numpy()
        assert np.allclose(whole[name], expected, atol=1e-3)
        kept = on_disk["posterior/draw"].to_numpy()
        assert np.allclose(on_disk[group][name], expected[:, kept], atol=1e-3)


def test_claim_reliability_and_sensitivity_are_of_all_draws(in_memory, on_disk):
    one, two = (leading_claim(tree, 5) for tree in (in_memory, on_disk))
    assert np.array_equal(one.named, two.named)
    assert np.allclose(one[1:], two[1:], rtol=1e-4, equal_nan=True)
    assert reliability_facts(on_disk)["ssr"] == pytest.approx(reliability_facts(in_memory)["ssr"])
    facts = [json.loads(tree.attrs["prior_sensitivity"]) for tree in (in_memory, on_disk)]
    assert facts[0].pop("item") == facts[1].pop("item")
    assert facts[1] == pytest.approx(facts[0], abs=2e-4)


def test_ties_are_checked_by_the_differences_of_each_draw(in_memory, on_disk):
    """Estimates of items compared a few times lie close together because of their ties."""
    assert not observed_answers(in_memory, np.random.default_rng(1)).bins_by_draw
    data = observed_answers(on_disk, np.random.default_rng(1))
    draws = PosteriorDraws.from_tree(on_disk, 30)
    inputs = replicate(data, draws, np.random.default_rng(2))
    table, bins = data.table, len(data.centres)
    tied, size = table.answer == TIE, len(table.answer)
    shares = np.zeros(bins)
    for quality in draws.quality:
        order = np.argsort(np.abs(quality[table.left] - quality[table.right]), kind="stable")
        shares += [tied[order[np.arange(size) * bins // size == k]].mean() for k in range(bins)]
    assert np.allclose(inputs.observed.share[0], shares / len(draws))


@pytest.mark.parametrize("engine", [Gibbs(draws=120, warmup=20), Laplace(draws=200)])
def test_draws_of_every_engine_are_summed_up_and_thinned(model, engine):
    tree = fit_many(model, engine)
    whole = fit(model, engine, rng=6)
    one, two = (summarise(each).set_index("item") for each in (whole, tree))
    two = two.loc[one.index]
    one, two = (table.drop(columns=["name", "band"]) for table in (one, two))
    assert np.allclose(one, two, atol=2e-6)
    if engine.name == "laplace":
        assert tree["posterior"].sizes["draw"] == 200  # there is one chain, and room for all


def test_results_are_written_and_read_back(on_disk, tmp_path):
    from tiewise.posterior.results_folder import read_results

    write_results(on_disk, tmp_path / "out")
    back = read_results(tmp_path / "out")
    assert summarise(back.tree, 3).equals(summarise(on_disk, 3))
    assert back.tree["item_summary/rank"].attrs["units"] == "1"


def test_whoever_would_be_named_is_watched(monkeypatch):
    """However few others are watched: for every k, whoever is probable or likeliest among k."""
    rng = np.random.default_rng(2)
    items, draws = 300, 400
    centre = np.sort(rng.normal(size=items))
    # Some that are very uncertain: seldom high in the mean, often among the highest.
    wide = rng.uniform(size=items) < 0.2
    quality = centre + rng.normal(size=(1, draws, items)) * np.where(wide, 3.0, 0.2)
    for name in ("LEAST_COMPARED", "EXTREMES", "SPACED"):
        monkeypatch.setattr(diagnostics, name, 1)
    monkeypatch.setattr(watching, "PLACES", 30)
    store = stored_draws.StoredDraws.of(quality, quality[..., 0], quality[..., 0], {}, {})
    watched, own = watch(store.quality, np.full(items, 3))
    centred = quality[0] - quality[0].mean(axis=1, keepdims=True)
    assert np.allclose(own[0], centred[:, watched], atol=1e-6)
    rank = ranks(centred)
    for top in range(1, 31):
        probability = (rank <= top).mean(axis=0)
        named = np.flatnonzero(probability >= min(0.6, probability.max()))
        assert set(named) <= set(watched)
    assert len(watched) < items / 2


def test_named_items_are_few_where_the_highest_are_clear():
    highest = np.tile(np.array([4, 2, 9], np.int32), (50, 1))
    assert set(named_items(highest)) == {2, 4, 9}


def test_ranks_are_by_value_and_then_by_place():
    rows = np.array([[0.5, -1.0, 0.5, 2.0, -0.0, 0.0, -7.0]], np.float32)
    rank, order = ranked(rows)
    assert list(order[0]) == [3, 0, 2, 4, 5, 1, 6]
    assert list(rank[0]) == [2, 6, 3, 1, 4, 5, 7]
    many = np.random.default_rng(1).normal(size=(3, 500)).astype(np.float32)
    assert np.array_equal(ranked(many)[0], ranks(many))
