"""A study on disk: made from a map or a list, checked, offered, shared, fitted."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import geopandas
import numpy as np
import pytest
from scipy.stats import chisquare
from shapely import box

from tiewise.data.answers import FIRST, SECOND, SKIP, TIE
from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas
from tiewise.study.checks.check import check_study, study_priors
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.export import comparisons, export, import_file
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import fit_settings
from tiewise.study.study import Study, next_offer
from tiewise.study.values import Judge, Kind

QUESTION = 'Which ward is "greener"?'


@pytest.fixture
def wards(tmp_path) -> Path:
    path = tmp_path / "wards.gpkg"
    Areas.synthetic(12, rng=3).to_gpkg(path)
    return path


@pytest.fixture
def study(tmp_path, wards) -> Study:
    return create_study(tmp_path / "study", question=QUESTION, areas=wards, noun="ward")


@pytest.fixture
def store(study) -> JudgeStore:
    return study.store()


def come(store: JudgeStore, *groups: str) -> Judge:
    new = store.add_judge(consent="1", language="en", about={})
    assert new is not None
    store.set_groups(new.judge, groups)
    return new.judge


def judged(study: Study, store: JudgeStore, judge: Judge, outcomes) -> list[frozenset[str]]:
    rng = np.random.default_rng(2)
    met = []
    for outcome in outcomes:
        offer = next_offer(study, store, judge, rng)
        met.append(frozenset((offer.left, offer.right)))
        assert store.answer(judge, offer.id, outcome)
    return met


# Made.


def test_a_map_makes_a_study_with_its_names_and_groups(study, wards):
    areas = Areas.read(wards)
    assert tuple(study.items) == areas.items
    assert [item.name for item in study.items.values()] == list(areas.names)
    assert set(study.groups) == set(areas.groups)
    assert study.settings.study.question == QUESTION
    assert study.settings.study.noun == "ward"
    assert study.areas.items == areas.items
    assert check_study(study.folder) == []


def test_a_list_makes_a_study_with_its_pictures(tmp_path):
    (tmp_path / "a.png").write_bytes(b"picture")
    table = "name,description,image\nAsh,a tree,a.png\nBirch,,\n"
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    study = create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    assert [(i.id, i.name, i.description) for i in study.items.values()] == [
        ("1", "Ash", "a tree"), ("2", "Birch", ""),
    ]  # fmt: skip
    assert (tmp_path / "s" / "images" / "a.png").read_bytes() == b"picture"
    assert study.groups == ()
    assert study.areas is None
    assert check_study(tmp_path / "s") == []
    path = tmp_path / "s" / "items.csv"
    path.write_text(path.read_text("utf-8").replace("a tree", ""), "utf-8")
    with pytest.warns(InputWarning, match=r"1 item has no alternative text \('Ash'\)"):
        assert check_study(tmp_path / "s") == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("name\nAsh\n", "lists 1 items; a comparison needs two"),
        ("item,name\n1,Ash\n1,Birch\n", "item '1' is there twice"),
        ("item,name\n1,Ash\n,Birch\n", "has no id"),
        ("colour\nred\nblue\n", "neither a column item nor a column name"),
        ("name,image\nAsh,gone.png\nBirch,\n", "image 'gone.png' of 'Ash'"),
    ],
)
def test_a_list_that_cannot_be_is_refused_and_leaves_no_folder(tmp_path, table, words):
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    assert not (tmp_path / "s").exists()


def test_nothing_is_overwritten(study, wards):
    with pytest.raises(InputError, match="not empty"):
        create_study(study.folder, question="Which?", areas=wards)


def test_one_says_what_is_compared(tmp_path, wards):
    with pytest.raises(InputError, match="areas=FILE.*items=FILE"):
        create_study(tmp_path / "s", question="Which?")
    with pytest.raises(InputError, match="speak of a map"):
        create_study(tmp_path / "s", question="Which?", items="x.csv", group="borough")


# Checked.


def test_what_is_written_comes_before_what_is_recorded_and_that_before_the_default(study, store):
    path = study.folder / "study.toml"
    settings = path.read_text(encoding="utf-8")
    assert '\npriors = "default"' in settings
    assert study.priors(store) == study_priors(study.folder) == "default"
    path.write_text(settings.replace('priors = "default"', ""), encoding="utf-8")
    assert study_priors(study.folder) == "default"
    with store.writing() as connection:
        row = {"key": "priors", "value": "paper", "since": now()}
        connection.execute(fit_settings.insert(), row)
    assert study_priors(study.folder) == "paper"
    path.write_text(settings, encoding="utf-8")
    assert study_priors(study.folder) == "default"


def test_no_database_is_made_to_name_the_priors(study):
    assert study_priors(study.folder) == "default"
    assert not (study.folder / "study.db").exists()


def test_a_change_of_meaning_is_refused_only_once_there_are_answers(study, store):
    path = study.folder / "study.toml"
    settings = path.read_text(encoding="utf-8")
    path.write_text(settings.replace("greener", "redder"), encoding="utf-8")
    assert check_study(study.folder) == []
    path.write_text(settings, encoding="utf-8")
    assert study.changed_meaning(store) == []
    judged(study, store, come(store, *study.groups), [FIRST])
    path.write_text(settings.replace("greener", "redder"), encoding="utf-8")
    (fault,) = check_study(study.folder)
    assert fault.startswith("study.question: answers were given to")
    assert "greener" in fault
    assert "redder" in fault
    path.write_text(settings.replace("target = 30", "target = 50"), encoding="utf-8")
    assert check_study(study.folder) == []
    assert len(list(store.rows())) == 1


def test_an_area_that_is_missing_from_the_map_is_named(study):
    with (study.folder / "items.csv").open("a", encoding="utf-8") as file:
        file.write(f"99,Nowhere,{study.groups[0]},,\n")
    (fault,) = check_study(study.folder)
    assert "'Nowhere'" in fault


def test_an_item_that_nobody_would_be_asked_about_is_named(study):
    table = study.folder / "items.csv"
    lines = table.read_text(encoding="utf-8").splitlines()
    name, group = lines[1].split(",")[1:3]
    lines[1] = lines[1].replace(group, "", 1)
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (fault,) = check_study(study.folder)
    assert f"{name!r} has no group" in fault


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("scan.tiff", "browsers do not show 'scan.tiff'"),
        ("table.png", "browsers do not show 'table.png'"),
        ("secret.png", "'secret.png' of 'Ash' leads outside"),
        ("../secret.png", "'../secret.png' of 'Ash' leads outside"),
    ],
)
def test_an_image_is_a_picture_that_lies_beside_the_list(tmp_path, cell, words):
    """Neither a link nor a name with .. hands judges another file of the researcher."""
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "scan.tiff").write_bytes(b"II*")
    (tmp_path / "in" / "table.png").symlink_to("items.csv")
    (tmp_path / "in" / "secret.png").symlink_to(tmp_path / "secret.png")
    table = tmp_path / "in" / "items.csv"
    table.write_text(f"name,image\nAsh,{cell}\nBirch,\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(words)):
        create_study(tmp_path / "s", question="Which?", items=table)
    assert not (tmp_path / "s").exists()


def test_an_image_that_became_a_link_or_something_else_is_named(tmp_path):
    (tmp_path / "a.png").write_bytes(b"picture")
    table = tmp_path / "items.csv"
    table.write_text("name,image\nAsh,a.png\nBirch,a.png\n", encoding="utf-8")
    study = create_study(tmp_path / "s", question="Which?", items=table)
    images, listed = study.folder / "images", study.folder / "items.csv"
    (images / "a.png").unlink()
    (images / "a.png").symlink_to(tmp_path / "a.png")
    (images / "b.tiff").write_bytes(b"II*")
    listed.write_text(listed.read_text().replace("a.png", "b.tiff", 1), encoding="utf-8")
    shown, linked = check_study(study.folder)
    assert "browsers do not show 'b.tiff', the image of 'Ash'" in shown
    assert "the image 'a.png' of 'Birch' leads outside" in linked


def test_images_come_to_lie_in_one_folder(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.png").write_bytes(folder.encode())
    table = tmp_path / "items.csv"
    table.write_text("name,image,alt\nAsh,one/a.png,An ash\nBirch,,\n", encoding="utf-8")
    study = create_study(tmp_path / "s", question="Which?", items=table)
    assert check_study(study.folder) == []
    assert (study.folder / "images" / study.items["1"].image).read_bytes() == b"one"
    table.write_text("name,image\nAsh,one/a.png\nBirch,two/a.png\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"two images are called 'a\.png'"):
        create_study(tmp_path / "t", question="Which?", items=table)


# Offered.


def test_a_judge_sees_what_they_know_once_each_and_then_nothing(study, store):
    group = study.groups[0]
    mine = [item.id for item in study.items.values() if item.group == group]
    judge = come(store, group)
    pairs = len(mine) * (len(mine) - 1) // 2
    met = judged(study, store, judge, [TIE] * pairs)
    assert len(set(met)) == pairs
    assert set().union(*met) == set(mine)
    assert next_offer(study, store, judge, np.random.default_rng(2)) is None


def test_an_offer_is_stable_until_answered(study, store):
    judge = come(store, *study.groups)
    first, again = (next_offer(study, store, judge, np.random.default_rng(k)) for k in (1, 2))
    assert first == again


def test_practice_comes_first_and_does_not_count(study, store):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace("practice = 0", "practice = 2")
    path.write_text(text, encoding="utf-8")
    study = Study.open(study.folder)
    judge = come(store, *study.groups)
    judged(study, store, judge, [FIRST] * 3)
    assert [row["kind"] for row in store.rows()] == [Kind.PRACTICE, Kind.PRACTICE, Kind.NEW]
    assert store.progress(judge) == (1, 0, 2)
    assert len(comparisons(store)) == 1


def test_planned_repeats_are_offered_with_sides_exchanged(study, store):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace("repeats = 0.0", "repeats = 0.5")
    path.write_text(text, encoding="utf-8")
    study = Study.open(study.folder)
    judge = come(store, *study.groups)
    judged(study, store, judge, [FIRST] * 40)
    kinds = Counter(row["kind"] for row in store.rows())
    assert kinds[Kind.REPEAT] > 5
    before: set[tuple[str, str]] = set()
    for row in store.rows():
        if row["kind"] == Kind.REPEAT:
            assert (row["right"], row["left"]) in before
        before.add((row["left"], row["right"]))


@pytest.mark.slow
def test_pairs_and_sides_of_many_judges_are_uniform(tmp_path):
    """The paper's rule, through the store: every pair and either side equally likely."""
    (tmp_path / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    study = create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    store, rng = study.store(), np.random.default_rng(2)
    met = Counter()
    for _ in range(600):
        offer = next_offer(study, store, come(store), rng)
        met[offer.left, offer.right] += 1
    assert len(met) == 12
    assert chisquare(list(met.values())).pvalue > 1e-4


# Shared.


def test_what_counts_is_exported_and_read_as_it_is(study, store, tmp_path):
    judge = come(store, *study.groups)
    judged(study, store, judge, [FIRST, SECOND, TIE, SKIP, FIRST])
    store.undo(judge)
    export(study, store, tmp_path / "out")
    with (tmp_path / "out" / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:6] == [
        "comparison_id", "user_id", "item_1_id", "item_2_id", "selected_item_id", "state",
    ]  # fmt: skip
    assert [row["state"] for row in rows] == ["selected", "selected", "tied", "skipped"]
    assert rows[0]["selected_item_id"] == rows[0]["item_1_id"]
    assert rows[1]["selected_item_id"] == rows[1]["item_2_id"]
    assert rows[2]["selected_item_id"] == ""
    exported = read_comparisons(tmp_path / "out" / "comparisons.csv")
    assert (len(exported), exported.ties, exported.skips) == (4, 1, 1)
    assert exported.counts().digest() == comparisons(store).counts().digest()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "comparisons.csv",
        "comparisons.about.json",
        "excluded.csv",
        "items.csv",
        "judges.csv",
        "offers.csv",
        "erased.csv",
    }


