"""The command: what a person types, what it answers, and what it leaves on the disk."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import geopandas
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from support.command import done, run
from support.everyday import everyday
from tiewise.cli.main import main
from tiewise.data.spreadsheet_cells import restore
from tiewise.plots import PLOT_FILES
from tiewise.posterior.results_folder import FILES, read_results
from tiewise.workflows.simulate import write_simulated_study

WARDS = 8
QUICK = ("--engine", "laplace", "--draws", "100", "--no-report")
ESCAPE = "\x1b"


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> Path:
    """A made-up county of eight wards: comparisons.csv, truth.csv, areas.gpkg."""
    folder = tmp_path_factory.mktemp("study") / "county"
    write_simulated_study(folder, county=WARDS, comparisons=150, judges=4, skip=0.05, rng=5)
    return folder


QUESTION = 'Où est-ce plus sûr? [yes] "now"'


class Fitted(NamedTuple):
    """A results folder that tests share and leave as it is, and what was printed on the way."""

    folder: Path
    stdout: str


@pytest.fixture(scope="module")
def plain(study, tmp_path_factory) -> Fitted:
    """A quick fit without a map."""
    out = tmp_path_factory.mktemp("plain") / "out"
    words = ["fit", study / "comparisons.csv", *QUICK, "--seed", 3, "--top", 3]
    return Fitted(out, done(*words, "--question", QUESTION, "--out", out).stdout)


@pytest.fixture(scope="module")
def mapped(study, tmp_path_factory) -> Fitted:
    """A quick fit with the map and nothing else said, its facts printed."""
    out = tmp_path_factory.mktemp("mapped") / "out"
    words = ["fit", study / "comparisons.csv", "--areas", study / "areas.gpkg", *QUICK]
    return Fitted(out, done(*words, "--json", "--out", out).stdout)


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """Every test sits at an empty desk."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(*words: object) -> str:
    """What the command says, in its one line on standard error, when it cannot."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"tiewise: .*\n", result.stderr), result.stderr
    assert list(Path.cwd().glob(".*")) == []
    return result.stderr


def cells(path: str | Path) -> list[list[str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def columns(path: str | Path) -> dict[str, list[str]]:
    head, *rows = cells(path)
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def files_in(folder: str | Path) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def facts(folder: str | Path = "out") -> dict:
    return json.loads((Path(folder) / "fit.json").read_text(encoding="utf-8"))


# What cannot be read.


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"winner,loser\n", "no rows"),
        ("a.csv", b"x,y\n1,2\n", "no known format has the columns x, y"),
        ("a.csv", b"winner,loser\na,a\n", "line 2"),
        ("a.csv", b"winner,loser\na,b\na\n", "line 3"),
        ("a.csv", b"winner,loser\n\xe9,b\n", "UTF-8"),
        ("a.csv", b"\x00\x01\x02", "not a text file"),
        ("a.csv", b"winner,winner\na,b\n", "two columns"),
        ("a.txt", b"winner,loser\na,b\n", ".csv"),
        ("a.xlsx", b"winner,loser\na,b\n", "not an Excel workbook"),
        ("a.csv", b"item_1_id,item_2_id,selected_item_id,state\n1,2,,skipped\n", "nothing to fit"),
        ("a.csv", b"item_1,item_2,wins_1,wins_2,ties\n1,2,0,0,0\n", "nothing to fit"),
    ],
)
def test_a_file_that_cannot_be_is_one_line_with_a_way_out(name, text, words):
    Path(name).write_bytes(text)
    message = refusal("fit", name, *QUICK, "--out", "out")
    assert words in message
    assert not Path("out").exists()


def test_a_file_that_is_not_there_is_named():
    assert "nowhere.csv" in refusal("fit", "nowhere.csv", *QUICK)


def test_a_folder_is_not_a_file(study):
    assert "folder" in refusal("fit", study, *QUICK)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("x,y\n1,2\n", [], "--first, --second, --chosen and --tie"),
        ("x,y\n1,2\n", ["--first", "x"], "add --second and --chosen"),
        ("model_a,model_b,winner\np,q,p\n", [], "--first 'model_a', --second 'model_b'"),
        ("x,y,z\n1,2,\n", ["--first", "x", "--second", "y", "--chosen", "z"], "with --tie"),
    ],
)
def test_messages_speak_in_options(text, options, words):
    """The library says first=; on the command line there is --first."""
    Path("a.csv").write_text(text, encoding="utf-8")
    message = refusal("fit", "a.csv", *options, *QUICK)
    assert words in message
    assert "=" not in message


# What cannot be asked.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine", "steam"], "--engine"),
        (["--prior", "feeling"], "--prior"),
        (["--frob"], "--frob"),
        (["--draws", "10"], "--draws"),
        (["--seed", "-1"], "--seed"),
        (["--top", "0"], "--top"),
        (["--variance", "0"], "--variance"),
        (["--variance", "-1"], "--variance"),
        (["--variance", "much"], "--variance"),
        (["--variance-prior", "nonsense"], "--variance-prior: 'nonsense'"),
        (["--variance-prior", ""], "--variance-prior"),
        (["--variance-prior", "half-normal(-1)"], "--variance-prior"),
        (["--variance-prior", "fixed(0)"], "positive"),
        (["--tie-prior", "gamma(1, 2, 3)"], "--tie-prior"),
        (["--tie-prior", "uniform(2, 1)"], "--tie-prior"),
        (["--tie-prior", "fixed(0)"], "--no-ties"),
        (["--variance", "1", "--variance-prior", "half-normal(1)"], "leave out --variance-prior"),
        (["--no-ties", "--tie-prior", "gamma(2, 3)"], "leave out --tie-prior"),
        (["--prior", "network"], "--areas or --edges"),
        (["--prior", "distance"], "--areas"),
        (["--prior", "covariance"], "--matrix"),
        (["--reach", "1000"], "--prior distance"),
        (["--id", "id"], "--areas"),
        (["--name", "name"], "--areas"),
        (["--group", "group"], "--areas"),
        (["--join-islands"], "--areas"),
        (["--areas", "nowhere.gpkg"], "nowhere.gpkg"),
        (["--edges", "nowhere.csv"], "nowhere.csv"),
        (["--names", "nowhere.csv"], "nowhere.csv"),
        (["--areas", "a.gpkg", "--edges", "b.csv"], "not both"),
        (["--judge", "referee"], "referee"),
    ],
)
def test_options_that_cannot_be_are_one_line(study, options, words):
    message = refusal("fit", study / "comparisons.csv", "--out", "out", *options)
    assert words in message
    assert not Path("out").exists()


def test_draws_mean_nothing_to_a_point_estimate(study):
    words = ["--engine", "maximum-likelihood", "--draws", "200"]
    assert "leave it out" in refusal("fit", study / "comparisons.csv", *words)


@pytest.mark.parametrize(
    "words", [["fit"], ["brew"], ["--frob"], ["data", "atlantis"], ["data"], ["simulate"]]
)
def test_a_wrong_command_is_one_line_that_points_to_help(words):
    assert "--help" in refusal(*words)


def test_tiewise_alone_shows_what_there_is():
    result = run()
    assert all(name in result.output for name in ("fit", "simulate", "data"))


# The results folder.


def test_the_tables_have_the_columns_that_were_promised(mapped):
    assert ",".join(cells(mapped.folder / "items.csv")[0]) == (
        "item,name,mean,median,sd,q2.5,q97.5,rank,rank_q2.5,rank_q97.5,top_k_probability,band,"
        "comparisons"
    )
    head, *rows = cells(mapped.folder / "parameters.csv")
    assert ",".join(head) == "parameter,mean,median,sd,q2.5,q97.5,ess_bulk,ess_tail,rhat"
    assert [row[0] for row in rows] == ["tie", "variance", "share", "map_share"]


def test_items_stand_highest_mean_first_with_whole_ranks(plain):
    table = columns(plain.folder / "items.csv")
    means = [float(mean) for mean in table["mean"]]
    assert means == sorted(means, reverse=True)
    assert abs(sum(means)) < 1e-9
    for column in ("rank", "rank_q2.5", "rank_q97.5", "comparisons"):
        assert all(value.isdecimal() for value in table[column]), column
    assert set(table["item"]) == {str(number) for number in range(1, WARDS + 1)}


def test_fit_json_says_what_was_promised(study, plain):
    record = facts(plain.folder)
    promised = (
        "engine exact seed draws chains items comparisons ties skips judges seconds "
        "ess_min rhat_max warnings"
    )
    assert set(promised.split()) <= set(record)
    assert list(record["seconds"]) == ["read", "build", "sample", "total"]
    *parts, total = record["seconds"].values()
    assert total == pytest.approx(sum(parts), abs=1e-3)
    rows = columns(study / "comparisons.csv")
    states = {state: rows["state"].count(state) for state in ("selected", "tied", "skipped")}
    assert record["comparisons"] == states["selected"] + states["tied"]
    assert (record["ties"], record["skips"]) == (states["tied"], states["skipped"])
    assert (record["items"], record["judges"]) == (WARDS, 4)
    assert (record["engine"], record["exact"], record["seed"]) == (
        "laplace",
        False,
        3,
    )
    assert (record["draws"], record["chains"], record["ess_min"]) == (
        100,
        1,
        None,
    )


def test_study_json_keeps_the_question(plain):
    assert plain.stdout.splitlines()[0] == QUESTION
    record = json.loads((plain.folder / "study.json").read_text(encoding="utf-8"))
    assert record["question"] == QUESTION
    assert (record["top"], record["source"], record["groups"]) == (
        3,
        "comparisons.csv",
        False,
    )


def test_the_folder_holds_what_was_asked_for(study, plain):
    tables = {"items.csv", "leaderboard.csv", "parameters.csv", "fit.json", "posterior.nc"}
    tables |= {"study.json"}
    assert files_in(plain.folder) == tables
    words = ["fit", study / "comparisons.csv", "--engine", "laplace", "--draws", "100"]
    done(*words, "--areas", study / "areas.gpkg", "--out", "drawn")
    assert files_in("drawn") == tables | {"areas.gpkg", "pictures", "report.html", "checks.csv"}
    assert {"map.svg", "ranking.svg"} <= files_in("drawn/pictures")


PAPER_VARIANCE = {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01}
PAPER_TIE = {"kind": "exponential", "rate": 0.01}


def test_priors_of_the_paper_come_together_and_single_ones_change_them(study, mapped):
    words = ["fit", study / "comparisons.csv", "--areas", study / "areas.gpkg", *QUICK]
    model = facts(mapped.folder)["model"]
    assert model["variance"] == {"kind": "half-normal", "scale": 2.0}
    assert model["tie"] == {"kind": "half-normal", "scale": 1.0}
    assert model["quality"]["share"] is None
    done(*words, "--priors", "paper", "--out", "out")
    model = facts()["model"]
    assert (model["variance"], model["tie"]) == (PAPER_VARIANCE, PAPER_TIE)
    assert model["quality"]["share"] == 1
    assert facts()["prior_sensitivity"].keys() == {"tie", "alpha", "quality", "item"}
    own = ["--priors", "paper", "--variance", "1.5", "--share", "0.5"]
    done(*words, *own, "--out", "out", "--force")
    model = facts()["model"]
    assert (model["variance"], model["tie"]) == ({"kind": "fixed", "value": 1.5}, PAPER_TIE)
    assert model["quality"]["share"] == 0.5
    result = run(*words, "--priors", "vague")
    assert result.exit_code == 2
    assert "'vague' is not one of 'default', 'paper'" in result.stderr


@pytest.mark.slow
def test_sampling_goes_on_as_far_as_was_asked(study):
    """A number of draws is kept to, unless the draws are to be worth so many besides."""
    words = ["fit", study / "comparisons.csv", "--draws", 104, "--seed", 1, "--no-report"]
    done(*words, "--out", "out")
    exact = facts()
    assert (exact["draws"], exact["rounds"], exact["ess_target"]) == (104, 0, 0)
    assert "As many draws were taken as were asked for" in exact["ess_cause"]
    done(*words, "--ess", 300, "--out", "out", "--force")
    longer = facts()
    assert longer["ess_min"] >= 300
    assert longer["draws"] == 104 * 2 ** longer["rounds"] > 104
    first = Path("out/items.csv").read_bytes()
    done(*words, "--ess", 300, "--out", "out", "--force")
    assert Path("out/items.csv").read_bytes() == first
    assert run(*words, "--ess", -1).exit_code == 2


def test_a_fixed_parameter_has_sd_0_and_no_diagnostics(study):
    fixed = ["--variance", "1", "--tie-prior", "fixed(0.5)"]
    done("fit", study / "comparisons.csv", "--draws", 100, "--no-report", *fixed, "--out", "out")
    _, tie, variance = cells("out/parameters.csv")
    assert [float(cell) for cell in tie[1:6]] == [0.5, 0.5, 0, 0.5, 0.5]
    assert [float(cell) for cell in variance[1:6]] == [1, 1, 0, 1, 1]
    assert tie[6:] == variance[6:] == ["", "", ""]


@pytest.mark.slow
def test_an_exact_engine_fills_every_cell(study):
    words = ["--engine", "gibbs", "--draws", 200, "--no-report", "--out", "out"]
    done("fit", study / "comparisons.csv", *words)
    every = [cell for row in cells("out/items.csv") + cells("out/parameters.csv") for cell in row]
    assert "" not in every
    assert facts()["exact"] is True
    assert facts()["ess_min"] > 0
    assert facts()["rhat_max"] > 0.9


def test_an_approximate_engine_leaves_diagnostics_empty(plain):
    for row in cells(plain.folder / "parameters.csv")[1:]:
        assert row[6:] == ["", "", ""]
        assert "" not in row[:6]


@pytest.mark.slow
def test_a_point_engine_leaves_empty_what_it_cannot_say(study):
    words = ["--engine", "maximum-likelihood", "--no-report", "--out", "out"]
    result = done("fit", study / "comparisons.csv", *words)
    table = columns("out/items.csv")
    for column, values in table.items():
        empty = column in ("rank_q2.5", "rank_q97.5", "top_k_probability", "band")
        assert all((value == "") is empty for value in values), column
    assert table["rank"] == [str(k + 1) for k in range(WARDS)]
    assert cells("out/parameters.csv")[2] == ["variance", *[""] * 8]
    assert "top 5" not in result.stdout


@pytest.mark.slow
def test_an_engine_without_a_variance_leaves_its_row_empty(study):
    words = ["--engine", "caron-doucet", "--draws", 200, "--no-report", "--out", "out"]
    done("fit", study / "comparisons.csv", *words)
    _, tie, variance = cells("out/parameters.csv")
    assert "" not in tie
    assert variance == ["variance", *[""] * 8]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(study):
    words = ["fit", study / "comparisons.csv", "--areas", study / "areas.gpkg", *QUICK]
    done(*words, "--seed", 1, "--out", "one")
    done(*words, "--seed", 1, "--out", "two")
    done(*words, "--seed", 2, "--out", "three")
    first = Path("one/items.csv").read_bytes()
    assert Path("two/items.csv").read_bytes() == first
    assert Path("three/items.csv").read_bytes() != first
    done(*words, "--seed", 1, "--out", "three", "--force")
    assert Path("three/items.csv").read_bytes() == first


@pytest.mark.slow
def test_a_fit_without_a_seed_can_be_had_again(study):
    done("fit", study / "comparisons.csv", *QUICK, "--out", "one")
    done("fit", study / "comparisons.csv", *QUICK, "--out", "two", "--seed", facts("one")["seed"])
    assert Path("one/items.csv").read_bytes() == Path("two/items.csv").read_bytes()


def test_the_posterior_is_readable_by_others(plain):
    import arviz_base
    import xarray

    with xarray.open_datatree(plain.folder / "posterior.nc") as tree:
        assert dict(tree["posterior"].sizes) == {"chain": 1, "draw": 100, "item": WARDS}
        assert int(tree["observed_data/ties"].sum()) == facts(plain.folder)["ties"]
        mean = tree["posterior/quality"].mean(("chain", "draw")).to_pandas()
    table = pd.read_csv(plain.folder / "items.csv", dtype={"item": str}).set_index("item")["mean"]
    assert np.allclose((mean - mean.mean())[table.index], table)
    with arviz_base.convert_to_datatree(str(plain.folder / "posterior.nc")) as tree:
        assert arviz_base.extract(tree)["tie"].size == 100


# What is printed.


def test_json_is_all_that_is_printed(mapped):
    assert json.loads(mapped.stdout) == facts(mapped.folder)


def test_the_table_names_the_best_and_says_where_the_rest_is(study):
    areas = ["--areas", study / "areas.gpkg"]
    result = done("fit", study / "comparisons.csv", *areas, *QUICK, "--top", 2, "--out", "a b/out")
    best = columns("a b/out/items.csv")["name"][0]
    assert best in result.stdout
    verdict = json.loads(Path("a b/out/fit.json").read_text(encoding="utf-8"))["verdict"]
    assert verdict["text"] in result.stdout
    assert ("top 2" in result.stdout) is verdict["headline"]
    assert "could be" in result.stdout
    assert f"Results in {Path('a b/out')}" in result.stdout
    assert ESCAPE not in result.output
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_top_is_always_fewer_than_all(study):
    """That everybody is among the top of as many as there are would say nothing."""
    done("fit", study / "comparisons.csv", *QUICK, "--top", 100, "--out", "out")
    assert json.loads(Path("out/study.json").read_text())["top"] == WARDS - 1
    chances = [float(cell) for cell in columns("out/items.csv")["top_k_probability"]]
    assert sum(chances) == pytest.approx(WARDS - 1)


ODD = [
    "[bold red]Bo[/bold red]", "[/]", ":smile:", "$5 or $6", "two\nlines", "x" * 200, "עברית שלום",
    "日本語", f"{ESCAPE}[31mred", "NA.", "nano", "=1+1", 'quo"te', "a, b; c", "back\\slash", "a\rb",
]  # fmt: skip


def odd_votes(path: Path) -> None:
    rng = np.random.default_rng(4)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["winner", "loser", "tie"])
        for _ in range(200):
            one, two = rng.choice(len(ODD), 2, replace=False)
            writer.writerow([ODD[one], ODD[two], int(rng.uniform() < 0.2)])


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Path:
    """Results with their report about items of odd names."""
    folder = tmp_path_factory.mktemp("odd")
    odd_votes(folder / "odd.csv")
    words = ["--engine", "laplace", "--draws", "100", "--out", folder / "out"]
    assert done("fit", folder / "odd.csv", *words).stderr == ""
    return folder / "out"


def test_odd_names_come_through_whole(odd):
    """Brackets, dollars, line ends, other scripts: read, fitted, drawn, written and read again."""
    assert sorted(map(restore, columns(odd / "items.csv")["item"])) == sorted(ODD)
    assert sorted(read_results(odd).items["name"]) == sorted(ODD)


def test_odd_names_are_printed_as_they_are_and_on_one_line(odd):
    """Rich must not take a name for its own markup, and no name may drive the terminal."""
    from io import StringIO

    from rich.console import Console

    from tiewise.report import terminal

    paper = StringIO()
    results = read_results(odd)
    terminal.MOST_ROWS, shown = len(ODD), terminal.MOST_ROWS
    try:
        terminal.print_results(results, Console(file=paper, width=80, force_terminal=False))
    finally:
        terminal.MOST_ROWS = shown
    text = paper.getvalue()
    for name in ("[bold red]Bo[/bold red]", "[/]", ":smile:", "$5 or $6", "two lines", "[31mred"):
        assert f" {name} " in text
    assert ESCAPE not in text
    assert "xxx…" in text
    rows = [line for line in text.splitlines() if re.search(r"[+-]\d\.\d\d to [+-]\d\.\d\d", line)]
    assert len(rows) == len(ODD)


def test_names_stand_beside_ids_and_ids_stay_the_keys(study):
    Path("names.csv").write_text("item,name\n1,Ash\n2,[b]Bo[/b]\n", encoding="utf-8")
    done("fit", study / "comparisons.csv", "--names", "names.csv", *QUICK, "--out", "out")
    table = columns("out/items.csv")
    named = dict(zip(table["item"], table["name"], strict=True))
    assert (named["1"], named["2"], named["3"]) == ("Ash", "[b]Bo[/b]", "3")


def test_names_have_the_last_word_over_the_map(study):
    Path("names.csv").write_text("id,name\n1,Ash\n", encoding="utf-8")
    words = ["--areas", study / "areas.gpkg", "--names", "names.csv", *QUICK, "--out", "out"]
    done("fit", study / "comparisons.csv", *words)
    table = columns("out/items.csv")
    named = dict(zip(table["item"], table["name"], strict=True))
    assert named["1"] == "Ash"
    assert named["2"] == columns(study / "truth.csv")["name"][1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,title\n1,Ash\n", "rename"),
        ("item,name\n1,Ash\n1,Oak\n", "line 3"),
        ("item,name\n1,Ash\n,Oak\n", "line 3"),
    ],
)
def test_a_wrong_table_of_names_is_one_line(study, text, words):
    Path("names.csv").write_text(text, encoding="utf-8")
    assert words in refusal("fit", study / "comparisons.csv", "--names", "names.csv", *QUICK)


def test_names_for_nobody_are_remarked_upon(study):
    Path("names.csv").write_text("item,name\nE05,Ash\n", encoding="utf-8")
    result = done("fit", study / "comparisons.csv", "--names", "names.csv", *QUICK)
    assert "'E05'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_ties_left_out_are_counted(study):
    result = done("fit", study / "comparisons.csv", "--no-ties", *QUICK, "--out", "out")
    ties = columns(study / "comparisons.csv")["state"].count("tied")
    assert f"{ties} tied judgements were left out" in " ".join(result.stdout.split())
    assert f"{ties} tied judgements" in facts()["warnings"][0]
    assert facts()["ties"] == 0
    assert cells("out/parameters.csv")[1][:6] == ["tie", *["0.0"] * 5]


@pytest.mark.parametrize(
    "text",
    [
        "winner,loser\na,b\n",
        pytest.param(
            "item_1_id,item_2_id,selected_item_id,state\n1,2,,tied\n2,3,,tied\n3,1,,tied\n",
            marks=pytest.mark.slow,
        ),
        pytest.param("judge,winner,loser\nJo,a,b\nJo,b,c\nJo,c,a\n", marks=pytest.mark.slow),
        pytest.param("winner,loser\na,b\nb,c\nx,y\n", marks=pytest.mark.slow),
    ],
    ids=["one judgement", "all ties", "one judge", "two parts"],
)
def test_the_smallest_studies_are_fitted_with_a_warning(text):
    Path("a.csv").write_text(text, encoding="utf-8")
    result = done("fit", "a.csv", "--engine", "laplace", "--draws", "100", "--out", "out")
    assert "Note: " in result.stdout
    assert facts()["warnings"]


# Maps, neighbours, matrices.


def test_an_area_nobody_compared_is_in_the_model_and_said_to_be(study):
    rows = cells(study / "comparisons.csv")
    kept = [row for row in rows if row[2] != "8" and row[3] != "8"]
    Path("seven.csv").write_text("\n".join(map(",".join, kept)), encoding="utf-8")
    areas = ["--areas", study / "areas.gpkg"]
    done("fit", "seven.csv", *areas, *QUICK, "--out", "out")
    table = columns("out/items.csv")
    compared = dict(zip(table["item"], table["comparisons"], strict=True))
    assert compared["8"] == "0"
    assert len(compared) == WARDS
    assert any("8" in text and "never compared" in text for text in facts()["warnings"])


def test_compared_items_that_the_map_lacks_are_listed(study):
    geopandas.read_file(study / "areas.gpkg").iloc[:6].to_file("six.gpkg")
    message = refusal("fit", study / "comparisons.csv", "--areas", "six.gpkg", *QUICK)
    assert "'7', '8'" in message


def test_ids_of_another_kind_are_told_apart_from_a_few_that_lack(study):
    words = ["--areas", study / "areas.gpkg", "--id", "name", *QUICK]
    message = refusal("fit", study / "comparisons.csv", *words)
    assert "none of the compared items ('1', '2', '3', …)" in message
    assert "--id" in message


def test_a_map_without_ids_says_which_columns_there_are(study):
    geopandas.read_file(study / "areas.gpkg").drop(columns="id").to_file("noid.gpkg")
    message = refusal("fit", study / "comparisons.csv", "--areas", "noid.gpkg", *QUICK)
    assert "--id COLUMN from name, group" in message


def test_columns_of_the_map_may_have_any_name(study):
    frame = geopandas.read_file(study / "areas.gpkg")
    frame.columns = ["code", "title", "borough", "geometry"]
    frame.to_file("other.geojson")
    columns_ = ["--id", "code", "--name", "title", "--group", "borough"]
    words = ["--areas", "other.geojson", *columns_, *QUICK, "--out", "out"]
    done("fit", study / "comparisons.csv", *words)
    assert set(columns("out/items.csv")["name"]) == set(frame["title"])
    assert json.loads(Path("out/study.json").read_text())["groups"] is True


def test_repaired_polygons_and_islands_are_named_on_standard_error(study):
    from shapely import Polygon

    frame = geopandas.read_file(study / "areas.gpkg")
    bow_tie = [(0, 0), (500, 500), (500, 0), (0, 500)]
    frame.loc[0, "geometry"] = Polygon(bow_tie)  # far away from all others, and invalid
    frame.to_file("broken.gpkg")
    words = ["--areas", "broken.gpkg", *QUICK, "--json", "--out", "out"]
    result = done("fit", study / "comparisons.csv", *words)
    json.loads(result.stdout)
    assert "Repaired 1 invalid polygon: '1'" in result.stderr
    assert "no neighbour: '1'" in result.stderr
    words = ["--areas", "broken.gpkg", "--join-islands", *QUICK, "--force", "--out", "out"]
    assert "no neighbour" not in done("fit", study / "comparisons.csv", *words).stderr


def test_a_map_without_coordinate_system_is_remarked_upon_in_a_line(study):
    frame = geopandas.read_file(study / "areas.gpkg").set_crs(None, allow_override=True)
    with pytest.warns(UserWarning, match="crs"):
        frame.to_file("nocrs.gpkg")
    words = ["--areas", "nocrs.gpkg", "--prior", "distance", *QUICK]
    result = done("fit", study / "comparisons.csv", *words)
    assert re.fullmatch(r"tiewise: note: nocrs.gpkg has no coordinate system.*\n", result.stderr)


@pytest.mark.parametrize("prior", ["distance", "independent"])
def test_the_prior_can_be_chosen_on_a_map(study, prior):
    words = ["--areas", study / "areas.gpkg", "--prior", prior, *QUICK, "--out", "out"]
    done("fit", study / "comparisons.csv", *words)
    assert facts()["model"]["quality"]["kind"] == prior


def test_on_a_map_the_prior_is_that_of_a_network(mapped):
    assert facts(mapped.folder)["model"]["quality"]["kind"] == "network"


def test_edges_bring_the_network_prior_and_their_own_items(study):
    lane = [f"{k},{k + 1}" for k in range(1, 9)]
    Path("edges.csv").write_text("\n".join(["a,b", *lane]), encoding="utf-8")
    done("fit", study / "comparisons.csv", "--edges", "edges.csv", *QUICK, "--out", "out")
    assert facts()["items"] == WARDS + 1
    assert facts()["model"]["quality"]["kind"] == "network"


def test_edges_that_lack_items_are_one_line(study):
    Path("edges.csv").write_text("a,b\n1,2\n2,3\n", encoding="utf-8")
    message = refusal("fit", study / "comparisons.csv", "--edges", "edges.csv", *QUICK)
    assert "'4', '5', '6', '7', '8'" in message


def matrix(path: str, values: np.ndarray, ids: list[str] | None = None) -> str:
    names = ids or [str(k + 1) for k in range(values.shape[1])]
    pd.DataFrame(values, columns=names).to_csv(path, index=False)
    return path


ALIKE = np.full((WARDS, WARDS), 0.5) + 0.5 * np.eye(WARDS)


@pytest.mark.parametrize("kind", ["covariance", "precision"])
def test_a_matrix_is_taken_as_it_is(study, kind):
    words = ["--prior", kind, "--matrix", matrix("m.csv", ALIKE), *QUICK, "--out", "out"]
    done("fit", study / "comparisons.csv", *words)
    assert facts()["model"]["quality"]["kind"] == kind


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("covariance", ALIKE - 2 * np.eye(WARDS), "not positive semi-definite"),
        ("precision", ALIKE - 2 * np.eye(WARDS), "singular or indefinite"),
        ("covariance", np.triu(ALIKE), "not symmetric"),
        ("covariance", ALIKE[:5], "8 ids"),
        ("covariance", ALIKE[:5, :5], "'6', '7', '8'"),
        ("precision", np.ones((WARDS, WARDS)), "singular or indefinite"),
    ],
)
def test_a_matrix_that_cannot_be_is_one_line(study, kind, values, words):
    options = ["--prior", kind, "--matrix", matrix("m.csv", values)]
    assert words in refusal("fit", study / "comparisons.csv", *options, *QUICK)


def test_a_cell_that_is_no_number_is_found(study):
    table = pd.DataFrame(ALIKE, columns=[str(k + 1) for k in range(WARDS)]).astype(object)
    table.iloc[2, 4] = "half"
    table.to_csv("m.csv", index=False)
    words = ["--prior", "covariance", "--matrix", "m.csv"]
    message = refusal("fit", study / "comparisons.csv", *words, *QUICK)
    assert "line 4: 'half' in column '5'" in message


def test_a_matrix_says_what_it_is(study):
    words = ["--matrix", matrix("m.csv", ALIKE)]
    assert "--prior covariance or --prior precision" in refusal(
        "fit", study / "comparisons.csv", *words, *QUICK
    )


# Where results go.


def test_results_go_beside_the_person_under_the_name_of_the_file(study):
    done("fit", study / "comparisons.csv", *QUICK)
    assert Path("comparisons-results/items.csv").is_file()


def test_a_folder_that_holds_something_is_refused_before_any_work(study):
    Path("out").mkdir()
    Path("out/notes.txt").write_text("mine", encoding="utf-8")
    assert "--force" in refusal("fit", "nowhere.csv", "--out", "out")
    assert files_in("out") == {"notes.txt"}


@pytest.mark.slow
def test_force_replaces_results_and_keeps_the_rest(study):
    words = ["fit", study / "comparisons.csv", "--engine", "laplace", "--draws", "100"]
    done(*words, "--png", "--out", "out")
    assert Path("out/pictures/ranking.png").exists()
    assert Path("out/report.html").exists()
    ours = {path.name for path in Path("out").rglob("*") if path.is_file()}
    assert ours <= {*FILES, *PLOT_FILES}, "a file of an unknown name would stop the next fit"
    Path("out/notes.txt").write_text("mine", encoding="utf-8")
    Path("out/drafts").mkdir()
    Path("out/drafts/one.txt").write_text("mine", encoding="utf-8")
    before = Path("out/items.csv").read_bytes()
    done("fit", study / "comparisons.csv", *QUICK, "--seed", 9, "--force", "--out", "out")
    assert Path("out/items.csv").read_bytes() != before
    assert Path("out/notes.txt").read_text(encoding="utf-8") == "mine"
    assert Path("out/drafts/one.txt").read_text(encoding="utf-8") == "mine"
    old = Path("out/pictures"), Path("out/report.html")
    assert not any(path.exists() for path in old), "an old picture beside new tables would mislead"


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("place", ["afile", "afile/inside", ".", "..", "/"])
def test_places_that_cannot_be_results_are_refused(study, place, force):
    Path("afile").write_text("mine", encoding="utf-8")
    assert "--out" in refusal("fit", study / "comparisons.csv", *QUICK, "--out", place, *force)
    assert Path("afile").read_text(encoding="utf-8") == "mine"


# Signals and pipes: the real command, in a process of its own.

START = """
import os, signal, sys
from tiewise.cli.main import main
{before}
main(sys.argv[1:])
"""
WHILE_SAMPLING = """
from tiewise import progress
def watch(*_):
    seen.append(1)
    if len(seen) == 50:
        os.kill(os.getpid(), signal.{signal})
