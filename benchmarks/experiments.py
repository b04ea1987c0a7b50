"""Every experiment in full, and docs/experiments.md from its files: `make experiments`.

`python -m benchmarks.experiments` runs all of them, or those that are named; what is done already
is not done again. With `--write-only` it writes page and pictures from the results that are there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from tiewise.experiments.experiment import Experiment
from tiewise.experiments.run import (
    HOMES,
    evidence_in,
    experiment,
    run_experiment,
    tell,
    told,
)  # fmt: skip

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "experiments"
PAGE = ROOT / "docs" / "experiments.md"
PICTURES = ROOT / "docs" / "pictures" / "experiments"


def main(words: Sequence[str] | None = None) -> None:
    """Run what is asked for, then write the page."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=__doc__)
    reader.add_argument("names", nargs="*", metavar="NAME", help=f"from {', '.join(HOMES)}")
    reader.add_argument("--force", action="store_true", help="begin anew")
    reader.add_argument("--write-only", action="store_true", help="page and pictures, no run")
    asked = reader.parse_args(words)
    names = asked.names or list(HOMES)
    if not asked.write_only:
        failed = sum(run(name, force=asked.force) for name in names)
        if failed:
            sys.exit(f"{failed} task(s) failed; see above")
    page = PAGE.read_text(encoding="utf-8")
    for name in names:
        page = filled(page, experiment(name), RESULTS / name)
        draw(experiment(name), RESULTS / name)
    PAGE.write_text(page, encoding="utf-8")


def run(name: str, *, force: bool) -> int:
    """Run one in full; the number of tasks that failed."""
    begun = perf_counter()
    outcome = run_experiment(name, RESULTS / name, force=force)
    print(f"{name}: {perf_counter() - begun:,.0f} s", flush=True)
    for one in outcome.failed:
        print(f"{one.name} failed (seed {one.seed}): {one.error}", flush=True)
    return len(outcome.failed)


def filled(page: str, asked: Experiment, folder: Path) -> str:
    """The page with what was found between the marks of an experiment."""
    begin, end = f"<!-- {asked.name} -->", f"<!-- /{asked.name} -->"
    picture = f"pictures/experiments/{asked.name}.png"
    said = f"{begin}\n{told(asked, evidence_in(asked, folder), picture)}\n{end}"
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: said, page, flags=re.DOTALL)


def draw(asked: Experiment, folder: Path) -> None:
    """The figure, where the page looks for it."""
    tell(asked, folder)
    PICTURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "figure.png", PICTURES / f"{asked.name}.png")


if __name__ == "__main__":
    main()
