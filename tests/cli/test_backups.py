"""The commands that keep a study safe, typed: keys, backups, restoring, upgrades, erasing."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support import command
from support.command import refusal, run
from support.site import copy_study, with_database
from tiewise.study.create import create_study
from tiewise.study.schema import newest_revision
from tiewise.study.study import Study

FIXTURE = Path(__file__).parents[1] / "fixtures" / "version-0.1" / "study"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for variable in ("TIEWISE_BACKUP_KEY_FILE", "TIEWISE_BACKUP_INTO", "TIEWISE_DATABASE"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    (place / "items.csv").write_text("name\nRed\nBlue\nGreen\n", encoding="utf-8")
    study = create_study(place / "s", question="Which is clearer?", items=place / "items.csv")
    return with_database(study)


@pytest.fixture
def study(template, desk) -> str:
    made = copy_study(template, desk / "posters")
    store = made.store()
    rows = [{"judge": "ada", "left": "1", "right": "2", "outcome": "left"}]
    store.import_judgements(rows, consent="1")
    store.close()
    return "posters"


def done(*words: object, answer: str | None = None) -> str:
    return command.done(*words, answer=answer).output


def judgements(folder: str) -> int:
    with closing(sqlite3.connect(Path(folder, "study.db"))) as copy:
        return int(copy.execute("SELECT count(*) FROM judgements").fetchone()[0])


def test_a_key_a_backup_and_back(study):
    output = done("backup-key", "key")
    assert "keep it apart from the site" in output
    assert Path("key.pub").read_text(encoding="ascii").strip() in output
    output = done("backup", study, "--key-file", "key.pub")
    (archive,) = Path(study, "backups").iterdir()
    assert str(archive.resolve()) in output
    output = done("restore", archive, "back", "--key-file", "key")
    assert output.startswith("Restored to back: 1 judgement, as of 20")
    assert judgements("back") == 1
    message = refusal("restore", archive, "back", "--key-file", "key")
    assert "holds a study; restore into a new folder, or say --replace, which" in message
    output = done("restore", archive, "back", "--key-file", "key", "--replace")
    aside = re.search(r"What was there before is in (\S+);", output)[1]
    assert judgements(aside) == 1


def test_without_a_key_a_backup_is_refused_unless_that_is_said(study, monkeypatch):
    assert "or say --plaintext" in refusal("backup", study)
    assert not Path(study, "backups").exists()
    assert "or say --backup-plaintext" in refusal("serve", study, "--backup-every", "1h")
    done("backup", study, "--plaintext", "--out", "plain.tar.gz")
    done("restore", "plain.tar.gz", "back")
    done("backup-key", "key")
    monkeypatch.setenv("TIEWISE_BACKUP_KEY_FILE", "key")
    done("backup", study, "--out", "secret.age")
    assert Path("secret.age").read_bytes().startswith(b"age-encryption.org/v1")


def test_old_ones_are_deleted_only_where_that_is_said(study):
    folder = Path("elsewhere")
    folder.mkdir()
    for day in range(1, 5):
        (folder / f"posters-2026-01-0{day}T000000Z.tar.gz.age").touch()
    done("backup", study, "--plaintext", "--into", folder)
    assert len(list(folder.iterdir())) == 5
    Path(next(folder.glob("*T*Z.tar.gz"))).unlink()
    assert "3 older, 2 are kept" in done(
        "backup", study, "--plaintext", "--into", folder, "--keep", "2"
    )
    assert len(list(folder.iterdir())) == 2
    message = refusal("backup", study, "--plaintext", "--out", "x", "--keep", "2")
    assert "--out names one file" in message


def test_how_often_is_a_length_of_time(study):
    message = refusal("serve", study, "--backup-every", "often", "--backup-plaintext")
    assert "'often' is no length of time; write 30s, 15m, 1h or 7d" in message


def test_an_upgrade_is_backed_up_before_unless_one_goes_without(desk):
    shutil.copytree(FIXTURE, "old")
    result = run("upgrade", "old")
    assert result.exit_code == 0
    assert f"old is up to date: revision {newest_revision()}" in result.stdout
    (archive,) = Path("old", "backups").iterdir()
    assert re.fullmatch(
        r"tiewise: note: the database of \S+ is of an earlier version, and is upgraded; as it was, "
        rf"it is in {re.escape(str(archive.resolve()))}\n",
        result.stderr,
    )
    shutil.copytree(FIXTURE, "other")
    done("upgrade", "other", "--no-backup")
    assert not Path("other", "backups").exists()


def test_erasing_asks_first_and_wants_a_closed_study(study, monkeypatch):
    monkeypatch.setenv("TIEWISE_BACKUP_INTO", "elsewhere")
    done("backup", study, "--plaintext")
    assert len(list(Path("elsewhere").iterdir())) == 1
    assert run("erase", study, answer="n\n").exit_code == 130
    assert judgements(study) == 1
    assert "the study is not closed; close it first" in refusal("erase", study, "--yes")
    done("phase", study, "closed")
    output = done("erase", study, answer="y\n")
    assert "Erased: 1 judge, 1 judgement, and" in output
    assert "Copies elsewhere" in output
    assert judgements(study) == 0
    assert list(Path("elsewhere").iterdir()) == []
