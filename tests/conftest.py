"""What several tests share: a village small enough to know by heart, and the real studies."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

from support import postgres
from support.processes import one_process_at_a_time
from tiewise import forking
from tiewise.data.counts import Counts
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A machine that is busy with something else is no fault of what is tested.
settings.register_profile("patient", deadline=None, max_examples=40)
settings.register_profile("slow", deadline=None, max_examples=300)  # of `make test-slow`
settings.load_profile("patient")

pytest_plugins = ["support.skipped"]

SHARED = Path(__file__).parents[2] / "shared"

FARMS = ("ash", "birch", "cedar", "elm", "hazel", "larch", "oak", "yew")
LANES = (
    ("ash", "birch"), ("birch", "cedar"), ("cedar", "elm"), ("elm", "ash"),
    ("elm", "hazel"), ("hazel", "larch"), ("larch", "oak"), ("oak", "yew"),
)  # fmt: skip


LONGEST = (
    "web/host/test_newcomer_browser.py", "web/judge/maps/test_map_stages.py",
    "web/researcher/test_researcher_browser.py", "web/test_fuzz.py", "test_regression.py",
    "report/test_report_browser.py", "engines/test_reference_posteriors.py",
    "engines/sparse/test_sparse_anchors.py", "web/host/test_host.py", "web/host/test_new_study.py",
    "web/api/test_openapi.py", "engines/test_transport.py", "test_site.py",
    "workflows/test_datasets.py", "web/researcher/people/test_inviting.py", "test_extending.py",
    "planning/test_plan_study.py", "cli/test_fit.py", "web/test_whole_study.py",
    "cli/test_checks.py", "workflows/test_compare_models.py", "engines/test_recentring.py",
    "cli/test_plan.py", "web/researcher/test_control.py", "cli/test_term_options.py",
    "engines/test_mixture.py", "engines/test_term_models.py",
    "web/judge/test_questions_browser.py", "study/media/test_item_files.py", "cli/test_grades.py",
    "web/test_server.py", "report/test_report.py", "jobs/test_dask.py",
    "web/judge/test_judge_pages.py", "web/live/test_live.py", "web/judge/test_reading_browser.py",
    "test_architecture.py", "web/test_crash.py", "test_docs.py",
    "web/serving/test_rolling_restart.py", "experiments/test_experiments.py",
    "posterior/scales/test_anchors_with_terms.py", "web/judge/test_judge_browser.py",
    "report/test_briefing.py", "report/test_long_report.py", "web/researcher/test_sign_in.py",
    "web/test_verdict_everywhere.py", "engines/test_gibbs.py",
    "criticism/test_model_comparison.py", "criticism/test_predictive_checks.py",
    "criticism/test_judge_fit.py", "criticism/test_judge_statistics.py", "plots/test_catalogue.py",
    "web/judge/items/test_item_kinds_browser.py",
)  # fmt: skip
"""The files that take longest, every day or of the slow tests: begun first, so that no core waits
for the last of them."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[object]:
    """Collect thousands of tests without looking for garbage among them, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Libraries that count what is left at the end find nothing."""
    gc.unfreeze()


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


@pytest.fixture(scope="module", autouse=True)
def _no_second_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every core has tests of its own already: only the tests of forking fork."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.name != "test_forking.py":
            patch.setattr(forking, "can_fork", lambda: False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _loops_compiled(village: Village, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The first fit of a checkout says that it compiles; here it is not for any test to meet.

    One process compiles, and the others wait to find the loops there.
    """
    with one_process_at_a_time(tmp_path_factory.getbasetemp().parent / "compiling"):
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
