"""bandit over the code that users run: every remark is mended, or argued in pyproject.toml.

    python tools/check_bandit.py

An exception, `[[tool.tiewise.bandit]]`, names bandit's test, the files, what the line looks like,
and why it may stay. One that fits nothing any more is a fault, too.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Remark:
    """One thing that bandit does not like."""

    test: str
    file: str
    line: int
    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.test} {self.text}\n    {self.code}"


@dataclass(frozen=True)
class BanditException:
    """Remarks of one test that may stay, and why."""

    test: str
    files: tuple[str, ...]
    code: str
    why: str

    def covers(self, remark: Remark) -> bool:
        """Whether a remark is of this kind."""
        return (
            remark.test == self.test
            and any(fnmatch(remark.file, pattern) for pattern in self.files)
            and re.match(self.code, remark.code) is not None
        )


def read_exceptions(path: Path = ROOT / "pyproject.toml") -> list[BanditException]:
    """The exceptions that are argued; one without a reason, or for a whole test, is refused."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["tiewise"]["bandit"]
    exceptions = [BanditException(**(one | {"files": tuple(one["files"])})) for one in tables]
    for one in exceptions:
        if not one.why.strip() or re.match(one.code, "") or not one.files:
            sys.exit(f"pyproject.toml: the exception of {one.test} says not why, where or for what")
    return exceptions


def read_remarks(report: dict[str, Any], root: Path = ROOT) -> list[Remark]:
    """The remarks of bandit's report, each with its line of code."""
    if report["errors"]:
        sys.exit(f"bandit could not read everything: {report['errors']}")
    remarks = []
    for one in report["results"]:
        lines = (root / one["filename"]).read_text(encoding="utf-8").splitlines()
        code = lines[one["line_number"] - 1].strip()
        remarks.append(
            Remark(
                one["test_id"], one["filename"], one["line_number"], code, one["issue_text"]
            )
        )  # fmt: skip
    return remarks


def faults(remarks: Sequence[Remark], exceptions: Sequence[BanditException]) -> list[str]:
    """Remarks without an exception, and exceptions without a remark."""
    open_ = [str(one) for one in remarks if not any(known.covers(one) for known in exceptions)]
    unused = [
        f"pyproject.toml: nothing is left of the exception {one.test} {one.code!r}; delete it"
        for one in exceptions
        if not any(one.covers(remark) for remark in remarks)
    ]
    return open_ + unused


def main() -> None:
    """Run bandit and say what is neither mended nor argued."""
    command = [sys.executable, "-m", "bandit", "-q", "-r", "src/tiewise", "-f", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"bandit did not run: {done.stderr.strip()}")
    remarks = read_remarks(json.loads(done.stdout))
    left = faults(remarks, read_exceptions())
    if left:
        sys.exit("\n".join([*left, "Mend it, or argue for it: [[tool.tiewise.bandit]]"]))
    print(f"bandit: {len(remarks)} remarks, all argued in pyproject.toml")


if __name__ == "__main__":
    main()
