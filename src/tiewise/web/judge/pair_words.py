"""What the page of a pair says of its items: what tells namesakes apart, and the last answer."""

from __future__ import annotations

from collections.abc import Mapping

from tiewise.data.answers import ANSWERS, FIRST
from tiewise.study.study import Item
from tiewise.study.values import PastAnswer
from tiewise.text import one_line

LONG_NAME, LONGEST_NAME = 18, 48
"""Letters from which a name is set smaller on its button, and from which its letter must do."""
LONGEST_LAST = 60


def what_tells_apart(item: Item, other: Item) -> str:
    """The group of an item, or its id, where the other has the same name; else nothing."""
    if item.name.casefold() != other.name.casefold():
        return ""
    return item.group if item.group and item.group != other.group else item.id


def name_length(item: Item, apart: str) -> str:
    """The class of a name on its button: `usual`, `long`, or `too-long` to be read there."""
    letters = len(item.name) + len(apart)
    if letters <= LONG_NAME:
        return "usual"
    return "long" if letters <= LONGEST_NAME else "too-long"


def last_answer(
    past: PastAnswer, items: Mapping[str, Item], wordings: Mapping[int, str], language: str
) -> str:
    """The item that was chosen last, or the wording of "about equal" and "I don't know"."""
    answer = ANSWERS[past.answer]
    if answer.chosen is None:
        return wordings.get(past.answer, "")
    item = items.get(past.left if past.answer == FIRST else past.right)
    if item is None:
        return ""
    return f"\u2068{one_line(item.in_language(language).name, LONGEST_LAST)}\u2069"
