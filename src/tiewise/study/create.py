"""A study made from a map or a list, and looked over before and while it runs."""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from string import Template

from tiewise.data.text_columns import is_missing, tidied_ids
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas
from tiewise.study.access.database_faults import damage
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.retention.reminder import reminder
from tiewise.study.settings import PRIORS, problems, read_toml
from tiewise.study.study import Item, Study, read_items, write_items

IMAGES = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")


def create_study(
    folder: str | Path,
    *,
    question: str,
    title: str | None = None,
    areas: str | Path | None = None,
    id: str | None = None,
    name: str | None = None,
    group: str | None = None,
    items: str | Path | None = None,
    higher: str = "higher",
    lower: str = "lower",
    noun: str | None = None,
    target: int = 30,
) -> Study:
    """Make the folder of a study: `study.toml`, `items.csv` and, from a map, `areas.gpkg`."""
    if (areas is None) == (items is None):
        raise InputError("say what is compared: a map (areas=FILE) or a list (items=FILE)")
    if areas is None and (id or name or group):
        raise InputError("id=, name= and group= speak of a map; give it with areas=")
    place = Path(folder)
    _refuse_full(place)
    area_map = None
    if areas is not None:
        area_map = Areas.read(areas, id=id, name=name, group=group).with_tidied_ids()
        _hint_name(area_map)
    listed = (
        _from_map(area_map) if area_map is not None else list(read_items(Path(str(items))).values())
    )
    listed = _with_ids(listed)
    images = _images(listed, Path(str(items)).parent) if items is not None else []
    # They all come to lie in one folder.
    listed = [replace(item, image=Path(item.image).name) for item in listed]
    place.mkdir(parents=True, exist_ok=True)
    settings = {
        "title": title or question, "question": question, "higher": higher, "lower": lower,
        "noun": noun or ("area" if area_map is not None else "item"),
    }  # fmt: skip
    words = {key: json.dumps(value, ensure_ascii=False) for key, value in settings.items()}
    text = resources.files("tiewise.study").joinpath("study.toml.template").read_text("utf-8")
    filled = Template(text).substitute(words, target=target)
    write_items(listed, place / "items.csv")
    if area_map is not None:
        area_map.to_gpkg(place / "areas.gpkg")
    for source in images:
        (place / "images").mkdir(exist_ok=True)
        shutil.copy2(source, place / "images" / source.name)
    (place / "study.toml").write_text(filled, encoding="utf-8")
    return Study.open(place)


def _refuse_full(place: Path) -> None:
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file; name a new folder")
    if place.is_dir() and any(place.iterdir()):
        raise InputError(
            f"{place} is not empty, and nothing of it is overwritten; name a new folder"
        )


def _hint_name(areas: Areas) -> None:
    if areas.name_columns:
        warnings.warn(
            f"{areas.source} has no column 'name', so that judges see ids; "
            f"name={areas.name_columns[0]!r} would show names",
            InputWarning,
            stacklevel=3,
        )


def _from_map(area_map: Areas) -> list[Item]:
    groups = area_map.groups or ("",) * len(area_map)
    return [Item(*columns) for columns in zip(area_map.items, area_map.names, groups, strict=True)]


def _from_list(path: Path) -> list[Item]:
    return list(read_items(path).values())


def _with_ids(items: list[Item]) -> list[Item]:
    """The items with their ids as files of judgements have them; NA and the like are none."""
    strange = next((item for item in items if is_missing(item.id)), None)
    if strange is not None:
        raise InputError(
            f"the id {strange.id!r} of {strange.name!r} would be read as nothing in tables of "
            "judgements; give it another"
        )
    ids = tidied_ids([item.id for item in items])
    if len(set(ids)) < len(items):
        twice = next(id_ for id_ in ids if ids.count(id_) > 1)
        raise InputError(f"{twice!r} is there twice, once as {twice}.0; give one another id")
    return [replace(item, id=id_) for item, id_ in zip(items, ids, strict=True)]


def _images(items: list[Item], beside: Path) -> list[Path]:
    """The image files of a list, which lie beside it or in its folder `images`."""
    images = []
    for item in items:
        if not item.image:
            continue
        places = [beside / item.image, beside / "images" / item.image]
        there = next((place for place in places if place.is_file()), None)
        if there is None:
            raise InputError(
                f"the image {item.image!r} of {item.name!r} is not beside the list; put it there, "
                "or leave its cell empty"
            )
        images.append(there)
    twice = [
        name for name, times in Counter(path.name for path in set(images)).items() if times > 1
    ]
    if twice:
        raise InputError(f"two images are called {twice[0]!r}; rename one, in the list too")
    return images


def check_study(folder: str | Path, url: str | None = None) -> list[str]:
    """Everything that is wrong with a study, in plain words; empty where nothing is."""
    place = Path(folder)
    tables = read_toml(place / "study.toml")
    faults = [str(problem) for problem in problems(tables)]
    try:
        items = read_items(place / "items.csv")
    except InputError as error:
        return [*faults, str(error)]
    faults += [
        *_missing_images(place, items), *_missing_areas(place, items), *_groupless(items),
    ]  # fmt: skip
    if not faults and (url or (place / "study.db").exists()):
        study = Study.open(place)
        store = study.store(url)
        with store.reading() as connection:
            faults += damage(connection)
        if not faults:
            faults += [*study.changed_meaning(store), *_overdue_erasure(study, store)]
        store.close()
    return faults


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
    for item in items.values():
        if item.image and not (place / "images" / item.image).is_file():
            yield f"items.csv: the image {item.image!r} of {item.name!r} is not in images/"
        elif item.image and Path(item.image).suffix.lower() not in IMAGES:
            yield (
                f"items.csv: browsers do not show {item.image!r}, the image of {item.name!r}; "
                f"make it one of {', '.join(IMAGES)}"
            )


def _groupless(items: dict[str, Item]) -> Iterator[str]:
    some = {item.group for item in items.values()}
    for item in items.values():
        if not item.group and len(some) > 2:
            yield (
                f"items.csv: {item.name!r} has no group and others have, so that nobody would be "
                "asked about it; give it one"
            )


def _missing_areas(place: Path, items: dict[str, Item]) -> Iterator[str]:
    path = place / "areas.gpkg"
    if not path.exists():
        return
    there = set(Areas.read(path, id="id").items)
    for id_, item in items.items():
        if id_ not in there:
            yield f"items.csv: {item.name!r} (item {id_!r}) is not in areas.gpkg; add its polygon"
