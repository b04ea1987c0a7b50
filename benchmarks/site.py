"""The study site under a crowd: `python -m benchmarks.site [--quick|--live|--large|--reading]`.

`make bench-site` runs all cases.

Writes results/site.json, one object a case, and site.md. Site, live worker, database and crowd
share the machine's cores. `--live` runs only the cases of the live picture, `--large` those of it
with thousands of items (`--large=1000` those with so many), and `--reading` those of essays and
scans beside maps; all three keep the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import ROOT
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study

# The crowd and the database server are those of the tests.
sys.path.insert(0, str(ROOT / "tests"))
from support import postgres
from support.crowd_client import Tally, crowd
from support.item_files import saved, scan, write

TIEWISE = str(Path(sys.executable).with_name("tiewise"))
TICKS = os.sysconf("SC_CLK_TCK")
HEAD = (
    "database", "content", "items", "stored", "judges", "pause_s", "seconds", "judgements",
    "errors", "lost", "doubled", "get_p95_ms", "post_p95_ms", "cpu_ms_per_request", "policy",
    "fits", "lag_p50_s", "lag_p95_s", "lag_max_s", "live_cores",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A crowd and the study it comes to."""

    database: str
    items: int = 60
    stored: int = 0
    judges: int = 200
    pause_s: float = 2.0
    seconds: float = 60.0
    policy: str = "uniform"
    content: str = "map"
    """What is compared: areas of a map, essays or scans."""


KINDS = ("sqlite", "postgresql")
AT_REST, LONGEST_START = 8, 240
"""Seconds without work after which a site is ready for a crowd; how many to wait for them."""
READ_ITEMS, ESSAY_WORDS, SCAN_PAGES = 24, 800, 4


def live_cases() -> list[Case]:
    """What the live picture promises: its age with 50 judges, and 200 judges not held up by it."""
    return [
        Case(kind, items=items, stored=stored, judges=judges, policy=policy)
        for kind in KINDS
        for items, stored, judges, policy in (
            (100, 0, 50, "uniform"), (450, 0, 50, "uniform"), (450, 20_000, 50, "informative"),
            (100, 0, 200, "informative"),
        )
    ]  # fmt: skip


def large_cases() -> list[Case]:
    """The live picture of many items and judgements: its age with 50 judges."""
    return [
        Case(kind, items=items, stored=100_000, judges=50)
        for items in (1000, 5000)
        for kind in KINDS
    ]


def reading_cases() -> list[Case]:
    """Long things to read beside maps of as many items: 200 judges, the live worker on."""
    return [
        Case(kind, items=READ_ITEMS, content=content)
        for kind in KINDS
        for content in ("map", "essays", "scans")
    ]


def cases(*, quick: bool) -> list[Case]:
    """A crowd that thinks, a crowd that does not, and both ends of each size."""
    kinds = KINDS
    if quick:
        scans = Case("sqlite", items=4, judges=10, seconds=8, content="scans")
        return [*(Case(kind, judges=40, seconds=8) for kind in kinds), scans]
    thinking = [Case(kind) for kind in kinds]
    flat_out = [Case(kind, judges=100, pause_s=0, seconds=20) for kind in kinds]
    sizes = [
        # So many that none of them meets the limit of four answers a second, or runs out of pairs.
        Case(kind, items=items, stored=stored, judges=100, pause_s=0, seconds=12)
        for kind in kinds
        for items, stored in ((12, 0), (1000, 0), (12, 100_000), (1000, 100_000))
    ]
    return [*thinking, *live_cases(), *large_cases(), *reading_cases(), *flat_out, *sizes]


