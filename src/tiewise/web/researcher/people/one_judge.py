"""The page of one judge: who they are where that is known, figures, flags, and every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise import text
from tiewise.data.answers import ANSWERS, CODE_OF_STORED
from tiewise.study.asking.judge_answers import JudgeAnswer, judge_answers, known_judge
from tiewise.study.connection import now
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.study import Study
from tiewise.web.request import NUMBER
from tiewise.web.researcher import wording
from tiewise.web.researcher.estimates import labels
from tiewise.web.words.language import language

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

PAGE = 100
"""Answers on a page."""


class ShownAnswer(NamedTuple):
    """An answer in words."""

    left: str
    right: str
    words: str
    repeat: str
    when: str
    seconds: str


def judge_page(request: ResearcherRequest) -> Response:
    """A judge of the study, opened by their id."""
    judge, site = request.http.path_params["judge"], request.site
    known = known_judge(site.store, judge)
    if known is None:
        raise HTTPException(404)
    rows = {row["judge"]: row for row in site.snapshot_cache.judges()}
    left_out = {row["judge"]: row for row in site.researcher_store.exclusions()}
    return request.show(
        "researcher/judge.html", judge=judge, known=known, row=rows.get(judge),
        label=InvitationStore(site.store).labels().get(judge, ""), wording=wording, text=text,
        short=wording.short_id(judge), left_out=left_out.get(judge), now=now(),
        **_answers(request, judge),
    )  # fmt: skip


def _answers(request: ResearcherRequest, judge: str) -> dict[str, Any]:
    """The answers on the page that the address asks for, the latest first."""
    study = request.site.study
    every = judge_answers(request.site.store, judge, study.question_id)
    pages = max(-(-len(every) // PAGE), 1)
    asked = request.query("page")
    page = min(max(int(asked), 1), pages) if NUMBER.fullmatch(asked) else 1
    names, first = labels(study), (page - 1) * PAGE
    return {
        "answers": [_shown(study, names, one) for one in every[first : first + PAGE]],
        "total": len(every), "page": page, "pages": pages, "first": first + 1,
    }  # fmt: skip


def _shown(study: Study, names: dict[str, str], one: JudgeAnswer) -> ShownAnswer:
    repeat = {
        None: "",
        True: "shown again, answered alike",
        False: "shown again, answered otherwise",
    }
    return ShownAnswer(
        names.get(one.left, one.left), names.get(one.right, one.right), _words(study, one),
        repeat[one.alike], wording.moment(one.answered), wording.seconds(one.seconds),
    )  # fmt: skip


def _words(study: Study, one: JudgeAnswer) -> str:
    """The answer as a researcher reads it; graded ones with their strength."""
    answer, levels = ANSWERS[CODE_OF_STORED[one.outcome]], study.scale.levels
    if answer.chosen is None:
        own = study.settings.word(answer.wording, "en")
        return own or language("en").translate(f"answers.{answer.stored}")
    side = f"{answer.chosen} one"
    if levels == 1 or one.strength is None or one.strength > levels:
        return side
    strength = language("en").translate(f"answers.more_{one.strength}_of_{levels}")
    return f"{side}, {strength.lower()}"
