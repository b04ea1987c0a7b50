"""The overview: how a study stands, what to do next and the button that does it; finding items."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import numpy as np
import pytest

from support.form_browser import Visitor
from support.judging import add_judge
from support.site import copy_study, edited, with_database
from support.snapshots import add_snapshot, body, judge_row
from tiewise.errors import InputError
from tiewise.pairing.state import PairingState
from tiewise.posterior.reliability import StoppingAdvice
from tiewise.study.create import create_study
from tiewise.study.study import Study, next_offer
from tiewise.study.toml.pairing_policy import PolicyCache, with_policy, write_policy
from tiewise.study.values import Phase
from tiewise.web.app import make_app
from tiewise.web.live.cache import pack_rows
from tiewise.web.researcher.overview.next_step import StudyStatus, next_step, state_sentence

TREES = ("Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel")


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    (place / "items.csv").write_text("name\n" + "\n".join(TREES) + "\n", encoding="utf-8")
    made = create_study(
        place / "s", question="Which?", items=place / "items.csv", noun="tree", title="Trees"
    )
    return with_database(made)


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


def app_with_picture(study: Study, comparisons: list[int], **more: Any) -> Any:
    """A site with judgements, and a picture in which items have so many comparisons."""
    store, ids = study.store(), list(study.items)
    pairs = [(ids[k % 7], ids[7]) for k in range(24)]
    store.import_judgements(
        [{"judge": "j", "left": a, "right": b, "outcome": "left"} for a, b in pairs], consent="1"
    )
    rows = more.pop("rows", [judge_row("j")])
    values = body(ids, [k / 4 for k in range(8)], comparisons=comparisons, **more)
    numbers = np.array(comparisons, np.int32)
    state = PairingState(tuple(ids), numbers, np.zeros(8, np.int32))
    beside = {"judges": pack_rows(rows), "standing": state.to_bytes()}
    add_snapshot(store, values, comparisons=24, beside=beside)
    return make_app(study, store, secret="k" * 40)


def status(**other: Any) -> StudyStatus:
    usual: dict[str, Any] = {
        "phase": Phase.OPEN, "done": 412, "judges": 14, "goal": 0, "target": 0.8,
        "reliability": 0.629, "advice": StoppingAdvice(False, "", 240), "rows": [],
        "nouns": ("ward", "wards"), "policy": "uniform", "flagged": 0, "awaited": 0,
        "reported": False,
    }  # fmt: skip
    return StudyStatus(**usual | other)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({}, "The study is open, with 412 judgements by 14 judges; reliability is 0.62 of the 0.80 "
             "wanted, about 240 more."),
        ({"goal": 1500}, "The study is open, with 412 judgements by 14 judges; 1,088 more reach "
                         "its goal."),
        ({"goal": 400},
         "The study is open, with 412 judgements by 14 judges; its goal is reached."),
        ({"reliability": None},
         "The study is open, with 412 judgements by 14 judges; how sure they are is not known "
         "yet."),
        ({"done": 0, "phase": Phase.PAUSED}, "The study is paused before anybody has judged."),
        ({"done": 1, "judges": 1, "phase": Phase.CLOSED, "advice": StoppingAdvice(True, "", 0)},
         "The study is closed, with 1 judgement by 1 judge; reliability is 0.62 of the 0.80 "
         "wanted."),
    ],
)  # fmt: skip
def test_how_it_stands_is_one_sentence(other, says):
    assert state_sentence(status(**other)) == says


@pytest.mark.parametrize(
    ("other", "path"),
    [
        ({}, None), ({"done": 0}, "/watch/invite"), ({"phase": Phase.PAUSED}, "/watch/phase"),
        ({"flagged": 2, "awaited": 3}, "/watch/judges"), ({"awaited": 3}, "/watch/invite"),
        ({"advice": StoppingAdvice(True, "", 0)}, "/watch/run"), ({"goal": 412}, "/watch/run"),
        ({"phase": Phase.CLOSED, "flagged": 1}, "/watch/papers"),
        ({"phase": Phase.CLOSED, "reported": True}, None),
    ],
)  # fmt: skip
def test_one_thing_is_suggested_the_most_urgent_first(other, path):
    step = next_step(status(**other))
    assert (step.path if step else None) == path


def test_thin_items_are_named_and_the_button_switches_to_balanced_pairing(study):
    app = app_with_picture(study, [12, 10, 12, 2, 11, 10, 3, 12])
    other_worker = make_app(study, study.store(), secret="k" * 40)
    assert other_worker.state.site.paired_study.settings.pairing.policy == "uniform"
    before = (study.folder / "study.toml").read_text(encoding="utf-8")
    ada = Visitor(app).sign_in()
    page = ada.get("/watch").text
    assert "ask about these 2 thin trees: switch to balanced pairing" in page
    assert "Dogwood, Ginkgo" in page
    ada.send("/watch/pairing")
    assert "Pairs are chosen so" in ada.answer.text
    after = (study.folder / "study.toml").read_text(encoding="utf-8")
    changed = [
        (old, new)
        for old, new in zip(before.splitlines(), after.splitlines(), strict=True)
        if old != new
    ]
    assert [new for _, new in changed] == [changed[0][0].replace('"uniform"', '"balanced"', 1)]
    assert app.state.site.paired_study.settings.pairing.policy == "balanced"
    other_worker.state.site.policy_cache.invalidate()  # a second later
    assert other_worker.state.site.paired_study.settings.pairing.policy == "balanced"
    assert "thin trees" not in ada.get("/watch").text
    assert "switch pairing" in ada.get("/watch/trail").text
    site, thin = app.state.site, {"4", "7"}
    assert Visitor(app).join().path == "/pair"
    state = site.snapshot_cache.pairing_state()
    offers = [
        next_offer(site.paired_study, site.store, add_judge(site.store), np.random.default_rng(k),
                   state=state)
        for k in range(60)
    ]  # fmt: skip
    # By lot it would be 28 with an error of 4; balanced pairs have a thin one nearly always.
    assert sum(bool({one.left, one.right} & thin) for one in offers) > 44


def test_a_study_with_a_policy_of_its_own_is_not_switched(study):
    study = edited(study, {'policy = "uniform"': 'policy = "informative"'})
    ada = Visitor(app_with_picture(study, [12, 10, 12, 2, 11, 10, 3, 12])).sign_in()
    assert "thin tree" not in ada.get("/watch").text
    token = ada.get("/watch/run") and ada.token
    answer = ada.post("/watch/pairing", {"token": token, "policy": "balanced"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "text",
    [
        '[study]\ntitle = "x"\n', "[pairing]\n", "[pairing] # how\nrepeats = 0.1\n[model]\n",
        "[pairing]\npolicy = 'uniform' # why\n\n[other]\npolicy = \"uniform\"\n",
        '[a]\npolicy = "uniform"\n[ pairing ]\n  policy="uniform"\n',
    ],
)  # fmt: skip
def test_a_policy_is_written_and_nothing_else_is_changed(text):
    before, after = tomllib.loads(text), tomllib.loads(with_policy(text, "balanced"))
    assert after == before | {"pairing": before.get("pairing", {}) | {"policy": "balanced"}}
    remarks = re.findall(r"#.*", text)
    assert re.findall(r"#.*", with_policy(text, "balanced")) == remarks


def test_what_cannot_be_written_safely_is_left_alone(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('pairing = { policy = "uniform" }\n', encoding="utf-8")
    with pytest.raises((InputError, tomllib.TOMLDecodeError)):
        write_policy(path, "balanced")
    assert path.read_text(encoding="utf-8") == 'pairing = { policy = "uniform" }\n'


def test_a_file_that_is_being_written_changes_nothing(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('[pairing]\npolicy = "balanced"\n', encoding="utf-8")
    cache = PolicyCache(path, "uniform")
    assert cache.policy() == "balanced"
    for text in ("[pairing\n", '[pairing]\npolicy = "informative"\n', ""):
        path.write_text(text, encoding="utf-8")
        cache.invalidate()
        assert cache.policy() == "balanced"


def test_items_are_found_by_name_in_any_order_of_words(study):
    ada = Visitor(app_with_picture(study, [9] * 8)).sign_in()
    assert ada.get("/watch/items?q=ASH").text.count("data-row=") == 1
    assert "1 tree of 8 found" in ada.answer.text
    assert "by=name&amp;q=ASH" in ada.answer.text
    assert "No tree of 8 found" in ada.get("/watch/items?q=oak").text
    assert ada.get("/watch/items").text.count("data-row=") == 8
