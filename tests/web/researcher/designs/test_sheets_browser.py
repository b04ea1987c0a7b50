"""A sheet is printed, its code read back by machine, and its answers entered in a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pypdfium2
import pytest
import zxingcpp
from numpy.random import default_rng
from playwright.sync_api import Page

from support.browser import is_wide, violations
from support.command import done
from support.site import copy_study, running
from tiewise.data.answers import CODE_OF_STORED
from tiewise.engines.laplace import Laplace
from tiewise.model.build import build_model
from tiewise.posterior.fit import fit
from tiewise.study.export import comparisons
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study, next_offer
from web.researcher.designs.test_sheets import make_study

KEYS = "132013"
WIDTHS = (360, 1280)
STORED = {"1": "left", "2": "tie", "3": "right", "0": "skip"}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    return make_study(tmp_path_factory.mktemp("printed"))


def codes_on(pdf: Path) -> list[str]:
    """The codes on the pages of a PDF, as a camera would see them at 100 dots an inch."""
    pages = pypdfium2.PdfDocument(pdf)
    codes = []
    for page in pages:
        picture = page.render(scale=100 / 72).to_pil()
        codes += [one.text for one in zxingcpp.read_barcodes(picture)]
    return codes


def looked_at(page: Page) -> None:
    """As axe sees the page on a phone and on a desk, where it is not to be scrolled sideways."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert violations(page) == [], (page.url, width)
        assert not is_wide(page), (page.url, width)


@pytest.mark.slow
def test_a_printed_sheet_comes_back_as_if_it_had_been_judged_on_the_site(template, tmp_path, sit):
    study = copy_study(template, tmp_path / "study")
    done("sheets", study.folder, "--out", tmp_path / "sheets.pdf")
    assert study.design is not None
    codes = codes_on(tmp_path / "sheets.pdf")
    assert list(dict.fromkeys(codes)) == list(study.design.codes.values())
    with running(study.folder, "--no-live") as (url, _):
        secret = ResearcherStore(study.store()).invite_researcher("Ada")
        page = sit()
        page.goto(f"{url}/sign-in/{secret}")
        page.get_by_role("button").last.click()
        page.goto(f"{url}/watch/sheets")
        page.fill("#code", codes[0])
        page.keyboard.press("Enter")
        page.wait_for_selector("text=0 of 6 entered")
        page.keyboard.press("3")
        page.wait_for_selector("text=1 of 6 entered")
        page.keyboard.press("Backspace")
        page.wait_for_selector("text=0 of 6 entered")
        for number, key in enumerate(KEYS, 1):
            page.keyboard.press(key)
            page.wait_for_selector(f"text={number} of 6 entered")
            if number == 3:
                looked_at(page)
        page.wait_for_selector("text=The sheet is complete")
        looked_at(page)
        page.goto(f"{url}/watch/sheets")
        assert "on paper" in page.content()
        looked_at(page)
    paper = comparisons(study.store())
    # The same on the site, put there as its pages do.
    other = copy_study(template, tmp_path / "other")
    store = other.store()
    new = store.add_judge(consent="1", language="en", about={})
    assert new is not None
    for key in KEYS:
        offer = next_offer(other, store, new.judge, default_rng(1))
        assert offer is not None
        assert store.answer(new.judge, offer.id, CODE_OF_STORED[STORED[key]])
    site = comparisons(store)
    assert paper.counts().digest() == site.counts().digest()
    results = [
        fit(build_model(one.counts()), Laplace(), rng=1).posterior["quality"].to_numpy()
        for one in (paper, site)
    ]
    assert np.array_equal(*results)
