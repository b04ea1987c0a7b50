"""Words: every language says everything, and pages say nothing that is not in a language file."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

from tiewise.study.settings import LANGUAGES
from tiewise.study.signup import SignUpFault
from tiewise.web.app import PROBLEMS
from tiewise.web.rendering import contact, language, paragraphs, preferred

WEB = Path(__file__).parents[2] / "src" / "tiewise" / "web"
PAGES = WEB / "templates" / "judge"
TEMPLATES = {
    str(path.relative_to(PAGES)): path.read_text(encoding="utf-8") for path in PAGES.rglob("*.html")
}
COMPOSED = {
    # Keys that are put together when a page is made.
    *(f"problem.{status}_{part}" for status in PROBLEMS for part in ("title", "text")),
    *(f"problem.{one}_{part}" for one in ("403_cookie", "403_token", "403_site", "404_link")
      for part in ("title", "text")),
    *(f"problem.503_{one}_{part}" for one in ("answer", "form", "unsure", "stopped")
      for part in ("title", "text")),
    *(f"fault.{why}" for why in ("consent", "missing", "choice", "number", "long", "code")),
    *(f"{table}{one}" for table in ("answers.", "pair.key_")
      for one in ("left", "right", "tie", "skip")),
}  # fmt: skip


def used_keys() -> set[str]:
    """Keys that templates and code ask for."""
    keys = set()
    for text in TEMPLATES.values():
        keys |= set(re.findall(r"""translate\(["']([\w.]+)["']""", text))
    for path in WEB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).endswith("translate")
                and node.args
            ):
                key = node.args[0]
                keys |= {key.value} if isinstance(key, ast.Constant) else set()
    return {key for key in keys if "." in key and not key.endswith(("_", "."))} | COMPOSED


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_there_is_something_to_compare():
    assert {"en", "ar"} <= set(LANGUAGES)
    assert len(TEMPLATES) > 10
    assert len(used_keys()) > 100


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_every_word_that_is_said_and_no_other(code):
    assert set(language(code).words) == used_keys()


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_have_the_same_gaps_in_every_language(code):
    english = language("en").words
    words = language(code).words
    assert {key: gaps(text) for key, text in words.items()} == {
        key: gaps(text) for key, text in english.items()
    }


def test_arabic_is_written_in_arabic():
    """But for names of keys and gaps."""
    for key, text in language("ar").words.items():
        plain = re.sub(r"\{\w+\}|Esc", "", text)
        if not key.startswith("pair.key_"):
            assert not re.search("[A-Za-z]", plain), key
            assert re.search("[\u0621-\u064a]", plain) or key == "groups.size", key
    assert language("ar").direction == "rtl"


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_template_has_no_words_of_its_own(name):
    page = TEMPLATES[name].replace("{% block kind %}judging{% endblock %}", "")  # a class
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", page, flags=re.S)
    shown = re.sub(r"<[^>]*>", "", text)
    assert not re.search(r"\w", shown), shown.split()
    for attribute in ("aria-label", "title", "alt", "placeholder"):
        assert not re.findall(rf' {attribute}="[^"]*\w', text)


def test_faults_have_words():
    assert SignUpFault("x", "missing").why in {key.partition(".")[2] for key in COMPOSED}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []), ("one", ["one"]), ("one\ntwo", ["one\ntwo"]), ("one\n\ntwo", ["one", "two"]),
        ("\n\n one \n \n\n two\n", ["one", "two"]),
    ],
)  # fmt: skip
def test_an_empty_line_begins_a_paragraph(text, parts):
    assert paragraphs(text) == parts


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("Samaritans: 116 123", "tel:116123"),
        ("Call +44 (0)114 222 2000, any time", "tel:+4401142222000"),
        ("https://example.org/help.", "https://example.org/help"),
        ("Write to a.b@example.org", "mailto:a.b@example.org"),
        ("javascript:alert(1)", ""),
        ("Your GP", ""),
    ],
)
def test_what_a_tap_on_a_contact_does(text, href):
    assert contact(text) == (text, href)


def test_the_first_language_is_spoken_where_none_fits():
    assert preferred("xx", ["ar", "en"]) == "ar"
