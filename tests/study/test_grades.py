"""Graded answers of a study: written out, read back, taken in again, and kept as they mean."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

from support.site import copy_study, edited
from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.export import COLUMNS, comparisons, export, import_file
from tiewise.study.study import Study

FIVE = {"grades = 0": "grades = 5"}
ANSWERED = (
    ("a", "b", "left", 1),
    ("b", "c", "right", 1),
    ("a", "c", "tie", None),
    ("c", "a", "skip", None),
    ("b", "a", "right", 1),
)
"""Nobody chose strongly: what is known of the study says that they could have."""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("graded")
    (place / "list.csv").write_text("item,name\na,Ash\nb,Birch\nc,Cedar\n", encoding="utf-8")
    made = create_study(place / "s", items=place / "list.csv", question="Which is older?")
    study = edited(made, FIVE)
    store = study.store()
    names = ("left", "right", "outcome", "grade")
    rows = [{"judge": "ada", **dict(zip(names, row, strict=True))} for row in ANSWERED]
    store.import_judgements(rows, consent="1")
    assert study.changed_meaning(store) == []
    store.close()
    export(study, study.store(), place / "out")
    return study


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


@pytest.fixture(scope="module")
def out(template):
    """The tables of its export."""
    return template.folder.parent / "out"


def test_grades_stand_beside_what_was_always_exported(template, out):
    with (out / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == (*COLUMNS, "grade")
    written = [(row[2], row[3], row[4], row[5], row[-1]) for row in rows]
    assert written == [
        ("a", "b", "a", "selected", "1"),
        ("b", "c", "c", "selected", "1"),
        ("a", "c", "", "tied", ""),
        ("c", "a", "", "skipped", ""),
        ("b", "a", "a", "selected", "1"),
    ]
    about = json.loads((out / "comparisons.about.json").read_text(encoding="utf-8"))
    assert about == {"ties_offered": True, "grades": 5}


def test_an_export_says_by_itself_that_its_answers_are_graded(template, out):
    again = read_comparisons(out / "comparisons.csv")
    assert again.levels == 2
    assert again.counts() == comparisons(template.store(), levels=2).counts()
    assert again.counts().strengths.sum(axis=0).tolist() == [[2, 0], [1, 0]]


@pytest.mark.parametrize("number", ["5", True, None, 3, -2])
def test_a_number_of_grades_that_means_nothing_grades_nothing(out, tmp_path, number):
    """The column is then one of those that play no part, unless it is named."""
    for name in ("comparisons.csv", "comparisons.about.json"):
        shutil.copy2(out / name, tmp_path)
    facts = {"ties_offered": True, "grades": number}
    (tmp_path / "comparisons.about.json").write_text(json.dumps(facts), encoding="utf-8")
    assert read_comparisons(tmp_path / "comparisons.csv").counts().strengths is None


def test_an_export_of_plain_answers_has_no_grades(study, tmp_path):
    plain = edited(study, {"grades = 5": "grades = 0"})
    export(plain, plain.store(), tmp_path / "plain")
    head = (tmp_path / "plain" / "comparisons.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == ",".join(COLUMNS)
    assert read_comparisons(tmp_path / "plain" / "comparisons.csv").counts().strengths is None


def test_what_is_exported_can_be_imported(template, out, tmp_path):
    made = create_study(tmp_path / "o", items=out / "items.csv", question="Which is older?")
    other = edited(made, FIVE)
    store = other.store()
    assert import_file(other, store, out / "comparisons.csv") == len(ANSWERED)
    assert [row["grade"] for row in store.rows()] == [row[3] for row in ANSWERED]
    assert comparisons(store, levels=2).counts() == comparisons(template.store(), levels=2).counts()
    with pytest.raises(InputError, match="all in this study already"):
        import_file(other, store, out / "comparisons.csv")


@pytest.mark.parametrize(
    ("swap", "column", "words"),
    [
        ({"grades = 5": "grades = 0"}, "grade", "have 2 grades for either item, and those of this"),
        ({}, "strength", "has no column grade, and answers in this study are graded"),
    ],
)
def test_other_grades_than_those_of_a_study_are_not_imported(study, out, swap, column, words):
    text = (out / "comparisons.csv").read_text(encoding="utf-8")
    file = study.folder / "comparisons.csv"
    file.write_text(text.replace(",grade\n", f",{column}\n"), encoding="utf-8")
    about = (out / "comparisons.about.json").read_text(encoding="utf-8")
    (study.folder / "comparisons.about.json").write_text(about, encoding="utf-8")
    other = edited(study, swap)
    with pytest.raises(InputError, match=words):
        import_file(other, other.store(), file)


@pytest.mark.parametrize(
    ("swaps", "key"),
    [
        ({"grades = 5": "grades = 7"}, "answers.grades"),
        ({'left = ""  ': 'left_2 = "Far more"\n#', 'right = ""': 'right_2 = "Far more"'},
         "answers.left_2"),
    ],
    ids=["number", "words"],
)  # fmt: skip
def test_grades_and_their_words_stay_once_there_are_answers(study, swaps, key):
    assert check_study(study.folder) == []
    faults = check_study(edited(study, swaps).folder)
    assert [fault for fault in faults if fault.startswith(f"{key}: answers were given to")]