def test_an_empty_study_has_nothing_to_fit_and_exports_headings(study, store, tmp_path):
    with pytest.raises(InputError, match="no judgements yet"):
        comparisons(store)
    export(study, store, tmp_path / "out")
    assert (tmp_path / "out" / "comparisons.csv").read_text().count("\n") == 1


def test_what_was_exported_can_be_brought_in_again(study, store, tmp_path, wards):
    for _ in range(3):
        judged(study, store, come(store, *study.groups), [FIRST, SECOND, TIE, SKIP])
    export(study, store, tmp_path / "out")
    other = create_study(tmp_path / "other", question=QUESTION, areas=wards)
    there = other.store()
    assert import_file(other, there, tmp_path / "out" / "comparisons.csv") == 12
    assert comparisons(there).counts().digest() == comparisons(store).counts().digest()
    assert {row["id"] for row in there.judge_rows()} == {row["id"] for row in store.judge_rows()}


def test_the_same_file_is_not_brought_in_twice(study, store, tmp_path):
    judged(study, store, come(store, *study.groups), [FIRST, SECOND, TIE, SKIP])
    export(study, store, tmp_path / "out")
    with pytest.raises(InputError, match="all in this study already"):
        import_file(study, store, tmp_path / "out" / "comparisons.csv")
    assert len(list(store.rows())) == 4


