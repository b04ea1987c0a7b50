"""Plans with anchors: truths that agree with their values, and the reference policy, simulated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.random import SeedSequence

from support.reference_formulas import assert_normal_scores
from tiewise.cli.main import main
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.planning import search
from tiewise.planning.crowd import counts_by_size
from tiewise.planning.design import StudyDesign
from tiewise.planning.simulated_study import simulate_study

ITEMS = tuple(str(k + 1) for k in range(12))
ANCHORS = Anchors(ITEMS[:4], [12.0, 10.0, 11.0, 13.5], [0.3, 0.5, 0.4, 0.2])
DESIGN = StudyDesign(items=ITEMS, per_judge=10, policy="reference", anchors=ANCHORS)


def test_truths_are_drawn_given_the_values_of_anchors():
    """Means and covariances of differences are those of the Gaussian closed form."""
    rng = np.random.default_rng(1)
    # Centring changes no difference.
    draws = np.array([DESIGN.truth(rng).quality[:5] for _ in range(3000)])
    draws = draws[:, 1:] - draws[:, :1]
    weight = np.append(1 / np.asarray(ANCHORS.sd) ** 2, 0.0)
    design = np.column_stack([np.eye(5), np.ones(5)])
    prior = np.diag([1 / DESIGN.spread] * 5 + [0.0])
    covariance = np.linalg.inv(prior + (design.T * weight) @ design)
    mean = covariance @ (design.T * weight) @ np.append(ANCHORS.values, 0.0)
    apart = np.column_stack([-np.ones(4), np.eye(4), np.zeros(4)])
    expected, spread = apart @ mean, np.diag(apart @ covariance @ apart.T)
    squares = (draws - expected) ** 2 / spread
    scores = (draws.mean(axis=0) - expected) / np.sqrt(spread / 3000)
    assert_normal_scores(np.append(scores, (squares.mean(axis=0) - 1) / np.sqrt(2 / 3000)))


@pytest.mark.parametrize("mapped", [False, True])
def test_judges_compare_new_items_with_anchors_up_to_the_limit(mapped):
    graph = Graph(ITEMS, Graph.grid(3, 4).edges) if mapped else None
    design = replace(DESIGN, anchor_limit=15, judges=5, graph=graph)
    rng = np.random.default_rng(2)
    real = design.truth(rng)
    sizes = dict(counts_by_size(design.crowd, real, [40, 160], rng, prior=design.prior))
    anchored = np.isin(np.arange(12), range(4))
    early = sizes[40]
    assert (anchored[early.first] ^ anchored[early.second]).all()
    shown = sizes[160].per_item()
    # All who are at work see the same state, so that as many may come on top.
    assert shown[:4].max() <= 15 + design.crowd.concurrent
    assert shown[4:].min() > 20


def test_fits_of_a_plan_know_the_anchors():
    """Anchors that are sure of themselves make a study of few comparisons more reliable."""
    sure = replace(DESIGN, anchors=Anchors(ITEMS[:8], np.linspace(0, 4, 8), 0.1))
    inputs = {
        "design": sure, "truth": None, "schedule": {24: ("independent",)}, "study": 1,
        "phase": "scout", "stop_at": None,
    }  # fmt: skip
    row = simulate_study(inputs, SeedSequence(3)).rows[0]
    without = replace(sure, anchors=None, policy="balanced")
    bare = simulate_study(inputs | {"design": without}, SeedSequence(3)).rows[0]
    assert row["reliability"] > bare["reliability"] + 0.1


def test_settings_of_a_plan_name_its_anchors_and_those_without_stay_as_they_were():
    without = replace(DESIGN, anchors=None, policy="balanced")
    assert "anchors" not in without.settings()
    one, two = (replace(DESIGN, anchor_limit=limit).settings() for limit in (50, 60))
    assert (one["anchors"], one["anchor_limit"], two["anchor_limit"]) == (4, 50, 60)
    other = replace(DESIGN, anchors=replace(ANCHORS, values=[12.0, 10.0, 11.0, 13.0]))
    assert other.settings()["fingerprint"] != DESIGN.settings()["fingerprint"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"anchors": None}, "compares items with anchors, and there are none; give anchors="),
        ({"anchors": Anchors(("1", "z"), [1, 2], 0.1)}, "anchors name 'z', not among the 12 items"),
        ({"anchor_limit": 0}, "shown 1 time or more, not 0"),
        (
            {"anchors": replace(ANCHORS, slope="learned")},
            "units that are known; give sd, and the slope as a number",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(DESIGN, **change)


@pytest.mark.slow
def test_a_plan_with_the_reference_policy_is_made_from_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "SCOUT_STUDIES", 2)
    monkeypatch.setattr(search, "SURVEY_SIZES", 4)
    table = tmp_path / "anchors.csv"
    table.write_text("item,value,sd\n1,3,0.2\n2,4,0.2\n3,5,0.2\n", encoding="utf-8")
    words = [
        "plan",
        "--items",
        "10",
        "--per-judge",
        "15",
        "--spread",
        "2",
        "--precision",
        "0.2",
        "--workers",
        "1",
    ]
    run = CliRunner().invoke(
        main, [*words, "--policy", "reference", "--anchors", str(table), "--anchor-limit", "30"]
    )
    assert run.exit_code == 0, run.output
    assert "For a reliability of 0.80 collect about" in run.output
    run = CliRunner().invoke(main, [*words, "--policy", "reference"])
    assert "there are none; give --anchors" in run.output
