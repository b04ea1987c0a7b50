"""Files of words: made, checked and used by a study; and a researcher's yes to unread ones."""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.form_browser import FIELDS, Visitor
from support.judging import add_judge
from support.site import edited
from tiewise.cli.main import main
from tiewise.errors import InputError
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.app import make_app
from tiewise.web.serving.startup import language_lines
from tiewise.web.words.check import base_keys, file_problems
from tiewise.web.words.language import language
from tiewise.web.words.new_file import add_missing, check_words, make_words
from tiewise.web.words.of_study import language_faults, study_languages
from tiewise.web.words.plurals import RULES, plural_rule

TREES = (
    "item,name,group,name_fr,group_fr,description_fr\n"
    "a,Ash,North,Frêne,Nord,Un arbre\nb,Birch,North,Bouleau,Nord,\nc,Cedar,South,,Sud,\n"
)
FRENCH = 'languages = ["en", "fr"]'


@pytest.fixture
def study(tmp_path) -> Study:
    (tmp_path / "trees.csv").write_text(TREES, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no column of translations is called unused
        return create_study(
            tmp_path / "trees", question="Which is taller?", items=tmp_path / "trees.csv"
        )


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    return result.exit_code, result.output


def translated(path: Path) -> str:
    """The file with every empty text filled in: the English one above it, marked."""
    lines, above = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            above = line[2:].replace('"', "")
        text = f'"¡{above}"'
        lines.append(line if line.startswith("#") else line.replace('""', text))
    return "\n".join(lines).replace('name = "¡', 'name = "', 1)


# Files.


@pytest.mark.parametrize("code", ["de", "pl", "he", "ja", "cy", "zu"])
def test_a_new_file_has_every_text_to_fill_in_and_is_then_whole(study, code):
    path = make_words(study.folder, code)
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    assert {
        f"{table}.{key}" for table, texts in tables.items() if table != "language" for key in texts
    } == base_keys(language("en").words).keys()
    assert all("empty" in str(fault) or "language.name" in str(fault) for fault in
               check_words(study.folder, code))  # fmt: skip
    path.write_text(translated(path), encoding="utf-8")
    assert check_words(study.folder, code) == []
    assert tables["language"]["direction"] == ("rtl" if code == "he" else "ltr")
    assert tables["language"]["read_by_native_speaker"] is False


@pytest.mark.parametrize("code", ["fr", "ar", "en"])
def test_of_a_language_that_we_ship_the_file_has_its_texts(study, code):
    make_words(study.folder, code)
    assert check_words(study.folder, code) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("skip = ", "skipp = ", "page.skipp: no such text; did you mean page.skip?"),
        ("skip = ", "skipp = ", "page.skip: missing; in English: 'Go to the content'"),
        ("[away]", "[gone]", "gone.title: no such text"),
        ('begin = "Commencer"', 'begin = " "', "welcome.begin: empty; in English: 'Begin'"),
        ('begin = "Commencer"', "begin = 1", "welcome.begin: text in quotes was expected, not 1"),
        ("{made}.", ".", "welcome.back: {made} is missing; in English:"),
        ("{made}.", "{cible}", "{cible} is nothing that is filled in here; there are {ma"),
        ("{made}.", "{made.real}", "{made.real} is nothing that is filled in"),
        ("{made}.", "{made:>99}", "{made:>99} is nothing that is filled in"),
        ("{made}.", "{made!r}", "{made!r} is nothing that is filled in"),
        ("{made}.", "{made", "welcome.back: a brace has no partner"),
        ('begin = "Commencer"', 'begin = "{}"', "welcome.begin: {} is nothing that is filled in"),
        ("t = { one = ", "t = { two = ", "cookie_text.two: no such form; there are one, other"),
        ("t = { one = ", "t = { two = ", "cookie_text.one: missing; the forms are one, other"),
        ("cookie_text = {", 'cookie_text = "x" # {', "it holds a number, and needs its forms"),
        ('direction = "ltr"', 'direction = "up"', "language.direction: 'up'; \"ltr\", or \"rtl\""),
        ('name = "Français"', 'name = ""', "language.name: ''; the language in its own words"),
        ('name = "Français"', "", "language.name: missing: the language in its own words"),
        ("native_speaker = false", "native_speaker = 0", "native_speaker: 0; true once a native"),
        ("thousands =", "hundreds =", "language.hundreds: no such key; there are name"),
    ],
)  # fmt: skip
def test_every_fault_of_a_file_has_its_key_and_a_way_out(study, old, new, fault):
    path = make_words(study.folder, "fr")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    lines = [str(problem) for problem in check_words(study.folder, "fr")]
    assert any(fault in line for line in lines), lines


