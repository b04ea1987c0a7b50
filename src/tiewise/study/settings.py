"""What a study asks and how: `study.toml`, read, and every fault in it named key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.pairing.policies import POLICIES

LANGUAGES = ("en", "ar")
FIELD_KINDS = ("text", "number", "choice")


class Problem(NamedTuple):
    """What is wrong with a key of the settings, and the way out."""

    key: str
    says: str

    def __str__(self) -> str:
        return f"{self.key}: {self.says}"


@dataclass(frozen=True, kw_only=True)
class About:
    """`[study]`: what is asked, and of whom how much."""

    title: str
    question: str
    higher: str = "higher"
    lower: str = "lower"
    noun: str = "item"
    target: int = 30
    goal: int = 0
    """Comparisons wanted in all; 0 leaves it to the reliability."""
    reliability: float = 0.8
    """Share of the differences that is to be known before it is enough."""
    languages: tuple[str, ...] = ("en",)
    kept: str = ""
    welcome: str = ""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """`[answers]`: the four answers; an empty wording is that of the language."""

    ties: bool = True
    skips: bool = True
    left: str = ""
    right: str = ""
    tie: str = ""
    skip: str = ""


@dataclass(frozen=True, kw_only=True)
class Consent:
    """`[consent]`: what a judge agrees to; a new text needs a new version."""

    version: str = "1"
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class SignUpField:
    """`[[judges.fields]]`: something a judge is asked about themselves."""

    name: str
    label: str
    kind: str = "text"
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judges:
    """`[judges]`: who may judge, and what they are asked."""

    invited_only: bool = False
    fields: tuple[SignUpField, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """`[pairing]`: which pairs are shown."""

    policy: str = "uniform"
    random_share: float = 0.2
    practice: int = 0
    repeats: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Support:
    """`[support]`: help that is one tap away, and where the quick exit leads."""

    contacts: tuple[str, ...] = ()
    exit: str = "https://www.bbc.co.uk/weather"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The whole of `study.toml`. `translations` holds other languages' words by their keys."""

    study: About
    answers: Answers = field(default_factory=Answers)
    consent: Consent = field(default_factory=Consent)
    judges: Judges = field(default_factory=Judges)
    pairing: Pairing = field(default_factory=Pairing)
    support: Support = field(default_factory=Support)
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def word(self, key: str, language: str) -> str:
        """A wording such as `study.question` in a language, else as it stands."""
        said = self.translations.get(language, {}).get(key.replace(".", "_"))
        table, name = key.split(".")
        return said or str(getattr(getattr(self, table), name))

    def label(self, asked: SignUpField, language: str) -> str:
        """What a sign-up field is called in a language, else as it stands."""
        return self.translations.get(language, {}).get(f"{FIELD}{asked.name}") or asked.label

    def meaning(self) -> dict[str, str]:
        """What the answers already given depend on, and so must not change under them."""
        return {
            "study.question": self.study.question,
            "study.higher": self.study.higher,
            "answers.ties": str(self.answers.ties),
        }


TRANSLATED = (
    "study_title", "study_question", "study_welcome", "study_kept", "answers_left",
    "answers_right", "answers_tie", "answers_skip", "consent_text",
)  # fmt: skip
FIELD = "field_"
"""Before the name of a sign-up field: its label in another language."""


def read_settings(path: Path) -> Settings:
    """The settings in a file; the first fault is refused, and how many more there are."""
    said = read_toml(path)
    found = problems(said)
    if found:
        more = f" ({len(found) - 1} more; see `tiewise check`)" if len(found) > 1 else ""
        raise InputError(f"{path}: {found[0]}{more}")
    made: Settings = _built(Settings, said)
    return made


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise InputError(
            f"{path.parent} is no study: it has no {path.name}; make one with `tiewise new`"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not TOML ({error}); text stands in quotes, and a # begins a remark"
        ) from error


def problems(said: Mapping[str, Any]) -> list[Problem]:
    """Everything that is wrong, key by key: unknown and missing keys, kinds, then values."""
    found = list(_misfits(Settings, said, ""))
    return found or list(_faults(_built(Settings, said)))


# Kinds: what a key must be, read from the dataclasses themselves.


def _misfits(kind: type, said: Mapping[str, Any], at: str) -> Iterator[Problem]:
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind)}
    for key in said:
        if key not in known:
            near = get_close_matches(key, known, 1)
            guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            yield Problem(at + key, f"no such key; {guess}")
    for name, one in known.items():
        if name in said:
            yield from _misfit(hints[name], said[name], at + name)
        elif _required(one):
            yield Problem(at + name, "missing; a study cannot do without it")


