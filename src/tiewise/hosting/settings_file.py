"""`study.toml` changed as a person would: single values, with its remarks and order kept."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, InlineTable

from tiewise.errors import InputError
from tiewise.hosting.drafts import write_whole
from tiewise.hosting.locks import file_lock
from tiewise.study.asking.meaning import has_answers, proposed_meaning
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.settings import MOST_BYTES, Settings, problems
from tiewise.study.study import Study
from tiewise.study.toml.about import logo_faults
from tiewise.study.toml.anchors import unknown_anchors
from tiewise.study.toml.key_types import build
from tiewise.study.toml.practice import unknown_practice
from tiewise.study.values import Phase
from tiewise.study.words.languages import own_languages
from tiewise.text import one_line

FILE = "study.toml"


class ChangedMeanwhile(InputError):
    """Somebody else has changed the file since it was read."""


class RefusedSettings(InputError):
    """Settings that are not valid; `faults` lists all that is wrong, key by key."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(faults[0])


def version_of(text: str) -> str:
    """A digest of a file, by which it is known whether somebody has changed it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_text(folder: Path, name: str = FILE) -> str:
    """A file of a study as it is."""
    return (folder / name).read_bytes().decode("utf-8")


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """The file with other values of keys such as `study.title`; None takes one out.

    `anchors.2.value` is of the second entry of a list; one beyond its end is added.
    """
    document = tomlkit.parse(text)
    added: dict[str, Any] = {}
    removed = sorted((key for key in values if _is_entry(key) and values[key] is None), key=_number)
    for key, value in values.items():
        if key in removed:
            continue
        *tables, name = key.split(".")
        place = _place(document, tables, added)
        if value is None:
            place.pop(name, None)
        else:
            place[name] = _item(value)
    for key in reversed(removed):
        *tables, name = key.split(".")
        _remove_entry(document, tables, int(name) - 1)
    return tomlkit.dumps(document)


def _is_entry(key: str) -> bool:
    return key.rpartition(".")[2].isdecimal()


def _number(key: str) -> int:
    return int(key.rpartition(".")[2])


def _place(document: Any, tables: Sequence[str], added: dict[str, Any]) -> Any:
    """The table at a path, made where it is not there; `added` are entries made before."""
    place = document
    for k, name in enumerate(tables):
        path = ".".join(tables[: k + 1])
        listed = k + 1 < len(tables) and tables[k + 1].isdecimal()
        if path in added:
            place = added[path]
        elif name.isdecimal() and int(name) <= len(place):
            place = place[int(name) - 1]
        elif name.isdecimal():
            place.append(tomlkit.table() if isinstance(place, AoT) else tomlkit.inline_table())
            place = added[path] = place[-1]
        else:
            if name not in place:
                if listed and place is document:
                    document.add(tomlkit.nl())
                place[name] = _new_table(place, listed=listed, above=path == "translations")
            place = place[name]
    return place


def _new_table(place: Any, *, listed: bool, above: bool) -> Any:
    if listed:
        return tomlkit.aot()
    return tomlkit.inline_table() if isinstance(place, InlineTable) else tomlkit.table(above)


def _remove_entry(document: Any, tables: Sequence[str], index: int) -> None:
    *above, name = tables
    place = document
    for table in above:
        place = place[table]
    del place[name][index]
    if not len(place[name]):
        del place[name]


def _item(value: Any) -> Any:
    """A value as a person would write it: long texts over several lines, small tables in one."""
    if isinstance(value, str) and "\n" in value:
        return tomlkit.string(value, multiline=True)
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    return tomlkit.item(value)


def change_settings(study: Path, store: JudgeStore, text: str, *, version: str) -> None:
    """Replace `study.toml` by this text, unless that cannot be.

    Refused: a text with faults; one that changes the meaning of answers already given, or of those
    that judges may be giving now; and any where the file is not of this `version` any more.
    """
    with file_lock(study):
        before = read_text(study)
        if version_of(before) != version:
            raise ChangedMeanwhile(
                "somebody else has changed these settings since you opened them; nothing of yours "
                "was kept. They are shown below as they are now: change them again"
            )
        settings = checked_settings(study, text)
        changed = changed_meaning(study, store, settings)
        if changed:
            raise RefusedSettings(changed)
        write_whole(study / FILE, text)


def checked_settings(study: Path, text: str) -> Settings:
    """The settings that a text says; all of its faults are refused at once."""
    if len(text.encode()) > MOST_BYTES:
        raise RefusedSettings([f"the file is larger than {MOST_BYTES >> 20} MiB"])
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedSettings(
            [f"this is not TOML ({one_line(str(error), 200)}); text stands in quotes"]
        ) from None
    faults = [str(problem) for problem in problems(tables, own_languages(study))]
    if not faults:
        settings: Settings = build(Settings, tables)
        items = Study.open(study).items
        faults += unknown_anchors(settings.anchors, items)
        faults += unknown_practice(settings.practice, items)
        faults += logo_faults(settings.about, study)
    if faults:
        raise RefusedSettings(faults)
    return settings


def changed_meaning(study: Path, store: JudgeStore, settings: Settings) -> list[str]:
    """Why settings would change what answers mean, each with the way out."""
    then = settings.meaning()
    with store.reading() as connection:
        changed = proposed_meaning(connection, then)
        answered = has_answers(connection)
    if changed:
        return [
            f"{key}: answers were given to {was!r}; leave it so, or make a copy of the study"
            for key, (was, _) in changed.items()
        ]
    if answered or ResearcherStore(store).phase() != Phase.OPEN:
        return []
    before = Study.open(study).settings.meaning()
    return [
        f"{key}: judges may be answering now; pause the study first"
        for key in {**before, **then} if before.get(key) != then.get(key)
    ]  # fmt: skip
