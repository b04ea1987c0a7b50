"""Setting up and running studies in the browser: settings, items, previews, copies, the archive."""

from __future__ import annotations

import os
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import is_dataclass
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

import pytest

from support.form_browser import Visitor
from support.host_site import Member, opened, small_study
from support.item_files import pdf, saved, scan, sound, write
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.hosting import items_table, lifecycle
from tiewise.hosting.drafts import Quotas, nameless_draft, remove_abandoned
from tiewise.hosting.items_table import items_version
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.media.library import MediaLibrary
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.settings import TRANSLATED, Settings
from tiewise.study.study import Study
from tiewise.study.toml.key_types import build
from tiewise.study.values import Phase, Role
from tiewise.web.host.settings_fields.lists import REFUSED
from tiewise.web.host.settings_form import setting_tables

AT = "/site/studies/green"


@pytest.fixture
def home(tmp_path) -> Path:
    study = small_study(tmp_path / "site", "green", "item,name\nx,a\ny,b\nz,c\n")
    table = study.folder / "items.csv"
    table.write_text("item,name,note\nx,a,1\ny,b,2\nz,c,3\n")  # a column of somebody else's
    store = study.store()
    ResearcherStore(store).set_phase(Phase.PAUSED)
    store.close()
    return tmp_path / "site"


@pytest.fixture
def app(home) -> Any:
    return opened(home)


@pytest.fixture
def ada(app) -> Member:
    return Member(app).come_in("Ada")


def fresh(app: Any) -> None:
    """Have the site look at the folders at once, and not within half a second."""
    app.state.site.studies._checked.clear()


def store(home: Path, name: str = "green") -> Any:
    return Study.open(home / name).store()


def set_phase(who: Member, phase: str) -> None:
    who.get(AT)
    who.send(f"{AT}/phase", phase)


def judged(app: Any, home: Path, name: str = "green") -> Visitor:
    """A judge who has answered one pair."""
    researchers = ResearcherStore(store(home, name))
    before = researchers.phase()
    researchers.set_phase(Phase.OPEN)
    app.state.site.studies.opened()[name].state.site.phase_cache.invalidate()
    judge = Visitor(app)
    judge.get(f"/{name}/begin")
    consent = next(t["value"] for _, t in judge.page.tags if t.get("name") == "consent")
    judge.send(f"/{name}/begin", consent=consent)
    judge.send(f"/{name}/answer", "left")
    researchers.set_phase(before)
    app.state.site.studies.opened()[name].state.site.phase_cache.invalidate()
    return judge


def judgements(home: Path, name: str = "green") -> int:
    return len(list(store(home, name).rows()))


# Settings.


def test_the_form_writes_what_a_person_would_have_written(ada, home, app):
    path = home / "green" / "study.toml"
    before = path.read_text()
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.target": "12", "about.contact": 'Ann "Q" Ö'})
    assert "settings are saved" in ada.answer.text
    changed = {
        "target = 30                     #": "target = 12                     #",
        'contact = ""                    #': 'contact = "Ann \\"Q\\" Ö"                    #',
    }
    for old, new in changed.items():
        assert old in before
        before = before.replace(old, new)
    assert path.read_text() == before
    fresh(app)
    assert "Ö" in Visitor(app).get("/green/privacy").text
    log = next(ResearcherStore(store(home)).audit_log())
    assert (log["name"], log["about"]) == ("Ada", "study.target, about.contact")


def test_the_form_sent_back_untouched_changes_nothing(ada, home):
    path = home / "green" / "study.toml"
    before = path.read_bytes()
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings")
    assert "settings are saved" in ada.answer.text
    assert path.read_bytes() == before


def keys_of(kind: Any, at: str = "") -> Iterator[str]:
    """Every key that a table of `study.toml` may have, and those of tables in it."""
    for name, hint in get_type_hints(kind).items():
        parts = [part for part in (hint, *get_args(hint)) if is_dataclass(part)]
        if not parts or type(None) in get_args(hint):
            yield at + name
        if parts:
            yield from keys_of(parts[0], f"{at}{name}.")


def offered(settings: Settings) -> set[str]:
    """The keys that the form offers, without the numbers of entries."""
    keys = {one.key for table in setting_tables(settings) for one in table.all_fields()}
    return {re.sub(r"\.\d+", "", key) for key in keys if not key.endswith(".remove")}


