"""Collects, for `.ci/run`, which tests were skipped and why, and how many were left out.

A pytest plugin that adds lines to the file which the environment variable SKIPPED_TESTS names.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "SKIPPED_TESTS"
LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Count the thorough tests that `-m` takes out."""
    before = _thorough(items)
    yield
    config.stash[LEFT_OUT] = before - _thorough(items)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = config.stash[LEFT_OUT]


def _thorough(items: list[pytest.Item]) -> int:
    return sum(item.get_closest_marker("thorough") is not None for item in items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the number that a process of pytest-xdist counted; it is the same in each."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Add what this run skipped and left out to the file."""
    path = os.environ.get(VARIABLE)
    if not path or hasattr(config, "workerinput"):
        return
    lines = [*_skipped(terminalreporter.stats.get("skipped", []))]
    if number := config.stash.get(LEFT_OUT, 0):
        lines.append(f"Left to `make test-all`, being thorough: {number}")
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _skipped(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> Iterable[str]:
    for report in reports:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        yield f"{report.nodeid}: {str(reason).removeprefix('Skipped: ')}"
