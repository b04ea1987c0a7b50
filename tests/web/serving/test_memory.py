"""Memory of the site: what requests have freed goes back to the system."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, islice
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.crowd_client import Browser
from support.judging import add_judge
from support.site import running
from tiewise.data.answers import CODE_OF_STORED
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judgements, offers
from tiewise.study.study import Study
from tiewise.study.values import JudgeProgress
from tiewise.web.serving import memory

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's malloc")

COUNT_ARENAS = """
import ctypes, sys, threading
from tiewise.web.serving.memory import one_arena
if "bounded" in sys.argv:
    assert one_arena()
together = threading.Barrier(8)
def allocate():
    together.wait()
    lists = [bytearray(5000) for _ in range(50)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


def count_arenas(path: Path, *words: str) -> int:
    """The arenas of a process after eight of its threads have allocated memory at once."""
    subprocess.run([sys.executable, "-c", COUNT_ARENAS, str(path), *words], check=True)
    return path.read_text().count("<heap nr=")


@linux_only
def test_threads_share_one_arena(tmp_path):
    assert count_arenas(tmp_path / "arenas.xml", "bounded") == 1
    assert count_arenas(tmp_path / "arenas.xml") > 1


def test_elsewhere_than_on_glibc_nothing_happens(monkeypatch):
    monkeypatch.setattr(memory, "_glibc", lambda: None)
    assert not memory.one_arena()
    memory.collect_and_release()


def test_memory_is_released_again_and_again_until_it_is_stopped(monkeypatch):
    times: list[float] = []
    monkeypatch.setattr(memory, "release", lambda: times.append(time.monotonic()))
    thread = memory.MemoryRelease(0.005)
    thread.start()
    while len(times) < 3:
        time.sleep(0.005)
    thread.stop()
    assert not thread.is_alive()


@pytest.mark.slow
def test_what_refers_to_itself_is_freed():
    class Node:
        pass

    gc.disable()
    try:
        node = Node()
        node.me = node
        name = type(node)
        del node
        memory.collect_and_release()
        assert not any(type(one) is name for one in gc.get_objects())
    finally:
        gc.enable()


def answered(store: JudgeStore, items: list[str], number: int, **judge: str) -> None:
    """A judge who has answered so many pairs."""
    one, at = add_judge(store, **judge), now()
    pairs = list(islice(combinations(items, 2), number))
    with store.writing() as connection:
        first = (connection.scalar(offers.select().with_only_columns(offers.c.id).order_by(
            offers.c.id.desc()).limit(1)) or 0) + 1  # fmt: skip
        rows = [
            {"id": first + k, "judge": one.id, "left": left, "right": right, "kind": "new",
             "shown": at, "closed": at}
            for k, (left, right) in enumerate(pairs)
        ]  # fmt: skip
        connection.execute(offers.insert(), rows)
        outcomes = ("left", "right", "tie", "skip")
        connection.execute(
            judgements.insert(),
            [
                {"offer": row["id"], "outcome": outcomes[row["id"] % 4], "answered": at}
                for row in rows
            ],
        )


def listed(folder: Path, count: int) -> Study:
    """A study of so many things without a map."""
    table = folder / "things.csv"
    table.write_text("name\n" + "".join(f"thing {k}\n" for k in range(count)))
    return create_study(folder / "study", question="Which is better?", items=table)


def test_progress_is_counted_without_reading_the_answers(tmp_path):
    study = listed(tmp_path, 12)
    store = study.store()
    answered(store, list(study.items), 40, secret="s" * 32)
    judge = store.judge("s" * 32)
    assert judge is not None
    outcomes = [row["outcome"] for row in store.rows()]
    skipped = outcomes.count("skip")
    assert store.progress(judge) == JudgeProgress(40 - skipped, skipped, 0)
    assert store.progress(judge) == store.history(judge).progress
    assert set(outcomes) == set(CODE_OF_STORED)
    store.close()


async def read_pairs(url: str, secrets: list[str], seconds: float) -> int:
    """Judges who read their pair again and again at once; how often."""
    host = urlsplit(url)
    until, pages = time.monotonic() + seconds, 0

    async def one(secret: str) -> None:
        nonlocal pages
        browser = Browser(str(host.hostname), int(host.port or 0))
        await browser.ask("GET", f"/j/{secret}")
        while time.monotonic() < until:
            assert (await browser.ask("GET", "/pair")).status == 200
            pages += 1
        browser.close()

    await asyncio.gather(*(one(secret) for secret in secrets))
    return pages


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


@linux_only
@pytest.mark.slow
def test_the_site_does_not_keep_what_forty_long_histories_needed(tmp_path):
    study = listed(tmp_path, 100)
    store, secrets = study.store(), [f"{k:032x}" for k in range(10)]
    for secret in secrets:
        answered(store, list(study.items), 3000, secret=secret)
    store.close()
    with running(study.folder, "--no-live") as (url, server), ThreadPoolExecutor(1) as thread:
        # In a thread of its own: Playwright keeps an event loop running in the tests' thread.
        thread.submit(asyncio.run, read_pairs(url, secrets[:1], 1)).result()
        before = resident_mib(server.pid)
        pages = thread.submit(asyncio.run, read_pairs(url, 4 * secrets, 6)).result()
        grown = resident_mib(server.pid) - before
    assert pages > 40
    assert grown < 40  # some 60 with forty threads and as many arenas, some 23 as it is


LEAVE_OUT = """
import gc
from tiewise.web.serving import memory
import tiewise.web.app
memory.freeze()
assert len(gc.get_objects()) < 100, len(gc.get_objects())
class Ring: pass
one = Ring(); one.itself = one
del one
assert gc.collect() > 0
"""


def test_what_is_there_from_the_start_is_not_searched_for_garbage():
    """What comes later is, and freed."""
    subprocess.run([sys.executable, "-c", LEAVE_OUT], check=True)
