"""What has been done of a long piece of work, line by line, so that it can be taken up again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.errors import InputError
from tiewise.jobs.versions import versions

Row = dict[str, Any]


class Done(NamedTuple):
    """What came of one task: rows that depend on its seed alone, and what depends on the machine.

    `error` says why there are no rows.
    """

    name: str
    seed: str
    rows: list[Row]
    timings: list[Row]
    error: str | None = None


class Journal:
    """A file with a heading and a line for each task done; with no path it is only remembered.

    The heading holds every setting that results depend on, and the versions in use.
    """

    def __init__(self, path: Path | None, heading: Mapping[str, Any]) -> None:
        self.path = path
        self.heading = json.loads(json.dumps({**heading, "versions": versions()}))
        self.done: dict[str, Done] = {}
        if path is not None and path.exists():
            self._read(path)
        elif path is not None:
            self._begin(path)

    def add(self, done: Done) -> None:
        """Keep what came of a task, on disk before anything else is done."""
        self.done[done.name] = done
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done._asdict()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _begin(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A heading is there whole or not at all.
        beside = path.with_name(f".{path.name}")
        beside.write_text(json.dumps(self.heading) + "\n", encoding="utf-8")
        beside.replace(path)

    def _read(self, path: Path) -> None:
        whole, _, torn = path.read_bytes().rpartition(b"\n")
        try:
            first, *lines = whole.decode("utf-8").split("\n")
            heading, done = json.loads(first), [Done(**json.loads(line)) for line in lines]
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path} cannot be read ({error}); name another folder (--out), or begin anew "
                "(--force)"
            ) from None
        if heading != self.heading:
            other = _differences(heading, self.heading)
            raise InputError(
                f"{path.parent} was begun with other settings ({other}); use the same, name "
                "another folder (--out), or begin anew (--force)"
            )
        # What was being written when the power went is written again.
        if torn:
            os.truncate(path, len(whole) + 1)
        # What failed is tried again.
        self.done = {one.name: one for one in done if one.error is None}


def _differences(before: Any, now: Mapping[str, Any]) -> str:
    if not isinstance(before, dict):
        return "its heading is of another kind"
    keys: Sequence[str] = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    return ", ".join(f"{key} {before.get(key)!r}, now {now.get(key)!r}" for key in keys[:3])
