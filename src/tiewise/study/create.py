"""A study made from a map or a list."""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
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
from tiewise.study.media.limits import NO_CHANGES, FileLimits
from tiewise.study.media.sources import ItemList, list_items
from tiewise.study.media.study_files import copies_of
from tiewise.study.study import DESIGN, LAYERS, Item, Study, write_items
from tiewise.study.toml.anchors import (
    AnchorSettings,
    anchor_problems,
    read_anchors,
    unknown_anchors,
)
from tiewise.text import some_names

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
    _refuse_contradictions(areas, items, layers, of_map=id or name or group)
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
    listed = with_ids(listing.items)
    images = _images(listed, listing.root)
    # They all come to lie in one folder.
    listed = [replace(item, image=Path(item.image).name) for item in listed]
    anchored = _anchors(anchors, listed)
    lists = _lists(design, listed)
    with copies_of(listed, listing.root, place, limits, keep_metadata, progress) as move_copies:
        place.mkdir(parents=True, exist_ok=True)
        move_copies()
    _warn_left_out(layers, features, listing)
    if lists is not None:  # everybody is asked for a whole list
        target = max(sum(p.kind != PRACTICE for p in own) for own in lists.lists.values())
        lists.write(place / DESIGN)
    write_items(listed, place / "items.csv")
    _write_map(place, area_map, features)
    for source in images:
        (place / "images").mkdir(exist_ok=True)
        shutil.copy2(source, place / "images" / source.name)
    words = {
        "title": title or question, "question": question, "higher": higher, "lower": lower,
        "noun": noun or ("area" if area_map is not None else "item"),
    }  # fmt: skip
    text = _settings_text(words, target, limits) + "".join(one.to_toml() for one in anchored)
    (place / "study.toml").write_text(text, encoding="utf-8")
    return Study.open(place)


def _refuse_contradictions(
    areas: object, items: object, layers: object, *, of_map: str | None
) -> None:
    """Refuse what cannot go together: `of_map` is what speaks of columns of a map."""
    if (areas is None) == (items is None):
        raise InputError("say what is compared: a map (areas=FILE) or a list (items=FILE)")
    if areas is None and of_map:
        raise InputError("id=, name= and group= speak of a map; give it with areas=")
    if areas is None and layers is not None:
        raise InputError("layers= are drawn on a map; give it with areas=")


def _warn_left_out(layers: object, features: MapFeatures | None, listing: ItemList) -> None:
    """Say which features of the map, and which files, are not in the study."""
    if features is not None and features.left_out:
        message = f"{layers}: {features.left_out:,} of its water and roads are left out, the least"
        warnings.warn(f"{message} important ones: pages stay light", InputWarning, stacklevel=3)
    if listing.unused:
        warnings.warn(listing.unused, InputWarning, stacklevel=3)


def _write_map(place: Path, area_map: Areas | None, features: MapFeatures | None) -> None:
    if area_map is not None:
        area_map.to_gpkg(place / "areas.gpkg")
        if features is not None:
            features.to_gpkg(place / LAYERS, area_map.geometry.crs)


def _settings_text(words: Mapping[str, str], target: int, limits: FileLimits) -> str:
    """The text of `study.toml`: our template, filled."""
    quoted = {key: json.dumps(value, ensure_ascii=False) for key, value in words.items()}
    template = resources.files("tiewise.study").joinpath("study.toml.template")
    text = template.read_text(encoding="utf-8")
    return Template(text).substitute(quoted, target=target, **asdict(limits))


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


def with_ids(items: list[Item]) -> list[Item]:
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
        for fault in image_faults(item, there, beside):
            raise InputError(fault)
        images.append(there)
    twice = [
        name for name, times in Counter(path.name for path in set(images)).items() if times > 1
    ]
    if twice:
        raise InputError(f"two images are called {twice[0]!r}; rename one, in the list too")
    return images


def image_faults(item: Item, path: Path, home: Path) -> Iterator[str]:
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