@pytest.mark.parametrize("tables", [{}, {"language": 3}, {"page": 3}, {"page": {"skip": {}}}])
def test_whatever_a_file_holds_is_a_fault_and_no_crash(tables):
    assert file_problems("fr", tables)


def test_texts_that_are_new_are_added_where_they_belong_and_nothing_is_lost(study):
    path = make_words(study.folder, "fr")
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    lines = path.read_text(encoding="utf-8").splitlines()
    fewer = [line for line in lines if not line.startswith(("skip =", "cookie_text ="))]
    start, end = fewer.index("[away]"), fewer.index("[support]")
    path.write_text("\n".join([*fewer[:start], *fewer[end:]]), encoding="utf-8")
    assert add_missing(study.folder, "fr") == 6
    updated = tomllib.loads(path.read_text(encoding="utf-8"))
    assert {table: set(texts) for table, texts in updated.items()} == {
        table: set(texts) for table, texts in whole.items()
    }
    assert updated["page"]["skip"] == ""
    assert updated["page"]["leave"] == whole["page"]["leave"]
    assert add_missing(study.folder, "fr") == 0


# Forms of numbers: what Unicode's CLDR has as examples of each.


@pytest.mark.parametrize(
    ("code", "examples"),
    [
        ("en", {"one": [1], "other": [0, 2, 11, 21]}),
        ("fr", {"one": [0, 1], "other": [2, 17, 101]}),
        ("ja", {"other": [0, 1, 2]}),
        ("ru", {"one": [1, 21, 101], "few": [2, 4, 22, 104], "many": [0, 5, 11, 14, 19, 111]}),
        ("hr", {"one": [1, 21], "few": [2, 23], "other": [0, 5, 12, 20]}),
        ("pl", {"one": [1], "few": [2, 22, 104], "many": [0, 5, 12, 21, 101]}),
        ("cs", {"one": [1], "few": [2, 4], "other": [0, 5, 22]}),
        ("sl", {"one": [1, 101], "two": [2, 102], "few": [3, 4, 103], "other": [0, 5, 105]}),
        ("lt", {"one": [1, 21, 101], "few": [2, 9, 22], "other": [0, 10, 11, 20, 111]}),
        ("lv", {"zero": [0, 10, 11, 20, 111], "one": [1, 21], "other": [2, 9, 22]}),
        ("ro", {"one": [1], "few": [0, 2, 16, 101], "other": [20, 35, 100]}),
        ("ar", {"zero": [0], "one": [1], "two": [2], "few": [3, 10, 103], "many": [11, 26, 111],
                "other": [100, 102, 200]}),
        ("he", {"one": [1], "two": [2], "other": [0, 3, 17]}),
        ("ga", {"one": [1], "two": [2], "few": [3, 6], "many": [7, 10], "other": [0, 11, 25]}),
        ("cy", {"zero": [0], "one": [1], "two": [2], "few": [3], "many": [6], "other": [4, 5, 7]}),
        ("mt", {"one": [1], "two": [2], "few": [0, 3, 10, 103], "many": [11, 19, 111],
                "other": [20, 35, 100]}),
        ("mk", {"one": [1, 21, 101], "other": [0, 2, 11]}),
    ],
)  # fmt: skip
def test_numbers_take_the_forms_that_the_language_has(code, examples):
    rule = plural_rule(code)
    assert {form: [n for n in numbers if rule.form(n) == form]
            for form, numbers in examples.items()} == examples  # fmt: skip


def test_every_form_that_a_number_takes_is_one_that_is_asked_for():
    for rule in RULES.values():
        assert {rule.form(number) for number in range(1000)} <= set(rule.forms)
        assert rule.forms[-1] == "other"


# A yes to what no native speaker has read.


