"""Figures of a soak: memory of each process against time, slopes, a table and a small plot."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TARGET = 0.1
"""MiB a minute that the slope is to stay below."""
BLOCKS = 12
"""Parts whose means the slope is taken from: neighbouring samples are not independent."""
ALL = "all processes"
YOUNG_S = 120.0
"""Seconds in which a process that was started again is left out: it is not as large yet."""


class Slope(NamedTuple):
    """MiB a minute, and its standard error."""

    mib_per_minute: float
    error: float


def write_again(out: Path, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with the figures of memory computed from soak.csv."""
    series = read_series(out / "soak.csv")
    figures = {
        **figures, "minutes": round(float(series[ALL][0][-1]) / 60, 1),
        "restarts": restarts(out / "soak.csv"),
        "processes": {role: describe(*points) for role, points in series.items()},
    }  # fmt: skip
    (out / "soak.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "soak.md").write_text(soak_markdown(figures))
    draw(series, out / "soak.svg")
    return figures


Points = tuple[Any, Any]


def read_series(path: Path) -> dict[str, Points]:
    """Seconds and MiB of each role, and of all together where none of them was just started."""
    with path.open(newline="") as file:
        rows = [
            (float(row["seconds"]), row["pid"], row["process"], float(row["mib"]))
            for row in csv.DictReader(file)
            if float(row["mib"]) > 0  # a process that is about to become another has nothing yet
        ]
    first: dict[str, float] = {}
    for seconds, pid, _, _ in rows:
        first.setdefault(pid, seconds)
    sums: defaultdict[str, defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))
    for seconds, pid, role, mib in rows:
        if seconds - first[pid] >= YOUNG_S or first[pid] == 0:
            sums[role][seconds] += mib
    for seconds in sorted(set.intersection(*(set(at) for at in sums.values()))):
        sums[ALL][seconds] = sum(at[seconds] for role, at in sums.items() if role != ALL)
    return {
        role: (np.array(list(at)), np.array(list(at.values()))) for role, at in sorted(sums.items())
    }


def restarts(path: Path) -> int:
    """How often a process was started again."""
    with path.open(newline="") as file:
        roles = {row["pid"]: row["process"] for row in csv.DictReader(file) if float(row["mib"])}
    return len(roles) - len(set(roles.values()))


def describe(seconds: Any, mib: Any) -> dict[str, float]:
    """First, last and greatest memory of a process, and its slopes after the first quarter."""
    begin = float(seconds[-1]) / 4
    slope = slope_after(seconds, mib, begin)
    rest = slope_after(seconds, mib, begin, at_rest)
    return {
        "first_mib": round(float(mib[0]), 1), "last_mib": round(float(mib[-1]), 1),
        "most_mib": round(float(mib.max()), 1),
        "slope_mib_per_minute": round(slope.mib_per_minute, 3), "error": round(slope.error, 3),
        "rest_mib_per_minute": round(rest.mib_per_minute, 3), "rest_error": round(rest.error, 3),
    }  # fmt: skip


def at_rest(mib: Any) -> float:
    """What a process has between two fits or two requests: a tenth of the samples are below it."""
    return float(np.quantile(mib, 0.1))


def slope_after(
    seconds: Any, mib: Any, begin: float, level: Callable[[Any], float] = np.mean
) -> Slope:
    """Least squares over the levels of so many parts of equal length, from a second on."""
    minutes, mib = seconds[seconds >= begin] / 60, mib[seconds >= begin]
    if len(minutes) < 2 * BLOCKS:
        return Slope(float("nan"), float("nan"))
    x = np.array([part.mean() for part in np.array_split(minutes, BLOCKS)])
    y = np.array([level(part) for part in np.array_split(mib, BLOCKS)])
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float((x - x.mean()) @ y) / spread
    rest = y - y.mean() - slope * (x - x.mean())
    return Slope(slope, float(np.sqrt(rest @ rest / (BLOCKS - 2) / spread)))


def soak_markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a table."""
    head = (
        "process", "first MiB", "last MiB", "most MiB", "MiB a minute", "standard error",
        "MiB a minute at rest", "standard error",
    )  # fmt: skip
    lines = [
        "# Memory of the site over time", "",
        "Written by `python -m benchmarks.soak`; do not edit. "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", "",
        f"{figures['judges']} judges who pause {figures['pause_s']:g} s over each of "
        f"{figures['items']} areas, {figures['database']}: {figures['minutes']} minutes, "
        f"{figures['judgements']:,} judgements, {figures['errors']} errors, "
        f"{figures['restarts']} processes started again.", "",
        "| " + " | ".join(head) + " |", "|" + "---|" * len(head),
    ]  # fmt: skip
    for role, row in figures["processes"].items():
        lines.append(f"| {role} | " + " | ".join(str(value) for value in row.values()) + " |")
    lines += [
        "", f"Slopes are of all but the first quarter; aim: below {TARGET}. At rest: of the tenth "
        "of samples with the least memory, which a fit that takes longer on a busy machine does "
        "not change.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def draw(series: Mapping[str, Points], path: Path) -> None:
    """Memory of each process against minutes, as a small SVG file."""
    width, height, left, top = 640, 240, 60, 20
    last = max(float(seconds[-1]) for seconds, _ in series.values()) or 1.0
    most = 1.1 * max(float(mib.max()) for _, mib in series.values())
    lines = []
    for colour, (role, (seconds, mib)) in zip(_colours(len(series)), series.items(), strict=True):
        places = " ".join(
            f"{left + width * s / last:.1f},{top + height * (1 - m / most):.1f}"
            for s, m in zip(seconds, mib, strict=True)
        )
        y = top + height * (1 - float(mib[-1]) / most) - 5
        lines += [
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
            f'<text x="{left + width}" y="{y:.0f}" text-anchor="end" fill="{colour}">{role}</text>',
        ]
    axes = [
        f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="#888"/>',
        *(f'<text x="{left - 6}" y="{top + height * (1 - part):.0f}" text-anchor="end">'
          f"{most * part:.0f}</text>" for part in (0, 0.5, 1)),
        *(f'<text x="{left + width * part:.0f}" y="{top + height + 16}" text-anchor="middle">'
          f"{last / 60 * part:.0f}</text>" for part in (0, 0.5, 1)),
        f'<text x="{left}" y="14">MiB, against minutes; the slope begins at a quarter</text>',
    ]  # fmt: skip
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} '
        f'{top + height + 30}" font-family="sans-serif" font-size="11">'
        + "".join([*axes, *lines]) + "</svg>\n"
    )  # fmt: skip


def _colours(count: int) -> Sequence[str]:
    return [("#333333", "#b2182b", "#2166ac", "#1b7837", "#a6761d")[k % 5] for k in range(count)]
