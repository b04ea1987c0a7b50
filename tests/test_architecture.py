"""The house as docs/architecture.md draws it: who imports whom, and which library is used where."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tiewise"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


class Import(NamedTuple):
    """One name that a module imports: from where, on which line, and when."""

    module: str
    wanted: str
    line: int
    when: str  # "at the top", "when used" or "for types"

    @property
    def library(self) -> str:
        return self.wanted.split(".")[0]

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}, imports {self.wanted} {self.when}"


# The code, read.


def module_name(path: Path) -> str:
    """`core.model` for model/bradley_terry.py; a package is known by its `__init__`."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
PACKAGES = {name.removesuffix(".__init__") for name in MODULES if name.endswith(".__init__")}
# Steps of a database from version to version; Alembic reads them from their folder.
MIGRATIONS = "study.migrations"


def imports_of(module: str, text: str) -> Iterator[Import]:
    """Every import of a module, wherever it stands."""

    def walk(node: ast.AST, when: str) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, when)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}, line {node.lineno}: imports are written out in full"
            for alias in node.names:
                yield Import(module, f"{node.module}.{alias.name}", node.lineno, when)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, _when(node, child, when))

    return walk(ast.parse(text), "at the top")


def _when(node: ast.AST, child: ast.AST, when: str) -> str:
    if isinstance(node, ast.If) and child in node.body and "TYPE_CHECKING" in ast.dump(node.test):
        return "for types"
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    return "when used" if inside and when == "at the top" else when


def every_import() -> list[Import]:
    found = []
    for module, path in MODULES.items():
        found += imports_of(module, path.read_text(encoding="utf-8"))
    return found


EVERY = every_import()


def ours(found: list[Import]) -> list[tuple[Import, str]]:
    """Imports of our own modules, each with the module it leads to."""
    return [(one, home_of(one.wanted)) for one in found if one.library == "tiewise"]


def home_of(wanted: str) -> str:
    """The module that holds a name: `core.model` for tiewise.model.bradley_terry.BradleyTerry."""
    parts = wanted.split(".")[1:]
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in MODULES:
            return name
        if f"{name}.__init__" in MODULES:
            return f"{name}.__init__"
    return "__init__"


# The page, read.


def table(*headings: str) -> list[list[str]]:
    """The rows of the table of the page that has these headings."""
    lines = PAGE.splitlines()
    start = lines.index(f"| {' | '.join(headings)} |")
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


ROOMS = {names(room)[0]: names(may) for room, may in table("room", "may import of ours")}
LIBRARIES = [
    (library, place, when)
    for cell, places, when in table("library", "only in", "imported")
    for library in names(cell)
    for place in names(places)
]


def within(module: str, place: str) -> bool:
    """Whether a module is that place, or in that room."""
    return module == place or module.startswith(f"{place}.")


def may_import(module: str) -> list[str]:
    """What the most particular row that speaks of a module allows."""
    rows = [room for room in ROOMS if within(module, room)]
    assert rows, f"{module} is in no room of the table; give it a row in docs/architecture.md"
    return ROOMS[max(rows, key=len)]


def trespasses(found: list[Import]) -> list[str]:
    """Imports of ours that the table does not allow."""
    return [
        str(one)
        for one, home in ours(found)
        if not any(within(home, place) for place in may_import(one.module))
    ]


def strays(found: list[Import]) -> list[str]:
    """Imports of libraries in places, or at times, that the table does not allow."""
    foreign = [one for one in found if one.library not in {*sys.stdlib_module_names, "tiewise"}]
    return [str(one) for one in foreign if one.when != "for types" and not _allowed(one)]


def _allowed(one: Import) -> bool:
    return any(
        one.library == library and within(one.module, place) and when in (one.when, "at the top")
        for library, place, when in LIBRARIES
    )