def test_an_unread_language_asks_for_a_yes_in_one_line(study):
    folder = study.folder
    french = edited(study, {'languages = ["en"]': FRENCH})
    code, output = run("check", folder)
    assert code == 2
    (line,) = [line for line in output.splitlines() if "native speaker" in line]
    assert line.startswith("study.languages: no native speaker has read what the site says in 'fr'")
    assert line.endswith('accept_unread = ["fr"]')
    with pytest.raises(InputError, match="no native speaker"):
        language_lines(french)
    agreed = edited(french, {"accept_unread = []": 'accept_unread = ["fr"]'})
    assert language_faults(agreed) == {}
    assert language_lines(agreed) == []
    assert run("check", folder)[0] == 0


def test_a_file_that_a_native_speaker_has_read_needs_no_yes(study):
    french = edited(study, {'languages = ["en"]': FRENCH})
    path = make_words(french.folder, "fr")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("speaker = false", "speaker = true"), encoding="utf-8")
    assert language_faults(french) == {}
    assert language_lines(french) == []


def test_a_language_that_judges_use_is_not_taken_from_them(study):
    """A study of an earlier version goes on, and its researcher is told."""
    arabic = edited(study, {'languages = ["en"]': 'languages = ["en", "ar"]'})
    store = arabic.store()
    add_judge(store, language="ar")
    store.close()
    (line,) = language_lines(arabic)
    assert line.startswith("Note: study.languages: no native speaker has read")


def test_a_yes_is_to_a_language_on_offer(study):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("accept_unread = []", 'accept_unread = ["fr"]'), encoding="utf-8")
    assert check_study(study.folder) == [
        "study.accept_unread: 'fr' is not in study.languages; add it there"
    ]


# The command.


def test_the_command_makes_a_file_checks_it_and_says_what_is_next(study):
    folder, path = study.folder, study.folder / "words" / "de.toml"
    code, output = run("words", folder, "de")
    assert (code, path.is_file()) == (0, True)
    assert re.search(r"Written: .*de\.toml, with \d+ things to fill in", output)
    code, output = run("words", folder, "de")
    assert code == 2
    assert "page.skip: empty; in English: 'Go to the content'" in output
    assert re.search(r"\d+ things to mend in .*de\.toml", output)
    path.write_text(translated(path), encoding="utf-8")
    code, output = run("words", folder, "de")
    assert code == 0
    assert 'To offer it, add "de" to study.languages' in output
    edited(study, {'languages = ["en"]': 'languages = ["en", "de"]'})
    assert "no native speaker has read" in run("words", folder, "de")[1]
    edited(study, {"accept_unread = []": 'accept_unread = ["de"]'})
    assert "Judges are offered it." in run("words", folder, "de")[1]


def test_an_update_says_how_many_texts_it_added(study):
    path = make_words(study.folder, "fr")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('back = "Retour"\n', ""), encoding="utf-8")
    code, output = run("words", study.folder, "fr", "--update")
    assert "1 text added to" in output
    assert "page.back: empty" in output
    assert code == 2


@pytest.mark.parametrize(
    ("folder", "code", "why"),
    [
        ("trees", "Deutsch", "two or three small letters"), ("trees", "../x", "small letters"),
        ("trees", "pt-BR", "two or three small letters"), ("nowhere", "de", "is no study"),
    ],
)  # fmt: skip
def test_what_is_no_language_or_no_study_is_refused(study, folder, code, why):
    status, output = run("words", study.folder.parent / folder, code)
    assert status == 2
    assert why in output


# On the site.


def test_a_language_of_the_studys_own_is_spoken(study):
    path = make_words(study.folder, "de")
    text = translated(path).replace('begin = "¡Begin"', 'begin = "Anfangen"')
    path.write_text(text.replace('name = "', 'name = "Deutsch', 1), encoding="utf-8")
    german = edited(study, {'languages = ["en"]': 'languages = ["de", "en"]'})
    page = Visitor(make_app(german, german.store(), secret="k" * 40)).get("/").text
    assert '<html lang="de" dir="ltr">' in page
    assert "Anfangen" in page
    assert 'hreflang="en"' in page


def test_what_was_chosen_is_named_in_the_language_of_the_judge(study):
    asking = '\n[reasons]\nask = "optional"\n'
    study = edited(study, {'languages = ["en"]': FRENCH}, asking)
    judge = Visitor(make_app(study, study.store(), secret="k" * 40))
    judge.get("/?language=fr")
    judge.join()
    left, right = judge.names()
    side, name = ("right", right) if left == "Cedar" else ("left", left)
    assert name in ("Frêne", "Bouleau")
    judge.judge(side)
    assert judge.path == "/why"
    assert name in judge.answer.text
    assert not {"Ash", "Birch"} & set(re.findall(r"\w+", judge.answer.text))
    judge.send("/why")
    assert judge.path == "/pair"
    assert f"\u2068{name}\u2069" in judge.answer.text  # beside Undo


