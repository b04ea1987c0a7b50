"""The tie threshold on the command line: there with the first tie, or where ties were offered."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.everyday import everyday
from tiewise.cli.main import main
from tiewise.posterior.results_folder import read_results
from tiewise.report.reproduce import fit_command, python_call
from tiewise.study.create import create_study
from tiewise.study.export import export, import_file

QUICK = ("--engine", "laplace", "--draws", "100", "--seed", "1", "--no-report", "--out", "out")
NO_TIES = "judge,winner,loser\np,a,b\np,b,c\nq,c,a\nq,a,b\nq,b,a\n"
THRESHOLD = "Nobody called a tie, so the model has no tie threshold."


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """A desk with a file without a single tie."""
    monkeypatch.chdir(tmp_path)
    Path("marks.csv").write_text(NO_TIES, encoding="utf-8")
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def tie_prior(*words: object) -> object:
    """The prior of the threshold that a fit had, as data."""
    result = run("fit", *words, *QUICK, "--force")
    assert result.exit_code == 0, result.output
    return json.loads(Path("out/fit.json").read_text(encoding="utf-8"))["model"]["tie"]


def plain(output: str) -> str:
    return " ".join(output.split())


def test_no_ties_no_threshold_and_the_output_says_so():
    result = run("fit", "marks.csv", *QUICK)
    assert THRESHOLD in plain(result.output)
    facts = json.loads(Path("out/fit.json").read_text(encoding="utf-8"))
    assert (facts["model"]["tie"], facts["ties"], facts["ties_left_out"]) == (None, 0, 0)
    assert "--no-ties" in shlex.split(fit_command(read_results("out")))
    assert "ties=False" in python_call(read_results("out"))


@pytest.mark.parametrize("priors", everyday(["default", "paper"], "default"))
def test_a_threshold_can_be_asked_for_and_the_command_that_repeats_it_asks_again(priors):
    asked = tie_prior("marks.csv", "--ties", "--priors", priors)
    assert asked is not None
    assert THRESHOLD not in plain(run("fit", "marks.csv", "--ties", *QUICK, "--force").output)
    again = shlex.split(fit_command(read_results("out")))
    assert "--ties" in again
    assert "ties=True" in python_call(read_results("out"))


def test_who_names_a_prior_of_the_threshold_wants_one():
    prior = {"kind": "gamma", "shape": 2.0, "rate": 3.0}
    assert tie_prior("marks.csv", "--tie-prior", "gamma(2, 3)") == prior


def test_ties_that_are_left_out_are_counted():
    rows = "item_1_id,item_2_id,selected_item_id,state\n"
    rows += "a,b,a,selected\nb,c,,tied\nc,a,a,selected\na,b,b,selected\n"
    Path("tied.csv").write_text(rows, encoding="utf-8")
    result = run("fit", "tied.csv", "--no-ties", *QUICK)
    assert "1 tied answer was left out, and the model has no tie threshold." in plain(result.output)
    assert read_results("out").facts["ties_left_out"] == 1


@pytest.mark.parametrize("offered", everyday([True, False], True))
def test_a_study_that_offered_ties_keeps_its_threshold_and_so_does_its_export(offered, tmp_path):
    Path("items.csv").write_text("id,name\na,Ash\nb,Birch\nc,Cedar\n", encoding="utf-8")
    study = create_study("trees", items="items.csv", question="Which is taller?")
    if not offered:
        settings = study.folder / "study.toml"
        text = settings.read_text(encoding="utf-8")
        assert "ties = true" in text
        settings.write_text(text.replace("ties = true", "ties = false"), encoding="utf-8")
        study = type(study).open(study.folder)
    store = study.store()
    import_file(study, store, "marks.csv")
    export(study, store, tmp_path / "table")
    assert (tie_prior("trees") is not None) == offered
    assert (tie_prior("table/comparisons.csv") is not None) == offered
    Path("table/comparisons.about.json").unlink()
    assert tie_prior("table/comparisons.csv") is None


def test_results_that_are_fitted_take_no_word_about_ties():
    run("fit", "marks.csv", *QUICK)
    for option in ("--ties", "--no-ties"):
        assert f"{option} would be about fitting it" in run("judges", "out", option).stderr
