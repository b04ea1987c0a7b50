"""The pages for lists of pairs: how far each is, and quick entry of answers from paper."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.data.answers import Answer
from tiewise.designs.pair_lists import PRACTICE, PairLists
from tiewise.errors import InputError
from tiewise.study.designs.lists import list_progress
from tiewise.study.designs.paper import (
    EnteredAnswer,
    PaperSheet,
    answer_keys,
    enter_answer,
    read_sheet,
    undo_entry,
)
from tiewise.study.signup import clean_line
from tiewise.text import quantity
from tiewise.web.request import NUMBER
from tiewise.web.researcher.request import ResearcherRequest
from tiewise.web.researcher.wording import sentence


class SheetRow(NamedTuple):
    """A pair of a sheet as the page shows it: its number, its items, and the answer if any."""

    number: int
    left: str
    right: str
    practice: bool
    key: str
    answer: str
    entered_by: str


def sheets_page(request: ResearcherRequest) -> Response:
    """How far every list is, and the form for the code of a sheet."""
    return _sheets(request)


def open_sheet(request: ResearcherRequest) -> Response:
    """Go to the sheet with a code."""
    try:
        sheet = _sheet(request, clean_line(request.form.get("code")))
    except InputError as error:
        return _sheets(request, fault=sentence(error))
    return request.redirect(f"/watch/sheets/{sheet.code}")


def _sheets(request: ResearcherRequest, *, fault: str = "") -> Response:
    study = request.whole_study
    rows = list_progress(request.whole_site.store, _lists(request), study.items)
    left = sum(row.left for row in rows)
    return request.show(
        "researcher/sheets.html", status=422 if fault else 200, fault=fault, rows=rows, left=left,
        free=sum(not row.judge for row in rows), on_paper=not study.settings.questions,
        quantity=quantity,
    )  # fmt: skip


def sheet_page(request: ResearcherRequest) -> Response:
    """One sheet: what was entered, and the pair whose answer comes next."""
    return _sheet_page(request, _asked_sheet(request))


def _sheet_page(request: ResearcherRequest, sheet: PaperSheet, *, fault: str = "") -> Response:
    study = request.whole_study
    names = {item.id: item.name for item in study.items.values()}
    keys = answer_keys(study.scale)
    words = {key: _wording(request, answer) for key, answer in keys.items()}
    rows = []
    for k, pair in enumerate(sheet.pairs):
        entered = sheet.answers[k] if k < len(sheet.answers) else None
        key = _key_of(keys, entered) if entered else ""
        rows.append(
            SheetRow(
                k + 1, names[pair.left], names[pair.right], pair.kind == PRACTICE, key,
                words.get(key, ""), entered.entered_by if entered else "",
            )
        )  # fmt: skip
    done = len(sheet.answers)
    return request.show(
        "researcher/sheet.html", status=422 if fault else 200, fault=fault, sheet=sheet, rows=rows,
        done=done, next=rows[done] if done < len(rows) else None, words=words,
    )  # fmt: skip


def _key_of(keys: dict[str, Answer], entered: EnteredAnswer) -> str:
    reply = entered.reply
    return next(
        (key for key, one in keys.items()
         if one.code == reply.answer and (one.strength or None) == (reply.grade or None)), "",
    )  # fmt: skip


def _wording(request: ResearcherRequest, answer: Answer) -> str:
    """The words of an answer in the study's first language."""
    study = request.whole_study
    code = study.settings.study.languages[0]
    own = study.settings.word(answer.wording, code)
    return own or request.whole_site.languages[code].translate(study.scale.wording(answer))


def enter(request: ResearcherRequest) -> Response:
    """Keep the answer of a key; one that came twice changes nothing."""
    sheet = _asked_sheet(request)
    key, place = request.form.get("key"), request.form.get("place")
    keys = answer_keys(request.whole_study.scale)
    if key not in keys or not NUMBER.fullmatch(place):
        raise HTTPException(400)
    by = request.signed_in.name
    enter_answer(request.whole_site.store, sheet, int(place), keys[key], by)
    return request.redirect(f"/watch/sheets/{sheet.code}")


def undo(request: ResearcherRequest) -> Response:
    """Take back the last answer of a sheet."""
    sheet, entered = _asked_sheet(request), request.form.get("entered")
    if not NUMBER.fullmatch(entered):
        raise HTTPException(400)
    undo_entry(request.whole_site.store, sheet, int(entered))
    return request.redirect(f"/watch/sheets/{sheet.code}")


def _lists(request: ResearcherRequest) -> PairLists:
    lists = request.whole_study.design
    if lists is None:
        raise HTTPException(404)
    return lists


def _sheet(request: ResearcherRequest, code: str) -> PaperSheet:
    study = request.whole_study
    if study.settings.questions:
        raise InputError("sheets ask one question, and this study asks several; judge on the site")
    return read_sheet(request.whole_site.store, _lists(request), code, study.items)


def _asked_sheet(request: ResearcherRequest) -> PaperSheet:
    code: Any = request.http.path_params["code"]
    _lists(request)
    try:
        return _sheet(request, str(code))
    except InputError:
        raise HTTPException(404) from None
