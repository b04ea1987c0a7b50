"""The long cases as Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.markdown import grid, number, section
from benchmarks.targets import Row
from benchmarks.workload import ROOT

HEAD = (
    "case", "items", "comparisons", "judges", "s", "processor s", "peak MB", "smallest ESS",
    "R-hat", "draws", "steps", "acceptance", "truths in 95 % intervals", "load before", "remark",
)  # fmt: skip
PICTURES = {
    "scaling-items": "Time and memory against items, ten comparisons an item",
    "scaling-comparisons": "Time and memory against comparisons of 200 items",
}


def large_section(large: Mapping[str, Row]) -> str:
    """Every long case."""
    if not large:
        return section("Long cases", "Not run yet: `make bench-large`.\n")
    runs = sorted({row["run"] for row in large.values()})
    when = f"Run {runs[0]}" if len(runs) == 1 else f"Put together from {len(runs)} runs"
    words = (
        f"{when}. Whole commands (`tiewise fit --no-report`), start-up and reading included, "
        "compiling left out; of judges, `fit` alone. Load: processes that wanted a core before.\n\n"
    )
    return section("Long cases", words + grid(HEAD, map(_cells, large.values())))


def pictures(place: Path) -> str:
    """The scaling pictures that there are, for a page in docs/."""
    lines = [
        f"![{title}]({os.path.relpath(place / f'{name}.png', ROOT / 'docs')})\n"
        for name, title in PICTURES.items()
        if (place / f"{name}.png").exists()
    ]
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    numbers = (f"{row[name]:,}" for name in ("items", "comparisons", "judges"))
    measured = (number(row.get(name)) for name in ("seconds", "cpu_s", "peak_mb", "ess_min"))
    rhat, draws, steps = row.get("rhat_max"), row.get("draws"), row.get("steps")
    return [
        row["name"], *numbers, *measured, "–" if rhat is None else f"{rhat:.4f}",
        "–" if draws is None else f"{draws:,}", number(steps), number(row.get("acceptance"), 2),
        number(row.get("inside")), number(row.get("load")), _remark(row),
    ]  # fmt: skip


def _remark(row: Row) -> str:
    remarks = [str(row.get("note", "")).replace("|", "/").replace("\n", " ")[:300]]
    if "over_peer" in row:
        remarks.append(
            f"scikit-learn: {row['peer_cpu_s']:.1f} s of processors for {row['peer_rows']:,} rows "
            f"in {row['peer_rounds']} rounds; we take {row['over_peer']:.2f} times that"
        )
    if row.get("rounds"):
        remarks.append(f"sampled on {row['rounds']} time(s), one of {row['thin']} draws kept")
    return "; ".join(filter(None, remarks))