def test_the_form_offers_every_setting_that_there_is(home):
    """What is refused there is listed by name, with a reason."""
    settings = Study.open(home / "green").settings
    there = set(keys_of(Settings)) - {"translations"}
    assert len(there) > 80
    assert offered(settings) == there - set(REFUSED)
    assert set(REFUSED) <= there
    assert all(REFUSED.values())


EVERYTHING = """
[[judges.fields]]
name = "role"
label = "Role?"
kind = "choice"
choices = ["nurse", "other"]
[[questions]]
id = "style"
question = "Better style?"
answers = { left = "This" }
[[questions]]
id = "facts"
question = "More facts?"
[[practice]]
left = "x"
right = "y"
why = "Because."
[reasons]
ask = "optional"
question = "Why?"
choices = ["short", "long"]
"""


def test_the_form_offers_every_text_in_every_other_language(home):
    """All that has words: those of the study itself, of its lists, and of those that we know."""
    text = (home / "green" / "study.toml").read_text()
    tables = tomllib.loads(text + EVERYTHING)
    tables["study"] |= {"languages": ["en", "fr"], "welcome": "Come in"}
    tables["about"] |= dict.fromkeys(("organisation", "ethics", "contact", "logo_text"), "Us")
    tables["support"]["contacts"] = ["Help: 1"]
    tables["answers"] |= dict.fromkeys(("left", "right", "tie", "skip"), "Word")
    settings = build(Settings, tables)
    keys = {key.removeprefix("translations.fr.") for key in offered(settings)
            if key.startswith("translations.")}  # fmt: skip
    graded = {f"answers_{side}_{k}" for side in ("left", "right") for k in (2, 3)}
    assert keys == set(TRANSLATED) - graded | {
        "support_contacts", "field_role", "choices_role", "question_style", "question_facts",
        "question_style_left", "practice_1", "reason_1", "reason_2",
    }  # fmt: skip


def test_lists_and_the_panel_are_edited_in_the_form_and_remarks_stay(ada, home):
    path = home / "green" / "study.toml"
    before = path.read_text()
    remarks = [line for line in before.splitlines() if line.startswith("#")]
    at = f"{AT}/settings"
    first = {
        "panel.identifiers": "PROLIFIC_PID\nSTUDY_ID", "panel.completion_code": "C0DE",
        "anchors.1.item": "x", "anchors.1.value": "1.5", "anchors.1.sd": "0.2",
        "anchors.3.item": "z", "anchors.3.value": "-1", "anchors.3.sd": "0.3",
        "judges.fields.1.name": "role", "judges.fields.1.label": "Your role?",
        "practice.1.left": "x", "practice.1.right": "y", "practice.1.answer": "left",
        "study.languages": "en\nfr",
    }  # fmt: skip
    ada.get(at)
    ada.send(at, **first)
    assert "settings are saved" in ada.answer.text, ada.answer.text
    settings = Study.open(home / "green").settings
    assert settings.panel.identifiers == ("PROLIFIC_PID", "STUDY_ID")
    assert [(one.item, one.value) for one in settings.anchors] == [("x", 1.5), ("z", -1.0)]
    assert settings.judges.fields[0].label == "Your role?"
    assert settings.practice[0].answer == "left"
    ada.get(at)
    ada.send(at, **{
        "anchors.2.sd": "0.25", "translations.fr.study_title": "Vert", "practice.1.remove": "yes",
        "practice.1.why": "never kept",
    })  # fmt: skip
    settings = Study.open(home / "green").settings
    assert (settings.anchors[1].sd, settings.practice) == (0.25, ())
    assert settings.word("study.title", "fr") == "Vert"
    after = path.read_text()
    assert [line for line in after.splitlines() if line.startswith("#")] == remarks
    assert "[[practice]]\nleft" not in after
    ada.get(at)
    ada.send(at, **{f"anchors.{k}.remove": "yes" for k in (1, 2)})
    assert Study.open(home / "green").settings.anchors == ()


def test_questions_get_answers_of_their_own_and_lose_them_again(ada, home):
    at = f"{AT}/settings"
    ada.get(at)
    ada.send(at, **{
        "questions.1.id": "style", "questions.1.question": "Better style?",
        "questions.2.id": "facts", "questions.2.question": "More facts?",
        "questions.2.answers.grades": "5",
    })  # fmt: skip
    style, facts = Study.open(home / "green").settings.questions
    assert (style.answers, facts.answers.grades) == (None, 5)
    ada.get(at)
    ada.post(at, {
        name: value for name, value in form_values(ada, at).items()
        if name != "questions.2.answers"
    } | {"questions.1.weight": "2"})  # fmt: skip
    style, facts = Study.open(home / "green").settings.questions
    assert (style.weight, facts.answers) == (2.0, None)


