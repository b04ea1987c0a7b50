"""Sampling goes on until draws are worth enough, up to a limit; else the cause is named."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.posterior import sampling
from tiewise.posterior.diagnostics import ess
from tiewise.posterior.fit import fit
from tiewise.posterior.sampling import sample_on, sampling_cause, target_ess
from tiewise.progress import no_progress

ITEMS = ("a", "b", "c", "d")
COUNTS = Counts.of(
    ITEMS, [0, 1, 2, 0, 0], [1, 2, 3, 3, 2], [6, 5, 4, 3, 4], [2, 3, 2, 4, 3], [2, 1, 3, 2, 1]
)
PAPER = BradleyTerry(COUNTS, variance=InverseGamma(), tie=Exponential())
MODEL = BradleyTerry(COUNTS, variance=InverseGamma(3, 2), tie=Exponential(2.0))
ENGINES = [
    Transport(draws=64, chains=8), Gibbs(draws=40, warmup=5),
    Metropolis(draws=40, warmup=5, thin=3), CaronDoucet(draws=40, warmup=5, thin=2),
]  # fmt: skip


def model_for(engine) -> BradleyTerry:
    return PAPER if engine.name == "caron-doucet" else MODEL


def drawn(engine, draws: int) -> Draws:
    return replace(engine, draws=draws).run(model_for(engine), SeedSequence(5), no_progress)


def same(one: Draws, two: Draws) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
        for name in ("quality", "tie", "variance")
    )


# Centring.


def test_centring_in_place_gives_the_same_draws():
    """Overwriting qualities, where otherwise they stay as they are."""
    draws = drawn(ENGINES[0], 64)
    before = draws.quality.copy()
    centred = draws.centred()
    assert np.array_equal(draws.quality, before)
    assert same(draws.centred(in_place=True), centred)
    assert np.array_equal(draws.quality, centred.quality)


# Chains continued.


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_chains_that_go_on_are_one_long_run(engine):
    first = drawn(engine, engine.draws)
    assert first.more is not None
    whole = first.joined(first.more(first.tie.shape[1], 1, no_progress))
    assert same(whole, drawn(engine, 2 * engine.draws))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_thinned_draws_are_every_second_of_a_long_run(engine):
    first = drawn(engine, engine.draws)
    assert first.more is not None
    each = first.tie.shape[1]
    assert each % 2 == 0
    thinned = first.every_second().joined(first.more(each // 2, 2, no_progress))
    assert same(thinned, drawn(engine, 2 * engine.draws).every_second())


@pytest.mark.parametrize("engine", ENGINES[:3], ids=lambda engine: engine.name)
def test_a_share_of_the_map_that_is_learned_goes_on_likewise(engine):
    path = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]))
    model = BradleyTerry(COUNTS, path)
    short, long = (
        replace(engine, draws=n * engine.draws).run(model, SeedSequence(5), no_progress)
        for n in (1, 2)
    )
    assert short.more is not None
    whole = short.joined(short.more(short.tie.shape[1], 1, no_progress))
    assert same(whole, long)
    assert np.array_equal(whole.terms["share"], long.terms["share"])


def test_facts_of_a_run_that_went_on_are_of_all_of_it():
    first = drawn(ENGINES[0], 64)
    assert first.more is not None
    later = first.more(8, 1, no_progress)
    whole = drawn(ENGINES[0], 128)
    assert later.facts["gradients"] == whole.facts["gradients"]
    assert later.facts["acceptance"] == pytest.approx(whole.facts["acceptance"])


# When, and how far.


def test_it_goes_on_until_the_draws_are_worth_enough():
    """And is then the long run that somebody might have asked for at once."""
    short = Transport(draws=200, chains=8)
    tree = fit(MODEL, short, rng=3, ess=400)
    assert tree.attrs["rounds"] >= 1
    assert tree.attrs["ess_min"] >= 400
    assert tree.attrs["rhat_max"] < 1.01
    assert tree.attrs["ess_cause"] == ""
    again = fit(MODEL, short, rng=3, ess=400)
    assert np.array_equal(tree["posterior/quality"], again["posterior/quality"])
    long = fit(MODEL, replace(short, draws=200 * 2 ** tree.attrs["rounds"]), rng=3, ess=0)
    assert np.array_equal(tree["posterior/quality"], long["posterior/quality"])
    assert tree.attrs["ess_min"] == long.attrs["ess_min"]


def test_a_number_of_draws_that_was_chosen_is_kept():
    tree = fit(MODEL, Transport(draws=200, chains=8), rng=3)
    assert tree["posterior/tie"].size == 200
    assert tree.attrs["rounds"] == 0
    assert "As many draws were taken as were asked for" in tree.attrs["ess_cause"]
    (warning,) = [text for text in json.loads(tree.attrs["warnings"]) if "worth only" in text]
    assert warning.endswith(tree.attrs["ess_cause"])
    assert "--draws" not in warning


def test_who_chose_no_number_gets_enough():
    assert target_ess(Transport(), None) == 400
    assert target_ess(Gibbs(warmup=10), None) == 400
    assert target_ess(Transport(draws=600), None) == 0
    assert target_ess(Transport(draws=600), 50) == 50
    with pytest.raises(InputError, match="ess must be"):
        target_ess(Transport(), -1)


class StuckChains:
    """Draws that are the same within each chain: never worth anything, however many."""

    def __init__(self) -> None:
        self.steps = 0

    def draw(self, each: int, thin: int, _progress: object = None) -> Draws:
        self.steps += each * thin
        offset = np.arange(4.0)[:, None] + np.linspace(0, 0.01, each)
        quality = offset[..., None] * np.array([1.0, -1.0, 0.5, -0.5])
        return Draws(quality, np.exp(offset), np.exp(offset), more=self.draw)


def test_it_stops_at_sixteen_times_the_draws():
    chains = StuckChains()
    result = sample_on(MODEL, chains.draw(10, 1), 400, no_progress)
    assert chains.steps == 16 * 10
    assert result.draws.tie.shape == (4, 160)
    assert (result.rounds, result.thin, result.went_on) == (4, 1, True)
    assert result.worth.ess < 400
    assert result.draws.more is None  # so that nothing keeps the chains


@pytest.mark.parametrize("limit", ["MOST_DRAWS", "MOST_NUMBERS"])
def test_memory_is_bounded_by_keeping_one_draw_of_several(limit, monkeypatch):
    """Never fewer than were asked for, however low the bound."""
    monkeypatch.setattr(sampling, limit, 40 if limit == "MOST_DRAWS" else 4 * 40)
    chains = StuckChains()
    result = sample_on(MODEL, chains.draw(10, 1), 400, no_progress)
    assert chains.steps == 16 * 10
    assert result.draws.tie.shape == (4, 10)
    assert result.thin == 16


def test_what_draws_are_worth_does_not_exceed_their_number():
    """Draws that swing to and fro know their mean better than as many independent ones."""
    swing = np.abs(np.random.default_rng(4).normal(size=(4, 400))) * np.tile([1.0, -1.0], 200)
    draws = Draws(np.stack([swing, -swing], axis=-1), np.exp(-swing), np.exp(swing))
    assert ess(swing) > 1600 < ess(swing, "tail")
    counts = Counts.of(("a", "b"), [0], [1], [3], [2], [1])
    assert sample_on(BradleyTerry(counts), draws, 0, no_progress).worth.ess == 1600


def test_engines_that_do_not_sample_do_not_go_on():
    tree = fit(MODEL, Laplace(), rng=1)
    assert "rounds" not in tree.attrs


# The cause.


def with_variance(draws: np.ndarray, model: BradleyTerry = MODEL) -> Draws:
    shape = draws.shape
    return Draws(np.zeros((*shape, model.size)), np.ones(shape), draws)


LONG = with_variance(np.exp(2 * np.random.default_rng(1).normal(size=(4, 500))))
SHORT = with_variance(np.exp(0.2 * np.random.default_rng(1).normal(size=(4, 500))))
NO_TIES = BradleyTerry(COUNTS.without_ties(), variance=Fixed(1.0))
FEW = BradleyTerry(Counts.of(ITEMS, [0, 1], [1, 2], [1, 1], [0, 0], [0, 1]))


@pytest.mark.parametrize(
    ("model", "draws", "engine", "parameter", "words"),
    [
        (MODEL, LONG, "transport", "variance", "hardly bound the variance"),
        (MODEL, LONG, "gibbs", "tie", "hardly bound the variance"),
        (NO_TIES, SHORT, "transport", "tie", "not a single tie"),
        (FEW, SHORT, "transport", "quality", "few comparisons for so many items (3 of 4)"),
        (MODEL, SHORT, "metropolis", "quality", "metropolis moves slowly"),
        (MODEL, SHORT, "transport", "sharpness_sd", "the spread of judges' sharpness"),
    ],
)
def test_the_cause_is_in_the_data_or_the_model(model, draws, engine, parameter, words):
    cause = sampling_cause(model, draws, engine, parameter, went_on=True)
    assert words in cause
    assert "more draws" not in cause


def test_a_real_fit_with_a_heavy_tail_names_it():
    """One answer under the paper's prior: α² goes wherever its prior does."""
    counts = Counts.of(("a", "b"), [0], [1], [1], [0], [0])
    model = BradleyTerry(counts, variance=InverseGamma(), tie=None)
    tree = fit(model, Metropolis(draws=40, warmup=5, thin=1), rng=1, ess=400)
    assert tree.attrs["rounds"] == 4
    assert "long tail" in tree.attrs["ess_cause"]
    assert tree.attrs["ess_cause"] in tree.attrs["warnings"]
