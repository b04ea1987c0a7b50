"""What a study asks and how: `study.toml`, read, and every fault in it named key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.pairing import POLICIES
from tiewise.pairing.policies import load_policy
from tiewise.text import one_line

MOST_BYTES = 8 << 20
LANGUAGES = ("en", "ar")
FIELD_KINDS = ("text", "number", "choice")
PRIORS = ("default", "paper")
"""Names of priors that go together: those of `tiewise fit --priors`."""


class Problem(NamedTuple):
    """What is wrong with a key of the settings, and the way out."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class StudySettings:
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
    """How long the data are kept, in a sentence for judges."""
    kept_until: date | None = None
    """The day by which they are erased."""
    welcome: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """`[answers]`: which are offered, and their wordings; an empty one is that of the language."""

    ties: bool = True
    skips: bool = True
    left: str = ""
    right: str = ""
    tie: str = ""
    skip: str = ""


@dataclass(frozen=True, kw_only=True)
class ConsentSettings:
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
class JudgeSettings:
    """`[judges]`: who may judge, and what they are asked."""

    invited_only: bool = False
    fields: tuple[SignUpField, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PairingSettings:
    """`[pairing]`: which pairs are shown."""

    policy: str = "uniform"
    random_share: float = 0.2
    practice: int = 0
    repeats: float = 0.0

    @property
    def adaptive(self) -> bool:
        """Whether the policy depends on what was answered so far."""
        return load_policy(self.policy).needs_state


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """`[model]`: how the study is fitted."""

    priors: str = ""
    """Empty: as its database records it, or the default."""


@dataclass(frozen=True, kw_only=True)
class SupportSettings:
    """`[support]`: help that is one tap away, and where the quick exit leads."""

    contacts: tuple[str, ...] = ()
    exit: str = "https://www.bbc.co.uk/weather"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The whole of `study.toml`. `translations` holds other languages' words by their keys."""

    study: StudySettings
    answers: AnswerSettings = field(default_factory=AnswerSettings)
    consent: ConsentSettings = field(default_factory=ConsentSettings)
    judges: JudgeSettings = field(default_factory=JudgeSettings)
    pairing: PairingSettings = field(default_factory=PairingSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    support: SupportSettings = field(default_factory=SupportSettings)
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def word(self, key: str, language: str) -> str:
        """A wording such as `study.question` in a language, else as it stands."""
        translation = self.translations.get(language, {}).get(key.replace(".", "_"))
        table, name = key.split(".")
        return translation or str(getattr(getattr(self, table), name))

    def label(self, sign_up_field: SignUpField, language: str) -> str:
        """What a sign-up field is called in a language, else as it stands."""
        return (
            self.translations.get(language, {}).get(f"{FIELD}{sign_up_field.name}")
            or sign_up_field.label
        )

    def meaning(self) -> dict[str, str]:
        """What the answers already given depend on, and so must not change under them."""
        return {
            "study.question": self.study.question,
            "study.higher": self.study.higher,
            "answers.ties": str(self.answers.ties),
        }


TRANSLATED = (
    "study_title", "study_question", "study_welcome", "study_kept",
    *(f"answers_{one.name}" for one in fields(AnswerSettings) if one.default == ""), "consent_text",
)  # fmt: skip
FIELD = "field_"
"""Before the name of a sign-up field: its label in another language."""


def read_settings(path: Path) -> Settings:
    """The settings in a file; the first fault is refused, and how many more there are."""
    tables = read_toml(path)
    faults = problems(tables)
    if faults:
        more = f" ({len(faults) - 1} more; see `tiewise check`)" if len(faults) > 1 else ""
        raise InputError(f"{path}: {faults[0]}{more}")
    settings: Settings = _build(Settings, tables)
    return settings


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES >> 20} MiB; is it the right file?")
        with path.open("rb") as file:
            return tomllib.load(file)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(
            f"{path.parent} is no study: it has no {path.name}; make one with `tiewise new`"
        ) from None
    except NotADirectoryError:
        raise InputError(
            f"{path.parent} is a file, and a study is a folder; make one with `tiewise new`"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); ask its owner") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not TOML ({one_line(str(error), 200)}); text stands in quotes, and a # "
            "begins a remark"
        ) from error


def problems(tables: Mapping[str, Any]) -> list[Problem]:
    """Everything that is wrong, key by key: unknown and missing keys, kinds, then values."""
    mistyped = list(_type_problems(Settings, tables, ""))
    return mistyped or list(_value_problems(_build(Settings, tables)))


# Kinds: what a key must be, read from the dataclasses themselves.


