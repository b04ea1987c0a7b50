"""What the planner promises is what fresh studies give."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiewise.geo.graph import Graph
from tiewise.jobs.run import WorkerPool
from tiewise.planning.design import StudyDesign

ITEMS = tuple(str(k + 1) for k in range(12))


@pytest.mark.slow
@pytest.mark.thorough
def test_what_is_promised_is_kept(monkeypatch):
    """200 fresh studies of the size recommended: every figure is within Monte Carlo error."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    from benchmarks.promise import check_promise

    design = StudyDesign(
        items=ITEMS,
        graph=Graph.from_edges([(k + 1, (k + 1) % 12 + 1) for k in range(12)], ITEMS),
        groups=tuple("abcd"[k % 4] for k in range(12)),
        knows=2,
        judges=5,
        per_judge=12,
        spread=3.0,
        skip=0.05,
        top=3,
    )
    checks = check_promise(design, seed=5, fresh=200, pool=WorkerPool(2))
    assert set(checks) == {"independent", "network"}
    for prior, check in checks.items():
        for name, one in check["figures"].items():
            assert abs(one["z"]) < 4, (prior, name, one)
