"""Backups: everything of a study in one archive, encrypted, checked before it replaces anything."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import tarfile
import threading
import tracemalloc
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from support.everyday import everyday
from support.site import copy_study, with_an_image, with_database
from tiewise.errors import InputError, InputWarning
from tiewise.study.backups import databases
from tiewise.study.backups.archive import BackupFacts, unpack, write_archive
from tiewise.study.backups.backup import (
    backups_in,
    delete_oldest,
    made_at,
    make_backup,
)
from tiewise.study.backups.databases import driver_url
from tiewise.study.backups.durations import parse_duration
from tiewise.study.backups.keys import BackupKey, make_backup_key, read_backup_key
from tiewise.study.backups.restore import restore
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.schema import migrate, newest_revision
from tiewise.study.study import Study, next_offer
from tiewise.study.values import TokenPurpose

ROLE = '\n[[judges.fields]]\nname = "role"\nlabel = "Role"\n'


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    """Posters with images, and a study whose judges say their role."""
    place = tmp_path_factory.mktemp("template")
    rows = "name,description,image\nRed,it is red,red.svg\nBlue,,\nسماء,,\n"
    study = with_an_image(place, rows, "Which is clearer?")
    with (study.folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(ROLE)
    (study.folder / "secret").write_text("k" * 64, encoding="ascii")
    return with_database(Study.open(study.folder))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "posters")


@pytest.fixture(scope="module")
def key(tmp_path_factory) -> BackupKey:
    return make_backup_key(tmp_path_factory.mktemp("keys") / "key")


@pytest.fixture(params=everyday(["sqlite", "postgresql"], "sqlite"))
def database(request) -> str | None:
    """The address of a database with our tables; None for the file in the folder."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")()


def judged(study: Study, store: JudgeStore, answers: int = 2, role: str = "nurse"):
    import numpy as np

    judge, rng = store.add_judge(consent="1", language="en", about={"role": role}).judge, 3
    for _ in range(answers):
        offer = next_offer(study, store, judge, np.random.default_rng(rng))
        assert store.answer(judge, offer.id, 1)
    return judge


def content(store: JudgeStore) -> dict[str, list[tuple]]:
    """All that judges and researchers did, to be compared."""
    return {
        "rows": [tuple(row.values()) for row in store.rows()],
        "offers": [tuple(row.values()) for row in store.offers()],
        "judges": [tuple(row.values()) for row in store.judge_rows()],
        "about": sorted((judge, *about.items()) for judge, about in store.signup_answers().items()),
        "erased": [tuple(row.values()) for row in store.erasures()],
    }


