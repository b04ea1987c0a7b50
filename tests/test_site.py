"""The documentation site: built without warnings, asks no third party, and its tutorials run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

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


def built_site(folder: Path) -> Path:
    """The site, built as `make docs` builds it: a warning is an error."""
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", folder / "cache", ROOT / "docs"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, words), str(folder / "site")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder / "site"


@pytest.mark.slow
def test_the_site_is_built_without_warnings_asks_nobody_for_anything_and_finds(tmp_path, browser):
    """One test, as the site takes half a minute of a processor to build."""
    pytest.importorskip("sphinx")
    pytest.importorskip("pydata_sphinx_theme")
    site = built_site(tmp_path)
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
    assert {path.stem for path in (site / "notebooks").glob("*.ipynb")} == {
        path.stem for path in TUTORIALS
    }
    pages_found = found_without_network(site, browser, "half-normal")
    assert "priors.html" in pages_found
    assert all((site / target).is_file() for target in pages_found)


def found_without_network(site: Path, browser: Browser, words: str) -> set[str]:
    """The pages that the site's own search finds, opened as a file."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q={words}")
    page.locator(".search-summary", has_text="Search finished").wait_for()
    links = page.locator("#search-results li a").all()
    targets = {str(link.get_attribute("href")).split("#")[0] for link in links}
    context.close()
    return targets


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
