"""The commands of a study, typed: made, checked, invited, exported, brought in, kept, fitted."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.form_browser import Visitor
from tiewise.cli.main import main
from tiewise.geo.areas import Areas
from tiewise.posterior.results_folder import read_results
from tiewise.study.study import Study
from tiewise.web.server import open_site
from tiewise.workflows.simulate import write_simulated_study

QUICK = ("--engine", "laplace", "--draws", "100", "--no-report", "--seed", "1")


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """Every test sits at a desk with a map and nothing else."""
    monkeypatch.chdir(tmp_path)
    Areas.synthetic(8, rng=5).to_gpkg("wards.gpkg")
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def done(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.output


def refusal(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"tiewise: .*\n", result.stderr), result.stderr
    return result.stderr


@pytest.fixture
def study(desk) -> str:
    done("new", "green", "--areas", "wards.gpkg", "--question", "Which is greener?",
         "--higher", "greener", "--lower", "greyer", "--noun", "ward")  # fmt: skip
    return "green"


def judged(study: str, *outcomes: str) -> None:
    judge = Visitor(open_site(study)).join()
    for outcome in outcomes:
        judge.get("/pair")
        judge.judge(outcome)


def table(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_study_is_made_from_a_map_in_one_command(study):
    assert {p.name for p in Path(study).iterdir()} == {"study.toml", "items.csv", "areas.gpkg"}
    assert "All is well" in done("check", study)


def test_a_study_is_made_from_a_list(desk):
    Path("trees.csv").write_text("name\nAsh\nBirch\n", encoding="utf-8")
    output = done("new", "trees", "--items", "trees.csv", "--question", "Which is taller?")
    assert "2 items in trees" in output


def test_what_is_missing_is_a_line(study):
    assert "--question" in refusal("new", "x", "--areas", "wards.gpkg")
    assert "not empty" in refusal("new", study, "--areas", "wards.gpkg", "--question", "?")
    assert "no column 'code'" in refusal(
        "new", "x", "--areas", "wards.gpkg", "--id", "code", "--question", "?"
    )
    for command in ("check", "serve", "invite", "export", "backup", "upgrade", "erase"):
        assert "is no study" in refusal(command, "nowhere")


def test_check_names_every_fault_by_its_key(study):
    path = Path(study, "study.toml")
    text = path.read_text(encoding="utf-8").replace("target = 30", "target = 0\ncolour = 1")
    path.write_text(text, encoding="utf-8")
    result = run("check", study)
    assert result.exit_code == 2
    assert result.stdout.startswith("study.colour: no such key")
    assert "study.colour" in refusal("serve", study)


def test_invites_are_codes_or_links_and_let_one_judge_in_each(study):
    path = Path(study, "study.toml")
    text = path.read_text(encoding="utf-8").replace("invited_only = false", "invited_only = true")
    path.write_text(text, encoding="utf-8")
    codes = done("invite", study, "--count", "3").split()
    assert len(set(codes)) == 3
    Visitor(open_site(study)).join(code=codes[1])
    (link,) = done("invite", study, "--url", "https://study.org/").split()
    assert re.fullmatch(r"https://study\.org/\?code=\w+", link)
    assert not any(code.encode() in Path(study, "study.db").read_bytes() for code in codes)


def test_judgements_come_out_as_tables(study):
    judged(study, "left", "tie", "skip")
    output = done("export", study)
    assert "comparisons.csv" in output
    assert [r["state"] for r in table(f"{study}/export/comparisons.csv")] == [
        "selected", "tied", "skipped",
    ]  # fmt: skip
    done("export", study, "--out", "elsewhere")
    assert Path("elsewhere", "judges.csv").exists()


def test_judgements_of_elsewhere_come_in(study):
    write_simulated_study("old", areas="wards.gpkg", comparisons=40, judges=3)
    assert "40 judgements brought into green" in done("import", study, "old/comparisons.csv")
    assert "no such file" in refusal("import", study, "gone.csv")
    done("export", study)
    assert len(table("green/export/comparisons.csv")) == 40


def test_a_study_folder_is_fitted_as_it_is(study):
    assert "no judgements yet" in refusal("fit", study, *QUICK)
    write_simulated_study("old", areas="wards.gpkg", comparisons=200, judges=5)
    done("import", study, "old/comparisons.csv")
    done("fit", study, *QUICK)
    results = read_results(Path(study, "results"))
    about = results.wording
    assert (about.question, about.higher, about.lower, about.noun) == (
        "Which is greener?", "greener", "greyer", "ward",
    )  # fmt: skip
    assert results.areas is not None
    assert results.facts["model"]["quality"]["kind"] == "network"
    named = {item.name for item in Study.open(study).items.values()}
    assert set(results.items["name"]) == named
    done("fit", "old/comparisons.csv", "--areas", "wards.gpkg", *QUICK, "--out", "plain")
    assert results.facts["digest"] == read_results("plain").facts["digest"]


def test_what_is_said_on_the_command_line_has_the_last_word(study):
    write_simulated_study("old", areas="wards.gpkg", comparisons=100)
    done("import", study, "old/comparisons.csv")
    done("fit", study, *QUICK, "--out", "mine", "--higher", "leafier", "--prior", "independent")
    results = read_results("mine")
    assert (results.wording.higher, results.wording.lower) == ("leafier", "greyer")
    assert results.facts["model"]["quality"]["kind"] == "independent"


@pytest.mark.slow
def test_where_ties_are_not_allowed_none_are_modelled(study):
    path = Path(study, "study.toml")
    text = path.read_text(encoding="utf-8").replace("ties = true", "ties = false")
    path.write_text(text, encoding="utf-8")
    judged(study, *["left", "right"] * 6)
    output = json.loads(done("fit", study, *QUICK, "--json"))
    assert output["model"]["tie"] is None


def test_a_database_elsewhere_is_named_by_option_or_environment(study, postgresql, monkeypatch):
    url = postgresql()
    assert len(done("invite", study, "--count", "2", "--database", url).split()) == 2
    monkeypatch.setenv("TIEWISE_DATABASE", url)
    done("export", study)
    assert not Path(study, "study.db").exists()
