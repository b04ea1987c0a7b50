"""A study on disk, and what it decides: whose turn, which pair, when it is enough."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.random import Generator

from tiewise.data.answers import AnswerScale
from tiewise.data.files import read_sheet, write_rows
from tiewise.data.text_columns import as_text
from tiewise.designs.pair_lists import PairLists
from tiewise.errors import InputError
from tiewise.pairing.policies import OrderedPair, PairingState, next_pair
from tiewise.study.access.private_files import make_study_private
from tiewise.study.backups.backup import backup_before_migration
from tiewise.study.designs.lists import next_listed_offer
from tiewise.study.judge_store import JudgeStore
from tiewise.study.settings import PRIORS, Settings, read_settings
from tiewise.study.toml.anchors import FEWEST, AnchorSettings, unknown_anchors
from tiewise.study.toml.practice import unknown_practice
from tiewise.study.values import History, Judge, Kind, Offer
from tiewise.study.words.item_columns import is_translation, translation_columns

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas
    from tiewise.geo.map_features import MapFeatures

COLUMNS = ("item", "name", "group", "description", "image", "file", "alt", "transcript", "shown")
ALWAYS_WRITTEN = 5
"""Columns of every table of items; the others are written where some item has them."""
LAYERS = "layers.gpkg"
"""The file of what helps to recognise the map."""
DESIGN = "design.csv"
"""The file of pairs that were chosen beforehand."""
ID_COLUMNS = ("item", "id", "item_id")
MIN_ITEMS = 2
NOT_SHOWN = ("hidden", "retired")
"""What the column `shown` says of items that judges are not asked about; else it is empty."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is compared; empty where nothing is known."""

    id: str
    name: str
    group: str = ""
    description: str = ""
    image: str = ""
    """A picture that is shown as it came."""
    file: str = ""
    """The file or folder that its copies in `media` were made of."""
    alt: str = ""
    """What a picture shows, for those who do not see it."""
    transcript: str = ""
    """What is said in a recording."""
    shown: str = ""
    """`hidden` or `retired` where judges are not asked about it (any more); its answers count."""
    translations: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Texts in other languages by column, such as `name_fr`."""

    def in_language(self, language: str) -> Item:
        """The item with its texts in a language, where it has them."""
        texts: dict[str, Any] = {
            column.rpartition("_")[0]: text
            for column, text in self.translations.items()
            if text and column.rpartition("_")[2] == language
        }
        return replace(self, **texts) if texts else self


class FitInputs(NamedTuple):
    """The inputs of a fit from the folder of a study, apart from its judgements."""

    areas: Path | None
    id: str | None
    """The column of ids, where there is a map."""
    ties: bool
    levels: int = 1
    """Ways to choose an item, more than one where answers are graded."""
    anchors: tuple[AnchorSettings, ...] = ()

    def anchor_table(self, items: Collection[str]) -> dict[str, list[Any]] | None:
        """The anchors among these items as columns; None where there are too few to count."""
        rows = [anchor for anchor in self.anchors if anchor.item in items]
        if len(rows) < FEWEST:
            return None
        return {name: [getattr(row, name) for row in rows] for name in ("item", "value", "sd")}


@dataclass(frozen=True)
class Study:
    """The folder of a study, read."""

    folder: Path
    settings: Settings
    items: dict[str, Item]
    question_id: str = ""
    """The question that it is read for, where there are several; see `asking`."""

    @classmethod
    def open(cls, folder: str | Path) -> Study:
        """The study in a folder; refused with the way out where it is none."""
        place = Path(folder)
        settings = read_settings(place / "study.toml")
        items = read_items(place / "items.csv")
        faults = [
            *unknown_anchors(settings.anchors, items), *unknown_practice(settings.practice, items),
        ]  # fmt: skip
        for fault in faults:
            raise InputError(f"{place / 'study.toml'}: {fault}")
        return cls(place, settings, items)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups of the items, in their order; () where there are fewer than two."""
        groups = dict.fromkeys(item.group for item in self.items.values() if item.group)
        return tuple(groups) if len(groups) > 1 else ()

    @cached_property
    def asked_items(self) -> tuple[str, ...]:
        """The items that judges are asked about."""
        return tuple(item.id for item in self.items.values() if not item.shown)

    def group_names(self, language: str) -> dict[str, str]:
        """What each group is called in a language."""
        names = {item.group: item.in_language(language).group for item in self.items.values()}
        return {group: names[group] for group in self.groups}

    @cached_property
    def areas(self) -> Areas | None:
        """The map, where the study has one."""
        from tiewise.geo.areas import Areas

        inputs = self.fit_inputs()
        return Areas.read(inputs.areas, id=inputs.id) if inputs.areas else None

    @cached_property
    def design(self) -> PairLists | None:
        """The pairs of each judge, where they were chosen beforehand."""
        path = self.folder / DESIGN
        return PairLists.read(path) if path.exists() else None

    @cached_property
    def map_features(self) -> MapFeatures | None:
        """Water, roads, landmarks and places on the map, as far as its settings name them."""
        from tiewise.geo.map_features import MapFeatures

        path = self.folder / LAYERS
        if self.areas is None or not path.exists():
            return None
        return MapFeatures.read(path, self.areas).only(self.settings.map.layers)

    def fit_inputs(self) -> FitInputs:
        """How the study is fitted: with its map, and with ties if judges could call them."""
        path = self.folder / "areas.gpkg"
        areas = path if path.exists() else None
        ties, levels = self.settings.answers.ties, self.scale.levels
        return FitInputs(areas, "id" if areas else None, ties, levels, self.settings.anchors)

    def priors(self, store: JudgeStore) -> str:
        """The name of the priors it is fitted with: as written, else as recorded, else default."""
        return self.settings.model.priors or store.recorded_priors() or PRIORS[0]

    def store(self, url: str | None = None, *, backup: bool = True) -> JudgeStore:
        """The study's database: a file in its folder, or the one at an address.

        `{study}` in the address stands for the name of the folder. One of an earlier version is
        backed up and brought up to date; without `backup`, only the latter.
        """
        place = self.folder.resolve()
        make_study_private(place)
        before = partial(backup_before_migration, place) if backup else None
        return JudgeStore(self.database_url(url), before_migration=before)

    def database_url(self, url: str | None = None) -> str:
        """The address of the study's database: that of the file in its folder, or as it is said."""
        place = self.folder.resolve()
        return url.replace("{study}", place.name) if url else f"sqlite:///{place}/study.db"

    def known_items(self, groups: Iterable[str]) -> tuple[str, ...]:
        """The items that a judge of these groups is asked about; all, where there are no groups."""
        if not self.groups:
            return self.asked_items
        known = self.items_of(groups)
        return tuple(id_ for id_ in self.asked_items if id_ in known)

    def items_of(self, groups: Iterable[str]) -> frozenset[str]:
        """The items of these groups, hidden ones too; all, where there are no groups."""
        if not self.groups:
            return frozenset(self.items)
        known = set(groups)
        return frozenset(item.id for item in self.items.values() if item.group in known)

    @property
    def scale(self) -> AnswerScale:
        """The answers that a judge may give."""
        return self.settings.answers.scale

    def asking(self, question: str | None) -> Study:
        """The study as if one of its questions were the only one, by the id of the question.

        Nothing is needed where there is one question; refused where there are several, and none or
        another is named.
        """
        ids = self.settings.question_ids
        if not self.settings.questions:
            if question:
                raise InputError(
                    f"question_id={question!r}: this study asks one question; leave it out"
                )
            return self
        if question not in ids:
            unknown = f"question_id={question!r}: " if question else ""
            raise InputError(
                f"{unknown}this study asks several questions; name one of {', '.join(ids)} "
                "(question_id=)"
            )
        return replace(self, settings=self.settings.asking(question), question_id=question)

    def changed_meaning(self, store: JudgeStore) -> list[str]:
        """What was changed that answers already given depend on, each with the way out."""
        design = {DESIGN: self.design.digest} if self.design is not None else {}
        changed = store.agreed_meaning(self.settings.meaning() | design)
        return [
            f"{key}: answers were given to {was!r}, and it now says {now!r}; "
            "put it back, or begin another study (`tiewise new`)"
            for key, (was, now) in changed.items()
        ]


