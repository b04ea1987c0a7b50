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
from support.site import copy_study, running
from support.snapshots import add_snapshot, body
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.export import import_file
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import TokenPurpose
from tiewise.web.api.access import ERRORS
from tiewise.web.app import make_app
from tiewise.web.security import RateLimit, RateLimits
from tiewise.workflows.simulate import write_simulated_study

PAGE = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
PATHS = ("", "study", "items", "estimates", "coverage", "export", "openapi.json")


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    Areas.synthetic(8, rng=5).to_gpkg(place / "wards.gpkg")
    made = create_study(
        place / "green", question="Which is greener?", title="Green <wards>",
        areas=place / "wards.gpkg",
    )  # fmt: skip
    write_simulated_study(place / "old", areas=place / "wards.gpkg", comparisons=40, judges=3)
    store = made.store()
    import_file(made, store, place / "old" / "comparisons.csv")
    store.close()
    return made


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "green")


@pytest.fixture
def app(study):
    return make_app(study, study.store(), secret="k" * 40)


@pytest.fixture
def token(study) -> str:
    return ResearcherStore(study.store()).make_token(TokenPurpose.API, label="tests")


def ask(app: Any, path: str, token: str, **headers: str) -> Any:
    sent = {"authorization": f"Bearer {token}", **headers}
    return Visitor(app).client.get(f"/api/v1/{path}", headers=sent)


def snapshot(study: Study, **other: Any) -> dict[str, Any]:
    values = body(list(study.items), [k / 4 for k in range(8)], **other)
    add_snapshot(study.store(), values, comparisons=39)
    return values


# What it answers.


def test_items_are_those_of_the_study(app, study, token):
    values = ask(app, "items", token).json()["items"]
    assert [(one["id"], one["name"]) for one in values] == [
        (item.id, item.name) for item in study.items.values()
    ]


def test_before_the_first_comparison_there_are_no_figures(app, token):
    assert ask(app, "estimates", token).json() == {"snapshot": None, "items": []}
    assert ask(app, "coverage", token).json() == {"snapshot": None, "parts": None, "items": []}
    assert ask(app, "study", token).json()["snapshot"] is None


def test_estimates_are_those_of_the_latest_picture(app, study, token):
    values = snapshot(study, cautions=["Few comparisons."])
    reply = ask(app, "estimates", token).json()
    assert reply["snapshot"]["comparisons"] == 39
    assert datetime.fromisoformat(reply["snapshot"]["made"]).utcoffset().total_seconds() == 0
    assert reply["cautions"] == ["Few comparisons."]
    assert reply["tie"] == values["tie"]
    for k, item in enumerate(reply["items"]):
        assert item["name"] == study.items[item["id"]].name
        assert item["median"] == values["median"][k] == k / 4
        assert item["rank"] == 8 - k


def test_coverage_tells_comparisons_and_parts(app, study, token):
    snapshot(study, comparisons=[0, *range(7)], part=[1, *[0] * 7], parts=2)
    reply = ask(app, "coverage", token).json()
    assert reply["parts"] == 2
    assert [(one["comparisons"], one["part"]) for one in reply["items"]][:3] == [
        (0, 1),
        (0, 0),
        (1, 0),
    ]


def test_the_study_tells_how_far_it_is(app, study, token):
    snapshot(study)
    reply = ask(app, "study", token).json()
    assert (reply["title"], reply["phase"], reply["items"]) == ("Green <wards>", "open", 8)
    assert reply["reliability"] == 0.7


def test_an_item_taken_out_of_the_study_keeps_its_id(app, study, token):
    values = body(["gone", *list(study.items)[1:]], [0.0] * 8)
    add_snapshot(study.store(), values)
    assert ask(app, "estimates", token).json()["items"][0]["name"] == "gone"


