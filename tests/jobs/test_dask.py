"""A Dask cluster does what processes here do: the same bytes, whatever happens to its workers."""

from __future__ import annotations

import gc
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from support import tasks as jobs
from support.tasks import NUMBER, result_bytes, start_counts, study_tasks
from tiewise.errors import InputError
from tiewise.jobs import workers as worker_module
from tiewise.jobs.journal import Journal
from tiewise.jobs.run import Task, WorkerPool, run_tasks
from tiewise.jobs.tables import RESULTS

distributed = pytest.importorskip("distributed")

# Given up after two deaths, not four: a worker takes seconds to start anew.
QUICKLY = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}


@contextmanager
def running(*command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    here = str(Path(__file__).parents[1])
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *command], stdout=file, stderr=file,
            env={**os.environ, **QUICKLY, "PYTHONPATH": here},
        )  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            process.wait(jobs.PATIENCE)


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = ("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    with running(*command, log=folder / "scheduler.log") as process:
        until("Scheduler at", folder / "scheduler.log")
        yield f"tcp://127.0.0.1:{port}", process


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and two workers, each of its own process; one of them has two threads."""
    folder = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(folder))
        logs = [folder / f"worker {k}.log" for k in (1, 2)]
        for threads, log in zip("12", logs, strict=True):
            stack.enter_context(worker(address, threads, log))
        for log in logs:
            until("Registered to", log)
        yield address


@contextmanager
def worker(address: str, threads: str, log: Path) -> Iterator[None]:
    command = ("worker", address, "--nthreads", threads, "--no-dashboard")
    with running(*command, "--local-directory", str(log.parent), log=log):
        yield


def until(words: str, log: Path) -> None:
    ends = time.monotonic() + jobs.PATIENCE
    while words not in log.read_text(encoding="utf-8"):
        assert time.monotonic() < ends, log.read_text(encoding="utf-8")
        time.sleep(0.05)


@pytest.mark.slow
def test_a_cluster_finds_the_same_bytes_as_one_process_even_if_a_worker_is_killed(
    tmp_path, cluster, capfd
):
    (tmp_path / "here").mkdir()
    expected = result_bytes(tmp_path / "here", study_tasks(tmp_path / "here"), WorkerPool(1))
    (tmp_path / "there").mkdir()
    tasks = study_tasks(tmp_path / "there")
    assert result_bytes(tmp_path / "there", tasks, WorkerPool(dask=cluster)) == expected
    assert start_counts(tmp_path / "there") == dict.fromkeys(range(NUMBER), 1)
    (tmp_path / "killed").mkdir()
    tasks = study_tasks(tmp_path / "killed")
    tasks[3] = Task(tasks[3].name, {**tasks[3].inputs, "dies": str(tmp_path / "died")})
    assert result_bytes(tmp_path / "killed", tasks, WorkerPool(dask=cluster)) == expected
    assert (tmp_path / "died").exists()
    assert start_counts(tmp_path / "killed")[3] > 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_failing_and_deadly_tasks_are_named_and_the_others_are_done(cluster, capfd):
    tasks = [Task(f"task {k}", {"deadly": k == 1} if k != 2 else {}) for k in range(5)]
    done = run_tasks(jobs.deadly, tasks, seed=1, pool=WorkerPool(dask=cluster))
    assert [one.name for one in done if one.error] == ["task 1", "task 2"]
    assert done[1].error == "its worker ended in the middle of it, each time it was tried"
    assert str(done[2].error).startswith("KeyError: 'deadly'")
    assert all(one.rows == [{"alive": True}] for one in done if not one.error)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_tasks_that_are_threads_of_one_worker_have_one_blas_thread(cluster):
    tasks = [Task(str(k), {}) for k in range(8)]
    done = run_tasks(jobs.threads, tasks, seed=1, pool=WorkerPool(dask=cluster))
    assert all(one.rows for one in done)
    assert {row["threads"] for one in done for row in one.rows} == {1}


@pytest.mark.slow
def test_the_example_of_the_page_finds_the_same_here_and_there(tmp_path, cluster):
    """A script's own function goes to the workers, which cannot import the script."""
    example = Path(__file__).parents[2] / "docs" / "examples" / "on_a_cluster.py"
    runs = []
    for name, address in (("here", []), ("there", [cluster])):
        command = [sys.executable, str(example), str(tmp_path / name), *address]
        runs.append(subprocess.run(command, capture_output=True, text=True, check=True))
    assert [one.stderr for one in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout
    here, there = ((tmp_path / name / RESULTS).read_bytes() for name in ("here", "there"))
    assert here == there
    correlations = dict(re.findall(r"^(\d+) +([\d.]+)$", runs[0].stdout, re.MULTILINE))
    assert 0 < float(correlations["50"]) < float(correlations["200"]) <= 1


@pytest.mark.slow
def test_workers_with_other_versions_are_refused(cluster, monkeypatch):
    there = np.__version__
    monkeypatch.setattr(np, "__version__", "1.0")
    words = rf"^the Dask worker at \S+ has numpy {re.escape(there)}, here it is 1.0; install"
    with pytest.raises(InputError, match=words):
        run_tasks(jobs.kinds, [Task("a", {})], seed=1, pool=WorkerPool(dask=cluster))


# Where there is no cluster.


@pytest.fixture(autouse=True)
def no_dead_clients() -> Iterator[None]:
    """A client that never got through is collected here: in the midst of the next, Dask hangs."""
    yield
    gc.collect()


def complaint(address: str) -> str:
    with pytest.raises(InputError) as caught:
        run_tasks(jobs.kinds, [Task("a", {})], seed=1, pool=WorkerPool(dask=address))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "ftp://127.0.0.1:1", "tcp://x:y"])
def test_an_address_without_a_scheduler_is_told_in_a_line(address, monkeypatch, capfd):
    monkeypatch.setattr(worker_module, "CONNECT_SECONDS", 1)
    message = complaint(address)
    assert message.startswith(f"no Dask scheduler answers at {address!r} (")
    assert message.endswith("start one with `dask scheduler`, or leave dask= out")
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_cluster_without_workers_is_told_in_a_line(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(worker_module, "WORKER_SECONDS", 1)
    with scheduler(tmp_path) as (address, _):
        assert complaint(address) == (
            f"the Dask cluster at {address!r} has no worker; start some with "
            f"`dask worker {address}`"
        )
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_told_in_a_line(tmp_path, capfd):
    """What was done before is in the journal; the rest is left for another time."""
    done, never = tmp_path / "done", tmp_path / "never"
    for folder in (done, never):
        folder.mkdir()
    (done / "go").touch()
    tasks = [
        Task(str(k), {"number": k, "folder": str(folder)}) for k, folder in enumerate([done, never])
    ]
    journal = Journal(tmp_path / "journal.jsonl", {})
    with scheduler(tmp_path) as (address, process), worker(address, "2", tmp_path / "worker.log"):

        def progress(_what: str, finished: int, _total: int) -> None:
            if finished:
                process.kill()

        pool = WorkerPool(dask=address)
        with pytest.raises(InputError) as caught:
            run_tasks(jobs.waiting, tasks, seed=1, journal=journal, pool=pool, progress=progress)
    assert str(caught.value) == (
        f"the Dask scheduler at {address!r} went away; start it and the same command again, which "
        "goes on where it was"
    )
    assert list(journal.records) == ["0"]
    assert capfd.readouterr() == ("", "")


def test_without_dask_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert complaint("127.0.0.1:1") == ("dask= needs distributed: pip install 'tiewise[dask]'")
