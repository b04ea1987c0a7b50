"""Sections of the report: each is one function of the results, and the page follows the list."""

from __future__ import annotations

import pytest

from support import report_studies as reports
from support.report_studies import read_page
from tiewise.posterior.results_folder import Results
from tiewise.report import section as section_module
from tiewise.report.html import rendered
from tiewise.report.section import (
    Bullets,
    DataTable,
    FactList,
    Note,
    Paragraphs,
    Section,
    VerdictBox,
    page_sections,
)
from tiewise.report.sections import SECTIONS

ALWAYS = ["answer", "list", "sure", "ties", "data", "diagnostics", "methods", "words"]


@pytest.fixture(scope="module")
def unmapped(tmp_path_factory) -> Results:
    """A point estimate of items without a map or terms."""
    return reports.STUDIES["point"](tmp_path_factory.mktemp("sections") / "results")


def extra_section(results: Results) -> Section:
    """A section with every kind of block."""
    blocks = (
        Paragraphs(["One sentence."]), Bullets("Cautions", [], otherwise="None at all."),
        FactList([("Label", "value")]), DataTable(("", "Number"), [("row", "7")]),
        VerdictBox("good", "It stands.", ("Because.",)), Note("Small print."),
    )  # fmt: skip
    return Section("extra", "More", "Something more", blocks)


def absent_section(results: Results) -> None:
    """A section that never applies."""


def test_only_sections_that_apply_are_there(unmapped):
    assert [section.key for section in page_sections(unmapped)] == ALWAYS


def test_a_section_is_added_by_adding_its_function(unmapped, monkeypatch):
    """Contents, anchor, heading and every kind of block, without a word in a template."""
    lines = (*SECTIONS, f"{__name__}:extra_section", f"{__name__}:absent_section")
    monkeypatch.setattr(section_module, "SECTIONS", lines)
    text = rendered(unmapped, {})
    assert '<li><a href="#extra">More</a></li>' in text
    section = text[text.index('<section id="extra" aria-labelledby="extra-title">') :]
    pieces = [
        '<h2 id="extra-title">Something more</h2>', "<p>One sentence.</p>", "<h3>Cautions</h3>",
        "<p>None at all.</p>", "<div><dt>Label</dt><dd>value</dd></div>",
        '<th scope="row"><bdi>row</bdi></th><td class="num">7</td>', "<strong>Good.</strong>",
        "<li>Because.</li>", '<p class="small">Small print.</p>',
    ]  # fmt: skip
    places = [section.index(piece) for piece in pieces]
    assert places == sorted(places)


def test_contents_and_sections_agree(unmapped):
    text = rendered(unmapped, {})
    page = read_page(text)
    assert page is not None
    for key in ALWAYS:
        assert text.count(f'href="#{key}"') >= 1
        assert text.count(f'id="{key}"') == 1
