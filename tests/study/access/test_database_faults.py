"""A database that cannot be used, and settings that are none: one plain line, and exit code 2."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiewise.cli.main import main
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study

PAGE = 4096


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A study with some hundred judgements."""
    place = tmp_path_factory.mktemp("faults")
    (place / "list.csv").write_text("item,name\n1,Ash\n2,Oak\n3,Elm\n", encoding="utf-8")
    study = create_study(place / "trees", items=place / "list.csv", question="Which is older?")
    store = study.store()
    rows = [
        {"judge": f"judge {k}", "left": "1", "right": "2", "outcome": "left"} for k in range(300)
    ]
    store.import_judgements(rows, consent="imported")
    store.close()
    return study.folder


@pytest.fixture
def study(template, tmp_path) -> Path:
    return shutil.copytree(template, tmp_path / "trees")


def refusal(*words: object) -> str:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert re.fullmatch("tiewise: .*", lines[-1])
    assert len(lines[-1]) < 500
    return lines[-1]


def changed(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def is_text(path: Path) -> None:
    path.write_text("a list of mine\n" * 400, encoding="utf-8")


def is_cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 10 * PAGE])


def is_overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for start in range(2 * PAGE, len(content), PAGE):
        content[start : start + 100] = b"\xaa" * 100
    path.write_bytes(content)


def is_newer(path: Path) -> None:
    changed(path, "UPDATE alembic_version SET version_num = '9999'")


def is_of_another_program(path: Path) -> None:
    path.unlink()
    changed(path, "CREATE TABLE photos (name TEXT)")


def is_of_another_alembic(path: Path) -> None:
    path.unlink()
    changed(
        path,
        "CREATE TABLE alembic_version (version_num TEXT)",
        "INSERT INTO alembic_version VALUES ('ae1027a6acf')",
    )


def lacks_a_table(path: Path) -> None:
    changed(path, "DROP TABLE judgements")


def is_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("command", ["check", "export", "fit"])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (is_text, r"is not a database .*tiewise restore"),
        (is_cut_off, r"is damaged .*tiewise restore"),
        (is_overwritten, r"is damaged .*tiewise restore"),
        (is_newer, r"made by a newer version of Tiewise; install that version"),
        (is_of_another_program, r"database of another program \(its tables: 'photos'\)"),
        (is_of_another_alembic, r"another program \(version 'ae1027a6acf'\)"),
        (lacks_a_table, r"is not complete \(no such table: judgements\)"),
        (is_a_folder, r"cannot open the database"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(
    study, command, spoil: Callable[[Path], None], words
):
    spoil(study / "study.db")
    assert re.search(words, refusal(command, study))


def test_a_database_of_others_is_not_written_to(study):
    is_of_another_program(study / "study.db")
    refusal("invite", study)
    with sqlite3.connect(study / "study.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
    connection.close()


def test_check_reads_all_of_a_database(study):
    """An index that lost a page is found before anybody asks for what it holds."""
    assert check_study(study) == []
    path = study / "study.db"
    with sqlite3.connect(path) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'offers_of_judge'"
        ).fetchone()
    connection.close()
    content = bytearray(path.read_bytes())
    content[(page - 1) * PAGE + 8 : (page - 1) * PAGE + 16] = b"\xff" * 8
    path.write_bytes(content)
    (fault,) = check_study(study)
    assert fault.startswith("study.db: it is damaged (")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("study = " + "[" * 5_000, "is not TOML"),
        ("study = 9" + "9" * 5_000, "is not TOML"),
        ("\0", "is not TOML"),
        ("study = 7", r"a table \[study\] was expected, not 7"),
        (f"study = '{'x' * 99_999}'", r"a table \[study\] was expected, not 'xx"),
        ("# " + "x" * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_settings_that_are_none_are_one_line(study, text, words):
    (study / "study.toml").write_text(text, encoding="utf-8")
    assert re.search(words, refusal("export", study))


def test_settings_that_are_a_folder_are_one_line(study):
    (study / "study.toml").unlink()
    (study / "study.toml").mkdir()
    assert "cannot be read" in refusal("export", study)
