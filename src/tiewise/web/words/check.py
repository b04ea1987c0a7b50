"""A file of words looked over: what is missing, unknown, empty, or cannot be filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from string import Formatter
from typing import Any

from tiewise.study.toml.key_types import Problem, short
from tiewise.web.words.language import ORIGINAL, flat_words, language
from tiewise.web.words.plurals import plural_rule

ABOUT: dict[str, tuple[type, str]] = {
    "name": (str, "the language in its own words, such as Deutsch"),
    "direction": (str, '"ltr", or "rtl" where it is written from right to left'),
    "read_by_native_speaker": (bool, "true once a native speaker has read all texts, else false"),
}
MAY_SAY: dict[str, tuple[type, str]] = {
    "thousands": (str, 'what stands between thousands, such as ","'),
    "thousands_from": (int, "the smallest number that is written with it, such as 1000"),
}
COUNT = "count"


def file_problems(code: str, tables: Mapping[str, Any]) -> list[Problem]:
    """Everything that is wrong with the file of a language, key by key."""
    return [*_about_problems(tables.get("language")), *_word_problems(code, tables)]


def _about_problems(about: Any) -> Iterator[Problem]:
    if not isinstance(about, Mapping):
        yield Problem("language", "missing; a table [language] says what the language is called")
        return
    for key in about.keys() - ABOUT.keys() - MAY_SAY.keys():
        keys = ", ".join((*ABOUT, *MAY_SAY))
        yield Problem(f"language.{key}", f"no such key; there are {keys}")
    for key, (kind, meaning) in (ABOUT | MAY_SAY).items():
        if key not in about:
            if key in ABOUT:
                yield Problem(f"language.{key}", f"missing: {meaning}")
        elif not isinstance(about[key], kind) or (
            (kind is str and not about[key]) or (key == "name" and not about[key].strip())
        ):
            yield Problem(f"language.{key}", f"{short(about[key])}; {meaning}")
    if about.get("direction") not in ("ltr", "rtl", "", None):
        yield Problem("language.direction", f"{short(about['direction'])}; {ABOUT['direction'][1]}")


def base_keys(words: Mapping[str, Any]) -> dict[str, list[str]]:
    """The keys of texts, each with its forms; none where it has one text."""
    keys: dict[str, list[str]] = {}
    for key in words:
        table, name, *form = key.split(".", 2)
        keys.setdefault(f"{table}.{name}", []).extend(form)
    return keys


def _word_problems(code: str, tables: Mapping[str, Any]) -> Iterator[Problem]:
    """Texts that are missing, not known, or not as they should be."""
    original = base_keys(language(ORIGINAL).words)
    for table, texts in tables.items():
        if not isinstance(texts, Mapping):
            yield Problem(table, f"a table [{table}] was expected, not {short(texts)}")
    texts_of = {name: texts for name, texts in tables.items() if isinstance(texts, Mapping)}
    there = {
        f"{table}.{key}" for table in texts_of.keys() - {"language"} for key in texts_of[table]
    }
    for key in sorted(there - original.keys()):
        near = get_close_matches(key, original.keys() - there, 1)
        guess = f"did you mean {near[0]}?" if near else "take it out"
        yield Problem(key, f"no such text; {guess}")
    for key, forms in original.items():
        table, _, name = key.partition(".")
        if key not in there:
            yield Problem(key, f"missing; in English: {_english(key, forms)}")
        else:
            yield from text_problems(code, key, texts_of[table][name])


def text_problems(code: str, key: str, text: Any) -> Iterator[Problem]:
    """What is wrong with the text of a known key, or with its forms."""
    forms = base_keys(language(ORIGINAL).words)[key]
    if not forms:
        yield from _one_text(key, text, key)
        return
    needed = plural_rule(code).forms
    if not isinstance(text, Mapping):
        example = ", ".join(f'{form} = "…"' for form in needed)
        yield Problem(key, f"it holds a number, and needs its forms: {{ {example} }}")
        return
    for form in text.keys() - set(needed):
        yield Problem(f"{key}.{form}", f"no such form; there are {', '.join(needed)}")
    for form in needed:
        if form not in text:
            yield Problem(f"{key}.{form}", f"missing; the forms are {', '.join(needed)}")
        else:
            yield from _one_text(f"{key}.{form}", text[form], f"{key}.other", form)


def _one_text(at: str, text: Any, original: str, form: str = "other") -> Iterator[Problem]:
    english = language(ORIGINAL).words[original]
    if not isinstance(text, str):
        yield Problem(at, f"text in quotes was expected, not {short(text)}")
    elif not text.strip():
        yield Problem(at, f"empty; in English: {short(english)}")
    else:
        yield from _gap_problems(at, text, english, may_leave_out=form != "other")


def _gap_problems(at: str, text: str, english: str, *, may_leave_out: bool) -> Iterator[Problem]:
    expected = gaps(english)
    try:
        there = gaps(text)
    except ValueError:
        yield Problem(at, "a brace has no partner; write {name}, and no other braces")
        return
    for name in sorted(there - expected):
        known = ", ".join(f"{{{one}}}" for one in sorted(expected)) or "no words in braces"
        yield Problem(at, f"{{{name}}} is nothing that is filled in here; there are {known}")
    for name in sorted(expected - there):
        if not (may_leave_out and name == COUNT):
            yield Problem(at, f"{{{name}}} is missing; in English: {short(english)}")


def gaps(text: str) -> set[str]:
    """The words in braces, with whatever else stands in the braces."""
    parts = Formatter().parse(text)
    return {
        name + (f"!{conversion}" if conversion else "") + (f":{how}" if how else "")
        for _, name, how, conversion in parts
        if name is not None
    }


def _english(key: str, forms: list[str]) -> str:
    return short(language(ORIGINAL).words[f"{key}.other" if forms else key])


def sound_words(code: str, tables: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a file that have no fault; the rest is shown in English."""
    known = base_keys(language(ORIGINAL).words)
    sound: dict[str, dict[str, Any]] = {}
    for table, texts in tables.items():
        for name, text in texts.items() if isinstance(texts, Mapping) else ():
            key = f"{table}.{name}"
            if key in known and not list(text_problems(code, key, text)):
                sound.setdefault(table, {})[name] = text
    return flat_words(sound)