def _type_problems(kind: type, table: Mapping[str, Any], at: str) -> Iterator[Problem]:
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind)}
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            yield Problem(at + key, f"no such key; {guess}")
    for name, one in known.items():
        if name in table:
            yield from _value_type_problems(hints[name], table[name], at + name)
        elif _required(one):
            yield Problem(at + name, "missing; a study cannot do without it")


def _required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _value_type_problems(hint: Any, value: Any, at: str) -> Iterator[Problem]:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        if isinstance(value, Mapping):
            yield from _type_problems(hint, value, f"{at}.")
        else:
            yield Problem(at, f"a table [{at}] was expected, not {_short(value)}")
    elif get_origin(hint) is tuple:
        if not isinstance(value, list):
            yield Problem(at, f"a list in [brackets] was expected, not {_short(value)}")
            return
        for k, part in enumerate(value):
            yield from _value_type_problems(get_args(hint)[0], part, f"{at}[{k + 1}]")
    elif get_origin(hint) is UnionType:  # a kind, or nothing
        yield from _value_type_problems(get_args(hint)[0], value, at)
    elif get_origin(hint) is not None:  # the translations, by language
        yield from _translation_problems(value, at)
    elif not _has_type(value, hint):
        yield Problem(at, f"{_TYPE_WORDS[hint]} was expected, not {_short(value)}")


_TYPE_WORDS = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    date: "a day such as 2027-01-31, without quotes,",
}


def _short(value: Any) -> str:
    return one_line(repr(value), 80)


def _has_type(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, datetime):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _translation_problems(value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(at, f"tables such as [{at}.ar] were expected, not {_short(value)}")
        return
    for language, words in value.items():
        if language not in LANGUAGES:
            yield Problem(f"{at}.{language}", f"there are {', '.join(LANGUAGES)}")
        elif not isinstance(words, Mapping):
            yield Problem(f"{at}.{language}", f"a table was expected, not {_short(words)}")
        else:
            for key, word in words.items():
                if key not in TRANSLATED and not key.startswith(FIELD):
                    there = ", ".join((*TRANSLATED, f"{FIELD}NAME"))
                    yield Problem(f"{at}.{language}.{key}", f"no such key; there are {there}")
                elif not isinstance(word, str):
                    message = f"text was expected, not {_short(word)}"
                    yield Problem(f"{at}.{language}.{key}", message)


def _build(kind: type, table: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    return kind(**{key: _build_value(hints[key], value) for key, value in table.items()})


def _build_value(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _build(hint, value)
    if get_origin(hint) is tuple:
        return tuple(_build_value(get_args(hint)[0], part) for part in value)
    return value


# Values: what a key of the right kind may still not be.


def _value_problems(settings: Settings) -> Iterator[Problem]:
    study, pairing = settings.study, settings.pairing
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
    if not settings.consent.version.strip():
        yield Problem("consent.version", "empty; it is kept with every judge's consent")
    if pairing.policy not in POLICIES:
        yield Problem("pairing.policy", f"{pairing.policy!r}; there are {', '.join(POLICIES)}")
    if not 0 <= pairing.random_share <= 1:
        yield Problem("pairing.random_share", f"{pairing.random_share}; a share from 0 to 1")
    if not 0 <= pairing.practice <= 20:
        yield Problem("pairing.practice", f"{pairing.practice}; from 0 to 20 pairs")
    if not 0 <= pairing.repeats <= 0.5:
        yield Problem("pairing.repeats", f"{pairing.repeats}; a share from 0 to 0.5")
    if settings.model.priors not in ("", *PRIORS):
        yield Problem("model.priors", f"{settings.model.priors!r}; there are {', '.join(PRIORS)}")
    if urlsplit(settings.support.exit).scheme not in ("http", "https"):
        yield Problem("support.exit", f"{settings.support.exit!r}; an address with https://")
    yield from _field_problems(settings.judges.fields)
    named = {FIELD + one.name for one in settings.judges.fields}
    for language, words in settings.translations.items():
        for key in words:
            if key.startswith(FIELD) and key not in named:
                yield Problem(f"translations.{language}.{key}", "no sign-up field has this name")


def _field_problems(sign_up_fields: tuple[SignUpField, ...]) -> Iterator[Problem]:
    names = [one.name for one in sign_up_fields]
    for k, one in enumerate(sign_up_fields):
        at = f"judges.fields[{k + 1}]"
        if not one.name.isidentifier():
            yield Problem(f"{at}.name", f"{one.name!r}; letters, digits and _ only")
        if names.index(one.name) < k:
            yield Problem(f"{at}.name", f"{one.name!r} is there twice")
        if one.kind not in FIELD_KINDS:
            yield Problem(f"{at}.kind", f"{one.kind!r}; there are {', '.join(FIELD_KINDS)}")
        if (one.kind == "choice") != bool(one.choices):
            yield Problem(f"{at}.choices", "a choice needs some, and nothing else has any")
