"""Ten million votes, Parquet to posterior: `python -m benchmarks.votes`, or `make bench-votes`.

Writes results/votes.json and votes.md. Each case is a command in a process of its own, whose time
and largest resident memory the system tells; each is run three times, and the middle times and the
largest memory are given. What they mean is said in docs/beyond.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.process import Cost, cost
from benchmarks.workload import ROOT

ITEMS, JUDGES, REPEATS = 200, 5000, 3
MANY, KEPT, FEW = 10_000_000, 5_000_000, 1_000_000
"""As many as the issue asks for; as many as a record of who said what is kept of; and for CSV."""
SECONDS, MEGABYTES = 20.0, 2048.0
"""What reading and fitting ten million may take."""
COUNTED = """
import sys, tiewise as tw
library, path = sys.argv[1:]
if library == "duckdb":
    import duckdb
    frame = duckdb.read_parquet(path)
elif library == "polars":
    import polars
    frame = polars.scan_parquet(path)
else:
    import dask.dataframe
    frame = dask.dataframe.read_parquet(path)
print(tw.read_comparisons(frame).counts().comparisons)
"""


def main() -> None:
    """Run every case and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of everything, once")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs of each case")
    options = parser.parse_args()
    quick, repeats = options.quick, 1 if options.quick else options.repeats
    place = ROOT / "benchmarks" / "results" / ("quick" if quick else "")
    place.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder:
        rows = list(run(Path(folder), 100 if quick else 1, repeats))
    results = {
        "repeats": repeats, "load": round(load, 2), "date": time.strftime("%Y-%m-%d"),
        "items": ITEMS, "judges": JUDGES,
        "cores": os.cpu_count(), "python": platform.python_version(), "rows": rows,
    }  # fmt: skip
    (place / "votes.json").write_text(json.dumps(results, indent=1) + "\n")
    (place / "votes.md").write_text(votes_markdown(results))


def run(folder: Path, less: int, repeats: int) -> Any:
    """Each case: votes made, then fitted or counted."""
    tiewise = [sys.executable, "-m", "tiewise.cli.main"]
    for whole, kind in ((MANY, "parquet"), (KEPT, "parquet"), (FEW, "csv")):
        number = whole // less
        place = folder / f"{number}"
        make = [*tiewise, "simulate", str(place), "--items", str(ITEMS), "--judges", str(JUDGES),
                "--comparisons", str(number), "--force"]  # fmt: skip
        make += ["--parquet"] if kind == "parquet" else []
        votes, out = place / f"comparisons.{kind}", place / "results"
        made = often(make, repeats)
        size = votes.stat().st_size / 2**20
        yield row("made", number, kind, made) | {"file_mb": round(size, 1)}
        fit = [*tiewise, "fit", str(votes), "--no-report", "--seed", "1", "--out", str(out),
               "--force"]  # fmt: skip
        yield row("fitted", number, kind, often(fit, repeats)) | facts(out, place / "truth.csv")
        if whole == MANY:
            for library in ("duckdb", "polars", "dask"):
                count = [sys.executable, "-c", COUNTED, library, str(votes)]
                yield row(f"counted in {library}", number, kind, often(count, repeats))


def often(command: Sequence[str], repeats: int) -> Cost:
    """The middle time and the largest memory of several runs."""
    seen = [cost(command) for _ in range(repeats)]
    short = [tuple(round(figure, 2) for figure in one[:3]) for one in seen]
    print(f"{time.strftime('%H:%M:%S')}  {command[2][:8]} {command[3]}  {short}", flush=True)
    return Cost(
        median(one.seconds for one in seen), median(one.cpu_s for one in seen),
        max(one.peak_mb for one in seen), 0.0, seen[-1].output,
    )  # fmt: skip


def row(what: str, number: int, kind: str, took: Cost) -> dict[str, Any]:
    return {"what": what, "votes": number, "kind": kind, "seconds": round(took.seconds, 2),
            "cpu_s": round(took.cpu_s, 2), "peak_mb": round(took.peak_mb)}  # fmt: skip


def facts(out: Path, truth: Path) -> dict[str, Any]:
    """Where the time of a fit went, how good its draws are, and how far from the truth it is."""
    fit = json.loads((out / "fit.json").read_text())
    with (out / "items.csv").open() as file:
        results = {line["item"]: line for line in csv.DictReader(file)}
    with truth.open() as file:
        true = {line["item"]: float(line["quality"]) for line in csv.DictReader(file)}
    ends = [(float(results[item]["q2.5"]), float(results[item]["q97.5"])) for item in true]
    held = [low <= value <= high for (low, high), value in zip(ends, true.values(), strict=True)]
    return {
        "engine": fit["engine"], "read_s": fit["seconds"]["read"],
        "fit_s": round(fit["seconds"]["build"] + fit["seconds"]["sample"], 3),
        "ess_min": round(fit["ess_min"]), "rhat_max": round(fit["rhat_max"], 4),
        "inside": round(float(np.mean(held)), 3), "warnings": fit["warnings"],
    }  # fmt: skip


def votes_markdown(results: dict[str, Any]) -> str:
    """The table in words."""
    lines = [
        "# Ten million votes",
        "",
        "Written by `make bench-votes`; do not edit. What was measured: docs/beyond.md.",
        f"{results['date']}, {results['cores']} cores, Python {results['python']}; "
        f"{results['items']} items, {results['judges']:,} judges. Whole commands, start-up "
        f"included; the middle of {results['repeats']} time(s), and the largest peak of resident "
        f"memory. Processes that wanted a core when it began: {results['load']}; with more than a "
        "few tenths, only processor time and memory mean something.",
        "",
        "| what | votes | file | s | processor, s | peak MB | reading, s | fitting, s | "
        "smallest ESS | R-hat | truths in 95 % intervals |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in results["rows"]:
        more = [one.get(k, "–") for k in ("read_s", "fit_s", "ess_min", "rhat_max", "inside")]
        kind = one["kind"] + (f", {one['file_mb']} MB" if "file_mb" in one else "")
        costs = [one["seconds"], one["cpu_s"], one["peak_mb"]]
        cells = [one["what"], f"{one['votes']:,}", kind, *costs, *more]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    whole = next(one for one in results["rows"] if one["what"] == "fitted")
    lines += [
        "",
        f"Asked: Parquet to posterior in at most {SECONDS:.0f} s and {MEGABYTES:,.0f} MB. "
        f"Seen: {whole['seconds']} s and {whole['peak_mb']:,} MB.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
