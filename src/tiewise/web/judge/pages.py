"""The pages of judging: the choice of groups, pairs, and thanks."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.data.answers import ANSWERS, FIRST, SECOND, Answer
from tiewise.study.study import MIN_ITEMS, Item, next_offer
from tiewise.study.values import JudgeProgress, Kind, Offer
from tiewise.web.judge.items.kind import ItemKind, item_kinds
from tiewise.web.judge.request import JudgeRequest
from tiewise.web.request import NUMBER

SIDES = (ANSWERS[FIRST].stored, ANSWERS[SECOND].stored)

# Groups.


def groups_page(request: JudgeRequest) -> Response:
    """The form for the groups that a judge knows."""
    return _groups(request, request.site.store.groups_of(request.signed_up))


def save_groups(request: JudgeRequest) -> Response:
    """Save the groups that a judge knows, if they hold enough items to compare."""
    study = request.site.study
    ticked = set(request.form.all("group"))
    chosen = [group for group in study.groups if group in ticked]
    if request.form.get("all"):
        return _groups(request, study.groups)
    if len(study.known_items(chosen)) < MIN_ITEMS:
        return _groups(request, chosen, status=422)
    request.site.store.set_groups(request.signed_up, chosen)
    return request.redirect("/pair")


def _groups(request: JudgeRequest, ticked: Collection[str], status: int = 200) -> Response:
    study = request.site.study
    if not study.groups:
        return request.redirect("/pair")
    sizes = [(group, len(study.known_items([group]))) for group in study.groups]
    overview = request.site.maps.group_overview(study.groups) if request.site.maps else None
    return request.show(
        "judge/groups.html", status=status, groups=sizes, ticked=set(ticked), too_few=status != 200,
        map=overview,
    )  # fmt: skip


# Pairs.


class PairSide(NamedTuple):
    """One side of a pair: its answer, its mark, its item, and what is shown of it."""

    outcome: str
    mark: str
    item: Item
    views: list[tuple[ItemKind, Any]]


def pair_page(request: JudgeRequest) -> Response:
    """The pair that a judge is asked about."""
    site, judge = request.site, request.signed_up
    # A new generator for every request: workers must not repeat each other.
    rng = np.random.default_rng(secrets.randbits(128))
    history = site.store.history(judge)
    adaptive = site.study.settings.pairing.adaptive
    state = site.snapshot_cache.pairing_state() if adaptive else None
    offer = next_offer(site.study, site.store, judge, rng, history, state)
    if offer is None:
        return _thanks(request, history.progress, all_seen=True)
    counter = _counter(request, offer, history.progress)
    return request.show("judge/pair.html", **_pair(request, offer), **counter)


def _pair(request: JudgeRequest, offer: Offer) -> dict[str, Any]:
    site, translate = request.site, request.language.translate
    items = site.study.items[offer.left], site.study.items[offer.right]
    marks = translate("pair.mark_left"), translate("pair.mark_right")
    sides = [
        PairSide(
            outcome, mark, item, [(k, view) for k in item_kinds() if (view := k.view(site, item))]
        )
        for outcome, mark, item in zip(SIDES, marks, items, strict=True)
    ]
    overviews = [(kind, view) for kind in item_kinds() if (view := kind.overview(site, *items))]
    buttons = [(answer, _wording(request, answer)) for answer in site.study.scale.answers]
    return {
        "offer": offer, "sides": sides, "buttons": buttons,
        "overviews": overviews, "marks": marks,
    }  # fmt: skip


def _wording(request: JudgeRequest, answer: Answer) -> str:
    own = request.site.study.settings.word(answer.wording, request.language.code)
    return own or request.language.translate(answer.wording)


def _counter(request: JudgeRequest, offer: Offer, progress: JudgeProgress) -> dict[str, Any]:
    settings = request.site.study.settings
    practice = offer.kind == Kind.PRACTICE
    made, of = (
        (progress.practice, settings.pairing.practice)
        if practice else (progress.made, settings.study.target)
    )  # fmt: skip
    return {"number": made + 1, "of": of, "practice": practice, "answers": sum(progress)}


def save_answer(request: JudgeRequest) -> Response:
    """Save an answer and go on; one that came late or twice changes nothing."""
    site, judge = request.site, request.signed_up
    offer = request.form.get("offer")
    choice = site.study.scale.stored(request.form.get("outcome"))
    if not NUMBER.fullmatch(offer) or choice is None:
        raise HTTPException(400)
    site.store.answer(judge, int(offer), choice.code)
    reached = site.store.progress(judge).made == site.study.settings.study.target
    return request.redirect("/thanks" if reached and choice.on_scale else "/pair")


def undo_answer(request: JudgeRequest) -> Response:
    """Take back the last answer, and show its pair again."""
    answers = request.form.get("answers")
    if not NUMBER.fullmatch(answers):
        raise HTTPException(400)
    request.site.store.undo(request.signed_up, of=int(answers))
    return request.redirect("/pair")


def thanks_page(request: JudgeRequest) -> Response:
    """How many answers a judge gave, with the offer to go on."""
    return _thanks(request, request.site.store.progress(request.signed_up))


def _thanks(request: JudgeRequest, progress: JudgeProgress, *, all_seen: bool = False) -> Response:
    reached = progress.made >= request.site.study.settings.study.target
    return request.show(
        "judge/thanks.html", progress=progress, answers=sum(progress), all_seen=all_seen,
        reached=reached, phase=request.site.phase,
    )  # fmt: skip
