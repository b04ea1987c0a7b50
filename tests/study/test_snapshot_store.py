"""Snapshots, what is current, and leases: the same on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

import pytest

from support.judging import add_answer, add_judge
from tiewise.pairing.policies import OrderedPair
from tiewise.study import snapshot_store
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import MAX_SNAPSHOTS, SnapshotStore
from tiewise.study.values import Kind

AB, CD = OrderedPair("a", "b"), OrderedPair("c", "d")
HANDS = 8


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> Iterator[JudgeStore]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        opened = JudgeStore(f"sqlite:///{tmp_path / 'study.db'}")
    else:
        opened = JudgeStore(request.getfixturevalue("postgresql")())
    yield opened
    opened.close()


@pytest.fixture
def snapshots(store) -> SnapshotStore:
    return SnapshotStore(store)


def keep(snapshots: SnapshotStore, comparisons: int, holder: str = "me", **beside: bytes) -> bool:
    body = {"median": [comparisons / 7, -1.5], "items": ["a", "ب"]}
    return snapshots.add(
        body, pulse=f"p{comparisons}", comparisons=comparisons, seconds=0.25, holder=holder,
        current=beside,
    )  # fmt: skip


# The pulse.


def test_the_pulse_changes_with_whatever_changes_what_counts_and_with_nothing_else(
    store, snapshots
):
    ledger, judge, other = ResearcherStore(store), add_judge(store), add_judge(store)
    actions = {
        "an answer": lambda: add_answer(store, judge, AB),
        "another": lambda: add_answer(store, other, CD),
        "an undo": lambda: store.undo(judge),
        "an exclusion": lambda: ledger.exclude(other.id, "clicked at random"),
        "an inclusion": lambda: ledger.include(other.id),
        "a withdrawal": lambda: store.withdraw(other, judgements_too=True),
    }
    for name, action in actions.items():
        before = snapshots.pulse()
        assert snapshots.pulse() == before
        action()
        assert snapshots.pulse() != before, name
    before = snapshots.pulse()
    store.offer(judge, CD, Kind.NEW)
    add_judge(store)
    snapshots.take_lease("live", "me", 60)
    keep(snapshots, 1)
    assert snapshots.pulse() == before


# Snapshots.


def test_a_snapshot_comes_back_as_it_went_in(snapshots):
    assert snapshots.last() is None
    assert snapshots.last_id() == 0
    assert snapshots.take_lease("live", "me", 60)
    assert keep(snapshots, 7, judges=b"rows")
    last = snapshots.last()
    assert last is not None
    assert last.body == {"median": [1.0, -1.5], "items": ["a", "ب"]}
    assert (last.id, last.pulse, last.comparisons, last.seconds) == (
        snapshots.last_id(), "p7", 7, 0.25,
    )  # fmt: skip
    kept = snapshots.current("judges")
    assert kept is not None
    assert kept[1] == b"rows"


def test_nobody_writes_without_the_lease(snapshots):
    assert not keep(snapshots, 1, judges=b"rows")
    assert snapshots.take_lease("live", "me", 60)
    assert not keep(snapshots, 1, holder="another")
    assert not snapshots.replace_current({"judges": b"rows"}, holder="another")
    assert snapshots.last() is None
    assert snapshots.current("judges") is None
    assert snapshots.replace_current({"judges": b"rows"}, holder="me")
    assert snapshots.current("judges")[1] == b"rows"


def test_a_snapshot_ends_the_failure_before_it(snapshots):
    snapshots.take_lease("live", "me", 60)
    snapshots.set_current("failure", b"no")
    snapshots.replace_current({"judges": b"rows"}, holder="me")
    assert snapshots.current("failure") is not None
    keep(snapshots, 1)
    assert snapshots.current("failure") is None


def test_of_many_snapshots_the_first_the_last_and_some_evenly_between_are_kept(snapshots):
    snapshots.take_lease("live", "me", 600)
    number = MAX_SNAPSHOTS + 60
    for k in range(1, number + 1):
        assert keep(snapshots, 10 * k)
    there = [one.comparisons for one in snapshots.history()]
    assert len(there) == MAX_SNAPSHOTS
    assert (there[0], there[-1]) == (10, 10 * number)
    assert max(b - a for a, b in pairwise(there)) <= 40
    some = snapshots.history(most=12)
    assert len(some) <= 12
    assert some[-1].comparisons == 10 * number
    assert [one.id for one in some] == sorted(one.id for one in some)


def test_a_mark_changes_when_its_thing_does(snapshots):
    assert snapshots.versions() == {}
    snapshots.take_lease("live", "me", 60)
    keep(snapshots, 1, judges=b"1", standing=b"1")
    before = snapshots.versions()
    assert set(before) == {"snapshot", "judges", "standing"}
    time.sleep(0.002)  # a mark is a moment
    snapshots.set_current("judges", b"2")
    changed = {key for key, mark in snapshots.versions().items() if mark != before[key]}
    assert changed == {"judges"}
    keep(snapshots, 2)
    assert snapshots.versions()["snapshot"] != before["snapshot"]
    snapshots.drop_current("standing")
    assert "standing" not in snapshots.versions()


# Leases.


def test_of_many_who_reach_for_a_lease_at_once_one_has_it(store):
    def reach(k: int) -> bool:
        return SnapshotStore(store).take_lease("live", f"hand {k}", 60)

    with ThreadPoolExecutor(HANDS) as pool:
        taken = list(pool.map(reach, range(HANDS)))
    assert sum(taken) == 1
    assert SnapshotStore(store).lease_holder("live") == f"hand {taken.index(True)}"


def test_a_lease_taken_while_the_clock_was_ahead_does_not_last_until_then(snapshots, monkeypatch):
    ahead = now() + timedelta(hours=1)
    monkeypatch.setattr(snapshot_store, "now", lambda: ahead)
    assert snapshots.take_lease("live", "killed since", 5)
    monkeypatch.setattr(snapshot_store, "now", now)
    assert snapshots.take_lease("live", "me", 5)
    assert snapshots.lease_holder("live") == "me"


def test_a_lease_is_renewed_given_back_and_runs_out(snapshots):
    assert snapshots.take_lease("live", "me", 60)
    assert snapshots.take_lease("live", "me", 60)
    assert not snapshots.take_lease("live", "you", 60)
    assert snapshots.take_lease("papers", "you", 60)
    snapshots.release_lease("live", "you")
    assert snapshots.lease_holder("live") == "me"
    snapshots.release_lease("live", "me")
    assert snapshots.lease_holder("live") is None
    assert snapshots.take_lease("live", "you", 0.05)
    time.sleep(0.1)
    assert snapshots.lease_holder("live") is None
    assert not keep(snapshots, 1, holder="you")
    assert snapshots.take_lease("live", "me", 60)
    assert not snapshots.take_lease("live", "you", 60)
