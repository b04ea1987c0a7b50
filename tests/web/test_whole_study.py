"""A whole study through the site: judges with known opinions, exported, fitted, and found out."""

from __future__ import annotations

import html

import numpy as np
import pytest
from scipy.stats import chi2

from support.form_browser import Visitor
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.geo.item_context import ItemContext
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth
from tiewise.study.create import create_study
from tiewise.study.export import export
from tiewise.web.app import make_app
from tiewise.web.security import RateLimit, RateLimits
from tiewise.workflows.analyse import analyse

WARDS, JUDGES, EACH, SKIPS = 60, 15, 60, 0.02


def opinion(difference: float, tie: float, rng: np.random.Generator) -> str:
    """What Rao and Kupper's judge says, written out: left, right, or neither by enough."""
    left = 1 / (1 + np.exp(tie - difference))
    right = 1 / (1 + np.exp(tie + difference))
    uniform = rng.random()
    if rng.random() < SKIPS:
        return "skip"
    return "left" if uniform < left else "right" if uniform < left + right else "tie"


@pytest.mark.slow
def test_a_study_through_the_site_recovers_the_truth(tmp_path):
    rng = np.random.default_rng(20)
    areas = Areas.synthetic(WARDS, rng=9)
    areas.to_gpkg(tmp_path / "wards.gpkg")
    truth = Truth.from_priors(Network(Graph.from_areas(areas)), Fixed(1.5), Fixed(0.5), rng)
    quality = dict(zip(areas.items, truth.quality, strict=True))
    by_name = {
        (html.escape(name), html.escape(group)): quality[item]
        for item, name, group in zip(areas.items, areas.names, areas.groups, strict=True)
    }
    assert len(by_name) == WARDS
    study = create_study(tmp_path / "study", question="Which?", areas=tmp_path / "wards.gpkg")
    store = study.store()
    # Judges made of code need no pause to think.
    app = make_app(study, store, secret="s" * 40, limits=RateLimits(posts=RateLimit(10**6, 60)))

    def shown(judge: Visitor) -> list[float]:
        """The qualities of what a judge has before them, known by name and group."""
        groups = [p.split("</bdi>")[0] for p in judge.answer.text.split('<p class="group"><bdi>')]
        return [by_name[one] for one in zip(judge.names(), groups[1:], strict=True)]

    for _ in range(JUDGES):
        judge = Visitor(app).join()
        for _ in range(EACH):
            if judge.path != "/pair":
                judge.get("/pair")
            left, right = shown(judge)
            judge.judge(opinion(left - right, truth.tie, rng))

    export(study, store, tmp_path / "out")
    results = analyse(
        tmp_path / "out" / "comparisons.csv", tmp_path / "results", report=False, rng=1,
        context=ItemContext.read(areas=study.folder / "areas.gpkg"),
    )  # fmt: skip
    assert results.facts["judges"] == JUDGES
    assert results.facts["comparisons"] + results.facts["skips"] == JUDGES * EACH

    drawn = results.tree["posterior/quality"].stack(all=("chain", "draw")).transpose("all", "item")
    expected = np.array([quality[str(item)] for item in drawn["item"].values])
    draws = drawn.to_numpy() - drawn.to_numpy().mean(axis=1, keepdims=True)
    expected = expected - expected.mean()
    # As far from the truth as a posterior of this width should be: chi-square, one degree lost to
    # the mean that every draw has in common.
    off = expected - draws.mean(axis=0)
    distance = off @ np.linalg.pinv(np.cov(draws.T), rcond=1e-8) @ off
    assert 1e-4 < chi2.cdf(distance, WARDS - 1) < 1 - 1e-4
    assert np.corrcoef(expected, draws.mean(axis=0))[0, 1] > 0.7
    tie = results.tree["posterior/tie"].to_numpy().ravel()
    assert abs(tie.mean() - truth.tie) < 4 * tie.std()