def test_what_a_file_lacks_or_has_wrong_is_said_in_english(study):
    """Never an error before a judge, whatever became of the file since the site was started."""
    path = make_words(study.folder, "de")
    path.write_text('[page]\nhome = "Anfang"\nback = "{x}"\n[welcome]\nstop = 3\n')
    german = edited(study, {'languages = ["en"]': 'languages = ["de"]'})
    words = study_languages(german)["de"]
    assert words.translate("page.home") == "Anfang"
    assert words.translate("page.back") == "Go back"
    assert words.translate("welcome.begin") == "Begin"
    path.write_text("not TOML")
    assert study_languages(german)["de"].translate("page.home") == "Start page"
    assert Visitor(make_app(german, german.store(), secret="k" * 40)).get("/").status_code == 200
    assert language_faults(german)["de"]


def test_a_language_without_a_file_is_refused_with_the_way_to_make_one(study):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('["en"]', '["de"]'), encoding="utf-8")
    with pytest.raises(InputError, match=r"'de'; there are en, ar, fr, es; for.*tiewise words"):
        Study.open(study.folder)


def test_names_groups_choices_and_contacts_are_translated_and_answers_stay_the_same(study):
    more = FIELDS + (
        '[translations.fr]\nfield_role = "Quel est votre rôle ?"\n'
        'choices_role = ["soins infirmiers", "police"]\nsupport_contacts = ["SOS : 3114"]\n'
    )
    french = edited(study, {'languages = ["en"]': 'languages = ["fr"]'}, more)
    visitor = Visitor(make_app(french, french.store(), secret="k" * 40))
    assert "SOS : 3114" in visitor.get("/support").text
    page = visitor.get("/begin").text
    assert '<option value="nurse">soins infirmiers</option>' in page
    visitor.join("North", about_role="nurse")
    page = visitor.get("/groups").text
    assert re.search(r'value="North".*?<bdi>Nord</bdi>', page)
    page = visitor.get("/pair").text
    assert "<bdi>Frêne</bdi>" in page
    assert "<bdi>Bouleau</bdi>" in page
    assert "<bdi>Nord</bdi>" in page
    assert "Un arbre" in page
    assert "Ash" not in page
    store = french.store()
    (judge,) = store.judge_rows()
    assert store.signup_answers()[judge["id"]]["role"] == "nurse"
    assert store.groups_by_judge()[judge["id"]] == ["North"]


def test_what_has_no_translation_is_shown_as_it_stands(study):
    assert study.items["c"].in_language("fr").name == "Cedar"
    assert study.items["c"].in_language("fr").group == "Sud"
    assert study.items["a"].in_language("ar") == study.items["a"]


def test_translations_of_items_are_looked_over(study):
    edited(study, {'languages = ["en"]': FRENCH, "accept_unread = []": 'accept_unread = ["fr"]'})
    code, output = run("check", study.folder)
    assert code == 0
    assert "items.csv: 1 of 3 items have no name_fr, such as 'Cedar'" in output
    path = study.folder / "items.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("Nord", "Le Nord", 1), encoding="utf-8")
    (fault,) = check_study(study.folder)
    assert "the group 'North' has two names in group_fr, 'Le Nord' and 'Nord'" in fault
    path.write_text(text.replace("Sud", "Nord"), encoding="utf-8")
    (fault,) = check_study(study.folder)
    assert "two groups are called 'Nord' in group_fr" in fault


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('choices_role = ["a"]', "1 texts for 2 choices"),
        ('choices_role = ["a", "a"]', "empty or there twice"),
        ('choices_role = "a"', "a list of texts"),
        ("choices_role = [1, 2]", "a list of texts"),
        ('choices_age = ["a"]', "no sign-up field has this name"),
        ('support_contacts = "x"', "a list of texts"),
    ],
)
def test_faults_of_translated_lists_are_named(study, line, why):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}{FIELDS}[translations.fr]\n{line}\n", encoding="utf-8")
    (fault,) = check_study(study.folder)
    assert fault.startswith(f"translations.fr.{line.split()[0]}: ")
    assert why in fault
