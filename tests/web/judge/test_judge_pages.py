"""The site as a judge without scripts meets it, and as somebody who means it ill does."""

from __future__ import annotations

import csv
import gzip
import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.routing import Route

from support.form_browser import FIELDS, Visitor
from support.site import copy_study, edited, with_database
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.export import export
from tiewise.study.study import Study
from tiewise.web.app import make_app
from tiewise.web.security import SANDBOX, SECURITY_HEADERS, RateLimit, RateLimits

KEY = "k" * 40
CHANGES = {
    "target = 30": "target = 3",
    'languages = ["en"]': 'languages = ["en", "ar"]',
    "contacts = []": 'contacts = ["Samaritans: 116 123", "help@example.org"]',
}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    Areas.synthetic(12, rng=3).to_gpkg(place / "wards.gpkg")
    made = create_study(
        place / "study", question="Which ward is greener?", title="Green wards",
        areas=place / "wards.gpkg",
    )  # fmt: skip
    return with_database(edited(made, CHANGES))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "study")


@pytest.fixture
def site(study) -> Callable[..., Visitor]:
    """Opens the site, once for each study; every call is another browser."""
    apps = {}

    def visit(of: Study = study, *, address: str = "198.51.100.7", **options) -> Visitor:
        key = (of.settings, tuple(sorted(options.items())))
        if str(key) not in apps:
            apps[str(key)] = make_app(of, of.store(), secret=KEY, **options)
        return Visitor(apps[str(key)], address=address)

    return visit


def rows(study: Study) -> list[tuple[str, str, str]]:
    """What stands: the item on the left, the one on the right, and the outcome."""
    stored = study.store().rows()
    return [(r["left"], r["right"], r["outcome"]) for r in stored if r["undone"] is None]


def people(study: Study) -> int:
    return len(list(study.store().judge_rows()))


def ids(study: Study, names: tuple[str, str]) -> tuple[str, str]:
    known = {html.escape(item.name): item.id for item in study.items.values()}
    return known[names[0]], known[names[1]]


# The way.


def test_the_whole_way_from_welcome_to_thanks(site, study):
    judge = site()
    judge.get("/")
    assert judge.heading == "Green wards"
    assert ("Begin", "/begin") in judge.page.links
    judge.get("/begin")
    judge.send("/begin", consent="1")
    assert judge.path == "/groups"
    judge.send("/groups", group=list(study.groups))
    met = []
    for number, outcome in enumerate(("left", "tie", "right"), 1):
        assert judge.path == "/pair"
        assert f"<span>{number} of 3</span>" in judge.answer.text
        met.append((*ids(study, judge.names()), outcome))
        judge.judge(outcome)
    assert judge.path == "/thanks"
    assert rows(study) == met
    assert ("Go on comparing", "/pair") in judge.page.links
    judge.get("/pair")
    assert "Comparison 4" in judge.answer.text


