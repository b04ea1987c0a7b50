"""Kinds of item: each has a template, and the page of a pair shows what an item has."""

from __future__ import annotations

import pytest
from PIL import Image

from support.form_browser import Visitor
from support.item_files import saved
from tiewise.study.create import create_study
from tiewise.web.app import make_app
from tiewise.web.judge.items.kind import item_kinds
from tiewise.web.rendering import templates

KINDS = item_kinds()

LIST = "name,description,image\nAsh,,ash.png\nBirch,Tall & <slender>,birch.png\n"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_has_a_template_that_shows_an_item(kind):
    assert callable(templates().get_template(kind.template).module.item)


def test_names_of_kinds_differ():
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_an_item_may_have_an_image_and_a_text(tmp_path):
    (tmp_path / "items.csv").write_text(LIST, encoding="utf-8")
    (tmp_path / "ash.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side
    (tmp_path / "birch.png").write_bytes(saved(Image.new("L", (60, 40)), "PNG", exif=exif))
    study = create_study(tmp_path / "study", question="Which?", items=tmp_path / "items.csv")
    page = Visitor(make_app(study, study.store(), secret="k" * 40)).join().answer.text
    assert page.count("<img ") == 2
    assert 'alt="Ash"' in page
    # The room that a picture takes is known before it is there, unless its file is damaged.
    assert page.count(' width="40" height="60" ') == page.count(" width=") == 1
    assert '<p class="description" dir="auto">Tall &amp; &lt;slender&gt;</p>' in page
    assert "<svg" not in page
