"""Faults under load: `python -m benchmarks.faults [--quick]`, or `make bench-faults`.

Judges answer, and every half minute something breaks: a process is killed, the database restarts,
the disk is full, somebody holds locks, the clock jumps, the network is cut. At the end every answer
that the site acknowledged must be in the export once. Writes results/faults.json and faults.md.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Any

from benchmarks.fault_crowd import CrowdRecord, patient_crowd
from benchmarks.fault_kinds import KINDS, FaultKind
from benchmarks.fault_world import World, database, faketime, place, proxy, supervise
from benchmarks.site import Case, p95, prepare
from benchmarks.workload import ROOT
from tiewise.study.export import export
from tiewise.study.study import Study

FIRST_S, BETWEEN_S = 15.0, 30.0
"""Seconds until the first fault, and from the beginning of one to that of the next."""
AIM_S = 5.0
HEAD = (
    "fault", "times", "requests", "acknowledged", "errors", "lost", "doubled", "changed",
    "seconds_until_well",
)  # fmt: skip


@dataclass
class Injected:
    """A fault that was injected: when it began and ended."""

    kind: str
    begun: float
    ended: float = field(default=float("inf"))


def main() -> None:
    """Run both databases, or one, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each fault once, forty judges")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--fault", choices=[one.name for one in KINDS], action="append")
    parser.add_argument("--judges", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds over each pair, about")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    out = options.out / "quick" if options.quick else options.out
    out.mkdir(parents=True, exist_ok=True)
    runs = json.loads((out / "faults.json").read_text()) if (out / "faults.json").exists() else {}
    for kind in options.database or ("sqlite", "postgresql"):
        kinds = sum(kind in one.databases for one in KINDS)
        minutes = options.minutes or ((kinds * BETWEEN_S + 20) / 60 if options.quick else 10.0)
        judges = options.judges or (40 if options.quick else 200)
        case = Case(
            kind, items=100, judges=judges, pause_s=options.pause, seconds=60 * minutes
        )  # fmt: skip
        runs[kind] = run(case, options.fault or [one.name for one in KINDS])
        (out / "faults.json").write_text(json.dumps(runs, indent=1) + "\n")
        (out / "faults.md").write_text(faults_markdown(runs))
        print(faults_markdown({kind: runs[kind]}), flush=True)


def run(case: Case, names: Sequence[str]) -> dict[str, Any]:
    """One database: a fresh study, its site, its judges and its faults, and the accounts."""
    with ExitStack() as stack:
        folder, disk, is_small = stack.enter_context(place(case.database))
        cluster, port = stack.enter_context(database(case.database, folder, disk))
        direct = cluster.url("study") if cluster else None
        # The folder of the study is on the small disk where the database is in it.
        home = disk if direct is None else folder
        study = prepare(home / "study", case, direct)
        pipe = stack.enter_context(proxy(cluster, port))
        url = f"postgresql://tests@127.0.0.1:{port}/study" if direct else None
        log = Path(tempfile.gettempdir()) / f"tiewise-faults-{case.database}.log"
        site = supervise(stack, study.folder, url, log)
        world = World(case.database, disk, is_small, site, direct, cluster, pipe, port)
        record, injected = CrowdRecord(), list[Injected]()
        sleep(10)  # a site that was just started draws its areas ahead
        asyncio.run(judge_amid_faults(case, world, names, record, injected))
        site.stop()
        rows = accounts(study, direct, record)
        return figures(case, record, injected, rows)


async def judge_amid_faults(
    case: Case,
    world: World,
    names: Sequence[str],
    record: CrowdRecord,
    injected: list[Injected],
) -> None:
    """The judges of a case, and faults in a thread of their own."""
    stopped = Event()
    kinds = [
        kind
        for kind in KINDS
        if kind.name in names and world.kind in kind.databases and kind.possible(world)
    ]

    def begin(start: float) -> None:
        words = (kinds, world, start, start + case.seconds, injected, stopped)
        Thread(target=inject, args=words, daemon=True).start()

    await patient_crowd(
        world.site.port, record, judges=case.judges, pause=case.pause_s, seconds=case.seconds,
        begun=begin,
    )  # fmt: skip
    stopped.set()


def inject(
    kinds: Sequence[FaultKind],
    world: World,
    start: float,
    until: float,
    injected: list[Injected],
    stopped: Event,
) -> None:
    """One fault after the other, the last early enough for the site to recover from it."""
    at, number = start + FIRST_S, 0
    while at + BETWEEN_S / 2 < until and not stopped.wait(max(at - perf_counter(), 0)):
        inject_one(kinds[number % len(kinds)], world, injected)
        at, number = at + BETWEEN_S, number + 1


def inject_one(kind: FaultKind, world: World, injected: list[Injected]) -> None:
    """Begin a fault, let it last, end it."""
    # Not always at the same moment of a request.
    sleep(random.uniform(0, 1))
    one = Injected(kind.name, perf_counter())
    injected.append(one)
    undo = kind.begin(world)
    sleep(kind.seconds)
    undo()
    one.ended = perf_counter()
    print(f"{datetime.now(UTC):%H:%M:%S} {world.kind}: {kind.name}", flush=True)


# Accounts.


def accounts(study: Study, url: str | None, record: CrowdRecord) -> dict[int, list[str]]:
    """What the export has of each offer: the outcomes that were stored for it."""
    store = study.store(url)
    rows = [row for row in store.rows() if row["undone"] is None]
    with tempfile.TemporaryDirectory() as folder:
        export(study, store, folder)
        with (Path(folder) / "comparisons.csv").open(newline="", encoding="utf-8") as file:
            exported = Counter(int(row["comparison_id"]) for row in csv.DictReader(file))
    store.close()
    stored: defaultdict[int, list[str]] = defaultdict(list)
    for row in rows:
        times = 1 if row["kind"] == "practice" else exported[row["judgement"]]
        stored[row["offer"]] += [row["outcome"]] * times
    return stored


def figures(
    case: Case,
    record: CrowdRecord,
    injected: Sequence[Injected],
    stored: Mapping[int, Sequence[str]],
) -> dict[str, Any]:
    """A row for each kind of fault, one for the time before the first, and one for all."""
    parts: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    ends = [*(one.begun for one in injected[1:]), float("inf")]
    first = injected[0].begun if injected else float("inf")
    parts["before the first"].append(part_figures(record, stored, 0.0, first, None))
    for one, end in zip(injected, ends, strict=True):
        parts[one.kind].append(part_figures(record, stored, one.begun, end, one.ended))
    rows = [summed(kind, several) for kind, several in parts.items()]
    whole = summed("all", [row for several in parts.values() for row in several])
    faults = Counter(sent.error for sent in record.sent if sent.error)
    return {
        **case.__dict__, "date": f"{datetime.now(UTC):%Y-%m-%d}", "faults": len(injected),
        "clock": faketime() is not None, "rows": [*rows, whole],
        "errors_by_kind": faults.most_common(12),
        "p95_ms": p95([sent.seconds for sent in record.sent if not sent.error]),
    }  # fmt: skip


def part_figures(
    record: CrowdRecord,
    stored: Mapping[int, Sequence[str]],
    begin: float,
    end: float,
    mended: float | None,
) -> dict[str, Any]:
    """What happened from one fault to the next."""
    sent = [one for one in record.sent if begin <= one.at < end]
    acknowledged = [one for one in record.acknowledged if begin <= one.at < end]
    there = [stored.get(one.offer, ()) for one in acknowledged]
    return {
        "times": int(mended is not None), "requests": len(sent),
        "acknowledged": len(acknowledged), "errors": sum(bool(one.error) for one in sent),
        "lost": sum(len(outcomes) == 0 for outcomes in there),
        "doubled": sum(len(outcomes) > 1 for outcomes in there),
        "changed": sum(
            one.outcome not in outcomes
            for one, outcomes in zip(acknowledged, there, strict=True) if outcomes
        ),
        "seconds_until_well": None if mended is None else seconds_until_well(sent, mended),
    }  # fmt: skip


def seconds_until_well(sent: Sequence[Any], mended: float) -> float | None:
    """From the end of a fault to the last request that failed, or to the first that did not."""
    failed = [one.at for one in sent if one.error and one.at >= mended]
    good = [one.at for one in sent if not one.error and one.at >= max(failed, default=mended)]
    if not good:
        return None
    return float(round((max(failed) if failed else min(good)) - mended, 2))


def summed(kind: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums over several times, and the longest time until the site was well."""
    waits = [part["seconds_until_well"] for part in parts if part["times"]]
    never = any(wait is None for wait in waits)
    row: dict[str, Any] = {"fault": kind}
    for name in HEAD[1:-1]:
        row[name] = sum(part[name] for part in parts)
    row[HEAD[-1]] = "not well" if never else max(waits, default="")
    return row


def faults_markdown(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The same as tables."""
    lines = ["# Faults under load", "", "Written by `make bench-faults`; do not edit.", ""]
    for kind, one in runs.items():
        lines += [
            f"## {kind}", "",
            f"{one['date']}: {one['judges']} judges who think for {one['pause_s']:g} s, "
            f"{one['seconds'] / 60:.1f} minutes, {one['faults']} faults, one every "
            f"{BETWEEN_S:g} s; 95 of 100 requests that succeeded took at most {one['p95_ms']} ms. "
            + ("" if one["clock"] else "The clock was left alone: libfaketime is not installed."),
            "", "| " + " | ".join(name.replace("_", " ") for name in HEAD) + " |",
            "|" + "---|" * len(HEAD),
        ]  # fmt: skip
        lines += ["| " + " | ".join(str(row[name]) for name in HEAD) + " |" for row in one["rows"]]
        lines += ["", "Errors: " + ", ".join(f"{e} ({n})" for e, n in one["errors_by_kind"]), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
