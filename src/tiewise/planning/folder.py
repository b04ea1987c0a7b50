"""The folder of a plan: checked, and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from tiewise.data.files import write_rows
from tiewise.errors import InputError
from tiewise.folders import FolderKind, check_contents
from tiewise.jobs.folder import run_folder
from tiewise.jobs.journal import Row
from tiewise.jobs.tables import write_tables
from tiewise.planning.plan import Plan, Requirement
from tiewise.planning.sentences import sentences

SIMULATIONS = "simulations.parquet"
FILES = (SIMULATIONS, "timings.parquet", "plan.csv", "plan.json", "plan.png", "plan.svg")
KIND = run_folder("a plan", FILES)


def check_plan_folder(folder: Path, kind: FolderKind, *, force: bool) -> None:
    """Make the folder of a plan; refuse one that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the plan (out=)")
    check_contents(folder, kind, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); name another") from error


def write_plan(plan: Plan, folder: Path) -> list[Path]:
    """Write plan.csv, plan.json, plan.png, plan.svg and the simulations behind them."""
    from tiewise.planning.plot import plan_plot
    from tiewise.plots.canvas import save

    write_tables(folder, plan.records, plan.heading(), results=SIMULATIONS)
    head = list(plan.table[0])
    rows = ([_csv_cell(row.get(name)) for name in head] for row in plan.table)
    write_rows(folder / "plan.csv", head, rows)
    text = json.dumps(plan_dict(plan), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "plan.json").write_text(text + "\n", encoding="utf-8")
    figure = plan_plot(plan)
    for kind in ("png", "svg"):
        save(figure, folder / f"plan.{kind}")
    return [folder / name for name in FILES]


def plan_dict(plan: Plan) -> dict[str, Any]:
    """A plan as plain values, for JSON."""
    studies: dict[str, int] = {}
    for record in plan.records:
        phase = record.name.split(" ")[0]
        studies[phase] = studies.get(phase, 0) + 1
    return {
        "settings": plan.heading(),
        "answers": {prior: _requirement_dict(one) for prior, one in plan.requirements.items()},
        "so_far": dict(plan.current_reliability) or None,
        "asked": plan.planned_comparisons,
        "comparisons_of_a_judge": _finite(plan.reach["each"]),
        "table": [_plain(row) for row in plan.table],
        "studies": studies,
        "failed": [{"name": one.name, "seed": one.seed, "error": one.error} for one in plan.failed],
        "words": sentences(plan),
    }


def _requirement_dict(requirement: Requirement | None) -> dict[str, Any] | None:
    if requirement is None:
        return None
    measures = {
        name: {"value": _finite(one.value), "error": _finite(one.error)}
        for name, one in requirement.measures.items()
    }
    return {
        "comparisons": requirement.comparisons, "low": requirement.low, "high": requirement.high,
        "relative_error": _finite(requirement.error),
        "nine_in_ten_reach": _finite(requirement.tenth_percentile), "figures": measures,
    }  # fmt: skip


def _plain(row: Mapping[str, Any]) -> Row:
    return {
        key: _finite(value) if isinstance(value, float) else value for key, value in row.items()
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None


def _csv_cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if isfinite(value) else ""
    return str(value).lower() if isinstance(value, bool) else value
