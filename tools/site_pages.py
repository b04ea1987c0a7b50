"""Pages of the documentation site that are made from the code, written before Sphinx reads them."""

from __future__ import annotations

import shutil
from pathlib import Path

from command_pages import command_pages
from reference_pages import reference_pages


def write_pages(docs: Path) -> None:
    """Write the reference of Python and of the command, and the tutorials as notebooks."""
    for folder, pages in (("python", reference_pages(docs)), ("commands", command_pages())):
        _write(docs / "reference" / folder, pages)
    _write(docs / "_generated" / "notebooks", notebooks(docs))


def notebooks(docs: Path) -> dict[str, str]:
    """Each tutorial as a Jupyter notebook, by the name of its file."""
    pages = sorted((docs / "tutorials").glob("*.md"))
    return {
        page.with_suffix(".ipynb").name: as_notebook(page)
        for page in pages if page.name != "index.md"
    }  # fmt: skip


def as_notebook(page: Path) -> str:
    """A page as a notebook of Python, also where most of its blocks are commands."""
    import jupytext

    kernel = "{display_name: Python 3, language: python, name: python3}"
    header = f"---\njupyter:\n  kernelspec: {kernel}\n---\n\n"
    read = jupytext.reads(header + page.read_text(encoding="utf-8"), fmt="md")
    text: str = jupytext.writes(read, fmt="ipynb")
    return text


def _write(folder: Path, pages: dict[str, str]) -> None:
    """Write what has changed, and remove what is no longer there: Sphinx reads no page twice."""
    folder.mkdir(parents=True, exist_ok=True)
    for place in folder.iterdir():
        if place.name not in pages:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    for name, text in pages.items():
        place = folder / name
        if not place.is_file() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")
