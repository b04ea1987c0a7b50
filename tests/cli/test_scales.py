"""Scales, leaderboards, anchors and links on the command line, from the file to the page."""

from __future__ import annotations

import html
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from support.command import done, refusal
from tiewise.posterior.results_folder import read_results
from tiewise.report.anchors.link_section import link_section
from tiewise.report.briefing_values import template_values
from tiewise.report.reproduce import fit_command, python_call
from tiewise.report.section import DataTable

QUALITY = dict(
    zip(("ash", "birch", "cedar", "elm", "oak"), (-0.8, -0.3, 0.0, 0.4, 0.7), strict=True)
)
QUICK = ("--draws", "400", "--seed", "1")


def votes(seed: int, number: int = 400) -> pd.DataFrame:
    """Arena votes in two languages; in German oak is worth a unit less."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(number):
        a, b = rng.choice([*QUALITY], 2, replace=False)
        language = "German" if k % 2 else "English"
        gap = QUALITY[a] - QUALITY[b]
        gap -= 1.5 * (language == "German") * ((a == "oak") - (b == "oak") + 0.0)
        first, second = (1 / (1 + np.exp(0.4 - sign * gap)) for sign in (1, -1))
        answers = ["model_a", "model_b", "tie"]
        answer = rng.choice(answers, p=[first, second, 1 - first - second])
        rows.append({"model_a": a, "model_b": b, "winner": answer, "language": language})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def furniture(tmp_path_factory):
    """Votes of two years, anchors, and results by language with their report; not to be changed."""
    folder = tmp_path_factory.mktemp("arena")
    votes(1).to_csv(folder / "votes.csv", index=False)
    votes(2).to_csv(folder / "next.csv", index=False)
    anchors = {"item": ["ash", "cedar", "elm"], "value": [1.2, 2.0, 2.4], "sd": 0.2}
    pd.DataFrame(anchors).to_csv(folder / "anchors.csv", index=False)
    words = ("--by", "language", "--scale", "elo", *QUICK, "--out", folder / "by")
    shown = done("fit", folder / "votes.csv", *words).output
    (folder / "shown.txt").write_text(shown, encoding="utf-8")
    return folder


def page_text(folder) -> str:
    page = (folder / "report.html").read_text(encoding="utf-8")
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_one_leaderboard_for_each_language_beside_the_common_one(furniture):
    """On the terminal, in the table and in the report, with what differs and how surely."""
    board = pd.read_csv(furniture / "by" / "leaderboard.csv").set_index(["group", "item"])
    assert set(board["scale"]) == {"elo"}
    oak = board["score"].xs("oak", level="item")
    assert oak["German"] < oak["all"] < oak["English"]
    assert board["sure"]["German"]["oak"] > 0.95
    both = board["votes"].drop("all", level="group").groupby("item").sum()
    pd.testing.assert_series_equal(both, board["votes"]["all"].sort_index(), check_names=False)
    shown = (furniture / "shown.txt").read_text(encoding="utf-8")
    assert "By language" in shown
    assert "German" in shown
    assert "Elo rating" in shown
    text = page_text(furniture / "by")
    assert "Elo rating, and in brackets the ranks it could have" in text
    assert "Difference from all" in text


def test_every_page_tells_the_same_scores(furniture):
    """Report, briefing and the lines that repeat the fit know the scale."""
    results = read_results(furniture / "by")
    first = results.items.iloc[0]
    score = f"{first['score']:.0f}"
    text = page_text(results.folder)
    assert f"{score} {first['score_q2.5']:.0f} to {first['score_q97.5']:.0f}" in text
    assert "400 points" in text
    values, _ = template_values(results)
    assert values["estimate"] == "Elo rating"
    assert values["rows"][0]["estimate"] == score
    command = re.search(r"tiewise fit votes\.csv.*? --out again", text)[0]
    assert {"--by", "--scale", "elo"} <= {*shlex.split(command)}
    assert 'scale="elo"' in python_call(results)
    assert "by='language'" in python_call(results)


def test_anchored_results_say_where_anchors_stand(furniture, tmp_path):
    """Scores near the anchors' values, the check in a table, and a command that repeats it."""
    out = tmp_path / "out"
    words = ("--anchors", furniture / "anchors.csv", "--no-report", *QUICK, "--out", out)
    shown = done("fit", furniture / "votes.csv", *words).output
    assert "Anchored score" in shown
    assert "3 anchors fix the level of the scale" in " ".join(shown.split())
    results = read_results(out)
    score = results.items.set_index("item")["score"]
    assert abs(score["cedar"] - 2.0) < 0.5
    assert list(pd.read_csv(out / "anchors.csv").columns)[-1] == "z"
    assert 'anchors="anchors.csv"' in python_call(results)
    again = tmp_path / "again"
    done("fit", furniture / "votes.csv", "--anchors", out / "anchors.csv", "--no-report", *QUICK,
         "--out", again)  # fmt: skip
    assert (again / "items.csv").read_bytes() == (out / "items.csv").read_bytes()


