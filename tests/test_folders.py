"""A folder is written whole or not at all, and never over what is not ours."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tiewise.errors import InputError
from tiewise.folders import STUDY_FILES, FolderKind, atomic_folder, check_output_file

KIND = FolderKind("a table of ours", ("items.csv", "map.svg", "map.png"), {"items.csv": (b"o",)})


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def begin(out: Path, mishap: type[BaseException]) -> None:
    """Begin to write results, and come to grief."""
    with atomic_folder(out, KIND, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
        raise mishap


def write(out: Path, *names: str) -> None:
    """Write results by force."""
    with atomic_folder(out, KIND, force=True) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("new", encoding="utf-8")


# Whole or not at all.


def test_nothing_is_there_before_all_of_it_is(tmp_path):
    out = tmp_path / "a" / "b"
    with atomic_folder(out, KIND) as folder:
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
@pytest.mark.parametrize("move", range(4))
def test_a_mishap_between_old_and_new_brings_the_old_back(tmp_path, monkeypatch, mishap, move):
    """Whichever of the moves fails: two old files out, two new ones in."""
    out = tmp_path / "out"
    (out / "pictures").mkdir(parents=True)
    for name in ("items.csv", "pictures/map.svg", "notes.txt"):
        (out / name).write_text("old", encoding="utf-8")
    before, rename, moves = everything(tmp_path), Path.rename, iter(range(4))

    def fragile(self: Path, target: Path) -> Path:
        if next(moves, None) == move:
            raise mishap
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fragile)
    with pytest.raises((InputError, KeyboardInterrupt)):
        write(out, "items.csv", "map.png")
    assert next(moves, None) is None or move < 3
    assert everything(tmp_path) == before


def test_a_full_disk_is_something_the_person_can_mend(tmp_path):
    with (
        pytest.raises(InputError, match=r"out cannot be written \(No space left on device\)"),
        atomic_folder(tmp_path / "out", KIND),
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
    with atomic_folder(out, KIND, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert everything(out) == {
        "items.csv": b"new", ".hidden": b"mine", "drafts/one.txt": b"mine",
    }  # fmt: skip
    assert (out / "link").readlink() == Path("drafts")
    assert out.stat().st_mode & 0o777 == 0o750


def test_force_leaves_a_foreign_file_where_it_is(tmp_path):
    """It is not copied: another program may be writing into it at this moment."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "items.csv").write_text("old", encoding="utf-8")
    with (out / "diary.txt").open("w", encoding="utf-8") as diary:
        with atomic_folder(out, KIND, force=True) as folder:
            (folder / "items.csv").write_text("old news", encoding="utf-8")
            diary.write("Monday. ")
            diary.flush()
        diary.write("Tuesday.")
    assert everything(out) == {"items.csv": b"old news", "diary.txt": b"Monday. Tuesday."}


def test_force_keeps_the_users_own_among_the_pictures(tmp_path):
    place = tmp_path / "out" / "pictures"
    place.mkdir(parents=True)
    (tmp_path / "out" / "items.csv").write_text("old", encoding="utf-8")
    for name in ("map.svg", "ours-annotated.svg"):
        (place / name).write_text("old", encoding="utf-8")
    for left in ({"pictures/ours-annotated.svg"}, set()):
        with atomic_folder(tmp_path / "out", KIND, force=True) as folder:
            (folder / "items.csv").write_text("old", encoding="utf-8")
        assert set(everything(tmp_path / "out")) == {"items.csv", *left}
        if left:
            (place / "ours-annotated.svg").rename(place / "map.svg")
    assert not place.exists()


@pytest.mark.parametrize("foreign", ["thesis.docx", "map.png/mine.txt", "pictures"])
def test_force_refuses_to_write_over_what_is_not_ours(tmp_path, foreign):
    """A file that results never have, a folder of the name of a picture, a file for a folder."""
    out = tmp_path / "out"
    (out / foreign).parent.mkdir(parents=True)
    (out / foreign).write_text("mine", encoding="utf-8")
    (out / "items.csv").write_text("old", encoding="utf-8")
    before = everything(tmp_path)
    with pytest.raises(InputError, match="not ours to overwrite"):
        write(out, "items.csv", "thesis.docx", "map.png", "pictures/map.svg")
    assert everything(tmp_path) == before


