"""Sections of the report: each is one function of the results, and the page follows the list."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from support import report_studies as reports
from support.handmade_results import GOOD, results_of, table_of
from support.report_studies import read_page
from tiewise.criticism.robustness.assessment import Fragility, RobustnessAssessment
from tiewise.criticism.verdict import results_verdict
from tiewise.posterior.results_folder import Results, read_results
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
from tiewise.report.sections.robustness import robustness_section

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


# How few answers decide it.


def fragile(folder, **changes) -> Results:
    """Results that say how few answers decide them."""
    findings = [
        Fragility("first", ("i1",), True, "answers", 1900, 380, 3, "i1", "i2"),
        Fragility("average", ("i2",), True, "answers", 1900, 380, None),
        Fragility("first", ("i1",), True, "judges", 15, 7, 1, "i1", "i3"),
    ]
    results = results_of(folder, table_of([0.9, 0.5, 0.1]), **changes)
    RobustnessAssessment(tuple(findings), pd.DataFrame(), 1).write_facts(folder / "robust.json")
    return results


def test_what_decides_it_is_a_sentence_and_a_table(tmp_path):
    section = robustness_section(fragile(tmp_path))
    sentences, table, _ = section.blocks
    assert sentences.sentences[0] == (
        "Leaving out 3 of 1,900 answers would change the first: Ward B would then be ahead of "
        "Ward A."
    )
    assert table.head == ["What would change", "Answers, of 1,900", "Judges, of 15"]
    assert table.rows == [
        ["Ward A comes first", "3", "1"],
        ["Ward B is above the average", "none of up to 380", "–"],
    ]


def test_nothing_is_said_of_the_first_where_nobody_may_be_named(tmp_path):
    withheld = GOOD.to_dict() | {"headline": False, "withheld": "Too few.", "top": 2}
    assert robustness_section(fragile(tmp_path, verdict=withheld)) is None
    assert robustness_section(results_of(tmp_path / "none", table_of([0.9, 0.1]))) is None


@pytest.mark.parametrize("number", [1, 2])
def test_the_list_has_bands_where_there_are_two(unmapped, tmp_path, number):
    folder = shutil.copytree(unmapped.folder, tmp_path / "banded")
    table = pd.read_csv(folder / "items.csv", dtype=str, keep_default_na=False)
    table["band"] = ["1", *[""] * (len(table) - 2), str(number)]
    table.to_csv(folder / "items.csv", index=False)
    banded = read_results(folder)
    assert results_verdict(banded).headline
    text = rendered(banded, {})
    assert text.count('<span class="besides">band 1</span>') == number - 1
    assert text.count('<span class="besides">band 2</span>') == number - 1
    assert ("of band 1 is higher than every one of band 2" in text) is (number == 2)
