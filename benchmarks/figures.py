"""Times of the commands and of the map: `python -m benchmarks.figures FOLDER [--quick]`.

Writes figures.json, name by name. Only the standard library is imported here, so that the peak
memory of a child is its own.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.process import TIEWISE, Cost, cost
from benchmarks.workload import ROOT, STUDIES, missing

BARE = [sys.executable, "-c", "import numpy, scipy"]
LIBRARIES = ("tiewise", "numpy", "scipy", "numba", "polyagamma", "jax", "numpyro", "nutpie")


def main() -> None:
    """Measure everything, one figure after the other, and keep each as soon as it is there."""
    place, quick = Path(sys.argv[1]), "--quick" in sys.argv[2:]
    file = place / "figures.json"
    figures: dict[str, Any] = {"machine": machine()}
    for group in (_starts, _south_yorkshire, *(() if quick else (_dar_es_salaam, _large))):
        for name, value in group().items():
            figures[name] = value
            print(f"{name}: {value if not isinstance(value, float) else round(value, 3)}")
        file.write_text(json.dumps(figures, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """What it was run on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = named[0].split(":", 1)[1].strip() if named else model
    versions = {name: version(name) for name in LIBRARIES}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processor": model, "cores": cores, "python": platform.python_version()} | versions


def _best(command: list[str], times: int = 7) -> float:
    return min(cost(command).seconds for _ in range(times))


def _starts() -> dict[str, float]:
    return {
        "bare_python_s": _best([sys.executable, "-c", "pass"]),
        "import_numpy_scipy_s": _best(BARE),
        "import_tiewise_s": _best([sys.executable, "-c", "import tiewise"]),
        "tiewise_help_s": _best([TIEWISE, "--help"]),
    }


def _fit(*words: str, times: int, report: bool = False) -> list[Cost]:
    """`tiewise fit`, run after run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [TIEWISE, "fit", *words, *([] if report else ["--no-report"]), "--seed", "1"]
        command += ["--force", "--out", f"{folder}/results"]
        return [cost(command, folder, watch=True) for _ in range(times)]


def _south_yorkshire() -> dict[str, float]:
    if "south-yorkshire" in missing():
        return {}
    judgements = str(STUDIES / "south-yorkshire-comparisons.csv")
    first, *later = _fit(judgements, times=4)
    _, *with_report = _fit(judgements, times=4, report=True)
    return {
        "fit_south_yorkshire_first_s": first.seconds,
        "fit_south_yorkshire_s": statistics.median(run.seconds for run in later),
        "fit_south_yorkshire_peak_mb": later[-1].peak_mb,
        "fit_south_yorkshire_report_s": statistics.median(run.seconds for run in with_report),
    }


def _dar_es_salaam() -> dict[str, float]:
    if "dar-es-salaam" in missing():
        return {}
    judgements = str(STUDIES / "dar-es-salaam-comparisons.csv")
    edges = ("--edges", str(STUDIES / "dar-es-salaam-edges.csv"))
    areas = ("--areas", str(STUDIES / "dar-es-salaam-subwards.gpkg"), "--name", "subwardName")
    _, by_edges = _fit(judgements, *edges, times=2)
    _, by_map = _fit(judgements, *areas, times=2)
    _, *with_report = _fit(judgements, *areas, times=4, report=True)
    return {
        "fit_dar_es_salaam_edges_s": by_edges.seconds,
        "fit_dar_es_salaam_map_s": by_map.seconds,
        "fit_dar_es_salaam_report_s": statistics.median(run.seconds for run in with_report),
        "fit_dar_es_salaam_peak_mb": by_edges.peak_mb,
    }


def _large() -> dict[str, Any]:
    """At N = 1024: memory and time of the command, seconds of the map, and where they go."""
    with tempfile.TemporaryDirectory() as folder:
        cost([sys.executable, "-m", "benchmarks.at_1024", "write", folder])
        words = (
            f"{folder}/counts.csv",
            "--prior",
            "covariance",
            "--matrix",
            f"{folder}/matrix.csv",
        )
        _, large = _fit(*words, times=2)
    bare = cost(BARE, watch=True)
    figures = subprocess.run(
        [sys.executable, "-m", "benchmarks.at_1024", "measure"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        "fit_1024_s": large.seconds,
        "fit_1024_peak_mb": large.peak_mb,
        "bare_numpy_scipy_mb": bare.peak_mb,
        "fit_1024_peak_above_bare_mb": large.peak_mb - bare.peak_mb,
        "fit_1024_private_above_bare_mb": large.private_mb - bare.private_mb,
        **json.loads(figures.stdout.strip().splitlines()[-1]),
    }


if __name__ == "__main__":
    main()