def form_values(who: Member, action: str) -> dict[str, Any]:
    """The fields of a form, as they would be sent."""
    form = next(one for one in who.page.forms if urlsplit(one.action).path == action)
    return dict(form.fields)


def test_a_fault_in_a_list_is_told_by_its_place_and_nothing_is_lost(ada, home):
    path, at = home / "green" / "study.toml", f"{AT}/settings"
    before = path.read_bytes()
    ada.get(at)
    ada.send(at, **{"anchors.1.item": "x", "anchors.1.value": "much"})
    assert "anchors[1].value: &#39;much&#39; is no number" in ada.answer.text
    ada.send(at, **{"anchors.1.value": "2"})
    assert "anchors[1].sd: missing" in ada.answer.text.lower().replace("Anchors", "anchors")
    assert path.read_bytes() == before
    ada.send(at, **{
        "anchors.1.sd": "1", "anchors.2.item": "y", "anchors.2.value": "0", "anchors.2.sd": "1",
    })  # fmt: skip
    assert len(Study.open(home / "green").settings.anchors) == 2


def test_faults_are_told_and_nothing_is_saved_or_lost(ada, home):
    path = home / "green" / "study.toml"
    before = path.read_bytes()
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.target": "0", "study.title": "Kept <b>"})
    assert ada.answer.status_code == 422
    assert "study.target: 0; ask for one comparison or more" in ada.answer.text.lower()
    assert 'value="Kept &lt;b&gt;"' in ada.answer.text
    ada.send(f"{AT}/settings", **{"study.target": "many"})
    assert "no whole number" in ada.answer.text
    assert path.read_bytes() == before


def test_the_second_of_two_owners_is_told(ada, app, home):
    bob = Member(app).come_in("Bob")
    for who in (ada, bob):
        who.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.title": "Of Ada"})
    bob.send(f"{AT}/settings", **{"study.title": "Of Bob"})
    assert bob.answer.status_code == 422
    assert "Somebody else has changed" in bob.answer.text
    assert "Of Ada" in bob.answer.text
    assert Study.open(home / "green").settings.study.title == "Of Ada"
    ada.get(f"{AT}/file")
    bob.get(f"{AT}/file")
    ada.send(f"{AT}/file", text=(home / "green" / "study.toml").read_text() + "# Ada\n")
    bob.send(f"{AT}/file", text=(home / "green" / "study.toml").read_text() + "# Bob\n")
    assert "Somebody else has changed" in bob.answer.text
    assert (home / "green" / "study.toml").read_text().endswith("# Ada\n")


def test_what_answers_mean_is_not_changed_under_them(ada, app, home):
    judged(app, home)
    path = home / "green" / "study.toml"
    before = path.read_bytes()
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.question": "Which is worse?"})
    assert "answers were given to" in ada.answer.text
    ada.get(f"{AT}/file")
    ada.send(f"{AT}/file", text=path.read_text().replace("ties = true", "ties = false"))
    assert "answers were given to" in ada.answer.text
    assert path.read_bytes() == before


def test_what_is_asked_changes_only_while_nobody_is_asked(ada, home):
    set_phase(ada, "open")
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.question": "Which is worse?"})
    assert "pause the study first" in ada.answer.text
    set_phase(ada, "paused")
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.question": "Which is worse?"})
    assert Study.open(home / "green").settings.study.question == "Which is worse?"


# Items.


def test_items_are_hidden_retired_and_shown_again(ada, app, home):
    small = home / "green" / "items.csv"
    ada.get(f"{AT}/items")
    ada.send(f"{AT}/items/add", name="=d", item="w")
    ada.send(f"{AT}/items", item="x", do="hidden")
    assert Study.open(home / "green").items["w"].name == "=d"
    assert Study.open(home / "green").asked_items == ("y", "z", "w")
    assert "note" in small.read_text().splitlines()[0]  # a column of somebody else's
    ada.send(f"{AT}/items", item="y", do="retired")
    ada.send(f"{AT}/items", item="z", do="hidden")
    assert "needs two items" in ada.answer.text
    ada.get(f"{AT}/items")
    ada.send(f"{AT}/items", item="x", do="shown")
    assert Study.open(home / "green").asked_items == ("x", "z", "w")


