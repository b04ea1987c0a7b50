"""Ids, headings and rows as programs and people write them: tidied, recognised, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.missing import hide
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.tables import read_matrix, read_names
from tiewise.data.text_columns import MISSING, plain_ids, tidied_ids
from tiewise.errors import InputError
from tiewise.geo.graph import Graph

DROP = "leave such rows out with drop_invalid=True"


@pytest.fixture(autouse=True, params=["arrow", pytest.param("no arrow", marks=pytest.mark.slow)])
def reader(request, monkeypatch):
    """Every test of this file is one of the reader without Arrow, too."""
    if request.param == "no arrow":
        hide(monkeypatch, "pyarrow")


@pytest.fixture
def study(tmp_path):
    """Writes a file of text, and says where."""

    def write(text: str, name: str = "study.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def complaint(source: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_comparisons(source, **options)
    return str(caught.value).replace(f"{source}", "FILE")


def wins(read: Comparisons) -> list[tuple[str, str]]:
    """Winner and loser of every row."""
    columns = (read.rows()[name] for name in ("first", "second", "outcome"))
    return [
        (one, two) if answer == "first" else (two, one)
        for one, two, answer in zip(*columns, strict=True)
    ]


# One id, however its number is written


@pytest.mark.parametrize(
    "text",
    [
        "winner,loser\n79.0,80\n80,79\n81,79.0\n",
        "winner,loser\n79.0,80.0\n80.0,79.0\n81.0,79.0\n",
        "winner,loser\n79,80\n80.00,79\n81,79\n",
    ],
    ids=["one column", "everywhere", "two noughts"],
)
def test_numbers_with_a_point_and_nought_are_the_numbers(study, text):
    read = read_comparisons(study(text))
    assert read.items == ("79", "80", "81")
    assert wins(read) == [("79", "80"), ("80", "79"), ("81", "79")]


def test_a_workbook_and_a_frame_of_texts_are_tidied_like_a_file(tmp_path):
    frame = pd.DataFrame({"winner": ["79.0", "80"], "loser": ["80", "79"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    for source in (tmp_path / "a.xlsx", frame, pl.LazyFrame(frame.to_dict("list"))):
        assert read_comparisons(source).items == ("79", "80")


@pytest.mark.parametrize(
    ("ids", "items"),
    [
        (("007", "7"), ("007", "7")),
        (("007", "7.0"), ("007", "7.0")),
        (("1.5", "2.0"), ("1.5", "2.0")),
        (("v1.0", "1.0"), ("1.0", "v1.0")),
        (("1.0", "1,0"), ("1,0", "1.0")),
        (("-3.0", "3"), ("-3", "3")),
        (("0.0", "1"), ("0", "1")),
    ],
)
def test_ids_that_are_not_all_whole_numbers_stay_as_they_are(study, ids, items):
    read = read_comparisons(study(f'winner,loser\n"{ids[0]}","{ids[1]}"\n'))
    assert read.items == items


def test_one_item_that_is_no_number_keeps_all_of_them(study):
    assert read_comparisons(study("winner,loser\n79.0,80\nA,79\n")).items == (
        "79",
        "79.0",
        "80",
        "A",
    )


def test_a_number_against_itself_is_an_item_with_itself(study):
    message = complaint(study("winner,loser\n79,80\n79.0,79\n"))
    assert message.startswith("FILE, line 3: item '79.0' is compared with itself")


def test_judges_are_numbers_for_themselves(study):
    """Judges are tidied apart from items: that items are words says nothing of them."""
    read = read_comparisons(study("judge,winner,loser\n7.0,a,b\n7,b,a\n,a,b\nNA,b,a\n"))
    assert read.judges == {"7"}
    assert list(read.rows()["judge"].isna()) == [False, False, True, True]
    with pytest.raises(InputError, match=r"judge is empty in 2 row\(s\)"):
        read.counts(by="judge")


numbers = st.integers(-50, 50).map(str)
spelt = st.tuples(numbers, st.sampled_from(["", ".0", ".000"])).map("".join)


@settings(deadline=None)
@given(st.lists(spelt, min_size=1))
def test_whole_numbers_are_one_id_if_and_only_if_they_are_equal(ids):
    plain = plain_ids(ids)
    for one in ids:
        assert float(plain[one]) == float(one)
        assert all((plain[one] == plain[two]) == (float(one) == float(two)) for two in ids)


@settings(deadline=None)
@given(st.lists(st.text(max_size=5), min_size=1), st.sampled_from(["007", "A", "1.5", "1e3"]))
def test_beside_an_id_that_is_no_number_nothing_is_changed(ids, other):
    assert tidied_ids([*ids, other]) == (*ids, other)


def test_tables_beside_the_judgements_have_the_same_ids(study):
    assert read_names(study("item,name\n79.0,Ash\n80,Oak\n"))["79"] == "Ash"
    assert Graph.from_edges(study("a,b\n79.0,80\n80,81.0\n")).items == ("79", "80", "81")
    matrix = study("79.0,80\n1,0\n0,1\n")
    assert read_matrix(matrix)[1] == ("79", "80")


@pytest.mark.parametrize("ids", [False, True])
def test_a_matrix_is_read_alike_as_numbers_and_as_texts(tmp_path, ids):
    """Blanks before a number, as people align them, make Arrow read texts."""
    lines = [["1", "0.1", "-2e-3"], ["0.1", "4.0", "7"], ["-2e-3", "7", "123456.789"]]
    rows = [[*(["abc"[k]] if ids else []), *line] for k, line in enumerate(lines)]
    heading = ",".join([*(["item"] if ids else []), *"abc"])
    for name, mark in (("numbers", ""), ("texts", " ")):
        text = "\n".join([heading, *(f",{mark}".join(row) for row in rows)])
        (tmp_path / f"{name}.csv").write_text(text + "\n")
    for name in ("numbers", "texts"):
        matrix, items = read_matrix(tmp_path / f"{name}.csv")
        assert items == ("a", "b", "c")
        assert (matrix == np.array(lines, float)).all()


# What is no id


@pytest.mark.parametrize("word", sorted(MISSING - {""}))
def test_a_word_for_nothing_is_no_id(study, word):
    spelling = word.upper()
    assert complaint(study(f"winner,loser\na,b\n{spelling},b\n")) == (
        f"FILE, line 3: winner {spelling!r} is no id, but means that nothing is there; fill it in, "
        f"give the item another id if it has this one, or {DROP}"
    )


def test_a_frame_is_asked_the_same(tmp_path):
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "NA"]})
    assert complaint(frame).startswith("data frame, row 2: loser 'NA' is no id")
    assert read_comparisons(frame, any_id=True).items == ("NA", "a", "b")


def test_columns_of_our_own_may_hold_any_id():
    """A study of countries has Namibia; what the program itself has counted is not asked about."""
    made = Comparisons.from_columns(first=["NA", "ZA"], second=["ZA", "BW"], outcome=["first"] * 2)
    assert made.items == ("BW", "NA", "ZA")


# Headings


@pytest.mark.parametrize(
    ("head", "judges"),
    [
        ("judgeId,chosen,notChosen", {"j"}),
        ("JudgeID,Chosen,Not Chosen", {"j"}),
        ("assessorId,chosenItemId,notChosenItemId", {"j"}),
        ("raterID,candidateChosen,candidateNotChosen", {"j"}),
        ("voter,winnerId,loserId", {"j"}),
        ("judge,Winner ID,Loser ID", {"j"}),
        ("session,chosen,rejected", None),
    ],
)
def test_headings_in_camel_case_are_known(study, head, judges):
    read = read_comparisons(study(f"{head}\nj,a,b\nj,c,a\n"))
    assert wins(read) == [("a", "b"), ("c", "a")]
    assert read.judges == judges
    assert not read.layout.sides


@pytest.mark.parametrize(
    "head",
    [
        "choice_id1,choice_id2,winner_id",
        "choiceId1,choiceId2,winnerId",
        "item1,item2,winner",
        "Item 1 ID,Item 2 ID,Chosen ID",
        "option_a,option_b,chosen",
        "left,right,winner",
        "leftItemId,rightItemId,chosenItemId",
        "first,second,preferred",
        "candidateA,candidateB,winner",
    ],
)
def test_two_items_and_the_id_of_the_winner_are_known(study, head):
    read = read_comparisons(study(f"{head}\na,b,a\na,c,c\n"))
    assert wins(read) == [("a", "b"), ("c", "a")]
    assert read.layout.name == "pair and winner"
    assert read.counts(ordered=True).first.tolist() == [0, 0]


def test_a_flag_for_ties_goes_with_two_items_and_a_winner(study):
    read = read_comparisons(study("item1,item2,winner,isTie\na,b,a,0\na,b,,1\n"))
    assert (read.ties, len(read)) == (1, 2)


def test_a_winner_that_names_a_side_is_not_guessed(study):
    message = complaint(study("left,right,winner\na,b,left\n"))
    assert message.startswith("FILE, line 2: winner 'left' is neither 'a' nor 'b'")


@pytest.mark.parametrize(
    ("head", "row", "format_"),
    [
        ("item_1,item_2,winner,loser", "a,b,b,a", "pair and winner"),
        ("left,right,chosen,not_chosen", "a,b,b,a", "pair and winner"),
        ("item_1,item_2,wins_1,wins_2,winner", "a,b,0,1,b", "counts"),
        ("first,second,outcome,winner", "a,b,second,b", "tiewise rows"),
        ("item_1_id,item_2_id,selected_item_id,state,winner", "a,b,b,selected,b",
         "comparison interface"),
    ],
)  # fmt: skip
def test_of_two_formats_the_one_that_says_more_is_read(study, head, row, format_):
    read = read_comparisons(study(f"{head}\n{row}\n"))
    assert read.layout.name == format_
    assert (read.counts().wins_first.tolist(), read.counts().wins_second.tolist()) == ([0], [1])


def test_names_beside_ids_do_not_confuse(study):
    path = study("winner,winner_id,loser,loser_id\nAnn,1,Bob,2\n")
    assert read_comparisons(path).items == ("Ann", "Bob")


def test_tables_of_names_may_be_in_camel_case_too(study):
    assert read_names(study("itemId,Name\n1,Ash\n")) == {"1": "Ash"}


# Rows that are no pair


PAIRS = "judge,winner,loser\n1,a,b\n2,a,a\n1,b,c\n1,NA,c\n3,,\n1,c,c\n"


def test_rows_that_are_no_pair_can_be_left_out_and_are_counted(study):
    read = read_comparisons(study(PAIRS), drop_invalid=True)
    assert read.left_out == {"an item missing": 2, "an item with itself": 2}
    assert (
        read.left_out_note
        == "4 rows were left out: an item missing in 2, an item with itself in 2."
    )
    assert (len(read), read.items) == (2, ("a", "b", "c"))
    assert wins(read) == [("a", "b"), ("b", "c")]
    assert repr(read).endswith("0 ties, 0 skips, 4 rows left out)")


def test_who_is_in_no_pair_is_not_there(study):
    """A judge and a stratum that only rows left out have are not counted."""
    read = read_comparisons(study(PAIRS), drop_invalid=True)
    assert read.judges == {"1"}
    assert read.counts(by="judge").strata == ("1",)
    assert read.combinations("judge", "winner") == [("1", "a"), ("1", "b")]
    assert read.row_strata("judge") == ["1", "1"]
    assert read.counts() == read.counts(by="judge").pooled()


@pytest.mark.parametrize("kind", ["frame", "lazy"])
def test_rows_are_left_out_of_frames_alike(kind):
    columns = {"winner": ["a", "b", "b"], "loser": ["b", "b", "c"], "sex": ["f", "m", "f"]}
    frame = pd.DataFrame(columns) if kind == "frame" else pl.LazyFrame(columns)
    read = read_comparisons(frame, drop_invalid=True)
    assert read.left_out == {"an item with itself": 1}
    assert read.counts(by="sex").strata == ("f",)


def test_counted_rows_are_left_out_by_the_row(study):
    text = "item_1,item_2,wins_1,wins_2,ties\na,b,5,2,1\nb,b,9,9,9\n"
    read = read_comparisons(study(text), drop_invalid=True)
    assert (len(read), read.left_out) == (8, {"an item with itself": 1})


def test_what_is_written_without_them_is_read_back(study, tmp_path):
    read = read_comparisons(study(PAIRS), drop_invalid=True)
    read.to_csv(tmp_path / "out.csv")
    again = read_comparisons(tmp_path / "out.csv")
    assert again.counts() == read.counts()
    assert again.left_out == {}


def test_other_faults_are_not_left_out(study):
    text = "item_1_id,item_2_id,selected_item_id,state\na,a,,maybe\na,b,c,selected\n"
    message = complaint(study(text), drop_invalid=True)
    assert message.startswith("FILE, line 3: selected_item_id 'c' is neither 'a' nor 'b'")


def test_a_file_without_a_single_pair_is_refused(study):
    assert complaint(study("winner,loser\na,a\nb,NA\n"), drop_invalid=True) == (
        "FILE: none of its 2 rows is a pair of two items (an item missing in 1, an item with "
        "itself in 1); check which columns hold them"
    )


def test_a_file_of_pairs_is_read_the_same_with_or_without(study):
    path = study("winner,loser\na,b\nb,c\n")
    with_, without = read_comparisons(path, drop_invalid=True), read_comparisons(path)
    assert with_.left_out == without.left_out == {}
    assert with_.left_out_note == ""
    assert with_.counts() == without.counts()


cells = st.sampled_from(["a", "b", "c", "NA", ""])


@settings(deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12))
def test_every_row_is_a_judgement_or_left_out(rows):
    """Whatever the rows: kept and left out make all of them, and the kept are the pairs."""
    frame = pd.DataFrame(rows, columns=["winner", "loser"])
    pairs = [row for row in rows if row[0] != row[1] and not {"NA", ""} & {*row}]
    if not pairs:
        with pytest.raises(InputError, match="is a pair of two items"):
            read_comparisons(frame, drop_invalid=True)
        return
    read = read_comparisons(frame, drop_invalid=True)
    assert wins(read) == pairs
    assert sum(read.left_out.values()) == len(rows) - len(pairs)
