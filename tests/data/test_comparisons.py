"""Every kind of file is read, every impossible row is named, and nothing is dropped."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiewise.data import frames as frame_module
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.counts import Counts
from tiewise.data.text_columns import as_text, is_missing
from tiewise.errors import InputError

STUDIES = Path(__file__).parents[3] / "shared" / "data"
real = pytest.mark.skipif(not STUDIES.exists(), reason="real studies not beside this checkout")

# Ann is chosen over Bob, Bob and Cy are about equal, and Cy is chosen over Ann.
STORY = {("Ann", "Bob"): (1, 0, 0), ("Ann", "Cy"): (0, 1, 0), ("Bob", "Cy"): (0, 0, 1)}

INTERFACE = """comparison_id,user_id,item_1_id,item_2_id,selected_item_id,state
1,7,Ann,Bob,Ann,selected
2,7,Bob,Cy,,tied
3,8,Ann,Cy,Cy,selected
4,8,Ann,Bob,,skipped
"""
TELLINGS = {
    "interface": INTERFACE,
    "interface, participants": INTERFACE.replace("user_id", "participant_id"),
    "interface, None": INTERFACE.replace(",,", ",None,"),
    "interface, NA": INTERFACE.replace(",,", ",NA,"),
    "interface, bare": (
        "item_1_id,item_2_id,selected_item_id,state\n"
        "Ann,Bob,Ann,selected\nBob,Cy,,tied\nAnn,Cy,Cy,selected\n"
    ),
    "winner": "winner,loser,tie\nAnn,Bob,0\nBob,Cy,1\nCy,Ann,\n",
    "winner, words": "Winner,Loser,Tie\nAnn,Bob,no\nBob,Cy,YES\nCy,Ann,False\n",
    "win": "user,time,win,lost,tie\n1,10,Ann,Bob,false\n1,11,Cy,Bob,true\n2,12,Cy,Ann,false\n",
    "arena": "model_a,model_b,winner\nAnn,Bob,model_a\nBob,Cy,tie\nAnn,Cy,model_b\n",
    "arena, bad": "model_a,model_b,winner\nBob,Ann,model_b\nBob,Cy,tie (bothbad)\nCy,Ann,model_a\n",
    "counts": "item_1,item_2,wins_1,wins_2,ties\nAnn,Bob,1,0,0\nCy,Bob,0,0,1\nCy,Ann,1,0,0\n",
    "ours": "judge,first,second,outcome\n1,Bob,Ann,second\n1,Bob,Cy,tie\n2,Cy,Ann,first\n",
}


def table(counts: Counts) -> dict[tuple[str, str], tuple[int, int, int]]:
    columns = (counts.first, counts.second, counts.wins_first, counts.wins_second, counts.ties)
    return {
        (counts.items[i], counts.items[j]): (int(w), int(v), int(t))
        for i, j, w, v, t in zip(*columns, strict=True)
    }


@pytest.fixture
def study(tmp_path):
    """Writes a file of text or bytes, and says where."""

    def write(text: str | bytes, name: str = "study.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def complaint(source: object, **options: str) -> str:
    """The one line that reading this gives, without the folder."""
    with pytest.raises(InputError) as caught:
        read_comparisons(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{source}", "FILE") if isinstance(source, Path) else message


# What is read


@pytest.mark.parametrize("text", TELLINGS.values(), ids=TELLINGS.keys())
def test_every_format_tells_the_same_story(study, text):
    assert table(read_comparisons(study(text)).counts()) == STORY


def test_comparative_judgement_files_are_known_by_any_spelling_of_their_columns(study):
    for names in (
        "judge,candidate_chosen,candidate_not_chosen",
        "Judge,Candidate.Chosen,Candidate.Not.Chosen",
        "JUDGE,Candidate Chosen,candidate not_chosen",
    ):
        text = f',{names},minutes\n"1",J1,Ann,Bob,3\n"2",J2,Cy,Ann,4\n'
        read = read_comparisons(study(text))
        assert table(read.counts()) == {("Ann", "Bob"): (1, 0, 0), ("Ann", "Cy"): (0, 1, 0)}
        assert read.judges == {"J1", "J2"}
        assert list(read.rows().columns) == ["judge", "first", "second", "outcome", "minutes"]


def test_columns_named_by_the_user_are_followed(study):
    path = study("left,right,pick,equal,who\nAnn,Bob,Ann,0,7\nBob,Cy,,1,7\nAnn,Cy,Cy,,8\n")
    named = {"first": "left", "second": "right", "chosen": "pick", "tie": "equal", "judge": "who"}
    read = read_comparisons(path, **named)
    assert table(read.counts()) == STORY
    assert read.judges == {"7", "8"}


def test_a_better_and_a_worse_column_need_no_third(study):
    path = study("better,worse\nAnn,Bob\nCy,Ann\n")
    read = read_comparisons(path, first="better", second="worse", chosen="better")
    assert table(read.counts()) == {("Ann", "Bob"): (1, 0, 0), ("Ann", "Cy"): (0, 1, 0)}


def test_skips_are_counted_and_kept(study):
    read = read_comparisons(study(INTERFACE))
    assert (len(read), read.ties, read.skips) == (4, 1, 1)
    assert (read.counts().comparisons, read.counts().skips) == (3, 1)
    assert list(read.rows()["outcome"]) == ["first", "tie", "second", "skip"]


def test_an_item_seen_only_in_a_skipped_pair_is_an_item():
    read = Comparisons.from_columns(first=["a", "c"], second=["b", "d"], outcome=["first", "skip"])
    assert read.items == read.counts().items == ("a", "b", "c", "d")


def test_counts_that_are_large_are_not_written_out():
    frame = pd.DataFrame(
        {"item_1": ["x"], "item_2": ["y"], "wins_1": [3_000_000_000], "wins_2": [2], "ties": [1]}
    )
    read = read_comparisons(frame)
    assert table(read.counts()) == {("x", "y"): (3_000_000_000, 2, 1)}
    assert len(read) == 3_000_000_003
    assert list(read.rows()["times"]) == [3_000_000_000, 2, 1]
    assert read_comparisons(read.rows()).counts() == read.counts()


def test_counts_may_leave_ties_out(study):
    read = read_comparisons(study("item_1,item_2,wins_1,wins_2\nx,y,4,2\nx,y,1,0.0\n"))
    assert table(read.counts()) == {("x", "y"): (5, 2, 0)}


def test_ids_stay_as_they_are_written(study):
    path = study(
        "item_1_id,item_2_id,selected_item_id,state\n"
        "007,7,007,selected\n7,007,NA,tied\n1.0,1,1.0,selected\n"
    )
    read = read_comparisons(path)
    assert read.items == ("007", "1", "1.0", "7")
    assert list(read.rows()["outcome"]) == ["first", "tie", "first"]


def test_a_chosen_number_may_have_a_point_and_nought(study):
    path = study("item_1_id,item_2_id,selected_item_id,state\n9,26,26.0,selected\n9,26,,tied\n")
    assert table(read_comparisons(path).counts()) == {("9", "26"): (0, 1, 1)}


def test_numbers_and_their_texts_are_one_item():
    frame = pd.DataFrame(
        {
            "item_1_id": [9, " 9", 9.0, "9"],
            "item_2_id": ["26", 26, 26.0, "26 "],
            "selected_item_id": [26.0, None, np.nan, "9"],
            "state": ["selected", "tied", "skipped", "Selected"],
        }
    )
    read = read_comparisons(frame)
    assert table(read.counts()) == {("9", "26"): (1, 1, 1)}
    assert read.skips == 1


def test_texts_of_values():
    values = [9, 9.0, " 9 ", np.float32(9), 1.5, None, float("nan"), pd.NA, True, float("inf")]
    texts = ["9", "9", "9", "9", "1.5", "", "", "", "True", "inf"]
    assert [as_text(value) for value in values] == texts


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize(
    ("delimiter", "name"), [(",", "a.csv"), (";", "a.csv"), ("\t", "a.tsv"), ("\t", "a.CSV")]
)
def test_delimiters_and_byte_order_marks_make_no_difference(study, start, delimiter, name):
    text = start + INTERFACE.replace(",", delimiter).replace("\n", "\r\n")
    assert table(read_comparisons(study(text, name)).counts()) == STORY


def test_names_may_hold_delimiters_quotes_and_lines(study):
    path = study('winner,loser,"why, if at all"\n"St. Mary, East","the ""Hill""","one\ntwo"\n')
    read = read_comparisons(path)
    assert read.items == ("St. Mary, East", 'the "Hill"')
    assert list(read.rows()["why, if at all"]) == ["one\ntwo"]


