"""A study of a site from copy to deletion; what is taken away is kept elsewhere first."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import func, select, text

from tiewise.errors import InputError
from tiewise.hosting.drafts import write_whole
from tiewise.hosting.locks import file_lock
from tiewise.hosting.settings_file import with_values
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.access.folder_files import FILES, PARTS
from tiewise.study.audit_log import log_action
from tiewise.study.connection import now
from tiewise.study.export import export
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.retention.erase import TABLES
from tiewise.study.schema import current_values, judgements, judges, meanings
from tiewise.study.schema import metadata as study_tables
from tiewise.study.study import Study
from tiewise.study.values import Phase, Researcher
from tiewise.study.words.languages import FOLDER as WORDS

PILOTS = "pilots"


class StudyAway(InputError):
    """Somebody else has archived or deleted the study in the meantime."""


def clone(site: SiteFolder, name: str, new: str, title: str, database: str | None) -> None:
    """Another study like this one, without its judges and answers; it is paused."""
    site.refuse_name(new)
    work = Path(tempfile.mkdtemp(prefix=".clone-", dir=site.exports))
    try:
        made = work / new
        made.mkdir()
        for part in PARTS:
            source = site.study(name) / part
            if source.is_dir():
                shutil.copytree(source, made / part)
            elif source.is_file():
                shutil.copy2(source, made / part)
        settings = made / "study.toml"
        write_whole(
            settings, with_values(settings.read_text(encoding="utf-8"), {"study.title": title})
        )
        store = Study.open(made).store(database)
        ResearcherStore(store).set_phase(Phase.PAUSED, why=f"copy of {name}")
        store.close()
        with file_lock(site.path):
            site.refuse_name(new)
            made.rename(site.study(new))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def archive(site: SiteFolder, name: str, store: ResearcherStore) -> None:
    """Take a study that is not open off the site; it can be brought back."""
    with _study_lock(site, name), file_lock(site.path):
        if store.phase() == Phase.OPEN:
            raise InputError("the study is open; pause or close it first")
        if (site.archive / name).exists():
            raise InputError(f"there is a study {name!r} in the archive already")
        site.study(name).rename(site.archive / name)


def bring_back(site: SiteFolder, name: str) -> None:
    """Put a study of the archive on the site again."""
    with file_lock(site.path):
        if name not in site.archived():
            raise InputError(f"there is no study {name!r} in the archive")
        if site.study(name).exists():
            raise InputError(f"there is a study {name!r} on the site; rename that folder first")
        (site.archive / name).rename(site.study(name))


def delete(site: SiteFolder, name: str, store: JudgeStore) -> Path:
    """Delete a closed study with its judges and answers; its export, which is made first."""
    with _study_lock(site, name, long=True):
        _refuse_unless_closed(store)
        folder = site.study(name)
        kept = keep_export(Study.open(folder), store, site.exports)
        gone = site.exports / f".deleted-{secrets.token_hex(6)}"
        try:
            _refuse_unless_closed(store)  # nor opened while the export was made
        except InputError:
            kept.unlink()
            raise
        with file_lock(site.path):
            folder.rename(gone)
    if store.engine.dialect.name != "sqlite":
        _drop_tables(store)
    store.close()
    shutil.rmtree(gone, ignore_errors=True)
    return kept


def _refuse_unless_closed(store: JudgeStore) -> None:
    if ResearcherStore(store).phase() != Phase.CLOSED:
        raise InputError("the study is not closed; close it first, so that no answer is lost")


@contextmanager
def _study_lock(site: SiteFolder, name: str, *, long: bool = False) -> Iterator[None]:
    """The lock of one study, which others of the site do not wait for; refused where it is gone."""
    with ExitStack() as stack:
        with suppress(FileNotFoundError):
            stack.enter_context(file_lock(site.study(name), long=long))
        if not site.is_study(name):
            raise StudyAway(f"there is no study {name!r} any more; somebody else has put it away")
        yield


def remove_leftovers(site: SiteFolder) -> None:
    """Finish deletions and copies that were cut off."""
    for path in (*site.exports.glob(".deleted-*"), *site.exports.glob(".clone-*")):
        shutil.rmtree(path, ignore_errors=True)


def exports(site: SiteFolder) -> list[Path]:
    """Exports of deleted studies, the latest first."""
    return sorted(site.exports.glob("*.zip"), key=lambda path: -path.stat().st_mtime)


def keep_export(study: Study, store: JudgeStore, folder: Path) -> Path:
    """A zip file of all tables of a study, with its settings, items, map, design and own words."""
    moment = now().strftime("%Y-%m-%dT%H%M%SZ")
    path = folder / f"{study.folder.resolve().name}-{moment}-{secrets.token_hex(2)}.zip"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".clone-") as place:
        files = export(study, store, Path(place) / "export", raw=True)
        beside = Path(place) / "all.zip"
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive_file:
            for file in files:
                archive_file.write(file, file.name)
            for name, file in _kept_files(study.folder):
                archive_file.write(file, f"study/{name}")
        beside.chmod(0o600)
        beside.replace(path)
    return path


def _kept_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """What an export holds of the folder of a study: all but pictures, texts and recordings."""
    for path in (*(folder / name for name in FILES), *sorted((folder / WORDS).glob("*.toml"))):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def reset_pilot(study: Study, store: JudgeStore, *, by: Researcher | None = None) -> int:
    """Begin anew with no judges and no answers; those of the pilot are set apart, in `pilots`.

    How many judgements that was. Refused while the study is open, or where an answer comes in
    the meantime.
    """
    if ResearcherStore(store).phase() == Phase.OPEN:
        raise InputError("the study is open; pause it first, so that no answer is lost")
    with file_lock(study.folder, long=True):
        return _set_apart(study, store, by)


def _set_apart(study: Study, store: JudgeStore, by: Researcher | None) -> int:
    with store.reading() as connection:
        if connection.scalar(select(judges.c.id).limit(1)) is None:
            raise InputError("nobody has judged yet, so there is nothing to set apart")
    last = _last_judgement(store)
    apart = study.folder / PILOTS
    apart.mkdir(mode=0o700, exist_ok=True)
    kept = keep_export(study, store, apart)
    if store.engine.dialect.name == "sqlite":
        _copy_database(study.folder / "study.db", kept.with_suffix(".db"))
    with store.writing() as connection:
        if (connection.scalar(select(func.max(judgements.c.id))) or 0) != last:
            raise InputError("an answer came in the meantime; try again")
        number = connection.scalar(select(func.count()).select_from(judgements)) or 0
        for table in (*TABLES, meanings, current_values):
            connection.execute(table.delete())
        log_action(connection, by, "reset pilot", f"{number} judgements", f"kept in {kept.name}")
    (apart / "last").write_text(kept.name, encoding="utf-8")  # the site opens the study anew
    return int(number)


def _last_judgement(store: JudgeStore) -> int:
    with store.reading() as connection:
        return int(connection.scalar(select(func.max(judgements.c.id))) or 0)


def _copy_database(path: Path, to: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    to.chmod(0o600)


def _drop_tables(store: JudgeStore) -> None:
    """Drop our tables in a database on a server."""
    with store.writing() as connection:
        study_tables.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
