"""Many tasks: the same results on any workers, resumed, and failures with their seeds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.random import SeedSequence

from support import tasks as jobs
from support.tasks import HEADING, NUMBER, result_bytes, start_counts, study_tasks
from tiewise.errors import InputError
from tiewise.jobs import versions as installed
from tiewise.jobs.journal import Journal, TaskRecord
from tiewise.jobs.run import Task, TaskResult, WorkerPool, run_tasks, task_seed
from tiewise.jobs.tables import RESULTS, TIMINGS, read_table, write_tables

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What one process finds."""
    folder = tmp_path_factory.mktemp("one")
    return result_bytes(folder, study_tasks(folder), WorkerPool(1))


# The same everywhere.


def test_two_processes_find_the_same_bytes_as_one(tmp_path, expected):
    assert result_bytes(tmp_path, study_tasks(tmp_path), WorkerPool(2)) == expected
    assert set(start_counts(tmp_path).values()) == {1}


def test_the_order_in_which_tasks_are_done_does_not_matter(tmp_path, expected):
    """Done backwards, and put down in the order in which they were asked for."""
    tasks = study_tasks(tmp_path)
    journal = Journal(tmp_path / "journal.jsonl", HEADING)
    run_tasks(jobs.fit_study, tasks[::-1], seed=5, journal=journal, pool=WorkerPool(1))
    assert result_bytes(tmp_path, tasks, WorkerPool(1)) == expected
    assert set(start_counts(tmp_path).values()) == {1}


@pytest.mark.slow
@needs_signals
def test_a_worker_that_is_killed_changes_nothing(tmp_path, expected):
    tasks = study_tasks(tmp_path)
    tasks[3] = Task(tasks[3].name, {**tasks[3].inputs, "dies": str(tmp_path / "died")})
    assert result_bytes(tmp_path, tasks, WorkerPool(2)) == expected
    assert (tmp_path / "died").exists()
    assert start_counts(tmp_path)[3] > 1


def test_results_do_not_say_who_did_the_work_and_times_do(tmp_path):
    result_bytes(tmp_path, study_tasks(tmp_path), WorkerPool(1))
    results, heading = read_table(tmp_path / RESULTS)
    times, times_heading = read_table(tmp_path / TIMINGS)
    assert list(results.columns) == ["task", "seed", "number", "item", "error"]
    assert len(results) == 8 * NUMBER
    assert set(times["process"]) == {os.getpid()}
    assert heading == {**HEADING, "versions": installed.versions()}
    assert times_heading["machine"]["cores"] == os.cpu_count()


def test_chance_is_of_a_task_alone():
    """The same for a name whatever else there is; unlike for other names and other seeds."""
    draws = {
        (seed, name): np.random.default_rng(task_seed(seed, name)).random(4).tolist()
        for seed in (1, 2)
        for name in ("a", "b", "study 10", "study 1")
    }
    assert len({tuple(values) for values in draws.values()}) == len(draws)
    again = np.random.default_rng(task_seed(2, "study 1")).random(4).tolist()
    assert again == draws[2, "study 1"]


def test_two_tasks_of_one_name_are_refused():
    with pytest.raises(ValueError, match="the same chance"):
        run_tasks(jobs.kinds, [Task("a", {}), Task("a", {})], seed=1, pool=WorkerPool(1))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_has_one_blas_thread(workers):
    tasks = [Task(str(k), {}) for k in range(3)]
    records = run_tasks(jobs.threads, tasks, seed=1, pool=WorkerPool(workers))
    numbers = [row["threads"] for record in records for row in record.rows]
    assert len(numbers) >= len(tasks)
    assert set(numbers) == {1}


def test_progress_is_told_task_by_task():
    reports = []

    def progress(*report: object) -> None:
        reports.append(report)

    tasks = [Task(str(k), {}) for k in range(4)]
    run_tasks(jobs.kinds, tasks, seed=1, pool=WorkerPool(2), what="trying", progress=progress)
    assert reports == [("trying", k, 4) for k in range(5)]


# Tables.


