"""Dashboard and partner's page of one study at 7, 60 and 600 judgements, in a real browser."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from support.browser import is_wide, violations
from support.simulated_judges import crowd, link_in, meanwhile
from support.site import running
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import TokenPurpose

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
WARDS = 50
FITTING = 180_000
"""Milliseconds for what has to be fitted first, perhaps compiled, on a machine with other work."""


def counts(page: Page) -> list[int]:
    """How often each ward was compared, from the data of the page."""
    drawn = json.loads(page.locator("[data-drawn]").text_content())
    return [figures[7] for figures in drawn["figures"]]


def check_hatching(page: Page) -> int:
    """Wards that nobody compared are hatched on every map, counted in its legend; how many."""
    never = counts(page).count(0)
    for layer in ("quality", "doubt"):
        assert page.locator(f"[data-map={layer}] [data-hatches] use").count() == never
        key = page.locator(f"[data-legend={layer}] [data-hatch-key]")
        if never:
            expect(key).to_contain_text(f"not compared yet ({never})")
        else:
            expect(key).to_be_hidden()
    return never


def strongest_colour(page: Page) -> float:
    """How colourful the map of estimates is where it is most, from 0 to 255, as it is drawn."""
    picture = Image.open(BytesIO(page.locator("[data-map=quality]").screenshot())).convert("RGB")
    return float(np.quantile(np.ptp(np.asarray(picture, dtype=float), axis=2), 0.99))


def check_early(page: Page) -> None:
    """The map is muted and says why; nothing is ranked anywhere."""
    expect(page.locator(".note.early")).to_contain_text(f"7 judgements for {WARDS} areas")
    assert strongest_colour(page) < 30
    expect(page.get_by_role("heading", name="Compared so far")).to_be_visible()
    assert page.locator(".ranked").count() == 0
    assert check_hatching(page) >= WARDS - 14


def check_later(page: Page, heading: str) -> None:
    """The map has its colours, and the order is there."""
    expect(page.locator(".note.early")).to_have_count(0)
    assert strongest_colour(page) > 90
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert page.locator(".ranked tbody tr").count() >= 15
    check_hatching(page)


def look(page: Page, folder: Path, name: str) -> None:
    """The page as axe sees it, and a screenshot for people, at both sizes."""
    for kind, size in (("phone", PHONE), ("desk", DESK)):
        page.set_viewport_size(size)
        assert violations(page) == [], (name, kind)
        assert not is_wide(page), (name, kind)
        page.screenshot(path=folder / f"{name}-{kind}.png", full_page=True)


@pytest.mark.slow
def test_a_map_is_muted_until_there_is_something_to_read(sit, tmp_path):
    """The same open page turns from a muted map without an order to colours with one."""
    Areas.synthetic(WARDS, rng=11).to_gpkg(tmp_path / "wards.gpkg")
    study = create_study(
        tmp_path / "study", question="Which ward is greener?", title="Green wards",
        areas=tmp_path / "wards.gpkg",
    )  # fmt: skip
    names = [item.name for item in study.items.values()]
    truth = dict(zip(names, np.linspace(2.5, -2.5, WARDS), strict=True))
    shared = ResearcherStore(study.store()).make_token(TokenPurpose.SHARE, label="council")
    with running(study.folder) as (url, server):
        dashboard, partner = sit(), sit()
        dashboard.goto(link_in(server))
        dashboard.get_by_role("button", name="Sign in").click()
        dashboard.goto(f"{url}/watch")
        for judges, each, total in ((1, 7, 7), (1, 53, 60), (18, 30, 600)):
            meanwhile(crowd(url, truth, judges=judges, count=each))
            age = dashboard.locator(".age")
            expect(age).to_contain_text(f"From {total} judgements", timeout=FITTING)
            partner.goto(f"{url}/shared/{shared}")
            expect(partner.locator(".lead")).to_contain_text(f"{total} judgements")
            look(dashboard, tmp_path, f"dashboard-{total}")
            look(partner, tmp_path, f"partner-{total}")
            if total == 7:
                check_early(dashboard)
                check_early(partner)
            else:
                check_later(dashboard, "Highest and lowest")
                check_later(partner, "From higher to lower")
        assert check_hatching(partner) == 0
