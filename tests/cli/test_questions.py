"""Commands on a study that asks several questions: each is fitted, planned and judged by its id."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from support.judging import add_judge
from tiewise.cli.main import main
from tiewise.data.answers import FIRST, SECOND
from tiewise.pairing.policies import OrderedPair
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.study.values import Kind, Reply

ITEMS = "abcdef"
QUESTIONS = """
[[questions]]
id = "age"
question = "Which is older?"
higher = "older"

[[questions]]
id = "beauty"
question = "Which is more beautiful?"
answers = { grades = 4, ties = false }
"""
QUICK = ("--no-report", "--draws", "200", "--seed", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    place = tmp_path_factory.mktemp("questions")
    (place / "list.csv").write_text("name\n" + "\n".join(ITEMS) + "\n", encoding="utf-8")
    made = create_study(place / "s", items=place / "list.csv", question="Compare them.")
    toml = made.folder / "study.toml"
    toml.write_text(toml.read_text("utf-8") + QUESTIONS, "utf-8")
    study, rng = Study.open(made.folder), np.random.default_rng(4)
    store, items = study.store(), list(study.items)
    judge = add_judge(store)
    for _ in range(60):
        left, right = rng.choice(len(items), 2, replace=False)
        offer = store.offer(judge, OrderedPair(items[left], items[right]), Kind.NEW)
        first = rng.random() < 1 / (1 + np.exp(right - left))
        replies = {
            "age": Reply(FIRST if first else SECOND),
            "beauty": Reply(SECOND if first else FIRST, 1 + int(rng.random() < 0.5)),
        }
        store.answer_questions(judge, offer.id, replies, ("age", "beauty"))
    store.close()
    return str(study.folder)


def run(*words: str):
    return CliRunner().invoke(main, words)


def test_a_fit_needs_the_question_and_says_which_there_are(folder):
    result = run("fit", folder)
    assert result.exit_code == 2
    assert "name one of age, beauty (--question-id)" in result.stderr
    result = run("fit", folder, "--question-id", "height")
    assert result.exit_code == 2
    assert result.stderr.startswith("tiewise: --question-id 'height': this study asks several")


def test_each_question_is_fitted_into_a_folder_of_its_own(folder):
    rankings = {}
    for question in ("age", "beauty"):
        result = run("fit", folder, "--question-id", question, *QUICK)
        assert result.exit_code == 0, result.output
        out = Study.open(folder).folder / f"results-{question}"
        assert json.loads((out / "fit.json").read_text("utf-8"))["comparisons"] == 60
        about = json.loads((out / "study.json").read_text("utf-8"))
        assert about["question"].startswith("Which is")
        rankings[question] = (out / "items.csv").read_text("utf-8").splitlines()[1][0]
    assert rankings["age"] != rankings["beauty"]


@pytest.mark.slow
def test_an_export_is_fitted_question_by_question_with_the_same_result(folder, tmp_path):
    assert run("export", folder, "--out", str(tmp_path / "out")).exit_code == 0
    table = str(tmp_path / "out" / "comparisons.csv")
    result = run("fit", table, "--out", str(tmp_path / "r"), *QUICK)
    assert result.exit_code == 2
    assert "answers to several questions" in result.stderr
    for question in ("age", "beauty"):
        out = tmp_path / question
        words = ("--question-id", question, "--out", str(out), *QUICK)
        assert run("fit", table, *words).exit_code == 0
        again = tmp_path / f"{question}-again"
        words = ("--question-id", question, "--out", str(again), *QUICK)
        assert run("fit", folder, *words).exit_code == 0
        ranked = [(place / "items.csv").read_text("utf-8").splitlines() for place in (out, again)]
        # The study's table has names of items besides.
        assert [row.split(",")[0] for row in ranked[0]] == [row.split(",")[0] for row in ranked[1]]


def test_a_study_of_one_question_knows_no_ids(tmp_path):
    (tmp_path / "list.csv").write_text("name\na\nb\n", encoding="utf-8")
    made = create_study(tmp_path / "s", items=tmp_path / "list.csv", question="Which?")
    result = run("fit", str(made.folder), "--question-id", "age")
    assert result.exit_code == 2
    assert "asks one question; leave it out" in result.stderr


@pytest.mark.slow
def test_a_plan_goes_on_from_the_answers_to_one_question(folder):
    words = ("plan", "--from", folder, "--judges", "4", "--precision", "0.3", "--json")
    result = run(*words)
    assert result.exit_code == 2
    result = run(*words, "--question-id", "beauty", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)