def _required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _misfit(hint: Any, value: Any, at: str) -> Iterator[Problem]:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        if isinstance(value, Mapping):
            yield from _misfits(hint, value, f"{at}.")
        else:
            yield Problem(at, f"a table [{at}] was expected, not {value!r}")
    elif get_origin(hint) is tuple:
        if not isinstance(value, list):
            yield Problem(at, f"a list in [brackets] was expected, not {value!r}")
            return
        for k, part in enumerate(value):
            yield from _misfit(get_args(hint)[0], part, f"{at}[{k + 1}]")
    elif get_origin(hint) is not None:  # the translations, by language
        yield from _untranslated(value, at)
    elif not _is(value, hint):
        yield Problem(at, f"{_SPOKEN[hint]} was expected, not {value!r}")


_SPOKEN = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false"}


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _untranslated(value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(at, f"tables such as [{at}.ar] were expected, not {value!r}")
        return
    for language, words in value.items():
        if language not in LANGUAGES:
            yield Problem(f"{at}.{language}", f"there are {', '.join(LANGUAGES)}")
        elif not isinstance(words, Mapping):
            yield Problem(f"{at}.{language}", f"a table was expected, not {words!r}")
        else:
            for key, word in words.items():
                if key not in TRANSLATED and not key.startswith(FIELD):
                    there = ", ".join((*TRANSLATED, f"{FIELD}NAME"))
                    yield Problem(f"{at}.{language}.{key}", f"no such key; there are {there}")
                elif not isinstance(word, str):
                    yield Problem(f"{at}.{language}.{key}", f"text was expected, not {word!r}")


def _built(kind: type, said: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    return kind(**{key: _made(hints[key], value) for key, value in said.items()})


def _made(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _built(hint, value)
    if get_origin(hint) is tuple:
        return tuple(_made(get_args(hint)[0], part) for part in value)
    return value


# Values: what a key of the right kind may still not be.


def _faults(made: Settings) -> Iterator[Problem]:
    study, pairing = made.study, made.pairing
    for key in ("title", "question", "noun"):
        if not getattr(study, key).strip():
            yield Problem(f"study.{key}", "empty; judges would not know what is meant")
    if study.target < 1:
        yield Problem("study.target", f"{study.target}; ask for one comparison or more")
    if study.goal < 0:
        yield Problem("study.goal", f"{study.goal}; comparisons in all, or 0")
    if not 0.1 <= study.reliability <= 0.99:
        yield Problem("study.reliability", f"{study.reliability}; from 0.1 to 0.99")
    if not study.languages:
        yield Problem("study.languages", f"empty; name one or more of {', '.join(LANGUAGES)}")
    for language in study.languages:
        if language not in LANGUAGES:
            yield Problem("study.languages", f"{language!r}; there are {', '.join(LANGUAGES)}")
    if not made.consent.version.strip():
        yield Problem("consent.version", "empty; it is kept with every judge's consent")
    if pairing.policy not in POLICIES:
        yield Problem("pairing.policy", f"{pairing.policy!r}; there are {', '.join(POLICIES)}")
    if not 0 <= pairing.random_share <= 1:
        yield Problem("pairing.random_share", f"{pairing.random_share}; a share from 0 to 1")
    if not 0 <= pairing.practice <= 20:
        yield Problem("pairing.practice", f"{pairing.practice}; from 0 to 20 pairs")
    if not 0 <= pairing.repeats <= 0.5:
        yield Problem("pairing.repeats", f"{pairing.repeats}; a share from 0 to 0.5")
    if urlsplit(made.support.exit).scheme not in ("http", "https"):
        yield Problem("support.exit", f"{made.support.exit!r}; an address with https://")
    yield from _field_faults(made.judges.fields)
    named = {FIELD + one.name for one in made.judges.fields}
    for language, words in made.translations.items():
        for key in words:
            if key.startswith(FIELD) and key not in named:
                yield Problem(f"translations.{language}.{key}", "no sign-up field has this name")


def _field_faults(asked: tuple[SignUpField, ...]) -> Iterator[Problem]:
    names = [one.name for one in asked]
    for k, one in enumerate(asked):
        at = f"judges.fields[{k + 1}]"
        if not one.name.isidentifier():
            yield Problem(f"{at}.name", f"{one.name!r}; letters, digits and _ only")
        if names.index(one.name) < k:
            yield Problem(f"{at}.name", f"{one.name!r} is there twice")
        if one.kind not in FIELD_KINDS:
            yield Problem(f"{at}.kind", f"{one.kind!r}; there are {', '.join(FIELD_KINDS)}")
        if (one.kind == "choice") != bool(one.choices):
            yield Problem(f"{at}.choices", "a choice needs some, and nothing else has any")
