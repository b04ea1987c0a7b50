"""The list of skipped tests with which `.ci/run` ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import test_reference
import test_site

TESTS = Path(__file__).parent
SOME_TESTS = """
import pytest

def test_runs():
    pass

@pytest.mark.parametrize("kind", ["oak", "yew"])
def test_skips(kind):
    pytest.skip(f"no {kind} here")

@pytest.mark.thorough
def test_takes_an_hour():
    pass
"""
MODULE_WITHOUT = """
import pytest

pytest.skip("no podman here", allow_module_level=True)
"""


@pytest.mark.parametrize("processes", ["0", "1"])
def test_skipped_tests_and_those_left_out_are_listed(tmp_path, processes):
    (tmp_path / "test_some.py").write_text(SOME_TESTS)
    (tmp_path / "test_without.py").write_text(MODULE_WITHOUT)
    listed = tmp_path / "skipped.txt"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "support.skipped", "-p", "no:cacheprovider",
         "-p", "xdist.plugin", "-n", processes, "-m", "not thorough", "-W", "ignore", "."],
        env=os.environ | {
            "SKIPPED_TESTS": str(listed), "PYTHONPATH": str(TESTS),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    assert sorted(listed.read_text().splitlines()) == [
        "Left to `make test-all`, being thorough: 1",
        "test_some.py::test_skips[oak]: no oak here",
        "test_some.py::test_skips[yew]: no yew here",
        "test_without.py: no podman here",
    ]


def test_ci_ends_with_that_list_even_when_it_fails(tmp_path):
    (tmp_path / ".ci").mkdir()
    shutil.copy(TESTS.parent / ".ci" / "run", tmp_path / ".ci" / "run")
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "oak: $1 skips" >> "$SKIPPED_TESTS"\n[ "$1" != demo ]\n')
    make.chmod(0o755)
    done = subprocess.run(
        ["bash", str(tmp_path / ".ci" / "run")], capture_output=True, text=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[lines.index("Tests that were skipped, and why:") + 1 :] == sorted(
        f"oak: {word} skips" for word in ("test", "test-slow", "demo")
    )


def test_ci_builds_the_documentation_and_runs_its_tutorials_and_examples():
    """By tests of `make test` and `make test-slow`; none of them is left to `make test-all`."""
    names = (
        "test_the_site_is_built_without_warnings_asks_nobody_for_anything_and_finds",
        "test_a_tutorial_runs_as_a_notebook",
    )
    for name in names:
        assert "thorough" not in {mark.name for mark in getattr(test_site, name).pytestmark}
    examples = {mark.name for mark in test_reference.test_an_example_does_what_it_shows.pytestmark}
    assert not examples & {"slow", "thorough"}
