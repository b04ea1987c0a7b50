"""The page that an item of the ranking opens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise import text
from tiewise.data.answers import ANSWERS, CODE_OF_STORED
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.items.item_answers import ItemAnswer, item_answers, verdict_counts
from tiewise.study.snapshot_store import Snapshot
from tiewise.study.study import Item, Study
from tiewise.web.judge.items.kind import item_kinds
from tiewise.web.request import NUMBER
from tiewise.web.researcher import charts, wording
from tiewise.web.researcher.estimates import (
    ItemEstimate,
    ShownScale,
    early_sentence,
    item_estimates,
    labels,
    uncompared_note,
)
from tiewise.web.words.language import language

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

PAGE = 100
"""Answers on a page."""
COMMENTS = 10
"""The latest, which are shown here; the page of comments has all."""


class ShownItem(NamedTuple):
    """An item as templates of kinds of item know it."""

    item: Item


class AnswerRow(NamedTuple):
    """An answer about the item in words: what it was compared with, by whom, and when."""

    other: str
    other_name: str
    other_key: int | None
    verdict: str
    words: str
    judge: str
    left_out: bool
    repeat: bool
    side: str
    when: str
    seconds: str


def item_page(request: ResearcherRequest) -> Response:
    """An item of the study, opened by its number in the list."""
    study, number = request.site.study, request.http.path_params["number"]
    ids = list(study.items)
    if not NUMBER.fullmatch(number) or int(number) >= len(ids):
        raise HTTPException(404)
    item = request.site.items[ids[int(number)]]
    counts = verdict_counts(request.site.store, item.id, study.question_id)
    return request.show(
        "researcher/item.html", item=item, key=int(number), label=labels(study)[item.id],
        views=_views(request, item), counts=counts, text=text, wording=wording,
        nouns=text.noun_forms(study.settings.study.noun), translate=language("en").translate,
        side=ShownItem(item), **_estimate(request, item), **_answers(request, item, counts),
        **_comments(request, item),
    )  # fmt: skip


def _views(request: ResearcherRequest, item: Item) -> list[tuple[Any, Any]]:
    """What judges see of the item, kind by kind."""
    views = [(kind, kind.view(request.site, item)) for kind in item_kinds()]
    return [(kind, view) for kind, view in views if view]


# The estimate.


def _estimate(request: ResearcherRequest, item: Item) -> dict[str, Any]:
    snapshot: Snapshot | None = request.site.snapshot_cache.snapshot()
    study = request.site.study
    if snapshot is None:
        return {"row": None, "snapshot": None, "before": None, "after": None, "early": ""}
    shown = ShownScale.of(snapshot.body)
    rows = item_estimates(snapshot.body, study, shown)
    row = next((one for one in rows if one.item == item.id), None)
    before, after = _neighbours(rows, item.id)
    on_map = request.site.maps is not None
    nouns = text.noun_forms(study.settings.study.noun)
    return {
        "row": row, "snapshot": snapshot, "before": before, "after": after, "number": len(rows),
        "bars": charts.interval_bars(rows, shown), "shown_scale": shown,
        "uncompared_note": uncompared_note(on_map=on_map),
        "early": early_sentence(snapshot.comparisons, len(study.items), nouns, on_map=on_map),
    }  # fmt: skip


def _neighbours(
    rows: Sequence[ItemEstimate], item: str
) -> tuple[ItemEstimate | None, ItemEstimate | None]:
    """The items just above and just below in the order of estimates."""
    above = next((one for one, other in pairwise(rows) if other.item == item), None)
    below = next((other for one, other in pairwise(rows) if one.item == item), None)
    return above, below


# The answers.


def _comments(request: ResearcherRequest, item: Item) -> dict[str, Any]:
    """The latest comments on pairs of the item, and how many there are; none for viewers."""
    if not request.may_change or not request.whole_study.settings.reasons.asked:
        return {"comments": [], "commented": 0, "names": {}}
    every = list(CommentStore(request.site.store).all(
        item=item.id, question=request.site.study.question_id
    ))  # fmt: skip
    latest = every[: -COMMENTS - 1 : -1]
    return {"comments": latest, "commented": len(every), "names": labels(request.site.study)}


def _answers(request: ResearcherRequest, item: Item, counts: Any) -> dict[str, Any]:
    """The answers on the page that the address asks for, the latest first."""
    total = sum(counts.values())
    pages = max(-(-total // PAGE), 1)
    asked = request.query("page")
    page = min(int(asked), pages) if NUMBER.fullmatch(asked) and int(asked) else 1
    answers = item_answers(
        request.site.store, item.id, request.site.study.question_id,
        skip=(page - 1) * PAGE, most=PAGE,
    )  # fmt: skip
    excluded = request.site.researcher_store.excluded()
    return {
        "answers": _rows(request.site.study, answers, excluded), "total": total, "page": page,
        "pages": pages, "first": (page - 1) * PAGE + 1,
    }  # fmt: skip


def _rows(study: Study, answers: Sequence[ItemAnswer], excluded: Any) -> list[AnswerRow]:
    names, keys = labels(study), {item: k for k, item in enumerate(study.items)}
    ids = wording.short_ids({answer.judge for answer in answers})
    return [
        AnswerRow(
            one.other, names.get(one.other, one.other), keys.get(one.other), one.verdict,
            _words(study, one), ids[one.judge], one.judge in excluded, one.repeat, one.side,
            wording.moment(one.answered), wording.seconds(one.seconds),
        )
        for one in answers
    ]  # fmt: skip


def _words(study: Study, one: ItemAnswer) -> str:
    """The answer as a researcher reads it; graded ones with their strength."""
    plain = {"chosen": "chosen", "other": "not chosen"}
    if one.verdict not in plain:
        answer = ANSWERS[CODE_OF_STORED[one.outcome]]
        own = study.settings.word(answer.wording, "en")
        return own or language("en").translate(f"answers.{answer.stored}")
    levels = study.scale.levels
    if levels == 1 or one.strength is None or one.strength > levels:
        return plain[one.verdict]
    name = one.outcome if one.strength == 1 else f"{one.outcome}_{one.strength}"
    own = study.settings.word(f"answers.{name}", "en")
    strength = own or language("en").translate(f"answers.more_{one.strength}_of_{levels}")
    return f"{strength}, for {'this one' if one.verdict == 'chosen' else 'the other'}"
