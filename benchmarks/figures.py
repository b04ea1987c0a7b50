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
from time import perf_counter
from typing import Any

from benchmarks.plan import ROOT, STUDIES, missing

TIEWISE = str(Path(sys.executable).with_name("tiewise"))
UNIT = 1 / 2**20 if sys.platform == "darwin" else 1 / 2**10
BARE = [sys.executable, "-c", "import numpy, scipy"]
LIBRARIES = ("tiewise", "numpy", "scipy", "numba", "polyagamma", "jax", "numpyro", "nutpie")


def main() -> None:
    """Measure everything, one figure after the other, and keep each as soon as it is there."""
    place, quick = Path(sys.argv[1]), "--quick" in sys.argv[2:]
    file = place / "figures.json"
    told: dict[str, Any] = {"machine": machine()}
    for group in (_starts, _south_yorkshire, *(() if quick else (_dar_es_salaam, _large))):
        for name, value in group().items():
            told[name] = value
            print(f"{name}: {value if not isinstance(value, float) else round(value, 3)}")
        file.write_text(json.dumps(told, indent=1) + "\n")


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


def ran(command: list[str], folder: str | None = None) -> tuple[float, float]:
    """Wall seconds of a command, the start of its Python included, and its peak in megabytes."""
    begun = perf_counter()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, cwd=folder or ROOT, stdout=said, stderr=said)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {said.read().decode()[-2000:]}")
    return seconds, usage.ru_maxrss * UNIT


def _best(command: list[str], times: int = 7) -> float:
    return min(ran(command)[0] for _ in range(times))


def _starts() -> dict[str, float]:
    return {
        "bare_python_s": _best([sys.executable, "-c", "pass"]),
        "import_numpy_scipy_s": _best(BARE),
        "import_tiewise_s": _best([sys.executable, "-c", "import tiewise"]),
        "tiewise_help_s": _best([TIEWISE, "--help"]),
    }


def _fit(*words: str, times: int) -> tuple[list[float], float]:
    """Wall seconds of `tiewise fit --no-report` run after run, and the last one's peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        command = [TIEWISE, "fit", *words, "--no-report", "--seed", "1", "--force"]
        runs = [ran([*command, "--out", f"{folder}/results"], folder) for _ in range(times)]
    return [seconds for seconds, _ in runs], runs[-1][1]


def _south_yorkshire() -> dict[str, float]:
    if "south-yorkshire" in missing():
        return {}
    (first, *later), peak = _fit(str(STUDIES / "south-yorkshire-comparisons.csv"), times=4)
    return {
        "fit_south_yorkshire_first_s": first,
        "fit_south_yorkshire_s": statistics.median(later),
        "fit_south_yorkshire_peak_mb": peak,
    }


def _dar_es_salaam() -> dict[str, float]:
    if "dar-es-salaam" in missing():
        return {}
    judgements = str(STUDIES / "dar-es-salaam-comparisons.csv")
    edges = ("--edges", str(STUDIES / "dar-es-salaam-edges.csv"))
    areas = ("--areas", str(STUDIES / "dar-es-salaam-subwards.gpkg"), "--name", "subwardName")
    (_, by_edges), peak = _fit(judgements, *edges, times=2)
    (_, by_map), _ = _fit(judgements, *areas, times=2)
    return {
        "fit_dar_es_salaam_edges_s": by_edges,
        "fit_dar_es_salaam_map_s": by_map,
        "fit_dar_es_salaam_peak_mb": peak,
    }


def _large() -> dict[str, Any]:
    """At N = 1024: memory and time of the command, seconds of the map, and where they go."""
    with tempfile.TemporaryDirectory() as folder:
        ran([sys.executable, "-m", "benchmarks.large", "write", folder])
        words = (
            f"{folder}/counts.csv",
            "--prior",
            "covariance",
            "--matrix",
            f"{folder}/matrix.csv",
        )
        (_, seconds), peak = _fit(*words, times=2)
    bare = ran(BARE)[1]
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", "measure"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        "fit_1024_s": seconds,
        "fit_1024_peak_mb": peak,
        "bare_numpy_scipy_mb": bare,
        "fit_1024_peak_above_bare_mb": peak - bare,
        **json.loads(told.stdout.strip().splitlines()[-1]),
    }


if __name__ == "__main__":
    main()
