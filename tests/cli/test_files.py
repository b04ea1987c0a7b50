"""Files as people have them: what the command reads, what it refuses, and what it asks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import geopandas
import pytest
from shapely import box

from support.command import done, run
from tiewise.posterior.results_folder import read_results
from tiewise.report.reproduce import fit_command, python_call
from tiewise.study.create import create_study

QUICK = ("--engine", "laplace", "--draws", "100", "--no-report")
PAIRS = "judgeId,chosen,notChosen\n1,79.0,80\n1,80,79\n2,81,79\n2,81,81\n3,80,81\n3,NA,81\n"
ROUND = "winner,loser\n1,2\n2,3\n3,1\n1,3\n"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """Every test sits at an empty desk."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(*words: object) -> str:
    """What the command says, in its one line on standard error, when it cannot."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"tiewise: .*\n", result.stderr.splitlines(keepends=True)[-1])
    return result.stderr.splitlines()[-1].removeprefix("tiewise: ")


def write(text: str, name: str = "a.csv") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def write_map(**columns: list[object]) -> str:
    """A map of squares in a row, with these columns."""
    squares = [box(k, 0, k + 1, 1) for k in range(len(next(iter(columns.values()))))]
    geopandas.GeoDataFrame(columns, geometry=squares, crs="EPSG:27700").to_file("map.gpkg")
    return "map.gpkg"


def facts() -> dict[str, object]:
    return json.loads(Path("out/fit.json").read_text(encoding="utf-8"))


# Rows that are no pair.


def test_a_pair_of_an_item_with_itself_is_refused_with_the_way_out():
    assert refusal("fit", write(PAIRS), *QUICK) == (
        "a.csv, line 5: item '81' is compared with itself; correct the row, or leave such rows out "
        "with --drop-invalid"
    )


def test_na_is_no_id_and_the_refusal_says_so():
    assert refusal("fit", write("winner,loser\na,b\nNA,a\n"), *QUICK) == (
        "a.csv, line 3: winner 'NA' is no id, but means that nothing is there; fill it in, give "
        "the item another id if it has this one, or leave such rows out with --drop-invalid"
    )


def test_rows_are_left_out_counted_and_left_out_again():
    """The number is in the terminal and among the warnings; the command that repeats it has it."""
    note = "2 rows were left out: an item missing in 1, an item with itself in 1, as asked."
    result = done("fit", write(PAIRS), "--drop-invalid", *QUICK, "--out", "out")
    assert note in " ".join(result.stdout.split())
    assert facts()["left_out"] == {"an item missing": 1, "an item with itself": 1}
    assert facts()["warnings"][0] == note
    assert (facts()["items"], facts()["comparisons"], facts()["judges"]) == (3, 4, 3)
    assert " --drop-invalid " in fit_command(read_results("out"))
    assert 'columns={"drop_invalid": True}' in python_call(read_results("out"))


def test_nothing_is_said_of_rows_left_out_where_none_is():
    done("fit", write(ROUND), "--drop-invalid", *QUICK, "--out", "out")
    assert "left_out" not in facts()
    assert not any("left out" in text for text in facts()["warnings"])


@pytest.mark.parametrize(
    "words",
    [
        ["judges", "a.csv", "--splits", "0", "--out", "out"],
        ["plan", "--from", "a.csv", "--judges", "2", "--out", "out", "--precision", "1",
         "--reliability", "0.2", "--workers", "1"],
    ],
    ids=["judges", "plan"],
)  # fmt: skip
def test_whatever_reads_a_file_can_leave_rows_out(words):
    write(PAIRS)
    assert "--drop-invalid" in refusal(*words)


def test_judges_are_looked_at_without_the_rows_left_out():
    write(
        "judge,winner,loser\n"
        + "".join(f"{k % 4},a,b\n{k % 4},b,c\n" for k in range(12))
        + "1,c,c\n"
    )
    result = done("judges", "a.csv", "--splits", "0", "--drop-invalid", "--out", "out")
    assert "a.csv: 1 row was left out: an item with itself in 1." in result.stderr


def test_a_study_takes_a_file_without_the_rows_left_out():
    create_study("study", question="Which?", items=write("item,name\n1,A\n2,B\n3,C\n", "items.csv"))
    write("judge,winner,loser\nx,1,2\nx,2,2\nx,2.0,3\n")
    assert "--drop-invalid" in refusal("import", "study", "a.csv")
    result = done("import", "study", "a.csv", "--drop-invalid")
    assert "2 judgements brought into study" in result.stdout
    assert "1 row was left out" in result.stderr


# Folders and files.


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "folder"],
        ["fit", "folder.csv"],
        ["fit", "a.csv", "--areas", "folder"],
        ["fit", "a.csv", "--edges", "folder"],
        ["fit", "a.csv", "--names", "folder"],
        ["fit", "a.csv", "--matrix", "folder", "--prior", "covariance"],
        ["fit", "a.csv", "--covariates", "folder", "--formula", "x"],
        ["fit", "a.csv", "--waves", "folder"],
        ["plan", "--from", "folder", "--judges", "3"],
        ["new", "study", "--areas", "folder", "--question", "Which?"],
        ["compare", "out", "out", "--out", "folder", "--force"],
    ],
    ids=" ".join,
)
def test_a_folder_where_a_file_belongs_is_called_one(words):
    write(ROUND)
    Path("folder").mkdir()
    Path("folder.csv").mkdir()
    assert re.search(r"folder(\.csv)?:? (this )?is a folder", refusal(*words))


def test_a_folder_of_results_is_not_fitted_again():
    done("fit", write(ROUND), *QUICK, "--out", "out")
    assert refusal("fit", "out", *QUICK, "--out", "again") == (
        "out: this is a folder of results; name the file that was fitted"
    )


@pytest.mark.parametrize("command", ["check", "export", "invite", "backup", "upgrade", "erase"])
def test_a_file_where_a_study_belongs_is_called_one(command):
    assert refusal(command, write(ROUND)) == (
        "a.csv is a file, and a study is a folder; make one with `tiewise new`"
    )


# Maps.


def test_a_map_of_other_items_asks_whether_it_is_the_right_one():
    areas = write_map(id=["1", "x", "y", "z"], name=["A", "B", "C", "D"])
    assert refusal("fit", write(ROUND), "--areas", areas, *QUICK) == (
        "2 of the 3 compared items are not in the map ('2', '3'): "
        "is this the right map? If so, choose its column of ids with --id"
    )


def test_the_column_that_has_the_items_is_named():
    areas = write_map(id=["x", "y", "z"], name=["A", "B", "C"], code=[1.0, 2.0, 3.0])
    message = refusal("fit", write(ROUND), "--areas", areas, *QUICK)
    assert message.endswith(
        "right map? If so, choose its column of ids with --id 'code', which has 3 of them"
    )
    done("fit", "a.csv", "--areas", areas, "--id", "code", *QUICK, "--out", "out")


def test_neighbours_of_other_items_are_asked_about_too():
    write("a,b\n1,x\nx,y\n", "edges.csv")
    message = refusal("fit", write(ROUND), "--edges", "edges.csv", *QUICK)
    assert message.endswith("are these the right edges? If so, use the same ids")


def test_a_map_that_lacks_a_few_items_is_told_which():
    areas = write_map(id=["1", "2"], name=["A", "B"])
    message = refusal("fit", write(ROUND), "--areas", areas, *QUICK)
    assert "'3'" in message
    assert "right map" not in message


def test_numbers_that_happen_to_be_on_a_large_map_are_asked_about():
    areas = write_map(id=list(range(1, 21)), name=[f"A{k}" for k in range(20)])
    result = done("fit", write(ROUND), "--areas", areas, *QUICK, "--out", "out")
    assert "only 3 of the 20 areas of map.gpkg were compared" in result.stderr
    assert "is this the right map?" in result.stderr


def test_codes_that_are_on_the_map_are_not_asked_about():
    areas = write_map(id=[f"E{k}" for k in range(20)], name=[f"A{k}" for k in range(20)])
    result = done("fit", write("winner,loser\nE1,E2\nE2,E3\n"), "--areas", areas, *QUICK)
    assert "right map" not in result.stderr


def test_a_map_with_text_ids_like_79_0_is_the_map_of_79():
    areas = write_map(id=["79.0", "80.0", "81.0"], name=["A", "B", "C"])
    done("fit", write(PAIRS), "--drop-invalid", "--areas", areas, *QUICK, "--out", "out")
    assert Path("out/items.csv").read_text().count("79,A") == 1


# Names and words.


NAMELESS = {"id": [1, 2, 3], "code": ["E1", "E2", "E3"], "wardNM": ["Ash", "Birch", "Cedar"]}


def test_a_column_that_could_hold_the_names_is_named():
    areas = write_map(**NAMELESS)
    result = done("fit", write(ROUND), "--areas", areas, *QUICK, "--out", "out")
    assert "--name 'wardNM' would show names" in result.stderr
    again = done("fit", "a.csv", "--areas", areas, "--name", "wardNM", *QUICK, "--out", "named")
    assert "--name" not in again.stderr
    assert "Birch" in Path("named/items.csv").read_text()


def test_names_from_a_table_need_none_of_the_map():
    areas = write_map(**NAMELESS)
    write("item,name\n1,X\n2,Y\n3,Z\n", "names.csv")
    result = done("fit", write(ROUND), "--areas", areas, "--names", "names.csv", *QUICK)
    assert "--name" not in result.stderr


def test_a_map_without_words_is_not_asked_for_names():
    areas = write_map(id=[1, 2, 3], code=["E1", "E2", "E3"], kind=["town"] * 3)
    assert "Hint" not in done("fit", write(ROUND), "--areas", areas, *QUICK).stderr


def test_a_new_study_is_told_what_could_be_the_names():
    areas = write_map(**NAMELESS)
    result = done("new", "study", "--areas", areas, "--question", "Which?")
    assert "so that judges see ids; --name 'wardNM' would show names" in result.stderr


def test_a_question_without_a_direction_is_hinted_at(monkeypatch):
    monkeypatch.setattr("tiewise.report.html.rewrite_report", lambda results, **_: results.folder)
    question = ["--question", "Where is it safer?"]
    hint = "--higher 'higher risk'"
    words = ["fit", write(ROUND), *QUICK, "--force", "--out", "out"]
    assert hint in done(*words, *question).stderr
    assert hint in done("report", "out", *question).stderr
    assert hint not in done("report", "out").stderr
    assert hint not in done(*words, *question, "--higher", "safer").stderr
    assert hint not in done("report", "out", *question).stderr


# Ids of a study.


def test_a_new_study_has_ids_that_files_can_have():
    write("item,name\n1.0,Ash\n2,Birch\n", "items.csv")
    assert tuple(create_study("study", question="Which?", items="items.csv").items) == ("1", "2")
    write("item,name\nNA,Namibia\nZA,South Africa\n", "countries.csv")
    message = refusal("new", "other", "--items", "countries.csv", "--question", "Which?")
    assert message == (
        "the id 'NA' of 'Namibia' would be read as nothing in tables of judgements; give it another"
    )
