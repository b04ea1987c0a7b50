"""`tiewise plan`, typed: what it prints and writes, what it refuses, and how it is stopped."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from support import command
from support.site import edited
from tiewise.cli import plan as cli_plan
from tiewise.cli.main import main
from tiewise.cli.plan import BETTER
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.model.quality_priors import Independent
from tiewise.planning import search
from tiewise.planning.accuracy import MEASURES
from tiewise.planning.design import StudyDesign, random_pair
from tiewise.study.create import create_study
from tiewise.workflows.simulate import write_simulated_study

QUICK = ("--precision", "0.2", "--workers", "1")
DESIGN = ("--items", "10", "--judges", "4", "--per-judge", "15", "--spread", "2")


@pytest.fixture(scope="module", autouse=True)
def _few_scouts_and_sizes():
    """What is printed and written does not depend on how finely a plan is surveyed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SCOUT_STUDIES", 2)
        patch.setattr(search, "SURVEY_SIZES", 4)
        yield


@pytest.fixture(scope="module")
def planned(tmp_path_factory) -> str:
    """The folder of a plan that is done: with the same words nothing is simulated again."""
    folder = tmp_path_factory.mktemp("planned") / "plan"
    done(*DESIGN, "--out", folder)
    return str(folder)


@pytest.fixture(scope="module")
def wards(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("map") / "wards.gpkg"
    Areas.synthetic(8, rng=5).to_gpkg(path)
    return path


@pytest.fixture(autouse=True)
def desk(wards, tmp_path, monkeypatch) -> Path:
    """Every test sits at a desk with a map and nothing else."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(wards, tmp_path)
    return tmp_path


def run(*words: object) -> Result:
    return command.run("plan", *words)


def done(*words: object) -> str:
    return command.done("plan", *words, *QUICK).output


def refusal(*words: object) -> str:
    return command.refusal("plan", *words)


def test_a_list_is_planned_and_everything_is_written(planned):
    output = done(*DESIGN, "--out", planned)
    plan_json = json.loads(Path(planned, "plan.json").read_text(encoding="utf-8"))
    number = plan_json["answers"]["independent"]["comparisons"]
    flat = " ".join(output.split())
    assert f"For a reliability of 0.80 collect about {number:,} comparisons" in flat
    assert "Your 4 judges at 15 each make 60: reliability" in flat
    assert "± standard error" in flat
    with Path(planned, "plan.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {*MEASURES, *(f"{name}_error" for name in MEASURES)} <= set(rows[0])
    assert [row["comparisons"] for row in rows if row["recommended"] == "true"] == [str(number)]
    assert Path(planned, "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_nothing_is_written_unless_asked_for(desk, planned):
    before = set(desk.iterdir())
    output = done(*DESIGN)
    assert set(desk.iterdir()) == before
    # What is printed is the same for the same seed, written or not.
    assert done(*DESIGN, "--out", planned).startswith(output)


def test_json_is_printed_whole(planned):
    plan_json = json.loads(done(*DESIGN, "--out", planned, "--json"))
    assert plan_json["settings"]["per_judge"] == 15
    assert plan_json["words"][0].startswith("For a reliability of 0.80")


@pytest.mark.slow
def test_a_map_is_planned_with_both_priors_and_its_groups():
    # As rough as can be: what is said does not depend on it.
    output = command.done(
        "plan", "--areas", "wards.gpkg", "--judges", 30, "--knows", 3, "--ties", "0.2",
        "--spread", 9, "--precision", "0.5", "--workers", 1,
    ).output  # fmt: skip
    flat = " ".join(output.split())
    assert "Each item with its neighbours (network prior)" in output
    assert "; with the network prior about " in flat
    assert "each of 30 judges answers" in flat
    assert "call them equal 20 %" in flat


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(planned, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = done(*DESIGN, "--out", planned).splitlines()[:-1]  # the last is a path
    assert max(map(len, lines)) <= width
    head = next(line for line in lines if "reliability" in line)
    assert ("hold truth" in head) == (width == 120)
    assert "…" not in "".join(lines)


@pytest.mark.slow
def test_a_file_of_judgements_is_gone_on_from():
    write_simulated_study("made", items=10, comparisons=80, rng=3)
    output = done("--from", "made/comparisons.csv", "--judges", 20, "--reliability", "0.95")
    assert "So far there are" in output
    assert "more comparisons" in " ".join(output.split())


@pytest.mark.slow
def test_a_study_is_gone_on_from_with_its_own_settings(desk):
    def study(*words: str) -> None:
        result = CliRunner().invoke(main, list(words))
        assert result.exit_code == 0, result.output

    write_simulated_study("made", areas="wards.gpkg", comparisons=60, rng=4)
    study("new", "green", "--areas", "wards.gpkg", "--question", "Which?", "--target", "12")
    study("import", "green", "made/comparisons.csv")
    plan_json = json.loads(done("--from", "green", "--json", "--reliability", "0.9"))
    assert plan_json["settings"]["per_judge"] == 12
    assert plan_json["settings"]["priors"] == "default"
    assert set(plan_json["so_far"]) == {"independent", "network"}
    assert plan_json["words"][0].startswith("So far there are")


@pytest.mark.slow
def test_a_plan_names_the_priors_of_its_fits():
    words = ("--items", "6", "--judges", "4", "--per-judge", "15", "--json", "--priors", "paper")
    assert json.loads(done(*words))["settings"]["priors"] == "paper"


def test_the_help_says_what_a_spread_means():
    """Of two independent items without ties: the figures are those that are simulated from."""
    items = tuple(map(str, range(30)))
    shares = [random_pair(Independent(items), 30, spread, 0.0).better for spread in (1, 2, 4)]
    assert tuple(round(100 * share) for share in shares) == BETTER


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--judges", 5), "say what is compared"),
        (("--items", 1, "--judges", 5), "3 items or more, not 1"),
        (("--items", 10, "--areas", "wards.gpkg", "--judges", 5), "--areas and --items both"),
        (("--items", 10), "say how many judges"),
        (("--items", 10, "--judges", 0), "--judges must be 1 or more"),
        (("--items", 10, "--judges", 5, "--knows", 2), "--knows speaks of groups"),
        (("--areas", "wards.gpkg", "--judges", 5, "--knows", 9), "1 to 4 of the groups"),
        (("--items", 10, "--judges", 5, "--ties", "0.99"), "share of ties between 0 and 0.9"),
        (("--items", 10, "--judges", 5, "--ties", "0.1", "--tie-tendency", 1), "leave one of"),
        (("--items", 10, "--judges", 5, "--reliability", "1.2"), "reliability lies between"),
        (("--items", 10, "--judges", 5, "--spread", "-1"), "--spread"),
        (("--items", 10, "--judges", 5, "--skip", "1"), "skip a share"),
        (("--items", 10, "--judges", 5, "--top", "10"), "top must be 1 to 9"),
        (("--items", 10, "--judges", 5, "--policy", "best"), "--policy"),
        (("--items", 10, "--judges", 5, "--id", "code"), "speak of a map"),
        (("--from", "nowhere.csv", "--judges", 5), "nowhere.csv"),
        (("--from", "wards.gpkg", "--items", 5, "--judges", 5), "leave --items out"),
        (("--items", 10, "--judges", 5, "--out", "wards.gpkg"), "is a file"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words, says):
    assert says in refusal(*words)


def test_what_judgements_tell_is_not_asked_for():
    write_simulated_study("made", items=10, comparisons=80, rng=3)
    output = refusal("--from", "made/comparisons.csv", "--judges", 5, "--spread", 2)
    assert "--spread is learnt from the judgements" in output


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(desk):
    """Stopped as a terminal stops it: the signal goes to every process of the command."""
    words = [*DESIGN, "--precision", "0.2", "--workers", "2", "--out"]
    command = [sys.executable, "-m", "tiewise.cli.main", "plan", *words]
    journal = desk / "stopped" / "journal.jsonl"
    process = subprocess.Popen(
        [*command, "stopped"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
        # Tests that run in the background would hand on that the signal is to be ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    patience = time.monotonic() + 300
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 6):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patience
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=300)
    assert process.returncode == 130
    assert message == "tiewise: stopped; what is done is kept: the same command goes on\n"
    for folder in ("stopped", "whole"):
        subprocess.run([*command, folder], check=True, capture_output=True, timeout=600)
    one, two = (Path(folder, "simulations.parquet").read_bytes() for folder in ("stopped", "whole"))
    assert one == two


# Graded answers.


def read_design(monkeypatch, *words: object) -> StudyDesign:
    """The design that these words ask for, without a simulation."""
    designs = []

    def stop(design: StudyDesign, *_: object) -> None:
        designs.append(design)
        raise InputError("read")

    monkeypatch.setattr(cli_plan, "_simulate", stop)
    assert refusal(*words) == "tiewise: read\n"
    return designs[0]


@pytest.mark.parametrize("answers", range(2, 8))
def test_a_number_of_answers_is_a_number_of_cuts(answers, monkeypatch):
    design = read_design(monkeypatch, *DESIGN, "--answers", answers)
    assert design.answers == answers
    assert design.cuts == pytest.approx(0.5 * (answers % 2) + 1.25 * np.arange(answers // 2))


def test_cuts_may_be_wide(monkeypatch):
    words = ("--answers", 7, "--cut-step", 2, "--tie-tendency", 0.25)
    assert list(read_design(monkeypatch, *DESIGN, *words).cuts) == [0.25, 2.25, 4.25]


def test_a_file_of_graded_answers_is_planned_with_its_grades(desk, monkeypatch):
    text = "item_1,item_2,answer\na,b,much\nb,c,same\nc,a,more\n"
    (desk / "votes.csv").write_text(text, encoding="utf-8")
    grade = ("--grade", "answer", "--grades", "much,more,same,less,little")
    design = read_design(monkeypatch, "--from", "votes.csv", *grade, "--judges", 3)
    assert design.before.levels == 2
    assert design.answers == 5
    assert "is learnt from the judgements" in refusal(
        "--from", "votes.csv", *grade, "--judges", 3, "--answers", 5
    )
    assert "--grade is of a file of judgements" in refusal(*DESIGN, "--grade", "answer")


def test_a_study_of_graded_answers_is_planned_with_its_grades(desk, monkeypatch):
    """With those that nobody has given yet, too."""
    (desk / "list.csv").write_text("item,name\na,Ash\nb,Birch\nc,Cedar\n", encoding="utf-8")
    made = create_study(desk / "trees", items=desk / "list.csv", question="Which is older?")
    store = edited(made, {"grades = 0": "grades = 5"}).store()
    answer = {"judge": "ada", "left": "a", "right": "b", "outcome": "left", "grade": 1}
    store.import_judgements([answer], consent="1")
    store.close()
    design = read_design(monkeypatch, "--from", "trees", "--judges", 3)
    assert (design.before.levels, design.before.comparisons, design.answers) == (2, 1, 5)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--answers", "4", "--ties", "0.2"), "a scale of 4 has no “about equal” in the middle"),
        (("--answers", "5", "--tie-tendency", "0"), "a scale of 5 has “about equal”"),
        (("--cut-step", "1"), "--cut-step is of graded answers"),
        (("--answers", "3", "--cut-step", "1"), "--cut-step is of graded answers"),
    ],
)
def test_answers_that_contradict_each_other_are_refused(words, says):
    assert says in refusal(*DESIGN, *words)