def results_folder(question: str) -> str:
    """The name of the folder for the results of a question; that of the only one is empty."""
    return f"results-{question}" if question else "results"


def next_offer(
    study: Study,
    store: JudgeStore,
    judge: Judge,
    rng: Generator,
    history: History | None = None,
    state: PairingState | None = None,
) -> Offer | None:
    """The open offer of a judge, or a new one; None where no pair is left that they know.

    `state` is the state of the whole study, for policies that need it.
    """
    offer = store.open_offer(judge)
    if offer is not None and {offer.left, offer.right} <= set(study.asked_items):
        return offer
    if offer is not None:  # of an item that is hidden, or was taken out of the study
        store.set_aside(judge)
    groups = store.groups_of(judge)
    rules = study.settings.pairing
    history = store.history(judge) if history is None else history
    if study.design is not None:
        return next_listed_offer(
            store, study.design, judge, history, asked=set(study.asked_items),
            known=study.items_of(groups),
        )  # fmt: skip
    known = study.known_items(groups)
    practised = history.progress.practice
    if practised < study.settings.practice_pairs:
        chosen, kind = study.settings.practice[practised:], Kind.PRACTICE
        pick = (
            OrderedPair(chosen[0].left, chosen[0].right, False)
            if chosen else next_pair(known, (), rng)
        )  # fmt: skip
    else:
        # What they no longer know, or is no longer in the study, is not asked again.
        answered = [
            pick for pick in (history.compared if rules.repeats else ())
            if {pick.left, pick.right} <= set(known)
        ]  # fmt: skip
        pick = next_pair(
            known, history.seen, rng, repeats=rules.repeats, answered=answered,
            policy=rules.policy, state=state, hard_pairs=history.hard_pairs,
            random_share=rules.random_share, anchor_limit=rules.anchor_limit,
            anchors=[anchor.item for anchor in study.settings.anchors],
        )  # fmt: skip
        kind = Kind.REPEAT if pick is not None and pick.repeat else Kind.NEW
    return None if pick is None else store.offer(judge, pick, kind)


