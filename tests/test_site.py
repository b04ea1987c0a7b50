"""The documentation site: built without warnings, asks no third party, and its tutorials run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

from site_pages import as_notebook  # noqa: E402  (from tools/)

TUTORIALS = sorted(
    path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.name != "index.md"
)


def test_there_is_a_tutorial_for_each_kind_of_user():
    assert {path.stem for path in TUTORIALS} == {
        "map", "models", "running-study", "scripts", "sports"
    }  # fmt: skip


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_asks_nobody_for_anything(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("pydata_sphinx_theme")
    words = [
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(tmp_path / "cache"),
    ]
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, *words, str(ROOT / "docs"), str(site)], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > 90
    for page in pages:
        text = page.read_text(encoding="utf-8")
        # Links that a reader may follow are no requests; these are.
        assert not re.findall(r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//[^\"]+", text)
        assert not re.findall(r"<link[^>]+href=\"(?:https?:)?//[^\"]+", text), page
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.findall(r"(?:@import|url\()[\s\"']*(?:https?:)?//", text), sheet
    assert (site / "searchindex.js").stat().st_size > 100_000
    assert {path.stem for path in (site / "notebooks").glob("*.ipynb")} == {
        path.stem for path in TUTORIALS
    }


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_as_a_notebook(page, tmp_path, monkeypatch):
    pytest.importorskip("jupytext")
    client, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    here = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.reads(as_notebook(page), as_version=4)
    assert any(cell.cell_type == "code" for cell in notebook.cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    client.NotebookClient(notebook, timeout=300, startup_timeout=300, resources=resources).execute()