def test_nobody_is_asked_about_a_hidden_item(ada, app, home):
    ada.get(f"{AT}/items")
    ada.send(f"{AT}/items", item="x", do="hidden")
    fresh(app)
    judge = judged(app, home)
    rows = list(store(home).rows())
    assert {rows[0]["left"], rows[0]["right"]} == {"y", "z"}
    assert judge.answer.status_code == 200


def test_an_item_with_answers_is_never_deleted(ada, app, home):
    judged(app, home)
    (row,) = store(home).rows()
    ada.get(f"{AT}/items")
    ada.send(f"{AT}/items", item=row["left"], do="removed")
    assert "retire it" in ada.answer.text
    free = ({"x", "y", "z"} - {row["left"], row["right"]}).pop()
    ada.send(f"{AT}/items/add", name="d", item="w")
    ada.send(f"{AT}/items", item=free, do="removed")
    assert free not in Study.open(home / "green").items


ANCHOR = '\n[[anchors]]\nitem = "{0}"\nvalue = {1}\nsd = 0.1\n'


@pytest.mark.parametrize(
    ("file", "more", "says"),
    [
        ("study.toml", ANCHOR.format("x", 0) + ANCHOR.format("y", 1), "is an anchor"),
        ("study.toml", '\n[[practice]]\nleft = "x"\nright = "y"\n', "a pair for practice"),
        ("design.csv", "judge,left,right\nAnn,x,y\nAnn,y,z\n", "the lists of the design"),
    ],
)  # fmt: skip
def test_an_item_that_the_study_speaks_of_elsewhere_is_not_taken_out(ada, home, file, more, says):
    """Without it, the study could not be opened any more, or its check would fail."""
    path = home / "green" / file
    path.write_text((path.read_text() if path.exists() else "") + more)
    before = (home / "green" / "items.csv").read_bytes()
    assert check_study(home / "green") == []
    ada.get(f"{AT}/items")
    ada.send(f"{AT}/items/add", name="d", item="w")
    ada.send(f"{AT}/items", item="x", do="removed")
    assert ada.answer.status_code == 422
    assert says in ada.answer.text
    assert (home / "green" / "items.csv").read_bytes().startswith(before)
    assert check_study(home / "green") == []
    ada.send(f"{AT}/items", item="x", do="hidden")
    assert "x" not in Study.open(home / "green").asked_items


def test_a_check_finds_answers_whose_item_is_missing(app, home):
    judged(app, home)
    (row,) = store(home).rows()
    table = home / "green" / "items.csv"
    rows = [line for line in table.read_text().splitlines() if not line.startswith(row["left"])]
    assert check_study(home / "green") == []
    table.write_text("\n".join(rows) + "\n")
    (fault,) = check_study(home / "green")
    assert f"answers about 1 item that it does not have ({row['left']!r})" in fault


# Items with files.


WRITING = "/site/studies/writing"


@pytest.fixture
def essays(app, home, tmp_path) -> Path:
    """A study of essays on the site."""
    texts = {"Ann.txt": "Ann wrote this.", "Bo.txt": "Bo wrote that."}
    study = create_study(
        home / "writing", question="Which is better?", items=write(tmp_path / "in", texts)
    )
    ResearcherStore(study.store()).set_phase(Phase.PAUSED)
    return study.folder


def add_file(who: Member, file: str, body: str | bytes, **fields: str) -> Any:
    """Add an item with a file, in the form of the page of items."""
    content = body.encode() if isinstance(body, str) else body
    return add_files(who, [("file", (file, content))], **fields)


def add_files(who: Member, files: list[Any], **fields: str) -> Any:
    who.get(f"{WRITING}/items")
    known = {"token": who.token, "version": who.hidden("version")}
    who.answer = who.client.post(f"{WRITING}/items/files", data=known | fields, files=files)
    return who.answer


