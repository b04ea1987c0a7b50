"""Hostile requests to every route of the site: `python -m benchmarks.fuzz`, or `make fuzz`.

Prints a table of requests, statuses, errors and seconds, and every request that failed, shrunk. The
exit code is 1 where one did. `--server` sends them to `tiewise serve` in a process of its own, byte
by byte, in place of calling the app.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import time
from contextlib import suppress

from benchmarks.workload import ROOT

# The requests are those of the tests.
sys.path.insert(0, str(ROOT / "tests"))
from support.fuzz import FuzzTally, fuzz
from support.fuzz_requests import CALLERS
from support.fuzz_server import ServerSite
from support.fuzz_site import FuzzSite


def table(tally: FuzzTally, seconds: float) -> str:
    """What came of the requests, by caller."""
    head = "| caller | requests | 2xx | 3xx | 4xx | 5xx | gone |\n|---|---|---|---|---|---|---|"
    rows = [head]
    for name in (*CALLERS, "all"):
        numbers = [0] * 6
        for (caller, status), times in tally.answers.items():
            if name in (caller, "all"):
                numbers[status // 100] += times
        gone, _, *others = numbers
        rows.append(
            f"| {name} | " + " | ".join(f"{n:,}" for n in (sum(numbers), *others, gone)) + " |"
        )
    statuses = sorted({status for _, status in tally.answers})
    counts = ", ".join(
        f"{status or 'gone'} {sum(tally.answers[caller, status] for caller in CALLERS):,}"
        for status in statuses
    )
    errors = sum(times for (_, status), times in tally.answers.items() if status >= 500)
    last = (
        f"{tally.sent:,} requests in {seconds:,.0f} s; errors 500: {errors}; other faults: "
        f"{tally.faults - errors}; slowest {tally.slowest:.2f} s\nstatuses: {counts}"
    )
    return "\n".join([*rows, last])


def main() -> None:
    """Read the options, send the requests, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(24))
    parser.add_argument("--server", action="store_true", help="to a server process, over sockets")
    options = parser.parse_args()
    begun, tally = time.monotonic(), FuzzTally()

    def report(tally: FuzzTally) -> None:
        passed = time.monotonic() - begun
        print(f"{tally.sent:,} requests, {passed:,.0f} s, {tally.faults} faults", flush=True)

    # Whoever stops it sees what came until then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        fuzz(
            first_seed=options.seed, limit=options.requests, tally=tally, report=report,
            open_target=ServerSite if options.server else FuzzSite,
        )  # fmt: skip
    print(f"\nseed {options.seed}\n\n{table(tally, time.monotonic() - begun)}")
    for failure in tally.failures:
        print(f"\n{failure}")
    sys.exit(1 if tally.faults else 0)


if __name__ == "__main__":
    main()
