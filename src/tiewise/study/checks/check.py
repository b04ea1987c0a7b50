"""A study looked over before and while it runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tiewise.designs.pair_lists import PairLists
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas
from tiewise.geo.map_features import MapFeatures
from tiewise.study.access.database_faults import damage
from tiewise.study.connection import now
from tiewise.study.create import design_faults, image_faults
from tiewise.study.judge_store import JudgeStore
from tiewise.study.media.study_files import (
    copies_beyond,
    faults_of_copies,
    without_words,
)
from tiewise.study.retention.reminder import reminder
from tiewise.study.settings import PRIORS, Settings, problems, read_toml
from tiewise.study.study import DESIGN, LAYERS, Item, Study, read_items
from tiewise.study.toml.about import logo_faults
from tiewise.study.toml.anchors import (
    unknown_anchors,
)
from tiewise.study.toml.key_types import build
from tiewise.study.toml.practice import unknown_practice
from tiewise.study.words.item_columns import translation_faults, translation_notes
from tiewise.study.words.languages import own_languages
from tiewise.text import quantity, some_names


class StudyFaults(NamedTuple):
    """What is wrong with a study: what keeps it from being served, and an erasure that is late."""

    broken: list[str]
    overdue: list[str]


def check_study(folder: str | Path, url: str | None = None) -> list[str]:
    """Everything that is wrong with a study, in plain words; empty where nothing is."""
    faults = study_faults(folder, url)
    return faults.broken + faults.overdue


def study_faults(folder: str | Path, url: str | None = None) -> StudyFaults:
    """What is wrong with a study; what is only worth a look is a warning."""
    place = Path(folder)
    broken = _faults_of_files(place)
    if broken or not (url or (place / "study.db").exists()):
        return StudyFaults(broken, [])
    study = Study.open(place)
    store = study.store(url)
    try:
        with store.reading() as connection:
            broken += damage(connection)
        if broken:
            return StudyFaults(broken, [])
        broken += [*study.changed_meaning(store), *answers_without_item(study, store)]
        return StudyFaults(broken, list(_overdue_erasure(study, store)))
    finally:
        store.close()


def _faults_of_files(place: Path) -> list[str]:
    """What is wrong with the files of a study."""
    tables = read_toml(place / "study.toml")
    faults = [str(problem) for problem in problems(tables, own_languages(place))]
    try:
        items = read_items(place / "items.csv")
    except InputError as error:
        return [*faults, str(error)]
    if not faults:
        settings: Settings = build(Settings, tables)
        faults += unknown_anchors(settings.anchors, items)
        faults += unknown_practice(settings.practice, items)
        faults += logo_faults(settings.about, place)
        faults += copies_beyond(place, items.values(), settings.files)
    faults += [
        *_missing_images(place, items), *_missing_areas(place, items), *_groupless(items),
        *_layer_faults(place), *_faults_of_design(place, items),
        *faults_of_copies(place, items.values()), *translation_faults(items),
    ]  # fmt: skip
    if not faults:
        offered = build(Settings, tables).study.languages
        notes = [*without_words(place, items.values()), *translation_notes(items, offered)]
        for line in notes:
            warnings.warn(line, InputWarning, stacklevel=2)
    return faults


def answers_without_item(study: Study, store: JudgeStore) -> Iterator[str]:
    """Items that answers are about, and that the table of items does not have any more."""
    gone = sorted(store.answered_items() - study.items.keys())
    if gone:
        yield (
            f"items.csv: there are answers about {quantity(len(gone), 'item')} that it does not "
            f"have ({some_names(gone, 3)}); put their rows back, with `retired` in a column shown "
            "so that judges are not asked about them"
        )


def _overdue_erasure(study: Study, store: JudgeStore) -> Iterator[str]:
    """An erasure that is overdue is a fault; one that is due soon, a warning."""
    due = reminder(study.settings, store, now().date())
    if due is None:
        return
    sentence = f"study.kept_until: {due.text} Erase them with `tiewise erase {study.folder}`"
    if due.overdue:
        yield sentence
    else:
        warnings.warn(sentence, InputWarning, stacklevel=4)


def study_priors(folder: str | Path, url: str | None = None) -> str:
    """The name of the priors that a study is fitted with; no database is made to tell it."""
    study = Study.open(folder)
    if not url and not (study.folder / "study.db").exists():
        return study.settings.model.priors or PRIORS[0]
    store = study.store(url)
    try:
        return study.priors(store)
    finally:
        store.close()


def _missing_images(place: Path, items: dict[str, Item]) -> Iterator[str]:
    home = place / "images"
    for item in items.values():
        if item.image and not (home / item.image).is_file():
            yield f"items.csv: the image {item.image!r} of {item.name!r} is not in images/"
        elif item.image:
            faults = image_faults(item, home / item.image, home)
            yield from (f"items.csv: {fault}" for fault in faults)


def _groupless(items: dict[str, Item]) -> Iterator[str]:
    some = {item.group for item in items.values()}
    for item in items.values():
        if not item.group and len(some) > 2:
            yield (
                f"items.csv: {item.name!r} has no group and others have, so that nobody would be "
                "asked about it; give it one"
            )


def _layer_faults(place: Path) -> Iterator[str]:
    """Why the layers of a map cannot be drawn."""
    if not (place / LAYERS).exists():
        return
    if not (place / "areas.gpkg").exists():
        yield f"{LAYERS}: there is no areas.gpkg to draw it on; take it away"
        return
    try:
        MapFeatures.read(place / LAYERS, Areas.read(place / "areas.gpkg", id="id"))
    except InputError as error:
        yield str(error)


def map_summary(folder: str | Path) -> str:
    """What the maps of a study are drawn from, in a sentence; empty where it has none."""
    study = Study.open(folder)
    if study.areas is None:
        return ""
    areas = f"{len(study.areas):,} areas"
    features = study.map_features
    if features is None:
        return f"{areas}, no layers."
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in features.counts().items())
    least = f"; {features.left_out:,} small ones left out" if features.left_out else ""
    return f"{areas}; {LAYERS} has {kinds or 'nothing that map.layers names'}{least}."


def _faults_of_design(place: Path, items: dict[str, Item]) -> Iterator[str]:
    """What is wrong with design.csv, where there is one."""
    if not (place / DESIGN).exists():
        return
    try:
        lists = PairLists.read(place / DESIGN)
    except InputError as error:
        yield str(error)
        return
    for fault in design_faults(lists, items):
        yield f"{DESIGN}: {fault}"


def _missing_areas(place: Path, items: dict[str, Item]) -> Iterator[str]:
    path = place / "areas.gpkg"
    if not path.exists():
        return
    there = set(Areas.read(path, id="id").items)
    for id_, item in items.items():
        if id_ not in there:
            yield f"items.csv: {item.name!r} (item {id_!r}) is not in areas.gpkg; add its polygon"
