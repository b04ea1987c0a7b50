"""Whether plans keep what they promise: `python -m benchmarks.promise`, or `make bench-promise`.

For designs that the planner was not built on, it is asked how many comparisons they need; then
fresh studies of that size are simulated with other seeds, and fitted with 4,000 draws each. Writes
results/promise.json and promise.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.workload import ROOT
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.jobs.run import Task, WorkerPool, run_tasks
from tiewise.planning.accuracy import MEASURES
from tiewise.planning.curves import mean_estimate
from tiewise.planning.design import StudyDesign, tie_for_share
from tiewise.planning.plan import Plan
from tiewise.planning.plan_study import plan_study
from tiewise.planning.simulated_study import simulate_study

FRESH, DRAWS = 200, 4000
SEED, OTHER = 1, 1_000_000
"""The planner's seed, and how far from it that of fresh studies is."""
MEASURE_NAMES = {
    "reliability": "reliability", "correlation": "correlation", "rank_correlation": "rank corr.",
    "rank_error": "ranks off by", "top_share": "top found", "width": "95 % width",
    "covered": "hold truth", "rank_width": "rank width", "rank_covered": "ranks held",
}  # fmt: skip


def designs() -> dict[str, StudyDesign]:
    """What is planned, by name."""
    return {
        "county of 60, 3 of 6 groups known, ties 0.3": _grouped(),
        "list of 40, α² = 4, balanced": StudyDesign(
            items=tuple(str(k + 1) for k in range(40)), judges=20, per_judge=25, spread=4.0,
            policy="balanced", prior_set="paper",
        ),
        "county of 95, α² = 1, informative": _county(95, seed=3, spread=1.0, policy="informative"),
    }  # fmt: skip


def _county(wards: int, *, seed: int, **more: Any) -> StudyDesign:
    areas = Areas.synthetic(wards, rng=seed)
    return StudyDesign(
        items=areas.items,
        graph=Graph.from_areas(areas),
        judges=15,
        per_judge=60,
        prior_set="paper",
        **more,
    )


def _grouped() -> StudyDesign:
    """Six groups of ten wards, from north to south: a made-up county has four boroughs itself."""
    plain = _county(60, seed=2)
    groups = tuple(f"group {k // 10 + 1}" for k in range(60))
    tie = tie_for_share(0.3, plain.prior, 60, plain.spread)
    return StudyDesign(
        items=plain.items, graph=plain.graph, groups=groups, knows=3, judges=30, per_judge=40,
        tie=tie, prior_set="paper",
    )  # fmt: skip


def main() -> None:
    """Plan, simulate afresh, and write what was promised beside what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    pool = WorkerPool(parser.parse_args().workers)
    started, checks = time.perf_counter(), {}
    for name, design in designs().items():
        checks[name] = check_promise(design, seed=SEED, fresh=FRESH, pool=pool)
        print(f"{time.strftime('%H:%M:%S')}  {name}", flush=True)
    place = ROOT / "benchmarks" / "results"
    rows = {"fresh": FRESH, "draws": DRAWS, "seconds": round(time.perf_counter() - started)}
    (place / "promise.json").write_text(json.dumps(rows | {"designs": checks}, indent=1) + "\n")
    (place / "promise.md").write_text(promise_markdown(rows | {"designs": checks}))


def check_promise(
    design: StudyDesign, *, seed: int, fresh: int, pool: WorkerPool, target: float = 0.8
) -> dict[str, Any]:
    """By prior: comparisons recommended, and every figure as promised and as seen afresh.

    `z` is their difference in standard errors of both.
    """
    plan = plan_study(design, reliability=target, rng=seed, pool=pool)
    rows = _simulate_fresh(plan, seed + OTHER, fresh, pool)
    return {
        prior: {
            "comparisons": need.comparisons, "low": need.low, "high": need.high,
            "studies": len(plan.records), "nine_in_ten_reach": need.tenth_percentile,
            "reached_it": float(np.mean([
                row["reliability"] >= need.tenth_percentile for row in rows if row["prior"] == prior
            ])),
            "figures": {
                name: _compare(need.measures[name], [
                    row[name] for row in rows if row["prior"] == prior
                ]) for name in MEASURES
            },
        }
        for prior, need in plan.requirements.items() if need is not None
    }  # fmt: skip


def _simulate_fresh(plan: Plan, seed: int, fresh: int, pool: WorkerPool) -> list[dict[str, Any]]:
    schedule: dict[int, list[str]] = {}
    for prior, need in plan.requirements.items():
        if need is not None:
            schedule.setdefault(need.comparisons, []).append(prior)
    inputs = {
        "design": plan.design, "phase": "fresh", "truth": None, "stop_at": None, "draws": DRAWS,
        "schedule": [(size, tuple(schedule[size])) for size in sorted(schedule)],
    }  # fmt: skip
    tasks = [Task(f"fresh {k}", inputs | {"study": f"fresh {k}"}) for k in range(fresh)]
    records = run_tasks(simulate_study, tasks, seed=seed, pool=pool)
    assert all(one.error is None for one in records), next(one for one in records if one.error)
    return [row for one in records for row in one.rows]


def _compare(promised: Any, seen: list[float]) -> dict[str, float]:
    fresh = mean_estimate(seen)
    error = float(np.hypot(promised.error, fresh.error))
    z = (fresh.value - promised.value) / error if error else 0.0
    return {
        "promised": promised.value, "error": promised.error, "seen": fresh.value,
        "seen_error": fresh.error, "z": z,
    }  # fmt: skip


def promise_markdown(rows: Mapping[str, Any]) -> str:
    """Everything as Markdown."""
    lines = [
        "# Promised and kept",
        "",
        "Written by `make bench-promise`; do not edit.",
        f"{rows['fresh']} fresh studies of each size, {rows['draws']:,} draws each, "
        f"{rows['seconds']} seconds in all. After ± the Monte Carlo standard error; "
        "z is the difference in standard errors of both.",
        "",
    ]
    for design, priors in rows["designs"].items():
        for prior, one in priors.items():
            lines += [
                f"## {design}; {prior} prior",
                "",
                f"{one['comparisons']:,} comparisons (between {one['low']:,} and {one['high']:,}) "
                f"for a reliability of 0.8, from {one['studies']} simulated studies. "
                f"Nine in ten studies were to reach {one['nine_in_ten_reach']:.2f}; "
                f"{100 * one['reached_it']:.0f} % did.",
                "",
                "| figure | promised | seen | z |",
                "|---|---|---|---|",
                *(_line(name, one["figures"][key]) for key, name in MEASURE_NAMES.items()),
                "",
            ]
    return "\n".join(lines)


def _line(name: str, one: Mapping[str, float]) -> str:
    return (
        f"| {name} | {one['promised']:.3f} ± {one['error']:.3f} | "
        f"{one['seen']:.3f} ± {one['seen_error']:.3f} | {one['z']:+.1f} |"
    )


if __name__ == "__main__":
    main()
