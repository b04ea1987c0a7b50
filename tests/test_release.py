"""One version everywhere, with its date, and a repository as reviewers expect it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
RELEASING = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
HEADING = re.compile(r"^## (\d+)\.(\d+)\.(\d+) \((\d+ \w+ \d{4})", re.MULTILINE)


def headings() -> list[tuple[tuple[int, ...], datetime]]:
    """Versions and dates of the changelog, in its order; what is not released has neither."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("## Unreleased\n", "")
    assert len(HEADING.findall(text)) == len(re.findall(r"^## ", text, re.MULTILINE))
    return [
        ((int(major), int(minor), int(patch)), datetime.strptime(day, "%d %B %Y"))
        for major, minor, patch, day in HEADING.findall(text)
    ]


def field(file: str, name: str) -> str:
    """What stands behind a name in a file of lines `name: value`."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"{name}: ")).split(": ", 1)[1]


def test_every_file_names_the_version_that_is_installed():
    assert PROJECT["version"] == version("tiewise")
    assert PROJECT["version"] == field("CITATION.cff", "version")
    assert PROJECT["version"] == field("r/DESCRIPTION", "Version")


def test_the_changelog_begins_with_this_version_and_the_day_of_its_release():
    newest, day = headings()[0]
    assert ".".join(map(str, newest)) == PROJECT["version"]
    assert day.date().isoformat() == field("CITATION.cff", "date-released")


def test_the_changelog_goes_back_in_time():
    assert headings() == sorted(headings(), reverse=True)


def test_pythons_that_are_promised_are_those_of_the_table():
    prefix = "Programming Language :: Python :: 3."
    promised = {
        f"3.{line.removeprefix(prefix)}" for line in PROJECT["classifiers"] if prefix in line
    }
    assert PROJECT["requires-python"] == f">={min(promised, key=lambda one: int(one[2:]))}"
    assert promised == set(re.findall(r"^\| (3\.\d+)\.\d+ \|", RELEASING, re.MULTILINE))


def test_every_check_of_reviewers_that_is_left_out_is_argued_on_the_page():
    left_out = PYPROJECT["tool"]["repo-review"]["ignore"]
    assert set(re.findall(r"^\| ([A-Z]+\d{3})", RELEASING, re.MULTILINE)) == set(left_out)
    assert all(left_out.values())


def test_who_cites_it_or_reports_a_fault_finds_what_is_needed():
    required = [field("CITATION.cff", name) for name in ("cff-version", "message", "title")]
    assert all(required)
    assert field("CITATION.cff", "license") == PROJECT["license"]
    authors = [author["name"] for author in PROJECT["authors"]]
    assert authors == [field("CITATION.cff", "  - name")] == [field("r/DESCRIPTION", "Author")]
    for page in ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"):
        assert (ROOT / page).read_text(encoding="utf-8").startswith("# ")
    templates = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert len(templates) >= 2
    for template in templates:
        head = template.read_text(encoding="utf-8").split("---\n")[1]
        assert re.fullmatch(r"name: \S.*\nabout: \S.*\n", head), template.name


@pytest.mark.slow
def test_reviewers_of_repositories_find_nothing_else():
    pytest.importorskip("repo_review")
    done = subprocess.run(
        [sys.executable, "-m", "repo_review", "--format", "json", str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    checks = json.loads(done.stdout)["checks"]
    assert sum(check["result"] is True for check in checks.values()) > 25
    wrong = [check["description"] for check in checks.values() if check["result"] is False]
    assert (wrong, done.returncode) == ([], 0)