@pytest.mark.parametrize("outcome", ["left", "right", "tie", "skip"])
def test_without_scripts_each_button_means_what_it_says(site, study, outcome):
    judge = site().join()
    pair = ids(study, judge.names())
    judge.judge(outcome)
    assert rows(study) == [(*pair, outcome)]
    export(study, study.store(), study.folder / "out")
    with (study.folder / "out" / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    chosen = {"left": pair[0], "right": pair[1]}.get(outcome, "")
    assert (row["item_1_id"], row["item_2_id"], row["selected_item_id"]) == (*pair, chosen)


def test_buttons_are_real_and_say_what_they_choose(site):
    judge = site().join()
    form = next(form for form in judge.page.forms if form.action == "/answer")
    assert [button["value"] for button in form.buttons] == ["left", "tie", "right", "skip"]
    left, right = judge.names()
    written = [text for text, href in judge.page.links if href == ""]
    assert any(text.startswith("Left") and html.unescape(left) in text for text in written)
    assert any(text.startswith("Right") and html.unescape(right) in text for text in written)


def test_a_pair_stays_when_the_page_is_loaded_again(site):
    judge = site().join()
    first = judge.names()
    for _ in range(5):
        judge.get("/pair")
        assert judge.names() == first


def test_a_judge_meets_only_what_they_know(site, study):
    group = study.groups[0]
    judge = site().join(group)
    mine = {item.id for item in study.items.values() if item.group == group}
    for _ in range(len(mine) * (len(mine) - 1) // 2):
        assert set(ids(study, judge.names())) <= mine
        judge.judge("skip")
    assert judge.heading == "Thank you"
    assert "You have seen every pair" in judge.answer.text


def test_groups_can_be_changed_on_the_way(site, study):
    first, second = study.groups[:2]
    judge = site().join(first)
    judge.get("/groups")
    judge.send("/groups", group=[second])
    there = {item.id for item in study.items.values() if item.group == second}
    assert set(ids(study, judge.names())) <= there


def test_knowing_nothing_that_can_be_compared_is_explained(site, study):
    judge = site()
    judge.get("/begin")
    judge.send("/begin", consent="1")
    answer = judge.send("/groups", group=["Atlantis"])
    assert answer.status_code == 422
    assert "not yet two to compare" in answer.text
    assert study.store().groups_by_judge() == {}


def test_select_all_ticks_every_group_without_scripts(site, study):
    judge = site()
    judge.get("/begin")
    judge.send("/begin", consent="1")
    judge.send("/groups", "1")
    assert judge.path == "/groups"
    assert len(re.findall(r'name="group"[^>]* checked', judge.answer.text)) == len(study.groups)


def test_a_study_without_groups_goes_straight_to_pairs(tmp_path, site):
    (tmp_path / "items.csv").write_text(
        "name,description\n<b>Ash</b> & co,leaves\nBirch,bark\n", encoding="utf-8"
    )
    trees = create_study(tmp_path / "trees", question="Which?", items=tmp_path / "items.csv")
    judge = site(trees).join()
    assert set(judge.names()) == {"&lt;b&gt;Ash&lt;/b&gt; &amp; co", "Birch"}
    assert "leaves" in judge.answer.text
    judge.get("/groups")
    assert judge.path == "/pair"


def test_answers_that_a_study_does_not_allow_have_no_button_and_are_refused(site, study):
    study = edited(study, {"ties = true": "ties = false", "skips = true": "skips = false"})
    judge = site(study).join()
    form = next(form for form in judge.page.forms if form.action == "/answer")
    assert [button["value"] for button in form.buttons] == ["left", "right"]
    for outcome in ("tie", "skip"):
        answer = judge.client.post(
            "/answer",
            data={"token": judge.token, "offer": judge.hidden("offer"), "outcome": outcome},
        )
        assert answer.status_code == 400
    assert rows(study) == []


def test_the_studys_own_wording_of_answers_is_shown(site, study):
    study = edited(study, {'tie = ""': 'tie = "No difference <to me>"'})
    judge = site(study).join()
    assert "No difference &lt;to me&gt;" in judge.answer.text


def test_practice_is_marked_and_does_not_count(site, study):
    study = edited(study, {"practice = 0": "practice = 2"})
    judge = site(study).join()
    for number in (1, 2):
        assert f"Practice {number} of 2" in judge.answer.text
        judge.judge("left")
    assert "<span>1 of 3</span>" in judge.answer.text
    assert "Practice" not in judge.answer.text


def test_a_skip_after_the_target_does_not_say_thanks_again(site):
    judge = site().join()
    for _ in range(3):
        judge.judge("left")
    judge.get("/pair")
    judge.judge("skip")
    assert judge.path == "/pair"


def test_an_item_that_left_the_study_is_not_shown_again(site, study):
    judge = site().join()
    gone, _ = ids(study, judge.names())
    table = study.folder / "items.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    stored = [line for line in lines if not line.startswith(f"{gone},")]
    table.write_text("".join(stored), encoding="utf-8")
    fewer = Study.open(study.folder)
    assert len(fewer.items) == len(study.items) - 1
    again = Visitor(make_app(fewer, fewer.store(), secret=KEY))
    again.client.cookies = judge.client.cookies
    again.get("/pair")
    assert again.answer.status_code == 200
    assert gone not in ids(study, again.names())


# Undo.


def test_undo_brings_the_same_pair_back(site, study):
    judge = site().join()
    first = judge.names()
    assert 'form="undo"' not in judge.answer.text
    judge.judge("left")
    judge.send("/undo")
    assert judge.names() == first
    assert rows(study) == []
    judge.judge("right")
    assert rows(study) == [(*ids(study, first), "right")]


def test_undo_pressed_twice_takes_one_answer_back(site, study):
    judge = site().join()
    for _ in range(2):
        judge.judge("left")
    twice = {"token": judge.token, "answers": judge.hidden("answers")}
    for _ in range(2):
        judge.post("/undo", twice)
    assert len(rows(study)) == 1


def test_the_last_answer_can_be_changed_on_the_page_of_thanks(site, study):
    judge = site().join()
    for _ in range(3):
        judge.judge("left")
    judge.send("/undo")
    judge.judge("tie")
    assert judge.path == "/thanks"
    assert [outcome for _, _, outcome in rows(study)] == ["left", "left", "tie"]


# Answers that must change nothing.


def test_the_same_post_five_times_makes_one_row(site, study):
    judge = site().join()
    same = {"token": judge.token, "offer": judge.hidden("offer"), "outcome": "left"}
    for _ in range(5):
        answer = judge.post("/answer", same)
        assert (answer.status_code, judge.path) == (200, "/pair")
    assert len(rows(study)) == 1


def test_a_late_answer_changes_nothing(site, study):
    """The pair on an old page was answered, taken back, and answered otherwise."""
    judge = site().join()
    old = {"token": judge.token, "offer": judge.hidden("offer"), "outcome": "left"}
    judge.judge("right")
    judge.send("/undo")
    judge.judge("tie")
    judge.post("/answer", old)
    assert judge.answer.status_code == 200
    assert [outcome for _, _, outcome in rows(study)] == ["tie"]


def test_an_offer_of_somebody_else_cannot_be_answered(site, study):
    mine, theirs = site().join(), site().join()
    offer = theirs.hidden("offer")
    mine.post("/answer", {"token": mine.token, "offer": offer, "outcome": "left"})
    assert mine.path == "/pair"
    assert rows(study) == []
    theirs.judge("right")
    assert [outcome for _, _, outcome in rows(study)] == ["right"]


@pytest.mark.parametrize(
    ("offer", "outcome"),
    [
        (None, "both"), (None, ""), (None, "LEFT"), (None, "1"), (None, "left\0"),
        ("", "left"), ("-1", "left"), ("1e3", "left"), ("9" * 30, "left"), ("١", "left"),
        ("1 OR 1=1", "left"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_and_keeps_nothing(site, study, offer, outcome):
    judge = site().join()
    fields = {"offer": offer if offer is not None else judge.hidden("offer"), "outcome": outcome}
    answer = judge.post("/answer", {"token": judge.token} | fields)
    assert answer.status_code == 400
    assert judge.heading == "That was not understood"
    assert rows(study) == []


def test_nobody_answers_before_signing_up(site, study):
    stranger = site()
    stranger.get("/begin")
    stranger.post("/answer", {"token": stranger.token, "offer": "1", "outcome": "left"})
    assert stranger.path == "/"
    assert rows(study) == []


@pytest.mark.parametrize("path", ["/pair", "/groups", "/thanks", "/link", "/withdraw"])
def test_strangers_are_led_to_the_start(site, path):
    stranger = site()
    stranger.get(path)
    assert stranger.path == "/"


# Consent and sign-up.


@pytest.mark.parametrize("consent", [{}, {"consent": ""}, {"consent": "0"}, {"consent": "on"}])
def test_nobody_judges_without_consenting_to_the_text_in_force(site, study, consent):
    judge = site()
    judge.get("/begin")
    answer = judge.send("/begin", **consent)
    assert answer.status_code == 422
    assert "tick the box" in answer.text
    assert people(study) == 0
    judge.get("/pair")
    assert judge.path == "/"


def test_consent_is_kept_with_its_version(site, study):
    study = edited(study, {'version = "1"': 'version = "2.1"'})
    site(study).join()
    (person,) = study.store().judge_rows()
    assert person["consent"] == "2.1"
    assert person["consented"] is not None


def test_a_new_text_is_agreed_to_before_going_on(site, study):
    before = site().join()
    offer = before.hidden("offer")
    newer = edited(study, {'version = "1"': 'version = "2"'})
    judge = site(newer)
    judge.client.cookies = before.client.cookies
    judge.post("/answer", {"token": before.token, "offer": offer, "outcome": "left"})
    assert judge.path == "/begin"
    assert judge.heading == "The information has changed"
    assert rows(newer) == []
    judge.send("/begin", consent="1")
    assert judge.answer.status_code == 422
    judge.send("/begin", consent="2")
    judge.get("/pair")
    assert judge.path == "/pair"
    (person,) = newer.store().judge_rows()
    assert person["consent"] == "2"


def test_a_judge_who_agrees_twice_is_one_judge(site, study):
    judge = site()
    judge.get("/begin")
    same = {"token": judge.token, "consent": "1"}
    for _ in range(3):
        judge.post("/begin", same)
    assert people(study) == 1


@pytest.mark.parametrize(
    ("about", "complaint"),
    [
        ({"about_role": "", "about_years": "3"}, "“What is your role?” is needed"),
        ({"about_role": "spy", "about_years": "3"}, "choose one of the answers"),
        ({"about_role": "nurse", "about_years": "many"}, "must be a number"),
        ({"about_role": "nurse", "about_years": "1" * 501}, "too long"),
    ],
)
def test_what_a_study_asks_is_checked_and_what_was_filled_in_stays(site, study, about, complaint):
    study = edited(study, {}, FIELDS)
    judge = site(study)
    judge.get("/begin")
    answer = judge.send("/begin", consent="1", **about)
    assert answer.status_code == 422
    assert complaint in html.unescape(answer.text)
    if about["about_role"] == "nurse":
        assert '<option selected value="nurse">' in answer.text
    assert people(study) == 0


def test_what_a_judge_says_of_themselves_is_kept_under_its_field(site, study):
    study = edited(study, {}, FIELDS)
    site(study).join(about_role="police", about_years="12", about_shoe_size="43")
    (answers,) = study.store().signup_answers().values()
    assert answers == {"role": "police", "years": "12"}


def test_an_optional_field_may_stay_empty(site, study):
    study = edited(study, {}, FIELDS)
    site(study).join(about_role="nurse")
    (answers,) = study.store().signup_answers().values()
    assert answers == {"role": "nurse"}


def test_only_invited_judges_come_in_and_each_code_once(site, study):
    study = edited(study, {"invited_only = false": "invited_only = true"})
    (code,) = study.store().invite(1)
    stranger = site(study)
    stranger.get("/begin")
    for guess in ("", "guess", code[:-1]):
        answer = stranger.send("/begin", consent="1", code=guess)
        assert answer.status_code == 422
        assert "invite code is not known" in answer.text
    judge = site(study)
    judge.get(f"/?code={code}")
    ((_, link),) = [link for link in judge.page.links if link[0] == "Begin"]
    judge.get(link)
    same = {"token": judge.token, "consent": "1", "code": judge.hidden("code")}
    for _ in range(2):  # a double click: the code is used, by this very judge
        judge.post("/begin", same)
        assert judge.path == "/groups"
    assert stranger.send("/begin", consent="1", code=code).status_code == 422
    assert people(study) == 1


# Coming back, and leaving.


def personal_link(judge: Visitor) -> str:
    judge.get("/link")
    return next(t["value"] for _, t in judge.page.tags if t.get("id") == "link")


def test_a_personal_link_leads_to_the_same_pair_elsewhere(site):
    judge = site().join()
    pair = judge.names()
    link = personal_link(judge)
    assert link.startswith("http://study.test/j/")
    phone = site()
    phone.get(link)
    assert phone.path == "/pair"
    assert phone.names() == pair


@pytest.mark.parametrize("secret", ["x", "0" * 32, "..%2fpair", "%00", "é"])
def test_a_link_of_nobody_is_a_page(site, secret):
    stranger = site()
    assert stranger.get(f"/j/{secret}").status_code == 404
    assert stranger.page.headings


def test_signing_out_forgets_the_judge_but_not_their_link(site):
    judge = site().join()
    link = personal_link(judge)
    judge.send("/sign-out")
    judge.get("/pair")
    assert judge.path == "/"
    judge.get(link)
    assert judge.path == "/pair"


@pytest.mark.parametrize(("erase", "left"), [("all", 0), ("about", 2)])
def test_a_judge_withdraws_with_or_without_their_answers(site, study, erase, left):
    study = edited(study, {}, FIELDS)
    judge = site(study).join(about_role="nurse")
    for _ in range(2):
        judge.judge("left")
    link = personal_link(judge)
    judge.get("/withdraw")
    assert "Your answers: 2" in judge.answer.text
    assert rows(study), "looking at the page erases nothing"
    judge.send("/withdraw", erase=erase)
    assert judge.heading == "You have withdrawn"
    assert len(rows(study)) == left
    assert study.store().signup_answers() == {}
    assert study.store().groups_by_judge() == {}
    (record,) = study.store().erasures()
    assert record["judgements"] == 2 - left
    assert judge.get(link).status_code == 404
    judge.get("/pair")
    assert judge.path == "/"


def test_withdrawing_needs_a_choice(site, study):
    judge = site().join()
    judge.get("/withdraw")
    assert judge.send("/withdraw", erase="everybody").status_code == 400
    assert list(study.store().erasures()) == []


PAGES = [
    "/", "/begin", "/groups", "/pair", "/map", "/thanks", "/link", "/withdraw", "/support",
    "/privacy",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_help_and_the_way_out_are_on_every_page(site, path):
    judge = site()
    if path not in ("/begin", "/groups"):
        judge.join()
    if path == "/groups":
        judge.get("/begin")
        judge.send("/begin", consent="1")
    judge.get(path)
    assert judge.path == path
    hrefs = {href for _, href in judge.page.links} | {t.get("href") for _, t in judge.page.tags}
    assert {"/leave", "/support"} <= hrefs
    assert judge.answer.headers["cache-control"] == "no-store"


def test_the_quick_exit_leads_away_and_back_shows_nothing_of_the_study(site, study):
    judge = site().join()
    answer = judge.client.get("/leave", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == study.settings.support.exit
    for path in PAGES:
        judge.get(path)
        assert judge.heading == "Welcome back"
        for word in ("Green", "ward", *study.groups, *(i.name for i in study.items.values())):
            assert word not in judge.answer.text
    judge.send("/resume")
    assert judge.path == "/pair"


def test_the_quick_exit_hides_the_study_from_strangers_too(site):
    stranger = site()
    stranger.client.get("/leave", follow_redirects=False)
    stranger.get("/")
    assert "Green" not in stranger.answer.text
    stranger.get("/nowhere")
    assert "Green" not in stranger.answer.text
    stranger.get("/")
    stranger.send("/resume")
    assert stranger.heading == "Green wards"


def test_contacts_can_be_tapped(site):
    stranger = site()
    stranger.get("/support")
    hrefs = {t.get("href") for tag, t in stranger.page.tags if tag == "a"}
    assert {"tel:116123", "mailto:help@example.org"} <= hrefs


def test_how_long_data_are_kept_is_said(site, study):
    judge = site()
    for path in ("/begin", "/privacy"):
        judge.get(path)
        assert study.settings.study.kept in judge.answer.text


# Forms of other sites.


def test_a_form_without_our_token_is_refused(site, study):
    judge = site().join()
    offer = judge.hidden("offer")
    for token in ({}, {"token": ""}, {"token": "a.b"}, {"token": "é.ü"}):
        answer = judge.client.post("/answer", data={"offer": offer, "outcome": "left"} | token)
        assert answer.status_code == 403
        assert "open for too long" in answer.text
    assert rows(study) == []


def test_a_token_of_another_browser_is_refused(site, study):
    mine, theirs = site().join(), site().join()
    fields = {"token": theirs.token, "offer": mine.hidden("offer"), "outcome": "left"}
    assert mine.client.post("/answer", data=fields).status_code == 403
    assert rows(study) == []


def test_a_browser_that_takes_no_cookies_is_told_so(site):
    judge = site()
    judge.get("/begin")
    token = judge.token
    judge.client.cookies.clear()
    answer = judge.post("/begin", {"token": token, "consent": "1"})
    assert answer.status_code == 403
    assert "sent no cookie" in answer.text


def posts(app) -> list[str]:
    """Those of judges; tests/web/researcher/test_sign_in.py walks the others."""
    others = ("/watch", "/sign-in")
    sent = [route.path for route in app.routes if "POST" in route.methods]
    return [path for path in sent if not path.startswith(others)]


def test_every_form_wants_a_token(site):
    """Walks the table of routes, so that a new one is met, too."""
    judge = site().join()
    paths = posts(judge.client.app)
    assert len(paths) >= 7
    for path in paths:
        assert judge.client.post(path, data={"consent": "1"}).status_code == 403


def test_a_cookie_that_was_tampered_with_is_nobodys(site):
    judge = site().join()
    ((name, value),) = judge.client.cookies.items()
    judge.client.cookies.clear()
    judge.client.cookies.set(name, value[:-2] + ("aa" if value[-2:] != "aa" else "bb"))
    judge.get("/pair")
    assert judge.path == "/"


def cookie_of(answer) -> str:
    return answer.headers["set-cookie"]


def test_cookies_are_for_us_alone(site, study):
    judge = site()
    cookie = cookie_of(judge.get("/begin"))
    assert cookie.startswith("tiewise-")
    for word in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert word in cookie
    assert "Secure" not in cookie
    safe = Visitor(make_app(study, study.store(), secret=KEY, https=True))
    cookie = cookie_of(safe.get("/begin"))
    assert cookie.startswith("__Host-tiewise-")
    assert "Secure" in cookie


def test_https_is_noticed_where_a_proxy_says_so(study):
    judge = Visitor(make_app(study, study.store(), secret=KEY), base="https://study.test")
    assert "Secure" in cookie_of(judge.get("/begin"))


def test_reading_about_a_study_sets_no_cookie(site):
    stranger = site()
    for path in ("/", "/privacy", "/support", "/nowhere"):
        assert "set-cookie" not in stranger.get(path).headers


# Headers, limits, errors.


def test_every_answer_has_our_headers(site):
    """Walks the table of routes with and without a judge, and what is not in it."""
    judge, stranger = site().join(), site()
    app = judge.client.app
    paths = {route.path for route in app.routes if isinstance(route, Route)}
    filled = {re.sub(r"\{.*?\}", "x", path) for path in paths}
    assert len(filled) > 15
    for visitor in (judge, stranger):
        for path in [*filled, "/nowhere", "/static/site.css"]:
            for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS"):
                answer = visitor.client.request(method, path, follow_redirects=False)
                own = path == "/map.svg" and answer.status_code == 200
                ours = SECURITY_HEADERS | ({"Content-Security-Policy": SANDBOX} if own else {})
                for name, value in ours.items():
                    assert answer.headers[name] == value, (method, path, name)


def test_scripts_and_styles_stand_in_files_of_their_own(site):
    """Or the policy in the header would stop them."""
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    judge = site().join()
    for path in PAGES:
        page = judge.get(path).text
        assert "style=" not in page
        assert "<style" not in page
        assert not re.search(r"<script(?![^>]* src=)", page)
        assert not re.search(r"<[^>]* on\w+=", page)


def test_pages_ask_nobody_else_for_anything(site):
    judge = site().join()
    for path in PAGES:
        judge.get(path)
        addresses = [
            t.get("src") or (t.get("href", "") if tag in ("link", "image", "use") else "")
            for tag, t in judge.page.tags
        ]
        there = [address for address in addresses if address]
        assert there
        assert all(a.startswith(("/static/", "/map.svg", "data:,")) for a in there)


def test_errors_are_pages(site):
    judge = site().join()
    big = {"token": judge.token, "consent": "x" * 300_000}
    many = {"token": judge.token, "group": ["x"] * 6000}
    cases = [
        (judge.client.get("/nowhere"), 404),
        (judge.client.get("/pair/"), 404),
        (judge.client.get("/answer"), 405),
        (judge.client.put("/pair"), 405),
        (judge.client.post("/begin", data=big), 413),
        (judge.client.post("/groups", data=many), 413),
        (judge.client.post("/begin", json={"consent": 1}), 415),
        (judge.client.post("/begin", files={"consent": b"1"}), 415),
    ]
    for answer, status in cases:
        assert answer.status_code == status
        assert "<h1>" in answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_fault_of_ours_is_a_page_and_tells_nothing(study, monkeypatch):
    app = make_app(study, study.store(), secret=KEY)
    judge = Visitor(app).join()

    def broken(*_):
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(app.state.site.store, "open_offer", broken)
    answer = judge.get("/pair")
    assert answer.status_code == 500
    assert judge.heading == "Something went wrong on our side"
    for word in ("secret of the house", "Traceback", "RuntimeError"):
        assert word not in answer.text
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value


def test_too_many_sign_ups_from_one_address_are_slowed(site, study):
    limits = RateLimits(sign_ups=RateLimit(3, 600))
    for _ in range(3):
        site(limits=limits).join()
    fourth = site(limits=limits)
    fourth.get("/begin")
    answer = fourth.send("/begin", consent="1")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 600
    assert people(study) == 3
    site(limits=limits, address="203.0.113.9").join()
    assert people(study) == 4


def test_too_many_answers_from_one_judge_are_slowed_and_nobody_elses(site, study):
    limits = RateLimits(posts=RateLimit(4, 600))
    hasty, calm = site(limits=limits).join(), site(limits=limits).join()
    for _ in range(3):  # to choose groups was one; to agree was another session's
        hasty.get("/pair")
        assert hasty.judge("left").status_code == 200
    hasty.get("/pair")
    assert hasty.judge("left").status_code == 429
    assert calm.judge("left").status_code == 200
    assert len(rows(study)) == 4


def test_floods_of_foreign_forms_are_slowed(site):
    stranger = site(limits=RateLimits(strangers=RateLimit(4, 600)))
    answers = [stranger.client.post("/begin", data={"consent": "1"}).status_code for _ in range(6)]
    assert answers == [403, 403, 403, 403, 429, 429]


def test_no_address_and_no_secret_is_in_the_database(site, study):
    judge = site(address="203.0.113.77").join()
    judge.judge("left")
    secret = personal_link(judge).rpartition("/")[2]
    study.store().engine.dispose()
    stored = b"".join(path.read_bytes() for path in study.folder.glob("study.db*"))
    assert b"left" in stored
    assert b"203.0.113.77" not in stored
    assert secret.encode() not in stored


# Languages.


def test_a_language_is_chosen_and_remembered(site, study):
    judge = site()
    judge.get("/?language=ar")
    assert '<html lang="ar" dir="rtl">' in judge.answer.text
    judge.join()
    assert '<html lang="ar" dir="rtl">' in judge.answer.text
    (person,) = study.store().judge_rows()
    assert person["language"] == "ar"
    judge.get("/pair?language=en")
    judge.get("/pair")
    assert '<html lang="en" dir="ltr">' in judge.answer.text
    (person,) = study.store().judge_rows()
    assert person["language"] == "en"


def test_a_study_speaks_its_own_words_in_every_language(site, study):
    words = '\n[translations.ar]\nstudy_question = "أيهما؟"\nfield_role = "ما دورك؟"\n'
    judge = site(edited(study, {}, FIELDS + words))
    judge.get("/begin?language=ar")
    assert "ما دورك؟" in judge.answer.text
    assert "For how many years?" in judge.answer.text
    judge.join(about_role="nurse")
    assert judge.heading == "أيهما؟"


def test_a_link_opened_elsewhere_speaks_the_judges_language(site):
    judge = site()
    judge.get("/?language=ar")
    link = personal_link(judge.join())
    phone = site()
    phone.get(link)
    assert 'lang="ar"' in phone.answer.text


@pytest.mark.parametrize(
    ("accepts", "code"),
    [
        ("ar", "ar"), ("ar-EG,en;q=0.5", "ar"), ("en,ar;q=0.9", "en"), ("fr,ar;q=0.2", "ar"),
        ("en;q=0.1,ar;q=0.2", "ar"), ("fr", "en"), ("", "en"), (";;q=,,\0é", "en"),
        ("ar;q=0", "en"),
    ],
)  # fmt: skip
def test_a_browsers_language_is_spoken_where_we_can(site, accepts, code):
    stranger = site()
    stranger.get("/", headers={"Accept-Language": accepts.encode("latin-1")})
    assert f'<html lang="{code}"' in stranger.answer.text


def test_a_language_that_the_study_does_not_offer_is_not_spoken(site, study):
    study = edited(study, {'languages = ["en", "ar"]': 'languages = ["en"]'})
    stranger = site(study)
    stranger.get("/?language=ar", headers={"Accept-Language": "ar"})
    assert '<html lang="en"' in stranger.answer.text


def test_left_stays_left_in_arabic(site, study):
    """The offer says what stands on the left of the screen, and the button there answers for it."""
    judge = site()
    judge.get("/?language=ar")
    judge.join()
    assert '<div class="sides with-map" dir="ltr">' in judge.answer.text
    assert '<div class="three" dir="ltr">' in judge.answer.text
    names = judge.names()
    judge.judge("right")
    assert rows(study) == [(*ids(study, names), "right")]


# Where it is.


def test_a_site_below_a_path_links_and_keeps_its_cookies_there(study):
    app = make_app(
        study, study.store(), secret=KEY, public_url="https://uni.test/wards", https=True
    )
    judge = Visitor(app)
    cookie = cookie_of(judge.get("/begin"))
    assert "Path=/wards" in cookie
    assert cookie.startswith("__Secure-tiewise-")
    addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', judge.answer.text)
    assert len(addresses) > 5
    assert all(address.startswith("/wards/") for address in addresses)
    away = judge.client.get("/pair", follow_redirects=False)
    assert away.headers["location"] == "/wards/"


def test_a_site_answers_only_to_its_names_where_it_has_some(study):
    app = make_app(study, study.store(), secret=KEY, hosts=["study.test"])
    judge = Visitor(app)
    assert judge.get("/").status_code == 200
    assert judge.get("/", headers={"Host": "STUDY.test:8000"}).status_code == 200
    assert judge.get("/", headers={"Host": "evil.test"}).status_code == 400
    assert judge.get("/health", headers={"Host": "10.0.0.1"}).status_code == 200


# Images.


@pytest.fixture
def pictured(tmp_path) -> Study:
    (tmp_path / "ash.png").write_bytes(b"\x89PNG ash")
    (tmp_path / "birch.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    table = "item,name,description,image\na/1,Ash,,ash.png\nb,Birch,a tree,birch.svg\n"
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    return create_study(tmp_path / "trees", question="Which?", items=tmp_path / "items.csv")


def test_images_are_shown_and_kept_by_the_browser(site, pictured):
    judge = site(pictured).join()
    shown = {t["alt"]: t["src"] for tag, t in judge.page.tags if tag == "img"}
    assert set(shown) == {"Ash", ""}  # a description beside it says it already
    answer = judge.client.get(shown["Ash"])
    assert answer.content == b"\x89PNG ash"
    assert answer.headers["content-type"] == "image/png"
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    "path", ["/image/none", "/image/../study.toml", "/image/..%2fstudy.toml", "/image/%00"]
)
def test_nothing_but_images_of_items_is_served(site, pictured, path):
    judge = site(pictured).join()
    assert judge.get(path).status_code == 404


def test_an_image_outside_the_folder_is_not_served(site, pictured):
    table = pictured.folder / "items.csv"
    outside = table.read_text(encoding="utf-8").replace("ash.png", "../../ash.png")
    table.write_text(outside, encoding="utf-8")
    judge = site(Study.open(pictured.folder)).join()
    assert judge.get("/image/a%2F1").status_code == 404
    assert judge.get("/image/b").status_code == 200


# Weight.


def weight(visitor: Visitor, path: str) -> int:
    """Bytes over the wire of a page and all it needs, in a browser that has nothing yet."""
    visitor.client.headers["accept-encoding"] = "gzip"
    with visitor.client.stream("GET", path) as answer:
        page = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
    text = gzip.decompress(page).decode()
    total = len(page)
    needed = set(re.findall(r'(?:src|href)="(/(?:static|map\.svg|image)[^"]*)"', text))
    assert any("site.css" in address for address in needed)
    for address in needed:
        with visitor.client.stream("GET", address.replace("&amp;", "&")) as answer:
            total += len(b"".join(answer.iter_raw()))
            assert "immutable" in answer.headers["cache-control"]
    return total


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> dict[int, tuple[int, int]]:
    """The first page and a pair, for counties of several sizes."""
    weights = {}
    for number in (12, 100, 1000):
        place = tmp_path_factory.mktemp("county")
        Areas.synthetic(number, rng=3).to_gpkg(place / "wards.gpkg")
        county = create_study(place / "s", question="Which?", areas=place / "wards.gpkg")
        judge = Visitor(make_app(county, county.store(), secret=KEY)).join()
        weights[number] = (weight(judge, "/"), max(weight(judge, "/pair") for _ in range(3)))
    return weights


@pytest.mark.slow
def test_the_first_page_is_light(weights):
    assert all(first <= 60_000 for first, _ in weights.values())


@pytest.mark.slow
def test_a_pair_is_light_and_stays_so_as_the_study_grows(weights):
    assert all(pair <= 150_000 for _, pair in weights.values())
    assert weights[1000][1] <= 60_000


def test_assets_change_their_address_with_their_content(site):
    stranger = site()
    stranger.get("/")
    (style,) = re.findall(r'"(/static/site.css\?v=\w+)"', stranger.answer.text)
    assert "immutable" in stranger.get(style).headers["cache-control"]
    assert stranger.get(style.partition("?")[0]).headers["cache-control"] == "no-cache"
    assert stranger.get("/static/../app.py").status_code == 404


# The database of a study is a file beside it.


def test_every_image_that_a_study_may_have_is_shown():
    from tiewise.study.create import IMAGES
    from tiewise.web.assets import MEDIA_TYPES

    assert set(IMAGES) <= set(MEDIA_TYPES)


def test_nothing_is_written_but_the_database(site, study):
    before = {path.name for path in study.folder.iterdir()}
    site().join().judge("left")
    after = {path.name for path in study.folder.iterdir()}
    assert {name for name in after - before if not name.startswith("study.db")} == set()
    assert Path(study.folder, "study.db").exists()