def all_of(folder: Path) -> dict[str, bytes]:
    """What the study shows: its table, and copies with their index."""
    paths = [folder / "items.csv", *(folder / "media").iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def test_a_late_essay_is_judged_and_the_study_is_sound(ada, app, home, essays):
    fresh(app)
    assert Visitor(app).get("/writing/").status_code == 200
    assert "is added" in add_file(ada, "Cy.md", "# Late\n\nCy wrote *this*, too.").text
    item = Study.open(essays).items["Cy"]
    assert (item.name, item.file) == ("Cy", "Cy.md")
    assert "is added" in add_file(ada, "=late.txt", "Di.", name="Di", item="d").text
    assert Study.open(essays).items["d"].file == "=late.txt"
    assert check_study(essays) == []
    assert list((home / ".uploads").iterdir()) == []
    for gone in ("Ann", "d"):
        ada.get(f"{WRITING}/items")
        ada.send(f"{WRITING}/items", item=gone, do="hidden")
    ResearcherStore(store(home, "writing")).set_phase(Phase.OPEN)
    fresh(app)
    app.state.site.studies.opened()["writing"].state.site.phase_cache.invalidate()
    judge = Visitor(app)
    judge.get("/writing/begin")
    consent = next(t["value"] for _, t in judge.page.tags if t.get("name") == "consent")
    judge.send("/writing/begin", consent=consent)
    assert judge.path == "/writing/pair"
    assert "Cy wrote <em>this</em>, too." in judge.answer.text
    assert "Bo wrote that." in judge.answer.text
    judge.send("/writing/answer", "left")
    (row,) = store(home, "writing").rows()
    assert {row["left"], row["right"]} == {"Bo", "Cy"}
    log = [row["what"] for row in ResearcherStore(store(home, "writing")).audit_log()]
    assert log.count("item added") == 2


def test_pictures_and_pdf_are_added_in_their_own_form(ada, app, home, essays):
    assert "is added" in add_file(ada, "page.png", saved(scan()), description="A page").text
    assert "is added" in add_file(ada, "Eve.pdf", pdf(["One", "Two"]), name="By Eve").text
    library = MediaLibrary.open(essays)
    items = Study.open(essays).items
    kinds = {item.name: library.items[item.file].kind for item in items.values()}
    assert kinds == {"Ann": "text", "Bo": "text", "page": "picture", "By Eve": "scan"}
    assert len(library.items["Eve.pdf"].pages) == 2
    assert check_study(essays) == []


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("Copy.txt", "Ann wrote this.", "has the same content as Ann.txt"),
        ("Ann.txt", "Something else.", "an item called &#39;Ann&#39; already"),
        ("ann.txt", "Something else.", "differ in upper and lower case alone"),
        ("Cy.docx", "PK", "save it as PDF"),
        ("Cy.exe", "MZ", "cannot be shown in a browser"),
        ("Cy.png", "no picture", "its ending says PNG picture"),
        ("Cy.pdf", b"%PDF-1.4\nbroken", "Cy.pdf"),
        ("Cy.txt", "", "is empty"),
        ("Cy.txt", "word " * 30_000, "30,000 words"),
        (".Cy.txt", "Hidden.", "cannot be called"),
        ("", "", "Choose the file of the item"),
    ],
)
def test_a_file_that_could_not_be_compared_is_told_and_nothing_changes(
    ada, home, essays, name, body, says
):
    before = all_of(essays)
    answer = add_file(ada, name, body)
    assert (answer.status_code, says in answer.text) == (422, True), answer.text
    assert str(home) not in answer.text
    assert all_of(essays) == before
    assert list((home / ".uploads").iterdir()) == []


def test_one_file_with_a_free_name_and_id_is_asked_for(ada, essays):
    before = all_of(essays)
    two = [("file", (name, b"Some words.")) for name in ("1.txt", "2.txt")]
    assert "Choose one file" in add_files(ada, two).text
    assert "another id" in add_file(ada, "Cy.txt", "Words.", item="Ann").text
    assert "read as nothing" in add_file(ada, "Cy.txt", "Words.", item="NA").text
    assert "rename this one" in add_file(ada, "Ann.txt", "Words.", name="Ann II").text
    assert "nothing of yours was kept" in add_file(ada, "Cy.txt", "Words.", version="old").text
    assert "read as nothing" in add_file(ada, "NA.txt", "Words.").text
    assert all_of(essays) == before


@pytest.mark.parametrize("limit", ["file", "study", "megabytes", "total"])
def test_an_item_is_no_larger_than_the_site_and_the_study_allow(home, essays, limit):
    quotas = Quotas(file=1) if limit == "file" else Quotas(study=1)
    if limit in ("megabytes", "total"):
        quotas, path = Quotas(), essays / "study.toml"
        changed, times = re.subn(rf"(?m)^{limit} *= *\d+", f"{limit} = 1", path.read_text())
        assert times == 1
        path.write_text(changed)
    ada = Member(opened(home, quotas=quotas)).come_in("Ada")
    before = all_of(essays)
    answer = add_file(ada, "Cy.wav", sound(90))  # 1.4 MB
    assert (answer.status_code, "MB" in answer.text) == (422, True), answer.text
    assert all_of(essays) == before
    assert list((home / ".uploads").iterdir()) == []


