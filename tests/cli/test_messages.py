"""The library speaks of parameters, the command of options."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tiewise
from tiewise.cli.main import main
from tiewise.errors import InputError, InputWarning

SOURCE = Path(tiewise.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z…]")
WRITTEN_FOR_USERS_OF_THE_COMMAND = {
    "report/reproduce.py": "the command that repeats a fit",
    "study/backups/databases.py": "runs pg_dump and pg_restore",
    "study/backups/schedule.py": "runs the command",
    "web/host/server.py": "says how the site is started",
    "web/researcher/report_job.py": "runs the command",
}


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text in the code; what is filled in when it runs is an ellipsis."""
    if isinstance(tree, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in tree.values
        )
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree.value
    else:
        for child in ast.iter_child_nodes(tree):
            yield from texts(child)


def flags(code: str) -> list[str]:
    """Texts that name an option, unless it is part of a whole command, to be typed as it is."""
    return [
        text for text in texts(ast.parse(code))
        if FLAG.search(text) and not re.search(r"\btiewise [a-z]", text)
    ]  # fmt: skip


def test_only_the_command_speaks_of_options():
    modules = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    named = {
        name for name, path in modules.items()
        if not name.startswith("cli/") and flags(path.read_text(encoding="utf-8"))
    }  # fmt: skip
    assert named == set(WRITTEN_FOR_USERS_OF_THE_COMMAND)


@pytest.mark.parametrize(
    "code", ['raise InputError("give --areas")', 'f"{x}; choose with --{name}"', '["--out"]']
)
def test_an_option_in_the_library_would_be_noticed(code):
    assert flags(code)


def test_a_command_to_be_typed_and_a_dash_are_no_options():
    assert not flags('f"tiewise invite {folder} --count 20"; "this -- and that"; "a--b"')


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("give areas= or edges=", "give --areas or --edges"),
        ("(out=), or overwrite (force=True)", "(--out), or overwrite (--force)"),
        ("leave them out (ties=False)", "leave them out (--no-ties)"),
        ("as a new study, without before=", "as a new study, without --from"),
        ("id=, name= and join_islands= speak", "--id, --name and --join-islands speak"),
        ("one of county=N, items=N, areas=FILE", "one of --county N, --items N, --areas FILE"),
        ("public_url='x' is no address", "--public-url 'x' is no address"),
        ("database=: wrong", "--database: wrong"),
        ("write_template('FILE.typ') writes one", "--save-template FILE.typ writes one"),
        ("fix it (tie=Fixed(0.5))", "fix it (tie=Fixed(0.5))"),
        ("/data/name=a/b.csv: no such file", "/data/name=a/b.csv: no such file"),
        ("postgresql://h/d?host=a&port=1", "postgresql://h/d?host=a&port=1"),
        ("state sum_to_zero=True", "state sum_to_zero=True"),
    ],
)
@pytest.mark.parametrize("kind", ["error", "warning"])
def test_parameters_become_options(message, words, kind, monkeypatch):
    @click.command()
    def speak() -> None:
        if kind == "error":
            raise InputError(message)
        warnings.warn(message, InputWarning, stacklevel=1)

    monkeypatch.setitem(main.commands, "speak", speak)
    monkeypatch.setattr("sys.warnoptions", [])
    result = CliRunner().invoke(main, ["speak"])
    assert result.stderr == f"tiewise: {'note: ' if kind == 'warning' else ''}{words}\n"
    assert result.exit_code == (2 if kind == "error" else 0)
