"""Results as Markdown: `python -m benchmarks.table FOLDER`. Of the long cases, too.

Writes FOLDER/engines.md, and for the results of the repository docs/benchmarks-figures.md too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.large.table import large_section, pictures
from benchmarks.later_targets import later_targets
from benchmarks.markdown import grid, number, section
from benchmarks.published import HEAD as PUBLISHED
from benchmarks.published import SOURCE, cells
from benchmarks.targets import Row, Rows, Target, targets
from benchmarks.workload import ENGINES, ITEMS, ROOT

HEAD = (
    "data", "N", "engine", "build s", "sampling s", "diagnostics s", "draws", "bulk ESS",
    "tail ESS", "smallest ESS", "ESS/s", "Transport's ESS/s is", "gradients per effective draw",
    "acceptance", "peak MB above bare", "mean δ", "mean α²", "remark",
)  # fmt: skip


def main() -> None:
    """Read the results in a folder and write their tables."""
    place = Path(sys.argv[1])
    rows, figures = read(place)
    large = read_large(place)
    opening = _opening(rows, figures)
    later = section("Targets", _targets(later_targets(rows, figures, large)))
    reached = later + "\n" + section("Earlier targets", _targets(targets(rows, figures)))
    long_cases = large_section(large)
    whole = section("Every case", grid(HEAD, (_cells(row, rows) for row in rows.values())))
    parts = [opening, reached, whole, _commands(figures), _spent(figures), long_cases]
    (place / "engines.md").write_text("# Engines\n\n" + "\n".join(parts))
    if place.resolve() == (ROOT / "benchmarks" / "results").resolve():
        speeds = section("Effective draws a second", _speeds(rows) + "\n" + SOURCE)
        page = [opening, reached, speeds, long_cases, pictures(place), _spent(figures)]
        (ROOT / "docs" / "benchmarks-figures.md").write_text(_DOCS + "\n".join(page))


_DOCS = """\
# Benchmark figures

Written by `make bench` and `make bench-large`; do not edit. How to read them is in
[benchmarks.md](benchmarks.md), every case in
[benchmarks/results/engines.md](../benchmarks/results/engines.md).

![Effective draws a second against the number of items](../benchmarks/results/engines.png)

"""


def read_large(place: Path) -> dict[str, Row]:
    """The long cases by name."""
    file = place / "large.json"
    return {row["name"]: row for row in json.loads(file.read_text())} if file.exists() else {}


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


def _cells(row: Row, rows: Rows) -> list[str]:
    ours = rows.get(("transport", row["data"]), {}).get("ess_per_s")
    speed = row["ess_per_s"]
    above = row["peak_mb"] - row["bare_mb"] if row["peak_mb"] is not None else None
    return [
        row["data"], str(row["items"]), row["engine"],
        number(row["build_s"]), number(row["sample_s"]), number(row.get("diagnose_s")),
        "–" if row["draws"] is None else f"{row['draws']:,}",
        number(row.get("ess_bulk")), number(row.get("ess_tail")),
        number(row["ess_min"]), number(speed),
        f"{number(ours / speed)} ×" if ours and speed else "–",
        number(row["gradients_per_effective_draw"]), number(row["acceptance"], 2),
        number(above), number(row.get("tie_mean")), number(row.get("variance_mean")),
        remark(row),
    ]  # fmt: skip


def remark(row: Row) -> str:
    """What is to be known beside a row's numbers."""
    warm = row.get("ess_per_s_once_warm")
    remarks = [row.get("note"), f"{number(warm)} ESS/s once warm" if warm else ""]
    return "; ".join(filter(None, remarks))


def _targets(every: Iterable[Target]) -> str:
    words = {True: "reached", False: "**not reached**", None: "no figure"}
    return grid(
        ("case", "to reach", "figure", "", "by a factor of", "remark"),
        (
            [
                one.what, f"{'≥' if one.floor else '≤'} {one.bound:,g}{one.unit}",
                "–" if one.value is None else f"{number(one.value)}{one.unit}",
                words[one.reached], number(one.margin, 2), one.remark,
            ]
            for one in every
        ),
    )  # fmt: skip


def _speeds(rows: Rows) -> str:
    sets = [data for data in ITEMS if any(data == there for _, there in rows)]
    return grid(
        ["data", *ENGINES, *PUBLISHED],
        (
            [
                f"{data}, N = {ITEMS[data]}",
                *(number(rows.get((engine, data), {}).get("ess_per_s")) for engine in ENGINES),
                *cells(data),
            ]
            for data in sets
        ),
    )


def _commands(figures: Mapping[str, Any]) -> str:
    plain = ((name, v) for name, v in figures.items() if isinstance(v, (int, float)))
    return section("Commands and the map", grid(("figure", ""), ([n, number(v)] for n, v in plain)))


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
    return section(title, pilot + grid(("what", "share"), shares))


if __name__ == "__main__":
    main()