def test_a_study_with_groups_asks_for_that_of_a_late_essay(ada, home, tmp_path):
    table = "name,file,group,item\na,a.txt,Year 5,1\nb,b.txt,Year 6,2\nc,c.txt,Year 6,3\n"
    texts = {f"{name}.txt": f"By {name}." for name in "abc"}
    folder = write(tmp_path / "in", {**texts, "items.csv": table})
    study = create_study(home / "writing", question="Which?", items=folder).folder
    assert "Choose a group" in add_file(ada, "d.txt", "By d.").text
    assert "is added" in add_file(ada, "d.txt", "By d.", group="Year 5").text
    item = Study.open(study).items["4"]
    assert (item.name, item.group, item.file) == ("d", "Year 5", "d.txt")
    assert check_study(study) == []


def test_a_design_stays_as_it_is_when_an_essay_is_added(ada, essays):
    (essays / "design.csv").write_text("judge,left,right\nEva,Ann,Bo\n")
    assert "is added" in add_file(ada, "Cy.txt", "Cy wrote this.").text
    assert check_study(essays) == []
    assert Study.open(essays).design.items == ("Ann", "Bo")


def test_only_whoever_may_change_a_study_adds_a_file(ada, app, home, essays):
    before = all_of(essays)
    fields = {"token": "", "version": items_version(essays)}
    file = {"file": ("Cy.txt", b"Words.")}
    viewer = Member(app).come_in("Vi", Role.VIEWER)
    viewer.get("/site/you")
    ada.get(f"{WRITING}/items")
    for who, token, status in (
        (viewer, viewer.token, 403), (ada, "", 403), (ada, "wrong", 403),
    ):  # fmt: skip
        answer = who.client.post(
            f"{WRITING}/items/files", data=fields | {"token": token}, files=file
        )
        assert answer.status_code == status
    stranger = Visitor(app).client.post(f"{WRITING}/items/files", data=fields, files=file)
    assert stranger.url.path == "/sign-in"
    assert ada.client.post(f"{WRITING}/items/files", data=fields).status_code == 415
    assert all_of(essays) == before
    assert list((home / ".uploads").iterdir()) == []


def test_files_are_for_studies_whose_items_have_some(ada, app, home, essays):
    """Nor is an item without a file added to those."""
    ada.get(f"{AT}/items")
    assert 'enctype="multipart/form-data"' not in ada.answer.text
    fields = {"token": ada.token, "version": ada.hidden("version")}
    answer = ada.client.post(f"{AT}/items/files", data=fields, files={"file": ("d.txt", b"Words.")})
    assert (answer.status_code, "have no files" in answer.text) == (422, True)
    ada.get(f"{WRITING}/items")
    fields = {"token": ada.token, "version": ada.hidden("version"), "name": "Cy"}
    answer = ada.client.post(f"{WRITING}/items/add", data=fields)
    assert (answer.status_code, "have files" in answer.text) == (422, True)
    Areas.synthetic(6, rng=1).to_gpkg(home / "green" / "areas.gpkg")
    for path, more in (("add", {}), ("files", {"files": {"file": ("d.txt", b"Words.")}})):
        answer = ada.client.post(f"{AT}/items/{path}", data=fields, **more)
        assert (answer.status_code, "the areas of its map" in answer.text) == (422, True)


@pytest.mark.parametrize("cut", ["index", "table"])
def test_a_study_is_sound_wherever_the_adding_of_a_file_is_cut_off(
    ada, home, essays, monkeypatch, cut
):
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    draft = nameless_draft(SiteFolder(home))
    (draft.files_folder / "Cy.txt").write_text("Cy wrote this.")
    args = (essays, {}, draft)
    options = {"version": items_version(essays), "quotas": Quotas()}
    with monkeypatch.context() as patch:
        patch.setattr(*{
            "index": (MediaLibrary, "write", killed), "table": (items_table, "write_whole", killed),
        }[cut])  # fmt: skip
        with pytest.raises(Killed):
            items_table.add_item_with_file(*args, **options)
    assert list(Study.open(essays).items) == ["Ann", "Bo"]
    assert check_study(essays) == []
    assert "is added" in add_file(ada, "Cy.txt", "Cy wrote this.").text
    assert check_study(essays) == []
    os.utime(draft.folder, (0, 0))
    assert remove_abandoned(SiteFolder(home)) == 1


