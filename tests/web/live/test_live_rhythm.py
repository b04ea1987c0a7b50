"""Quick pictures: when they are made, and that they say what full ones say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from support.site import with_database
from tiewise.engines.laplace import Laplace
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.web.live.live_fit import LiveFit, Superseded
from tiewise.web.live.rhythm import FULL_EVERY, MANY_ITEMS, PAUSE, QUICK_ABOVE, Rhythm


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_a_study_whose_pictures_are_made_soon_has_full_ones_only():
    rhythm = Rhythm(MANY_ITEMS - 1, Clock())
    assert not rhythm.quick()
    rhythm.made(QUICK_ABOVE, quick=False)
    assert not rhythm.quick()
    assert not rhythm.owes_full(1e9)


def test_where_a_full_picture_takes_long_quick_ones_are_made_until_a_pause():
    clock = Clock()
    rhythm = Rhythm(10, clock)
    rhythm.made(10.0, quick=False)
    assert rhythm.quick()
    rhythm.made(1.0, quick=True)
    assert not rhythm.owes_full(PAUSE - 0.1)
    assert rhythm.owes_full(PAUSE)
    rhythm.made(10.0, quick=False)
    assert not rhythm.owes_full(PAUSE)
    clock.at += FULL_EVERY * 10.0
    assert not rhythm.quick()  # nobody paused for long


def test_a_large_study_begins_with_a_quick_picture():
    clock = Clock()
    rhythm = Rhythm(MANY_ITEMS, clock)
    clock.at += 1e6
    assert rhythm.quick()


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("study")
    Areas.synthetic(25, rng=4).to_gpkg(place / "map.gpkg")
    study = with_database(create_study(place / "s", question="Which?", areas=place / "map.gpkg"))
    rng, ids = np.random.default_rng(3), list(study.items)
    truth = rng.normal(size=len(ids))
    rows = []
    for k in range(2500):
        left, right = rng.choice(len(ids), 2, replace=False)
        probability = 1 / (1 + np.exp(truth[right] - truth[left]))
        outcome = "tie" if rng.random() < 0.2 else "left" if rng.random() < probability else "right"
        row = {"judge": f"j{k % 9}", "left": ids[left], "right": ids[right], "outcome": outcome}
        rows.append(row)
    store = study.store()
    store.import_judgements(rows, consent="1")
    store.close()
    return study


@pytest.fixture
def live(study) -> Iterator[LiveFit]:
    store = study.store()
    assert SnapshotStore(store).take_lease("live", "me", 600)
    yield LiveFit(study, store, "me")
    SnapshotStore(store).release_lease("live", "me")
    store.close()


def test_a_quick_picture_says_what_a_full_one_says(live, monkeypatch):
    """A hundred answers an item: a Gaussian is near, and both are within their own errors."""
    snapshots = live.snapshots
    live.renew("1")
    full = snapshots.last().body
    monkeypatch.setattr(live.rhythm, "quick", lambda: True)
    live.renew("1")
    quick = snapshots.last().body
    assert (full["kind"], quick["kind"], quick["engine"]) == ("exact", "approximate", Laplace.name)
    sd, draws = np.array(full["sd"]), 400  # what either is worth, at least
    apart = np.abs(np.array(full["mean"]) - quick["mean"]) / (sd * np.sqrt(2 / draws))
    assert np.sqrt(np.mean(apart**2)) < 2  # 1 is chance alone
    ratio = np.log(np.array(quick["sd"]) / sd) / np.sqrt(1 / draws)
    assert np.sqrt(np.mean(ratio**2)) < 2
    assert quick["verdict"]["computation"]["level"] == "care"


def test_a_full_picture_of_a_pause_gives_way_to_new_judgements(live, monkeypatch):
    monkeypatch.setattr("tiewise.web.live.live_fit.POLL", 0.0)
    before = live.snapshots.last_id()
    with pytest.raises(Superseded):
        live.renew("a pulse of before", pause=True)
    assert live.snapshots.last_id() == before
