"""Sheets as PDF: names, boxes with their numbers, codes, languages and maps."""

from __future__ import annotations

import numpy as np
import pypdfium2
import pytest
import zxingcpp
from PIL import Image
from pypdfium2.raw import FPDFText_GetFontSize

from support.site import edited
from tiewise.designs.design import make_design
from tiewise.designs.prior import DesignPrior
from tiewise.designs.wish import DesignWish
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.sheets.print_sheets import print_sheets
from tiewise.study.create import create_study
from tiewise.study.study import Study


def design_for(items: tuple[str, ...], place, *, judges: int = 2, per_judge: int = 5) -> None:
    wish = DesignWish(
        items=items, judges=tuple(f"Judge {k + 1}" for k in range(judges)), per_judge=per_judge,
        practice=1,
    )  # fmt: skip
    prior = DesignPrior(np.zeros(len(items)), np.eye(len(items)), np.array([0.5]))
    make_design(wish, prior).lists.write(place / "design.csv")


def pages_of(path) -> list[tuple[str, list[str], Image.Image]]:
    """The text, codes and picture of each page."""
    out = []
    for page in pypdfium2.PdfDocument(path):
        picture = page.render(scale=2).to_pil()
        codes = [one.text for one in zxingcpp.read_barcodes(picture)]
        out.append((page.get_textpage().get_text_range(), codes, picture))
    return out


@pytest.fixture
def study(tmp_path) -> Study:
    Image.new("RGB", (60, 40), "red").save(tmp_path / "red.png")
    (tmp_path / "items.csv").write_text(
        "item,name,image\na,Ash,red.png\nb,Birch,\nc,Cedar,\nd,Dogwood,\n", encoding="utf-8"
    )
    design_for(tuple("abcd"), tmp_path)
    return create_study(
        tmp_path / "study", question="Which is taller?", items=tmp_path / "items.csv",
        design=tmp_path / "design.csv",
    )  # fmt: skip


def test_every_page_has_the_code_of_its_sheet_and_every_pair_its_boxes(study, tmp_path):
    pages = pages_of(print_sheets(study, out=tmp_path / "sheets.pdf"))
    assert study.design is not None
    codes = study.design.codes
    assert {code for _, (code,), _ in pages} == set(codes.values())
    for text, (code,), _ in pages:
        assert code in text
    text = " ".join(text for text, _, _ in pages)
    for word in ("Which is taller?", "Ash", "Dogwood", "About equal", "I don’t know"):
        assert word in text
    assert text.count("About equal") == 2 * 6  # a practice pair and five others, twice


def test_pictures_of_items_are_printed(study, tmp_path):
    pages = pages_of(print_sheets(study, out=tmp_path / "sheets.pdf"))
    red = [np.all(np.asarray(picture)[..., :3] == (255, 0, 0), axis=-1) for *_, picture in pages]
    assert any(part.sum() > 1000 for part in red)


def test_one_sheet_alone_is_printed_by_its_code(study, tmp_path):
    assert study.design is not None
    code = study.design.codes["Judge 2"]
    pages = pages_of(print_sheets(study, out=tmp_path / "one.pdf", codes=[code], size=11))
    assert {code for _, (code,), _ in pages} == {code}


def test_sheets_are_printed_from_right_to_left(study, tmp_path):
    swaps = {'languages = ["en"]': 'languages = ["ar"]', "unread = []": 'unread = ["ar"]'}
    arabic = edited(study, swaps)
    (_, (code,), picture), *_ = pages_of(print_sheets(arabic, out=tmp_path / "ar.pdf"))
    dark = np.asarray(picture.convert("L")) < 100
    heading = dark[int(0.04 * len(dark)) : int(0.1 * len(dark))]
    half = heading.shape[1] // 2
    assert heading[:, :half].sum() > heading[:, half:].sum()  # the code stands on the left
    assert code.startswith("1-")


def words_at(path) -> list[tuple[float, float, str]]:
    """The words of the first page: across and down, in points, and the word."""
    page = pypdfium2.PdfDocument(path)[0]
    text = page.get_textpage()
    boxes = [text.get_rect(k) for k in range(text.count_rects())]
    return [
        (left, page.get_height() - bottom, text.get_text_bounded(left, bottom, right, top).strip())
        for left, bottom, right, top in boxes
    ]


@pytest.mark.parametrize("language", ["en", "ar"])
def test_left_is_left_in_every_language(study, tmp_path, language):
    """The item that is shown on the left on the site stands on the left, and so does its box."""
    assert study.design is not None
    swaps = {'left = ""': 'left = "LEFTBOX"', 'right = ""': 'right = "RIGHTBOX"'}
    if language == "ar":
        swaps |= {'languages = ["en"]': 'languages = ["ar"]', "unread = []": 'unread = ["ar"]'}
    words = words_at(print_sheets(edited(study, swaps), out=tmp_path / "one.pdf"))
    names = {item.name for item in study.items.values()}
    shown = sorted((down, left, word) for left, down, word in words if word in names)
    first = [word for _, _, word in shown[:2]]
    pair = next(iter(study.design.lists.values()))[0]
    assert first == [study.items[pair.left].name, study.items[pair.right].name]
    boxes = sorted((left, word) for left, _, word in words if word.endswith("BOX"))
    assert [word.split()[-1] for _, word in (boxes[0], boxes[-1])] == ["LEFTBOX", "RIGHTBOX"]


def test_large_print_is_as_large_as_was_asked_for(study, tmp_path):
    """The letters of an item's name, in points; 14 where nothing is said."""
    names = {item.name for item in study.items.values()}
    for size, options in ((14, {}), (20, {"size": 20})):
        pdf = print_sheets(study, out=tmp_path / f"{size}.pdf", **options)
        page = pypdfium2.PdfDocument(pdf)[0].get_textpage()
        places = [page.search(name, match_whole_word=True).get_next() for name in names]
        sizes = {round(FPDFText_GetFontSize(page, place[0]), 1) for place in places if place}
        assert sizes == {float(size)}


def test_a_map_shows_both_areas(tmp_path):
    areas = Areas.synthetic(9, rng=5)
    areas.to_gpkg(tmp_path / "wards.gpkg")
    design_for(areas.items, tmp_path, judges=1, per_judge=9)
    study = create_study(
        tmp_path / "study", question="Which is greener?", areas=tmp_path / "wards.gpkg",
        design=tmp_path / "design.csv",
    )  # fmt: skip
    pages = pages_of(print_sheets(study, out=tmp_path / "sheets.pdf"))
    for *_, picture in pages[:-1]:
        dark = np.asarray(picture.convert("L"))[300:] < 60
        assert dark.mean() > 0.01  # an area in black


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "sheets.txt"}, "does not end in .pdf"),
        ({"size": 40}, "letters of 9 to 24 points fit, not 40"),
        ({"language": "fr"}, "this study offers en, not 'fr'"),
        ({"codes": ["9-ABC"]}, "no sheet has the code"),
    ],
)
def test_what_cannot_be_printed_gets_one_line(study, tmp_path, options, message):
    options = {"out": "sheets.pdf"} | options
    with pytest.raises(InputError, match=message):
        print_sheets(study, **options | {"out": tmp_path / options["out"]})


def test_a_study_without_a_design_has_no_sheets(tmp_path):
    (tmp_path / "items.csv").write_text("item\na\nb\n", encoding="utf-8")
    study = create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    with pytest.raises(InputError, match=r"has no design.csv; make one with `tiewise design`"):
        print_sheets(study, out=tmp_path / "sheets.pdf")
