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
from time import perf_counter, sleep
from typing import Any, NamedTuple

from benchmarks.workload import ROOT, STUDIES, missing

TIEWISE = str(Path(sys.executable).with_name("tiewise"))
UNIT = 1 / 2**20 if sys.platform == "darwin" else 1 / 2**10
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


class Ran(NamedTuple):
    """A command's wall seconds, the start of its Python included, and its memory in megabytes."""

    seconds: float
    peak: float
    private: float
    """Peak of what is its own, without the pages of library files; 0 where /proc does not tell."""


def ran(command: list[str], folder: str | None = None) -> Ran:
    """Run a command, and look at its memory meanwhile."""
    begun, private = perf_counter(), 0.0
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, cwd=folder or ROOT, stdout=output, stderr=output)
        while not (ended := os.wait4(child.pid, os.WNOHANG))[0]:
            private = max(private, _private_mb(child.pid))
            sleep(0.005)
        seconds = perf_counter() - begun
        _, status, usage = ended
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            output.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {output.read().decode()[-2000:]}")
    return Ran(seconds, usage.ru_maxrss * UNIT, private)


def _private_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    figures = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(figures[0]) / 1024 if figures else 0.0


def _best(command: list[str], times: int = 7) -> float:
    return min(ran(command).seconds for _ in range(times))


def _starts() -> dict[str, float]:
    return {
        "bare_python_s": _best([sys.executable, "-c", "pass"]),
        "import_numpy_scipy_s": _best(BARE),
        "import_tiewise_s": _best([sys.executable, "-c", "import tiewise"]),
        "tiewise_help_s": _best([TIEWISE, "--help"]),
    }


def _fit(*words: str, times: int) -> list[Ran]:
    """`tiewise fit --no-report`, run after run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [TIEWISE, "fit", *words, "--no-report", "--seed", "1", "--force"]
        return [ran([*command, "--out", f"{folder}/results"], folder) for _ in range(times)]


def _south_yorkshire() -> dict[str, float]:
    if "south-yorkshire" in missing():
        return {}
    first, *later = _fit(str(STUDIES / "south-yorkshire-comparisons.csv"), times=4)
    return {
        "fit_south_yorkshire_first_s": first.seconds,
        "fit_south_yorkshire_s": statistics.median(run.seconds for run in later),
        "fit_south_yorkshire_peak_mb": later[-1].peak,
    }


def _dar_es_salaam() -> dict[str, float]:
    if "dar-es-salaam" in missing():
        return {}
    judgements = str(STUDIES / "dar-es-salaam-comparisons.csv")
    edges = ("--edges", str(STUDIES / "dar-es-salaam-edges.csv"))
    areas = ("--areas", str(STUDIES / "dar-es-salaam-subwards.gpkg"), "--name", "subwardName")
    _, by_edges = _fit(judgements, *edges, times=2)
    _, by_map = _fit(judgements, *areas, times=2)
    return {
        "fit_dar_es_salaam_edges_s": by_edges.seconds,
        "fit_dar_es_salaam_map_s": by_map.seconds,
        "fit_dar_es_salaam_peak_mb": by_edges.peak,
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
        _, large = _fit(*words, times=2)
    bare = ran(BARE)
    figures = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", "measure"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        "fit_1024_s": large.seconds,
        "fit_1024_peak_mb": large.peak,
        "bare_numpy_scipy_mb": bare.peak,
        "fit_1024_peak_above_bare_mb": large.peak - bare.peak,
        "fit_1024_private_above_bare_mb": large.private - bare.private,
        **json.loads(figures.stdout.strip().splitlines()[-1]),
    }


if __name__ == "__main__":
    main()
