"""Health: whether an answer can be kept, whether there is room, whether the live worker lives."""

from __future__ import annotations

import resource
import time
from datetime import timedelta
from threading import Event

import pytest
from starlette.testclient import TestClient

from support.site import copy_study, with_database
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.web.app import make_app
from tiewise.web.multi_study import combine
from tiewise.web.serving import health

KEY = "k" * 32


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    folder = tmp_path_factory.mktemp("health")
    (folder / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    return with_database(create_study(folder / "s", question="Which?", items=folder / "items.csv"))


@pytest.fixture
def app(template, tmp_path, monkeypatch):
    """A site that says it is live, without a worker; every check is made anew."""
    monkeypatch.setattr(health, "FRESH_SECONDS", 0)
    study = copy_study(template, tmp_path / "s")
    return make_app(study, study.store(), secret=KEY, live=True)


def site(app):
    return app.state.site


def answers(app) -> tuple[int, int, int]:
    """Status of /health, /health/ready and /health/live."""
    client = TestClient(app)
    paths = ("/health", "/health/ready", "/health/live")
    return tuple(client.get(path).status_code for path in paths)


def checks(app) -> dict:
    return TestClient(app).get("/health").json()["checks"]


def test_a_site_that_is_well_says_so_with_details(app):
    assert answers(app) == (200, 200, 200)
    body = TestClient(app).get("/health").json()
    assert body["well"] is True
    assert set(body["checks"]) == {"database", "disk", "live_worker"}
    assert body["checks"]["database"]["write_seconds"] >= 0
    assert body["checks"]["disk"]["free_mebibytes"] > 0
    assert body["checks"]["live_worker"]["age_seconds"] < 60


def test_health_writes_and_commits(app):
    """A row is there afterwards; a write that is rolled back would not find a full disk."""
    before = now()
    assert answers(app)[0] == 200
    assert SnapshotStore(site(app).store).current("health")[0] >= before


def test_a_database_that_is_gone_is_not_well_but_the_process_lives(app, monkeypatch):
    def broken(_):
        raise OSError("password=hush")

    monkeypatch.setattr(SnapshotStore, "check_write", broken)
    assert answers(app) == (503, 503, 200)
    assert checks(app)["database"] == {"well": False, "error": "OSError"}


def test_a_disk_with_too_little_room_is_not_well(app, monkeypatch):
    monkeypatch.setattr(site(app).health, "_min_free_bytes", 2**60)
    assert answers(app) == (503, 503, 200)
    assert checks(app)["disk"]["well"] is False


def test_a_live_worker_that_gives_no_sign_is_not_well(app):
    site(app).health.started = now() - timedelta(seconds=health.WORKER_SECONDS + 5)
    assert answers(app) == (503, 503, 200)
    assert checks(app)["live_worker"]["age_seconds"] > health.WORKER_SECONDS
    SnapshotStore(site(app).store).record_heartbeat()
    assert answers(app) == (200, 200, 200)


@pytest.mark.slow
def test_health_on_a_database_server(template, tmp_path, postgresql, monkeypatch):
    monkeypatch.setattr(health, "FRESH_SECONDS", 0)
    study = copy_study(template, tmp_path / "s")
    app = make_app(study, study.store(postgresql()), secret=KEY, live=True)
    test_health_writes_and_commits(app)
    test_a_live_worker_that_gives_no_sign_is_not_well(app)


def test_a_database_that_does_not_answer_is_not_waited_for_and_asked_once(app, monkeypatch):
    """However many ask, one thread hangs, and once it is through, all is well."""
    asked, go_on = [], Event()

    def hang(_):
        asked.append(1)
        go_on.wait()

    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(SnapshotStore, "check_write", hang)
    for _ in range(3):
        assert answers(app) == (503, 503, 200)
    assert len(asked) == 1
    monkeypatch.setattr(health, "GIVE_UP_SECONDS", 0)
    for _ in range(6):  # others are tried, but not for ever
        assert answers(app)[0] == 503
    assert len(asked) == health.MAX_UNFINISHED
    go_on.set()
    monkeypatch.undo()
    end = time.monotonic() + 5
    while answers(app)[0] == 503:
        assert time.monotonic() < end


def test_asking_often_writes_once_a_second(template, tmp_path, monkeypatch):
    study = copy_study(template, tmp_path / "s")
    app = make_app(study, study.store(), secret=KEY)
    writes, check = [], SnapshotStore.check_write

    def counted(self):
        writes.append(1)
        check(self)

    monkeypatch.setattr(SnapshotStore, "check_write", counted)
    begun = time.monotonic()
    for _ in range(30):
        assert answers(app) == (200, 200, 200)
    assert len(writes) <= 1 + (time.monotonic() - begun) / health.FRESH_SECONDS


def test_a_full_disk_is_found(app):
    """A limit on the size of files is, to SQLite, a disk without room."""
    assert answers(app) == (200, 200, 200)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        full = answers(app)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert full == (503, 503, 200)
    assert answers(app) == (200, 200, 200)


def test_several_studies_are_well_together_and_are_not_named(template, tmp_path, monkeypatch):
    monkeypatch.setattr(health, "FRESH_SECONDS", 0)
    studies = {name: copy_study(template, tmp_path / name) for name in ("red", "green")}
    sites = {
        name: make_app(study, study.store(), secret=KEY, prefix=f"/{name}")
        for name, study in studies.items()
    }
    app = combine(sites)
    assert answers(app) == (200, 200, 200)
    monkeypatch.setattr(site(sites["red"]).health, "_min_free_bytes", 2**60)
    assert answers(app) == (503, 503, 200)
    answer = TestClient(app).get("/health")
    assert answer.json() == {"well": False, "studies": 2, "studies_well": 1}
    assert TestClient(app).get("/green/health/ready").status_code == 200
