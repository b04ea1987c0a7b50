"""Languages that a study may offer: those that we ship, and those it has a file of words for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from tiewise.study.toml.key_types import Problem

LANGUAGES = ("en", "ar", "fr", "es")
FOLDER = "words"
"""The folder beside study.toml with a study's own files of words."""
CODE = re.compile(r"[a-z]{2,3}")
"""The code of a language, as browsers name it."""


def words_file(folder: Path, code: str) -> Path:
    """The study's own file of words for a language."""
    return folder / FOLDER / f"{code}.toml"


def own_languages(folder: Path) -> tuple[str, ...]:
    """The languages for which a study has a file of words."""
    codes = sorted(path.stem for path in (folder / FOLDER).glob("*.toml"))
    return tuple(code for code in codes if CODE.fullmatch(code))


def offered_problems(
    languages: Collection[str], accepted: Collection[str], own: Collection[str]
) -> Iterator[Problem]:
    """Languages that are not there, and a yes to one that is not offered."""
    known = list(dict.fromkeys((*LANGUAGES, *own)))
    at = "study.languages"
    if not languages:
        yield Problem(at, f"empty; name one or more of {', '.join(known)}")
    for code in languages:
        if code not in known:
            way = f"; for another: `tiewise words STUDY {code}`" if CODE.fullmatch(code) else ""
            yield Problem(at, f"{code!r}; there are {', '.join(known)}{way}")
    for code in accepted:
        if code not in languages:
            yield Problem(
                "study.accept_unread", f"{code!r} is not in study.languages; add it there"
            )
