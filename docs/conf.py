"""Settings of the documentation site, which `make docs` builds with Sphinx."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE.parent)]

from site_pages import write_pages  # noqa: E402  (from tools/)

project = "Tiewise"
author = "the Tiewise project"
version = release = version_of("tiewise")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_design"]
exclude_patterns = ["examples", "reference/examples.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 5
# Blocks such as ```py and ```csv are shown as they are where no lexer knows them.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "text"

# Docstrings are plain prose in which `names` stand in backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
add_module_names = False
toc_object_entries_show_parents = "hide"
nitpicky = True
# Types of other libraries have no pages here, and no third party is asked for theirs.
nitpick_ignore_regex = [("py:.*", r".*")]

html_theme = "pydata_sphinx_theme"
html_title = "Tiewise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
(HERE / "_generated").mkdir(exist_ok=True)
html_extra_path = ["_generated"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Tiewise"},
    "navbar_start": ["navbar-logo"],
    "navbar_center": ["navbar-nav"],
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
copyright = "Tiewise, MIT licence"

OUTSIDE = {
    "README.md": "development/readme.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "CHANGELOG.md": "development/changelog.md",
    "SECURITY.md": "development/threat-model.md",
    "VISION.md": "development/vision.md",
}
"""Files beside the folder of documentation, and the pages that show them."""


def lead_inside(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to files outside the folder lead to the pages that show them, or are plain text."""
    up = "../" * docname.count("/")

    def target(match: re.Match[str]) -> str:
        words, file, anchor = match[1], match[2], match[3] or ""
        return f"[{words}]({up}{OUTSIDE[file]}{anchor})" if file in OUTSIDE else words

    source[0] = re.sub(
        rf"\[([^\]]*)\]\({re.escape(up)}\.\./([\w./-]+)(#[\w-]+)?\)", target, source[0]
    )


def offer_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """A tutorial can be downloaded as the notebook that `write_pages` has made of it."""
    folder, _, name = docname.partition("/")
    if folder == "tutorials" and name != "index":
        link = f'<a href="../notebooks/{name}.ipynb" download>Download this page as a notebook</a>'
        source[0] = source[0].replace("\n\n## ", f"\n\n{link}\n\n## ", 1)


def lead_inside_included(app: Sphinx, path: Path, parent: str, source: list[str]) -> None:
    """Links of a file beside the folder, as they lead from its page in `development/`."""

    def target(match: re.Match[str]) -> str:
        words, file, anchor = match[1], match[2], match[3] or ""
        if file in OUTSIDE:
            return f"[{words}](../{OUTSIDE[file]}{anchor})"
        if file.startswith("docs/"):
            return f"[{words}](../{file.removeprefix('docs/')}{anchor})"
        return words

    source[0] = re.sub(
        r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:)([\w./-]+)(#[\w-]+)?\)", target, source[0]
    )


def setup(app: Sphinx) -> None:
    """Pages that are generated, and links that lead outside."""
    app.connect("builder-inited", lambda app: write_pages(HERE))
    app.connect("source-read", lead_inside)
    app.connect("source-read", offer_notebook)
    app.connect("include-read", lead_inside_included)
