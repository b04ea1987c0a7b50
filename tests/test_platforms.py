"""What would break on Windows and macOS, as far as it can be seen from here."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from test_architecture import all_imports
from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.folders import FolderKind, atomic_folder
from tiewise.study.media import process
from tiewise.study.media.limits import FileLimits

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tiewise"
PACKAGED = sorted(
    path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts
)
NOT_ON_WINDOWS = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop"}
ALLOWED = {"study/media/decoder imports resource"}
"""Started in a process of its own, and on Windows refused before that."""
RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{k}" for name in ("com", "lpt") for k in range(10)),
}
LONGEST_PATH = 110
"""Of a file in the package: what Windows allows (260) with room for a folder of packages."""


def test_no_module_loads_what_windows_does_not_have():
    loaded = {
        f"{one.module} imports {one.library}"
        for one in all_imports()
        if one.when == "at the top" and one.library in NOT_ON_WINDOWS
    }
    assert loaded == ALLOWED


def test_text_files_name_their_encoding():
    """Windows has another than UTF-8 where none is named."""
    bare = [
        f"{path.relative_to(SOURCE)}, line {node.lineno}"
        for path in PACKAGED if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_text", "write_text")
        and "encoding" not in {keyword.arg for keyword in node.keywords}
    ]  # fmt: skip
    assert bare == []


def test_files_keep_apart_where_letter_case_does_not_count():
    names = Counter(path.relative_to(SOURCE).as_posix().lower() for path in PACKAGED)
    assert [name for name, times in names.items() if times > 1] == []


def test_windows_can_have_every_file_of_the_package():
    for path in PACKAGED:
        name = path.relative_to(SOURCE.parent).as_posix()
        assert len(name) <= LONGEST_PATH, name
        assert not re.search(r'[<>:"|?*\\]', name), name
        assert not {part.split(".")[0].lower() for part in path.parts[-3:]} & RESERVED, name


def test_files_with_the_line_ends_of_windows_are_read(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(b'winner,loser,judge\r\na,b,ann\r\nb,c,"ben"\r\n')
    read = read_comparisons(path)
    assert read.items == ("a", "b", "c")
    assert read.judges == {"ann", "ben"}


def test_a_path_longer_than_windows_allows_by_itself_is_written_whole(tmp_path):
    folder = tmp_path.joinpath(*["a folder with a name of some length"] * 8)
    folder.mkdir(parents=True)
    kind = FolderKind("results", ("fit.json",))
    with atomic_folder(folder / "results", kind) as new:
        (new / "fit.json").write_text("{}", encoding="utf-8")
    assert len(str(folder / "results")) > 260
    assert [path.name for path in folder.iterdir()] == ["results"]


def test_files_as_items_are_refused_on_windows_with_the_reason(monkeypatch):
    """And not as if the file were damaged."""
    monkeypatch.setattr(process, "sys", SimpleNamespace(platform="win32"))
    decoder = process.DecodingProcess(FileLimits())
    with pytest.raises(InputError, match="which Windows cannot do; make the study on Linux"):
        decoder.run("image", "a.png", path="a.png")