def files_of(folder: Path) -> dict[str, str]:
    """Digests of the files of a study that a backup holds, besides its database."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("study.db") and "backups" not in path.parts
    }


def test_a_backup_has_the_lists_of_a_design_and_wording_of_the_study_itself(study, tmp_path):
    first, second, *_ = study.items
    (study.folder / "design.csv").write_text(f"judge,left,right\nAnn,{first},{second}\n")
    (study.folder / "words").mkdir()
    (study.folder / "words" / "de.toml").write_text('name = "Deutsch"\n')
    before = files_of(study.folder)
    assert {"design.csv", "words/de.toml"} <= set(before)
    archive = make_backup(study.folder, study.store().engine.url, key=None)
    restore(archive, tmp_path / "back")
    assert files_of(tmp_path / "back") == before
    assert Study.open(tmp_path / "back").design.codes == study.design.codes


def test_what_was_backed_up_is_what_is_restored(study, key, database, tmp_path, request):
    """Rows, settings, items, images and key, on both databases; into a new place."""
    store = study.store(database)
    judged(study, store)
    store.withdraw(judged(study, store, role="police"), judgements_too=True)
    before = content(store)
    archive = make_backup(study.folder, store.engine.url, key=key)
    judged(study, store)  # later than the backup
    store.close()
    url = request.getfixturevalue("postgresql")(empty=True) if database else None
    done = restore(archive, tmp_path / "back", url=url, key=key)
    again = Study.open(tmp_path / "back").store(url)
    assert content(again) == before
    again.close()
    assert files_of(tmp_path / "back") == files_of(study.folder)
    assert (done.facts.judgements, done.facts.revision) == (2, newest_revision())
    assert (done.replaced, done.erased_again) == (None, 0)


def test_the_archive_can_be_read_without_this_program(study, tmp_path):
    """tar and sha256sum are enough, once it is decrypted."""
    archive = make_backup(study.folder, driver_url(study.database_url()), key=None)
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=tmp_path, check=True)
    with closing(sqlite3.connect(tmp_path / "study.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    assert (about["study"], about["database"], about["format"]) == ("posters", "sqlite", 1)


def test_a_backup_while_others_write_is_of_one_moment(study, key, tmp_path):
    """Each of six backups under a writer has as many judgements as it says, without a gap."""
    store, stop = study.store(), threading.Event()

    def write() -> None:
        while not stop.is_set():
            judged(study, store, answers=1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        archives = [
            make_backup(study.folder, store.engine.url, key=key, out=tmp_path / f"{k}.age")
            for k in range(6)
        ]
    finally:
        stop.set()
        writer.join()
    numbers = []
    for k, archive in enumerate(archives):
        done = restore(archive, tmp_path / f"r{k}", key=key)
        with closing(sqlite3.connect(tmp_path / f"r{k}" / "study.db")) as copy:
            ids = [row[0] for row in copy.execute("SELECT id FROM judgements ORDER BY id")]
        assert ids == list(range(1, done.facts.judgements + 1))
        numbers.append(len(ids))
    assert numbers == sorted(numbers)
    assert numbers[-1] > numbers[0]
    store.close()


# Secrecy.


def test_nothing_of_a_study_is_readable_in_an_encrypted_backup(study, key):
    store = study.store()
    judged(study, store)
    archive = make_backup(study.folder, store.engine.url, key=key)
    store.close()
    body = archive.read_bytes()
    assert body.startswith(b"age-encryption.org/v1")
    for word in (b"nurse", b"Which is clearer", b"k" * 64, b"about.json", b"SQLite format"):
        assert word not in body


def test_backups_keys_and_what_is_restored_are_their_owners_alone(study, key, tmp_path):
    old = os.umask(0)
    try:
        archive = make_backup(study.folder, driver_url(study.database_url()), key=key)
        restore(archive, tmp_path / "back", key=key)
    finally:
        os.umask(old)
    private = [archive, archive.parent, key.source, *(tmp_path / "back").rglob("*")]
    assert len(private) > 6
    for path in private:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_nothing_in_plain_text_is_left_beside_or_in_a_folder_of_backups(
    study, key, tmp_path, monkeypatch
):
    """The dump lies in the folder of the study meanwhile, and goes even where writing fails."""
    seen: list[Path] = []
    real = databases.SqliteDumps.dump

    def watched(self, url, out):
        seen.append(out)
        return real(self, url, out)

    monkeypatch.setattr(databases.SqliteDumps, "dump", watched)
    url = driver_url(study.database_url())
    make_backup(study.folder, url, key=key, into=tmp_path / "elsewhere")
    monkeypatch.setattr("tiewise.study.backups.backup.write_archive", _full_disk)
    with pytest.raises(InputError, match="cannot be written .No space left"):
        make_backup(study.folder, url, key=key, out=tmp_path / "elsewhere" / "second")
    assert all(path.is_relative_to(study.folder) for path in seen)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    assert not list(study.folder.glob(".backup-*"))


def _full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_under_the_encryption_is_one_line_and_leaves_nothing(study, key, tmp_path):
    """/dev/full takes no byte; the writer of the archive must not wait for ever."""
    from tiewise.study.backups.keys import encrypting

    def fill() -> None:
        with Path("/dev/full").open("wb", buffering=0) as full, encrypting(full, key) as out:
            for _ in range(100):
                out.write(os.urandom(1 << 16))

    with pytest.raises(OSError, match="No space left"):
        fill()


def test_the_public_key_encrypts_and_cannot_decrypt(study, key, tmp_path):
    public = read_backup_key(f"{key.source}.pub")
    assert (public.public, public.secret) == (key.public, ())
    archive = make_backup(study.folder, driver_url(study.database_url()), key=public)
    with pytest.raises(InputError, match="is encrypted; name the file with its secret key"):
        restore(archive, tmp_path / "back", key=public)
    restore(archive, tmp_path / "back", key=key)


def test_keys_that_are_no_keys_are_refused_with_the_way_out(key, study, tmp_path):
    assert key.secret[0] not in repr(key)
    with pytest.raises(InputError, match="is there already, and is not overwritten"):
        make_backup_key(key.source)
    with pytest.raises(InputError, match="keep the key apart from what it protects"):
        make_backup_key(study.folder / "key")
    wrong = tmp_path / "wrong"
    for text, message in (
        ("hello\n", "holds no key; make one with"),
        ("AGE-SECRET-KEY-1QQQQ\n", "a key in it is damaged"),
        ("age1xyz\n", "a key in it is damaged"),
    ):
        wrong.write_text(text, encoding="ascii")
        with pytest.raises(InputError, match=message):
            read_backup_key(wrong)
    with pytest.raises(InputError, match="the key cannot be read .No such file"):
        read_backup_key(tmp_path / "none")


def test_the_password_of_a_database_is_in_no_list_of_processes(monkeypatch):
    """It goes through the environment, wherever in the address it stands."""
    calls = []

    def run(words, env, **_):
        calls.append((words, env["PGPASSWORD"]))
        return subprocess.CompletedProcess(words, 0, b"", b"")

    monkeypatch.setattr(databases.subprocess, "run", run)
    monkeypatch.setattr(databases.shutil, "which", lambda name: f"/usr/bin/{name}")
    for address in (
        "postgres://ada:s3cret@db.example/wards?sslmode=require",
        "postgresql+psycopg://ada@db.example/wards?password=s3cret&sslmode=require",
    ):
        databases._run("pg_dump", driver_url(address))
    for words, password in calls:
        assert password == "s3cret"
        assert "s3cret" not in " ".join(words)
        assert words[1] == "--dbname=postgresql://ada@db.example/wards?sslmode=require"


# What is refused.


@pytest.fixture(scope="module")
def plain(template, tmp_path_factory) -> Path:
    """A backup that is not encrypted, so that it can be tampered with."""
    out = tmp_path_factory.mktemp("plain") / "posters.tar.gz"
    return make_backup(template.folder, driver_url(template.database_url()), key=None, out=out)


def rewritten(archive: Path, out: Path, change) -> Path:
    """The archive with its entries changed: `change` gets and returns names and bodies."""
    with tarfile.open(archive) as tar:
        entries = [(entry, tar.extractfile(entry).read()) for entry in tar]
    with tarfile.open(out, "w:gz") as tar:
        for entry, body in change(entries):
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return out


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def with_entry(one: tarfile.TarInfo, body: bytes = b"x"):
    """The entries with one more before the digests, which list it, too."""

    def change(entries):
        last, sums = entries[-1]
        line = f"{hashlib.sha256(body).hexdigest()}  {one.name}\n".encode()
        return [*entries[:-1], (one, body if one.isreg() else b""), (last, sums + line)]

    return change


HOSTILE = [
    entry("../outside"), entry("/tmp/outside"), entry("images/../../outside"), entry("images/./x"),
    entry("images//x"), entry("study.toml.bak"), entry(".bashrc"), entry("images\\..\\x"),
    entry("images/c:x"), entry("images"), entry("study.dump"),
    entry("images/link.svg", tarfile.SYMTYPE, "/etc/passwd"),
    entry("images/hard.svg", tarfile.LNKTYPE, "secret"), entry("images/pipe.svg", tarfile.FIFOTYPE),
    entry("images/device.svg", tarfile.CHRTYPE), entry("images/dir", tarfile.DIRTYPE),
]  # fmt: skip


@pytest.mark.parametrize("one", HOSTILE, ids=lambda one: f"{one.name} {one.type.decode()}")
def test_paths_that_leave_the_folder_and_what_is_no_file_are_refused(plain, tmp_path, one):
    wrong = rewritten(plain, tmp_path / "wrong", with_entry(one))
    with pytest.raises(InputError, match="which is no file of a study"):
        restore(wrong, tmp_path / "inside" / "back")
    assert {path.name for path in tmp_path.iterdir()} <= {"wrong", "inside"}
    assert not any((tmp_path / "inside").iterdir())


def flipped(name: str):
    def change(entries):
        return [(e, body[:-1] + b"!" if e.name == name else body) for e, body in entries]

    return change


def about(**values):
    def change(entries):
        facts = json.loads(entries[0][1]) | values
        return [(entries[0][0], json.dumps(facts).encode()), *entries[1:]]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flipped("items.csv"), "is damaged .items.csv is not what it was"),
        (flipped("secret"), "is damaged .secret is not what it was"),
        (lambda entries: entries[:-1], "is damaged .images/red.svg is not what it was"),
        (lambda entries: [e for e in entries if e[0].name != "secret"], "is damaged .secret"),
        (lambda entries: entries[1:], "is no backup, or is damaged"),
        (lambda entries: [*entries, entries[1]], "is no backup, or is damaged"),
        (lambda entries: [entries[0], *entries[1:3], *entries[1:]], "is no backup, or is damaged"),
        (with_entry(entry("study.toml")), "is no backup, or is damaged"),
        (about(format=2, tiewise="9.0"), "made by a newer version of Tiewise .9.0.; restore it"),
        (about(revision="9999", tiewise="9.0"), "made by a newer version of Tiewise .9.0."),
        (about(judgements=7), "holds 0 judgements .* should hold 7"),
        (about(database="oracle"), "is no backup, or is damaged"),
        (about(judgements="many"), "is no backup, or is damaged"),
        (about(database="postgresql"), "holds 'study.db', which is no file of a study"),
        (lambda entries: [(entries[0][0], b"[]"), *entries[1:]], "is no backup, or is damaged"),
    ],
)  # fmt: skip
def test_an_archive_that_is_not_what_it_was_is_refused(plain, tmp_path, change, message):
    wrong = rewritten(plain, tmp_path / "wrong", change)
    with pytest.raises(InputError, match=message):
        restore(wrong, tmp_path / "back")
    assert [path.name for path in tmp_path.iterdir()] == ["wrong"]


@pytest.mark.parametrize("encrypted", [True, False])
def test_a_backup_that_is_cut_off_or_flipped_anywhere_is_refused(
    template, key, tmp_path, encrypted
):
    """Every twentieth of its length. (Some bits of a gzip file change nothing of its content.)"""
    archive = make_backup(
        template.folder, driver_url(template.database_url()),
        key=key if encrypted else None, out=tmp_path / "whole",
    )  # fmt: skip
    body, refused = archive.read_bytes(), 0
    wrong = tmp_path / "wrong"
    for k in range(1, 20):
        at = len(body) * k // 20
        for changed in (body[:at], body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]):
            wrong.write_bytes(changed)
            if not encrypted and same_content(changed, body):
                continue
            with pytest.raises(InputError):
                restore(wrong, tmp_path / "back", key=key)
            refused += 1
    assert refused > 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole", "wrong"]


def same_content(one: bytes, other: bytes) -> bool:
    try:
        return gzip.decompress(one) == gzip.decompress(other)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return False


def test_what_is_no_backup_at_all_is_one_line(tmp_path, key):
    for name, body in (("text", b"hello"), ("nothing", b""), ("zip", gzip.compress(b"x" * 9999))):
        (tmp_path / name).write_bytes(body)
        with pytest.raises(InputError, match="is no backup, or is damaged"):
            restore(tmp_path / name, tmp_path / "back", key=key)
    with pytest.raises(InputError, match="is not there, or is no file"):
        restore(tmp_path / "none", tmp_path / "back", key=key)


def test_another_key_is_said_to_be_another(study, key, tmp_path):
    archive = make_backup(study.folder, driver_url(study.database_url()), key=key)
    other = make_backup_key(tmp_path / "other")
    with pytest.raises(InputError, match="was encrypted with another key than that in .*other"):
        restore(archive, tmp_path / "back", key=other)
    with pytest.raises(InputError, match="is encrypted; name the file with its secret key"):
        restore(archive, tmp_path / "back")


def test_more_than_the_disk_holds_is_refused_before_it_is_written(plain, tmp_path):
    with plain.open("rb") as file, pytest.raises(InputError, match="more than there is room for"):
        unpack(file, tmp_path, name="posters", room=5000)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 5000


def test_memory_is_bounded_however_large_the_files(tmp_path, key):
    """24 MiB of images are written and read with a few MiB; so is a header of an absurd length."""
    facts = BackupFacts("s", now().isoformat(), "0", "sqlite", "0001", 0)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(24 << 20)
    files = [("study.toml", tmp_path / "t"), ("items.csv", tmp_path / "t"),
             ("images/large.png", large), ("study.db", tmp_path / "t")]  # fmt: skip
    (tmp_path / "t").write_bytes(b"")
    tracemalloc.start()
    try:
        with (tmp_path / "a").open("wb") as out:
            write_archive(out, facts, files)
        (tmp_path / "into").mkdir()
        with (tmp_path / "a").open("rb") as file:
            unpack(file, tmp_path / "into", name="a", room=1 << 30)
        with gzip.open(tmp_path / "bomb", "wb") as bomb:
            header = entry("x", tarfile.XHDTYPE)
            header.size = 12 << 20
            bomb.write(header.tobuf(tarfile.PAX_FORMAT))
            for _ in range(12):
                bomb.write(bytes(1 << 20))
        with (tmp_path / "bomb").open("rb") as file, pytest.raises(InputError, match="no backup"):
            unpack(file, tmp_path / "into", name="bomb", room=1 << 30)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


# Never over a study.


def test_a_study_that_is_there_is_refused_or_moved_aside_and_never_lost(study, key, tmp_path):
    store = study.store()
    archive = make_backup(study.folder, store.engine.url, key=key, out=tmp_path / "a.age")
    judged(study, store)
    before = content(store)
    with pytest.raises(InputError, match="holds a study; restore into a new folder, or say repla"):
        restore(archive, study.folder, key=key)
    with pytest.raises(InputError, match="a site or another command is at work on"):
        restore(archive, study.folder, key=key, replace=True)
    assert content(store) == before
    store.close()
    done = restore(archive, study.folder, key=key, replace=True)
    aside = Study.open(done.replaced).store()
    assert content(aside) == before
    aside.close()
    again = study.store()
    assert list(again.rows()) == []
    again.close()


def test_a_folder_of_other_things_is_not_restored_into(study, key, tmp_path):
    archive = make_backup(study.folder, driver_url(study.database_url()), key=key)
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "thesis.tex").write_text("…", encoding="utf-8")
    for replace in (False, True):
        with pytest.raises(InputError, match="is not empty and holds no study"):
            restore(archive, other, key=key, replace=replace)
    with pytest.raises(InputError, match="is a file; name a folder"):
        restore(archive, other / "thesis.tex", key=key)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


def test_a_database_that_is_not_empty_or_of_another_kind_is_refused(
    study, key, tmp_path, postgresql
):
    url = postgresql()
    store = study.store(url)
    archive = make_backup(study.folder, store.engine.url, key=key)
    store.close()
    with pytest.raises(InputError, match=r"is of a database on PostgreSQL; name an empty one"):
        restore(archive, tmp_path / "back", key=key)
    with pytest.raises(InputError, match="is not empty .it has"):
        restore(archive, tmp_path / "back", url=url, key=key)
    other = make_backup(study.folder, driver_url(study.database_url()), key=key, out=tmp_path / "b")
    with pytest.raises(InputError, match="is of a database on SQLite; leave database= out"):
        restore(other, tmp_path / "back", url=postgresql(empty=True), key=key)
    assert not (tmp_path / "back").exists()


def test_a_backup_does_not_overwrite_a_file(study, key, tmp_path):
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is there already, and is not overwritten"):
        make_backup(study.folder, driver_url(study.database_url()), key=key, out=tmp_path / "mine")


# What a restored backup does not bring back.


def test_sessions_and_links_of_then_open_nothing(study, key, tmp_path):
    store = study.store()
    researchers = ResearcherStore(store)
    ada = researchers.add_researcher("Ada")
    session, link = researchers.sign_in(ada), researchers.invite_researcher("Ada")
    share = researchers.make_token(TokenPurpose.SHARE, label="partners")
    archive = make_backup(study.folder, store.engine.url, key=key)
    assert researchers.session(session) is not None
    store.close()
    restore(archive, tmp_path / "back", key=key)
    again = Study.open(tmp_path / "back").store()
    researchers = ResearcherStore(again)
    assert researchers.session(session) is None
    assert not researchers.is_valid_token(link, TokenPurpose.SIGN_IN)
    assert researchers.is_valid_token(share, TokenPurpose.SHARE)
    assert next(researchers.audit_log())["what"] == "restore backup"
    again.close()


def test_judges_who_withdrew_since_the_backup_are_erased_from_it_again(study, key, tmp_path):
    """By the record in the database that it replaces."""
    store = study.store()
    gone, kept, stays = (judged(study, store, role=role) for role in ("nurse", "police", "other"))
    archive = make_backup(study.folder, store.engine.url, key=key, out=tmp_path / "a.age")
    store.withdraw(gone, judgements_too=True)
    store.withdraw(kept, judgements_too=False)
    store.close()
    done = restore(archive, study.folder, key=key, replace=True)
    assert done.erased_again == 2
    again = study.store()
    assert {row["judge"] for row in again.rows()} == {kept.id, stays.id}
    assert set(again.signup_answers()) == {stays.id}
    again.close()


# Names, and which are kept.


def test_the_oldest_go_and_only_ours(tmp_path):
    names = [f"posters-2026-11-{day:02}T120000Z.tar.gz.age" for day in range(1, 6)]
    others = ["posters-2-2026-11-01T120000Z.tar.gz.age", "notes.txt", "posters.tar.gz"]
    for name in (*names, *others):
        (tmp_path / name).touch()
    assert [path.name for path in backups_in(tmp_path, "posters")] == names
    assert made_at(tmp_path / names[0]).isoformat() == "2026-11-01T12:00:00+00:00"
    gone = delete_oldest(tmp_path, "posters", keep=2)
    assert [path.name for path in gone] == names[:3]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names[3:], *others])
    assert delete_oldest(tmp_path, "posters", keep=2) == []


def test_lengths_of_time():
    assert [parse_duration(text) for text in ("30s", "15m", "1h", "7D")] == [30, 900, 3600, 604800]
    for wrong in ("", "1", "h", "0h", "-1h", "1.5h", "1h30m", "9999999d"):
        with pytest.raises(InputError, match="is no length of time; write 30s, 15m, 1h or 7d"):
            parse_duration(wrong)


def test_a_backup_is_from_the_moment_it_says(study, key, tmp_path):
    before = now()
    archive = make_backup(study.folder, driver_url(study.database_url()), key=key)
    done = restore(archive, tmp_path / "back", key=key)
    assert before <= done.facts.moment <= now()
    assert made_at(archive) + timedelta(seconds=1) > before


def test_missing_programs_of_postgresql_are_named(study, key, postgresql, monkeypatch):
    store = study.store(postgresql())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="pg_dump is not installed here; it comes with"):
        make_backup(study.folder, store.engine.url, key=key)
    store.close()


def test_without_the_library_the_way_out_is_named(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pyrage", None)
    with pytest.raises(InputError, match=re.escape("pip install 'tiewise[backup]'")):
        make_backup_key(tmp_path / "key")


# Upgrades.

OLD = Path(__file__).parents[2] / "fixtures" / "version-0.1"


@pytest.fixture
def old(tmp_path, database, request) -> tuple[Study, str | None]:
    """A study as version 0.1 left it."""
    shutil.copytree(OLD / "study", tmp_path / "old")
    if database is None:
        return Study.open(tmp_path / "old"), None
    import psycopg

    url = request.getfixturevalue("postgresql")(empty=True)
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute((OLD / "postgres.sql").read_text(encoding="utf-8"))
    return Study.open(tmp_path / "old"), url


def test_several_that_open_a_study_of_an_earlier_version_at_once_all_get_it(old):
    study, url = old
    with warnings.catch_warnings(), ThreadPoolExecutor(4) as threads:
        warnings.simplefilter("ignore")
        for store in list(threads.map(lambda _: study.store(url), range(4))):
            assert store.recorded_priors() == "paper"
            store.close()
    archives = backups_in(study.folder / "backups", "old")
    assert 1 <= len(archives) == len(list((study.folder / "backups").iterdir()))
    assert not list(study.folder.glob(".backup-*"))


def test_a_migration_that_fails_leaves_the_database_as_it_was(old, monkeypatch):
    from tiewise.study import connection

    study, url = old

    def broken(of, kind) -> None:
        migrate(of, kind)
        raise RuntimeError("power cut")

    monkeypatch.setattr(connection, "migrate", broken)
    with pytest.warns(InputWarning, match="as it was, it is in"), pytest.raises(RuntimeError):
        study.store(url)
    revision, judgements = databases.counts_in(driver_url(study.database_url(url)))
    assert revision == "0002"
    assert judgements > 30


def test_what_cannot_be_backed_up_is_not_upgraded(old, monkeypatch, tmp_path):
    study, url = old
    monkeypatch.setenv("TIEWISE_BACKUP_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(InputError, match="that failed: .*cannot be read.* --no-backup"):
        study.store(url)
    assert databases.counts_in(driver_url(study.database_url(url)))[0] == "0002"
    study.store(url, backup=False).close()
    assert databases.counts_in(driver_url(study.database_url(url)))[0] == newest_revision()


def test_the_backup_before_an_upgrade_is_encrypted_and_put_where_the_others_are(
    old, key, monkeypatch, tmp_path
):
    study, url = old
    monkeypatch.setenv("TIEWISE_BACKUP_KEY_FILE", str(key.source))
    monkeypatch.setenv("TIEWISE_BACKUP_INTO", str(tmp_path / "others"))
    with pytest.warns(InputWarning, match="is of an earlier version, and is upgraded"):
        study.store(url).close()
    (archive,) = backups_in(tmp_path / "others", "old")
    assert archive.name.endswith(".age")
