"""The commands of scrutiny, as they are typed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from support.panel import BAD, crowd, network
from tiewise.cli.main import main
from tiewise.criticism.judge_fit import COLUMNS
from tiewise.workflows.assess_judges import FILES
from tiewise.workflows.compare_models import FILES as MODEL_FILES


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Judgements of a crowd with bad judges, and two fits of them."""
    folder = tmp_path_factory.mktemp("scrutiny")
    _, comparisons = crowd(network(20), np.random.default_rng(3), good=6, bad=BAD, each=40)
    comparisons.to_csv(folder / "judgements.csv")
    for name, variance in (("free", ()), ("flat", ("--variance", "0.001"))):
        made = run("fit", folder / "judgements.csv", "--out", folder / name, "--seed", 1,
                   "--no-report", *variance)  # fmt: skip
        assert made.exit_code == 0, made.output
    return folder


@pytest.mark.slow
def test_judges_of_a_file_are_told_and_written(place, tmp_path):
    out = tmp_path / "judges"
    result = run("judges", place / "judgements.csv", "--out", out, "--splits", 4)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    table = pd.read_csv(out / "judges.csv")
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 10
    assert "reversed" in result.output
    assert "Split-half reliability" in result.output
    assert "Quote the split halves" in " ".join(result.output.split())
    reliability = json.loads((out / "reliability.json").read_text())
    assert 0 < reliability["ssr"] < 1
    low, high = reliability["split_half_low"], reliability["split_half_high"]
    assert low <= reliability["split_half"] <= high


@pytest.mark.slow
def test_judges_of_results_are_those_of_the_file(place, tmp_path):
    """The folder holds who judged and the prior; the same seed gives the same figures."""
    one = run(
        "judges", place / "judgements.csv", "--out", tmp_path / "a", "--splits", 0, "--seed", 1
    )
    two = run("judges", place / "free", "--out", tmp_path / "b", "--splits", 0, "--seed", 1)
    assert one.exit_code == two.exit_code == 0, two.output
    for name in ("judges.csv", "item-fit.csv"):
        tables = [pd.read_csv(tmp_path / k / name) for k in "ab"]
        pd.testing.assert_frame_equal(*tables, rtol=1e-6)


@pytest.mark.slow
def test_judges_go_beside_the_results_by_default(place):
    assert run("judges", place / "flat", "--splits", 0).exit_code == 0
    assert (place / "flat" / "judges" / "judges.svg").is_file()
    again = run("judges", place / "flat", "--splits", 0)
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_options_of_a_fit_mean_nothing_to_results(place):
    result = run("judges", place / "free", "--prior", "independent")
    assert result.exit_code == 2
    assert "--prior" in result.stderr


