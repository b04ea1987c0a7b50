"""The command that runs simulation studies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tiewise.cli.main import main
from tiewise.experiments import EXPERIMENTS
from tiewise.experiments import run as experiments
from tiewise.experiments.coverage import EXPERIMENT as COVERAGE
from tiewise.experiments.scalability import EXPERIMENT as SCALABILITY
from tiewise.jobs.run import TaskResult, seed_text, task_seed


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["experiment", *words])


def unlucky(case, seed):
    if case["repeat"] == 1:
        raise ValueError("no such luck")
    return TaskResult([{"truth": "drawn", "parameter": "tie", "held_50": 1.0, "held_95": 1.0}])


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder to stand in, and a coverage experiment that takes a moment."""
    monkeypatch.chdir(tmp_path)
    tiny = {"wards": 8, "comparisons": 40}
    cases = [{**case, **tiny} for case in COVERAGE.quick]
    quick = replace(COVERAGE, quick=cases, quick_repeats=2)
    monkeypatch.setattr("tiewise.experiments.coverage.EXPERIMENT", quick)
    return tmp_path


def test_without_a_name_the_experiments_are_listed():
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("efficiency   Effective draws")
    assert [line.split()[0] for line in lines[:6]] == list(EXPERIMENTS)


def test_a_name_that_is_none_is_one_line():
    result = run("gamma")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "'gamma'" in result.stderr
    assert "coverage" in result.stderr


def test_a_run_says_what_it_found_and_where_it_is(here):
    result = run("coverage", "--quick", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "Truth drawn from the prior" in result.stdout
    assert result.stdout.splitlines()[-1].endswith("experiments/coverage-quick")
    assert (here / "experiments" / "coverage-quick" / "figure.png").is_file()


@pytest.mark.slow
def test_a_run_started_again_does_nothing_twice(here):
    """The journal has its heading and a line for each task, however often the command is given."""
    for _ in range(2):
        assert run("coverage", "--quick", "--workers", "1", "--out", "mine").exit_code == 0
    assert (here / "mine" / "journal.jsonl").read_text().count("\n") == 5
    other = run("coverage", "--quick", "--workers", "1", "--out", "mine", "--seed", "7")
    assert other.exit_code == 2
    assert len(other.stderr.splitlines()) == 1
    assert "seed 1, now 7" in other.stderr


def test_ctrl_c_says_how_to_go_on(here, monkeypatch):
    def stopped(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run_tasks", stopped)
    result = run("coverage", "--quick")
    assert result.exit_code == 130
    assert result.stderr == "tiewise: stopped; what is done is kept: the same command goes on\n"


def test_failed_tasks_are_told_with_their_seeds_and_the_rest_is_kept(here, monkeypatch):
    lame = replace(COVERAGE, job=unlucky, quick=[{"name": "drawn"}], quick_repeats=3)
    monkeypatch.setattr("tiewise.experiments.coverage.EXPERIMENT", lame)
    result = run("coverage", "--quick", "--workers", "1")
    assert result.exit_code == 1
    seed = seed_text(task_seed(1, "coverage/drawn/1"))
    assert f"coverage/drawn/1 failed (seed {seed}): ValueError: no such luck" in result.stderr
    assert "1 task(s) failed" in result.stderr
    assert (here / "experiments" / "coverage-quick" / "table.csv").is_file()


def test_times_are_measured_one_task_at_a_time_unless_somebody_insists(here, monkeypatch):
    workers = []

    def record_workers(_job, tasks, *, pool, **_):
        workers.append(pool.workers)
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run_tasks", record_workers)
    assert SCALABILITY.timed
    alone = run("scalability", "--quick", "--out", "a")
    assert "one task at a time" in alone.stderr
    insisted = run("scalability", "--quick", "--workers", "2", "--out", "b")
    assert "times mean little" in insisted.stderr
    assert workers == [1, 2]


def test_all_go_to_folders_of_their_own(here, monkeypatch):
    calls = []

    def record_call(study, out, **_):
        calls.append((study.name, out))
        return experiments.ExperimentRun(study, Path(out), None, [])

    monkeypatch.setattr(experiments, "run_experiment", record_call)
    assert run("all", "--out", "everything").exit_code == 0
    assert calls == [(name, str(Path("everything", name))) for name in EXPERIMENTS]
