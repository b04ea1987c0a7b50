"""Every engine on every data set, in one run on one machine: `make bench` (docs/benchmarks.md)."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.workload import ENGINES, ITEMS, QUICK_DATA, ROOT, Effort, effort, missing

# Beyond its own seconds a case may take this long: Python's start, compiling, effective sizes.
GRACE = 240.0

COLUMNS = (
    "engine", "data", "items", "comparisons", "build_s", "sample_s", "diagnose_s", "draws",
    "ess_bulk", "ess_tail", "ess_min", "ess_per_s", "acceptance", "gradients_per_effective_draw",
    "peak_mb", "bare_mb",
)  # fmt: skip

Row = dict[str, Any]


def main(words: Sequence[str] | None = None) -> None:
    """Run the cases that are asked for, then the figures, and write table and picture."""
    options = _parse(words)
    place = Path(options.out) if options.out else ROOT / "benchmarks" / "results"
    place = place / "quick" if options.quick and not options.out else place
    place.mkdir(parents=True, exist_ok=True)
    if not options.write_only:
        _run_all(options, place)
        if not options.no_figures:
            _module("benchmarks.figures", str(place), *(["--quick"] if options.quick else []))
    _module("benchmarks.table", str(place))
    _module("benchmarks.plot", str(place))
    print(f"\nWritten to {place}: " + ", ".join(sorted(p.name for p in place.glob("*.*"))))


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    reader.add_argument("--quick", action="store_true", help="a few minutes: less of everything")
    reader.add_argument("--only", help=f"engines, from {','.join(ENGINES)}")
    reader.add_argument("--data", help=f"data sets, from {','.join(ITEMS)}")
    reader.add_argument("--resume", action="store_true", help="keep the cases that are there")
    reader.add_argument("--no-figures", action="store_true", help="leave the commands' times out")
    reader.add_argument("--write-only", action="store_true", help="table and picture, no run")
    reader.add_argument("--out", help="folder of the results; default benchmarks/results")
    options = reader.parse_args(words)
    options.engines = _chosen(reader, options.only, tuple(ENGINES), tuple(ENGINES))
    options.sets = _chosen(
        reader, options.data, tuple(ITEMS), QUICK_DATA if options.quick else None
    )
    return options


def _chosen(
    reader: argparse.ArgumentParser, text: str | None, known: tuple[str, ...], usual: Any
) -> tuple[str, ...]:
    if text is None:
        return usual or known
    names = tuple(text.split(","))
    for name in names:
        if name not in known:
            reader.error(f"{name!r} is not one of {', '.join(known)}")
    return names


def _run_all(options: argparse.Namespace, place: Path) -> None:
    absent = missing()
    for name in set(absent) & set(options.sets):
        print(f"{name}: not run, its files are not in ../shared/data beside this checkout")
    cases = [
        (engine, data, work)
        for data in options.sets
        if data not in absent
        for engine in options.engines
        if (work := effort(engine, data, quick=options.quick)) is not None
    ]
    rows = _earlier_rows(place, options)
    run = datetime.now(UTC).isoformat(timespec="seconds")
    for k, (engine, data, work) in enumerate(cases, start=1):
        if options.resume and (engine, data) in rows:
            continue
        print(f"[{k}/{len(cases)}] {data}, {engine} … ", end="", flush=True)
        begun = perf_counter()
        rows[engine, data] = {**_case(engine, data, work), "run": run}
        print(f"{_spoken(rows[engine, data])} ({perf_counter() - begun:.0f} s in all)")
        _write(place, rows)


def _earlier_rows(place: Path, options: argparse.Namespace) -> dict[tuple[str, str], Row]:
    """Rows of an earlier run: kept when resuming, or when only some cases are run again."""
    file = place / "engines.json"
    if not file.exists() or not (options.resume or options.only or options.data):
        return {}
    kept = json.loads(file.read_text())
    # Rows of earlier versions know no tails; whoever resumes wants rows that can be compared.
    kept = [row for row in kept if "ess_tail" in row or not options.resume]
    return {(row["engine"], row["data"]): row for row in kept}


def _write(place: Path, rows: dict[tuple[str, str], Row]) -> None:
    """All rows so far, by data set, so that an interrupted run keeps what it has."""
    order = [(engine, data) for data in ITEMS for engine in ENGINES]
    in_order = [rows[case] for case in order if case in rows]
    part = place / "engines.json.part"
    part.write_text(json.dumps(in_order, indent=1) + "\n")
    part.replace(place / "engines.json")


def _case(engine: str, data: str, work: Effort) -> Row:
    """The row of a case run in a process of its own; a failure is a row that says so."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.case", engine, data]
    limit = work.seconds + GRACE
    try:
        done = subprocess.run(
            [*command, json.dumps(asdict(work))],
            cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _nothing(engine, data, f"ran out of its {limit:.0f} s, with nothing to show")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return _nothing(engine, data, f"failed: {last[0]}")
    row: Row = json.loads(done.stdout.strip().splitlines()[-1])
    return row


def _nothing(engine: str, data: str, why: str) -> Row:
    known = {"engine": engine, "data": data, "items": ITEMS[data]}
    return {**dict.fromkeys(COLUMNS), **known, "note": why}


def _spoken(row: Row) -> str:
    if row["ess_per_s"] is None:
        return str(row["note"])
    return f"{row['ess_per_s']:,.4g} effective draws/s"


def _module(name: str, *words: str) -> None:
    subprocess.run([sys.executable, "-m", name, *words], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