def test_items_that_the_study_does_not_know_are_not_brought_in(study, store, tmp_path):
    old = "user_id,item_1_id,item_2_id,selected_item_id,state\n1,1,mars,1,selected\n"
    (tmp_path / "old.csv").write_text(old, encoding="utf-8")
    with pytest.raises(InputError, match="'mars' is not among the items"):
        import_file(study, store, tmp_path / "old.csv")
    assert list(store.rows()) == []


def test_what_judges_say_of_themselves_is_exported_and_goes_when_they_do(study, store, tmp_path):
    path = study.folder / "study.toml"
    field = '\n[[judges.fields]]\nname = "role"\nlabel = "Role"\n'
    path.write_text(path.read_text(encoding="utf-8") + field, encoding="utf-8")
    study = Study.open(study.folder)
    new = store.add_judge(consent="1", language="en", about={"role": "nurse"})
    store.set_groups(new.judge, study.groups[:2])
    export(study, store, tmp_path / "out")
    text = (tmp_path / "out" / "judges.csv").read_text(encoding="utf-8")
    assert "nurse" in text
    assert study.groups[0] in text
    store.withdraw(new.judge, judgements_too=True)
    export(study, store, tmp_path / "out")
    assert "nurse" not in (tmp_path / "out" / "judges.csv").read_text(encoding="utf-8")
    assert new.judge.id in (tmp_path / "out" / "erased.csv").read_text(encoding="utf-8")


def test_a_study_of_squares_has_no_groups_to_know(tmp_path):
    shapes = [box(k, 0, k + 1, 1) for k in range(3)]
    frame = geopandas.GeoDataFrame({"id": list("abc")}, geometry=shapes, crs="EPSG:27700")
    frame.to_file(tmp_path / "m.gpkg")
    study = create_study(tmp_path / "s", question="Which?", areas=tmp_path / "m.gpkg")
    assert study.groups == ()
    assert study.known_items(()) == ("a", "b", "c")
