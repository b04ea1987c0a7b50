"""The picture: effective draws a second against the number of items. `… FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from benchmarks.table import read
from benchmarks.targets import Rows
from benchmarks.workload import ENGINES, SIZES

STYLE = {
    "transport": ("#b2182b", "-", 2.6), "gibbs-as-published": ("#7f7f7f", "--", 1.4),
    "gibbs": ("#3f3f3f", "-", 1.6), "metropolis": ("#a6761d", "-", 1.4),
    "laplace": ("#e6a3ab", ":", 1.8), "numpyro": ("#2166ac", "-", 1.6),
    "nutpie": ("#1b7837", "-", 1.6), "numpyro-whitened": ("#67a9cf", "--", 1.6),
    "gaussian-limit": ("#000000", ":", 1.6),
}  # fmt: skip
MADE_UP = {f"synthetic-{size}" for size in SIZES}
MARKS = {
    "south-yorkshire": ("s", "South Yorkshire"), "dar-es-salaam": ("D", "Dar es Salaam"),
    "dar-es-salaam-mixture": ("d", "Dar es Salaam, share inferred"),
    "independent-1000": ("^", "independent, N = 1,000"),
    "five-answers-95": ("P", "five graded answers, N = 95"),
}  # fmt: skip


def draw(rows: Rows, place: Path) -> None:
    """engines.png and engines.svg: a line over the synthetic data sets, marks for real ones."""
    mpl.use("agg")
    # A picture drawn again from the same results is the same file.
    mpl.rcParams["svg.hashsalt"] = "tiewise"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 5.6), layout="constrained")
    for engine in ENGINES:
        colour, line, width = STYLE[engine]
        measured = [row for (name, _), row in rows.items() if name == engine and row["ess_per_s"]]
        made_up = [(row["items"], row["ess_per_s"]) for row in measured if row["data"] in MADE_UP]
        axes.plot(
            *zip(*made_up, strict=True) if made_up else ((), ()),
            line, color=colour, linewidth=width, marker="o", markersize=3.5, label=engine,
        )  # fmt: skip
        for row in measured:
            if row["data"] in MARKS:
                axes.plot(
                    row["items"], row["ess_per_s"], MARKS[row["data"]][0], color=colour,
                    markersize=7, markeredgecolor="white",
                )  # fmt: skip
    for mark, name in MARKS.values():
        axes.plot([], [], mark, color="#555555", markersize=7, label=name)
    axes.set(
        xscale="log", yscale="log", xlabel="items", ylabel="smallest ESS per second, all included"
    )
    ticks = sorted({row["items"] for row in rows.values() if row["items"] != 1000})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes.set_title("Ten comparisons an item (lines); other studies (marks)", fontsize=10)
    figure.savefig(place / "engines.png", dpi=150)
    figure.savefig(place / "engines.svg", metadata={"Date": None})


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    draw(read(folder)[0], folder)
