"""Printing sheets: a PDF with the pairs of each judge, large, and a code on every page."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tiewise.data.answers import Answer
from tiewise.designs.pair_lists import PRACTICE, ListedPair
from tiewise.errors import InputError
from tiewise.folders import check_output_file
from tiewise.report.briefing import compiled
from tiewise.sheets.pictures import SheetMaps, copy_pictures, draw_map, pair_pictures
from tiewise.study.designs.paper import answer_keys
from tiewise.study.study import Study
from tiewise.web.words.language import Language
from tiewise.web.words.of_study import study_languages

SIDES = ("left", "right")
SIZE, SMALLEST, LARGEST = 14, 9, 24
"""Points of the letters; 14 is what guides to large print ask for at least."""
MAP_HEIGHT = 80
"""Of a pair's map, in millimetres: two pairs to a page."""
KEYWORD = b"Tiewise sheets"


def print_sheets(
    study: Study,
    *,
    out: str | Path,
    language: str | None = None,
    size: float = SIZE,
    codes: Sequence[str] = (),
    force: bool = False,
) -> Path:
    """Write the sheets of a study with a design as PDF, or those with these codes.

    They are in a language of the study, by default its first, from right to left where it is
    written so; `size` is that of letters, in points.
    """
    place = Path(out)
    if place.suffix.lower() != ".pdf":
        raise InputError(f"{place} does not end in .pdf; name it so (out=)")
    check_output_file(place, "sheets of ours", [b"%PDF-"], force=force, text=KEYWORD)
    if not SMALLEST <= size <= LARGEST:
        raise InputError(f"letters of {SMALLEST} to {LARGEST} points fit, not {size:g} (size=)")
    lists = _lists(study)
    languages = study_languages(study)
    code = language or study.settings.study.languages[0]
    if code not in languages:
        raise InputError(
            f"this study offers {', '.join(languages)}, not {code!r}; add it to study.languages"
        )
    names = [lists.named_by(one) for one in codes] or list(lists.lists)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with as_file(files("tiewise.sheets") / "templates" / "sheets.typ") as template:
            shutil.copy2(template, folder / "sheets.typ")
        values = _values(study, languages[code], names, folder) | {"size": size}
        inputs = {"values": json.dumps(values, ensure_ascii=False, allow_nan=False)}
        pdf = compiled(folder / "sheets.typ", inputs)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(pdf)
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror}); name another") from error
    return place


def _lists(study: Study) -> Any:
    if study.design is None:
        raise InputError(
            f"{study.folder} has no design.csv; make one with `tiewise design`, and a new study "
            "with that design"
        )
    if study.settings.questions:
        raise InputError("sheets ask one question, and this study asks several; judge on the site")
    return study.design


def _values(study: Study, words: Language, names: Sequence[str], folder: Path) -> dict[str, Any]:
    """Everything that the template shows."""
    lists, settings = _lists(study), study.settings
    maps = SheetMaps(study.areas) if study.areas is not None else None
    if maps is not None:
        draw_map(maps, folder, MAP_HEIGHT)
    pictures = {} if maps is not None else copy_pictures(study, folder)
    marks = [words.translate(f"pair.mark_{side}") for side in SIDES]
    boxes = [
        {"key": key, "words": _wording(study, answer, words), "mark": _mark(answer, marks)}
        for key, answer in answer_keys(study.scale).items()
    ]
    return {
        "title": settings.word("study.title", words.code),
        "question": settings.word("study.question", words.code),
        "language": words.code, "direction": words.direction,
        "map_height": MAP_HEIGHT, "aspect": None if maps is None else maps.aspect,
        "tick": words.translate("sheet.tick"), "practice": words.translate("sheet.practice"),
        "marks": marks,
        "boxes": boxes,
        "sheets": [
            {
                "name": name, "code": lists.codes[name], "qr": qr_code(lists.codes[name]),
                "pairs": [
                    _pair(study, pair, words.code) | pair_pictures(pair, maps, pictures, marks)
                    for pair in lists.lists[name]
                ],
            }
            for name in names
        ],
    }  # fmt: skip


def _pair(study: Study, pair: ListedPair, language: str) -> dict[str, Any]:
    left, right = (study.items[item].in_language(language) for item in (pair.left, pair.right))
    return {
        "left": left.name, "right": right.name, "practice": pair.kind == PRACTICE,
        "groups": [left.group, right.group] if study.groups else ["", ""],
    }  # fmt: skip


def _wording(study: Study, answer: Answer, words: Language) -> str:
    own = study.settings.word(answer.wording, words.code)
    return own or words.translate(study.scale.wording(answer))


def _mark(answer: Answer, marks: Sequence[str]) -> str:
    """The letter of the item that an answer chooses, if it chooses one."""
    return "" if answer.chosen is None else marks[SIDES.index(answer.chosen)]


def qr_code(text: str) -> str:
    """A QR code that machines read, as SVG; a third of it may be smudged."""
    import segno

    code = segno.make_qr(text, error="h")
    return code.svg_inline(border=4, scale=4, omitsize=True)