seen, progress.no_progress = [], watch
"""
WHILE_WRITING = """
from tiewise.posterior import results_folder as folder
write = folder.parameters
def parameters(tree):
    os.kill(os.getpid(), signal.{signal})
    return write(tree)
folder.parameters = parameters
"""


def process(before: str, *words: object) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, "-c", START.format(before=before), *map(str, words)]
    return subprocess.run(script, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "moment", everyday([WHILE_SAMPLING, WHILE_WRITING], WHILE_SAMPLING), ids=["sampling", "writing"]
)
def test_ctrl_c_leaves_nothing_behind(study, moment):
    engine = ["--engine", "gibbs", "--draws", "100000" if moment == WHILE_SAMPLING else "100"]
    words = ["fit", study / "comparisons.csv", *engine, "--no-report", "--out", "out"]
    ended = process(moment.format(signal="SIGINT"), *words)
    assert ended.returncode == 130
    assert ended.stdout == ""
    assert ended.stderr == "tiewise: stopped; nothing is left half-written\n"
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.slow
def test_results_that_were_there_outlive_ctrl_c(study):
    done("fit", study / "comparisons.csv", *QUICK, "--out", "out")
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    words = ["fit", study / "comparisons.csv", *QUICK, "--force", "--out", "out"]
    assert process(WHILE_WRITING.format(signal="SIGINT"), *words).returncode == 130
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    assert files_in(".") == {"out"}


def copy_of_this_process(before: str, *words: object) -> int:
    """The same in a process that has everything loaded already; how it ended."""
    child = os.fork()
    if not child:
        try:
            sys.argv[1:] = map(str, words)
            exec(START.format(before=before), {"__name__": "__main__"})
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_run_leaves_no_results(study):
    words = ["fit", study / "comparisons.csv", *QUICK, "--out", "out"]
    ended = copy_of_this_process(WHILE_WRITING.format(signal="SIGKILL"), *words)
    assert ended == -signal.SIGKILL
    assert not Path("out").exists()


def test_a_pipe_gets_words_and_no_progress_bar(study):
    words = ["fit", study / "comparisons.csv", "--draws", "400", "--no-report", "--out", "out"]
    ended = process("", *words)
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert ended.stdout.startswith("Which has the higher quality?\n")
    assert ESCAPE not in ended.stdout


def test_an_old_terminal_gets_question_marks_and_not_a_traceback(study):
    words = ["fit", str(study / "comparisons.csv"), *QUICK, "--question", "Où?"]
    result = CliRunner(charset="ascii").invoke(main, words)
    assert result.exit_code == 0
    assert result.stdout.startswith("O??\n")


# Made-up studies and public ones.


@pytest.mark.parametrize(
    ("options", "files"),
    [
        (["--items", "5"], {"comparisons.csv", "truth.csv"}),
        (["--items", "2", "--tie", "0", "--skip", "0"], {"comparisons.csv", "truth.csv"}),
        (["--county", "6"], {"comparisons.csv", "truth.csv", "areas.gpkg"}),
    ],
)
def test_simulate_writes_a_study_that_can_be_fitted(options, files):
    done("simulate", "made up", *options, "--variance", "1")
    assert files_in("made up") == files
    areas = ["--areas", "made up/areas.gpkg"] if "areas.gpkg" in files else []
    done("fit", "made up/comparisons.csv", *areas, *QUICK, "--out", "out")
    assert set(columns("out/items.csv")["item"]) == set(columns("made up/truth.csv")["item"])


def test_simulate_on_a_map_of_ones_own(study):
    done("simulate", "made", "--areas", study / "areas.gpkg", "--name", "group", "--seed", 3)
    truth = columns("made/truth.csv")
    assert truth["name"] == list(geopandas.read_file(study / "areas.gpkg")["group"])


def test_simulate_with_the_same_seed_is_the_same():
    for out, seed in (("one", 4), ("two", 4), ("three", 5)):
        done("simulate", out, "--county", "6", "--seed", seed)
    files = [Path(out, "comparisons.csv").read_bytes() for out in ("one", "two", "three")]
    assert files[0] == files[1] != files[2]


def test_simulate_by_force_writes_anew_and_keeps_what_is_not_its_own():
    done("simulate", "made", "--county", "6", "--seed", 1)
    Path("made/fit.json").write_text("{}", encoding="utf-8")
    done("simulate", "made", "--items", "9", "--seed", 2, "--force")
    assert len(columns("made/truth.csv")["item"]) == 9
    assert len(columns("made/comparisons.csv")["user_id"]) == 90
    assert Path("made/fit.json").read_text(encoding="utf-8") == "{}"
    assert not Path("made/areas.gpkg").exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--items", "1"],
        ["--county", "3"],
        ["--items", "5", "--county", "5"],
        ["--items", "5", "--tie", "-1"],
        ["--items", "5", "--variance", "-1"],
        ["--items", "5", "--variance", "inf"],
        ["--items", "5", "--skip", "2"],
        ["--items", "5", "--judges", "0"],
        ["--items", "5", "--comparisons", "0"],
        ["--items", "5", "--name", "name"],
        ["--areas", "nowhere.gpkg"],
    ],
)
def test_simulate_says_what_it_cannot_make_up(options):
    refusal("simulate", "made", *options)
    assert not Path("made").exists()


def test_simulate_does_not_write_over_anything_unasked():
    done("simulate", "made", "--items", "5")
    assert "--force" in refusal("simulate", "made", "--items", "5")


@pytest.fixture
def no_internet(desk, monkeypatch) -> None:
    """A port on this machine where nobody listens, and an empty cache."""
    monkeypatch.setenv("TIEWISE_DATA_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("XDG_CACHE_HOME", str(desk / "cache"))


def test_data_without_internet_says_what_to_do(no_internet):
    result = run("data", "south-yorkshire")
    assert result.exit_code == 2
    message = result.stderr.splitlines()[-1]
    assert message.startswith("tiewise: http://127.0.0.1:9/sy.comparisons.rda could not be fetched")
    assert "by hand" in message
    assert not Path("south-yorkshire").exists()


def test_data_writes_a_study_that_can_be_fitted(study, monkeypatch):
    from tiewise.data.comparisons import read_comparisons
    from tiewise.workflows import datasets

    def load(name: str) -> datasets.Dataset:
        comparisons = read_comparisons(study / "comparisons.csv")
        return datasets.Dataset(name, "A village.", comparisons, None, None, None)

    monkeypatch.setattr(datasets, "load", load)
    result = done("data", "wimbledon", "--out", "village")
    assert "Written to village: ABOUT.txt, comparisons.csv" in result.stdout
    Path("village/notes.txt").write_text("mine", encoding="utf-8")
    done("data", "wimbledon", "--out", "village", "--force")
    assert files_in("village") == {"ABOUT.txt", "comparisons.csv", "notes.txt"}
    done("fit", "village/comparisons.csv", *QUICK)


def test_a_fault_of_ours_is_not_dressed_up(study, monkeypatch):
    """Exit code 2 is for what the person can mend; a bug keeps its traceback."""
    from tiewise.posterior import fit

    def broken(*_: object, **__: object) -> Callable[[], None]:
        raise ZeroDivisionError

    monkeypatch.setattr(fit, "fit", broken)
    result = run("fit", study / "comparisons.csv", *QUICK)
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


# The first fit of an installation.


@pytest.mark.slow
def test_the_first_fit_says_once_that_it_compiles_and_only_when_there_is_something_to_fit(study):
    def first_fit(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tiewise.cli.main", "fit", str(study / "comparisons.csv")]
        return subprocess.run(
            [*command, "--no-report", "--force", "--engine", "laplace", *options],
            env={**os.environ, "NUMBA_CACHE_DIR": str(Path("loops").absolute())},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    refused = first_fit("--prior", "network")
    assert refused.returncode == 2
    assert "Compiling" not in refused.stderr
    first, again = first_fit(), first_fit()
    assert first.returncode == again.returncode == 0
    assert first.stderr == "Compiling the inner loops for this machine, once: some seconds ...\n"
    assert again.stderr == ""
