"""Results as Markdown: `python -m benchmarks.table FOLDER`.

Writes FOLDER/engines.md, and for the results of the repository docs/benchmarks-figures.md too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.targets import Row, Rows, Target, targets
from benchmarks.workload import ENGINES, ITEMS, ROOT

HEAD = (
    "data", "N", "engine", "build s", "sampling s", "draws", "smallest ESS", "ESS/s",
    "Transport's ESS/s is", "gradients per effective draw", "acceptance", "peak MB above bare",
    "mean δ", "mean α²", "remark",
)  # fmt: skip


def main() -> None:
    """Read the results in a folder and write their tables."""
    place = Path(sys.argv[1])
    rows, figures = read(place)
    opening = _opening(rows, figures)
    reached = _section("What was to be reached", _targets(targets(rows, figures)))
    whole = _section("Every case", _grid(HEAD, (_cells(row, rows) for row in rows.values())))
    parts = [opening, reached, whole, _commands(figures), _spent(figures)]
    (place / "engines.md").write_text("# Engines\n\n" + "\n".join(parts))
    if place.resolve() == (ROOT / "benchmarks" / "results").resolve():
        speeds = _section("Effective draws a second", _speeds(rows))
        page = [opening, reached, speeds, _spent(figures)]
        (ROOT / "docs" / "benchmarks-figures.md").write_text(_DOCS + "\n".join(page))


_DOCS = """\
# Benchmark figures

Written by `make bench`; do not edit. How to read them is in [benchmarks.md](benchmarks.md), every
case in [benchmarks/results/engines.md](../benchmarks/results/engines.md).

![Effective draws a second against the number of items](../benchmarks/results/engines.png)

"""


def read(place: Path) -> tuple[Rows, Mapping[str, Any]]:
    """Rows by engine and data set, and figures by name, of what there is in a folder."""
    cases, figures = place / "engines.json", place / "figures.json"
    cases_read = json.loads(cases.read_text()) if cases.exists() else []
    rows = {(row["engine"], row["data"]): row for row in cases_read}
    return rows, json.loads(figures.read_text()) if figures.exists() else {}


def _opening(rows: Rows, figures: Mapping[str, Any]) -> str:
    machine = figures.get("machine", {})
    known = ("processor", "cores", "python")
    where = f"{machine.get('processor', 'unknown processor')}, {machine.get('cores', '?')} cores"
    with_ = ", ".join(f"{name} {v}" for name, v in machine.items() if name not in known)
    runs = sorted({row.get("run", "?") for row in rows.values()})
    when = f"One run, {runs[0]}" if len(runs) == 1 else f"Put together from {len(runs)} runs"
    absent = [name for name in ITEMS if all(data != name for _, data in rows)]
    lack = f" Not run: {', '.join(absent)}." if absent else ""
    return f"{when}, on {where}; Python {machine.get('python', '?')}, {with_}.{lack}\n"


def _section(title: str, table: str) -> str:
    return f"## {title}\n\n{table}"


def _grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _number(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:.{digits}g}"


def _cells(row: Row, rows: Rows) -> list[str]:
    ours = rows.get(("transport", row["data"]), {}).get("ess_per_s")
    speed = row["ess_per_s"]
    above = row["peak_mb"] - row["bare_mb"] if row["peak_mb"] is not None else None
    return [
        row["data"], str(row["items"]), row["engine"],
        _number(row["build_s"]), _number(row["sample_s"]),
        "–" if row["draws"] is None else f"{row['draws']:,}",
        _number(row["ess_min"]), _number(speed),
        f"{_number(ours / speed)} ×" if ours and speed else "–",
        _number(row["gradients_per_effective_draw"]), _number(row["acceptance"], 2),
        _number(above), _number(row.get("tie_mean")), _number(row.get("variance_mean")),
        remark(row),
    ]  # fmt: skip


def remark(row: Row) -> str:
    """What is to be known beside a row's numbers."""
    warm = row.get("ess_per_s_once_warm")
    remarks = [row.get("note"), f"{_number(warm)} ESS/s once warm" if warm else ""]
    return "; ".join(filter(None, remarks))


def _targets(every: Iterable[Target]) -> str:
    words = {True: "reached", False: "**not reached**", None: "no figure"}
    return _grid(
        ("case", "to reach", "figure", "", "by a factor of", "remark"),
        (
            [
                one.what, f"{'≥' if one.floor else '≤'} {one.bound:g}{one.unit}",
                "–" if one.value is None else f"{_number(one.value)}{one.unit}",
                words[one.reached], _number(one.margin, 2), one.remark,
            ]
            for one in every
        ),
    )  # fmt: skip


def _speeds(rows: Rows) -> str:
    sets = [data for data in ITEMS if any(data == there for _, there in rows)]
    head = ["engine", *(f"{data}, N = {ITEMS[data]}" for data in sets)]
    return _grid(
        head,
        (
            [engine, *(_number(rows.get((engine, d), {}).get("ess_per_s")) for d in sets)]
            for engine in ENGINES
        ),
    )


def _commands(figures: Mapping[str, Any]) -> str:
    plain = ((name, v) for name, v in figures.items() if isinstance(v, (int, float)))
    return _section(
        "Commands and the map", _grid(("figure", ""), ([n, _number(v)] for n, v in plain))
    )


def _spent(figures: Mapping[str, Any]) -> str:
    spent = figures.get("transport_1024")
    if not spent:
        return ""
    shares = (
        [name.replace("_", " "), f"{share:.0%}"]
        for name, share in spent.items()
        if name not in ("sample_s", "build_s", "pilot_share_of_gradients")
    )
    pilot = f"The pilot takes {spent['pilot_share_of_gradients']:.0%} of the gradients.\n\n"
    title = f"Where Transport's {spent['sample_s']:.2f} s of sampling go at N = 1024"
    return _section(title, pilot + _grid(("what", "share"), shares))


if __name__ == "__main__":
    main()