def test_an_essay_taken_out_can_come_again(ada, home, essays):
    add_file(ada, "Cy.txt", "Cy wrote this.")
    ada.get(f"{WRITING}/items")
    ada.send(f"{WRITING}/items", item="Cy", do="removed")
    assert list(Study.open(essays).items) == ["Ann", "Bo"]
    assert "is added" in add_file(ada, "Cy-again.txt", "Cy wrote this.").text
    assert check_study(essays) == []


# Previews.


def test_a_preview_is_the_real_thing_and_counts_nowhere(ada, app, home):
    ada.get(AT)
    ada.send(f"{AT}/preview", "open")
    assert ada.path == "/site/preview/green/"
    assert "Preview: nothing counts" in ada.answer.text
    ada.get("/site/preview/green/begin")
    consent = next(t["value"] for _, t in ada.page.tags if t.get("name") == "consent")
    ada.send("/site/preview/green/begin", consent=consent)
    ada.send("/site/preview/green/answer", "left")
    assert ada.path == "/site/preview/green/pair"
    assert judgements(home) == 0
    for phase in ("paused", "closed"):
        ada.get(AT)
        ada.send(f"{AT}/preview", phase)
        assert "Preview: nothing counts" in ada.answer.text
        ada.get("/site/preview/green/begin")
        assert not [t for _, t in ada.page.tags if t.get("name") == "consent"]
    assert Visitor(app).get("/site/preview/green/").status_code == 404


def test_a_preview_of_a_study_for_a_panel_alone_can_be_gone_through(ada, home):
    path = home / "green" / "study.toml"
    panel = '\n[panel]\nidentifiers = ["PROLIFIC_PID"]\nonly = true\n'
    path.write_text(path.read_text() + panel)
    ada.get(AT)
    ada.send(f"{AT}/preview", "open")
    ada.get("/site/preview/green/begin")
    consent = next(t["value"] for _, t in ada.page.tags if t.get("name") == "consent")
    ada.send("/site/preview/green/begin", consent=consent)
    assert ada.path == "/site/preview/green/pair"


# From copy to deletion.


def test_a_copy_has_no_judges_and_no_answers(ada, app, home):
    judged(app, home)
    ada.get(AT)
    ada.send(f"{AT}/clone", name="second", title="The second")
    assert ada.path == "/site/studies/second"
    copy = Study.open(home / "second")
    assert copy.settings.study.title == "The second"
    assert (judgements(home, "second"), ResearcherStore(copy.store()).phase()) == (0, Phase.PAUSED)
    ada.get(AT)
    ada.send(f"{AT}/clone", name="../x", title="No")
    assert ada.answer.status_code == 422


DESIGN = "judge,left,right\nAnn,x,y\nAnn,z,x\nBo,y,z\nBo,x,y\n"


def with_all_parts(home: Path) -> dict[str, bytes]:
    """Gives the study a design, wording of its own and a picture; their files, by path."""
    folder = home / "green"
    for path, text in {
        "design.csv": DESIGN, "words/de.toml": 'name = "Deutsch"\n', "images/a.svg": "<svg/>",
    }.items():  # fmt: skip
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("secret", "study.toml", ".busy")
        and not path.name.startswith("study.db")
    }  # fmt: skip


def test_a_copy_has_every_file_of_the_study(ada, home):
    parts = with_all_parts(home)
    ada.get(AT)
    ada.send(f"{AT}/clone", name="second", title="The second")
    copied = {path: (home / "second" / path).read_bytes() for path in parts}
    assert copied == parts
    assert {"design.csv", "words/de.toml", "images/a.svg", "items.csv"} <= set(parts)
    codes = [Study.open(home / name).design.codes for name in ("green", "second")]
    assert codes[0] == codes[1]
    assert len(codes[0]) == 2


def test_what_is_kept_of_a_deleted_study_has_its_design_and_words(ada, app, home):
    with_all_parts(home)
    kept = lifecycle.keep_export(Study.open(home / "green"), store(home), home / ".exports")
    with zipfile.ZipFile(kept) as archive:
        assert archive.read("study/design.csv").decode() == DESIGN
        assert archive.read("study/words/de.toml") == b'name = "Deutsch"\n'
        exported = archive.read("design.csv").decode().splitlines()
    codes = Study.open(home / "green").design.codes
    assert exported[:2] == ["judge,code,position,kind,left,right", f"Ann,{codes['Ann']},1,new,x,y"]


