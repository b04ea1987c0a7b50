"""The table of a study's items changed row by row: items added, hidden, retired, shown again."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from pathlib import Path

from tiewise.data.spreadsheet_cells import defuse, restore
from tiewise.errors import InputError
from tiewise.hosting.drafts import Draft, Quotas, UploadFault, write_whole
from tiewise.hosting.locks import file_lock
from tiewise.hosting.settings_file import ChangedMeanwhile, read_text, version_of
from tiewise.study.create import with_ids
from tiewise.study.judge_store import JudgeStore
from tiewise.study.media.library import FOLDER, MediaItem
from tiewise.study.media.sources import item_name
from tiewise.study.media.study_files import add_copies
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import ID_COLUMNS, MIN_ITEMS, NOT_SHOWN, Item, Study
from tiewise.study.values import Phase

FILE = "items.csv"
LONGEST = {"item": 64, "name": 200, "group": 100, "description": 5000}
MEANWHILE = (
    "somebody else has changed the items since you opened them; nothing of yours was kept. They "
    "are shown below as they are now"
)


def items_version(study: Path) -> str:
    """A digest of the table, by which it is known whether somebody has changed it."""
    return version_of(read_text(study, FILE))


def set_shown(study: Path, item: str, shown: str, *, version: str) -> None:
    """Hide or retire an item, or have judges asked about it again; its answers stay."""
    if shown not in ("", *NOT_SHOWN):
        raise InputError(f"{shown!r} is neither {' nor '.join(NOT_SHOWN)}")
    with file_lock(study):
        table = _Table.read(study, version)
        row = table.row(item)
        table.add_column("shown")
        row["shown"] = shown
        table.write(study)


def add_item(study: Path, values: Mapping[str, str], *, version: str) -> str:
    """Add an item at the end of the table; its id."""
    with file_lock(study):
        known = _open_for_items(study)
        tidy = _tidied(values)
        table = _Table.read(study, version)
        if has_files(known):
            raise InputError("the items of this study have files; choose that of the new one, too")
        if not tidy["name"]:
            raise InputError("the item needs a name")
        item = _new_item(known, tidy, tidy["item"] or _free_id(known.items))
        table.append(item)
        table.write(study)
    return item.id


def add_item_with_file(
    study: Path, values: Mapping[str, str], draft: Draft, *, version: str, quotas: Quotas
) -> tuple[str, MediaItem]:
    """Add an item whose file is the one of a draft; its id, and the copies of the file.

    Whole or not at all: copies come first, then their index, and the row of the table last.
    """
    with file_lock(study, long=True):
        known = _open_for_items(study)
        tidy = _tidied(values)
        table = _Table.read(study, version)
        if not has_files(known):
            raise InputError("the items of this study have no files; add this one without")
        files = draft.files()
        if len(files) != 1:
            raise UploadFault("choose the file of the item" if not files else "choose one file")
        draft.check_beside(study / FOLDER, quotas)
        file = files[0].name
        tidy["name"] = tidy["name"] or _name_of_file(known, file)
        id_ = tidy["item"] or _id_like_others(known, tidy["name"])
        item = _new_item(known, tidy, id_, file)
        table.append(item)
        copies = add_copies(item, draft.files_folder, draft.folder, known)
        table.write(study)
    return item.id, copies


def has_files(study: Study) -> bool:
    """Whether the items of a study have files, so that another one needs one, too."""
    return any(item.file for item in study.items.values())


def _open_for_items(study: Path) -> Study:
    """A study to which items can be added."""
    if (study / "areas.gpkg").exists():
        raise InputError("the items of this study are the areas of its map; make a new study")
    return Study.open(study)


def _tidied(values: Mapping[str, str]) -> dict[str, str]:
    return {key: values.get(key, "").strip()[:most] for key, most in LONGEST.items()}


def _new_item(known: Study, tidy: Mapping[str, str], id_: str, file: str = "") -> Item:
    """The item that is added; refused where it would not go with the others."""
    if known.groups and tidy["group"] not in known.groups:
        raise InputError(f"choose a group: {', '.join(known.groups)}")
    if id_ in known.items:
        raise InputError(f"there is an item {id_!r} already; give this one another id")
    item = Item(id_, tidy["name"], tidy["group"], tidy["description"], file=file)
    return with_ids([*known.items.values(), item])[-1]


def _name_of_file(known: Study, file: str) -> str:
    """The name of an item that was given none, as when a study is made of files."""
    name = item_name(Path(file))
    if any(item.name == name for item in known.items.values()):
        raise InputError(f"there is an item called {name!r} already; give this one a name")
    return name


def _id_like_others(known: Study, name: str) -> str:
    """The name, where it is the id of every item, as in a study of files; else a number."""
    usual = all(item.id == item.name for item in known.items.values())
    return name if usual and len(name) <= LONGEST["item"] else _free_id(known.items)


def remove_item(study: Path, store: JudgeStore, item: str, *, version: str) -> None:
    """Take out an item that nobody was asked about yet; one with answers is never deleted."""
    with file_lock(study):
        table = _Table.read(study, version)
        row = table.row(item)
        if ResearcherStore(store).phase() == Phase.OPEN:
            raise InputError("judges may be answering now; pause the study first, or hide the item")
        if item in store.answered_items():
            raise InputError("there are answers about this item; retire it, and they stay")
        _refuse_needed(Study.open(study), item)
        table.rows.remove(row)
        table.write(study)


def _refuse_needed(study: Study, item: str) -> None:
    """Refuse to take out an item that other files of the study speak of."""
    anchors = {anchor.item for anchor in study.settings.anchors}
    practice = {one for pair in study.settings.practice for one in (pair.left, pair.right)}
    lists = study.design.lists.values() if study.design else ()
    listed = {one for pairs in lists for pair in pairs for one in pair.items}
    for items, what in ((anchors, "an anchor"), (practice, "in a pair for practice")):
        if item in items:
            raise InputError(f"this item is {what}; change the settings first, or hide the item")
    if item in listed:
        raise InputError("this item is in the lists of the design; hide it, and its pairs wait")


class _Table:
    """The rows of the file as they stand there, with columns that we do not know."""

    def __init__(self, columns: list[str], rows: list[dict[str, str]]) -> None:
        self.columns, self.rows = columns, rows
        named = {name.strip().lower(): name for name in columns}
        self._by = named
        self._key = next((named[name] for name in ID_COLUMNS if name in named), "")

    @classmethod
    def read(cls, study: Path, version: str) -> _Table:
        text = read_text(study, FILE)
        if version_of(text) != version:
            raise ChangedMeanwhile(MEANWHILE)
        reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
        return cls(list(reader.fieldnames or ()), [dict(row) for row in reader])

    def row(self, item: str) -> dict[str, str]:
        """The row of an item."""
        for number, row in enumerate(self.rows, 1):
            if (restore(row[self._key].strip()) if self._key else str(number)) == item:
                return row
        raise InputError(f"there is no item {item!r} in this study")

    def add_column(self, name: str) -> None:
        """A column that the table may not have yet."""
        if name not in self._by:
            self.columns.append(name)
            self._by[name] = name
            for row in self.rows:
                row[name] = ""

    def append(self, item: Item) -> None:
        """A row at the end."""
        if not self._key:  # items are counted, and the new one is the next
            raise InputError("the table has no column item; add one, and then items")
        row = dict.fromkeys(self.columns, "")
        for name in ("name", "group", "description", "file"):
            if value := getattr(item, name):
                self.add_column(name)
                row[self._by[name]] = defuse(value)
        row[self._key] = defuse(item.id)
        self.rows.append(row)

    def write(self, study: Path) -> None:
        """Write the file, unless the study could not go on with it."""
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, self.columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(self.rows)
        shown = [row for row in self.rows if not row.get(self._by.get("shown", ""))]
        if len(shown) < MIN_ITEMS:
            raise InputError("a comparison needs two items; show another one first")
        write_whole(study / FILE, out.getvalue())


def _free_id(taken: Collection[str]) -> str:
    return next(id_ for number in range(len(taken) + 1, 10**9) if (id_ := str(number)) not in taken)
