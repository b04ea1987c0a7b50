"""--force replaces what the same command wrote, and never a study or anybody's own files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.command import done, refusal
from tiewise.study.create import create_study
from tiewise.workflows.simulate import write_simulated_study

QUICK = ("--engine", "laplace", "--draws", "100", "--no-report")
INTO_A_FOLDER = {
    "fit": ("fit", "made/comparisons.csv", *QUICK, "--out"),
    "judges": ("judges", "made/comparisons.csv", "--splits", "0", "--out"),
    "models": ("models", "made/comparisons.csv", "--draws", "100", "--out"),
    "plan": ("plan", "--items", "5", "--judges", "5", "--out"),
    "experiment": ("experiment", "ties", "--quick", "--out"),
    "simulate": ("simulate", "--items", "5"),
    "data": ("data", "wimbledon", "--out"),
}


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def studies(tmp_path_factory) -> Path:
    """A study with a judgement, and a file of judgements."""
    place = tmp_path_factory.mktemp("force")
    write_simulated_study(place / "made", items=5, comparisons=40, rng=1)
    (place / "list.csv").write_text("item,name\n1,Ash\n2,Oak\n3,Elm\n", encoding="utf-8")
    study = create_study(place / "wards", items=place / "list.csv", question="Which is older?")
    store = study.store()
    store.import_judgements(
        [{"judge": "Ada", "left": "1", "right": "2", "outcome": "left"}], consent="imported"
    )
    store.close()
    return place


@pytest.fixture
def desk(studies, tmp_path, monkeypatch) -> Path:
    """A folder of one's own with these in it."""
    shutil.copytree(studies, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "force"])
@pytest.mark.parametrize("command", INTO_A_FOLDER)
def test_no_command_writes_over_a_study(desk, command, force):
    """Even where an older version had put results into its folder."""
    for name in ("fit.json", "models.json", "reliability.json", "journal.jsonl", "truth.csv"):
        (desk / "wards" / name).write_text("{", encoding="utf-8")
    before = everything(desk / "wards")
    assert "holds a study (study.toml)" in refusal(*INTO_A_FOLDER[command], "wards", *force)
    assert everything(desk / "wards") == before


@pytest.mark.parametrize("command", INTO_A_FOLDER)
def test_no_command_writes_into_a_folder_of_somebody_elses(desk, command):
    (desk / "mine").mkdir()
    for name in ("items.csv", "comparisons.csv", "plan.csv", "judges.csv", "thesis.docx"):
        (desk / "mine" / name).write_text("mine", encoding="utf-8")
    before = everything(desk)
    message = refusal(*INTO_A_FOLDER[command], "mine", "--force")
    assert "does not hold" in message
    assert "--out" in message
    assert everything(desk) == before


@pytest.mark.parametrize("place", ["wards", "made", "wards/items.csv"])
def test_export_overwrites_nothing_but_an_export(desk, place):
    """Not the list of a study, its own or another; not a table of judgements."""
    shutil.copytree("wards", "posters")
    before = everything(desk)
    assert "--out" in refusal("export", "posters", "--out", place)
    assert everything(desk) == before


def test_export_writes_beside_other_files_and_again(desk):
    (desk / "wards" / "export").mkdir()
    (desk / "wards" / "export" / "notes.txt").write_text("mine", encoding="utf-8")
    for _ in range(2):
        done("export", "wards")
    assert (desk / "wards" / "export" / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert "Ada" in (desk / "wards" / "export" / "comparisons.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_single_file_is_overwritten_only_if_it_is_ours(desk):
    done(*INTO_A_FOLDER["fit"], "one")
    done(*INTO_A_FOLDER["fit"], "two", "--seed", 3)
    Path("mine.csv").write_text("model of mine\n", encoding="utf-8")
    Path("mine.pdf").write_bytes(b"%PDF-1.7 of mine")
    Path("mine.typ").write_text("= Mine\n", encoding="utf-8")
    before = everything(desk)
    compare, brief = ("compare", "one", "two"), ("briefing", "one")
    for command in (
        (*compare, "--out", "mine.csv"), (*compare, "--out", "wards/items.csv"),
        (*brief, "--out", "mine.pdf"), ("briefing", "--save-template", "mine.typ"),
    ):  # fmt: skip
        assert "is there and is not" in refusal(*command, "--force")
    assert everything(desk) == before
    for force in ((), ("--force",)):
        done(*compare, "--out", "table.csv", *force)
        done(*brief, *force)
        done("briefing", "--save-template", "ours.typ", *force)


@pytest.mark.slow
def test_a_report_is_not_written_into_a_study(desk):
    """Results that an older version put into the folder of a study are not made anew there."""
    done(*INTO_A_FOLDER["fit"], "one")
    shutil.copytree("one", "wards", dirs_exist_ok=True)
    before = everything(desk / "wards")
    assert "holds a study" in refusal("report", "wards")
    assert everything(desk / "wards") == before
