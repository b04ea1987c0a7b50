"""The walkthroughs of docs/extending.md: each works as written, and touches few files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from walkthroughs import Edit, copy_project, read_walkthroughs  # noqa: E402

from support.everyday import everyday  # noqa: E402

WALKTHROUGHS = read_walkthroughs()
MOST_FILES = {"An answer": 4, "A kind of item": 3}


def test_there_is_one_for_each_registry():
    assert [one.title for one in WALKTHROUGHS] == [
        "An engine", "An input format", "A section of the report", "A plot", "A pairing policy",
        "A prior of quality", "A scalar prior", "An answer", "A kind of item",
    ]  # fmt: skip


TITLES = [one.title for one in WALKTHROUGHS]


@pytest.mark.parametrize("title", everyday(TITLES, "An input format", "An answer"))
def test_it_works_as_written(title: str, tmp_path):
    walkthrough = WALKTHROUGHS[TITLES.index(title)]
    assert len(walkthrough.files) <= MOST_FILES.get(walkthrough.title, 2)
    assert "assert" in walkthrough.check
    copy_project(tmp_path)
    walkthrough.apply(tmp_path)
    desk = tmp_path / "desk"
    desk.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", walkthrough.check],
        cwd=desk, env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_an_edit_that_finds_no_place_is_refused(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="0 lines with"):
        Edit("a.py", "y = 2\n", "nowhere").apply(tmp_path)
    with pytest.raises(ValueError, match="is there already"):
        Edit("a.py", "y = 2\n").apply(tmp_path)
