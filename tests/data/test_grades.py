"""Graded answers in tables: strengths beside a chosen item, and grades that say it all."""

from __future__ import annotations

import pandas as pd
import pytest

from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.model.build import build_model

WORDS = ("much more", "more", "equal", "less", "much less")


def table(**columns: list) -> pd.DataFrame:
    pairs = {"item_1": ["a", "a", "b", "c", "b"], "item_2": ["b", "c", "c", "a", "a"]}
    return pd.DataFrame(pairs | columns)


def test_numbers_favour_the_first():
    read = read_comparisons(table(grade=["2", "-1", "0", "+1", ""]), grade="grade")
    assert (read.levels, read.ties, read.skips) == (2, 1, 1)
    counts = read.counts()
    assert counts.items == ("a", "b", "c")
    # a over b strongly; a and c: c over a weakly, twice.
    assert counts.strengths.tolist() == [[[0, 1], [0, 0]], [[0, 0], [2, 0]], [[0, 0], [0, 0]]]


def test_words_are_in_the_order_from_first_to_second():
    grades = ["Much more", "less", "equal", "more", "NA"]
    read = read_comparisons(table(answer=grades), grade="answer", grades=WORDS)
    numbers = read_comparisons(table(grade=[2, -1, 0, 1, None]), grade="grade")
    assert read.counts() == numbers.counts()
    assert read.ties_offered


def test_an_even_number_of_words_offers_no_tie():
    words = ("clearly left", "left", "right", "clearly right")
    answers = ["left", "right", "left", "clearly left", "left"]
    read = read_comparisons(table(answer=answers), grade="answer", grades=words)
    assert (read.levels, read.ties, read.ties_offered) == (2, 0, False)
    model = build_model(read)
    assert model.tie is None
    assert len(model.steps) == 1


def test_a_grade_that_nobody_gave_is_still_one():
    read = read_comparisons(table(answer=["more"] * 5), grade="answer", grades=WORDS)
    assert read.counts().levels == 2


def test_a_strength_beside_the_chosen_item():
    chosen = table(winner=["a", "c", "", "c", "b"], tie=[0, 0, 1, 0, 0], how=[2, 1, 0, 1, 3])
    read = read_comparisons(chosen, grade="how")
    assert read.levels == 3
    counts = read.counts()
    assert counts.strengths.tolist() == [
        [[0, 1, 0], [0, 0, 1]], [[0, 0, 0], [2, 0, 0]], [[0, 0, 0], [0, 0, 0]],
    ]  # fmt: skip
    assert counts.total_ties == 1


def test_grades_are_written_and_read_back(tmp_path):
    read = read_comparisons(table(grade=[2, -1, 0, 1, None], note=list("vwxyz")), grade="grade")
    read.to_csv(tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv")
    assert written["grade"].tolist() == [2, 1, 0, 1, 0]
    assert written["state"].tolist() == ["selected", "selected", "tied", "selected", "skipped"]
    assert written["note"].tolist() == list("vwxyz")
    again = read_comparisons(tmp_path / "out.csv", grade="grade")
    assert again.counts() == read.counts()
    without = read_comparisons(tmp_path / "out.csv")
    assert without.counts() == read.counts().ungraded()


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"g": [4, 1, 1, 1, 1]}, {"grade": "g"}, "g '4' is not a whole number from -3 to 3"),
        (
            {"g": ["{more}", "more", "more", "more", "more"]},
            {"grade": "g", "grades": WORDS},
            "g '{more}' is not one of much more, more, equal, less, much less",
        ),
        ({"g": ["more"] * 5}, {"grades": WORDS}, "name it with grade="),
        ({"g": ["more"] * 5}, {"grade": "g", "grades": ("more", "More")}, "1 of them different"),
        ({"g": ["more"] * 5}, {"grade": "g", "grades": tuple("abcdefgh")}, "8 words of grades"),
        (
            {"winner": ["a", "c", "b", "c", "b"], "g": [0, 1, 1, 1, 1]},
            {"grade": "g"},
            "g '0' does not say how strongly the item was chosen",
        ),
        (
            {"winner": ["a", "c", "", "c", "b"], "tie": [0, 0, 1, 0, 0], "g": [1] * 5},
            {"grade": "g"},
            "g is '1', but no item was chosen",
        ),
        ({"g": [1] * 5}, {"grade": "missing"}, "no column 'missing'"),
        ({"wins_1": [1] * 5, "wins_2": [1] * 5, "g": [1] * 5}, {"grade": "g"}, "one a row"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(columns, options, message):
    with pytest.raises(InputError) as error:
        read_comparisons(table(**columns), **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
