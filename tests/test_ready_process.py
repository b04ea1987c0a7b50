"""Work for a process that was forked before: done once, wherever it is done, and never lost."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest

from tiewise import forking
from tiewise.ready_process import ReadyProcess


@pytest.fixture(params=["forked", "alone"])
def way(request, monkeypatch):
    """Both ways: with a second process, and where there cannot be one."""
    if request.param == "forked" and sys.platform != "linux":
        pytest.skip("needs Linux")
    monkeypatch.setattr(forking, "can_fork", lambda: request.param == "forked")
    return request.param


def end_other(parent: int, number: int, by: signal.Signals = signal.SIGKILL) -> int:
    """Ends the process that it runs in, unless that is the one of the test."""
    if os.getpid() != parent:
        os.kill(os.getpid(), by)
    return number


def fail_other(parent: int) -> int:
    if os.getpid() != parent:
        raise ValueError
    return 7


def fail() -> int:
    raise ValueError("this one")


def test_results_come_in_their_order_round_after_round(way):
    with ReadyProcess() as process:
        first = process.begin([partial(pow, k, 2) for k in range(40)])
        second = process.begin([partial(pow, k, 3) for k in range(5)])
        assert process.begin([]).results() == []
        assert second.results() == [k**3 for k in range(5)]
        assert first.results() == [k**2 for k in range(40)]


def test_it_is_another_process_and_has_got_ready(way, tmp_path):
    with ReadyProcess(lambda: (tmp_path / "ready").write_text("", encoding="utf-8")) as process:
        (where,) = process.begin([os.getpid]).results()
    assert (where == os.getpid()) == (way == "alone")
    assert (tmp_path / "ready").exists() == (way == "forked")


def test_jobs_are_named_by_their_place_before_they_are_waited_for(way):
    places: list[int] = []
    with ReadyProcess() as process:
        process.begin([partial(abs, 1)]).results()
        process.begin([partial(abs, k) for k in range(9)]).results(places.append)
    assert places == list(range(9))


def meet(own: Path, other: Path) -> bool:
    """Whether the other job runs at the same time as this one."""
    own.touch()
    deadline = monotonic() + 30
    while not other.exists() and monotonic() < deadline:
        sleep(0.01)
    return other.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_third_process_is_as_ready_and_shares_the_jobs(monkeypatch, tmp_path):
    monkeypatch.setattr(forking, "can_fork", lambda: True)
    ready, one, two = (tmp_path / name for name in ("ready", "one", "two"))

    def get_ready() -> None:
        with ready.open("a", encoding="utf-8") as file:
            file.write("ready\n")

    with ReadyProcess(get_ready) as process:
        jobs = [partial(meet, one, two), partial(meet, two, one), os.getpid]
        *met, where = process.begin(jobs).results()
    assert met == [True, True]
    assert where != os.getpid()
    assert ready.read_text(encoding="utf-8") == "ready\n"


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_either_may_die(monkeypatch, signal_number):
    """The second with the third, or the third with the second: what they had begun is done here."""
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    monkeypatch.setattr(forking, "can_fork", lambda: True)
    parent = os.getpid()
    for _ in range(6):
        with ReadyProcess() as process:
            process.begin([partial(abs, k) for k in range(8)])
            jobs = process.begin([partial(end_other, parent, 3, signal_number)] + [int] * 8)
            assert jobs.results() == [3, *[0] * 8]


def test_what_fails_there_is_done_here(way):
    with ReadyProcess() as process:
        assert process.begin([partial(fail_other, os.getpid())]).results() == [7]
        with pytest.raises(ValueError, match="this one"):
            process.begin([fail]).results()


def test_a_process_that_dies_loses_nothing(way):
    with ReadyProcess() as process:
        jobs = process.begin([partial(end_other, os.getpid(), k) for k in range(4)])
        assert jobs.results() == [0, 1, 2, 3]
        assert process.begin([partial(abs, -5)]).results() == [5]


def test_a_process_that_hangs_is_not_waited_for(way, monkeypatch):
    monkeypatch.setattr(forking, "PATIENCE", 0.05)
    hang = partial(signal.pause) if way == "forked" else (lambda: None)
    with ReadyProcess(hang) as process:
        assert process.begin([partial(abs, -5)]).results() == [5]


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_nothing_is_left_of_it(monkeypatch):
    """Neither the processes nor an open file."""
    monkeypatch.setattr(forking, "can_fork", lambda: True)
    before = open_files()
    with ReadyProcess() as process:
        children = set(process.begin([os.getpid] * 9).results())
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert open_files() == before
