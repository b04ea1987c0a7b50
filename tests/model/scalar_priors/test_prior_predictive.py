"""What priors predict: the table of docs/priors.md is what the simulation gives."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tiewise.model.scalar_priors.fixed import Fixed


@pytest.fixture
def simulation(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))
    from benchmarks import prior_predictive

    return prior_predictive


def test_the_page_has_the_table_of_the_simulation(simulation):
    page = simulation.PAGE.read_text(encoding="utf-8")
    block = page.partition(simulation.BEGIN)[2].partition(simulation.END)[0]
    assert block == simulation.table()


def test_default_studies_are_believable_and_the_papers_are_not(simulation):
    """Ties in 1 to 90 % of random pairs, and the better chosen in 52 to 98 % of the others."""
    believable = {}
    for name in ("default", "paper"):
        shares = simulation.predict(*simulation.PRIORS[name], np.random.default_rng(2))
        ties = (shares.ties > 0.01) & (shares.ties < 0.9)
        believable[name] = np.mean(ties & (shares.better > 0.52) & (shares.better < 0.98))
    assert believable["default"] > 0.9
    assert believable["paper"] < 0.1


def test_shares_are_rao_and_kuppers(simulation, monkeypatch):
    """Equal items tie with probability tanh(δ/2), and either is chosen as often."""
    monkeypatch.setattr(simulation, "STUDIES", 3)
    shares = simulation.predict(Fixed(0.0), Fixed(0.468), np.random.default_rng(2))
    assert shares.ties == pytest.approx(np.tanh(0.234))
    assert shares.better == pytest.approx(0.5)
    assert shares.top == pytest.approx(0.5)