def test_values_of_numpy_are_kept_as_they_are(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", HEADING)
    run_tasks(jobs.kinds, [Task("a", {})], seed=1, journal=journal, pool=WorkerPool(1))
    again = Journal(tmp_path / "journal.jsonl", HEADING)
    write_tables(tmp_path, again.records.values(), HEADING)
    row = pq.read_table(tmp_path / RESULTS).to_pylist()[0]
    assert np.isnan(row.pop("not"))
    assert {key: row[key] for key in row if key not in ("task", "seed")} == {
        "float": 0.1 + 0.2, "single": 0.5, "whole": 7, "flag": True, "none": None, "text": "é",
        "many": [0, 1, 2],
    }  # fmt: skip


def test_rows_of_different_kinds_lie_in_one_table(tmp_path):
    done = [
        TaskRecord("a", "1/0", [{"x": 1}], []),
        TaskRecord("b", "1/1", [{"y": 0.5}, {"x": 2}], []),
    ]
    write_tables(tmp_path, done, HEADING)
    assert pq.read_table(tmp_path / RESULTS).drop(["seed"]).to_pylist() == [
        {"task": "a", "x": 1, "y": None}, {"task": "b", "x": None, "y": 0.5},
        {"task": "b", "x": 2, "y": None},
    ]  # fmt: skip
    assert pq.read_table(tmp_path / TIMINGS).num_rows == 0


# Taken up again.


def test_what_was_done_is_not_done_again(tmp_path, expected):
    tasks = study_tasks(tmp_path)
    journal = Journal(tmp_path / "journal.jsonl", HEADING)
    run_tasks(jobs.fit_study, tasks[:3], seed=5, journal=journal, pool=WorkerPool(1))
    assert result_bytes(tmp_path, tasks, WorkerPool(1)) == expected
    assert start_counts(tmp_path) == dict.fromkeys(range(NUMBER), 1)


def test_a_line_that_was_being_written_is_written_again(tmp_path, expected):
    """Power that goes may leave any part of the last line, or none of it."""
    result_bytes(tmp_path, study_tasks(tmp_path), WorkerPool(1))
    path = tmp_path / "journal.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in (last, last + 1, (last + len(whole)) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert result_bytes(tmp_path, study_tasks(tmp_path), WorkerPool(1)) == expected
        assert [json.loads(line) for line in path.read_text("utf-8").splitlines()][1:]
    assert start_counts(tmp_path) == {**dict.fromkeys(range(NUMBER - 1), 1), NUMBER - 1: 5}


def test_another_setting_is_refused(tmp_path):
    Journal(tmp_path / "study" / "journal.jsonl", {"seed": 1, "items": 8})
    with pytest.raises(InputError, match=r"study was begun with other settings \(items 8, now 9\)"):
        Journal(tmp_path / "study" / "journal.jsonl", {"seed": 1, "items": 9})


def test_another_version_is_refused(tmp_path, monkeypatch):
    """Half of the results would be of one version, and half of the other."""
    Journal(tmp_path / "journal.jsonl", HEADING)
    monkeypatch.setattr(np, "__version__", "1.0")
    with pytest.raises(InputError, match=r"begun with other settings \(versions "):
        Journal(tmp_path / "journal.jsonl", HEADING)


@pytest.mark.parametrize("text", [b"", b"judge,first\n", b'{"seed": 5}\n{"name": 1}\n', b"\xff\n"])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(text)
    with pytest.raises(InputError, match="(cannot be read|other settings)"):
        Journal(path, HEADING)
    assert path.read_bytes() == text


@pytest.mark.parametrize(
    "parts", [{"name": 7}, {"rows": 7}, {"rows": [7]}, {"timings": {}}, {"error": 1}]
)
def test_a_line_of_other_types_is_refused(tmp_path, parts):
    path = tmp_path / "journal.jsonl"
    Journal(path, HEADING)
    record = {"name": "one", "seed": "1/1", "rows": [], "timings": [], **parts}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=r"cannot be read \(a line of it"):
        Journal(path, HEADING)


SCRIPT = """
import sys
from pathlib import Path
from support import tasks as jobs
from support.tasks import HEADING, NUMBER, result_bytes, start_counts, study_tasks
from tiewise.jobs.journal import Journal
from tiewise.jobs.run import Task, WorkerPool, run_tasks

folder = Path(sys.argv[1])
tasks = [Task(str(k), {"number": k, "folder": str(folder)}) for k in range(4)]
try:
    journal = Journal(folder / "journal.jsonl", {})
    run_tasks(jobs.waiting, tasks, seed=1, journal=journal, pool=WorkerPool(2))
except KeyboardInterrupt:
    print("stopped")
"""


