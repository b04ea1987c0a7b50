"""Columns of items.csv that hold a text in another language: `name_fr`, `group_fr`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

TRANSLATED = ("name", "group", "description", "alt", "transcript")
COLUMN = re.compile(rf"({'|'.join(TRANSLATED)})_([a-z]{{2,3}})")


class TranslatedItem(Protocol):
    """What is read here of an item."""

    @property
    def name(self) -> str:
        """Its name in the first language."""

    @property
    def group(self) -> str:
        """Its group in the first language."""

    @property
    def translations(self) -> Mapping[str, str]:
        """Its texts in other languages by column."""


def is_translation(heading: str) -> bool:
    """Whether a column holds a text in another language."""
    return COLUMN.fullmatch(heading) is not None


def translation_columns(items: Iterable[TranslatedItem]) -> list[str]:
    """The columns that some of these items have a translation in, in the order of the first."""
    return list(dict.fromkeys(column for item in items for column in item.translations))


def only_names(item: TranslatedItem) -> dict[str, str]:
    """The names of an item and its group in other languages."""
    texts = item.translations.items()
    return {column: text for column, text in texts if column.startswith(("name_", "group_"))}


def translation_notes(
    items: Mapping[str, TranslatedItem], offered: Collection[str]
) -> Iterator[str]:
    """What a researcher should know of translations of items, a line each."""
    for column in translation_columns(items.values()):
        language = column.rpartition("_")[2]
        missing = [item for item in items.values() if not item.translations.get(column)]
        if language not in offered:
            yield f"items.csv: {column} is not used: study.languages does not name {language!r}"
        elif missing:
            yield (
                f"items.csv: {len(missing)} of {len(items)} items have no {column}, such as "
                f"{missing[0].name!r}; judges see what stands there in the first language"
            )


def translation_faults(items: Mapping[str, TranslatedItem]) -> Iterator[str]:
    """Groups that are called differently from item to item, or alike in one language."""
    for column in translation_columns(items.values()):
        if not column.startswith("group_"):
            continue
        names: dict[str, set[str]] = defaultdict(set)
        for item in items.values():
            names[item.group].add(item.translations.get(column) or item.group)
        for group, called in names.items():
            if len(called) > 1:
                first, second = sorted(called)[:2]
                yield (
                    f"items.csv: the group {group!r} has two names in {column}, {first!r} and "
                    f"{second!r}; give all its items the same"
                )
        one_name = [min(called) for called in names.values() if len(called) == 1]
        for name in sorted({name for name in one_name if one_name.count(name) > 1}):
            yield f"items.csv: two groups are called {name!r} in {column}; rename one"
