"""The figures of pairing policies as a table and as a picture."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

COLOURS = {"uniform": "#7f7f7f", "balanced": "#2166ac", "informative": "#b2182b"}


def pairing_markdown(rows: dict[str, Any]) -> str:
    """Everything as Markdown."""
    summary = (
        f"{datetime.now(UTC):%Y-%m-%d}, {rows['wards']} wards, δ = {rows['tie']}, "
        f"{rows['repeats']} studies of each kind, {rows['seconds']} seconds in all. "
        "After ± the Monte Carlo standard error. What was simulated: docs/pairing.md."
    )
    head = [
        "# What pairing policies save",
        "",
        "Written by `make bench-pairing`; do not edit.",
        summary,
    ]
    return "\n".join([*head, "", *_speeds(rows), "", *_trust(rows)]) + "\n"


def _speeds(rows: dict[str, Any]) -> list[str]:
    levels = rows["levels"]
    lines = [
        "| α² | policy | judges at once |"
        + "".join(f" comparisons to {level:.2f} | of uniform's |" for level in levels),
        "|---|---|---|" + "---|---|" * len(levels),
    ]
    for row in rows["speeds"]:
        cells = [f"{row['variance']:g}", _name(row), str(row["at_once"])]
        for there in row["reached"]:
            plain = row["policy"] == "uniform"
            share = "1" if plain else f"{there['ratio']:.2f} ± {there['error']:.2f}"
            cells += [f"{there['comparisons']:.0f}", share]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _name(row: dict[str, Any]) -> str:
    return row["policy"] + (", of qualities" if row["target"] == "qualities" else "")


def _trust(rows: dict[str, Any]) -> list[str]:
    lines = [
        "| α² | policy | comparisons | reliability reported | squared correlation with the truth "
        "| 95 % intervals that hold it | separation reliability, no map "
        "| squared correlation, no map |",
        "|---|---|---|---|---|---|---|---|",
    ]
    keys = ("reported", "true", "covered", "classic_reported", "classic_true")
    for row in rows["trust"]:
        cells = [f"{row['variance']:g}", row["policy"], str(row["comparisons"])]
        cells += ["–" if row[key] is None else "{:.3f} ± {:.3f}".format(*row[key]) for key in keys]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def draw(rows: dict[str, Any], place: Path) -> None:
    """pairing.png and pairing.svg: rank correlation against comparisons, one panel an α²."""
    mpl.use("agg")
    # A picture drawn again from the same results is the same file.
    mpl.rcParams["svg.hashsalt"] = "tiewise"
    import matplotlib.pyplot as plt

    spreads = sorted({row["variance"] for row in rows["speeds"]})
    figure, panels = plt.subplots(
        1, len(spreads), figsize=(10.5, 4.0), sharey=True, layout="constrained"
    )
    for axes, variance in zip(panels, spreads, strict=True):
        for row in rows["speeds"]:
            if row["variance"] == variance and row["target"] == "ranks":
                _line(axes, row)
        for level in rows["levels"]:
            axes.axhline(level, color="#bbbbbb", linewidth=0.8, linestyle=":")
        axes.set(title=f"α² = {variance:g}", xlabel="comparisons", ylim=(0.6, 1.0), xlim=(0, None))
        axes.grid(alpha=0.2)
    panels[0].set_ylabel("rank correlation with the truth")
    panels[-1].legend(loc="lower right", fontsize=8, frameon=False)
    figure.savefig(place / "pairing.png", dpi=150)
    figure.savefig(place / "pairing.svg", metadata={"Date": None})
    plt.close(figure)


def _line(axes: Any, row: dict[str, Any]) -> None:
    at_once = row["at_once"]
    crowd = at_once > 20
    where = row["step"] * (1 + np.arange(len(row["curve"])))
    name = row["policy"] + (f", {at_once} judges at once" if crowd else "")
    axes.plot(
        where, row["curve"], "--" if crowd else "-", color=COLOURS[row["policy"]],
        linewidth=1.4 if crowd else 1.8, label=name,
    )  # fmt: skip
