"""Work beside one's own: done once, wherever it is done, and never lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from tiewise import forking
from tiewise.forking import SharedJobs, beside, can_fork, share_out

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture(params=["forked", "alone"])
def way(request, monkeypatch):
    """Both ways: with a second process, and where there cannot be one."""
    if request.param == "alone":
        monkeypatch.setattr(forking, "can_fork", lambda: False)
    else:
        request.getfixturevalue("forked")
    return request.param


@pytest.fixture
def forked(monkeypatch):
    """Threads that tests before this one left idle do not matter here."""
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    monkeypatch.setattr(forking, "can_fork", lambda: True)


def test_the_results_of_jobs_come_in_their_order(way):
    assert share_out([partial(pow, k, 2) for k in range(40)]) == [k**2 for k in range(40)]
    assert share_out([]) == []


def test_progress_is_of_jobs_that_this_process_begins(way):
    begun: list[int] = []
    share_out([partial(abs, k) for k in range(9)], begun.append)
    assert begun == sorted(begun)
    assert begun == list(range(9)) or way == "forked"


def test_work_beside_is_done_when_the_block_ends(way, tmp_path):
    with beside(lambda: (tmp_path / "done").write_text(str(os.getpid()), encoding="utf-8")):
        pass
    somebody = int((tmp_path / "done").read_text(encoding="utf-8"))
    assert (somebody == os.getpid()) == (way == "alone")


def test_a_job_that_fails_fails_here(way):
    """With its own error, whichever process came upon it."""

    def fail() -> int:
        raise ValueError("this one")

    with pytest.raises(ValueError, match="this one"):
        share_out([partial(abs, 1), fail, fail, fail])


def write_pid(place: Path) -> int:
    place.write_text(str(os.getpid()), encoding="utf-8")
    return os.getpid()


def test_jobs_are_begun_while_the_block_runs(forked, tmp_path):
    """Before anybody asks for their results."""
    places = [tmp_path / str(k) for k in range(3)]
    with SharedJobs([partial(write_pid, place) for place in places]) as shared:
        while not (places[-1].exists() and places[-1].read_bytes()):
            pass
        writers = shared.results()
    assert len(set(writers)) == 1
    assert os.getpid() not in writers


def test_results_of_a_block_come_in_their_order(way):
    with SharedJobs([partial(pow, k, 2) for k in range(40)]) as shared:
        assert shared.results() == [k**2 for k in range(40)]


def test_jobs_of_a_block_that_failed_are_ended(forked, tmp_path):
    def wait() -> None:
        write_pid(tmp_path / "pid")
        threading.Event().wait()

    def wait_and_fail() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_bytes():
            pass
        raise KeyError

    with pytest.raises(KeyError), SharedJobs([wait]):
        wait_and_fail()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), 0)


def end_other(parent: int) -> int:
    """Ends the process that it runs in, unless that is the one of the test."""
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


def test_jobs_of_a_process_that_was_killed_are_done_again(way):
    job = partial(end_other, os.getpid())
    assert share_out([job, job, job, job]) == [7, 7, 7, 7]


def test_a_process_that_hangs_does_not_hold_up_this_one(forked, monkeypatch, tmp_path):
    monkeypatch.setattr(forking, "PATIENCE", 0.05)
    parent = os.getpid()

    def hang() -> None:
        if os.getpid() != parent:
            threading.Event().wait()
        (tmp_path / "done").touch()

    with beside(hang):
        pass
    assert (tmp_path / "done").is_file()


def test_nothing_goes_on_after_a_block_that_failed(forked, tmp_path):
    def wait_and_write(place: Path = tmp_path / "pid") -> None:
        place.write_text(str(os.getpid()), encoding="utf-8")
        threading.Event().wait()

    def wait_and_fail() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_bytes():
            pass
        raise KeyError

    with pytest.raises(KeyError), beside(wait_and_write):
        wait_and_fail()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), 0)


@needs_fork
def test_nobody_forks_beside_another_thread():
    """It might hold a lock, which a forked process would wait for in vain."""
    before, end = can_fork(), threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert not can_fork()
    finally:
        end.set()
        other.join()
    assert can_fork() == before
