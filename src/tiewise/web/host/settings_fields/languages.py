"""Fields of a study's own texts in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from tiewise.study.settings import TRANSLATED, Settings
from tiewise.study.toml.practice import PRACTICE
from tiewise.study.toml.questions import QUESTION
from tiewise.study.toml.reasons import REASON
from tiewise.study.words.translations import CHOICES, CONTACTS, FIELD
from tiewise.text import one_line
from tiewise.web.host.settings_fields.fields import SettingField, SettingTable, text_of
from tiewise.web.host.settings_fields.words import LONG

LONGEST_HINT = 120


def language_tables(settings: Settings) -> list[SettingTable]:
    """A table for each language but the first: whatever the study says in words of its own."""
    codes = dict.fromkeys((*settings.study.languages[1:], *settings.translations))
    return [
        SettingTable(f"translations.{code}", f"Your texts in another language: {code}",
                     tuple(_fields(settings, code)))
        for code in codes
    ]  # fmt: skip


def _fields(settings: Settings, code: str) -> Iterator[SettingField]:
    texts, known = dict(_texts(settings)), settings.translations.get(code, {})
    for key in dict.fromkeys((*texts, *known)):
        original = texts.get(key, "")
        listed = key == CONTACTS or key.startswith(CHOICES)
        long = key.replace("_", ".", 1) in LONG or key.startswith(PRACTICE)
        kind = "lines" if listed else "long" if long else "text"
        hint = one_line(original.strip().replace("\n", "; " if listed else " "), LONGEST_HINT)
        yield SettingField(
            f"translations.{code}.{key}", hint or key, key if hint else "", kind,
            text_of(kind, known.get(key)),
        )  # fmt: skip


def _texts(settings: Settings) -> Iterator[tuple[str, str]]:
    """What may be worded in another language, by its key there: all that is not empty."""
    for key, text in _all_texts(settings):
        if text.strip():
            yield key, text


def _all_texts(settings: Settings) -> Iterator[tuple[str, str]]:
    for key in TRANSLATED:
        table, _, name = key.partition("_")
        yield key, str(getattr(getattr(settings, table), name))
    yield CONTACTS, "\n".join(settings.support.contacts)
    for field in settings.judges.fields:
        yield f"{FIELD}{field.name}", field.label
        yield f"{CHOICES}{field.name}", "\n".join(field.choices)
    for question in settings.questions:
        yield f"{QUESTION}{question.id}", question.question
        if question.answers is not None:
            for name, text in asdict(question.answers).items():
                if isinstance(text, str):
                    yield f"{QUESTION}{question.id}_{name}", text
    for number, choice in enumerate(settings.reasons.choices, 1):
        yield f"{REASON}{number}", choice
    for number, pair in enumerate(settings.practice, 1):
        yield f"{PRACTICE}{number}", pair.why
