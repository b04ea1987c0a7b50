"""Memory of the site over hours: `python -m benchmarks.soak --minutes 120 [--out FOLDER]`.

Fifty judges who pause over each pair. Every ten seconds the resident memory of every process of
the site is added to soak.csv; soak.json, soak.md and soak.svg are written anew each minute, so that
a run that is cut short has its figures, too. The slope is taken after the first quarter.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from time import monotonic, perf_counter
from typing import Any, NamedTuple

from benchmarks.site import Case, accounts, databases, p95, prepare, site
from benchmarks.soak_figures import write_again
from benchmarks.workload import ROOT
from support.crowd_client import Browser, Tally, judge, sign_up

EVERY_S = 10.0
WRITE_EVERY = 6
"""Samples between two writings of the figures."""


class Process(NamedTuple):
    """A process of the site: its id, what it is, and its resident memory in MiB."""

    pid: int
    role: str
    mib: float


def main() -> None:
    """Run the soak and write its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--pause", type=float, default=10.0, help="seconds over each pair, about")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--stored", type=int, default=0, help="judgements before the crowd comes")
    parser.add_argument("--policy", default="uniform")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--again", type=Path, help="only compute the figures in a folder anew")
    options = parser.parse_args()
    if options.again:
        write_again(options.again, json.loads((options.again / "soak.json").read_text()))
        return
    case = Case(
        options.database, items=options.items, stored=options.stored, judges=options.judges,
        pause_s=options.pause, seconds=60 * options.minutes, policy=options.policy,
    )  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        new = stack.enter_context(databases()) if case.database == "postgresql" else lambda _: None
        print(json.dumps(soak(case, new(case.database), options.out), indent=1))


def soak(case: Case, database: str | None, out: Path) -> dict[str, Any]:
    """One run; its figures, which are in the folder as well."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        study = prepare(Path(folder) / "study", case, database)
        with site(study.folder, database) as (server, port):
            sampler = Sampler(server.pid, case, tally, out)
            sampler.start()
            asyncio.run(judge_for(case, port, tally))
            sampler.stop()
        lost, doubled = accounts(study, database, tally, case.stored)
    return write_figures(out, case, tally, {"lost": lost, "doubled": doubled})


async def judge_for(case: Case, port: int, tally: Tally) -> None:
    """All judges of a case, until its time is up."""
    browsers = [Browser("127.0.0.1", port) for _ in range(case.judges)]
    for k in range(0, case.judges, 10):
        await asyncio.gather(*(sign_up(browser) for browser in browsers[k : k + 10]))
    until = perf_counter() + case.seconds
    await asyncio.gather(*(judge(browser, tally, until, case.pause_s) for browser in browsers))
    for browser in browsers:
        browser.close()


class Sampler(Thread):
    """Writes the memory of a site's processes down, in a thread of its own."""

    def __init__(self, pid: int, case: Case, tally: Tally, out: Path) -> None:
        super().__init__(daemon=True)
        self._pid, self._case, self._tally, self._out = pid, case, tally, out
        self._ended = Event()

    def run(self) -> None:
        """Sample until it is stopped."""
        begun, number = monotonic(), 0
        with (self._out / "soak.csv").open("w", newline="") as file:
            sheet = csv.writer(file, lineterminator="\n")
            sheet.writerow(("seconds", "pid", "process", "mib", "judgements"))
            while not self._ended.wait(max(begun + number * EVERY_S - monotonic(), 0.0)):
                seconds, made = round(monotonic() - begun, 1), len(self._tally.acknowledged)
                for one in processes(self._pid):
                    sheet.writerow((seconds, one.pid, one.role, f"{one.mib:.2f}", made))
                file.flush()
                number += 1
                if number % WRITE_EVERY == 0:
                    write_figures(self._out, self._case, self._tally, {})

    def stop(self) -> None:
        """End it, and wait until it has."""
        self._ended.set()
        self.join()


def processes(pid: int) -> list[Process]:
    """A process and all that it started, with their memory."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        children[parent].append(int(place.name))
    there, waiting = [], [pid]
    while waiting:
        number = waiting.pop()
        waiting += sorted(children[number], reverse=True)
        if (one := _process(number, number == pid)) is not None:
            there.append(one)
    return there


def _process(pid: int, first: bool) -> Process | None:
    place = Path(f"/proc/{pid}")
    try:
        words = (place / "cmdline").read_bytes().decode().split("\0")
        pages = int((place / "statm").read_text().split()[1])
    except OSError:
        return None
    if "tiewise.web.live.worker" in words:
        role = "live worker"
    elif any("resource_tracker" in word for word in words):
        role = "resource tracker"
    else:
        role = "site" if first else "site worker"
    return Process(pid, role, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


# Figures.


def write_figures(
    out: Path, case: Case, tally: Tally, checked: Mapping[str, int]
) -> dict[str, Any]:
    """soak.json, soak.md and soak.svg from what was sampled so far."""
    return write_again(out, {
        **case.__dict__, "judgements": len(tally.acknowledged), "errors": len(tally.errors),
        "faults": Counter(tally.errors).most_common(3), **checked,
        "get_p95_ms": p95(tally.gets), "post_p95_ms": p95(tally.posts),
    })  # fmt: skip


if __name__ == "__main__":
    main()