def exported(study: Study) -> list[dict[str, str]]:
    """What `tiewise export` writes."""
    from tiewise.study.export import export

    (path, *_) = export(study, study.store(), study.folder / "out")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_judgements_are_those_of_the_export(app, study, token):
    expected = exported(study)
    assert len(expected) == 40
    as_csv = ask(app, "export?format=csv", token)
    assert list(csv.DictReader(io.StringIO(as_csv.text))) == expected
    lines = [json.loads(line) for line in ask(app, "export", token).text.splitlines()]
    assert [{key: value or "" for key, value in line.items()} for line in lines] == expected


def test_who_is_left_out_is_not_exported(app, study, token):
    bad = exported(study)[0]["user_id"]
    ResearcherStore(study.store()).exclude(bad, "always left")
    lines = [json.loads(line) for line in ask(app, "export", token).text.splitlines()]
    assert lines
    assert bad not in {line["user_id"] for line in lines}


def test_no_answer_but_the_export_names_a_judge(app, study, token):
    snapshot(study)
    judges = {row["user_id"] for row in exported(study)}
    for path in PATHS:
        reply = ask(app, path, token).text
        named = {judge for judge in judges if judge in reply}
        assert named == (judges if path == "export" else set())
        assert ("user_id" in reply) is (path in ("export", "openapi.json"))  # which names its keys


# Asking again.


@pytest.mark.parametrize("path", PATHS)
def test_the_same_answer_is_not_sent_twice(app, study, token, path):
    snapshot(study)
    first = ask(app, path, token)
    mark = first.headers["etag"]
    for values in (mark, mark.removeprefix("W/"), f'"x", {mark}', "*"):
        again = ask(app, path, token, **{"if-none-match": values})
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
    "header",
    [
        "", "Bearer", "Bearer ", "Basic {token}", "{token}", "Bearer {token}x", "Bearer x{token}",
        "Bearer {upper}", "Bearer 00000000000000000000000000000000",
    ],
)  # fmt: skip
def test_without_a_good_token_nothing_is_told(app, token, header):
    sent = {"authorization": header.format(token=token, upper=token.upper() + "A")}
    answer = Visitor(app).client.get("/api/v1/study", headers=sent)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["status"] == 401
    assert "wards" not in answer.text


def test_a_session_of_a_researcher_is_no_token(app):
    assert Visitor(app).sign_in().get("/api/v1/study").status_code == 401


def test_a_token_is_ended(app, study, token):
    assert ask(app, "study", token).status_code == 200
    researcher_store = ResearcherStore(study.store())
    researcher_store.revoke_token(researcher_store.tokens(TokenPurpose.API)[0]["id"])
    assert ask(app, "study", token).status_code == 401


def test_too_many_questions_are_refused_by_token_and_by_address(study, token):
    limits = RateLimits(programs=RateLimit(3, 60))
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


def test_every_path_is_explained_and_no_other(app, token):
    paths = [route.path for route in app.routes if route.path.startswith("/api/")]
    assert named(section("## What there is"), "path") == paths
    listed = ask(app, "", token).json()["has"].values()
    assert {one["path"] for one in listed} | {"/api/v1/"} == set(paths)


@pytest.mark.parametrize("path", ["study", "items", "estimates", "coverage"])
def test_every_key_is_explained_and_no_other(app, study, token, path):
    snapshot(study)
    reply = ask(app, path, token).json()
    text = section(f"### {path}")
    assert sorted(named(text, "key")) == sorted(reply)
    if path == "estimates":
        assert sorted(["id", "name", *named(text, "figure")]) == sorted(reply["items"][0])
    elif path != "study":
        assert all(f"`{key}`" in text for key in reply["items"][0])


def test_every_status_is_explained():
    assert re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE) == [str(code) for code in ERRORS]
    assert f"more than {RateLimits().programs.number} requests in a minute" in PAGE


def blocks(language: str, word: str) -> list[str]:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if word in block]


def test_the_examples_run(study, token, tmp_path):
    """Against a real site, with real curl, line for line."""
    snapshot(study)
    commands, programs = blocks("sh", "curl"), blocks("py", "import")
    assert len(commands) == 3
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
