"""What a command costs: seconds, processor time and memory of a process of its own.

Only the standard library is imported here: a child's peak memory counts from its parent's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from benchmarks.memory import UNIT
from benchmarks.workload import ROOT

TIEWISE = str(Path(sys.executable).with_name("tiewise"))


class Failed(Exception):
    """A command that ended with an error; its last words."""


class Cost(NamedTuple):
    """A command's wall seconds, the start of its Python included, and what it used."""

    seconds: float
    cpu_s: float
    """Of all processors, and of the processes that it started and waited for."""
    peak_mb: float
    private_mb: float
    """Peak of what is its own, without the pages of library files; 0 where it was not watched."""
    output: str
    """What it printed on standard output."""


def cost(command: Sequence[str], folder: str | Path | None = None, *, watch: bool = False) -> Cost:
    """Run a command to its end; with `watch`, look at its private memory meanwhile."""
    begun, private = perf_counter(), 0.0
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, cwd=folder or ROOT, stdout=output, stderr=errors)
        while not (ended := os.wait4(child.pid, os.WNOHANG if watch else 0))[0]:
            private = max(private, _private_mb(child.pid))
            sleep(0.005)
        _, status, used = ended
        seconds = perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            words = errors.read().decode(errors="replace")[-2000:]
            raise Failed(f"{' '.join(command)} ended with {child.returncode}: {words}")
        text = output.read().decode(errors="replace")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * UNIT, private, text)


def _private_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    figures = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(figures[0]) / 1024 if figures else 0.0