def read_items(path: Path) -> dict[str, Item]:
    """The items of a study by id, from a table with `name` and perhaps `item` and more columns."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it, which lists what is compared")
    if not path.is_file():
        raise InputError(
            f"{path} is not there; it lists what is compared (make it anew, or restore it)"
        )
    sheet = read_sheet(path)
    headings = {heading.strip().lower(): heading for heading in sheet.table.columns}
    key = next((headings[name] for name in ID_COLUMNS if name in headings), None)
    if "name" not in headings and key is None:
        raise InputError(f"{path} has neither a column item nor a column name; add one")
    cells = {
        name: [as_text(value) for value in sheet.table[headings[name]].to_list()]
        for name in (*COLUMNS[1:], *filter(is_translation, headings))
        if name in headings
    }
    rows = len(sheet.table)
    ids = (
        [as_text(value) for value in sheet.table[key].to_list()]
        if key is not None
        else [str(k + 1) for k in range(rows)]
    )
    items: dict[str, Item] = {}
    for k, id_ in enumerate(ids):
        if not id_ or id_ in items:
            what = f"item {id_!r} is there twice" if id_ else "an item has no id"
            raise InputError(f"{path}, {sheet.place(k)}: {what}; every item needs one of its own")
        rest = {name: column[k] for name, column in cells.items() if name in COLUMNS}
        translations = {name: cells[name][k] for name in cells.keys() - rest if cells[name][k]}
        named = {**rest, "name": rest.get("name") or id_}
        if named.get("shown", "") not in ("", *NOT_SHOWN):
            raise InputError(
                f"{path}, {sheet.place(k)}: {named['shown']!r} stands in the column shown; write "
                f"{' or '.join(NOT_SHOWN)}, or nothing for an item that judges are asked about"
            )
        items[id_] = Item(id_, **named, translations=dict(sorted(translations.items())))
    if len(items) < MIN_ITEMS:
        raise InputError(f"{path} lists {len(items)} items; a comparison needs two")
    return items


def write_items(items: Iterable[Item], path: Path, *, raw: bool = False) -> None:
    """The table that `read_items` reads; `raw` for programs, not for spreadsheets."""
    listed = list(items)
    more = translation_columns(listed)
    rows = [
        (item.id, *(getattr(item, name) for name in COLUMNS[1:]),
         *(item.translations.get(column, "") for column in more))
        for item in listed
    ]  # fmt: skip
    columns = (*COLUMNS, *more)
    kept = [k for k in range(len(columns)) if k < ALWAYS_WRITTEN or any(row[k] for row in rows)]
    write_rows(path, [columns[k] for k in kept], ([row[k] for k in kept] for row in rows), raw=raw)
