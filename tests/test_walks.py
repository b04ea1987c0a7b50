"""The three walks of docs/architecture.md, walked: modules are entered in the order listed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from test_architecture import walks

TESTS = Path(__file__).parent
RECORDER = TESTS / "support" / "first_entries"
VOTES = ["first,second,outcome", *["a,b,first", "b,c,second", "c,a,tie", "a,c,first"] * 5]
TABLE_OF_ROUTES = "web/app"
"""It is made with the site, before there is any request."""
Words = Callable[[Path], list[str]]


def _fit(record: Path) -> list[str]:
    Path("votes.csv").write_text("\n".join(VOTES) + "\n", encoding="utf-8")
    return ["-m", "tiewise.cli.main", "fit", "votes.csv", "--seed", "1", "--draws", "200"]


def _answer(record: Path) -> list[str]:
    return [str(RECORDER / "answer_to_dashboard.py"), str(record)]


def _plan(record: Path) -> list[str]:
    words = ["--items", "5", "--judges", "2", "--per-judge", "8", "--precision", "0.3"]
    return ["-m", "tiewise.cli.main", "plan", *words, "--workers", "1", "--seed", "1", "--out", "p"]


WALKS: dict[str, tuple[int, Words]] = {
    "fit to report": (0, _fit),
    "answer to dashboard": (1, _answer),
    "plan to plot": (2, _plan),
}


def first_entries(record: Path) -> list[str]:
    """Modules in the order in which they are entered.

    What a helper does ahead, such as loading libraries, counts only where the first process does
    not come to that module itself.
    """
    lines = [line.split() for line in record.read_text(encoding="utf-8").splitlines()]
    ordered = sorted((int(moment), process, module) for moment, process, module in lines)
    main = ordered[0][1]
    first: dict[str, int] = {}
    for moment, process, module in ordered:
        if process == main:
            first.setdefault(module, moment)
    for moment, _, module in ordered:
        first.setdefault(module, moment)
    return sorted(first, key=first.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_is_in_the_order_of_its_list(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    number, words = WALKS[name]
    record = tmp_path / "record.txt"
    path = os.pathsep.join([str(RECORDER), str(TESTS), str(TESTS.parent / "src")])
    environment = os.environ | {"PYTHONPATH": path}
    if name != "answer to dashboard":  # which records only from the answer on
        environment["FIRST_ENTRIES"] = str(record)
    done = subprocess.run(
        [sys.executable, *words(record)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    walk = walks()[number]
    entered = [module for module in first_entries(record) if module != TABLE_OF_ROUTES]
    if name == "answer to dashboard":
        assert walk.pop(0) == TABLE_OF_ROUTES
    assert [module for module in entered if module in walk] == walk


def test_what_a_helper_does_ahead_is_no_entry(tmp_path):
    record = tmp_path / "record.txt"
    record.write_text("1 7 a\n2 8 c\n3 7 b\n4 8 d\n5 7 c\n", encoding="utf-8")
    assert first_entries(record) == ["a", "b", "d", "c"]
