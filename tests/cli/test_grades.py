"""Graded answers from a file to results, report, and the line that repeats the fit."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.command import done, refusal
from tiewise.data.comparisons import read_comparisons
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.results_folder import read_results
from tiewise.posterior.tree import rebuild_model
from tiewise.report.reproduce import fit_command, python_call

WORDS = ("much more", "more", "about equal", "less", "much less")
CUTS = (-1.5, -0.5, 0.5, 1.5)
GRADES = ("--grade", "answer", "--grades", ",".join(WORDS))


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """Every test sits at an empty desk."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(number: int, items: int = 6, **columns: list) -> pd.DataFrame:
    """Answers by five judges, whose grades are cuts of a logistic difference."""
    rng = np.random.default_rng(3)
    quality = np.linspace(-1.2, 1.2, items)
    first = rng.integers(items, size=number)
    second = (first + rng.integers(1, items, size=number)) % items
    seen = quality[first] - quality[second] + rng.logistic(size=number)
    place = np.searchsorted(CUTS, seen)
    table = pd.DataFrame(
        {
            "judge": rng.integers(5, size=number), "item_1": first, "item_2": second,
            "answer": [WORDS[4 - k] for k in place], "number": place - 2, **columns,
        }
    )  # fmt: skip
    table.to_csv("a.csv", index=False)
    return table


def parameters(folder: str) -> list[str]:
    return read_results(folder).parameters.index.tolist()


QUICK = ("--draws", "200", "--seed", "1", "--no-report")


@pytest.mark.slow
def test_words_become_cuts_and_results_are_read_back():
    table = write(80)
    result = done("fit", "a.csv", *GRADES, *QUICK, "--out", "out")
    assert "Differences at which an item is chosen more strongly" in result.stdout
    assert parameters("out") == ["tie", "variance", "cut: 2"]
    facts = json.loads(Path("out/fit.json").read_text(encoding="utf-8"))
    assert facts["grades"] == {"grade": "answer", "grades": list(WORDS)}
    results = read_results("out")
    counts = read_comparisons(table, grade="answer", grades=WORDS).counts()
    assert rebuild_model(results.tree).counts.digest() == counts.digest()
    record = JudgementRecord.from_tree(results.tree)
    own = [WORDS.index(word) for word in table["answer"]]
    assert record.judgements.grades(2).tolist() == own
    assert f" {shlex.join(GRADES)} " in fit_command(results)
    assert f'columns={{"grade": "answer", "grades": {json.dumps(WORDS)}}}' in python_call(results)
    assert "--grade, --grades" in refusal("judges", "out", *GRADES)


@pytest.mark.slow
def test_numbers_need_no_words():
    write(60)
    done("fit", "a.csv", "--grade", "number", "--engine", "laplace", *QUICK, "--out", "out")
    assert " --grade number --engine " in fit_command(read_results("out"))
    assert parameters("out") == ["tie", "variance", "cut: 2"]


def test_what_cannot_be_names_the_options():
    write(20)
    assert "--grade" in refusal("fit", "a.csv", "--grades", "more,less", *QUICK)
    assert "is not one of more, less" in refusal(
        "fit", "a.csv", "--grade", "answer", "--grades", "more,less", *QUICK
    )


@pytest.mark.slow
def test_the_report_shows_every_answer_and_its_line_repeats_the_fit():
    """With thresholds and sharpness of judges; five grades collapsed to three say the same."""
    table = write(400)
    terms = ("--thresholds", "--sharpness")
    done("fit", "a.csv", *GRADES, *terms, "--seed", "2", "--draws", "1000", "--out", "out")
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "How judges used the answers" in page
    assert "Curves of how often each answer is given" in page
    assert "Strength of choices" in page
    again = shlex.split(fit_command(read_results("out")))
    done(*again[1:], "--no-report")
    both = [Path(folder, "items.csv").read_bytes() for folder in ("out", "again")]
    assert both[0] == both[1]
    done("robust", "out", "--answers", "--max", "4", "--out", "few.csv")
    done("compare", "out", "again", "--out", "two.csv")
    # The same answers, however strong.
    sides = np.sign(table["number"]).map({1: "1", -1: "-1", 0: "0"})
    table.assign(side=sides).to_csv("b.csv", index=False)
    done("fit", "b.csv", "--grade", "side", *terms, "--seed", "2", "--no-report", "--out", "coarse")
    graded, coarse = (
        pd.read_csv(Path(folder, "items.csv"), index_col="item").sort_index()
        for folder in ("out", "coarse")
    )
    spread = np.sqrt(np.maximum(coarse["sd"] ** 2 - graded["sd"] ** 2, 0.05 * coarse["sd"] ** 2))
    assert (np.abs(graded["mean"] - coarse["mean"]) < 4 * spread).all()


def test_graded_answers_are_brought_in_written_out_and_examined():
    """`import` and `export` of a study with five grades; nobody is called hasty without times."""
    table = write(120)
    Path("list.csv").write_text("item\n" + "\n".join("012345"), encoding="utf-8")
    done("new", "trees", "--items", "list.csv", "--question", "Which is older?")
    settings = Path("trees", "study.toml")
    text = settings.read_text(encoding="utf-8").replace("grades = 0", "grades = 5")
    settings.write_text(text, encoding="utf-8")
    first = table["number"] > 0
    chosen = np.where(first, table["item_1"], table["item_2"])
    brought = pd.DataFrame(
        {
            "user_id": table["judge"], "item_1_id": table["item_1"], "item_2_id": table["item_2"],
            "selected_item_id": np.where(table["number"] == 0, "", chosen.astype(str)),
            "state": np.where(table["number"] == 0, "tied", "selected"),
            "grade": table["number"].abs().replace(0, pd.NA),
        }
    )  # fmt: skip
    brought.to_csv("brought.csv", index=False)
    assert "120" in done("import", "trees", "brought.csv").output
    done("export", "trees", "--out", "written")
    names = ["user_id", "item_1_id", "item_2_id", "selected_item_id", "state", "grade"]
    files = ("written/comparisons.csv", "brought.csv")
    written, before = (pd.read_csv(file, dtype=str)[names].fillna("") for file in files)
    assert written.equals(before)
    done("fit", "trees", *QUICK, "--out", "fitted")
    assert {"tie", "cut: 2"} <= set(parameters("fitted"))
    own, before = (
        rebuild_model(read_results("fitted").tree).counts,
        read_comparisons("a.csv", grade="number").counts(),
    )
    for name in ("items", "first", "second", "wins_first", "ties", "strengths"):
        assert np.array_equal(getattr(own, name), getattr(before, name)), name
    done("judges", "fitted", "--splits", "0", "--out", "judges")
    judges = pd.read_csv("judges/judges.csv")
    assert judges["median_seconds"].isna().all()
    assert not judges["flags"].fillna("").str.contains("median answer in").any()