def test_anchors_in_other_units_say_what_a_logit_is(furniture, tmp_path):
    """Scores in the anchors' units on the terminal, and a command that repeats it."""
    anchors = pd.read_csv(furniture / "anchors.csv")
    ratings = anchors.assign(value=1000 + 100 * anchors["value"], sd=20)
    ratings.to_csv(tmp_path / "ratings.csv", index=False)
    words = ("--anchors", tmp_path / "ratings.csv", "--anchor-slope", "learned", "--no-report")
    shown = done("fit", furniture / "votes.csv", *words, *QUICK, "--out", tmp_path / "out").output
    text = " ".join(shown.split())
    assert "3 anchors fix the level and the unit of the scale" in text
    low, high = map(
        float, re.search(r"a logit is .*? interval ([\d.]+) to ([\d.]+)\)", text).groups()
    )
    assert 20 < low < 100 < high
    results = read_results(tmp_path / "out")
    score = results.items.set_index("item")["score"]
    assert abs(score["cedar"] - 1200) < 50
    assert f"{score['cedar']:.0f} " in shown
    assert 'anchor_slope="learned"' in python_call(results)
    assert "--anchors anchors.csv --anchor-slope learned" in fit_command(results)


def test_a_linked_study_knows_more_than_its_own_answers(furniture, tmp_path):
    """Intervals are narrower than without the link."""
    fitted = {}
    for name, words in (("last", ()), ("alone", ()), ("linked", ("--link", tmp_path / "last"))):
        file = furniture / ("votes.csv" if name == "last" else "next.csv")
        done("fit", file, *words, "--no-report", *QUICK, "--out", tmp_path / name)
        fitted[name] = read_results(tmp_path / name)
    assert (fitted["linked"].items["sd"].mean()) < 0.85 * fitted["alone"].items["sd"].mean()
    assert 'link="earlier"' in python_call(fitted["linked"])
    section = link_section(fitted["linked"])
    assert section.title == "Does the earlier study agree?"
    table = next(block for block in section.blocks if isinstance(block, DataTable))
    assert {row[0] for row in table.rows} == set(QUALITY)
    off = [abs(float(row[3].replace("−", "-"))) for row in table.rows]
    assert off == sorted(off, reverse=True)
    assert link_section(fitted["alone"]) is None


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--scale", "anchored"), "give --anchors"),
        (("--anchor-slope", "learned"), "give --anchors"),
        (("--anchors", "anchors.csv", "--anchor-slope", "0"), "the slope of anchors is '0'"),
        (("--by", "nobody"), "nobody"),
        (("--by", "language", "--waves", "language"), "--waves and --by both say"),
        (("--link", "by", "--anchors", "anchors.csv"), "--anchors and --link both say"),
        (
            ("--engine", "caron-doucet", "--anchors", "anchors.csv"),
            "caron-doucet does not know --anchors",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(furniture, monkeypatch, tmp_path, words, line):
    monkeypatch.chdir(furniture)
    assert line in refusal("fit", "votes.csv", *words, "--no-report", "--out", tmp_path / "out")
