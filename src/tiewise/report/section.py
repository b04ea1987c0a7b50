"""A section of the report: its anchor, its headings, and the blocks it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from tiewise.posterior.results_folder import Results
from tiewise.registry import load
from tiewise.report.sections import SECTIONS


class SectionBlock(Protocol):
    """A part of a section; `template` is the file in templates/ that renders it as `block`."""

    @property
    def template(self) -> str:
        """The file, from templates/."""


class Section(NamedTuple):
    """A section: the anchor, its entry in the contents, its heading, and what it holds."""

    key: str
    link: str
    title: str
    blocks: tuple[SectionBlock, ...]


@dataclass(frozen=True)
class Paragraphs:
    """Sentences, a paragraph each."""

    sentences: Sequence[str]
    template: ClassVar[str] = "blocks/paragraphs.html.jinja"


@dataclass(frozen=True)
class Bullets:
    """Sentences as a list under a heading; where there are none, another sentence."""

    heading: str
    sentences: Sequence[str]
    otherwise: str
    template: ClassVar[str] = "blocks/bullets.html.jinja"


@dataclass(frozen=True)
class Note:
    """A sentence in small print."""

    text: str
    template: ClassVar[str] = "blocks/note.html.jinja"


def not_meant(text: str) -> Note:
    """What a section about a term does not mean."""
    return Note(f"What this does not mean: {text}")


@dataclass(frozen=True)
class FactList:
    """Labels, each with its value."""

    rows: Sequence[tuple[str, str]]
    template: ClassVar[str] = "blocks/facts.html.jinja"


@dataclass(frozen=True)
class DataTable:
    """A table: words in the first column, numbers in the others; nothing where it has no rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    template: ClassVar[str] = "blocks/table.html.jinja"


@dataclass(frozen=True)
class VerdictBox:
    """A verdict, `good`, `care` or `stop`, with its reasons."""

    level: str
    text: str
    reasons: Sequence[str] = ()
    template: ClassVar[str] = "blocks/verdict.html.jinja"


@dataclass(frozen=True)
class PictureRow:
    """Pictures by their names; one that was not drawn is left out."""

    names: Sequence[str]
    template: ClassVar[str] = "blocks/pictures.html.jinja"


@dataclass(frozen=True)
class Fragment:
    """HTML of its own, from a file in templates/sections, which gets `block.values`."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def template(self) -> str:
        """The file of the fragment."""
        return f"sections/{self.name}.html.jinja"


def page_sections(results: Results) -> list[Section]:
    """The sections that apply to these results, in their order."""
    sections = (load(line)(results) for line in SECTIONS)
    return [section for section in sections if section is not None]
