"""Work for a process that was forked before: done once, wherever it is done, and never lost."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

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


def end_other(parent: int, number: int) -> int:
    """Ends the process that it runs in, unless that is the one of the test."""
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail_other(parent: int) -> int:
    if os.getpid() != parent:
        raise ValueError
    return 7


def fail() -> int:
    raise ValueError("this one")


@pytest.mark.parametrize("share", [True, False])
def test_results_come_in_their_order_round_after_round(way, share):
    with ReadyProcess() as process:
        first = process.begin([partial(pow, k, 2) for k in range(40)])
        second = process.begin([partial(pow, k, 3) for k in range(5)])
        assert process.begin([]).results() == []
        assert second.results(share=share) == [k**3 for k in range(5)]
        assert first.results(share=share) == [k**2 for k in range(40)]


def test_it_is_another_process_and_has_got_ready(way, tmp_path):
    with ReadyProcess(lambda: (tmp_path / "ready").write_text("", encoding="utf-8")) as process:
        (where,) = process.begin([os.getpid]).results(share=False)
    assert (where == os.getpid()) == (way == "alone")
    assert (tmp_path / "ready").exists() == (way == "forked")


def test_jobs_are_named_by_their_place_before_they_are_waited_for(way):
    places: list[int] = []
    with ReadyProcess() as process:
        process.begin([partial(abs, 1)]).results(share=False)
        process.begin([partial(abs, k) for k in range(9)]).results(places.append)
    assert places == list(range(9))


def test_what_fails_there_is_done_here(way):
    with ReadyProcess() as process:
        assert process.begin([partial(fail_other, os.getpid())]).results(share=False) == [7]
        with pytest.raises(ValueError, match="this one"):
            process.begin([fail]).results(share=False)


def test_a_process_that_dies_loses_nothing(way):
    with ReadyProcess() as process:
        jobs = process.begin([partial(end_other, os.getpid(), k) for k in range(4)])
        assert jobs.results(share=False) == [0, 1, 2, 3]
        assert process.begin([partial(abs, -5)]).results() == [5]


def test_a_process_that_hangs_is_not_waited_for(way, monkeypatch):
    monkeypatch.setattr(forking, "PATIENCE", 0.05)
    hang = partial(signal.pause) if way == "forked" else (lambda: None)
    with ReadyProcess(hang) as process:
        assert process.begin([partial(abs, -5)]).results(share=False) == [5]


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_nothing_is_left_of_it(monkeypatch):
    """Neither the process nor an open file."""
    monkeypatch.setattr(forking, "can_fork", lambda: True)
    before = open_files()
    with ReadyProcess() as process:
        (child,) = process.begin([os.getpid]).results(share=False)
    assert not Path(f"/proc/{child}").exists()
    assert open_files() == before
