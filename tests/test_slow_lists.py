"""The lists of docs/tests.md agree with the marks of the tests: slow ones, and thorough ones."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tests.md").read_text(encoding="utf-8")
# What marks a test, or some of its parameters; the helpers are in support/everyday.py.
MARKS = {"slow": ("mark.slow", "everyday("), "thorough": ("mark.thorough", "thorough(")}


def marked(text: str, mark: str) -> set[str]:
    """The tests of a file that have this mark, or parameters or fixtures that have it."""
    body = ast.parse(text).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    values = {
        target.id: ast.unparse(node.value)
        for node in body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    return {
        name for name in functions
        if name.startswith("test_")
        and any(sign in _decorations(name, functions, values) for sign in MARKS[mark])
    }  # fmt: skip


def _decorations(name: str, functions: dict[str, ast.FunctionDef], values: dict[str, str]) -> str:
    """The decorators of a test and of its file's fixtures that it uses, names written out."""
    function = functions[name]
    used = [
        part.id
        for decorator in function.decorator_list for part in ast.walk(decorator)
        if isinstance(part, ast.Name)
    ]  # fmt: skip
    fixtures = [one.arg for one in function.args.args if one.arg in functions]
    return " ".join([
        *map(ast.unparse, function.decorator_list),
        *(values.get(one, "") for one in (*used, "pytestmark")),
        *(_decorations(one, functions, values) for one in fixtures),
    ])  # fmt: skip


def listed_as_slow() -> list[tuple[str, str]]:
    """File and name of each test that became slow."""
    part = PAGE.split("## What became slow")[1]
    return [
        (file, name)
        for file, _, tests in (one.partition("\n") for one in part.split("\n### ")[1:])
        for name in re.findall(r"^- `(test_\w+)`", tests, re.MULTILINE)
    ]


def listed_as_thorough() -> list[tuple[str, str]]:
    """File and name of each test of the table of those that only `make test-all` runs."""
    part = PAGE.split("## Only in `make test-all`")[1].split("\n## ")[0]
    listed = []
    for row in re.findall(r"^\| (`tests/.+?) \|", part, re.MULTILINE):
        file = ""
        for word in re.findall(r"`([^`]+)`", row):
            if word.endswith(".py"):
                file = word if word.startswith("tests/") else file
            elif word.startswith("test_"):
                listed.append((file, word))
    return listed


@pytest.mark.parametrize(
    ("listed", "mark"), [(listed_as_slow, "slow"), (listed_as_thorough, "thorough")]
)
def test_listed_tests_are_there_and_have_the_mark(listed, mark):
    assert len(listed()) > 40
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file, _ in listed()}
    with_mark = {file: marked(text, mark) for file, text in texts.items()}
    assert [one for one in listed() if one[1] not in with_mark[one[0]]] == []


def test_every_thorough_test_is_listed():
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    with_mark = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in files
        for name in marked(path.read_text(encoding="utf-8"), "thorough")
    }
    assert with_mark - set(listed_as_thorough()) == set()


def test_no_file_is_listed_without_tests():
    part = PAGE.split("## What became slow")[1]
    assert re.findall(r"^### (\S+)\n+(?=###|\Z)", part, re.MULTILINE) == []
