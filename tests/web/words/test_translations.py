"""Words: every language says everything, and pages say nothing that is not in a language file."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from pathlib import Path

import pytest

from tiewise.study.signup import SignUpFault
from tiewise.study.words.languages import LANGUAGES
from tiewise.web.app import PROBLEMS
from tiewise.web.rendering import contact, paragraphs
from tiewise.web.words.check import file_problems
from tiewise.web.words.language import language, preferred

WEB = Path(__file__).parents[3] / "src" / "tiewise" / "web"
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
    *(f"answers.more_{strength}_of_{levels}" for levels in (2, 3)
      for strength in range(1, levels + 1)),
    "pair.key_grade",
    "sheet.tick", "sheet.practice",  # on paper
    *(f"about.{key}" for key in ("organisation", "ethics", "contact")),
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
    assert {"en", "ar", "fr", "es"} == set(LANGUAGES)
    assert {path.stem for path in (WEB / "words").glob("*.toml")} == set(LANGUAGES)
    assert len(TEMPLATES) > 10
    assert len(used_keys()) > 100


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_every_word_that_is_said_and_no_other(code):
    assert {".".join(key.split(".")[:2]) for key in language(code).words} == used_keys()


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_have_the_same_gaps_in_every_language(code):
    """Forms for small numbers may do without the number: "a day"."""
    english = language("en").words
    for key, text in language(code).words.items():
        of = english.get(".".join((*key.split(".")[:2], "other"))) or english[key]
        small = key.endswith((".zero", ".one", ".two"))
        assert gaps(text) == gaps(of) or (small and gaps(text) == gaps(of) - {"count"}), key


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_the_check_finds_nothing_in_the_languages_that_we_ship(code):
    tables = tomllib.loads((WEB / "words" / f"{code}.toml").read_text(encoding="utf-8"))
    assert file_problems(code, tables) == []


@pytest.mark.parametrize("code", ["ar", "fr", "es"])
def test_a_language_says_itself_that_no_native_speaker_has_read_it(code):
    assert language(code).unread
    assert "read_by_native_speaker = false" in (WEB / "words" / f"{code}.toml").read_text("utf-8")
    assert not language("en").unread


@pytest.mark.parametrize("code", ["ar", "fr", "es"])
def test_hardly_a_text_is_left_in_english(code):
    """Marks of sides, keys and numbers in brackets are the same in several languages."""
    english = language("en").words
    same = {key for key, text in language(code).words.items() if english.get(key) == text}
    assert same <= {
        "groups.size", "pair.mark_left", "pair.mark_right", "pair.key_grade", "pair.key_undo",
        "pair.key_leave", "reading.key_sizes", "reading.key_pages", "reading.key_panes",
    }  # fmt: skip


def test_french_has_its_spaces_where_lines_must_not_break():
    """Narrow before ; ? ! and whole before : and inside « », as French printers do it."""
    for key, text in language("fr").words.items():
        assert not re.search("(?<!\u202f)[;?!]", text), key
        assert not re.search("(?<!\u00a0)[:»]|«(?!\u00a0)", text), key
        assert not re.search("['\"]|“|”", text), key


def test_spanish_opens_its_questions_and_has_no_space_before_signs():
    for key, text in language("es").words.items():
        assert text.count("?") == text.count("¿"), key
        assert not re.search(r"\s[:;?!»]|«\s", text), key
        assert not re.search("['\"]|“|”", text), key


@pytest.mark.parametrize(
    ("code", "familiar"),
    [("fr", r"\b(tu|toi|ton|ta|tes)\b"), ("es", r"\b(tú|ti|tu|tus|contigo|vosotros|puedes)\b")],
)
def test_judges_are_addressed_formally(code, familiar):
    for key, text in language(code).words.items():
        assert not re.search(familiar, text, re.IGNORECASE), key


@pytest.mark.parametrize(
    ("code", "number", "written"),
    [
        ("en", 999, "999"), ("en", 12345, "12,345"), ("fr", 1234, "1\u202f234"),
        ("es", 1234, "1234"), ("es", 12345, "12\u202f345"), ("ar", 12345, "12,345"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_the_language_does(code, number, written):
    assert written in language(code).translate("thanks.made", made=number)


@pytest.mark.parametrize(
    ("code", "day", "written"),
    [
        ("en", 1, "1 day."), ("en", 90, "90 days."), ("fr", 0, "0 jour."), ("fr", 2, "2 jours."),
        ("es", 1, "1 día."), ("ar", 1, "يومًا واحدًا."), ("ar", 2, "يومين."), ("ar", 7, "7 أيام."),
        ("ar", 90, "90 يومًا."), ("ar", 100, "100 يوم."),
    ],
)  # fmt: skip
def test_a_text_takes_the_form_of_its_number(code, day, written):
    assert written in language(code).translate("privacy.cookie_text", count=day)


def test_arabic_is_written_in_arabic():
    """But for names of keys and gaps."""
    for key, text in language("ar").words.items():
        plain = re.sub(r"\{\w+\}|Esc", "", text)
        if not key.startswith(("pair.key_", "reading.key_")):
            assert not re.search("[A-Za-z]", plain), key
            assert re.search("[\u0621-\u064a]", plain) or key == "groups.size", key
    assert language("ar").direction == "rtl"


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_template_has_no_words_of_its_own(name):
    page = re.sub(r"\{% block kind %\}.*?\{% endblock %\}", "", TEMPLATES[name])  # a class
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


def test_a_language_is_told_by_its_whole_code():
    """Filipino is not Finnish, and French of Canada is French."""
    assert preferred("fil,fr;q=0.5", ["fi", "fr"]) == "fr"
    assert preferred("fr-CA,en;q=0.5", ["en", "fr"]) == "fr"
