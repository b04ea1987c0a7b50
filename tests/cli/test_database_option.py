"""Where a study's database is: on the command line without a password, else elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tiewise.cli import database_option
from tiewise.cli.database_option import DATABASE
from tiewise.cli.main import main

PLAIN = "postgresql://tiewise@localhost/wards"
SECRET = "postgresql://tiewise:hunter2@localhost/wards"


@click.command()
@DATABASE
def command(database: str | None) -> None:
    click.echo(database)


def run(*words: str, **variables: str) -> Result:
    return CliRunner().invoke(command, words, env=variables, standalone_mode=False)


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "address"
    path.write_text(f"{SECRET}\n", encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "address",
    [
        SECRET,
        "postgres://:hunter2@localhost/wards",
        "postgresql+psycopg://tiewise:hunter2@/wards?host=/run/postgresql",
        "postgresql://tiewise@localhost/wards?password=hunter2",
        "postgresql://localhost/wards?sslmode=require&sslpassword=hunter2",
        "postgresql://tiewise:a/b:c@localhost/wards",
    ],
)
def test_a_password_on_the_command_line_is_refused_with_the_way_out(address):
    """By a command as users have it; the password is not repeated."""
    result = CliRunner().invoke(main, ["check", "study", "--database", address])
    assert result.exit_code == 2
    assert re.fullmatch(r"tiewise: --database holds a password.*\n", result.stderr)
    for way in ("TIEWISE_DATABASE", "--database-file", "PGPASSFILE"):
        assert way in result.stderr
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    "address",
    [
        PLAIN,
        "postgresql://localhost:5432/wards",
        "postgresql://tiewise@[::1]:5432/wards",
        "postgresql://tiewise@/wards?host=/tmp/a:b@c&passfile=/home/a/.pgpass",
    ],
)
def test_an_address_without_one_is_taken(address):
    assert run("--database", address).output == f"{address}\n"


def test_an_address_with_one_is_taken_from_elsewhere(file):
    assert run(TIEWISE_DATABASE=SECRET).output == f"{SECRET}\n"
    assert run("--database-file", str(file)).output == f"{SECRET}\n"
    assert run(TIEWISE_DATABASE_FILE=str(file)).output == f"{SECRET}\n"


def test_the_command_line_has_the_last_word(file):
    assert run("--database", PLAIN, TIEWISE_DATABASE_FILE=str(file)).output == f"{PLAIN}\n"
    assert run("--database-file", str(file), TIEWISE_DATABASE=PLAIN).output == f"{SECRET}\n"


def test_named_twice_it_is_refused(file):
    for result in (
        run("--database", PLAIN, "--database-file", str(file)),
        run(TIEWISE_DATABASE=PLAIN, TIEWISE_DATABASE_FILE=str(file)),
    ):
        assert "named twice" in str(result.exception)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"", "holds no address"), (b"a\nb\n", "holds no address"), (b"\xff", "it is no text")],
)
def test_a_file_that_holds_no_address_is_refused(tmp_path, content, complaint):
    path = tmp_path / "address"
    path.write_bytes(content)
    assert complaint in str(run("--database-file", str(path)).exception)
    assert "No such file" in str(run("--database-file", str(tmp_path / "none")).exception)


def test_a_password_that_others_can_read_is_refused(file, monkeypatch):
    file.chmod(0o640)
    assert f"chmod 600 {file}" in str(run("--database-file", str(file)).exception)
    # One that was given to a container, and belongs to somebody else, is as its giver wants it.
    monkeypatch.setattr(database_option.os, "geteuid", lambda: 12345)
    assert run("--database-file", str(file)).output == f"{SECRET}\n"
