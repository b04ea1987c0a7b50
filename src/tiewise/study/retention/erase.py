"""Erasing what was promised to be erased: all of judges, the files of items, and copies of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, or_, select, text

from tiewise.errors import InputError
from tiewise.study.audit_log import JUDGE_ACTIONS, log_action
from tiewise.study.backups.backup import BACKUPS, backup_folder, backups_in
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.schema import (
    audit_log,
    comments,
    current_values,
    drafts,
    erasures,
    exclusions,
    identifiers,
    invites,
    judgements,
    judges,
    known_groups,
    offers,
    pair_lists,
    paper_answers,
    return_links,
    signup_answers,
    snapshots,
    undone,
)
from tiewise.study.snapshot_store import EVERYBODY
from tiewise.study.study import Item, Study, results_folder, write_items
from tiewise.study.values import Phase, Researcher
from tiewise.study.words.item_columns import only_names
from tiewise.text import quantity

TABLES = (
    undone, judgements, drafts, comments, paper_answers, offers, signup_answers, known_groups,
    identifiers, return_links, exclusions, pair_lists, judges, invites, snapshots,
)  # fmt: skip
"""What is emptied, in an order that references allow."""
KEPT_CURRENT = ("papers", "papers-fault")
EXPORTED = (
    "comparisons.csv", "comparisons.about.json", "excluded.csv", "judges.csv", "offers.csv",
    "erased.csv", "comments.csv",
)  # fmt: skip
SINGLE_ANSWERS = ("posterior.nc", "judge-terms.csv", "judges.csv")
"""Files of results that hold single answers, or single judges; the report stays."""
FILES_OF_ITEMS = ("images", "media")
NOTHING = dict.fromkeys(("description", "image", "file", "alt", "transcript"), "")
OLD_COPY = re.compile(r"study-\d{4}-\d\d-\d\dT\d{6}Z\.db")
"""What `tiewise backup` of version 0.1 wrote."""
TRUNCATE_ATTEMPTS, TRUNCATE_WAIT = 20, 0.25


class StudyErasure(NamedTuple):
    """What was erased: judges, their judgements, and files."""

    judges: int
    judgements: int
    files: tuple[Path, ...]


def erase_study(
    study: Study,
    store: JudgeStore,
    *,
    by: Researcher | None = None,
    backups: str | Path | None = None,
) -> StudyErasure:
    """Erase judges, judgements, files of items, and our copies of them; the report stays.

    The study has to be closed. `backups` is a folder of backups outside that of the study. What
    stays: settings, names of items, researchers, the audit log, and a record of the erasure.
    """
    if ResearcherStore(store).phase() != Phase.CLOSED:
        raise InputError("the study is not closed; close it first (`tiewise phase DIR closed`)")
    number, answers = store.transaction(lambda connection: _erase_rows(connection, by))
    _give_space_back(store)
    folder = study.folder.resolve()
    fitted = [results_folder(id_) for id_ in study.settings.question_ids]
    files = tuple(_files(folder, backups, fitted))
    for path in files:
        _delete(path, folder)
    _strip_items(study)
    return StudyErasure(number, answers, files)


# The database.


def _erase_rows(connection: Connection, by: Researcher | None) -> tuple[int, int]:
    number = connection.scalar(select(func.count()).select_from(judges)) or 0
    answers = connection.scalar(select(func.count()).select_from(judgements)) or 0
    for table in TABLES:
        connection.execute(table.delete())
    kept = [current_values.c.key.like(f"{key}:%") for key in KEPT_CURRENT]
    gone = ~or_(current_values.c.key.in_(KEPT_CURRENT), *kept)
    connection.execute(current_values.delete().where(gone))
    remarks = audit_log.c.what.in_(JUDGE_ACTIONS)
    connection.execute(audit_log.update().where(remarks).values(about="", why=""))
    row = {"judge": EVERYBODY, "at": now(), "judgements": answers}
    connection.execute(erasures.insert().values(row))
    about = f"{quantity(number, 'judge')}, {quantity(answers, 'judgement')}"
    log_action(connection, by, "erase study", about)
    return number, answers


def _give_space_back(store: JudgeStore) -> None:
    """Have the database forget the erased rows: both keep them in unused pages until then."""
    with store.reading() as connection:
        if connection.dialect.name == "postgresql":
            names = ", ".join(f'"{table.name}"' for table in (*TABLES, current_values, audit_log))
            connection.execute(text(f"VACUUM FULL {names}"))
            return
        connection.execute(text("VACUUM"))
        for _ in range(TRUNCATE_ATTEMPTS):  # as soon as no reader needs the log
            if connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0] == 0:
                return
            sleep(TRUNCATE_WAIT)


# Files.


def _files(folder: Path, backups: str | Path | None, fitted: Iterable[str]) -> Iterator[Path]:
    """What is deleted in the folder of a study: files of items, tables, single answers, backups.

    `fitted` are the names of folders of results.
    """
    yield from (folder / name for name in FILES_OF_ITEMS if (folder / name).exists())
    yield from _named(folder / "export", EXPORTED)
    reports = folder / "papers"
    results = [
        *(folder / name for name in fitted),
        *(reports.iterdir() if reports.is_dir() else ()),
    ]
    for place in results:
        yield from _named(place, SINGLE_ANSWERS)
    yield from backups_in(folder / BACKUPS, folder.name)
    if backups:
        yield from backups_in(backup_folder(folder, backups), folder.name)
    if (folder / BACKUPS).is_dir():
        yield from (path for path in (folder / BACKUPS).iterdir() if OLD_COPY.fullmatch(path.name))


def _named(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    return (folder / name for name in names if (folder / name).is_file())


def _delete(path: Path, folder: Path) -> None:
    """Delete a file or folder, and in that of the study a folder that it leaves empty."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return
    path.unlink(missing_ok=True)
    if path.parent.is_relative_to(folder):
        with suppress(OSError):  # where something else is in it
            path.parent.rmdir()


def bare_item(item: Item) -> Item:
    """What is left of an item: its id, its name and its group."""
    values: dict[str, Any] = {**NOTHING, "translations": only_names(item)}
    return replace(item, **values)


def _strip_items(study: Study) -> None:
    """Leave ids, names and groups of items: results are read with them."""
    path = study.folder / "items.csv"
    beside = path.with_name(".items.csv.new")
    write_items([bare_item(item) for item in study.items.values()], beside)
    beside.replace(path)
