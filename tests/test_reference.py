"""The reference that is made from the code: every public name, every example, every option."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tiewise.cli.main import main

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

from command_pages import command_pages  # noqa: E402  (from tools/)
from reference_pages import GROUPS, examples, public_names, reference_pages  # noqa: E402

EXAMPLES = examples(ROOT / "docs")
SLOW = {"Metropolis"}
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in sorted(set(EXAMPLES) - {"setup"})
]


def test_every_public_name_has_its_place_and_its_example():
    placed = [name for _, names in GROUPS.values() for name in names]
    assert sorted(placed) == sorted(public_names())
    assert set(EXAMPLES) == {"setup", *placed}


def run(name: str, scope: dict[str, Any]) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    written: list[str] = []
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], scope, name, None, 0)
    assert test.examples, f"{name} has no example"
    runner.run(test, out=written.append, clear_globs=False)
    scope.update(test.globs)
    assert not runner.failures, "".join(written)


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    scope: dict[str, Any] = {}
    run("setup", scope)
    return scope


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("default::tiewise.errors.InputWarning")
def test_an_example_does_what_it_shows(name, shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(name, dict(shared))


def test_every_name_is_on_a_page_with_its_example():
    text = "\n".join(reference_pages(ROOT / "docs").values())
    for name in public_names():
        assert f":: tiewise.{name}\n" in text
        assert EXAMPLES[name].rstrip() in text


def test_every_command_and_option_is_on_its_page():
    pages = command_pages()
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert all(f"`{spelling}`" in pages[f"{name}.md"] for spelling in option.opts)
                start = (option.help or "").split("'")[0].split("-")[0].split(" ")[:3]
                assert " ".join(start)[1:] in pages[f"{name}.md"]
        assert f"[`tiewise {name}`]({name}.md)" in pages["index.md"]
