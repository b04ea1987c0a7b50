"""The long cases, each in a process of its own: `make bench-large` (docs/benchmarks.md)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.large.cases import Case, Row, full_cases, quick_cases, run, small
from benchmarks.process import Failed
from benchmarks.workload import ROOT


def main(words: Sequence[str] | None = None) -> None:
    """Run the cases that are asked for, then write tables and pictures."""
    options = _parse(words)
    place = Path(options.out) if options.out else ROOT / "benchmarks" / "results"
    place = place / "quick" if options.quick and not options.out else place
    place.mkdir(parents=True, exist_ok=True)
    if not options.write_only:
        _run_all(options, place / "large.json")
    for module in ("benchmarks.table", "benchmarks.large.plot"):
        subprocess.run([sys.executable, "-m", module, str(place)], cwd=ROOT, check=True)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    reader.add_argument("--quick", action="store_true", help="a few minutes: small cases")
    reader.add_argument("--only", help="cases, or their kinds: items-8000,judges")
    reader.add_argument("--resume", action="store_true", help="keep the cases that are there")
    reader.add_argument("--list", action="store_true", help="name the cases, and run none")
    reader.add_argument("--write-only", action="store_true", help="tables and pictures, no run")
    reader.add_argument("--out", help="folder of the results; default benchmarks/results")
    options = reader.parse_args(words)
    every = quick_cases() if options.quick else full_cases()
    chosen = set(options.only.split(",")) if options.only else {case.kind for case in every}
    known = {word for case in every for word in (case.name, case.kind)}
    if unknown := chosen - known:
        reader.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(sorted(known))}")
    options.cases = [case for case in every if chosen & {case.name, case.kind}]
    if options.list:
        print("\n".join(case.name for case in options.cases))
        raise SystemExit
    return options


def _run_all(options: argparse.Namespace, file: Path) -> None:
    """Run case by case; what there is, is written after each."""
    keep = file.exists() and (options.resume or options.only)
    rows: dict[str, Row] = (
        {row["name"]: row for row in json.loads(file.read_text())} if keep else {}
    )
    warm: set[Case] = set()
    begun_at = datetime.now(UTC).isoformat(timespec="seconds")
    for k, case in enumerate(options.cases, start=1):
        if options.resume and "seconds" in rows.get(case.name, {}):
            continue
        print(f"[{k}/{len(options.cases)}] {case.name} … ", end="", flush=True)
        begun, load = perf_counter(), round(os.getloadavg()[0], 2)
        rows[case.name] = {**_measured(case, warm), "run": begun_at, "load": load}
        print(f"{_spoken(rows[case.name])} ({perf_counter() - begun:.0f} s in all)")
        part = file.with_suffix(".json.part")
        part.write_text(json.dumps(list(rows.values()), indent=1) + "\n")
        part.replace(file)


def _measured(case: Case, warm: set[Case]) -> Row:
    """The row of a case, after a small one that compiles; a failure is a row that says so."""
    try:
        with TemporaryDirectory() as folder:
            if (before := small(case)._replace(name="")) not in warm:
                run(before, Path(folder))
                warm.add(before)
        with TemporaryDirectory() as folder:
            return run(case, Path(folder))
    except Failed as reason:
        print(reason, file=sys.stderr)
        return {**case._asdict(), "note": f"failed: {str(reason).strip().splitlines()[-1]}"}


def _spoken(row: Row) -> str:
    if "seconds" not in row:
        return str(row["note"])
    figures = f"{row['seconds']:,.1f} s, {row['cpu_s']:,.1f} s of processors, "
    return f"{figures}{row['peak_mb']:,.0f} MB, ESS {row['ess_min'] or 0:,.0f}"


if __name__ == "__main__":
    main()
