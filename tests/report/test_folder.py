"""The results folder: whole or not there at all, and the same when it is read again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tiewise.data.counts import Counts
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import parameters, summarise
from tiewise.report.folder import About, Results, read_results, whole_folder, write_results

ABOUT = About(question="Which farm is older?", top=3)


@pytest.fixture(scope="module")
def tree(village):
    names = {"ash": 'The "Ash", upper\nfarm', "oak": "NA"}
    return fit(village.model, Laplace(draws=100), seed=2, names=names)


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def begin(out: Path, mishap: type[BaseException]) -> None:
    """Begin to write results, and come to grief."""
    with whole_folder(out, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
        raise mishap


# Whole or not at all.


def test_nothing_is_there_before_all_of_it_is(tmp_path):
    out = tmp_path / "a" / "b"
    with whole_folder(out) as folder:
        (folder / "one.txt").write_text("1", encoding="utf-8")
        assert not out.exists()
    assert everything(tmp_path) == {"a/b/one.txt": b"1"}


@pytest.mark.parametrize("mishap", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_mishap_leaves_nothing(tmp_path, mishap):
    with pytest.raises(mishap):
        begin(tmp_path / "out", mishap)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mishap", [ValueError, KeyboardInterrupt])
def test_a_mishap_leaves_what_was_there(tmp_path, mishap):
    out = tmp_path / "out"
    out.mkdir()
    (out / "items.csv").write_text("old", encoding="utf-8")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    before = everything(tmp_path)
    with pytest.raises(mishap):
        begin(out, mishap)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("mishap", [OSError(errno.EIO, "no luck"), KeyboardInterrupt()])
def test_a_mishap_between_old_and_new_brings_the_old_back(tmp_path, monkeypatch, mishap):
    """The old folder has been moved aside and the new one cannot take its place."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    before, rename = everything(tmp_path), Path.rename

    def fragile(self: Path, target: Path) -> Path:
        if self.name == "new":
            assert not out.exists()
            raise mishap
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fragile)
    with pytest.raises((InputError, KeyboardInterrupt)), whole_folder(out, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert everything(tmp_path) == before


def test_a_full_disk_is_something_the_person_can_mend(tmp_path):
    with (
        pytest.raises(InputError, match=r"out cannot be written \(No space left on device\)"),
        whole_folder(tmp_path / "out"),
    ):
        raise OSError(errno.ENOSPC, "whatever a library says")
    assert list(tmp_path.iterdir()) == []


# With force.


def test_force_keeps_what_is_not_ours(tmp_path):
    out = tmp_path / "out"
    (out / "drafts").mkdir(parents=True)
    (out / "drafts" / "one.txt").write_text("mine", encoding="utf-8")
    (out / ".hidden").write_text("mine", encoding="utf-8")
    (out / "link").symlink_to("drafts")
    (out / "items.csv").write_text("old", encoding="utf-8")
    (out / "map.png").write_text("old", encoding="utf-8")
    out.chmod(0o750)
    with whole_folder(out, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert everything(out) == {
        "items.csv": b"new", ".hidden": b"mine", "drafts/one.txt": b"mine",
    }  # fmt: skip
    assert (out / "link").readlink() == Path("drafts")
    assert out.stat().st_mode & 0o777 == 0o750


def test_force_keeps_the_users_own_among_the_pictures(tmp_path):
    place = tmp_path / "out" / "pictures"
    place.mkdir(parents=True)
    for name in ("map.svg", "ours-annotated.svg"):
        (place / name).write_text("old", encoding="utf-8")
    with whole_folder(tmp_path / "out", force=True):
        pass
    assert [path.name for path in place.iterdir()] == ["ours-annotated.svg"]
    (place / "ours-annotated.svg").rename(place / "map.svg")
    with whole_folder(tmp_path / "out", force=True):
        pass
    assert not place.exists()


def test_force_never_puts_an_old_file_over_a_new_one(tmp_path):
    """Whatever it is called, and whatever is said to be ours."""
    out = tmp_path / "out"
    for age in ("old", "new"):
        with whole_folder(out, force=True, ours=()) as folder:
            (folder / "comparisons.csv").write_text(age, encoding="utf-8")
    assert everything(out) == {"comparisons.csv": b"new"}


def test_force_writes_where_a_link_leads(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "out").symlink_to("disk")
    with whole_folder(tmp_path / "out", force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert (tmp_path / "out").is_symlink()
    assert everything(tmp_path / "disk") == {"items.csv": b"new", "notes.txt": b"mine"}


# Places that cannot be.


def test_a_full_folder_is_refused_and_an_empty_one_is_not(tmp_path):
    with whole_folder(tmp_path / "out"):
        pass
    with whole_folder(tmp_path / "out") as folder:
        (folder / "one.txt").touch()
    with pytest.raises(InputError, match="not empty.*--force"), whole_folder(tmp_path / "out"):
        pytest.fail("it should not come this far")


@pytest.mark.parametrize("force", [True, False])
def test_the_folder_one_stands_in_is_not_replaced(tmp_path, monkeypatch, force):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (Path(), Path(".."), tmp_path):
        with pytest.raises(InputError, match="folder you are in"), whole_folder(place, force=force):
            pytest.fail("it should not come this far")


def test_a_mounted_volume_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(InputError, match="mounted volume"), whole_folder(tmp_path / "out"):
        pytest.fail("it should not come this far")


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(InputError, match="may not be written"), whole_folder(tmp_path / "a" / "b"):
        pytest.fail("it should not come this far")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(InputError, match="too long"), whole_folder(tmp_path / ("x" * 300)):
        pytest.fail("it should not come this far")


# Written and read again.


def test_results_read_again_are_the_results_that_were_written(tree, tmp_path):
    written = write_results(tree, tmp_path / "out", about=ABOUT, read_seconds=1.5)
    again = read_results(tmp_path / "out")
    assert again.about == written.about == ABOUT
    assert again.facts == written.facts
    pd.testing.assert_frame_equal(again.items, summarise(tree, 3), check_dtype=False)
    assert np.array_equal(again.tree["posterior/quality"], tree["posterior/quality"])
    assert again.areas is None
    table = pd.read_csv(tmp_path / "out" / "parameters.csv", index_col="parameter")
    pd.testing.assert_frame_equal(table, parameters(tree))


def test_the_map_is_kept(tree, tmp_path):
    from shapely import box

    items = list(tree["posterior/item"].to_numpy())
    import geopandas

    squares = [box(k, 0, k + 1, 1) for k in range(len(items))]
    frame = geopandas.GeoDataFrame({"id": items}, geometry=squares, crs="EPSG:27700")
    write_results(tree, tmp_path / "out", areas=Areas.read(frame))
    areas = read_results(tmp_path / "out").areas
    assert areas is not None
    assert list(areas.items) == items


def test_a_finish_that_fails_leaves_nothing(tree, tmp_path):
    def fail(results: Results) -> None:
        assert results.items["item"].is_unique
        raise InputError("no ink")

    with pytest.raises(InputError, match="no ink"):
        write_results(tree, tmp_path / "out", finish=fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("noun", "one", "many"), [("ward", "ward", "wards"), ("city/cities", "city", "cities")]
)
def test_several_of_a_noun_have_an_s_or_what_is_said(noun, one, many):
    assert (About(noun=noun).one, About(noun=noun).nouns) == (one, many)


def test_times_add_up(tree, tmp_path):
    seconds = write_results(tree, tmp_path / "out", read_seconds=100).facts["seconds"]
    assert seconds["read"] == 100
    parts = seconds["read"] + seconds["build"] + seconds["sample"]
    assert seconds["total"] == pytest.approx(parts, abs=1e-3)


def test_what_a_point_cannot_say_is_read_again_as_missing(tmp_path):
    counts = Counts.of(("a", "b", "NA"), [0, 1, 2], [1, 2, 0], [3, 3, 3], [1, 1, 1], [1, 1, 1])
    tree = fit(BradleyTerry(counts), MaximumLikelihood(), seed=1)
    write_results(tree, tmp_path / "out", about=About(top=1))
    items = read_results(tmp_path / "out").items
    assert set(items["item"]) == {"a", "b", "NA"}
    assert items["rank_q2.5"].isna().all()
    assert items["top_k_probability"].isna().all()
    assert items["sd"].notna().all()


def test_too_high_a_top_writes_nothing(tree, tmp_path):
    with pytest.raises(InputError, match="top must be between 1 and"):
        write_results(tree, tmp_path / "out", about=About(top=9))
    assert list(tmp_path.iterdir()) == []


# What is no results folder.


def test_a_folder_without_results_says_what_it_lacks(tmp_path):
    with pytest.raises(InputError, match=r"posterior\.nc.*tiewise fit"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("study.json", "{", "study.json is not JSON"),
        ("study.json", "[]", "study.json holds no names"),
        ("fit.json", "", "fit.json is not JSON"),
        ("posterior.nc", "no such thing", "posterior.nc cannot be read"),
    ],
)
def test_a_spoilt_file_is_named(tree, tmp_path, name, text, words):
    write_results(tree, tmp_path / "out")
    (tmp_path / "out" / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_results(tmp_path / "out")


def test_the_question_may_be_changed_afterwards(tree, tmp_path):
    write_results(tree, tmp_path / "out", about=ABOUT)
    path = tmp_path / "out" / "study.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(said | {"question": "Which is younger?"}), encoding="utf-8")
    assert read_results(tmp_path / "out").about.question == "Which is younger?"
