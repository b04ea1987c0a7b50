"""The form of all settings of a study, made from what `study.toml` may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from typing import Any, NamedTuple, get_origin, get_type_hints

from tiewise.study.settings import LEAVE_STYLES, POLICY_NAMES, PRIORS, SCALES, Settings
from tiewise.web.request import Form

TITLES = {
    "study": "What is asked", "answers": "Answers", "consent": "Consent", "judges": "Judges",
    "pairing": "Which pairs are shown", "model": "How it is fitted", "support": "Help and exit",
    "about": "Who runs the study", "files": "Limits of files", "map": "Maps", "reasons": "Reasons",
}  # fmt: skip
LONG = ("study.kept", "study.welcome", "consent.text", "study.question")
CHOICES: dict[str, tuple[str, ...]] = {
    "pairing.policy": POLICY_NAMES, "model.priors": ("", *PRIORS), "model.scale": ("", *SCALES),
    "support.leave": LEAVE_STYLES, "study.asked": ("together", "in turn"),
    "map.labels": ("all", "places", "none"), "reasons.ask": ("never", "optional", "required"),
}  # fmt: skip

WORDS: dict[str, str] = {
    "study.title": "Title",
    "study.question": "Question asked of every pair",
    "study.higher": "What the chosen one has; such as: higher risk",
    "study.lower": "What the other one has",
    "study.noun": "What an item is called; such as: ward, or city/cities",
    "study.target": "Comparisons asked of each judge; they may go on",
    "study.goal": "Comparisons wanted in all; 0: as many as the reliability below needs",
    "study.reliability": "Reliability wanted; 0 to 1: how much of the differences is to be known",
    "study.languages": "Languages; one a line, the first is the one offered: en, ar, fr, es",
    "study.accept_unread": "Languages offered although no native speaker has read them; one a line",
    "study.kept": "How long answers are kept; a sentence that judges read",
    "study.kept_until": "Erased by; you are reminded of that day",
    "study.welcome": "Welcome; a paragraph for the first page",
    "study.minutes": "Minutes it takes; 0: as answers so far took",
    "study.asked": "Several questions are asked",
    "answers.ties": "Judges may say that both are about equal",
    "answers.skips": "Judges may say that they do not know",
    "answers.both_seen": "Answers only once both were opened; long texts, scans, recordings",
    "answers.grades": "Ordered answers; 0, or 4 to 7, such as 5 with “much more”",
    "answers.left": "Words for the left one; empty: as usual",
    "answers.right": "Words for the right one",
    "answers.tie": "Words for about equal",
    "answers.skip": "Words for not knowing",
    "answers.left_2": "Words for the left one, more; of four ordered answers and more",
    "answers.left_3": "Words for the left one, much more; of six and more",
    "answers.right_2": "Words for the right one, more",
    "answers.right_3": "Words for the right one, much more",
    "consent.version": "Version of the text; with a new one, judges who come back are asked again",
    "consent.text": "What judges agree to",
    "judges.invited_only": "Only with a code; from an invitation, or of tiewise invite",
    "pairing.policy": "How pairs are chosen; uniform: by lot; balanced: what has few comparisons "
                      "first; informative: where most is learnt; reference: beside anchors",
    "pairing.random_share": "Share of pairs left to chance; where they are chosen as informative",
    "pairing.practice": "Pairs for practice; they come first and do not count",
    "pairing.repeats": "Share of pairs shown again; to see whether judges agree with themselves",
    "pairing.anchor_limit": "Most pairs with one anchor; where they are chosen by reference",
    "model.priors": "Priors; paper: as the paper has them",
    "model.scale": "Scale of results",
    "support.contacts": "Where judges find help; one a line, such as Samaritans: 116 123",
    "support.exit": "Where the quick exit leads; an address",
    "support.leave": "How much the quick exit stands out",
    "about.organisation": "Who runs the study; on the first page, with the next three",
    "about.ethics": "Who approved of it; such as University of Ashby, reference 1234",
    "about.contact": "Whom to ask; a name with a mail address, telephone number or link",
    "about.logo": "Logo; a PNG, JPEG or WebP file in the folder images",
    "about.logo_text": "What the logo says; for those who cannot see it",
    "files.megabytes": "Megabytes of a file",
    "files.total": "Megabytes of all files together",
    "files.pages": "Pages of an item",
    "files.megapixels": "Megapixels of a picture",
    "files.words": "Words of a text",
    "files.seconds": "Seconds to read a file",
    "files.memory": "Megabytes of memory to read it in",
    "map.labels": "Names on maps; places: towns and landmarks alone",
    "map.layers": "What is drawn of water, roads and places; one a line",
    "map.inset": "Show a centre of many small areas enlarged, too",
    "reasons.ask": "Ask judges why",
    "reasons.every": "After every so many pairs",
    "reasons.question": "Your own words for why; empty: as usual",
    "reasons.choices": "Reasons to tick; one a line",
    "reasons.text": "With room for words of their own",
    "reasons.per_question": "Of each question by itself; else of the pair",
}  # fmt: skip
"""What each field is called, and after a semicolon a hint."""


class SettingField(NamedTuple):
    """One field of the form."""

    key: str
    label: str
    hint: str
    kind: str
    """`text`, `long`, `lines`, `yes`, `number`, `whole`, `day` or `choice`."""
    value: str
    choices: tuple[str, ...] = ()


class SettingTable(NamedTuple):
    """The fields of one table of the file."""

    name: str
    title: str
    fields: tuple[SettingField, ...]


def setting_tables(settings: Settings) -> list[SettingTable]:
    """All tables of single values, with the values that hold now."""
    hints = get_type_hints(Settings)
    return [
        SettingTable(name, TITLES[name], tuple(_fields(name, getattr(settings, name))))
        for name in TITLES if hasattr(hints[name], "__dataclass_fields__")
    ]  # fmt: skip


def changed_values(settings: Settings, form: Form) -> tuple[dict[str, Any], list[str]]:
    """What a form changes, as values by key; and what is wrong with single fields."""
    values: dict[str, Any] = {}
    faults = []
    for table in setting_tables(settings):
        for one in table.fields:
            text = _sent(one, form)
            if text == one.value:
                continue
            try:
                values[one.key] = _value(one.kind, text)
            except ValueError:
                faults.append(f"{one.key}: {text[:40]!r} is no {NUMBERS.get(one.kind, 'value')}")
    return values, faults


NUMBERS = {"whole": "whole number", "number": "number", "day": "day such as 2027-01-31"}


def filled_in(tables: list[SettingTable], form: Form) -> list[SettingTable]:
    """The tables with what was sent, so that nothing is lost where something is refused."""
    return [
        table._replace(fields=tuple(one._replace(value=_sent(one, form)) for one in table.fields))
        for table in tables
    ]


def _sent(one: SettingField, form: Form) -> str:
    if one.kind == "yes":
        return "yes" if form.get(one.key) else ""
    return form.get(one.key).replace("\r\n", "\n").strip("\n" if one.kind == "long" else None)


def _fields(table: str, values: Any) -> Iterator[SettingField]:
    hints = get_type_hints(type(values))
    for one in fields(values):
        key, value = f"{table}.{one.name}", getattr(values, one.name)
        kind = _kind(key, hints[one.name])
        if kind:
            label, _, about = WORDS[key].partition("; ")
            choices = CHOICES.get(key, ())
            text = _text(kind, value)
            if choices and text not in choices:
                choices = (*choices, text)
            yield SettingField(key, label, about, kind, text, choices)


def _kind(key: str, hint: Any) -> str:
    """How a field is asked for; empty where the file itself has to be edited."""
    if key in CHOICES:
        return "choice"
    if get_origin(hint) is tuple:
        return "lines" if hint == tuple[str, ...] else ""
    simple = {str: "text", bool: "yes", int: "whole", float: "number", date | None: "day"}
    kind = simple.get(hint, "")
    return "long" if key in LONG else kind


def _text(kind: str, value: Any) -> str:
    if kind == "yes":
        return "yes" if value else ""
    if kind == "lines":
        return "\n".join(value)
    if kind == "day":
        return value.isoformat() if value else ""
    text = str(value)
    return text.strip("\n") if kind == "long" else text.strip()


def _value(kind: str, text: str) -> Any:
    """What is written into the file; None where the key is taken out."""
    if kind == "yes":
        return bool(text)
    if kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if kind == "day":
        return date.fromisoformat(text) if text else None
    if kind == "whole":
        return int(text)
    return float(text) if kind == "number" else text
