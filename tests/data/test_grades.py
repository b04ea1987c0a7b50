"""Graded answers in tables: strengths beside a chosen item, and grades that say it all."""

from __future__ import annotations

import pandas as pd
import pytest

from tiewise.data.about_table import write_about
from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.model.build import build_model
from tiewise.model.term_options import TermOptions, join_waves

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


def test_numbers_may_be_written_as_spreadsheets_do():
    """With a gap among them, whole numbers become 2.0, beside a chosen item, too."""
    plain, dotted = (
        read_comparisons(table(grade=grades), grade="grade").counts()
        for grades in (["2", "-1", "0", "1", ""], ["2.0", "-1.0", "0.0", "+1.0", ""])
    )
    assert plain == dotted
    chosen = {"winner": ["a", "c", "", "c", "b"], "tie": [0, 0, 1, 0, 0]}
    strengths = (["2", "1", "", "1", "3"], ["2.0", "1.0", "0.0", "1.0", "3.0"])
    one, two = (
        read_comparisons(table(**chosen, how=own), grade="how").counts() for own in strengths
    )
    assert one == two


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


def test_words_are_the_answer_beside_a_column_of_chosen_items():
    """They say which item, and how strongly; numbers beside a chosen item say how strongly."""
    words = ["much more", "less", "equal", "more", "much less"]
    alone = table(g=words)
    beside = table(g=words, winner=["a", "c", "", "c", "b"], tie=[0, 0, 1, 0, 0])
    one, two = (read_comparisons(each, grade="g", grades=WORDS) for each in (alone, beside))
    assert one.counts().digest() == two.counts().digest()


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


def test_a_second_wave_keeps_its_grades(tmp_path):
    """Both files are read by the same column; together they have the strengths of both."""
    grades = ([1, -1, 0, 1, None], [2, -2, 0, 1, 1])
    for name, own in zip(("one", "two"), grades, strict=True):
        table(answer=own).to_csv(tmp_path / f"{name}.csv", index=False)
    first, second = (
        read_comparisons(tmp_path / f"{name}.csv", grade="answer") for name in ("one", "two")
    )
    options = TermOptions(waves=tmp_path / "two.csv")
    joined, _ = join_waves(first, options, {"grade": "answer"})
    assert joined.levels == 2
    counts, both = joined.counts(by="wave"), second.counts()
    assert counts.within(["two"]).pooled().digest() == both.digest()
    assert counts.strengths.sum(axis=(0, 1)).tolist() == [5, 2]


@pytest.mark.parametrize(
    ("about", "grades", "words"),
    [
        ((5, 7), ([2, -2, 0, 1, 1], [2, -2, 0, 1, 1]), "have 2 and 3 strengths of a choice"),
        ((5, None), ([2, -2, 0, 1, 1], [3, -1, 0, 1, 1]), "have 2 and 3 strengths of a choice"),
        ((5, 4), ([2, -2, 0, 1, 1], [2, -2, 1, 1, 1]), "only in one of them could judges call"),
        ((None, 4), ([2, -2, 0, 1, 1], [2, -2, 1, 1, 1]), "only in one of them could judges call"),
        ((5, 5), ([2, -2, 0, 1, 1], [1, -1, 0, 1, 1]), None),
        ((5, None), ([2, -2, 0, 1, 1], [1, -1, 1, 1, 1]), None),
    ],
)
def test_waves_are_joined_only_where_judges_had_the_same_answers(tmp_path, about, grades, words):
    """As far as files beside the tables say, and the answers: two of five is not two of seven."""
    for name, own, number in zip(("one", "two"), grades, about, strict=True):
        table(answer=own).to_csv(tmp_path / f"{name}.csv", index=False)
        if number:
            write_about(tmp_path / f"{name}.csv", ties_offered=bool(number % 2), grades=number)
    first = read_comparisons(tmp_path / "one.csv", grade="answer")
    options = TermOptions(waves=tmp_path / "two.csv")
    if words is None:
        assert join_waves(first, options, {"grade": "answer"})[0].levels == 2
        return
    with pytest.raises(InputError, match=f"{words}.*the later one with link="):
        join_waves(first, options, {"grade": "answer"})


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            {"g": [4, 1, 1, 1, 1]},
            {"grade": "g"},
            "g '4' is not a whole number from -3 to 3 (for words, give grades=)",
        ),
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