def in_circles(found: list[Import]) -> list[str] | None:
    """A circle among our modules, where there is one."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for one, home in ours(found):
        graph[one.module].add(home)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


# What must hold.


def test_every_module_is_drawn():
    """The plan of the rooms names every file, and no file that is not there."""
    plan = PAGE.split("```")[1]
    drawn, room = set(), ""
    for line in plan.splitlines():
        if match := re.match(r"( +)(\w+)(\.py|/)", line):
            deep = len(match[1]) > 2
            room = "" if not deep else room
            if match[3] == "/":
                room = room if deep else f"{match[2]}."
            else:
                drawn.add(f"{room}{match[2]}")
    doors = {f"{package}.__init__" for package in PACKAGES}
    steps = {module for module in MODULES if within(module, MIGRATIONS)}
    assert drawn == set(MODULES) - doors - steps


def test_rooms_import_only_what_the_table_allows():
    assert trespasses(EVERY) == []


def test_the_table_speaks_of_modules_that_are_there():
    known = {*MODULES, *PACKAGES, MIGRATIONS}
    said = {*ROOMS, *(place for may in ROOMS.values() for place in may)}
    assert said | {place for _, place, _ in LIBRARIES} <= known


def test_engines_do_not_know_each_other():
    shared = {"engines.chains", "engines.peak", "engines.chart", "engines.__init__"}
    # A model with terms has a chart of several modules, of which engines know the last.
    shared |= {f"engines.{part}" for part in ("layers", "arrow", "scales", "scale_lines")}
    shared |= {"engines.layered_chart"}
    engines = {module for module in MODULES if within(module, "engines")} - shared
    assert len(engines) >= 4
    assert [
        str(one) for one, home in ours(EVERY) if one.module in engines and home in engines
    ] == []


def test_only_fit_brings_engines_into_the_results():
    those = {
        one.module for one, home in ours(EVERY)
        if within(home, "engines") and within(one.module, "results")
    }  # fmt: skip
    assert those == {"results.fit"}


def test_nobody_imports_the_command():
    assert [str(one) for one, home in ours(EVERY) if home == "cli"] == []
    assert not any(within("cli", place) for may in ROOMS.values() for place in may)


def test_no_imports_in_circles():
    assert in_circles(EVERY) is None


def test_libraries_are_imported_only_where_and_when_the_table_says():
    assert strays(EVERY) == []


def test_the_table_lists_no_library_where_it_is_not_used():
    used = [one for one in EVERY if one.when != "for types"]
    idle = [
        f"{library} in {place}" for library, place, when in LIBRARIES
        if not any(
            one.library == library and within(one.module, place) and one.when == when
            for one in used
        )
    ]  # fmt: skip
    assert idle == []


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("core.model", "from tiewise.posterior.fit import fit", trespasses),
        ("core.model", "import tiewise.engines.gibbs", trespasses),
        ("engines.gibbs", "from tiewise.engines import transport", trespasses),
        ("results.folder", "from tiewise.engines.base import Draws", trespasses),
        ("analysis", "from tiewise.cli.main import main", trespasses),
        ("core.model", "import numba", strays),
        ("core.areas", "import geopandas", strays),
        ("results.summaries", "from matplotlib.figure import Figure", strays),
        ("core.counts", "def f():\n    import torch", strays),
    ],
)
def test_a_wrong_import_would_be_noticed(module, line, complaint):
    """These very checks, shown a module that breaks a rule."""
    assert len(complaint(list(imports_of(module, line)))) == 1


def test_a_circle_would_be_noticed():
    assert in_circles([*EVERY, *imports_of("core.counts", "import tiewise.model.bradley_terry")])


def test_imports_are_found_wherever_they_stand():
    text = """
import json
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import pandas
else:
    import numba
class A:
    import scipy
    def f(self):
        try:
            import numpy.linalg
        except ImportError:
            from tiewise.core import kernels
"""
    found = [(one.wanted, one.when) for one in imports_of("core.model", text)]
    assert found[2:] == [
        ("pandas", "for types"), ("numba", "at the top"), ("scipy", "at the top"),
        ("numpy.linalg", "when used"), ("tiewise.model.kernels", "when used"),
    ]  # fmt: skip


# What is loaded when the program runs.

HEAVY = {
    "arviz_base", "arviz_stats", "geopandas", "matplotlib", "numba", "pandas", "pyarrow", "scipy",
    "shapely", "xarray",
}  # fmt: skip
LOADED = "\nimport sys\nprint('loaded', *sorted(sys.modules))"


def loaded_by(script: str, folder: Path) -> set[str]:
    """The modules that are loaded once a script has run in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script + LOADED],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "script",
    [
        "import tiewise; dir(tiewise)",
        "from tiewise.cli.main import main; main(['--help'], standalone_mode=False)",
        "from tiewise.cli.main import main; main(['fit', '--help'], standalone_mode=False)",
    ],
)
def test_a_greeting_loads_nothing_heavy(script, tmp_path):
    loaded = loaded_by(script, tmp_path)
    assert "tiewise" in loaded
    assert HEAVY & loaded == set()


def test_a_fit_without_map_and_pictures_loads_what_it_needs_and_no_more(tmp_path):
    rows = ["winner,loser,tie", *["a,b,0", "b,c,0", "c,a,0", "a,c,1", "b,a,1", "c,b,0"] * 3]
    (tmp_path / "votes.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    script = """
from tiewise.cli.main import main
main(["fit", "votes.csv", "--no-report", "--seed", "1", "--draws", "400"], standalone_mode=False)
"""
    loaded = loaded_by(script, tmp_path)
    assert (tmp_path / "votes-results" / "items.csv").is_file()
    assert "tiewise.engines.transport" in loaded
    maps_and_pictures = {"geopandas", "libpysal", "matplotlib", "pyogrio", "shapely"}
    others = {"arviz_base", "arviz_stats", "duckdb", "openpyxl", "polars", "pooch", "rdata"}
    assert (maps_and_pictures | others) & loaded == set()


def test_every_public_name_can_be_had():
    """The table of names in `__init__` leads to something of that name."""
    import tiewise

    assert all(getattr(tiewise, name).__name__ == name for name in tiewise.__all__)
