"""A new file of words for a language, and one brought up to date with the site."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from tiewise.errors import InputError
from tiewise.study.settings import read_toml
from tiewise.study.toml.key_types import Problem
from tiewise.study.words.languages import CODE, LANGUAGES, words_file
from tiewise.web.words.check import base_keys, file_problems
from tiewise.web.words.language import HERE, ORIGINAL, language
from tiewise.web.words.plurals import plural_rule

RIGHT_TO_LEFT = ("ar", "he", "fa", "ur", "ps", "sd", "ug", "yi", "dv", "ckb", "arc")
HEAD = """\
# What the site says to judges, to be translated: the English text stands above each line, and
# words in {{braces}} are filled in and stay as they are. The subject of a study can be painful:
# plain words, and a formal address where the language has one. Then: tiewise words {study} {code}

[language]
name = ""                         # the language in its own words, such as "Deutsch"
direction = "{direction}"
thousands = ","                   # between thousands, in numbers
read_by_native_speaker = false    # true once a native speaker has read all of this
"""


def check_words(folder: str | Path, code: str) -> list[Problem]:
    """What is wrong with a study's own file of words for a language."""
    return file_problems(code, read_toml(words_file(Path(folder), code)))


def make_words(folder: str | Path, code: str) -> Path:
    """A file of words in the folder of a study, to be translated; one we ship, to be improved."""
    place = Path(folder)
    if not CODE.fullmatch(code):
        raise InputError(
            f"{code!r} is no code of a language; write two or three small letters, such as 'de'"
        )
    if not (place / "study.toml").is_file():
        raise InputError(f"{place} is no study: it has no study.toml; make one with `tiewise new`")
    path = words_file(place, code)
    path.parent.mkdir(exist_ok=True)
    shipped = code in LANGUAGES
    text = (
        (HERE / f"{code}.toml").read_text(encoding="utf-8") if shipped else _template(place, code)
    )
    if code == ORIGINAL:
        text = text.replace("\n\n[page]", "\nread_by_native_speaker = true\n\n[page]", 1)
    path.write_text(text, encoding="utf-8")
    return path


def _template(study: Path, code: str) -> str:
    direction = "rtl" if code in RIGHT_TO_LEFT else "ltr"
    parts = [HEAD.format(study=study.name, code=code, direction=direction)]
    for table, keys in _by_table(base_keys(language(ORIGINAL).words)).items():
        parts += [f"\n[{table}]\n", *(_lines(code, table, key) for key in keys)]
    return "".join(parts)


def _by_table(keys: Mapping[str, object]) -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    for key in keys:
        table, _, name = key.partition(".")
        tables.setdefault(table, []).append(name)
    return tables


def _lines(code: str, table: str, name: str) -> str:
    """The English text as a remark, and the line to be filled in."""
    words = language(ORIGINAL).words
    text = words.get(f"{table}.{name}")
    if text is not None:
        return f'# {text}\n{name} = ""\n'
    forms = ", ".join(f'{form} = ""' for form in plural_rule(code).forms)
    return f"# {words[f'{table}.{name}.other']}\n{name} = {{ {forms} }}\n"


def add_missing(folder: str | Path, code: str) -> int:
    """Add the texts that a file of words lacks, empty, at the end of their tables; how many."""
    path = words_file(Path(folder), code)
    tables = read_toml(path)
    original = base_keys(language(ORIGINAL).words)
    missing = [key for key in original if not _has(tables, key)]
    lines = path.read_text(encoding="utf-8").splitlines()
    for table, names in _by_table(dict.fromkeys(missing)).items():
        new = "".join(_lines(code, table, name) for name in names).splitlines()
        lines = _inserted(lines, table, new)
    text = "\n".join(lines) + "\n"
    if missing:
        _check_kept(path, tables, text)
        path.write_text(text, encoding="utf-8")
    return len(missing)


def _has(tables: Mapping[str, object], key: str) -> bool:
    table, _, name = key.partition(".")
    texts = tables.get(table)
    return isinstance(texts, Mapping) and name in texts


def _inserted(lines: list[str], table: str, new: list[str]) -> list[str]:
    """The lines with new ones at the end of a table, or with the table at the end."""
    heads = [k for k, line in enumerate(lines) if re.match(r"\s*\[[^\[]", line)]
    start = next((k for k in heads if re.match(rf"\s*\[\s*{table}\s*\]", lines[k])), None)
    if start is None:
        return [*lines, "", f"[{table}]", *new]
    end = next((k for k in heads if k > start), len(lines))
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return [*lines[:end], *new, *lines[end:]]


def _check_kept(path: Path, tables: Mapping[str, object], text: str) -> None:
    """Refuse where a file is written in such a way that lines cannot be put into it."""
    try:
        updated = tomllib.loads(text)
    except ValueError:
        updated = {}
    kept = all(
        isinstance(texts, Mapping) and {**updated.get(table, {}), **texts} == updated.get(table)
        for table, texts in tables.items()
    )
    if not kept:
        raise InputError(
            f"{path} cannot be added to as it is written; give each table a line [name] and each "
            "text a line of its own"
        )
