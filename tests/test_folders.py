"""A folder is written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tiewise.errors import InputError
from tiewise.folders import atomic_folder

OURS = ("items.csv", "map.svg", "map.png")


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def begin(out: Path, mishap: type[BaseException]) -> None:
    """Begin to write results, and come to grief."""
    with atomic_folder(out, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
        raise mishap


# Whole or not at all.


def test_nothing_is_there_before_all_of_it_is(tmp_path):
    out = tmp_path / "a" / "b"
    with atomic_folder(out) as folder:
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
    with pytest.raises((InputError, KeyboardInterrupt)), atomic_folder(out, force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert everything(tmp_path) == before


def test_a_full_disk_is_something_the_person_can_mend(tmp_path):
    with (
        pytest.raises(InputError, match=r"out cannot be written \(No space left on device\)"),
        atomic_folder(tmp_path / "out"),
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
    with atomic_folder(out, force=True, replaces=OURS) as folder:
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
    with atomic_folder(tmp_path / "out", force=True, replaces=OURS):
        pass
    assert [path.name for path in place.iterdir()] == ["ours-annotated.svg"]
    (place / "ours-annotated.svg").rename(place / "map.svg")
    with atomic_folder(tmp_path / "out", force=True, replaces=OURS):
        pass
    assert not place.exists()


def test_force_never_puts_an_old_file_over_a_new_one(tmp_path):
    """Whatever it is called, and whatever is said to be ours."""
    out = tmp_path / "out"
    for age in ("old", "new"):
        with atomic_folder(out, force=True, replaces=()) as folder:
            (folder / "comparisons.csv").write_text(age, encoding="utf-8")
    assert everything(out) == {"comparisons.csv": b"new"}


def test_force_writes_where_a_link_leads(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "out").symlink_to("disk")
    with atomic_folder(tmp_path / "out", force=True) as folder:
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert (tmp_path / "out").is_symlink()
    assert everything(tmp_path / "disk") == {"items.csv": b"new", "notes.txt": b"mine"}


# Places that cannot be.


def test_a_full_folder_is_refused_and_an_empty_one_is_not(tmp_path):
    with atomic_folder(tmp_path / "out"):
        pass
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "one.txt").touch()
    with pytest.raises(InputError, match="not empty.*force=True"), atomic_folder(tmp_path / "out"):
        pytest.fail("it should not come this far")


@pytest.mark.parametrize("force", [True, False])
def test_the_folder_one_stands_in_is_not_replaced(tmp_path, monkeypatch, force):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (Path(), Path(".."), tmp_path):
        with (
            pytest.raises(InputError, match="folder you are in"),
            atomic_folder(place, force=force),
        ):
            pytest.fail("it should not come this far")


def test_a_mounted_volume_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(InputError, match="mounted volume"), atomic_folder(tmp_path / "out"):
        pytest.fail("it should not come this far")


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(InputError, match="may not be written"), atomic_folder(tmp_path / "a" / "b"):
        pytest.fail("it should not come this far")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(InputError, match="too long"), atomic_folder(tmp_path / ("x" * 300)):
        pytest.fail("it should not come this far")
