"""Where the files of items are: a folder of them, or a table that names them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tiewise.data.files import read_sheet
from tiewise.errors import InputError
from tiewise.study.media.checks import alike_but_for_case, name_fault
from tiewise.study.media.faults import FaultyFiles
from tiewise.study.study import COLUMNS, ID_COLUMNS, MIN_ITEMS, Item, read_items
from tiewise.study.words.item_columns import is_translation
from tiewise.text import sentence_list

TABLES = ("items.csv", "items.tsv", "items.xlsx", "items.parquet")
"""What the table of a folder is called."""
LITTER = ("thumbs.db", "desktop.ini")
"""Files that file managers leave; so are those that begin with a dot or a tilde."""
LARGEST_TRANSCRIPT = 1 << 20
DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class ItemList:
    """Items, the folder that their files lie in, and what of the source is not used."""

    items: list[Item]
    root: Path
    columns: tuple[str, ...] = ()
    """Columns of the table that nothing here reads."""
    files: tuple[str, ...] = ()
    """Files of the folder that its table does not name."""

    @property
    def unused(self) -> str:
        """What is not used, in a sentence; empty where all is."""
        parts = []
        if self.columns:
            parts.append(f"columns that are not used: {sentence_list(self.columns, 20)}")
        if self.files:
            parts.append(f"files that the table does not name: {sentence_list(self.files, 20)}")
        return "; ".join(parts)


def list_items(source: Path) -> ItemList:
    """The items of a table, or of a folder of files with or without one."""
    if not source.is_dir():
        return _from_table(source)
    tables = [source / name for name in TABLES if (source / name).is_file()]
    if len(tables) > 1:
        raise InputError(f"{source} has {tables[0].name} and {tables[1].name}; leave one")
    if not tables:
        return _from_folder(source)
    listed = _from_table(tables[0])
    if not any(item.file or item.image for item in listed.items):
        raise InputError(
            f"{tables[0]} does not say which file is whose; add a column file with their names"
        )
    raw = read_items(tables[0]).values()  # transcripts as the names of their files
    cells = {
        cell for item in raw for cell in (item.file, item.image, *_transcripts(item).values())
        if cell
    }  # fmt: skip
    first = {part for cell in cells for part in Path(cell).parts[:1]}
    named = {"images", tables[0].name} | first
    others = tuple(_printable(path) for path in visible(source) if path.name not in named)
    return replace(listed, files=others)


def _from_table(path: Path) -> ItemList:
    items = [_with_transcripts(item, path) for item in read_items(path).values()]
    known = {*COLUMNS, *ID_COLUMNS}
    headings = {name: name.strip().lower() for name in read_sheet(path).table.columns}
    columns = tuple(
        name for name, tidy in headings.items() if tidy not in known and not is_translation(tidy)
    )
    return ItemList(items, path.parent, columns)


def _transcripts(item: Item) -> dict[str, str]:
    """The cells of an item's transcript, in every language, by their columns."""
    others = item.translations.items()
    return {"transcript": item.transcript} | {
        column: cell for column, cell in others if column.startswith("transcript_")
    }


def _with_transcripts(item: Item, table: Path) -> Item:
    """The item with its transcripts, where cells name texts beside the table."""
    texts = {column: _text_of(cell, item, table) for column, cell in _transcripts(item).items()}
    own = texts.pop("transcript")
    return replace(item, transcript=own, translations={**item.translations, **texts})


def _text_of(name: str, item: Item, table: Path) -> str:
    """What a cell says, or the text beside the table that it names."""
    if "\n" in name or not name.lower().endswith((".txt", ".md")):
        return name
    path = table.parent / name
    if not path.is_file() or not path.resolve().is_relative_to(table.parent.resolve()):
        raise InputError(
            f"the transcript {name!r} of {item.name!r} is not beside the table; put it there, or "
            "write the transcript itself into the cell"
        )
    try:
        if path.stat().st_size > LARGEST_TRANSCRIPT:
            raise InputError(f"the transcript {name!r} is larger than 1 MB; shorten it")
        return path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"the transcript {name!r} is not UTF-8; save it as UTF-8") from None


def _from_folder(folder: Path) -> ItemList:
    paths = visible(folder)
    if faults := [fault for path in paths if (fault := name_fault(path.name))]:
        raise FaultyFiles(faults)
    faults = alike_but_for_case([path.name for path in paths])
    first: dict[str, str] = {}
    for path in paths:
        name = item_name(path)
        if name in first:
            faults.append(
                f"{path.name} and {first[name]} would both be the item {name!r}; rename one, or "
                f"say in {TABLES[0]} which is what"
            )
        first.setdefault(name, path.name)
    if faults:
        raise FaultyFiles(faults)
    if len(paths) < MIN_ITEMS:
        raise InputError(f"{folder} has {len(paths)} files; a comparison needs two")
    return ItemList(
        [Item(item_name(path), item_name(path), file=path.name) for path in paths], folder
    )


def _printable(path: Path) -> str:
    return ascii(path.name) if name_fault(path.name) else path.name


def item_name(path: Path) -> str:
    """The name of an item, from that of its file or folder."""
    return path.name if path.is_dir() else path.stem


def visible(folder: Path) -> list[Path]:
    """The files of a folder without hidden ones, page 2 before page 10."""
    try:
        paths = [
            path for path in folder.iterdir()
            if path.name[0] not in ".~" and path.name.lower() not in LITTER
        ]  # fmt: skip
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}); ask its owner") from None
    return sorted(paths, key=counting_order)


def counting_order(path: Path) -> list[tuple[int, str]]:
    """A key by which page 2 comes before page 10."""
    parts = DIGITS.split(path.name.casefold())
    return [
        (int(part[:18]), "") if part.isdigit() and part.isascii() else (-1, part) for part in parts
    ]


def files_of(item: Item, root: Path) -> tuple[list[Path], bool]:
    """The files of an item, and whether they are the pages of a folder."""
    place = root / item.file
    if not place.is_dir():
        return [place], False
    return visible(place), True
