"""A light core: which library belongs to which extra, and what is said where one is missing."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from pandas import DataFrame

from support.command import refusal
from support.everyday import everyday
from support.missing import hide
from test_architecture import LIBRARIES as TABLE
from tiewise.errors import InputError
from tiewise.optional import EXTRAS, explain, install_command
from tiewise.report.briefing import compiled
from tiewise.study.connection import Database
from tiewise.study.media.limits import FileLimits
from tiewise.study.media.process import DecodingProcess
from tiewise.workflows.polars_tables import as_polars

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BROUGHT = {"anyio": "starlette"}
"""What a library that we name brings with it, and could not do without."""
LONGEST_CORE = 15
VOTES = "winner,loser,tie\n" + "a,b,0\nb,c,0\nc,a,0\na,c,1\nb,a,1\nc,b,0\n" * 3


def names(requirements: list[str]) -> set[str]:
    """What requirements ask for, without versions."""
    matches = (re.match(r"[\w.-]+", one) for one in requirements)
    return {match[0].lower() for match in matches if match}


def distribution(library: str) -> set[str]:
    """What has to be installed for a library to be imported."""
    # Some versions write lazy_loader, which is the same name.
    return {name.lower().replace("_", "-") for name in installed().get(library, [library])}


@cache
def installed() -> Mapping[str, list[str]]:
    """The distributions of every package that is there."""
    return packages_distributions()


def test_the_core_is_small():
    assert len(PROJECT["dependencies"]) <= LONGEST_CORE


def test_every_library_of_the_code_is_in_the_core_or_in_an_extra():
    core = names(PROJECT["dependencies"])
    for library in {BROUGHT.get(library, library) for library, _, _ in TABLE}:
        extra = {name for name, libraries in EXTRAS.items() if library in libraries}
        assert bool(distribution(library) & core) != bool(extra), library


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_its_name_promises(extra):
    brought = names(PROJECT["optional-dependencies"][extra])
    for library in EXTRAS[extra]:
        assert distribution(library) & brought, library


def test_all_is_every_extra():
    listed = re.findall(r"\[([\w,]+)\]", " ".join(PROJECT["optional-dependencies"]["all"]))
    assert set(",".join(listed).split(",")) == set(EXTRAS)


def test_one_extra_is_named_where_one_has_all():
    assert install_command(["joblib", "matplotlib"]) == "pip install 'tiewise[plan]'"
    assert install_command(["geopandas", "typst"]) == "pip install 'tiewise[maps,report]'"


def test_a_module_that_is_no_library_of_ours_is_a_fault():
    assert explain(ModuleNotFoundError("no", name="tiewise.nowhere"), "it") is None
    assert explain(ModuleNotFoundError("no"), "it") is None
    words = str(explain(ModuleNotFoundError("no", name="sqlalchemy.orm"), "it"))
    assert words == "it needs sqlalchemy: pip install 'tiewise[site]'"


@pytest.mark.parametrize(
    ("words", "what", "missing", "extra"),
    [
        (["--areas", "map.gpkg"], "a map", "geopandas", "maps"),
        (["--engine", "gibbs", "--no-report"], "Gibbs", "polyagamma", "gibbs"),
    ],
)
def test_a_fit_that_lacks_a_library_says_which_extra_brings_it(
    tmp_path, monkeypatch, words, what, missing, extra
):
    (tmp_path / "votes.csv").write_text(VOTES, encoding="utf-8")
    hide(monkeypatch, missing)
    line = refusal("fit", tmp_path / "votes.csv", *words, "--out", tmp_path / "results")
    assert line == f"tiewise: {what} needs {missing}: pip install 'tiewise[{extra}]'\n"
    assert not (tmp_path / "results").exists()


CORE_ALONE = """
import sys
sys.modules.update(dict.fromkeys({names!r}))  # importing them raises ModuleNotFoundError
from tiewise.cli.main import main
main({words!r}, prog_name="tiewise")
"""
"""A command in a Python that has the libraries of the core alone."""


def with_core_alone(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    extras = {library for libraries in EXTRAS.values() for library in libraries}
    script = CORE_ALONE.format(names=extras, words=list(words))
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )


def test_with_the_core_alone_a_fit_writes_tables_and_says_what_it_left_out(tmp_path):
    (tmp_path / "votes.csv").write_text(VOTES, encoding="utf-8")
    done = with_core_alone(tmp_path, "fit", "votes.csv", "--seed", "1", "--draws", "400")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == (
        "tiewise: note: tables only: a report needs matplotlib and jinja2: "
        "pip install 'tiewise[report]'"
    )
    written = {path.name for path in (tmp_path / "votes-results").iterdir()}
    assert {"items.csv", "parameters.csv", "posterior.nc", "fit.json"} <= written
    assert "report.html" not in written
    assert "Results in votes-results" in done.stdout


NEEDS = [
    (["export", "study"], "tiewise export needs sqlalchemy: pip install 'tiewise[site]'"),
    (["plan", "--items", "9", "--judges", "3"],
     "a plan needs joblib: pip install 'tiewise[plan]'"),
    (["experiment", "delta", "--quick"],
     "an experiment needs joblib, matplotlib and pyarrow: pip install 'tiewise[plan]'"),
    (["data", "south-yorkshire"],
     "fetching a data set needs pooch, requests and rdata: pip install 'tiewise[data]'"),
    (["simulate", "county", "--county", "9"],
     "a map needs geopandas, pyogrio and shapely: pip install 'tiewise[maps]'"),
    (["simulate", "study", "--items", "5", "--parquet"],
     "tiewise simulate needs pyarrow: pip install 'tiewise[data]'"),
    (["new", "study", "--question", "Which?"],
     "tiewise new needs sqlalchemy: pip install 'tiewise[site]'"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "line"), everyday(NEEDS, *NEEDS[:2], NEEDS[4]))
def test_with_the_core_alone_other_commands_say_what_they_need(tmp_path, words, line):
    done = with_core_alone(tmp_path, *words)
    assert (done.returncode, done.stderr) == (2, f"tiewise: {line}\n")
    assert list(tmp_path.iterdir()) == []


def decode(folder: Path) -> None:
    with DecodingProcess(FileLimits()) as process:
        process.run("image", "a.png", path=str(folder / "a.png"))


@pytest.mark.parametrize(
    ("ask", "missing", "line"),
    [
        (lambda folder: Database("postgresql://here/study"), ["psycopg"],
         "PostgreSQL needs psycopg: pip install 'tiewise[postgres]'"),
        (decode, ["nh3"], "a file as an item needs nh3: pip install 'tiewise[media]'"),
        (lambda folder: as_polars(DataFrame()), ["polars"],
         "as_polars needs polars: pip install 'tiewise[polars]'"),
        (lambda folder: compiled(folder / "briefing.typ", {}), ["typst", "matplotlib"],
         "a briefing needs typst and matplotlib: pip install 'tiewise[report]'"),
    ],
)  # fmt: skip
def test_what_lacks_a_library_says_which_extra_brings_it(tmp_path, monkeypatch, ask, missing, line):
    hide(monkeypatch, *missing)
    with pytest.raises(InputError, match=f"^{re.escape(line)}$"):
        ask(tmp_path)
