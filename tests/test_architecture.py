"""The floor plan of docs/architecture.md: who imports whom, which library is used where, names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
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
    name: str
    line: int
    when: str  # "at the top", "when used" or "for types"

    @property
    def library(self) -> str:
        return self.name.split(".")[0]

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}, imports {self.name} {self.when}"


# The code.


def module_name(path: Path) -> str:
    """`model/kernels` for src/tiewise/model/kernels.py; a folder is known by its `__init__`."""
    return path.relative_to(SOURCE).with_suffix("").as_posix()


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
# Steps of a database from version to version; Alembic reads them from their folder.
MIGRATIONS = ("study/migrations", "hosting/migrations")


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
            if isinstance(child, STATEMENTS):
                yield from walk(child, _when(node, child, when))

    return walk(parsed(text), "at the top")


# What may hold an import; expressions cannot.
STATEMENTS = ast.stmt, ast.ExceptHandler, ast.match_case


@cache
def parsed(text: str) -> ast.Module:
    """The syntax of a module, parsed once for all tests."""
    return ast.parse(text)


def _when(node: ast.AST, child: ast.AST, when: str) -> str:
    if isinstance(node, ast.If) and child in node.body and "TYPE_CHECKING" in ast.dump(node.test):
        return "for types"
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return "when used" if inside and when == "at the top" else when


@cache
def all_imports() -> list[Import]:
    """Every import of every module; read once, and not by every process that collects tests."""
    return [
        one
        for module, path in MODULES.items()
        for one in imports_of(module, path.read_text(encoding="utf-8"))
    ]


def own_imports(imports: list[Import]) -> list[tuple[Import, str]]:
    """Imports of our own modules, each with the module it leads to."""
    return [(one, target_of(one.name)) for one in imports if one.library == "tiewise"]


def target_of(name: str) -> str:
    """The module that holds a name: `model/kernels` for tiewise.model.kernels.margins."""
    parts = name.split(".")[1:]
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        if path in MODULES:
            return path
        if f"{path}/__init__" in MODULES:
            return f"{path}/__init__"
    return "__init__"


# The page.


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


FOLDERS = {names(folder)[0]: names(may) for folder, may in table("folder", "may import")}
LIBRARIES = [
    (library, place, when)
    for cell, places, when in table("library", "only in", "imported")
    for library in names(cell)
    for place in names(places)
]


def within(module: str, place: str) -> bool:
    """Whether a module is that place, or in that folder."""
    return module == place or module.startswith(f"{place}/")


def row_of(module: str) -> str:
    """The folder of the table that a module belongs to; the longest that fits."""
    rows = [folder for folder in FOLDERS if within(module, folder)]
    assert rows, f"{module} is in no folder of the table in docs/architecture.md"
    return max(rows, key=len)


def forbidden(imports: list[Import]) -> list[str]:
    """Imports of ours that the table does not allow; within a folder all are."""
    return [
        str(one)
        for one, target in own_imports(imports)
        if not within(target, row_of(one.module))
        and not any(within(target, place) for place in FOLDERS[row_of(one.module)])
    ]


def misplaced(imports: list[Import]) -> list[str]:
    """Imports of libraries in places, or at times, that the table does not allow."""
    foreign = [one for one in imports if one.library not in {*sys.stdlib_module_names, "tiewise"}]
    return [str(one) for one in foreign if one.when != "for types" and not _allowed(one)]


def _allowed(one: Import) -> bool:
    return any(
        one.library == library and within(one.module, place) and when in (one.when, "at the top")
        for library, place, when in LIBRARIES
    )


def cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """A cycle of this graph, where there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def import_graph(imports: list[Import]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for one, target in own_imports(imports):
        if target != one.module:
            graph[one.module].add(target)
    return graph


def public_classes() -> Iterator[tuple[str, str]]:
    """Every public class with its module."""
    for module, path in MODULES.items():
        for node in parsed(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, module


def names_in(text: str) -> Iterator[tuple[str, int]]:
    """Every name that a file gives to something: variables, parameters, functions, attributes."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


# What must hold.


def test_folders_import_only_what_the_table_allows():
    assert forbidden(all_imports()) == []


def test_the_tables_speak_of_folders_and_modules_that_are_there():
    known = {*MODULES, *(path.rsplit("/", 1)[0] for path in MODULES if "/" in path), *MIGRATIONS}
    named = {*FOLDERS, *(place for may in FOLDERS.values() for place in may)}
    assert named | {place for _, place, _ in LIBRARIES} <= known


def test_folders_do_not_import_each_other_in_circles():
    """Between the rows of the table arrows run one way."""
    graph = {
        folder: {other for other in FOLDERS if any(within(other, place) for place in may)}
        - {folder}
        for folder, may in FOLDERS.items()
    }
    assert cycle(graph) is None


def test_modules_do_not_import_each_other_in_circles():
    assert cycle(import_graph(all_imports())) is None


def test_engines_do_not_know_each_other():
    from tiewise.engines import ENGINES

    engines = {f"engines/{path.split(':')[0]}" for path in _engine_modules(ENGINES)}
    assert len(engines) >= 6
    assert [
        str(one) for one, target in own_imports(all_imports())
        if one.module in engines and target in engines - {one.module}
    ] == []  # fmt: skip


def _engine_modules(registry: object) -> set[str]:
    """The modules of the engines in the registry."""
    text = MODULES["engines/__init__"].read_text(encoding="utf-8")
    return set(re.findall(r"tiewise\.engines\.(\w+)", text))


def test_nobody_imports_the_command():
    assert [
        str(one) for one, target in own_imports(all_imports())
        if within(target, "cli") and not within(one.module, "cli")
    ] == []  # fmt: skip


def test_libraries_are_imported_only_where_and_when_the_table_says():
    assert misplaced(all_imports()) == []


def test_the_table_lists_no_library_where_it_is_not_used():
    used = [one for one in all_imports() if one.when != "for types"]
    idle = [
        f"{library} in {place}" for library, place, when in LIBRARIES
        if not any(
            one.library == library and within(one.module, place) and one.when == when
            for one in used
        )
    ]  # fmt: skip
    assert idle == []


def test_no_public_class_name_is_used_twice():
    modules: dict[str, list[str]] = {}
    for name, module in public_classes():
        modules.setdefault(name, []).append(module)
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}


OURS = ("tests", "tools", "benchmarks")
# These words say what happened to a thing, not what it is.
RIDDLES = {"chance", "told", "said", "found", "wanted", "given"}


def test_names_say_what_things_are():
    beside = [one for name in OURS for one in sorted((ROOT / name).rglob("*.py"))]
    paths = [*MODULES.values(), *beside]
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}
    anywhere = re.compile(rf"\b_*({'|'.join(RIDDLES)})_*\b", re.IGNORECASE)
    assert [
        f"{path}, line {line}: {name}"
        for path, text in texts.items() if anywhere.search(text)
        for name, line in names_in(text) if name.lower().strip("_") in RIDDLES
    ] == []  # fmt: skip


def test_a_folder_has_few_modules_and_one_sentence():
    folders: dict[str, list[str]] = {}
    for module in MODULES:
        folder, _, name = module.rpartition("/")
        if folder and name != "__init__" and not any(within(module, place) for place in MIGRATIONS):
            folders.setdefault(folder, []).append(name)
    assert {name: len(all_) for name, all_ in folders.items() if len(all_) > 16} == {}
    for folder in folders:
        text = MODULES[f"{folder}/__init__"].read_text(encoding="utf-8")
        sentence = (ast.get_docstring(parsed(text)) or "").splitlines()[0]
        assert sentence.endswith("."), folder


def test_every_folder_of_tests_has_its_folder_of_code():
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    # The images and the wheel are of the whole repository.
    folders -= {Path("deploy")}
    assert len(folders) > 40
    assert {folder for folder in folders if not (SOURCE / folder).is_dir()} == set()


def test_what_a_test_imports_most_deeply_is_of_its_folder():
    """A test that imports from one folder within its own alone lies in that folder."""
    astray = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.parent.relative_to(ROOT / "tests").as_posix()
        imports = imports_of(folder, path.read_text(encoding="utf-8"))
        own = {target for _, target in own_imports(list(imports)) if within(target, folder)}
        homes = {target.rpartition("/")[0] for target in own}
        if len(homes) == 1 and homes != {folder}:
            astray.append(f"{path.name} of {folder} is about {homes.pop()}")
    assert astray == []


def test_what_is_generated_in_the_page_is_up_to_date(monkeypatch):
    """`make figures` was run; figures of coverage and seconds stand as they were recorded."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import figures

    record = figures.json.loads(figures.RECORD.read_text(encoding="utf-8"))
    record["now"] |= figures.structure() | figures.walkthrough_counts()
    page = PAGE
    for name, content in figures.generated_blocks(record).items():
        page = figures.replace_block(page, name, content)
    assert page == PAGE


@pytest.mark.parametrize(
    ("module", "line", "check"),
    [
        ("model/kernels", "from tiewise.posterior.fit import fit", forbidden),
        ("model/bradley_terry", "import tiewise.engines.gibbs", forbidden),
        ("posterior/summaries", "from tiewise.report.html import write_report", forbidden),
        ("study/study", "from tiewise.model.bradley_terry import BradleyTerry", forbidden),
        ("workflows/analyse", "from tiewise.cli.main import main", forbidden),
        ("model/bradley_terry", "import numba", misplaced),
        ("geo/areas", "import geopandas", misplaced),
        ("posterior/summaries", "from matplotlib.figure import Figure", misplaced),
        ("data/counts", "def f():\n    import torch", misplaced),
    ],
)
def test_a_wrong_import_would_be_noticed(module, line, check):
    """These very checks, shown a module that breaks a rule."""
    assert len(check(list(imports_of(module, line)))) == 1


def test_a_cycle_would_be_noticed():
    wrong = [*all_imports(), *imports_of("data/counts", "import tiewise.model.bradley_terry")]
    assert cycle(import_graph(wrong))


def test_imports_are_read_wherever_they_stand():
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
            from tiewise.model import kernels
"""
    imports = [(one.name, one.when) for one in imports_of("model/kernels", text)]
    assert imports[2:] == [
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
    maps_and_pictures = {"geopandas", "matplotlib", "pyogrio", "shapely"}
    others = {"arviz_base", "arviz_stats", "duckdb", "openpyxl", "polars", "pooch", "rdata"}
    assert (maps_and_pictures | others) & loaded == set()


def test_every_public_name_can_be_had():
    """The stubs lead to something of that name, and what is public has words about itself."""
    import tiewise

    assert len(tiewise.__all__) > 50
    for package in (tiewise, tiewise.study, tiewise.web):
        for name in package.__all__:
            thing = getattr(package, name)
            assert thing.__name__.rpartition(".")[2] == name
            assert thing.__doc__, name


def walks() -> list[list[str]]:
    """The lists of modules of the page."""
    part = PAGE.split("## Three walks")[1].split("## ")[0]
    return [re.findall(r"^\d+\. `([^`]+)`", walk, re.M) for walk in part.split("**From ")[1:]]


def reached_from(module: str) -> set[str]:
    """Modules that this one leads to, by imports or by the name of a module in its text."""
    graph = import_graph(all_imports())
    reached: set[str] = set()
    ahead = [module]
    while ahead:
        if (one := ahead.pop()) not in reached:
            reached.add(one)
            named = re.findall(r"\btiewise(?:\.\w+)+", MODULES[one].read_text(encoding="utf-8"))
            ahead += [*graph[one], *map(target_of, named)]
    return reached


def test_three_walks_pass_at_most_twenty_modules_without_a_step_back():
    assert len(walks()) == 3
    for walk in walks():
        assert 10 < len(walk) <= 20
        assert len(set(walk)) == len(walk)
        assert set(walk) <= reached_from(walk[0])
