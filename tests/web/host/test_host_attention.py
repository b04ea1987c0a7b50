"""What the page of all studies says wants attention, each from the thing itself."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.form_browser import Visitor, event_loop
from support.host_site import Member, opened, small_study
from support.snapshots import add_snapshot, body, judge_row
from tiewise.study.connection import now
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web.host import overview
from tiewise.web.live.cache import pack_rows
from tiewise.web.serving.health import WORKER_SECONDS

FLAG = {"kind": "haste", "says": "Median answer in 0.8 s."}


@pytest.fixture
def home(tmp_path) -> Path:
    for name in ("green", "blue"):
        small_study(tmp_path / "site", name)
    return tmp_path / "site"


@pytest.fixture
def app(home) -> Any:
    return opened(home)


def attention(app: Any) -> list[tuple[str, str]]:
    """What the page says of its studies, and where it leads; studies that want it come first."""
    page = Member(app).come_in("Ada").get("/").text
    list_ = re.findall(r'<ul class="attention">(.*?)</ul>', page, re.S)
    lines = re.findall(r'<a href="([^"]+)">([^<]+)</a>', "".join(list_))
    if list_:
        assert page.index("Which is green?") < page.index("Which is blue?")
    return [(text, path) for path, text in lines]


def answered(study: Study, *, days: float) -> None:
    """An answer of so many days ago."""
    store, (left, right, *_) = study.store(), study.items
    at = now() - timedelta(days=days)
    row = {"judge": "j", "left": left, "right": right, "outcome": "left", "answered": at}
    store.import_judgements([row], consent="1")
    store.close()


def test_nothing_wants_attention_where_all_is_well(app, home):
    answered(Study.open(home / "green"), days=6.9)
    assert attention(app) == []


def test_a_study_has_a_line_with_how_far_it_is(app, home):
    study = Study.open(home / "green")
    answered(study, days=2.1)
    store = study.store()
    add_snapshot(store, body(list(study.items), [0.0] * len(study.items), reliability=0.7349))
    ResearcherStore(store).set_phase(Phase.PAUSED)
    store.close()
    app.state.site.studies.opened()["green"].state.site.phase_cache.invalidate()
    page = Member(app).come_in("Ada").get("/").text
    line = next(one for one in re.split("<li", page) if "Which is green?" in one)
    figures = dict(re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", line))
    assert re.search(r'class="phase paused">paused<', line)
    assert (figures["Items"], figures["Judgements"]) == ("4", "1")
    assert figures["Reliability"] == "0.73"
    assert "2 days ago" in figures["Last answer"]
    assert "none yet" in page  # of the other study


def test_an_open_study_without_an_answer_for_seven_days(app, home):
    study = Study.open(home / "green")
    answered(study, days=8.2)
    assert attention(app) == [("No answer for 8 days", "/green/watch")]
    store = study.store()
    ResearcherStore(store).set_phase(Phase.CLOSED)
    app.state.site.studies.opened()["green"].state.site.phase_cache.invalidate()
    store.close()
    assert attention(app) == []


@pytest.fixture
def live_app(home) -> Iterator[Any]:
    """A site that fits; of the studies another process holds the work, and gives no sign."""
    stores = [Study.open(home / name).store() for name in ("green", "blue")]
    for store in stores:
        assert SnapshotStore(store).take_lease("live", "a process that hangs", 600)
        store.close()
    app = opened(home, live=True)
    yield app
    for name in ("green", "blue"):
        event_loop().call(app.state.site.studies._close, name)


def test_a_live_worker_that_gives_no_sign(live_app, home):
    assert attention(live_app) == []
    one = live_app.state.site.studies.opened()["green"].state.site
    one.health.started -= timedelta(seconds=WORKER_SECONDS + 1)
    assert attention(live_app) == [("The live picture is not renewed", "/green/watch")]
    SnapshotStore(one.store).record_heartbeat()
    assert attention(live_app) == []


def test_a_disk_of_which_less_than_a_tenth_is_free(app, monkeypatch):
    """The disk as it is, against a limit that it is below."""
    ada = Member(app).come_in("Ada")
    monkeypatch.setattr(overview, "LEAST_FREE", 0.0)
    assert "nearly full" not in ada.get("/").text
    monkeypatch.setattr(overview, "LEAST_FREE", 1.01)
    assert re.search(r"The disk is nearly full: [\d.]+ GB of \d+ GB are\s+free", ada.get("/").text)


def test_a_judge_with_a_flag_who_counts(app, home):
    study = Study.open(home / "green")
    answered(study, days=0)
    store = study.store()
    rows = [judge_row("j", flags=[FLAG]), judge_row("k")]
    values = body(list(study.items), [0.0] * len(study.items))
    add_snapshot(store, values, beside={"judges": pack_rows(rows)})
    assert attention(app) == [("1 judge to look at", "/green/watch/judges")]
    ResearcherStore(store).exclude("j", "too quick")
    store.close()
    assert attention(app) == []


def test_a_study_in_which_a_check_finds_something(app, home):
    """As the command finds it, in a process of its own; judges go on."""
    study = Study.open(home / "green")
    answered(study, days=0)
    items = home / "green" / "items.csv"
    items.write_text(items.read_text().replace("1,a", "9,a"), encoding="utf-8")
    app.state.site.studies._checked.clear()
    until = time.monotonic() + 60
    while not (lines := attention(app)) and time.monotonic() < until:
        time.sleep(0.1)
    ((text, path),) = lines
    assert text.startswith("A check found: items.csv: there are answers about 1 item that it does")
    assert path == "/site/studies/green"
    assert Visitor(app).get("/green/begin").status_code == 200


def test_a_study_whose_files_cannot_be_used(app, home):
    (home / "green" / "study.toml").write_text("not toml", encoding="utf-8")
    app.state.site.studies._checked.clear()
    text, path = attention(app)[0]
    assert text.startswith("Its files were changed and cannot be used: ")
    assert path == "/site/studies/green"