def main() -> None:
    """Run every case and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds of each database")
    parser.add_argument("--live", action="store_true", help="only the cases of the live picture")
    parser.add_argument(
        "--large", type=int, nargs="?", const=0, help="only the live picture of many items"
    )
    parser.add_argument("--database", choices=KINDS, help="of these, only those with it")
    parser.add_argument("--reading", action="store_true", help="only essays and scans beside maps")
    parser.add_argument("--seconds", type=float, help="of every case, in place of its own")
    options = parser.parse_args()
    place = ROOT / "benchmarks" / "results" / ("quick" if options.quick else "")
    place.mkdir(parents=True, exist_ok=True)
    some = [*(live_cases() if options.live else []), *(reading_cases() if options.reading else [])]
    if options.large is not None:
        some += [case for case in large_cases() if options.large in (0, case.items)]
    some = [case for case in some if options.database in (None, case.database)]
    chosen = some or cases(quick=options.quick)
    if options.seconds:
        chosen = [replace(case, seconds=options.seconds) for case in chosen]
    rows = earlier_rows(place / "site.json", chosen) if some else []
    with databases() as address:
        for case in chosen:
            rows.append(measure(case, address(case.database)))
            print("  ".join(f"{key} {rows[-1].get(key)}" for key in HEAD), flush=True)
            (place / "site.json").write_text(json.dumps(rows, indent=1) + "\n")
            (place / "site.md").write_text(site_markdown(rows))


def earlier_rows(path: Path, chosen: list[Case]) -> list[dict[str, Any]]:
    """Rows of earlier runs, without those of the cases that are run again."""
    rows = json.loads(path.read_text()) if path.exists() else []
    anew = [case.__dict__ for case in chosen]
    usual = Case("").__dict__  # what rows of before a column was there had
    return [row for row in rows if {key: row.get(key, usual[key]) for key in usual} not in anew]


def measure(case: Case, database: str | None) -> dict[str, Any]:
    """One case: a fresh study, its site, its crowd, and the accounts compared."""
    with tempfile.TemporaryDirectory() as folder:
        study = prepare(Path(folder) / "study", case, database)
        with site(study.folder, database) as (server, port):
            before, live = cpu_seconds(server.pid), live_cpu_seconds(study.folder)
            tally = asyncio.run(
                crowd(
                    "127.0.0.1", port, judges=case.judges, pause=case.pause_s, seconds=case.seconds
                )
            )
            spent = cpu_seconds(server.pid) - before
            fitting = live_cpu_seconds(study.folder) - live
            time.sleep(10)  # for the last judgements to come into the picture
        lost, doubled = accounts(study, database, tally, case.stored)
        picture = lags(study, database)
    # Signing up is five requests a judge, and part of what was spent; so are pictures, but they
    # are no requests here: what they cost is laid upon the pages that show them.
    requests = len(tally.gets) + len(tally.posts) + 5 * case.judges
    return {
        **case.__dict__, "workers": 2 if database else 1,
        "judgements": len(tally.acknowledged), "errors": len(tally.errors),
        "lost": lost, "doubled": doubled, "get_p95_ms": p95(tally.gets),
        "post_p95_ms": p95(tally.posts), "files": len(tally.files),
        "file_p95_ms": p95(tally.files) if tally.files else None,
        "cpu_ms_per_request": round(1000 * spent / requests, 2),
        "pair_page_bytes": int(np.median(tally.weights)),
        "faults": Counter(tally.errors).most_common(3),
        "judgements_per_s": round(len(tally.acknowledged) / case.seconds, 1),
        "live_cores": round(fitting / case.seconds, 2), **picture,
    }  # fmt: skip


def lags(study: Study, database: str | None) -> dict[str, Any]:
    """Seconds from a judgement to the first snapshot that rests on it, and number of snapshots.

    Judgements that were there when the site was started are left out, and those of practice.
    """
    store = study.store(database)
    judgements = [
        (row["judgement"], row["answered"]) for row in store.rows() if row["kind"] == "new"
    ]
    made = [(int(one.pulse.split(".")[0]), one.made) for one in SnapshotStore(store).history()]
    store.close()
    reached = np.array([number for number, _ in made])
    first = reached[0] if len(made) else 0
    waits = []
    for number, answered in judgements:
        place = int(np.searchsorted(reached, number))
        if number > first and place < len(made):
            waits.append((made[place][1] - answered).total_seconds())
    missing = (
        int(sum(number > reached[-1] for number, _ in judgements)) if len(made) else len(judgements)
    )
    ends = np.round(np.quantile(waits, (0.5, 0.95, 1.0)), 2).tolist() if waits else [None] * 3
    return {
        "fits": len(made), "not_in_picture": missing,
        **dict(zip(("lag_p50_s", "lag_p95_s", "lag_max_s"), ends, strict=True)),
    }  # fmt: skip


def p95(seconds: list[float]) -> float:
    """Milliseconds that 95 of 100 stayed below."""
    return round(1000 * float(np.quantile(seconds, 0.95)), 1) if seconds else float("nan")


def prepare(folder: Path, case: Case, database: str | None) -> Study:
    """A study of a made-up county, of essays or of scans, with judgements in it already."""
    source = source_of(case, folder.parent)
    create_study(folder, question="Which is better?", target=10**6, **source)
    toml = folder / "study.toml"
    toml.write_text(toml.read_text().replace('policy = "uniform"', f'policy = "{case.policy}"'))
    study = Study.open(folder)
    store = study.store(database)
    if case.stored:
        rng = np.random.default_rng(1)
        ids, outcomes = list(study.items), ("left", "right", "tie", "skip")
        rows = []
        for k in range(case.stored):
            left, right = rng.choice(len(ids), 2, replace=False)
            rows.append({
                "judge": f"judge{k // 100}", "left": ids[left], "right": ids[right],
                "outcome": outcomes[int(rng.integers(4))],
            })  # fmt: skip
        store.import_judgements(rows, consent="made up")
    store.close()
    return study


def source_of(case: Case, place: Path) -> dict[str, Any]:
    """What a study is made of: a map, or a folder of files."""
    if case.content == "map":
        Areas.synthetic(case.items, rng=1).to_gpkg(place / "county.gpkg")
        return {"areas": place / "county.gpkg"}
    files = {}
    for k in range(case.items):
        if case.content == "essays":
            files[f"{k}.md"] = essay_of(k)
        else:
            pages = (scan(page=SCAN_PAGES * k + n) for n in range(SCAN_PAGES))
            files |= {f"{k}/{n}.png": saved(page) for n, page in enumerate(pages)}
    return {"items": write(place / "in", files)}


def essay_of(number: int) -> str:
    """An essay whose words are drawn by lot: it packs no better than one that was written."""
    rng = np.random.default_rng(number)
    letters = np.array(list("eeettaaooiinnsshhrrdlluucm"))
    words = ["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(ESSAY_WORDS)]
    paragraphs = [" ".join(words[k : k + 80]) for k in range(0, ESSAY_WORDS, 80)]
    return f"# Essay {number}\n\n" + ".\n\n".join(paragraphs) + ".\n"


@contextmanager
def site(folder: Path, database: str | None) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The site of a study, as its researcher would start it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [TIEWISE, "serve", str(folder), "--port", str(port), "--sign-ups", "1000000"]
    # As many workers as there are cores is what PostgreSQL is for.
    words += ["--database", database, "--workers", "2"] if database else []
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        _until_at_rest(server.pid, folder)
        yield server, port
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


def _until_at_rest(pid: int, folder: Path) -> None:
    """Wait while a site that was just started draws its areas ahead and fits for the first time."""
    quiet = 0
    for _ in range(LONGEST_START):
        before = cpu_seconds(pid) + live_cpu_seconds(folder)
        time.sleep(1)
        quiet = quiet + 1 if cpu_seconds(pid) + live_cpu_seconds(folder) - before < 0.1 else 0
        if quiet >= AT_REST:
            return


def cpu_seconds(pid: int) -> float:
    """Processor time of a process, with its threads and its workers."""
    place = Path(f"/proc/{pid}")
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    workers = (place / "task" / str(pid) / "children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / TICKS
    return own + sum(cpu_seconds(int(worker)) for worker in workers)


def live_cpu_seconds(folder: Path) -> float:
    """Processor time of the live worker of a study, whose parent is a thread of the site."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode().split("\0")
        except OSError:  # it has just ended
            continue
        if "tiewise.web.live.worker" in words and str(folder) in words:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / TICKS
    return 0.0


