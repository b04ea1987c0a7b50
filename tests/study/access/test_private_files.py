"""Files of a study are their owner's alone, and errors of its database tell no values."""

from __future__ import annotations

import os
import stat
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tiewise.study.access.private_files import is_private
from tiewise.study.backups.backup import make_backup
from tiewise.study.connection import Database
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.serving.start import read_key


@pytest.fixture(autouse=True)
def _careless_umask() -> Iterator[None]:
    """As on most machines: what is made is for all to read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def study(tmp_path) -> Study:
    (tmp_path / "items.csv").write_text("name\na\nb\n", encoding="utf-8")
    return create_study(tmp_path / "study", question="Which?", items=tmp_path / "items.csv")


def modes(folder: Path) -> dict[str, str]:
    """Of all that is not for others, by name."""
    kept = [folder / "secret", folder / "backups"]
    kept += [*folder.glob("study.db*"), *folder.glob("backups/*")]
    return {path.name: stat.filemode(path.stat().st_mode) for path in kept}


def test_what_a_study_keeps_is_its_owners_alone(study):
    store = study.store()
    read_key(study.folder)
    store.invite(1)
    copy = make_backup(study.folder, store.engine.url, key=None)
    kept = modes(study.folder)
    assert {"secret", "study.db", "study.db-wal", "study.db-shm", copy.name} <= kept.keys()
    assert all(mode[4:] == "------" for mode in kept.values()), kept
    assert copy.stat().st_size > 0


def test_so_is_what_was_there_before(study):
    """Of an earlier version, while a site has it open: with files beside the database."""
    other = study.store()
    read_key(study.folder)
    other.invite(1)
    make_backup(study.folder, other.engine.url, key=None)
    for path in [study.folder / "secret", *study.folder.glob("study.db*")]:
        path.chmod(0o644)
    for path in (study.folder / "backups", *study.folder.glob("backups/*")):
        path.chmod(0o755)
    assert any(mode[4:] != "------" for mode in modes(study.folder).values())
    study.store().invite(1)
    kept = modes(study.folder)
    assert len(kept) >= 6
    assert all(mode[4:] == "------" for mode in kept.values()), kept


def test_the_owner_keeps_what_they_could_do(study):
    study.store().close()
    (study.folder / "study.db").chmod(0o640)
    study.store().close()
    assert stat.S_IMODE((study.folder / "study.db").stat().st_mode) == 0o600
    assert is_private(study.folder / "study.db")
    assert not is_private(study.folder / "items.csv")


# Errors.


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> Database:
    if request.param == "sqlite":
        return Database(f"sqlite:///{tmp_path / 's.db'}")
    return Database(request.getfixturevalue("postgresql")())


FAULTY = (
    "INSERT INTO said (judge, field, value) VALUES (:judge, 'role', :value)",
    "INSERT INTO said (judge, field, value) VALUES (:judge, NULL, :value)",
    "SELECT :judge, CAST(:value AS integer) FROM nowhere",
)
VALUES = {"judge": "judge-77", "value": "told in confidence"}


def traceback_of(database: Database, statement: str) -> str:
    """The whole of it, as a server writes it to its log."""
    try:
        with database.writing() as connection:
            connection.execute(text(statement), VALUES)
    except DBAPIError:
        return traceback.format_exc()
    raise AssertionError("no error")


@pytest.mark.parametrize("statement", FAULTY)
def test_what_is_logged_of_an_error_has_no_values(database, statement):
    logged = traceback_of(database, statement)
    assert all(value not in logged for value in VALUES.values()), logged


def test_a_value_that_a_server_cannot_read_is_not_repeated_either(postgresql):
    statement = "SELECT CAST(:judge AS integer), CAST(:value AS integer)"
    logged = traceback_of(Database(postgresql()), statement)
    assert "DataError" in logged
    assert all(value not in logged for value in VALUES.values()), logged
