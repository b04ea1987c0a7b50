"""A study made from a map or a list, and looked over before and while it runs."""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from string import Template

from tiewise.data.text_columns import is_missing, tidied_ids
from tiewise.designs.pair_lists import PRACTICE, PairLists
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas
from tiewise.geo.map_features import MapFeatures
from tiewise.progress import Progress, no_progress
from tiewise.study.access.database_faults import damage
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.media.limits import NO_CHANGES, FileLimits
from tiewise.study.media.sources import ItemList, list_items
from tiewise.study.media.study_files import (
    copies_beyond,
    copies_of,
    faults_of_copies,
    without_words,
)
from tiewise.study.retention.reminder import reminder
from tiewise.study.settings import PRIORS, Settings, problems, read_toml
from tiewise.study.study import DESIGN, LAYERS, Item, Study, read_items, write_items
from tiewise.study.toml.about import logo_faults
from tiewise.study.toml.anchors import (
    AnchorSettings,
    anchor_problems,
    read_anchors,
    unknown_anchors,
)
from tiewise.study.toml.key_types import build
from tiewise.study.toml.practice import unknown_practice
from tiewise.study.words.item_columns import translation_faults, translation_notes
from tiewise.study.words.languages import own_languages
from tiewise.text import quantity, some_names

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
    layers: str | Path | None = None,
    items: str | Path | None = None,
    higher: str = "higher",
    lower: str = "lower",
    noun: str | None = None,
    target: int = 30,
    anchors: str | Path | None = None,
    design: str | Path | None = None,
    limits: FileLimits = NO_CHANGES,
    keep_metadata: bool = False,
    progress: Progress = no_progress,
) -> Study:
    """Make the folder of a study: `study.toml`, `items.csv` and, from a map, `areas.gpkg`.

    `layers` is a file of water, roads, landmarks and places, by which the map is recognised.
    `items` is a table, or a folder of files that are compared. Files are checked within `limits`,
    which `[files]` of `study.toml` then states, and copied into `media`; with `keep_metadata`,
    sound and video keep what else they tell.
    `anchors` is a table of items whose quality is known from elsewhere: `item`, `value` and `sd`.
    `design` is a file of `tiewise design`, or its folder: judges are then shown exactly its pairs.
    """
    if (areas is None) == (items is None):
        raise InputError("say what is compared: a map (areas=FILE) or a list (items=FILE)")
    if areas is None and (id or name or group):
        raise InputError("id=, name= and group= speak of a map; give it with areas=")
    if areas is None and layers is not None:
        raise InputError("layers= are drawn on a map; give it with areas=")
    place = Path(folder)
    _refuse_full(place)
    area_map = None
    if areas is not None:
        area_map = Areas.read(areas, id=id, name=name, group=group).with_tidied_ids()
        _hint_name(area_map)
    features = MapFeatures.read(layers, area_map) if layers and area_map is not None else None
    listing = (
        ItemList(_from_map(area_map), Path()) if area_map is not None
        else list_items(Path(str(items)))
    )  # fmt: skip
    listed = _with_ids(listing.items)
    images = _images(listed, listing.root)
    # They all come to lie in one folder.
    listed = [replace(item, image=Path(item.image).name) for item in listed]
    anchored = _anchors(anchors, listed)
    lists = _lists(design, listed)
    with copies_of(listed, listing.root, place, limits, keep_metadata, progress) as move_copies:
        place.mkdir(parents=True, exist_ok=True)
        move_copies()
    if features is not None and features.left_out:
        message = f"{layers}: {features.left_out:,} of its water and roads are left out, the least"
        warnings.warn(f"{message} important ones: pages stay light", InputWarning, stacklevel=2)
    if listing.unused:
        warnings.warn(listing.unused, InputWarning, stacklevel=2)
    if lists is not None:  # everybody is asked for a whole list
        target = max(sum(p.kind != PRACTICE for p in own) for own in lists.lists.values())
    settings = {
        "title": title or question, "question": question, "higher": higher, "lower": lower,
        "noun": noun or ("area" if area_map is not None else "item"),
    }  # fmt: skip
    words = {key: json.dumps(value, ensure_ascii=False) for key, value in settings.items()}
    text = (
        resources.files("tiewise.study").joinpath("study.toml.template").read_text(encoding="utf-8")
    )
    filled = Template(text).substitute(words, target=target, **asdict(limits))
    write_items(listed, place / "items.csv")
    if area_map is not None:
        area_map.to_gpkg(place / "areas.gpkg")
        if features is not None:
            features.to_gpkg(place / LAYERS, area_map.geometry.crs)
    if lists is not None:
        lists.write(place / DESIGN)
    for source in images:
        (place / "images").mkdir(exist_ok=True)
        shutil.copy2(source, place / "images" / source.name)
    filled += "".join(anchor.to_toml() for anchor in anchored)
    (place / "study.toml").write_text(filled, encoding="utf-8")
    return Study.open(place)


def _lists(path: str | Path | None, items: list[Item]) -> PairLists | None:
    """The lists of a design; refused where they name what is not there."""
    if path is None:
        return None
    file = Path(path) / DESIGN if Path(path).is_dir() else Path(path)
    lists = PairLists.read(file)
    for fault in design_faults(lists, {item.id for item in items}):
        raise InputError(f"{file}: {fault}")
    return lists


def design_faults(lists: PairLists, items: Collection[str]) -> Iterator[str]:
    """What is wrong with a design beside the items of a study."""
    strange = [item for item in lists.items if item not in items]
    if strange:
        are = "is" if len(strange) == 1 else "are"
        yield f"{some_names(strange)} {are} not in items.csv; use the ids that it has"


def _anchors(path: str | Path | None, items: list[Item]) -> tuple[AnchorSettings, ...]:
    """The anchors in a table; the first thing that is wrong with them is refused."""
    if path is None:
        return ()
    anchors = read_anchors(Path(path))
    wrong = anchor_problems(anchors, policy="", needs_anchors=False)
    faults = [*map(str, wrong), *unknown_anchors(anchors, {item.id for item in items})]
    if faults or not anchors:
        raise InputError(f"{path}: {faults[0] if faults else 'it lists no anchors; add some'}")
    return anchors


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
        for fault in _image_faults(item, there, beside):
            raise InputError(fault)
        images.append(there)
    twice = [
        name for name, times in Counter(path.name for path in set(images)).items() if times > 1
    ]
    if twice:
        raise InputError(f"two images are called {twice[0]!r}; rename one, in the list too")
    return images


def _image_faults(item: Item, path: Path, home: Path) -> Iterator[str]:
    """What is wrong with an image that is there: it lies elsewhere, or browsers do not show it."""
    real = path.resolve()
    if not real.is_relative_to(home.resolve()):
        yield (
            f"the image {item.image!r} of {item.name!r} leads outside {home}; put the file itself "
            "there"
        )
    elif not {path.suffix.lower(), real.suffix.lower()} <= set(IMAGES):
        yield (
            f"browsers do not show {item.image!r}, the image of {item.name!r}; make it one of "
            f"{', '.join(IMAGES)}"
        )


def check_study(folder: str | Path, url: str | None = None) -> list[str]:
    """Everything that is wrong with a study, in plain words; empty where nothing is."""
    place = Path(folder)
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
    if not faults and (url or (place / "study.db").exists()):
        study = Study.open(place)
        store = study.store(url)
        with store.reading() as connection:
            faults += damage(connection)
        if not faults:
            faults += [*study.changed_meaning(store), *_overdue_erasure(study, store)]
            faults += answers_without_item(study, store)
        store.close()
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
            faults = _image_faults(item, home / item.image, home)
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
