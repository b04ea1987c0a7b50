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

from tiewise.experiments import EXPERIMENTS
from tiewise.experiments.experiment import Experiment
from tiewise.experiments.run import (
    findings_markdown,
    load_experiment,
    read_experiment,
    run_experiment,
    write_findings,
)  # fmt: skip

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "experiments"
PAGE = ROOT / "docs" / "experiments.md"
PICTURES = ROOT / "docs" / "pictures" / "experiments"


def main(words: Sequence[str] | None = None) -> None:
    """Run what is options for, then write the page."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=__doc__)
    reader.add_argument("names", nargs="*", metavar="NAME", help=f"from {', '.join(EXPERIMENTS)}")
    reader.add_argument("--force", action="store_true", help="begin anew")
    reader.add_argument("--write-only", action="store_true", help="page and pictures, no run")
    options = reader.parse_args(words)
    names = options.names or list(EXPERIMENTS)
    if not options.write_only:
        failed = sum(run(name, force=options.force) for name in names)
        if failed:
            sys.exit(f"{failed} task(s) failed; see above")
    page = PAGE.read_text(encoding="utf-8")
    for name in names:
        page = fill_page(page, load_experiment(name), RESULTS / name)
        draw(load_experiment(name), RESULTS / name)
    PAGE.write_text(page, encoding="utf-8")


def run(name: str, *, force: bool) -> int:
    """Run one in full; the number of tasks that failed."""
    started = perf_counter()
    run_ = run_experiment(name, RESULTS / name, force=force)
    print(f"{name}: {perf_counter() - started:,.0f} s", flush=True)
    for one in run_.failed:
        print(f"{one.name} failed (seed {one.seed}): {one.error}", flush=True)
    return len(run_.failed)


def fill_page(page: str, study: Experiment, folder: Path) -> str:
    """The page with the findings between the marks of an experiment."""
    begin, end = f"<!-- {study.name} -->", f"<!-- /{study.name} -->"
    picture = f"pictures/experiments/{study.name}.png"
    findings = findings_markdown(study, read_experiment(study, folder), picture)
    section = f"{begin}\n{findings}\n{end}"
    return re.sub(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: section, page, flags=re.DOTALL
    )


def draw(study: Experiment, folder: Path) -> None:
    """The figure, where the page looks for it."""
    write_findings(study, folder)
    PICTURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "figure.png", PICTURES / f"{study.name}.png")


if __name__ == "__main__":
    main()
