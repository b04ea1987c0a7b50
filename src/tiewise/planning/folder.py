"""The folder of a plan: begun, taken up again, and filled."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from tiewise.errors import InputError
from tiewise.jobs.journal import Row
from tiewise.jobs.tables import write_tables
from tiewise.planning.plan import Answer, Plan
from tiewise.planning.sentences import sentences

JOURNAL, SIMULATIONS = "journal.jsonl", "simulations.parquet"
WRITTEN = (
    JOURNAL, SIMULATIONS, "timings.parquet", "plan.csv", "plan.json", "plan.png", "plan.svg",
)  # fmt: skip


def begin(folder: Path, *, force: bool = False) -> Path:
    """The journal of a plan in a folder: a new one, or one to go on with unless forced."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the plan (--out)")
    journal = folder / JOURNAL
    if folder.is_dir() and not journal.exists() and any(folder.iterdir()) and not force:
        raise InputError(
            f"{folder} is not empty and holds no plan; name another folder (--out), or write into "
            "it (--force)"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if force:
            for name in WRITTEN:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); name another") from error
    return journal


def write_plan(plan: Plan, folder: Path) -> list[Path]:
    """Write plan.csv, plan.json, plan.png, plan.svg and the simulations behind them."""
    from tiewise.planning.plot import plan_plot
    from tiewise.plots.canvas import save

    write_tables(folder, plan.done, plan.heading(), results=SIMULATIONS)
    with (folder / "plan.csv").open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, list(plan.table[0]), lineterminator="\n")
        sheet.writeheader()
        sheet.writerows({key: _short(value) for key, value in row.items()} for row in plan.table)
    text = json.dumps(told(plan), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "plan.json").write_text(text + "\n", encoding="utf-8")
    figure = plan_plot(plan)
    for kind in ("png", "svg"):
        save(figure, folder / f"plan.{kind}")
    return [folder / name for name in WRITTEN[1:]]


def told(plan: Plan) -> dict[str, Any]:
    """Everything about a plan as plain values."""
    spent: dict[str, int] = {}
    for one in plan.done:
        phase = one.name.split(" ")[0]
        spent[phase] = spent.get(phase, 0) + 1
    return {
        "settings": plan.heading(),
        "answers": {prior: _answer(one) for prior, one in plan.answers.items()},
        "so_far": dict(plan.now) or None,
        "asked": plan.asked,
        "comparisons_of_a_judge": _known(plan.reach["each"]),
        "table": [_plain(row) for row in plan.table],
        "studies": spent,
        "failed": [{"name": one.name, "seed": one.seed, "error": one.error} for one in plan.failed],
        "words": sentences(plan),
    }


def _answer(answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    figures = {
        name: {"value": _known(one.value), "error": _known(one.error)}
        for name, one in answer.figures.items()
    }
    return {
        "comparisons": answer.comparisons, "low": answer.low, "high": answer.high,
        "relative_error": _known(answer.error), "nine_in_ten_reach": _known(answer.tenth),
        "figures": figures,
    }  # fmt: skip


def _plain(row: Mapping[str, Any]) -> Row:
    return {key: _known(value) if isinstance(value, float) else value for key, value in row.items()}


def _known(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if isfinite(value) else ""
    return str(value).lower() if isinstance(value, bool) else value
