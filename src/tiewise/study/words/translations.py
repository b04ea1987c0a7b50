"""A study's own texts in other languages: the tables `[translations.LANGUAGE]`, looked over."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tiewise.study.toml.key_types import Problem, short

FIELD, CHOICES = "field_", "choices_"
"""Before the name of a sign-up field: its label, and its choices in their order."""
CONTACTS = "support_contacts"

Translations = Mapping[str, Mapping[str, Any]]
"""Texts, or lists of them, by language and key."""


@dataclass(frozen=True)
class TranslationCheck:
    """Looks tables of translations over, before they are read."""

    languages: Collection[str]
    texts: Collection[str]
    """Keys of texts."""
    beginnings: Mapping[str, str]
    """Beginnings of keys of texts whose end a study chooses itself, and what that is."""

    def __call__(self, value: Any, at: str) -> Iterator[Problem]:
        """What is wrong with the table at a key."""
        if not isinstance(value, Mapping):
            yield Problem(at, f"tables such as [{at}.ar] were expected, not {short(value)}")
            return
        for language, words in value.items():
            if language not in self.languages:
                yield Problem(f"{at}.{language}", f"there are {', '.join(self.languages)}")
            elif not isinstance(words, Mapping):
                yield Problem(f"{at}.{language}", f"a table was expected, not {short(words)}")
            else:
                for key, word in words.items():
                    yield from self._word(key, word, f"{at}.{language}.{key}")

    def _word(self, key: str, word: Any, at: str) -> Iterator[Problem]:
        listed = key == CONTACTS or key.startswith(CHOICES)
        if not listed and key not in self.texts and not key.startswith(tuple(self.beginnings)):
            own = (start + end for start, end in self.beginnings.items())
            keys = (*self.texts, *own, CONTACTS, f"{CHOICES}NAME")
            yield Problem(at, f"no such key; there are {', '.join(keys)}")
        elif not listed and not isinstance(word, str):
            yield Problem(at, f"text was expected, not {short(word)}")
        elif listed and not (isinstance(word, list) and all(isinstance(one, str) for one in word)):
            yield Problem(at, f"a list of texts in [brackets] was expected, not {short(word)}")


def field_problems(
    translations: Translations, choices: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    """Labels and choices of sign-up fields that are not there; `choices` by name of the field."""
    for language, words in translations.items():
        for key, word in words.items():
            at = f"translations.{language}.{key}"
            name = key.removeprefix(FIELD).removeprefix(CHOICES)
            if key.startswith((FIELD, CHOICES)) and name not in choices:
                yield Problem(at, "no sign-up field has this name")
            elif key.startswith(CHOICES) and len(word) != len(choices[name]):
                number = f"{len(word)} texts for {len(choices[name])} choices"
                yield Problem(at, f"{number}; name each once, in the order of the field")
            elif key.startswith(CHOICES) and not (
                len(set(word)) == len(word) and all(one.strip() for one in word)
            ):
                yield Problem(at, "a choice is empty or there twice; word each differently")
