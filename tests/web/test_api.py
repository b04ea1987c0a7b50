"""The interface for programs: what it answers, to whom, and that docs/api.md says the same."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.form_browser import Visitor
from support.snapshots import add_snapshot, body
from tiewise.geo.areas import Areas
from tiewise.study.create import new_study
from tiewise.study.export import bring_in
from tiewise.study.researcher_store import Ledger, Opens
from tiewise.study.study import Study
from tiewise.web import api
from tiewise.web.app import make_app
from tiewise.web.security import Limit, Limits
from tiewise.workflows.simulate import make_up
from web.test_serve import running

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
PATHS = ("", "study", "items", "estimates", "coverage", "export")


@pytest.fixture
def study(tmp_path) -> Study:
    Areas.made_up(8, seed=5).to_gpkg(tmp_path / "wards.gpkg")
    made = new_study(
        tmp_path / "green", question="Which is greener?", title="Green <wards>",
        areas=tmp_path / "wards.gpkg",
    )  # fmt: skip
    make_up(tmp_path / "old", areas=tmp_path / "wards.gpkg", comparisons=40, judges=3)
    bring_in(made, made.store(), tmp_path / "old" / "comparisons.csv")
    return made


@pytest.fixture
def app(study):
    return make_app(study, study.store(), secret="k" * 40)


@pytest.fixture
def token(study) -> str:
    return Ledger(study.store()).make_pass(Opens.API, label="tests")


def ask(app: Any, path: str, token: str, **headers: str) -> Any:
    sent = {"authorization": f"Bearer {token}", **headers}
    return Visitor(app).client.get(f"/api/v1/{path}", headers=sent)


def snapshot(study: Study, **other: Any) -> dict[str, Any]:
    told = body(list(study.items), [k / 4 for k in range(8)], **other)
    add_snapshot(study.store(), told, comparisons=39)
    return told


# What it answers.


def test_items_are_those_of_the_study(app, study, token):
    told = ask(app, "items", token).json()["items"]
    assert [(one["id"], one["name"]) for one in told] == [
        (item.id, item.name) for item in study.items.values()
    ]


def test_before_the_first_comparison_there_are_no_figures(app, token):
    assert ask(app, "estimates", token).json() == {"snapshot": None, "items": []}
    assert ask(app, "coverage", token).json() == {"snapshot": None, "parts": None, "items": []}
    assert ask(app, "study", token).json()["snapshot"] is None


def test_estimates_are_those_of_the_latest_picture(app, study, token):
    told = snapshot(study, cautions=["Few comparisons."])
    said = ask(app, "estimates", token).json()
    assert said["snapshot"]["comparisons"] == 39
    assert datetime.fromisoformat(said["snapshot"]["made"]).utcoffset().total_seconds() == 0
    assert said["cautions"] == ["Few comparisons."]
    assert said["tie"] == told["tie"]
    for k, item in enumerate(said["items"]):
        assert item["name"] == study.items[item["id"]].name
        assert item["median"] == told["median"][k] == k / 4
        assert item["rank"] == 8 - k


def test_coverage_tells_comparisons_and_parts(app, study, token):
    snapshot(study, comparisons=[0, *range(7)], part=[1, *[0] * 7], parts=2)
    said = ask(app, "coverage", token).json()
    assert said["parts"] == 2
    assert [(one["comparisons"], one["part"]) for one in said["items"]][:3] == [
        (0, 1),
        (0, 0),
        (1, 0),
    ]


def test_the_study_tells_how_far_it_is(app, study, token):
    snapshot(study)
    said = ask(app, "study", token).json()
    assert (said["title"], said["phase"], said["items"]) == ("Green <wards>", "open", 8)
    assert said["reliability"] == 0.7


def test_an_item_taken_out_of_the_study_keeps_its_id(app, study, token):
    told = body(["gone", *list(study.items)[1:]], [0.0] * 8)
    add_snapshot(study.store(), told)
    assert ask(app, "estimates", token).json()["items"][0]["name"] == "gone"


def exported(study: Study) -> list[dict[str, str]]:
    """What `tiewise export` writes."""
    from tiewise.study.export import export

    (path, *_) = export(study, study.store(), study.folder / "out")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_judgements_are_those_of_the_export(app, study, token):
    wanted = exported(study)
    assert len(wanted) == 40
    as_csv = ask(app, "export?format=csv", token)
    assert list(csv.DictReader(io.StringIO(as_csv.text))) == wanted
    lines = [json.loads(line) for line in ask(app, "export", token).text.splitlines()]
    assert [{key: value or "" for key, value in line.items()} for line in lines] == wanted


def test_who_is_left_out_is_not_exported(app, study, token):
    bad = exported(study)[0]["user_id"]
    Ledger(study.store()).exclude(bad, "always left")
    lines = [json.loads(line) for line in ask(app, "export", token).text.splitlines()]
    assert lines
    assert bad not in {line["user_id"] for line in lines}


def test_no_answer_but_the_export_names_a_judge(app, study, token):
    snapshot(study)
    judges = {row["user_id"] for row in exported(study)}
    for path in PATHS:
        said = ask(app, path, token).text
        named = {judge for judge in judges if judge in said}
        assert named == (judges if path == "export" else set())
        assert ("user_id" in said) is (path == "export")


# Asking again.


@pytest.mark.parametrize("path", PATHS)
def test_the_same_answer_is_not_sent_twice(app, study, token, path):
    snapshot(study)
    first = ask(app, path, token)
    mark = first.headers["etag"]
    for told in (mark, mark.removeprefix("W/"), f'"x", {mark}', "*"):
        again = ask(app, path, token, **{"if-none-match": told})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == mark
    assert ask(app, path, token, **{"if-none-match": '"x"'}).content == first.content


@pytest.mark.parametrize("path", ["study", "estimates", "coverage"])
def test_a_new_picture_has_a_new_mark(study, token, path):
    marks = set()
    for number in range(3):
        add_snapshot(study.store(), body(list(study.items), [number] * 8), comparisons=number + 1)
        fresh = make_app(study, study.store(), secret="k" * 40)
        marks.add(ask(fresh, path, token).headers["etag"])
    assert len(marks) == 3


def test_a_new_judgement_has_a_new_mark(app, study, token):
    marks = {ask(app, f"export?format={kind}", token).headers["etag"] for kind in ("csv", "jsonl")}
    Visitor(app).join().judge("left")
    marks |= {ask(app, f"export?format={kind}", token).headers["etag"] for kind in ("csv", "jsonl")}
    assert len(marks) == 4


# To whom.


@pytest.mark.parametrize(
    "said",
    [
        "", "Bearer", "Bearer ", "Basic {token}", "{token}", "Bearer {token}x", "Bearer x{token}",
        "Bearer {upper}", "Bearer 00000000000000000000000000000000",
    ],
)  # fmt: skip
def test_without_a_good_token_nothing_is_told(app, token, said):
    sent = {"authorization": said.format(token=token, upper=token.upper() + "A")}
    answer = Visitor(app).client.get("/api/v1/study", headers=sent)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["status"] == 401
    assert "wards" not in answer.text


def test_a_session_of_a_researcher_is_no_token(app):
    assert Visitor(app).sign_in().get("/api/v1/study").status_code == 401


def test_a_token_is_ended(app, study, token):
    assert ask(app, "study", token).status_code == 200
    ledger = Ledger(study.store())
    ledger.end_pass(ledger.passes(Opens.API)[0]["id"])
    assert ask(app, "study", token).status_code == 401


def test_too_many_questions_are_refused_by_token_and_by_address(study, token):
    limits = Limits(programs=Limit(3, 60))
    app = make_app(study, study.store(), secret="k" * 40, limits=limits)
    assert [ask(app, "", token).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [ask(app, "", "0" * 32).status_code for _ in range(4)] == [401, 401, 401, 429]
    refused = ask(app, "", token)
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json()["status"] == 429


def test_what_is_amiss_is_told_in_json(app, token):
    sent = {"authorization": f"Bearer {token}"}
    client = Visitor(app).client
    assert ask(app, "nowhere", token).json()["status"] == 404
    assert ask(app, "export?format=xml", token).json()["status"] == 400
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = client.request(method, "/api/v1/study", headers=sent)
        assert answer.status_code == 405
        assert "error" in answer.json()


# docs/api.md.


def section(heading: str) -> str:
    return PAGE.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]


def named(text: str, head: str) -> list[str]:
    """The names in the first column of a table with this heading."""
    rows = re.search(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n?)+)", text, re.MULTILINE)[1]
    return [
        name for row in rows.splitlines() for name in re.findall("`([^`]+)`", row.split("|")[1])
    ]


def test_every_path_is_explained_and_no_other(app):
    paths = [route.path for route in app.routes if route.path.startswith("/api/")]
    assert named(section("## What there is"), "path") == paths
    assert {f"/api/v1/{name}" for name in api.PLACES} | {"/api/v1/"} == set(paths)


@pytest.mark.parametrize("path", ["study", "items", "estimates", "coverage"])
def test_every_key_is_explained_and_no_other(app, study, token, path):
    snapshot(study)
    said = ask(app, path, token).json()
    text = section(f"### {path}")
    assert sorted(named(text, "key")) == sorted(said)
    if path == "estimates":
        assert sorted(["id", "name", *named(text, "figure")]) == sorted(said["items"][0])
    elif path != "study":
        assert all(f"`{key}`" in text for key in said["items"][0])


def test_every_status_is_explained():
    assert re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE) == [str(code) for code in api.SAID]
    assert f"more than {Limits().programs.number} requests in a minute" in PAGE


def blocks(language: str, word: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [block for block in found if word in block]


def test_the_examples_run(study, token, tmp_path):
    """Against a real site, with real curl, line for line."""
    snapshot(study)
    commands, programs = blocks("sh", "curl"), blocks("py", "import")
    assert len(commands) == 2
    assert len(programs) == 2
    with running(study.folder, "--no-live") as (url, _):
        around = os.environ | {"SITE": url, "TOKEN": token}
        for block in commands:
            subprocess.run(["bash", "-ec", block], cwd=tmp_path, env=around, check=True)
        scope: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SITE", url)
            patch.setenv("TOKEN", token)
            for block in programs:
                exec(compile(block, "docs/api.md", "exec"), scope)
    assert len((tmp_path / "comparisons.csv").read_text(encoding="utf-8").splitlines()) == 41
    assert json.loads((tmp_path / "estimates.json").read_text(encoding="utf-8"))["items"]
    newer = tmp_path / "newer.json"
    assert not newer.exists() or not newer.read_bytes()
    assert len(scope["judgements"]) == 40
    assert len(scope["comparisons"].rows()) == 40
