"""A study on disk, and what it decides: whose turn, which pair, when it is enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from numpy.random import Generator

from tiewise.data.answers import AnswerScale
from tiewise.data.files import read_sheet, write_rows
from tiewise.data.text_columns import as_text
from tiewise.errors import InputError
from tiewise.pairing.policies import PairingState, next_pair
from tiewise.study.access.private_files import make_study_private
from tiewise.study.backups.backup import backup_before_migration
from tiewise.study.judge_store import JudgeStore
from tiewise.study.settings import PRIORS, Settings, read_settings
from tiewise.study.values import History, Judge, Kind, Offer

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

COLUMNS = ("item", "name", "group", "description", "image")
MIN_ITEMS = 2


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is compared; empty where nothing is known."""

    id: str
    name: str
    group: str = ""
    description: str = ""
    image: str = ""


class FitInputs(NamedTuple):
    """The inputs of a fit from the folder of a study, apart from its judgements."""

    areas: Path | None
    id: str | None
    """The column of ids, where there is a map."""
    ties: bool


@dataclass(frozen=True)
class Study:
    """The folder of a study, read."""

    folder: Path
    settings: Settings
    items: dict[str, Item]

    @classmethod
    def open(cls, folder: str | Path) -> Study:
        """The study in a folder; refused with the way out where it is none."""
        place = Path(folder)
        settings = read_settings(place / "study.toml")
        return cls(place, settings, read_items(place / "items.csv"))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups of the items, in their order; () where there are fewer than two."""
        groups = dict.fromkeys(item.group for item in self.items.values() if item.group)
        return tuple(groups) if len(groups) > 1 else ()

    @cached_property
    def areas(self) -> Areas | None:
        """The map, where the study has one."""
        from tiewise.geo.areas import Areas

        inputs = self.fit_inputs()
        return Areas.read(inputs.areas, id=inputs.id) if inputs.areas else None

    def fit_inputs(self) -> FitInputs:
        """How the study is fitted: with its map, and with ties if judges could call them."""
        path = self.folder / "areas.gpkg"
        areas = path if path.exists() else None
        return FitInputs(areas, "id" if areas else None, self.settings.answers.ties)

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
            return tuple(self.items)
        known = set(groups)
        return tuple(item.id for item in self.items.values() if item.group in known)

    @property
    def scale(self) -> AnswerScale:
        """The answers that a judge may give."""
        allowed = self.settings.answers
        return AnswerScale.of(ties=allowed.ties, skips=allowed.skips)

    def changed_meaning(self, store: JudgeStore) -> list[str]:
        """What was changed that answers already given depend on, each with the way out."""
        changed = store.agreed_meaning(self.settings.meaning())
        return [
            f"{key}: answers were given to {was!r}, and it now says {now!r}; "
            "put it back, or begin another study (`tiewise new`)"
            for key, (was, now) in changed.items()
        ]


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
    if offer is not None and {offer.left, offer.right} <= study.items.keys():
        return offer
    if offer is not None:  # of an item that was taken out of the study
        store.set_aside(judge)
    known = study.known_items(store.groups_of(judge))
    rules = study.settings.pairing
    history = store.history(judge) if history is None else history
    if history.progress.practice < rules.practice:
        pick, kind = next_pair(known, (), rng), Kind.PRACTICE
    else:
        # What they no longer know, or is no longer in the study, is not asked again.
        answered = [
            pick for pick in (history.compared if rules.repeats else ())
            if {pick.left, pick.right} <= set(known)
        ]  # fmt: skip
        pick = next_pair(
            known, history.seen, rng, repeats=rules.repeats, answered=answered,
            policy=rules.policy, state=state, hard_pairs=history.hard_pairs,
            random_share=rules.random_share,
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
    headings = {heading.strip().lower(): heading for heading in sheet.table.column_names}
    key = next((headings[name] for name in ("item", "id", "item_id") if name in headings), None)
    if "name" not in headings and key is None:
        raise InputError(f"{path} has neither a column item nor a column name; add one")
    cells = {
        name: [as_text(value) for value in sheet.table.column(headings[name]).to_pylist()]
        for name in COLUMNS[1:]
        if name in headings
    }
    rows = sheet.table.num_rows
    ids = (
        [as_text(value) for value in sheet.table.column(key).to_pylist()]
        if key is not None
        else [str(k + 1) for k in range(rows)]
    )
    items: dict[str, Item] = {}
    for k, id_ in enumerate(ids):
        if not id_ or id_ in items:
            what = f"item {id_!r} is there twice" if id_ else "an item has no id"
            raise InputError(f"{path}, {sheet.place(k)}: {what}; every item needs one of its own")
        rest = {name: column[k] for name, column in cells.items()}
        items[id_] = Item(id_, **{**rest, "name": rest.get("name") or id_})
    if len(items) < MIN_ITEMS:
        raise InputError(f"{path} lists {len(items)} items; a comparison needs two")
    return items


def write_items(items: Iterable[Item], path: Path, *, raw: bool = False) -> None:
    """The table that `read_items` reads; `raw` for programs, not for spreadsheets."""
    write_rows(path, COLUMNS, (astuple(item) for item in items), raw=raw)
