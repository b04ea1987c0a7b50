"""What a study asks and how: `study.toml`, read, and every fault in it named key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tiewise.data.answers import AnswerScale
from tiewise.errors import InputError
from tiewise.pairing import POLICIES
from tiewise.pairing.candidates import ANCHOR_LIMIT
from tiewise.pairing.policies import load_policy
from tiewise.study.media.limits import FileLimits, limit_problems
from tiewise.study.toml.about import AboutSettings, logo_problems
from tiewise.study.toml.anchors import AnchorSettings, anchor_problems, meaning_of_anchors
from tiewise.study.toml.answers import (
    WORDED,
    AnswerSettings,
    answer_problems,
    meaning_of_answers,
)
from tiewise.study.toml.key_types import Problem, build, short, type_problems
from tiewise.study.toml.maps import MapSettings, map_problems
from tiewise.study.toml.panel import PanelSettings, panel_problems
from tiewise.study.toml.practice import PRACTICE, PracticePair, practice_problems
from tiewise.study.toml.questions import (
    ONE_QUESTION,
    QUESTION,
    TOGETHER,
    QuestionSettings,
    question_problems,
    question_words,
)
from tiewise.study.toml.reasons import REASON, ReasonSettings, reason_problems
from tiewise.study.words.languages import LANGUAGES, offered_problems, own_languages
from tiewise.study.words.translations import (
    CHOICES,
    CONTACTS,
    FIELD,
    TranslationCheck,
    Translations,
    field_problems,
)
from tiewise.text import one_line

MOST_BYTES = 8 << 20
LEAVE_STYLES = ("loud", "quiet", "none")
FIELD_KINDS = ("text", "number", "choice")
POLICY_NAMES = tuple(POLICIES)
PRIORS = ("default", "paper")
"""Names of priors that go together: those of `tiewise fit --priors`."""
ANCHORED = "anchored"
SCALES = ("logit", "elo", "0-100", ANCHORED)
"""Names of scales: those of `tiewise fit --scale`."""


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
    accept_unread: tuple[str, ...] = ()
    """Languages that may be offered although no native speaker has read their texts."""
    kept: str = ""
    """How long the data are kept, in a sentence for judges."""
    kept_until: date | None = None
    """The day by which they are erased."""
    welcome: str = ""
    minutes: int = 0
    """How long it takes, until answers have been timed; 0 says nothing of it."""
    asked: str = TOGETHER
    """Several questions on one page, or in turn."""


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
    anchor_limit: int = ANCHOR_LIMIT
    """How often "reference" shows each anchor."""

    @property
    def adaptive(self) -> bool:
        """Whether the policy depends on what was answered so far."""
        return load_policy(self.policy).needs_state


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """`[model]`: how the study is fitted."""

    priors: str = ""
    """Empty: as its database records it, or the default."""
    scale: str = ""
    """On which estimates are shown; empty: that of anchors, or logits where there are none."""


@dataclass(frozen=True, kw_only=True)
class SupportSettings:
    """`[support]`: help that is one tap away, and where the quick exit leads."""

    contacts: tuple[str, ...] = ()
    exit: str = "https://www.bbc.co.uk/weather"
    leave: str = LEAVE_STYLES[0]
    """How much the quick exit stands out, as the subject asks."""


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
    about: AboutSettings = field(default_factory=AboutSettings)
    files: FileLimits = field(default_factory=FileLimits)
    map: MapSettings = field(default_factory=MapSettings)
    anchors: tuple[AnchorSettings, ...] = ()
    questions: tuple[QuestionSettings, ...] = ()
    reasons: ReasonSettings = field(default_factory=ReasonSettings)
    panel: PanelSettings = field(default_factory=PanelSettings)
    practice: tuple[PracticePair, ...] = ()
    translations: Translations = field(default_factory=dict)

    @property
    def scale(self) -> str:
        """The name of the scale that estimates are shown on."""
        return self.model.scale or (ANCHORED if self.anchors else SCALES[0])

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

    def choices(self, sign_up_field: SignUpField, language: str) -> tuple[tuple[str, str], ...]:
        """The choices of a sign-up field, each as it is kept and as it reads in a language."""
        words = self.translations.get(language, {}).get(f"{CHOICES}{sign_up_field.name}")
        return tuple(zip(sign_up_field.choices, words or sign_up_field.choices, strict=True))

    def contacts(self, language: str) -> tuple[str, ...]:
        """People to talk to, for readers of a language."""
        own = self.translations.get(language, {}).get(CONTACTS)
        return self.support.contacts if own is None else tuple(own)

    @property
    def question_ids(self) -> tuple[str, ...]:
        """The ids of the questions of a pair; that of the only one is empty."""
        return tuple(one.id for one in self.questions) or ("",)

    @property
    def practice_pairs(self) -> int:
        """How many pairs of practice there are: those that are chosen, and perhaps more."""
        return max(self.pairing.practice, len(self.practice))

    def asking(self, question: str) -> Settings:
        """The settings as if one of the questions were the only one; "" leaves them as they are."""
        if not question:
            return self
        one = next(one for one in self.questions if one.id == question)
        study = replace(self.study, question=one.question, higher=one.higher, lower=one.lower)
        # Whether both are opened is asked of the pair, and so of all its questions.
        answers = replace(one.answers or self.answers, both_seen=self.answers.both_seen)
        return replace(
            self, study=study, answers=answers, questions=(),
            translations=question_words(one, self.translations),
        )  # fmt: skip

    def scales(self) -> dict[str, AnswerScale]:
        """The answers to each question, by its id."""
        return {id_: self.asking(id_).answers.scale for id_ in self.question_ids}

    def meaning(self) -> dict[str, str]:
        """What the answers already given depend on, and so must not change under them."""
        if not self.questions:
            shared = {"questions": ONE_QUESTION, "anchors": meaning_of_anchors(self.anchors)}
            return self._meaning_of_question() | shared
        out = {"questions": ", ".join(sorted(self.question_ids))}
        for id_ in self.question_ids:
            own = self.asking(id_)._meaning_of_question()
            at = f"questions.{id_}."
            out |= {at + key.removeprefix("study."): value for key, value in own.items()}
        return out

    def _meaning_of_question(self) -> dict[str, str]:
        study = self.study
        return {
            "study.question": study.question,
            "study.higher": study.higher,
            **meaning_of_answers(self.answers, self.translations),
        }


TRANSLATED = (
    "study_title", "study_question", "study_welcome", "study_kept",
    *(f"answers_{name}" for name in WORDED), "consent_text", "reasons_question",
    "about_organisation", "about_ethics", "about_contact", "about_logo_text",
)  # fmt: skip
NUMBERED = {FIELD: "NAME", QUESTION: "ID", REASON: "NUMBER", PRACTICE: "NUMBER"}
"""Beginnings of keys whose end a study chooses itself."""


def read_settings(path: Path) -> Settings:
    """The settings in a file; the first fault is refused, and how many more there are."""
    tables = read_toml(path)
    faults = problems(tables, own_languages(path.parent))
    if faults:
        more = f" ({len(faults) - 1} more; see `tiewise check`)" if len(faults) > 1 else ""
        raise InputError(f"{path}: {faults[0]}{more}")
    settings: Settings = build(Settings, tables)
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


def problems(tables: Mapping[str, Any], own: Collection[str] = ()) -> list[Problem]:
    """Everything that is wrong, key by key: unknown and missing keys, kinds, then values.

    `own` are the languages for which the study has a file of words.
    """
    known = tuple(dict.fromkeys((*LANGUAGES, *own)))
    translations = TranslationCheck(known, TRANSLATED, NUMBERED)

    def mapping_problems(value: Any, at: str) -> Iterator[Problem]:
        """Of tables of any keys: answers by question, and translations."""
        if at == "translations":
            yield from translations(value, at)
        elif not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            message = f"a table of answers by ids of questions was expected, not {short(value)}"
            yield Problem(at, message)

    mistyped = list(type_problems(Settings, tables, mapping_problems))
    return mistyped or list(_value_problems(build(Settings, tables), own))


# Values: what a key of the right kind may still not be.


def _value_problems(settings: Settings, own: Collection[str]) -> Iterator[Problem]:
    study, pairing = settings.study, settings.pairing
    for key in ("title", "question", "noun"):
        if not getattr(study, key).strip():
            yield Problem(f"study.{key}", "empty; judges would not know what is meant")
    if study.target < 1:
        yield Problem("study.target", f"{study.target}; ask for one comparison or more")
    if study.minutes < 0:
        yield Problem("study.minutes", f"{study.minutes}; minutes that it takes, or 0")
    if study.goal < 0:
        yield Problem("study.goal", f"{study.goal}; comparisons in all, or 0")
    if not 0.1 <= study.reliability <= 0.99:
        yield Problem("study.reliability", f"{study.reliability}; from 0.1 to 0.99")
    yield from offered_problems(study.languages, study.accept_unread, own)
    if not settings.consent.version.strip():
        yield Problem("consent.version", "empty; it is kept with every judge's consent")
    if pairing.policy not in POLICIES:
        yield Problem("pairing.policy", f"{pairing.policy!r}; there are {', '.join(POLICIES)}")
    if not 0 <= pairing.random_share <= 1:
        yield Problem("pairing.random_share", f"{pairing.random_share}; a share from 0 to 1")
    if not 0 <= pairing.practice <= 20:
        yield Problem("pairing.practice", f"{pairing.practice}; from 0 to 20 pairs")
    if pairing.anchor_limit < 1:
        yield Problem("pairing.anchor_limit", f"{pairing.anchor_limit}; show each once or more")
    if not 0 <= pairing.repeats <= 0.5:
        yield Problem("pairing.repeats", f"{pairing.repeats}; a share from 0 to 0.5")
    if settings.model.priors not in ("", *PRIORS):
        yield Problem("model.priors", f"{settings.model.priors!r}; there are {', '.join(PRIORS)}")
    if settings.model.scale not in ("", *SCALES):
        yield Problem("model.scale", f"{settings.model.scale!r}; there are {', '.join(SCALES)}")
    elif settings.model.scale == ANCHORED and not settings.anchors:
        yield Problem("model.scale", "there are no anchors; add [[anchors]], or name another")
    yield from _asking_problems(settings)
    if pairing.policy in POLICIES:
        yield from anchor_problems(
            settings.anchors, policy=pairing.policy,
            needs_anchors=load_policy(pairing.policy).needs_anchors,
        )  # fmt: skip
    if urlsplit(settings.support.exit).scheme not in ("http", "https"):
        yield Problem("support.exit", f"{settings.support.exit!r}; an address with https://")
    if settings.support.leave not in LEAVE_STYLES:
        there = ", ".join(LEAVE_STYLES)
        yield Problem("support.leave", f"{settings.support.leave!r}; there are {there}")
    yield from logo_problems(settings.about)
    yield from limit_problems(settings.files)
    yield from map_problems(settings.map)
    yield from _field_problems(settings.judges.fields)
    yield from panel_problems(settings.panel, tuple(one.name for one in settings.judges.fields))
    choices = {one.name: one.choices for one in settings.judges.fields}
    yield from field_problems(settings.translations, choices)


def _asking_problems(settings: Settings) -> Iterator[Problem]:
    """What is wrong with answers, questions, reasons and practice."""
    translations = settings.translations
    yield from answer_problems(settings.answers, translations)
    yield from question_problems(
        settings.questions, asked=settings.study.asked, anchors=bool(settings.anchors),
        translations=translations,
    )  # fmt: skip
    yield from reason_problems(settings.reasons, translations, several=bool(settings.questions))
    yield from practice_problems(settings.practice, settings.scales(), translations)


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