def test_an_archived_study_comes_back_with_its_answers(ada, app, home):
    judged(app, home)
    set_phase(ada, "open")
    ada.send(f"{AT}/archive")
    assert "pause or close it first" in ada.answer.text
    set_phase(ada, "closed")
    ada.send(f"{AT}/archive")
    fresh(app)
    assert Visitor(app).get("/green/").status_code == 404
    ada.get("/site/archive")
    ada.send("/site/archive/back", name="green")
    fresh(app)
    assert Visitor(app).get("/green/").status_code == 200
    assert judgements(home) == 1


def test_a_deletion_is_confirmed_by_the_name_and_keeps_an_export(ada, app, home):
    judged(app, home)
    set_phase(ada, "closed")
    ada.send(f"{AT}/delete", confirm="gren")
    assert (ada.answer.status_code, judgements(home)) == (422, 1)
    ada.send(f"{AT}/delete", confirm="green")
    assert not (home / "green").exists()
    (name,) = [path.name for path in (home / ".exports").iterdir()]
    packed = ada.client.get(f"/site/archive/{name}")
    with zipfile.ZipFile(BytesIO(packed.content)) as archive:
        assert len(archive.read("comparisons.csv").splitlines()) == 2
        assert "study/study.toml" in archive.namelist()
    ada.get("/site/archive")
    ada.send("/site/archive/remove", name=name)
    assert list((home / ".exports").iterdir()) == []


def test_only_a_closed_study_is_deleted(ada, home):
    ada.get(AT)
    ada.send(f"{AT}/delete", confirm="green")
    assert "not closed" in ada.answer.text
    assert (home / "green").exists()


@pytest.fixture
def being_deleted(app, home, monkeypatch) -> Iterator[Callable[[], None]]:
    """The study is being deleted, and its export takes long; ends that."""
    begun, goes_on = Event(), Event()
    make = lifecycle.keep_export

    def slow(*args: Any) -> Path:
        begun.set()
        assert goes_on.wait(60)
        return make(*args)

    monkeypatch.setattr(lifecycle, "keep_export", slow)
    small_study(home, "blue")
    opened_store = store(home)
    ResearcherStore(opened_store).set_phase(Phase.CLOSED)
    with ThreadPoolExecutor(1) as pool:
        deleted = pool.submit(lifecycle.delete, SiteFolder(home), "green", opened_store)
        assert begun.wait(60)

        def end() -> None:
            goes_on.set()
            deleted.result()

        yield end
        goes_on.set()


def test_a_deletion_holds_up_no_other_study(being_deleted, ada, app, home):
    """Nor does anybody wait who changes something of the study that is being deleted."""
    fresh(app)
    there = "/site/studies/blue"
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.title": "Other"})
    assert (ada.answer.status_code, "try again in a minute" in ada.answer.text) == (422, True)
    for path, fields in {"delete": {"confirm": "green"}, "archive": {}}.items():
        ada.get(AT)
        ada.send(f"{AT}/{path}", **fields)
        assert "Try again in a minute" in ada.answer.text
    ada.get(f"{there}/settings")
    ada.send(f"{there}/settings", **{"study.title": "Blue it is"})
    assert Study.open(home / "blue").settings.study.title == "Blue it is"
    ada.get(there)
    ada.send(f"{there}/clone", name="third", title="Third")
    ada.get(there)
    ada.send(f"{there}/phase", "closed")
    ada.send(f"{there}/archive")
    assert SiteFolder(home).studies() == ["green", "third"]
    being_deleted()
    assert SiteFolder(home).studies() == ["third"]


def test_a_study_that_is_opened_while_it_is_deleted_stays(being_deleted, home):
    ResearcherStore(store(home)).set_phase(Phase.OPEN)
    with pytest.raises(InputError, match="not closed"):
        being_deleted()
    assert (home / "green").exists()
    assert list((home / ".exports").glob("*.zip")) == []


def test_a_pilot_is_set_apart_and_not_lost(ada, app, home):
    judge = judged(app, home)
    ada.get(AT)
    ada.send(f"{AT}/pilot", confirm="green")
    assert "begins anew" in ada.answer.text
    assert (judgements(home), len(list(store(home).judge_rows()))) == (0, 0)
    apart = {path.suffix: path for path in (home / "green" / "pilots").iterdir() if path.suffix}
    with zipfile.ZipFile(apart[".zip"]) as archive:
        assert len(archive.read("comparisons.csv").splitlines()) == 2
    assert re.fullmatch(r"green-.*\.db", apart[".db"].name)
    assert judge.get("/green/pair").status_code == 200  # sent back to the beginning
    ada.get(f"{AT}/settings")
    ada.send(f"{AT}/settings", **{"study.question": "Which is worse?"})
    assert "settings are saved" in ada.answer.text
