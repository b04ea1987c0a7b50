"""The journal of a long run: what was done, line by line, so that it can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.errors import InputError
from tiewise.jobs.versions import versions
from tiewise.text import one_line

Row = dict[str, Any]


class TaskRecord(NamedTuple):
    """The result of one task: rows that depend on its seed alone, and rows about the machine.

    `error` says why there are no rows. The fields are the keys of a line of the journal.
    """

    name: str
    seed: str
    rows: list[Row]
    timings: list[Row]
    error: str | None = None


class Journal:
    """A file with a heading and a line for each task done; without a path it is in memory only.

    The heading holds every setting that results depend on, and the versions in use.
    """

    def __init__(self, path: Path | None, heading: Mapping[str, Any]) -> None:
        self.path = path
        self.heading = json.loads(json.dumps({**heading, "versions": versions()}))
        self.records: dict[str, TaskRecord] = {}
        if path is not None and path.exists():
            self._read(path)
        elif path is not None:
            self._begin(path)

    def add(self, record: TaskRecord) -> None:
        """Store the record of a task, on disk before anything else is done."""
        self.records[record.name] = record
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record._asdict()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _begin(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The heading is written whole or not at all.
        temporary = path.with_name(f".{path.name}")
        temporary.write_text(json.dumps(self.heading) + "\n", encoding="utf-8")
        temporary.replace(path)

    def _read(self, path: Path) -> None:
        whole, _, torn = path.read_bytes().rpartition(b"\n")
        try:
            first, *lines = whole.decode("utf-8").split("\n")
            heading = json.loads(first)
            records = [_checked(TaskRecord(**json.loads(line))) for line in lines]
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path} cannot be read ({one_line(str(error), 200)}); name another folder "
                "(out=), or begin anew (force=True)"
            ) from None
        if heading != self.heading:
            other = _differences(heading, self.heading)
            raise InputError(
                f"{path.parent} was begun with other settings ({other}); use the same, name "
                "another folder (out=), or begin anew (force=True)"
            )
        # A line that was cut off by a power failure is removed; its task is done again.
        if torn:
            os.truncate(path, len(whole) + 1)
        # Tasks that failed are tried again.
        self.records = {record.name: record for record in records if record.error is None}


def _checked(record: TaskRecord) -> TaskRecord:
    """A record whose parts have the types that we write."""
    texts = [record.name, record.seed, record.error or ""]
    tables = [record.rows, record.timings]
    rows = [row for table in tables if isinstance(table, list) for row in table]
    if not (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(table, list) for table in tables)
        and all(isinstance(row, dict) for row in rows)
    ):
        raise TypeError("a line of it has parts of another type than we write")
    return record


def _differences(before: Any, now: Mapping[str, Any]) -> str:
    if not isinstance(before, dict):
        return "its heading is of another kind"
    keys: Sequence[str] = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    return ", ".join(f"{key} {before.get(key)!r}, now {now.get(key)!r}" for key in keys[:3])
