"""A restore drill: a site that backs itself up is killed under its judges, then restored."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from support.crowd_client import Browser, Tally, judge, sign_up
from support.form_browser import Visitor
from support.site import free_port
from tiewise.study.backups.backup import backups_in, made_at
from tiewise.study.backups.keys import make_backup_key
from tiewise.study.backups.restore import restore
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.server import open_site

EVERY, KEEP, JUDGES = 1, 2, 12
PAUSE = 0.4
"""Seconds between a judge's answers; more than four a second are refused."""
PATIENCE = 120


class TimedList(list[tuple[datetime, int]]):
    """Offers whose answers were acknowledged, each with the moment that the judge saw it."""

    def append(self, offer: int) -> None:
        super().append((now(), offer))


@pytest.fixture
def study(tmp_path) -> Study:
    names = "\n".join(f"item {k}" for k in range(30))
    (tmp_path / "items.csv").write_text(f"name\n{names}\n", encoding="utf-8")
    return create_study(
        tmp_path / "site" / "wards", question="Which?", items=tmp_path / "items.csv", target=9999
    )


def descendants(parent: int) -> Iterator[int]:
    """The processes that a process started, theirs included."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            child = int(path.parent.name)
            yield child
            yield from descendants(child)


def kill_all(server: subprocess.Popen[str]) -> None:
    """As when the power goes: the site, its workers and the backup that is under way, at once."""
    everybody = [server.pid, *descendants(server.pid)]
    for process in everybody:
        with suppress(ProcessLookupError):  # a backup may end by itself at this very moment
            os.kill(process, signal.SIGKILL)
    server.wait(30)


async def work(port: int, tally: Tally, browsers: list[Browser]) -> None:
    """Judges answer until the site is gone."""
    for _ in range(JUDGES):
        browsers.append(Browser("127.0.0.1", port))
        await sign_up(browsers[-1])
    crowd = [asyncio.create_task(judge(one, tally, float("inf"), PAUSE)) for one in browsers]
    while not tally.errors:
        await asyncio.sleep(0.05)
    for task in crowd:
        task.cancel()


def started(study: Study, database: str | None, key: Path) -> tuple[subprocess.Popen[str], int]:
    port = free_port()
    words = ["serve", study.folder, "--port", port, "--no-live", "--workers", 2]
    words += ["--backup-every", f"{EVERY}s", "--backup-keep", KEEP, "--key-file", key]
    server = subprocess.Popen(
        [sys.executable, "-m", "tiewise.cli.main", *map(str, words)],
        env=os.environ | ({"TIEWISE_DATABASE": database} if database else {}),
        stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    return server, port


def seen_until_backed_up(study: Study, tally: Tally) -> set[Path]:
    """Wait for three backups, one of them begun after fifty answers; every one that was there."""
    seen: set[Path] = set()
    end = time.monotonic() + PATIENCE
    while True:
        seen |= set(backups_in(study.folder / "backups", "wards"))
        moment = tally.acknowledged[49][0] if len(tally.acknowledged) >= 50 else None
        if len(seen) >= 3 and moment and max(map(made_at, seen)) > moment:
            return seen
        assert time.monotonic() < end, (seen, tally)
        time.sleep(0.1)


def until_something_is_to_be_lost(study: Study, tally: Tally) -> None:
    """Wait for an answer that is younger than the newest backup by a good part of a backup's time.

    Killed before, there would be nothing that the restored site does not know.
    """
    end = time.monotonic() + PATIENCE
    while True:
        newest = made_at(backups_in(study.folder / "backups", "wards")[-1])
        age = (tally.acknowledged[-1][0] - newest).total_seconds()
        if age > 0.3 * EVERY:
            return
        assert time.monotonic() < end, (newest, tally)
        time.sleep(0.01)


async def when_it_answers(port: int) -> None:
    for _ in range(600):
        try:
            await Browser("127.0.0.1", port).ask("GET", "/health/live")
            return
        except OSError:
            await asyncio.sleep(0.1)
    raise AssertionError("the site did not come up")


async def judged(port: int, tally: Tally, browsers: list[Browser]) -> None:
    await when_it_answers(port)
    await work(port, tally, browsers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_site_killed_at_a_random_moment_is_restored_up_to_its_last_backup(
    study, kind, tmp_path, request
):
    databases = None if kind == "sqlite" else request.getfixturevalue("postgresql")
    database = databases() if databases else None
    key = make_backup_key(tmp_path / "key")
    server, port = started(study, database, tmp_path / "key.pub")
    tally, browsers = Tally(acknowledged=TimedList()), []
    try:
        with ThreadPoolExecutor(1) as thread:
            crowd = thread.submit(asyncio.run, judged(port, tally, browsers))
            seen = seen_until_backed_up(study, tally)
            time.sleep(random.uniform(0, 2 * EVERY))
            until_something_is_to_be_lost(study, tally)
            kill_all(server)
            crowd.result(PATIENCE)
    finally:
        if server.poll() is None:
            kill_all(server)
    # Two workers, and one of them made each backup; old ones went.
    there = backups_in(study.folder / "backups", "wards")
    moments = sorted(made_at(path) for path in {*seen, *there})
    assert all((later - before).total_seconds() >= EVERY for before, later in pairwise(moments))
    assert len(there) <= KEEP + 1  # killed between the newest and the deletion

    # Another machine: nothing but the backup and the key.
    empty = databases(empty=True) if databases else None
    home = tmp_path / "machine" / "wards"
    done = restore(there[-1], home, url=empty, key=key)
    original, restored = study.store(database), Study.open(home).store(empty)
    rows, again = ({row["offer"]: dict(row) for row in s.rows()} for s in (original, restored))
    original.close()
    restored.close()
    promised = {offer for moment, offer in tally.acknowledged if moment < done.facts.moment}
    assert promised <= set(again)
    assert len(again) == done.facts.judgements
    assert all(rows[offer] == row for offer, row in again.items())
    # What was acknowledged later is in the database that was killed, and lost with the machine.
    assert {offer for _, offer in tally.acknowledged} <= set(rows)
    assert 50 <= len(again) < len(rows)

    # Judges go on where they were, with the cookies that they have.
    site = open_site(home, database=empty)
    for browser in browsers:
        back = Visitor(site)
        back.client.cookies.update(browser.cookies)
        back.get("/pair")
        assert back.path == "/pair"
