"""Engines that write matrices of items by items out say what these take, and refuse too many."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest
from numpy.random import SeedSequence

from tiewise.data.counts import Counts
from tiewise.engines import capacity, engine_class, transport
from tiewise.engines.base import EngineUnsuitable
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Distance, Network
from tiewise.model.terms import Order
from tiewise.progress import no_progress

ITEMS = tuple(str(k) for k in range(2000))
PAIRS = Counts.of(ITEMS, np.arange(1999), np.arange(1, 2000), np.ones(1999), np.zeros(1999))


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(capacity, "memory_of_machine", lambda: 100_000_000)


def test_memory_is_that_of_the_container_where_it_has_less(tmp_path, monkeypatch):
    monkeypatch.setattr(capacity, "CONTROL_GROUPS", tmp_path)
    machine = capacity.memory_of_machine()
    (tmp_path / "memory").mkdir()
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        for text, known in (("max\n", machine), (f"{2**62}\n", machine), ("1000000\n", 1_000_000)):
            (tmp_path / name).write_text(text, encoding="ascii")
            assert capacity.memory_of_machine() == known
        (tmp_path / name).unlink()


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("name", ["gibbs", "metropolis", "laplace", "maximum-likelihood"])
def test_what_does_not_fit_is_refused(name):
    refusal = f"{name} would take about .* GB of memory for 2,000 items, .* use transport"
    with pytest.raises(InputError, match=refusal):
        engine_class(name)().run(BradleyTerry(PAIRS), SeedSequence(1), no_progress)


@pytest.mark.usefixtures("small_machine")
def test_draws_that_are_kept_in_memory_are_refused_where_they_do_not_fit():
    engine = engine_class("caron-doucet")(draws=4000)
    words = r"caron-doucet would take about 0.1 GB .* for 4,000 draws .*; take fewer \(draws=\), or"
    with pytest.raises(InputError, match=words):
        engine.run(BradleyTerry(PAIRS, tie=None), SeedSequence(1), no_progress)


@pytest.mark.usefixtures("small_machine")
def test_the_term_or_the_prior_is_named():
    transport = engine_class("transport")()
    ordered = Counts.of(ITEMS, [0], [1], [1], [0], ordered=True)
    with pytest.raises(InputError, match="2,000 items with Order, .* leave these terms out"):
        transport.run(BradleyTerry(ordered, terms=(Order(),)), SeedSequence(1), no_progress)
    places = np.random.default_rng(2).uniform(size=(2000, 2))
    near = BradleyTerry(PAIRS, Distance(places, ITEMS))
    with pytest.raises(InputError, match="with the distance prior, .* an independent prior"):
        transport.run(near, SeedSequence(1), no_progress)


@pytest.mark.usefixtures("small_machine")
def test_graded_answers_are_named():
    strengths = np.zeros((1, 2, 2), np.int64)
    strengths[0, 0] = 1, 1
    graded = Counts.of(ITEMS, [0], [1], [2], [0], strengths=strengths)
    for name, words in [
        ("transport", "fit the answers"),
        ("gibbs", "use transport on the answers"),
    ]:
        with pytest.raises(InputError, match=f"with graded answers, .*; {words} without their"):
            engine_class(name)().run(BradleyTerry(graded), SeedSequence(1), no_progress)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("name", ["gibbs", "metropolis", "laplace", "maximum-likelihood"])
def test_a_map_that_transport_takes_without_matrices_is_no_reason_to_leave_it_out(name):
    graph = Graph(ITEMS, np.column_stack([np.arange(1999), np.arange(1, 2000)]))
    with pytest.raises(InputError, match="for 2,000 items, and .*; use transport, which needs no"):
        engine_class(name)().run(BradleyTerry(PAIRS, Network(graph)), SeedSequence(1), no_progress)


@pytest.mark.usefixtures("small_machine")
def test_a_crowd_of_neighbours_needs_another_prior():
    """Where very many border one another Transport, too, writes matrices out."""
    middle = np.column_stack([np.zeros(1999, np.int64), np.arange(1, 2000)])
    model = BradleyTerry(PAIRS, Network(Graph(ITEMS, middle)))
    for name in ("gibbs", "transport"):
        with pytest.raises(InputError, match="with the network prior, .* an independent prior"):
            engine_class(name)().run(model, SeedSequence(1), no_progress)


def test_matrices_of_many_items_are_announced(caplog, monkeypatch):
    """Of 2,000 items they take half a minute, on a slower machine longer."""

    class Begun(Exception):
        """It has begun."""

    def begin(*_: object) -> None:
        raise Begun

    monkeypatch.setattr(transport, "FLOPS", 1e8)
    monkeypatch.setattr(transport, "build_hierarchical_preconditioner", begin)
    ordered = Counts.of(ITEMS, [0], [1], [1], [0], ordered=True)
    model = BradleyTerry(ordered, terms=(Order(),))
    with caplog.at_level(logging.WARNING, "tiewise"), pytest.raises(Begun):
        engine_class("transport")().run(model, SeedSequence(1), no_progress)
    assert "transport takes about 4 minutes for 2,000 items" in caplog.records[-1].getMessage()


@pytest.mark.parametrize(
    "name", ["transport", "gibbs", "metropolis", "caron-doucet", "laplace", "maximum-likelihood"]
)
def test_every_engine_says_how_long_it_will_take_before_it_begins(name, monkeypatch):
    begun: list[float] = []

    def announce(engine: str, model: BradleyTerry, seconds: float) -> None:
        assert (engine, model.size) == (name, 600)
        begun.append(seconds)
        raise EngineUnsuitable("that is long enough to be told", None)

    engine = engine_class(name)
    monkeypatch.setattr(sys.modules[engine.__module__], "announce", announce)
    rounds = [np.arange(600), np.roll(np.arange(600), 1), np.ones(600), np.zeros(600)]
    model = BradleyTerry(Counts.of(ITEMS[:600], *rounds), tie=None)
    with pytest.raises(EngineUnsuitable):
        engine().run(model, SeedSequence(1), lambda *_: pytest.fail("it had begun"))
    assert begun[0] > 0


def test_long_runs_are_announced(caplog):
    model = BradleyTerry(PAIRS)
    with caplog.at_level(logging.WARNING, "tiewise"):
        capacity.announce("gibbs", model, 60.0)
        assert not caplog.records
        for seconds, words in [(600, "10 minutes"), (4 * 3600, "4 hours"), (9e6, "104 days")]:
            capacity.announce("gibbs", model, seconds)
            assert f"gibbs takes about {words} for 2,000 items" in caplog.records[-1].getMessage()