def test_a_file_without_judges_is_refused_in_a_line(tmp_path):
    file = tmp_path / "judgements.csv"
    file.write_text("winner,loser\na,b\nb,c\nc,a\n")
    result = run("judges", file, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "name no judges" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_of_neither_kind_is_refused(tmp_path):
    result = run("judges", tmp_path)
    assert result.exit_code == 2
    assert "neither a study" in result.stderr


def test_scrutinise_tells_what_the_model_misses(place):
    result = run("scrutinise", place / "free")
    assert result.exit_code == 0, result.output
    assert "miss  Judges differ in ties" in result.output
    assert "call a tie (option thresholds)" in " ".join(result.output.split())
    table = pd.read_csv(place / "free" / "checks.csv").set_index("check")
    assert table.loc["judges", "p"] < 0.01
    assert (place / "free" / "pictures" / "checks.png").is_file()


@pytest.mark.slow
def test_scrutinise_leaves_other_pictures_alone(place):
    mine = place / "free" / "pictures" / "map.png"
    mine.parent.mkdir(exist_ok=True)
    mine.write_bytes(b"a picture")
    assert run("scrutinise", place / "free").exit_code == 0
    assert mine.read_bytes() == b"a picture"


@pytest.fixture(scope="module")
def close_race(tmp_path_factory) -> Path:
    """Results in which one item is a little ahead of another, with their report."""
    folder = tmp_path_factory.mktemp("race")
    rows = [("a", "b", "a", "x")] * 5 + [("a", "b", "b", "y")] * 4 + [("b", "c", "b", "z")] * 8
    rows += [("a", "c", "a", "y")] * 8 + [("c", "a", "c", "x")] * 2 + [("c", "b", "c", "z")] * 2
    table = pd.DataFrame(rows, columns=["first", "second", "chosen", "judge"])
    table.to_csv(folder / "judgements.csv", index=False)
    columns = ("--first", "first", "--second", "second", "--chosen", "chosen")
    made = run("fit", folder / "judgements.csv", "--out", folder / "results", "--seed", 1,
               "--top", 1, *columns)  # fmt: skip
    assert made.exit_code == 0, made.output
    return folder / "results"


def test_robust_says_how_few_decide_and_writes_the_report_again(close_race):
    before = (close_race / "report.html").read_text(encoding="utf-8")
    assert "How few answers decide it?" not in before
    result = run("robust", close_race, "--seed", 2)
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    # Without one choice of a over b the two stand alike, and without two b is ahead.
    assert "Leaving out 2 of 29 answers would change the first: b would then be ahead of a" in words
    assert "of 3 judges would change the first" in words
    table = pd.read_csv(close_race / "robust.csv", dtype=str, keep_default_na=False)
    own = table[(table["conclusion"] == "first") & (table["leave_out"] == "answer")]
    assert own["chosen"].tolist() == ["a", "a"]
    assert (own[["first", "second"]] == "a").any(axis=1).all()
    facts = json.loads((close_race / "fit.json").read_text())
    after = (close_race / "report.html").read_text(encoding="utf-8")
    assert ("How few answers decide it?" in after) is facts["verdict"]["headline"]
    # Words change, and what was found stays.
    assert run("report", close_race, "--noun", "tree").exit_code == 0
    assert (close_race / "robust.json").is_file()


@pytest.mark.slow
def test_robust_writes_a_table_elsewhere_and_leaves_the_results_alone(close_race, tmp_path):
    for name in ("robust.csv", "robust.json"):
        (close_race / name).unlink(missing_ok=True)
    out = tmp_path / "deciding.csv"
    words = ("robust", close_race, "--answers", "--max", 2, "--item", "c", "--out", out)
    assert run(*words).exit_code == 0
    assert not (close_race / "robust.csv").exists()
    assert set(pd.read_csv(out)["leave_out"]) == {"answer"}
    again = run(*words)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run(*words, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--item", "zebra"), "no item 'zebra'"), (("--top", "3"), "--top 3 is not between 1 and 2")],
)
def test_robust_refuses_in_a_line(close_race, words, message):
    result = run("robust", close_race, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_robust_needs_an_exact_engine(close_race, tmp_path):
    file = close_race.parent / "judgements.csv"
    words = (file, "--first", "first", "--second", "second", "--chosen", "chosen")
    refused = run("fit", *words, "--out", tmp_path / "a", "--engine", "laplace", "--robust")
    assert refused.exit_code == 2
    assert "--robust needs an exact engine" in refused.stderr
    assert (
        run("fit", *words, "--out", tmp_path / "b", "--engine", "laplace", "--no-report").exit_code
        == 0
    )
    late = run("robust", tmp_path / "b")
    assert late.exit_code == 2
    assert "only be said of an exact engine" in late.stderr


@pytest.mark.slow
def test_a_fit_can_say_how_few_decide_at_once(close_race, tmp_path):
    file = close_race.parent / "judgements.csv"
    words = (file, "--first", "first", "--second", "second", "--chosen", "chosen", "--top", 1)
    both = run("fit", *words, "--out", tmp_path / "both", "--seed", 1, "--robust")
    assert both.exit_code == 0, both.output
    assert run("robust", close_race).exit_code == 0
    one, two = ((folder / "robust.csv").read_bytes() for folder in (tmp_path / "both", close_race))
    assert one == two


def test_the_better_model_comes_first(place, tmp_path):
    result = run("compare", place / "flat", place / "free", "--out", tmp_path / "table.csv")
    assert result.exit_code == 0, result.output
    assert "free predicts better than flat" in " ".join(result.output.split())
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table["model"]) == ["free", "flat"]
    assert table["difference"].iloc[0] == 0
    again = run("compare", place / "flat", place / "free", "--out", tmp_path / "table.csv")
    assert again.exit_code == 2
    assert "--force" in again.stderr


@pytest.mark.slow
def test_a_report_says_whether_results_can_be_believed(place):
    assert run("report", place / "free").exit_code == 0
    page = (place / "free" / "report.html").read_text(encoding="utf-8")
    assert "Can these results be believed?" in page
    assert "Judges use “about equal” more differently than chance explains" in page


def test_a_point_estimate_has_no_such_section(place, tmp_path):
    fitted = run("fit", place / "judgements.csv", "--engine", "maximum-likelihood", "--out",
                 tmp_path / "point", "--no-report")  # fmt: skip
    if fitted.exit_code:
        pytest.fail(fitted.output)
    result = run("scrutinise", tmp_path / "point")
    assert result.exit_code == 2
    assert "point estimate" in result.stderr
    assert run("report", tmp_path / "point").exit_code == 0
    page = (tmp_path / "point" / "report.html").read_text(encoding="utf-8")
    assert "Can these results be believed?" not in page


def test_who_said_what_can_be_left_out_of_results(place, tmp_path):
    made = run("fit", place / "judgements.csv", "--out", tmp_path / "r", "--seed", 1, "--no-record",
               "--no-report")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert b"reversed" in (place / "free" / "posterior.nc").read_bytes()
    assert b"reversed" not in (tmp_path / "r" / "posterior.nc").read_bytes()
    for name in ("items.csv", "parameters.csv"):
        assert (tmp_path / "r" / name).read_bytes() == (place / "free" / name).read_bytes()
    result = run("judges", tmp_path / "r")
    assert result.exit_code == 2
    assert "does not hold who judged" in result.output


def test_judges_of_a_study_are_those_of_its_judgements(place, tmp_path):
    items = pd.read_csv(place / "free" / "items.csv", dtype=str)[["item", "name"]]
    items.to_csv(tmp_path / "items.csv", index=False)
    for words in (
        ("new", tmp_path / "study", "--items", tmp_path / "items.csv", "--question", "Which?"),
        ("import", tmp_path / "study", place / "judgements.csv"),
        ("judges", tmp_path / "study", "--out", tmp_path / "a", "--splits", 0, "--seed", 1),
        ("judges", place / "judgements.csv", "--out", tmp_path / "b", "--splits", 0, "--seed", 1),
    ):
        result = run(*words)
        assert result.exit_code == 0, result.output
    tables = [pd.read_csv(tmp_path / k / "judges.csv").set_index("judge") for k in "ab"]
    assert set(tables[0].index) == set(tables[1].index)
    same = ["comparisons", "tie_share", "left_share"]
    pd.testing.assert_frame_equal(tables[0][same].sort_index(), tables[1][same].sort_index())


# Candidate models.


@pytest.fixture(scope="module")
def tried(place, tmp_path_factory) -> tuple[Path, Result]:
    """The candidates of the crowd, and where their tables are."""
    out = tmp_path_factory.mktemp("models") / "tables"
    return out, run("models", place / "judgements.csv", "--out", out, "--draws", 400)


@pytest.mark.slow
def test_models_are_tried_and_one_is_recommended_with_its_command(tried, place, tmp_path):
    out, result = tried
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == sorted(MODEL_FILES)
    facts = json.loads((out / "models.json").read_text())
    assert result.output.count("Recommended: ") == 1
    (command,) = [line for line in result.output.splitlines() if line.startswith("  tiewise fit ")]
    words = shlex.split(command)[1:]
    assert words[:2] == ["fit", str(place / "judgements.csv")]
    assert words[2:4] == ["--draws", "400"]
    assert words[4:] == [f"--{name}" for name in facts["options"]]
    fitted = run(*words, "--out", tmp_path / "fit", "--no-report")
    assert fitted.exit_code == 0, fitted.output


def test_tables_of_models_are_not_overwritten_unasked(tried, place):
    out, _ = tried
    again = run("models", place / "judgements.csv", "--out", out)
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_models_of_results_are_refused_in_a_line(place):
    result = run("models", place / "free")
    assert result.exit_code == 2
    assert "holds results already" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_judge_can_be_left_out_of_a_comparison(place, tmp_path):
    words = ("compare", place / "flat", place / "free", "--leave-out", "judge")
    result = run(*words, "--out", tmp_path / "table.csv")
    assert result.exit_code == 0, result.output
    assert "over 10 judges" in " ".join(result.output.split())
    assert list(pd.read_csv(tmp_path / "table.csv")["model"]) == ["free", "flat"]


def test_a_judge_cannot_be_left_out_where_nobody_is_named(tmp_path):
    file = tmp_path / "games.csv"
    file.write_text("winner,loser\n" + "a,b\nb,c\nc,a\na,c\n" * 5)
    result = run("models", file, "--leave-out", "judge", "--draws", 200)
    assert result.exit_code == 2
    assert "nobody knows who judged" in result.stderr
    assert len(result.stderr.splitlines()) == 1