def accounts(study: Study, database: str | None, tally: Tally, stored: int) -> tuple[int, int]:
    """How many acknowledged answers are not there, and how many are there twice."""
    store = study.store(database)
    there = Counter(row["offer"] for row in store.rows())
    store.close()
    lost = sum(offer not in there for offer in tally.acknowledged)
    return lost, sum(there.values()) - len(there)


@contextmanager
def databases() -> Iterator[Any]:
    """Addresses of empty databases by kind; PostgreSQL's are on a server of their own."""
    programs = postgres.binaries()
    if programs is None:
        sys.exit("no PostgreSQL server here: sudo apt install postgresql")
    with postgres.server(programs) as folder:
        new = postgres.Databases(folder)
        yield lambda kind: None if kind == "sqlite" else new()


def site_markdown(rows: list[dict[str, Any]]) -> str:
    """The same as a table."""
    head = (*HEAD, "files", "file_p95_ms", "workers", "judgements_per_s", "pair_page_bytes")
    lines = [
        "# The study site under a crowd", "", "Written by `make bench-site`; do not edit.",
        f"{datetime.now(UTC):%Y-%m-%d}, two cores, which site, database and crowd share.", "",
        "| " + " | ".join(name.replace("_", " ") for name in head) + " |",
        "|" + "---|" * len(head),
    ]  # fmt: skip
    lines += ["| " + " | ".join(str(row.get(name, "")) for name in head) + " |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
