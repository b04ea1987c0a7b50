"""Devices that researchers are known by."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from tiewise.study.access import devices
from tiewise.study.access.devices import DEVICE_LIFETIME, MOST_DEVICES, DeviceStore
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> JudgeStore:
    if request.param == "sqlite":
        return JudgeStore(f"sqlite:///{tmp_path / 's.db'}")
    return JudgeStore(request.getfixturevalue("postgresql")())


def kept(store: JudgeStore) -> list[str]:
    with store.reading() as connection:
        return list(connection.scalars(text("SELECT secret FROM devices")))


def test_a_device_is_known_by_its_newest_secret_for_all_who_use_it(store):
    known, researchers = DeviceStore(store), ResearcherStore(store)
    ada, ben = researchers.add_researcher("Ada"), researchers.add_researcher("Ben")
    first = known.remember(ada, None)
    second = known.remember(ben, first)
    third = known.remember(ada, second)
    assert [known.knows(secret, "Ada") for secret in (first, second, third)] == [False, False, True]
    assert known.knows(third, "Ben")
    assert not known.knows(third, "ada")
    assert not known.knows("0" * 32, "Ada")
    assert third not in kept(store)
    known.forget_others(ada, third)
    assert known.knows(third, "Ada")
    known.forget_others(ada, None)
    assert not known.knows(third, "Ada")
    assert known.knows(third, "Ben")


def test_devices_are_forgotten_in_time_and_beyond_a_number(store, monkeypatch):
    known, ada = DeviceStore(store), ResearcherStore(store).add_researcher("Ada")
    secrets = []
    for number in range(MOST_DEVICES + 2):
        at = now() + timedelta(minutes=number)
        monkeypatch.setattr(devices, "now", lambda at=at: at)
        secrets.append(known.remember(ada, None))
    expected = [False] * 2 + [True] * MOST_DEVICES
    assert [known.knows(secret, "Ada") for secret in secrets] == expected
    later = now() + DEVICE_LIFETIME + timedelta(hours=1)
    monkeypatch.setattr(devices, "now", lambda: later)
    assert not known.knows(secrets[-1], "Ada")
    known.remember(ada, None)
    assert len(kept(store)) == 1