def test_workbooks_and_parquet_are_read(study, tmp_path):
    frame = pd.read_csv(study(INTERFACE))
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.xlsx", "a.parquet"):
        read = read_comparisons(tmp_path / name)
        assert (table(read.counts()), read.skips, read.judges) == (STORY, 1, {"7", "8"})


def test_a_workbook_keeps_texts_and_has_no_use_for_empty_rows(tmp_path):
    frame = pd.DataFrame({"winner": ["007", None, 8], "loser": [8, None, "007"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    rows = read_comparisons(tmp_path / "a.xlsx").rows()
    assert rows[["first", "second"]].to_numpy().tolist() == [["007", "8"], ["8", "007"]]


def test_categories_in_many_pieces_are_counted():
    pieces = [
        pa.table(pd.DataFrame({"winner": [w], "loser": [v]}).astype("category"))
        for w, v in [("Ann", "Bob"), ("Cy", "Ann")]
    ]
    read = read_comparisons(pa.concat_tables(pieces))
    assert table(read.counts()) == {("Ann", "Bob"): (1, 0, 0), ("Ann", "Cy"): (0, 1, 0)}


def frames(columns: dict[str, list[object]]) -> dict[str, object]:
    import dask.dataframe as dd  # here, so that not every process of the tests loads it

    here = pd.DataFrame(columns)
    return {
        "pandas": here,
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "polars lazy": pl.LazyFrame(columns),
        "duckdb": duckdb.from_arrow(pa.table(columns)),
        "dask": dd.from_pandas(here, npartitions=2),
    }


LIBRARIES = ["polars", "pyarrow", "polars lazy", "duckdb", "dask"]
VOTES: dict[str, list[object]] = {
    "participant_id": [1, 1, None, 2, 2, 10, 10],
    "item_1_id": [5, 40, 5, 40, 7, 5, 5],
    "item_2_id": [40, 5, 7, 7, 40, 40, 40],
    "selected_item_id": [40, 40, None, 7, None, None, 5],
    "state": ["selected", "selected", "tied", "selected", "skipped", "tied", "selected"],
    "sex": ["f", "f", "m", "m", "m", "f", "f"],
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_counts_alike(library):
    there, here = read_comparisons(frames(VOTES)[library]), read_comparisons(pd.DataFrame(VOTES))
    assert there.judges == here.judges == {"1", "2", "10"}
    for options in ({}, {"by": "sex"}, {"ordered": True}, {"by": "sex", "ordered": True}):
        assert there.counts(**options) == here.counts(**options)
    assert table(there.counts()) == {
        ("5", "7"): (0, 0, 1), ("5", "40"): (1, 2, 1), ("7", "40"): (1, 0, 0)
    }  # fmt: skip


@pytest.mark.parametrize("library", ["polars lazy", "duckdb", "dask"])
def test_a_lazy_frame_is_not_brought_in(library):
    """All that a lazy frame is asked for is groups and how many there are of each."""
    rows = {"winner": ["Ann"] * 500 + ["Cy"] * 500, "loser": ["Bob"] * 1000}
    read = read_comparisons(frames(rows)[library])
    assert table(read.counts()) == {("Ann", "Bob"): (500, 0, 0), ("Bob", "Cy"): (0, 500, 0)}
    assert len(read.tally.first) == 2


def test_rows_are_the_same_from_every_library():
    votes = {key: VOTES[key] for key in VOTES if key != "sex"}
    expected = read_comparisons(pd.DataFrame(votes)).rows()
    for frame in frames(votes).values():
        pd.testing.assert_frame_equal(read_comparisons(frame).rows(), expected)


PAGE = Path(__file__).parents[2] / "docs" / "data.md"
EXAMPLES = re.findall(r"```csv\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_of_the_page_about_data_is_read(study, text):
    named = {"first": "left", "second": "right", "chosen": "pick", "tie": "equal"}
    read = read_comparisons(study(text), **(named if text.startswith("left") else {}))
    counts = read.counts()
    assert table(counts)["Ann", "Bob"][0] > table(counts)["Ann", "Bob"][1]


# What is made of it


def test_strata_are_the_values_of_a_column_in_natural_order():
    votes = {key: [v for k, v in enumerate(VOTES[key]) if k != 2] for key in VOTES}
    counts = read_comparisons(pd.DataFrame(votes)).counts(by="judge")
    assert counts.strata == ("1", "2", "10")
    assert [int((counts.stratum == k).sum()) for k in range(3)] == [1, 1, 1]
    assert counts.pooled() == read_comparisons(pd.DataFrame(votes)).counts()


def test_counts_by_a_column_with_gaps_are_refused():
    with pytest.raises(InputError, match=r"^data frame: judge is empty in 1 row\(s\); fill it in"):
        read_comparisons(pd.DataFrame(VOTES)).counts(by="judge")


def test_counts_by_a_column_that_is_not_there_are_refused(study):
    read = read_comparisons(study("winner,loser\nAnn,Bob\n"))
    with pytest.raises(InputError, match=r"no column 'judge'; there are winner, loser$"):
        read.counts(by="judge")


def test_winners_first_says_nothing_of_the_order_shown(study):
    with pytest.raises(InputError, match="do not say which item was shown first"):
        read_comparisons(study("winner,loser\nAnn,Bob\n")).counts(ordered=True)


def test_order_shown_is_kept_when_asked(study):
    read = read_comparisons(study("first,second,outcome\nb,a,first\na,b,first\na,b,tie\n"))
    assert table(read.counts(ordered=True)) == {("a", "b"): (1, 0, 1), ("b", "a"): (1, 0, 0)}
    assert table(read.counts()) == {("a", "b"): (1, 1, 1)}


def test_nobody_named_means_no_judges(study):
    assert (
        read_comparisons(study(INTERFACE.replace(",7,", ",,").replace(",8,", ",,"))).judges is None
    )
    assert read_comparisons(study("winner,loser\nAnn,Bob\n")).judges is None


def test_other_columns_called_like_ours_step_aside(study):
    rows = read_comparisons(study("winner,loser,outcome,Judge ID\nAnn,Bob,6-1,3\n")).rows()
    assert list(rows.columns) == ["judge", "first", "second", "outcome", "outcome_in_file"]
    assert list(rows.loc[0]) == ["3", "Ann", "Bob", "first", "6-1"]


def test_our_export_has_the_columns_of_the_interface(study, tmp_path):
    read_comparisons(study("winner,loser,judge,minutes\nBob,Ann,J,5\n")).to_csv(
        tmp_path / "out.csv"
    )
    assert (tmp_path / "out.csv").read_text() == (
        "comparison_id,user_id,item_1_id,item_2_id,selected_item_id,state,minutes\n"
        "1,J,Ann,Bob,Bob,selected,5\n"
    )


@pytest.mark.parametrize("text", TELLINGS.values(), ids=TELLINGS.keys())
def test_what_is_written_is_read_back(study, tmp_path, text):
    read = read_comparisons(study(text))
    read.to_csv(tmp_path / "out.csv")
    again = read_comparisons(tmp_path / "out.csv")
    assert again.counts() == read.counts()
    if read.layout.name == "comparison interface":
        pd.testing.assert_frame_equal(again.rows()[list(read.rows())], read.rows())


steady = settings(deadline=None)
labels = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
names = labels.map(str.strip).filter(lambda text: not is_missing(text))


@steady
@given(
    st.lists(st.tuples(names, names, names, st.sampled_from(["first", "second", "tie", "skip"])))
)
def test_whatever_the_names_are_they_are_read_back(tmp_path_factory, rows):
    rows = [("judge", "one", "two", "tie"), *(row for row in rows if row[1] != row[2])]
    judge, first, second, outcome = (list(column) for column in zip(*rows, strict=True))
    made = Comparisons.from_columns(first=first, second=second, outcome=outcome, judge=judge)
    path = tmp_path_factory.mktemp("out") / "out.csv"
    made.to_csv(path)
    again = read_comparisons(path)
    assert again.rows()[["judge", "first", "second", "outcome"]].to_numpy().tolist() == [
        list(row) for row in rows
    ]


def test_arrays_make_comparisons():
    made = Comparisons.from_columns(
        first=np.array([3, 1]), second=np.array([1, 2]), outcome=np.array(["tie", "second"]),
        judge=np.array(["x", "x"]), round=np.array([1, 2]),
    )  # fmt: skip
    assert table(made.counts(by="round")) == {("1", "2"): (0, 1, 0), ("1", "3"): (0, 0, 1)}
    assert made.counts(by="round").strata == ("1", "2")
    with pytest.raises(InputError, match=r"comparisons: columns of \[1, 2\] rows; make them"):
        Comparisons.from_columns(first=["a"], second=["b", "c"], outcome=["tie"])


# What cannot be


HEAD = "comparison_id,user_id,item_1_id,item_2_id,selected_item_id,state\n"
GOOD = "1,1,9,26,26,selected\n"
ONE = "FILE, line 3: "
DROP = "leave such rows out with drop_invalid=True"
NEEDED = f"is empty; a comparison needs two items: fill it in, or {DROP}"
NAMED = "say which hold the pair and the answer with first=, second=, chosen= and tie="
COUNT = "is not a whole number, 0 or more; correct the count"

WRONG_ROWS = {
    "self-pair": (
        HEAD + GOOD + "2,1,9,9,9,selected\n",
        ONE + f"item '9' is compared with itself; correct the row, or {DROP}",
    ),
    "chosen not in the pair": (
        HEAD + GOOD + "2,1,9,26,4,selected\n",
        ONE + "selected_item_id '4' is neither '9' nor '26'; "
        "leave it empty and write tied for a tie, or correct the row",
    ),
    "missing first": (HEAD + GOOD + "2,1,,26,26,selected\n", ONE + "item_1_id " + NEEDED),
    "missing second": (HEAD + GOOD + "2,1,9, ,9,selected\n", ONE + "item_2_id " + NEEDED),
    "unknown state": (
        HEAD + GOOD + "2,1,9,26,26,maybe\n",
        ONE + "state 'maybe' is not selected, tied or skipped; correct the row",
    ),
    "selected without an item": (
        HEAD + GOOD + "2,1,9,26,NA,selected\n",
        ONE + "state is selected but selected_item_id is empty; "
        "say which item was chosen, or write tied or skipped",
    ),
    "tied with an item": (
        HEAD + GOOD + "2,1,9,26,26,tied\n",
        ONE + "state is tied but selected_item_id is '26'; empty it, or write selected",
    ),
    "skipped with an item": (
        HEAD + GOOD + "2,1,9,26,26,skipped\n",
        ONE + "state is skipped but selected_item_id is '26'; empty it, or write selected",
    ),
    "a flag that is no flag": (
        "winner,loser,tie\na,b,1\na,b,perhaps\n",
        ONE + "tie 'perhaps' is neither yes nor no; write 1 for a tie, else 0",
    ),
    "a vote that is no vote": (
        "model_a,model_b,winner\na,b,tie\na,b,a\n",
        ONE + "winner 'a' is not model_a, model_b, tie or tie (bothbad); correct the row, or if it "
        "holds names of models, say first='model_a', second='model_b', chosen='winner'",
    ),
    "a negative count": (
        "item_1,item_2,wins_1,wins_2,ties\na,b,1,1,1\na,b,2,-1,0\n",
        ONE + "wins_2 '-1' " + COUNT,
    ),
    "half a win": (
        "item_1,item_2,wins_1,wins_2,ties\na,b,1,1,1\na,b,2.5,1,0\n",
        ONE + "wins_1 '2.5' " + COUNT,
    ),
    "no count": (
        "item_1,item_2,wins_1,wins_2,ties\na,b,1,1,1\na,b,2,1,\n",
        ONE + "ties '' " + COUNT,
    ),
    "an outcome that is none": (
        "first,second,outcome\na,b,tie\na,b,left\n",
        ONE + "outcome 'left' is not first, second, tie or skip; correct the row",
    ),
    "too few fields": (
        HEAD + GOOD + "2,1,9,26,26\n",
        ONE + "5 fields where the first line has 6; "
        "add or remove delimiters, or put quotes around text that contains one",
    ),
    "too many fields": (
        HEAD + GOOD + "2,1,9,26,26,selected,oops\n",
        ONE + "7 fields where the first line has 6; "
        "add or remove delimiters, or put quotes around text that contains one",
    ),
    "a quote without its fellow": (
        'winner,loser\na,b\n"c,d\ne,f\n',
        ONE + "1 fields where the first line has 2; "
        "add or remove delimiters, or put quotes around text that contains one",
    ),
    "Latin-1": (
        HEAD.encode() + GOOD.encode() + b"2,1,9,Malm\xf6,9,selected\n",
        ONE + "the text is not UTF-8; save the file as CSV UTF-8",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG_ROWS.values(), ids=WRONG_ROWS.keys())
def test_a_row_that_cannot_be_is_named_with_its_line(study, text, message):
    assert complaint(study(text)) == message


WRONG_FILES = {
    "no bytes": (b"", "FILE: the file is empty; save it again with its rows"),
    "no rows": (HEAD, "FILE: there are column names but no rows; save it with its rows"),
    "blank lines": ("\n\n\n", "FILE: there are no column names; write them in the first line"),
    "not text": (
        b"PK\x03\x04\x14\0\0\0\x08\0",
        "FILE: this is not a text file; save the table as CSV UTF-8",
    ),
    "UTF-16": (HEAD.encode("utf-16"), "FILE: the text is UTF-16; save it as CSV UTF-8"),
    "a Latin-1 heading": (
        b"winner,loser,Stra\xdfe\na,b,c\n",
        "FILE, line 1: the text is not UTF-8; save the file as CSV UTF-8",
    ),
    "a heading twice": (
        "winner,loser,winner\na,b,c\n",
        "FILE, line 1: two columns are called 'winner'; rename one of them",
    ),
    "one heading, two spellings": (
        "winner,Winner,loser\na,a,b\n",
        "FILE: columns 'winner' and 'Winner' could both be winner; rename one",
    ),
    "unknown columns": (
        "a,b,c\n1,2,1\n",
        f"FILE: no known format has the columns a, b, c; {NAMED}",
    ),
    "no state": (
        "item_1_id,item_2_id,selected_item_id\n1,2,1\n",
        "FILE: no known format has the columns item_1_id, item_2_id, selected_item_id; " + NAMED,
    ),
    "two formats": (
        "model_a,model_b,winner,loser\na,b,a,b\n",
        "FILE: the columns fit more than one format, winner and loser and arena votes; " + NAMED,
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG_FILES.values(), ids=WRONG_FILES.keys())
def test_a_file_that_cannot_be_is_refused(study, text, message):
    assert complaint(study(text)) == message


def test_what_is_not_a_readable_file_is_refused(study, tmp_path):
    assert (
        complaint(tmp_path / "no.csv") == "FILE: there is no such file; check its name and folder"
    )
    assert complaint(tmp_path) == "FILE: this is a folder; name a file in it"
    assert complaint(study(INTERFACE, "study.doc")) == (
        "FILE: the name does not say what kind of file this is; "
        "save it as .csv, .tsv, .xlsx or .parquet"
    )
    assert complaint(study(INTERFACE, "study.xlsx")) == (
        "FILE: this is not an Excel workbook; save it as .xlsx"
    )
    assert complaint(study(INTERFACE, "study.parquet")) == (
        "FILE: this is not a Parquet file; write it again"
    )
    assert complaint([1, 2]) == "comparisons cannot be read from list; give a path or a data frame"


def test_lines_are_counted_as_an_editor_counts_them(study, tmp_path):
    """Blank lines and lines within quotes are lines too."""
    text = 'winner,loser,why\n\na,b,"one\ntwo"\n\nc,c,x\n'
    assert complaint(study(text)).startswith("FILE, line 6: item 'c' is compared with itself")
    frame = pd.DataFrame({"winner": ["a", None, "c"], "loser": ["b", None, "c"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    assert complaint(tmp_path / "a.xlsx").startswith("FILE, line 4: item 'c'")


def test_the_first_bad_row_is_the_one_named(study):
    text = HEAD + GOOD * 3 + "2,1,9,26,26,maybe\n" + GOOD + "2,1,9,9,9,selected\n"
    assert complaint(study(text)).startswith("FILE, line 5: state 'maybe'")


def test_rows_of_frames_are_counted_from_one(tmp_path):
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "b"]}, index=[10, 20])
    assert complaint(frame).startswith("data frame, row 2: item 'b' is compared with itself")
    frame.to_parquet(tmp_path / "a.parquet")
    assert complaint(tmp_path / "a.parquet").startswith("FILE, row 2: item 'b'")
    assert complaint(frame, name="the club").startswith("the club, row 2: item 'b'")


@pytest.mark.parametrize("library", ["polars lazy", "duckdb", "dask"])
def test_a_bad_row_of_a_lazy_frame_is_named_by_its_values(library):
    rows = {"winner": ["a", "b", "a"], "loser": ["b", "b", "c"]}
    assert complaint(frames(rows)[library]) == (
        "data frame, a row with winner 'b', loser 'b': "
        f"item 'b' is compared with itself; correct the row, or {DROP}"
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_without_rows_is_refused(library):
    empty = pd.DataFrame({"winner": ["a"], "loser": ["b"]}).iloc[:0]
    frame = frames({"winner": ["a"], "loser": ["b"]})[library]
    none = {
        "pyarrow": lambda: frame.slice(0, 0),
        "duckdb": lambda: frame.filter("winner = 'z'"),
        "dask": lambda: frame[frame["winner"] == "z"],
    }.get(library, lambda: frame.filter(pl.col("winner") == "z"))()
    for source in (empty, none):
        message = "data frame: there are column names but no rows; save it with its rows"
        assert complaint(source) == message


def test_a_frame_with_one_name_twice_is_refused():
    frame = pd.DataFrame([["a", "b", "c"]], columns=["winner", "loser", "winner"])
    assert complaint(frame) == "data frame: two columns are called 'winner'; rename one"


NAMED_ROWS = {
    "no answer": (
        "a,b,,0",
        "pick is empty and no column says that this is a tie; say which item was chosen, "
        "or flag the tie in a column named with tie=",
    ),
    "another item": (
        "a,b,c,0",
        "pick 'c' is neither 'a' nor 'b'; correct the row, or leave it empty and flag it as a tie",
    ),
    "both": ("a,b,a,1", "flagged as a tie but pick is 'a'; empty it, or take the flag away"),
}


@pytest.mark.parametrize(("row", "message"), NAMED_ROWS.values(), ids=NAMED_ROWS.keys())
def test_an_answer_is_an_item_or_a_tie_and_not_both(study, row, message):
    path = study(f"x,y,pick,equal\n{row}\n")
    named = {"first": "x", "second": "y", "chosen": "pick", "tie": "equal"}
    assert complaint(path, **named) == f"FILE, line 2: {message}"


def test_named_columns_must_be_there_and_go_together(study):
    path = study("x,y,pick\na,b,a\n")
    assert complaint(path, first="x", second="z", chosen="pick") == (
        "FILE: no column 'z'; there are x, y, pick"
    )
    assert complaint(path, first="x") == (
        "FILE: first=, second= and chosen= go together; add second= and chosen="
    )


# Real studies


@real
def test_south_yorkshire_is_read_whole():
    read = read_comparisons(STUDIES / "south-yorkshire-comparisons.csv")
    assert (len(read), len(read.items), read.ties, read.skips) == (877, 95, 122, 0)
    assert len(read.judges or ()) == 18
    assert read.items == tuple(str(k) for k in range(1, 96))
    assert len(read.counts(by="judge").strata) == 18


@real
def test_dar_es_salaam_is_read_whole(tmp_path):
    read = read_comparisons(STUDIES / "dar-es-salaam-comparisons.csv")
    assert (len(read), len(read.items), read.ties) == (75_078, 452, 10_447)
    assert read.judges is None
    assert read.counts(by="judge_sex").pooled() == read.counts()
    read.to_csv(tmp_path / "out.csv")
    assert read_comparisons(tmp_path / "out.csv").counts() == read.counts()


def test_few_rows_are_grouped_as_many_are(tmp_path, monkeypatch):
    """Those of a file, gaps and repeated rows among them; the witness is Arrow's own grouping."""
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 4, 300), rng.integers(4, 8, 300)
    chosen = np.where(
        rng.uniform(size=300) < 0.3, "", np.where(rng.uniform(size=300) < 0.5, first, second)
    )
    lines = [",".join(map(str, row)) for row in zip(first, second, chosen, strict=True)]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["one,two,best", *lines]) + "\n")
    columns = {"first": "one", "second": "two", "chosen": "best"}
    groups = []
    for most in (200_000, 0):
        monkeypatch.setattr(frame_module, "FEW_ROWS", most)
        opened = frame_module.open_source(path)
        rows, times = frame_module.distinct_rows(opened.frame, columns)
        groups.append({tuple(rows.row(k).values()): int(n) for k, n in enumerate(times)})
        assert len(groups[-1]) == len(times)
    assert groups[0] == groups[1]
    assert sum(groups[0].values()) == 300
