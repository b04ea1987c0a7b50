"""The walkthroughs of docs/extending.md as data: files they add, lines they add, and a check.

A walkthrough is a section of the page. Comments before its code blocks say what each block is:

    <!-- new: src/tiewise/engines/prior_only.py -->         the block is this new file
    <!-- in: src/tiewise/engines/__init__.py, after: X -->  the block goes below the line that has X
    <!-- check -->                                          the block runs when all is in place
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r"<!-- (?P<how>.+?) -->\n+```\w*\n(?P<code>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """Lines for a file: the whole of a new one, or below the line that holds `after`."""

    path: str
    lines: str
    after: str | None = None

    def apply(self, root: Path) -> None:
        """Make the edit in a copy of the project."""
        path = root / self.path
        if self.after is None:
            if path.exists():
                raise ValueError(f"{self.path} is there already")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.lines, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8").splitlines(keepends=True)
        places = [k for k, line in enumerate(text) if self.after in line]
        if len(places) != 1:
            raise ValueError(f"{self.path} has {len(places)} lines with {self.after!r}")
        text.insert(places[0] + 1, self.lines)
        path.write_text("".join(text), encoding="utf-8")


@dataclass(frozen=True)
class Walkthrough:
    """One section of the page."""

    title: str
    edits: tuple[Edit, ...]
    check: str

    @property
    def files(self) -> tuple[str, ...]:
        """The files it touches, each once."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))

    def apply(self, root: Path) -> None:
        """Make all edits in a copy of the project."""
        for edit in self.edits:
            edit.apply(root)


def read_walkthroughs(page: Path = PAGE) -> list[Walkthrough]:
    """Every section of the page that has edits."""
    sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    read = [_walkthrough(section) for section in sections]
    return [one for one in read if one.edits]


def _walkthrough(section: str) -> Walkthrough:
    title, _, body = section.partition("\n")
    edits, check = [], ""
    for block in BLOCK.finditer(body):
        how, code = block["how"], block["code"]
        if how == "check":
            check += code
        elif how.startswith("new: "):
            edits.append(Edit(how.removeprefix("new: "), code))
        elif match := re.fullmatch(r"in: (\S+), after: (.+)", how):
            edits.append(Edit(match[1], code, match[2]))
    return Walkthrough(title.strip(), tuple(edits), check)


def copy_project(root: Path) -> None:
    """A copy of the package in `root`, compiled loops included."""
    shutil.copytree(ROOT / "src", root / "src")
