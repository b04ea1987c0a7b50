"""The tools that look for known weaknesses say so where they looked at nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import audit  # noqa: E402
import check_bandit  # noqa: E402

WEAK = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1"}]}
SOUND = {"name": "b", "version": "2", "vulns": []}
SKIPPED = {"name": "c", "skip_reason": "not on the index"}
OURS = {"name": "tiewise", "skip_reason": "not on the index"}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([SOUND, OURS], 0, "1 of 1 packages were looked up; none"),
        ([SOUND, WEAK, OURS], 1, "a 1: PYSEC-1"),
        ([WEAK, SKIPPED], 1, "1 with known"),
        ([SOUND, SKIPPED], 2, "INCOMPLETE: 1 of 2"),
        ([SKIPPED, OURS], 3, "NOT RUN"),
        ([OURS], 3, "NOT RUN"),
        ([], 3, "NOT RUN"),
    ],
)
def test_an_audit_ends_well_only_if_it_looked_at_everything(packages, code, words):
    end = audit.verdict({"dependencies": packages, "fixes": []})
    assert end.code == code
    assert words in "\n".join(end.lines)


def remark(test: str = "B101", file: str = "src/tiewise/a.py", code: str = "assert x is not None"):
    return check_bandit.Remark(test, file, 7, code, "Use of assert")


def exception(**changes):
    usual = {"test": "B101", "files": ("src/tiewise/*",), "code": "assert x", "why": "types"}
    return check_bandit.BanditException(**(usual | changes))


def test_a_remark_that_is_not_argued_for_is_a_fault():
    assert check_bandit.faults([remark()], [exception()]) == []
    for other in (remark(test="B102"), remark(file="tools/a.py"), remark(code="assert y")):
        (fault,) = check_bandit.faults([remark(), other], [exception()])
        assert fault.startswith(f"{other.file}:7: {other.test}")


def test_an_exception_that_nobody_needs_is_a_fault():
    (fault,) = check_bandit.faults([remark()], [exception(), exception(test="B102")])
    assert "nothing is left of the exception B102" in fault


@pytest.mark.parametrize("entry", ['code = ".*"\nwhy = "x"', 'code = "assert"\nwhy = " "'])
def test_an_exception_for_everything_or_without_a_reason_is_refused(tmp_path, entry):
    path = tmp_path / "pyproject.toml"
    path.write_text(
        f'[[tool.tiewise.bandit]]\ntest = "B101"\nfiles = ["src/*"]\n{entry}\n', encoding="utf-8"
    )
    with pytest.raises(SystemExit, match="B101"):
        check_bandit.read_exceptions(path)


def test_ours_are_argued():
    assert len(check_bandit.read_exceptions()) > 5
