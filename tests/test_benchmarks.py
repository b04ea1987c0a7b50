"""How benchmarks count: effective draws, targets, slopes, and the data of their peers. No times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tiewise.geo.graph import Graph

ROOT = Path(__file__).parents[1]
LONG = ("items-8000", "items-10000", "items-100000", "map-100000", "judges-10000")


@pytest.fixture(autouse=True)
def _beside_the_package(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def long_cases(**changes: float) -> dict[str, dict[str, float]]:
    """Rows of the long cases, all of them quick, small and worth enough."""
    row = {"seconds": 9.0, "cpu_s": 9.0, "peak_mb": 9.0, "ess_min": 500.0, "rhat_max": 1.001}
    rows = {name: {**row, "items": int(name.split("-")[1]), **changes} for name in LONG}
    peer = {"over_peer": 1.5, "peer_cpu_s": 6.0}
    return {**rows, "against-scikit-learn": {**row, **peer, **changes}}


def short_cases() -> dict[tuple[str, str], dict[str, float]]:
    engines = ("transport", "numpyro", "nutpie", "gibbs-as-published", "gaussian-limit")
    row = {
        "ess_per_s": 30_000.0, "ess_min": 3000.0, "fit_s": 0.2, "sample_s": 1.0,
        "ess_tail": 3000.0, "one_thread_s": 1.0, "gradients_per_effective_draw": 2.0,
    }  # fmt: skip
    sets = (
        "south-yorkshire", "dar-es-salaam", "dar-es-salaam-mixture", "independent-1000",
        "synthetic-1024",
    )  # fmt: skip
    return {(engine, data): {**row} for engine in engines for data in sets}


def test_no_more_effective_draws_than_draws():
    """Draws that swing from side to side know their mean too well; they count as so many draws."""
    from benchmarks.run import Run

    rng = np.random.default_rng(1)
    swinging = rng.normal(size=(4, 500, 3)) * 0.3 + np.resize([1.0, -1.0], 500)[None, :, None]
    plain = rng.normal(size=(4, 500))
    bulk, tail, least = Run(swinging, swinging[..., 0], swinging[..., 1], 0.0, 0.0).effective()
    assert bulk > 2000
    assert least == min(tail, 2000)
    slow = np.repeat(plain[:, ::10], 10, axis=1)
    assert Run(swinging, plain, slow, 0.0, 0.0).effective().least < 400
    with_share = Run(swinging, plain, plain, 0.0, 0.0, others=slow[..., None])
    assert with_share.effective().least < 400


def test_every_later_target_has_a_figure_where_all_cases_were_run():
    from benchmarks.later_targets import COMMANDS, later_targets

    figures = {name: 1.0 for *_, name in COMMANDS}
    every = list(later_targets(short_cases(), figures, long_cases()))
    assert [one.what for one in every if one.value is None] == []
    missed = {one.what for one in every if not one.reached}
    assert {what.split(":")[0] for what in missed} == {
        "ESS/s, Transport over the better of NumPyro and nutpie"
    }
    assert {one.reached for one in later_targets({}, {}, {})} == {None}
    bulk_only = {case: {**row} for case, row in short_cases().items()}
    for row in bulk_only.values():
        del row["ess_tail"]
    assert {one.reached for one in later_targets(bulk_only, {}, {})} == {None}


@pytest.mark.parametrize("changes", [{"ess_min": 399.0}, {"seconds": 1801.0, "peak_mb": 2049.0}])
def test_a_long_case_is_reached_only_with_its_effective_draws(changes):
    """Quick draws that are worth too little are no figure to be proud of."""
    from benchmarks.later_targets import later_targets

    words = ("8,000 items,", "a million comparisons,", "map of 100,000", "10,000 judges")
    long = [
        one
        for one in later_targets({}, {}, long_cases(**changes))
        if any(word in one.what for word in words) and "growth" not in one.what
    ]
    assert len(long) == 7
    assert {one.reached for one in long} == {False}


def test_growth_is_a_power_of_the_number_of_items():
    from benchmarks.large.plot import slope
    from benchmarks.later_targets import exponent

    sizes = [1_000, 10_000, 30_000, 100_000]
    seconds = [7.0, *(3e-4 * size**1.2 for size in sizes[1:])]
    assert slope(sizes, seconds) == pytest.approx(1.2)
    rows = [{"items": n, "seconds": s} for n, s in zip(sizes, seconds, strict=True)]
    assert exponent(rows[1], rows[3], "seconds") == pytest.approx(1.2)
    assert exponent(rows[1], {}, "seconds") is None


def test_a_tie_is_half_a_win_each_way_for_the_logistic_regression():
    from benchmarks.large.logistic import design

    rows = [(5, 9, 5.0), (9, 7, np.nan), (7, 5, 5.0)]
    table = pd.DataFrame(rows, columns=["item_1_id", "item_2_id", "selected_item_id"])
    matrix, won, weight = design(table)
    assert matrix.toarray().tolist() == [[1, 0, -1], [0, -1, 1], [-1, 1, 0], [0, -1, 1]]
    assert won.tolist() == [1, 0, 0, 1]
    assert weight.tolist() == [1, 0.5, 1, 0.5]


def test_squares_of_the_large_map_touch_those_beside_them():
    from benchmarks.large.map_study import sides, square_areas

    assert sides(100_000) == (250, 400)
    drawn = Graph.from_areas(square_areas(*sides(12)))
    known = Graph.grid(3, 4, queen=True)
    pairs = [{frozenset(edge) for edge in graph.edges.tolist()} for graph in (drawn, known)]
    assert drawn.items == known.items
    assert pairs[0] == pairs[1]
