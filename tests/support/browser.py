"""A real browser for tests: Debian's chromium, and axe to look at what it shows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

# How long to wait for what is to be seen; a machine with other work takes its time.
PATIENCE = 20_000
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser; where there is none the test is left out, unless it must not be."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium here; `make test` installs one")
        pytest.skip("no chromium here")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def violations(page: Page) -> list[str]:
    """What axe finds against WCAG 2.2 AA, and where."""
    result = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
    assert len(result.response["passes"]) > 10
    return [
        f"{one['id']}: {node['target']}"
        for one in result.response["violations"]
        for node in one["nodes"]
    ]


def is_wide(page: Page) -> bool:
    """Whether the page has to be scrolled sideways."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    return wide
