"""What pages say of a pair and of the study: namesakes, the last answer, who runs it, how long."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from sqlalchemy import update

from support.form_browser import Visitor
from support.judging import add_answer, add_judge
from support.reading import png
from support.site import edited
from tiewise.pairing.policies import OrderedPair
from tiewise.study.activity import AnswerTimes
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.schema import offers
from tiewise.study.study import Item, Study
from tiewise.web.app import make_app
from tiewise.web.assets import STATIC
from tiewise.web.judge.pair_words import name_length, what_tells_apart

ABOUT = {
    'organisation = ""': 'organisation = "University of Ashby"',
    'ethics = ""': 'ethics = "Ashby ethics board, 12/34"',
    'contact = ""': 'contact = "Ada Okafor, ada@example.org"',
    'logo = ""': 'logo = "ashby.png"',
}


@pytest.fixture
def study(tmp_path) -> Study:
    rows = "item,name,group\n1,Newton,North\n2,Newton,South\n3,Newton,South\n"
    (tmp_path / "items.csv").write_text(rows, encoding="utf-8")
    return create_study(
        tmp_path / "s", question="Which?", title="Towns", items=tmp_path / "items.csv", target=20
    )


def visitor(study: Study) -> Visitor:
    return Visitor(make_app(study, study.store(), secret="w" * 40))


def test_namesakes_are_told_apart_by_group_or_id():
    north, south, other = (Item(str(k), "Newton", group) for k, group in enumerate("NSS"))
    assert [what_tells_apart(north, south), what_tells_apart(south, north)] == ["N", "S"]
    assert [what_tells_apart(south, other), what_tells_apart(other, south)] == ["1", "2"]
    assert what_tells_apart(north, Item("9", "Ash")) == ""


def test_the_buttons_of_namesakes_differ(study):
    page = visitor(study).join().answer.text
    marks = re.findall(r'<b class="name usual">.*?<small><bdi>(.*?)</bdi>', page, re.S)
    assert len(set(marks)) == 2


def test_a_name_of_many_words_leaves_its_button_to_its_letter():
    assert name_length(Item("1", "Ash"), "") == "usual"
    assert name_length(Item("1", "Stocksbridge and Upper Don"), "") == "long"
    assert name_length(Item("1", "Llanfair" * 8), "") == "too-long"


@pytest.mark.parametrize(
    ("outcome", "shown"), [("left", "Newton"), ("tie", "About equal"), ("skip", "I don’t know")]
)
def test_the_last_answer_is_shown_beside_undo(study, outcome, shown):
    judge = visitor(study).join()
    assert "Last:" not in judge.answer.text
    judge.judge(outcome)
    shown_last = re.search(r'class="undo".*?<small>Last: (.*?)</small>', judge.answer.text)
    assert shown_last is not None
    assert shown_last[1].strip("\u2068\u2069") == shown


def test_a_script_is_answered_with_the_next_page(study):
    judge = visitor(study).join()
    fields = {"token": judge.token, "offer": judge.hidden("offer"), "outcome": "left"}
    for _ in range(2):  # sent again, it changes nothing
        answer = judge.post("/answer", fields, headers={"X-Next-Page": "?"})
        assert (answer.status_code, answer.headers["X-Next-Page"]) == (204, "/pair")
    assert len(list(study.store().rows())) == 1


# Who runs it.


def test_the_first_page_says_who_runs_the_study(study):
    study = edited(study, ABOUT)
    assert any("there is no images/ashby.png" in fault for fault in check_study(study.folder))
    assert visitor(study).get("/logo").status_code == 404
    (study.folder / "images").mkdir(exist_ok=True)
    (study.folder / "images" / "ashby.png").write_bytes(png(60, 20))
    assert check_study(study.folder) == []
    guest = visitor(study)
    page = guest.get("/").text
    for words in ("University of Ashby", "Ashby ethics board, 12/34", "mailto:ada@example.org"):
        assert words in page
    (address,) = re.findall(r'<img src="(/logo\?v=\w+)" alt="University of Ashby">', page)
    logo = guest.get(address)
    assert logo.headers["content-type"] == "image/png"
    assert "max-age=31536000" in logo.headers["cache-control"]


def test_a_logo_that_leads_elsewhere_is_named_and_not_shown(study, tmp_path):
    study = edited(study, ABOUT)
    (tmp_path / "other.png").write_bytes(png(60, 20))
    (study.folder / "images").mkdir(exist_ok=True)
    (study.folder / "images" / "ashby.png").symlink_to(tmp_path / "other.png")
    (fault,) = check_study(study.folder)
    assert "images/ashby.png leads outside images" in fault
    assert visitor(study).get("/logo").status_code == 404


@pytest.mark.parametrize(
    ("swaps", "fault"),
    [
        ({'logo = ""': 'logo = "../secret"', **dict([*ABOUT.items()][:1])}, "about.logo"),
        ({'logo = ""': 'logo = "a.svg"', **dict([*ABOUT.items()][:1])}, "about.logo"),
        ({'logo = ""': 'logo = "a.png"'}, "about.logo_text"),
        ({'leave = "loud"': 'leave = "shrill"'}, "support.leave"),
        ({"minutes = 0": "minutes = -1"}, "study.minutes"),
    ],
)
def test_settings_that_cannot_be_are_named(study, swaps, fault):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in swaps.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    (problem,) = check_study(study.folder)
    assert problem.startswith(f"{fault}: ")


@pytest.mark.parametrize(("leave", "there"), [("loud", 1), ("quiet", 1), ("none", 0)])
def test_the_quick_exit_is_as_loud_as_the_study_says(study, leave, there):
    study = edited(study, {'leave = "loud"': f'leave = "{leave}"'})
    for path in ("/", "/privacy"):
        page = visitor(study).get(path).text
        assert page.count("data-leave") == there
        assert ("takes you to another site" in page) == (there == 1 and path == "/")


# How long it takes.


def test_how_long_it_takes_is_measured_once_there_are_answers(study):
    guest = visitor(edited(study, {"minutes = 0": "minutes = 9"}))
    assert "You compare 20 pairs. It takes about 9 minutes." in guest.get("/").text
    store = study.store()
    judge = add_judge(store)
    for k in range(AnswerTimes.FEWEST):
        offer = add_answer(store, judge, OrderedPair("1", "2"))
        _set_seconds(store, offer, 15 if k else 36_000)  # the first was left open over night
    # 29 of 15 seconds, and a break that counts as 60: 16.5 seconds each, 20 of them.
    assert AnswerTimes(store).seconds() == pytest.approx(16.5, abs=0.1)
    page = visitor(study).get("/").text
    assert "You compare 20 pairs. It takes about 6 minutes." in page


def _set_seconds(store, offer: int, seconds: float) -> None:
    row = next(row for row in store.rows() if row["offer"] == offer)
    shown = row["answered"] - timedelta(seconds=seconds)
    with store.writing() as connection:
        connection.execute(update(offers).where(offers.c.id == offer).values(shown=shown))


# The font.


def test_fonts_have_the_letters_that_they_are_asked_for():
    """At most 90 kB in all, and each file has what its range promises."""
    style = (STATIC / "fonts.css").read_text(encoding="utf-8")
    faces = re.findall(r"url\(([\w.-]+)\).*?unicode-range: (.*?);", style, re.S)
    assert len(faces) == 3
    assert sum(Path(STATIC / name).stat().st_size for name, _ in faces) <= 90_000
    assert "SIL Open Font License" in (STATIC / "vazirmatn-OFL.txt").read_text(encoding="utf-8")
    for name, ranges in faces:
        there = TTFont(STATIC / name).getBestCmap()
        edges = [part.strip()[2:].split("-") for part in ranges.split(",")]
        asked = {
            point for a, *b in edges for point in range(int(a, 16), int((b or [a])[0], 16) + 1)
        }
        assert len(asked & there.keys()) / len(asked) > 0.95
    letters = "".join(map(chr, range(0x21, 0x7F))) + "éñçœßÀÿŸ’“”–—…€"
    assert set(map(ord, letters)) <= TTFont(STATIC / faces[0][0]).getBestCmap().keys()
    assert set(map(ord, "čďěłńőřšťůžğİşțăąęėįųū")) <= (
        TTFont(STATIC / faces[1][0]).getBestCmap().keys()
    )
    assert set(map(ord, "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىءآأإؤئ،؛؟")) <= (
        TTFont(STATIC / faces[2][0]).getBestCmap().keys()
    )


def test_fonts_are_kept_for_a_year(study):
    guest = visitor(study)
    style = guest.get(re.search(r'href="(/static/fonts.css\?v=\w+)"', guest.get("/").text)[1]).text
    (latin, *_) = re.findall(r"url\((vazirmatn-[\w-]+\.woff2\?v=\w+)\)", style)
    font = guest.get(f"/static/{latin}")
    assert font.headers["content-type"] == "font/woff2"
    assert font.headers["cache-control"] == "public, max-age=31536000, immutable"