@needs_signals
def test_ctrl_c_ends_the_workers_and_says_nothing_else(tmp_path):
    """A terminal sends it to every process; only the first has something to say."""
    running = started(tmp_path)
    workers = {int(written(tmp_path / f"{k}.process")) for k in (0, 1)}
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=jobs.PATIENCE)
    assert (out, err) == ("stopped\n", "")
    assert running.pid not in workers
    for worker in workers:
        gone(worker)


@needs_signals
def test_work_that_was_killed_is_taken_up_again(tmp_path):
    """kill -9 of the process that asked for it, with nothing done yet, then again."""
    running = started(tmp_path)
    workers = {int(written(tmp_path / f"{k}.process")) for k in (0, 1)}
    running.kill()
    running.wait(jobs.PATIENCE)
    for worker in workers:
        gone(worker)
    (tmp_path / "go").touch()
    again = started(tmp_path)
    assert again.communicate(timeout=jobs.PATIENCE) == ("", "")
    done = Journal(tmp_path / "journal.jsonl", {}).records
    assert {name: one.rows for name, one in done.items()} == {
        str(k): [{"number": k}] for k in range(4)
    }


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def written(path: Path) -> str:
    """What is in a file, once there is something."""
    ends = time.monotonic() + jobs.PATIENCE
    while not path.exists() or not path.read_text(encoding="utf-8"):
        assert time.monotonic() < ends, f"{path} was never written"
        time.sleep(0.02)
    return path.read_text(encoding="utf-8")


def gone(process: int) -> None:
    """Wait until there is no such process, or only its name."""
    ends = time.monotonic() + jobs.PATIENCE
    stat = Path(f"/proc/{process}/stat")
    while stat.exists() and stat.read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < ends, f"process {process} is still there"
        time.sleep(0.02)


# What fails.


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_fails_is_told_with_its_seed_and_the_others_are_done(tmp_path, workers):
    tasks = study_tasks(tmp_path)
    tasks[2] = Task(tasks[2].name, {**tasks[2].inputs, "fails": True})
    journal = Journal(tmp_path / "journal.jsonl", HEADING)
    done = run_tasks(jobs.fit_study, tasks, seed=5, journal=journal, pool=WorkerPool(workers))
    failed = done.pop(2)
    assert failed.name == "study 2"
    assert failed.rows == []
    assert failed.error is not None
    assert failed.error.startswith("ValueError: number 2 is unlucky (fit_study, line ")
    assert all(one.error is None and len(one.rows) == 8 for one in done)
    # The seed is enough to have the same chance again.
    entropy, key = failed.seed.split("/")
    words = [int("".join(word), 16) for word in words_of_eight(key)]
    again = SeedSequence(int(entropy), spawn_key=words)
    assert again.generate_state(4).tolist() == task_seed(5, "study 2").generate_state(4).tolist()


def words_of_eight(text: str) -> list[str]:
    return [text[a:b] for a, b in pairwise(range(0, len(text) + 1, 8))]


def test_what_failed_is_tried_again(tmp_path, expected):
    tasks = study_tasks(tmp_path)
    bad = [Task(tasks[2].name, {**tasks[2].inputs, "fails": True})]
    journal = Journal(tmp_path / "journal.jsonl", HEADING)
    assert run_tasks(jobs.fit_study, bad, seed=5, journal=journal, pool=WorkerPool(1))[0].error
    assert result_bytes(tmp_path, tasks, WorkerPool(1)) == expected


def test_a_task_that_wants_to_leave_is_one_that_failed():
    def leaves(_inputs: object, _source: object) -> TaskResult:
        raise SystemExit(3)

    (done,) = run_tasks(leaves, [Task("a", {})], seed=1, pool=WorkerPool(1))
    assert done.error is not None
    assert done.error.startswith("SystemExit: 3")


@pytest.mark.slow
@needs_signals
def test_a_task_that_always_ends_its_worker_is_given_up_and_named(tmp_path):
    tasks = [Task(f"task {k}", {"deadly": k == 1}) for k in range(6)]
    done = run_tasks(jobs.deadly, tasks, seed=1, pool=WorkerPool(2))
    assert [one.name for one in done if one.error] == ["task 1"]
    assert done[1].error == "its worker ended in the middle of it, each time it was tried"
    assert done[1].seed.startswith("1/")
    assert all(one.rows == [{"alive": True}] for one in done if not one.error)


def test_a_pool_of_nobody_is_refused():
    with pytest.raises(InputError, match="there must be a worker at least, not 0"):
        WorkerPool(0)
