"""A study made from uploaded files by a process of its own: whole, or not at all.

    python -m tiewise.hosting.make_study DRAFT SITE

It works in the folder of the draft, and moves the study into the site in one step at the end.
Killed before that, nothing of it is there; the draft stays, and can be tried again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from tiewise.errors import InputError, InputWarning
from tiewise.hosting.drafts import Draft, Quotas
from tiewise.hosting.locks import file_lock
from tiewise.hosting.site_folder import SiteFolder
from tiewise.hosting.zip_files import unpack
from tiewise.study.create import create_study
from tiewise.study.media.faults import FaultyFiles
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import DESIGN, Study
from tiewise.study.values import Phase

DATABASE_VARIABLE, MEGABYTES_VARIABLE = "TIEWISE_DATABASE", "TIEWISE_STUDY_MEGABYTES"
MAPS = {".gpkg": b"SQLite format 3\0", ".geojson": b"{", ".json": b"{", ".shp": b"\0\0\x27\x0a"}
"""Endings of maps, and how their content begins: the library that reads them would go by that."""
TABLES = (".csv", ".tsv", ".xlsx", ".parquet")
WORDS = ("title", "question", "higher", "lower", "noun", "id", "group", "target")
INTERNAL_ERROR = "It could not be made, by a fault of ours; the log of the site says more."


def start_making(draft: Draft, site: SiteFolder, database: str | None, quotas: Quotas) -> bool:
    """Begin to make the study; False where that is under way."""
    lock = draft.making_lock()
    if lock is None:
        return False
    draft.keep_state(what="Beginning", done=0, total=0)
    more = {DATABASE_VARIABLE: database or "", MEGABYTES_VARIABLE: str(quotas.study)}
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "tiewise.hosting.make_study", str(draft.folder), str(site.path)],
            env=os.environ | more, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            # It holds the lock until it ends, however it ends; a site that stops lets it finish.
            pass_fds=[lock], start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(lock)
    Thread(target=process.wait, daemon=True).start()
    return True


# In the process that makes it.


def main(folder: str, home: str) -> None:
    """Make the study, and store the result with the draft."""
    os.nice(5)
    draft, site = Draft(Path(folder)), SiteFolder.open(home)
    work = draft.folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", InputWarning)
            name = _make(draft, site, work)
        lines = [str(note.message) for note in notes if issubclass(note.category, InputWarning)]
        draft.keep_state(made=name, notes=lines)
        shutil.rmtree(draft.files_folder, ignore_errors=True)
    except InputError as error:
        faults = list(error.faults) if isinstance(error, FaultyFiles) else [str(error)]
        draft.keep_state(faults=[_without(line, work) for line in faults])
    except BaseException:
        draft.keep_state(faults=[INTERNAL_ERROR])
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make(draft: Draft, site: SiteFolder, work: Path) -> str:
    """Make the study and move it into its place; returns its name."""
    details = draft.details()
    name = str(details["address"])
    site.refuse_name(name)
    source, made = work / "source", work / "made" / name
    _gather(draft, source)
    words: dict[str, Any] = {key: details[key] for key in WORDS if details.get(key)}
    if details.get("name_column"):
        words["name"] = details["name_column"]
    create_study(made, progress=_Steps(draft), **words, **sources(source))
    _begin_paused(made, os.environ.get(DATABASE_VARIABLE))
    with file_lock(site.path):
        site.refuse_name(name)
        made.rename(site.study(name))
    return name


class _Steps:
    """Stores progress with the draft, a few times a second."""

    def __init__(self, draft: Draft) -> None:
        self._draft, self._last = draft, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if monotonic() - self._last > 0.3 or done == total:
            self._last = monotonic()
            self._draft.keep_state(what=what, done=done, total=total)


def _gather(draft: Draft, source: Path) -> None:
    """All files in one folder, zip files unpacked."""
    source.mkdir(parents=True)
    megabytes = int(os.environ.get(MEGABYTES_VARIABLE) or Quotas().study)
    for file in draft.files():
        path = draft.files_folder / file.name
        if path.suffix.lower() == ".zip":
            unpack(path, source, megabytes)
            continue
        target = source / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise InputError(f"{file.name} is there twice, once in a zip file; take one out")
        os.link(path, target)


def sources(folder: Path) -> dict[str, Any]:
    """What `create_study` makes the study of: a map, a table, or a folder; perhaps a design."""
    folder = _innermost(folder)
    if (folder / DESIGN).is_file():
        design = (folder / DESIGN).rename(folder.parent / f"{folder.name}-{DESIGN}")
        return sources(folder) | {"design": design}
    files = [path for path in folder.iterdir() if path.is_file()]
    if not any(folder.iterdir()):
        raise InputError("there are no files yet; choose a map, a table, or the files to compare")
    maps = sorted(path for path in files if path.suffix.lower() in MAPS)
    if maps:
        return _map_sources(maps)
    tables = [path for path in files if path.suffix.lower() in TABLES]
    if len(tables) == 1 and len(list(folder.iterdir())) == 1:
        return {"items": tables[0]}
    if len(tables) == 1 and tables[0].stem.lower() != "items":
        tables[0].rename(folder / f"items{tables[0].suffix.lower()}")
    return {"items": folder}


def _innermost(folder: Path) -> Path:
    """The folder itself, or the only one in it: zip files often hold one folder with everything."""
    inside = list(folder.iterdir())
    return _innermost(inside[0]) if len(inside) == 1 and inside[0].is_dir() else folder


def _map_sources(maps: list[Path]) -> dict[str, Any]:
    layers = [path for path in maps if path.stem.lower() == "layers"]
    areas = [path for path in maps if path not in layers]
    if len(areas) != 1:
        names = ", ".join(path.name for path in maps)
        raise InputError(
            f"one map of the areas was expected, and there are {names}; leave one, and call what "
            "helps to recognise it (water, roads, places) layers.gpkg"
        )
    for path in maps:
        _check_map(path)
    return {"areas": areas[0]} | ({"layers": layers[0]} if layers else {})


def _check_map(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(256)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if not any(one.startswith(MAPS[path.suffix.lower()]) for one in (head, text)):
        raise InputError(f"{path.name} is not what its ending says; save the map again")


def _begin_paused(folder: Path, database: str | None) -> None:
    """A new study waits until somebody opens it: its pages can be seen before that."""
    store = Study.open(folder).store(database or None)
    try:
        ResearcherStore(store).set_phase(Phase.PAUSED, why="new")
    finally:
        store.close()


def _without(line: str, work: Path) -> str:
    """A message without the paths of this machine."""
    return line.replace(f"{work / 'source'}/", "").replace(f"{work}/", "")


if __name__ == "__main__":
    main(*sys.argv[1:])
