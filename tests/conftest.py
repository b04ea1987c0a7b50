"""What several tests share: a village small enough to know by heart, and the real studies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

from support import postgres
from tiewise.data.counts import Counts
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors import Exponential, InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A machine that is busy with something else is no fault of what is tested.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

pytest_plugins = ["support.skipped"]

SHARED = Path(__file__).parents[2] / "shared"

FARMS = ("ash", "birch", "cedar", "elm", "hazel", "larch", "oak", "yew")
LANES = (
    ("ash", "birch"), ("birch", "cedar"), ("cedar", "elm"), ("elm", "ash"),
    ("elm", "hazel"), ("hazel", "larch"), ("larch", "oak"), ("oak", "yew"),
)  # fmt: skip


LONGEST = (
    "engines/test_term_models.py", "engines/test_metropolis.py", "engines/test_gibbs.py",
    "engines/test_transport.py", "web/test_fuzz.py", "web/test_judge_browser.py", "cli/test_fit.py",
    "web/test_researcher_browser.py", "report/test_report_browser.py", "report/test_report.py",
    "cli/test_term_options.py", "planning/test_plan_study.py", "web/test_live.py",
    "web/test_judge_pages.py", "web/test_hostile.py", "test_docs.py", "plots/test_catalogue.py",
)  # fmt: skip
"""The files that take longest: begun first, so that no core waits for the last of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the others keep their order."""
    folder = Path(__file__).parent
    place = {folder / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


@dataclass(frozen=True)
class Village:
    """Eight farms around a green and along a lane, judged 120 times."""

    graph: Graph
    truth: Truth
    counts: Counts
    model: BradleyTerry


@pytest.fixture(scope="session", autouse=True)
def _cores_for_our_own_threads() -> Iterator[None]:
    """As in `fit`: small matrices gain nothing from a BLAS with threads of its own."""
    with one_blas_thread():
        yield


@pytest.fixture(scope="session", autouse=True)
def _loops_compiled(village: Village) -> None:
    """The first fit of a checkout says that it compiles; here it is not for any test to meet."""
    fit(village.model, Transport(draws=200), rng=1)


@pytest.fixture(scope="session")
def village() -> Village:
    graph = Graph.from_edges(LANES, FARMS)
    truth = Truth(FARMS, np.linspace(-1.5, 1.5, 8), tie=0.5, variance=1.0)
    counts = simulate_counts(truth, 120, np.random.default_rng(2))
    model = BradleyTerry(
        counts, Network(graph, share=1), variance=InverseGamma(3, 2), tie=Exponential(rate=2)
    )
    return Village(graph, truth, counts, model)


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """Finds a file of the real studies, or leaves out the test that asks for it."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip("real studies not beside this checkout")
        return path

    return find


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser, one for all tests: two in one process get in each other's way."""
    from support.browser import launched

    with launched() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Databases]:
    """Addresses of new databases on a real server; left out where none is installed."""
    programs = postgres.binaries()
    if programs is None:
        if os.environ.get("CI"):
            pytest.fail("no PostgreSQL server here; `make test` installs one")
        pytest.skip("no PostgreSQL server here")
    with postgres.server(programs) as folder:
        yield postgres.Databases(folder)
