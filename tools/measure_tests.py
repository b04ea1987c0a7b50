"""Measures the tests: seconds of each part, and line and branch coverage; `make coverage` runs it.

    python tools/measure_tests.py            everyday tests, then the slow ones on top
    python tools/measure_tests.py everyday   the everyday tests alone

What it finds is written to docs/structure-figures.json, which `make figures` shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "structure-figures.json"
SETTINGS = """
[run]
branch = True
parallel = True
source_pkgs = tiewise
patch = subprocess, _exit
data_file = {folder}/.coverage
[report]
include = {source}/*
"""
PARTS = {"everyday": ("not slow", "make test"), "slow": ("slow and not thorough", ".ci/run")}
DISTRIBUTION = {"everyday": "loadfile", "slow": "load"}


def measure(part: str, folder: Path) -> dict[str, object]:
    """Seconds of a part of the tests under coverage, and the coverage of all parts so far."""
    marker, where = PARTS[part]
    python, settings = sys.executable, folder / "coverage.rc"
    tests = ["pytest", "-q", "-n", "auto", "--dist", DISTRIBUTION[part], "-m", marker]
    tests += ["--hypothesis-profile", "slow"] if part == "slow" else []
    environment = {**os.environ, "COVERAGE_RCFILE": str(settings), "PYTHONDONTWRITEBYTECODE": ""}
    begin = perf_counter()
    done = subprocess.run(
        [python, "-m", "coverage", "run", f"--rcfile={settings}", "-m", *tests],
        cwd=ROOT, env=environment, check=False,
    )  # fmt: skip
    seconds = perf_counter() - begin
    combined = folder / f"{part}.coverage"
    report = folder / f"{part}.json"
    run = [python, "-m", "coverage"]
    options = [f"--rcfile={settings}", f"--data-file={combined}"]
    pieces = [str(path) for path in folder.glob(".coverage.*")]
    subprocess.run([*run, "combine", *options, "--keep", "-q", *pieces], cwd=ROOT, check=True)
    subprocess.run([*run, "json", *options, "-q", "-o", str(report)], cwd=ROOT, check=True)
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    lines = 100 * totals["covered_lines"] / totals["num_statements"]
    branches = 100 * totals["covered_branches"] / totals["num_branches"]
    print(f"{part}: {seconds:.0f} s under coverage, exit code {done.returncode}")
    return {
        f"lines covered by {where}, %": round(lines, 1),
        f"branches covered by {where}, %": round(branches, 1),
    }


def main(words: list[str]) -> None:
    """Measure the parts that are asked for, one on top of the other."""
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        settings = SETTINGS.format(folder=folder, source=ROOT / "src" / "tiewise")
        (folder / "coverage.rc").write_text(settings, encoding="utf-8")
        for part in words or PARTS:
            figures |= measure(part, folder)
    print(json.dumps(figures, indent=1))
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    record["now"] |= figures
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
