"""Time and memory of large designs: `python -m benchmarks.design_scale [NAME …]`.

Each is made by the command, in a process of its own: 452 areas with the map of Dar es Salaam and
5,000 pairs, and 5,000 items and 50,000 pairs, by each policy. Nothing is simulated (`--studies 0`).
Figures are kept in results/design-scale.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.workload import ROOT

EDGES = ROOT.parent / "shared" / "data" / "dar-es-salaam-edges.csv"
AREAS = ["--edges", str(EDGES), "--judges", "50", "--per-judge", "100"]
ITEMS = ["--items", "5000", "--judges", "100", "--per-judge", "500"]
CASES = {
    "452-balanced": [*AREAS, "--policy", "balanced"],
    "452-optimal": [*AREAS, "--policy", "optimal"],
    "452-ranks": [*AREAS, "--policy", "optimal", "--target", "ranks"],
    "452-top": [*AREAS, "--policy", "optimal", "--target", "top"],
    "5000-balanced": [*ITEMS, "--policy", "balanced"],
    "5000-optimal": [*ITEMS, "--policy", "optimal"],
}
PLACE = ROOT / "benchmarks" / "results" / "design-scale.json"


def measure(words: list[str]) -> dict[str, float]:
    """Wall and processor seconds of a command, and the most memory that it had, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        out = ["--studies", "0", "--out", str(Path(folder) / "design")]
        begin = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "tiewise.cli.main", "design", *words, *out],
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"the command ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "wall": round(time.monotonic() - begin, 1),
        "processor": round(usage.ru_utime + usage.ru_stime, 1),
        "megabytes": round(usage.ru_maxrss / 1024),
    }


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CASES))
    names = parser.parse_args().names or list(CASES)
    kept = json.loads(PLACE.read_text()) if PLACE.exists() else {}
    for name in names:
        kept[name] = measure(CASES[name])
        PLACE.write_text(json.dumps(kept, indent=2) + "\n")
        print(name, kept[name], flush=True)


if __name__ == "__main__":
    main()