def test_force_does_not_write_through_a_link(tmp_path):
    (tmp_path / "mine.csv").write_text("old and mine", encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "items.csv").symlink_to("../mine.csv")
    with atomic_folder(tmp_path / "out", KIND, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert everything(tmp_path) == {"mine.csv": b"old and mine", "out/items.csv": b"new"}


def test_force_writes_where_a_link_leads(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "disk" / "items.csv").write_text("old", encoding="utf-8")
    (tmp_path / "out").symlink_to("disk")
    with atomic_folder(tmp_path / "out", KIND, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert (tmp_path / "out").is_symlink()
    assert everything(tmp_path / "disk") == {"items.csv": b"new", "notes.txt": b"mine"}


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("names", [["notes.txt"], ["items.csv"], [".hidden"], ["a/b/one.txt"]])
def test_a_folder_without_our_results_is_refused_even_by_force(tmp_path, names, force):
    """A file of the right name that does not begin as ours do is not ours."""
    for name in names:
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("mine", encoding="utf-8")
    before = everything(tmp_path)
    with (
        pytest.raises(InputError, match="does not hold a table of ours"),
        atomic_folder(tmp_path / "out", KIND, force=force),
    ):
        pytest.fail("it should not come this far")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("below", ["", "wards"])
@pytest.mark.parametrize("name", STUDY_FILES)
def test_a_study_is_never_written_over(tmp_path, name, below, force):
    """Nor is a folder of studies, even where results lie beside them."""
    out = tmp_path / "out"
    (out / below).mkdir(parents=True)
    (out / "items.csv").write_text("old", encoding="utf-8")
    (out / below / name).write_text("[study]", encoding="utf-8")
    before = everything(tmp_path)
    (tmp_path / "link").symlink_to("out")
    for place in (out, tmp_path / "link"):
        with (
            pytest.raises(InputError, match=f"holds a study .{name}.*never written over one"),
            atomic_folder(place, KIND, force=force),
        ):
            pytest.fail("it should not come this far")
    (tmp_path / "link").unlink()
    assert everything(tmp_path) == before


@pytest.mark.parametrize("content", ["mine", "", "model of mine, for our table"])
def test_a_file_is_written_over_by_force_only_if_it_is_ours(tmp_path, content):
    path = tmp_path / "table.csv"
    check_output_file(path, "a table of ours", [b"model,"], force=False)
    path.write_text(content, encoding="utf-8")
    for force in (True, False):
        with pytest.raises(InputError, match="is not a table of ours.*force=True would not"):
            check_output_file(path, "a table of ours", [b"model,"], force=force)
    path.write_text("model,elpd\n", encoding="utf-8")
    check_output_file(path, "a table of ours", [b"model,"], force=True)
    with pytest.raises(InputError, match="is there; .*force=True"):
        check_output_file(path, "a table of ours", [b"model,"], force=False)


# Places that cannot be.


def test_a_full_folder_is_refused_and_an_empty_one_is_not(tmp_path):
    with atomic_folder(tmp_path / "out", KIND):
        pass
    (tmp_path / "out").chmod(0o750)
    with atomic_folder(tmp_path / "out", KIND) as folder:
        (folder / "items.csv").write_text("old", encoding="utf-8")
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
    with (
        pytest.raises(InputError, match="not empty.*force=True"),
        atomic_folder(tmp_path / "out", KIND),
    ):
        pytest.fail("it should not come this far")


@pytest.mark.parametrize("force", [True, False])
def test_the_folder_one_stands_in_is_not_replaced(tmp_path, monkeypatch, force):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (Path(), Path(".."), tmp_path):
        with (
            pytest.raises(InputError, match="folder you are in"),
            atomic_folder(place, KIND, force=force),
        ):
            pytest.fail("it should not come this far")


def test_a_mounted_volume_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(InputError, match="mounted volume"), atomic_folder(tmp_path / "out", KIND):
        pytest.fail("it should not come this far")


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with (
        pytest.raises(InputError, match="may not be written"),
        atomic_folder(tmp_path / "a" / "b", KIND),
    ):
        pytest.fail("it should not come this far")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(InputError, match="too long"), atomic_folder(tmp_path / ("x" * 300), KIND):
        pytest.fail("it should not come this far")
