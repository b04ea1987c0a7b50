"""The pages of judging: the choice of groups, pairs, and thanks."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.data.answers import ANSWERS, FIRST, SECOND, on_scale
from tiewise.study.designs.lists import list_sizes
from tiewise.study.inviting.panel_store import PanelStore
from tiewise.study.study import MIN_ITEMS, Item, next_offer
from tiewise.study.values import History, JudgeProgress, Kind, Offer, Reply
from tiewise.web.judge.items.kind import ItemKind, Reading, item_kinds, whole_reading
from tiewise.web.judge.pair_words import last_answer, name_length, what_tells_apart
from tiewise.web.judge.questions import (
    ONE_QUESTION,
    answer_buttons,
    ask_questions,
    layout_of,
    read_replies,
)
from tiewise.web.judge.reasons import next_step_after, reason_due
from tiewise.web.judge.request import JudgeRequest
from tiewise.web.request import NUMBER
from tiewise.web.site import Site

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
    names = study.group_names(request.language.code)
    sizes = [(group, names[group], len(study.known_items([group]))) for group in study.groups]
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
    apart: str
    """What tells the item from the other, where both have one name."""
    length: str
    """The class of its name on its button."""
    reading: Reading | None
    """What of it takes a pane; None where all is short."""


def pair_page(request: JudgeRequest) -> Response:
    """The pair that a judge is asked about."""
    return _pair_page(request)


def _pair_page(request: JudgeRequest, *, see_both: bool = False, missing: bool = False) -> Response:
    """The pair, with what it asks for: that both are opened, or an answer where none came."""
    site, judge = request.site, request.signed_up
    # A new generator for every request: workers must not repeat each other.
    rng = np.random.default_rng(secrets.randbits(128))
    history = site.store.history(judge)
    study = site.paired_study
    first = site.asked(site.study.settings.question_ids[0])
    state = first.snapshot_cache.pairing_state() if study.settings.pairing.adaptive else None
    if reason_due(request, history):
        return request.redirect("/why")
    offer = next_offer(study, site.store, judge, rng, history, state)
    if offer is None:
        return _thanks(request, history.progress, all_seen=True)
    counter = _counter(request, offer, history.progress)
    if site.study.settings.questions:
        drafts = site.store.drafts(offer)
        request, asked = ask_questions(request, history, drafts)
    else:
        asked = ONE_QUESTION
    return request.show(
        asked.template, status=422 if see_both or missing else 200, asked=asked, see_both=see_both,
        missing=missing, **_pair(request, offer, history), **counter,
    )  # fmt: skip


def _pair(request: JudgeRequest, offer: Offer, history: History) -> dict[str, Any]:
    site, translate = request.site, request.language.translate
    code = request.language.code
    items = tuple(site.items[id_].in_language(code) for id_ in (offer.left, offer.right))
    marks = translate("pair.mark_left"), translate("pair.mark_right")
    sides = [
        _side(site, outcome, mark, item, other)
        for outcome, mark, item, other in zip(SIDES, marks, items, items[::-1], strict=True)
    ]
    overviews = [(kind, view) for kind in item_kinds() if (view := kind.overview(site, *items))]
    buttons = answer_buttons(request)
    wordings = {answer.code: wording for answer, wording in buttons}
    several = bool(site.questions or site.study.settings.questions)  # and so were the answers
    past = history.answers if not several else ()
    last = last_answer(past[-1], site.study.items, wordings, code) if past else ""
    # Where answers are ticked, neither a card nor a key is one.
    layout = "" if site.study.settings.questions else layout_of(buttons)
    return {
        "offer": offer, "sides": sides, "buttons": buttons, "layout": layout,
        "overviews": overviews, "marks": marks, "last": last,
    }  # fmt: skip


def _side(site: Site, outcome: str, mark: str, item: Item, other: Item) -> PairSide:
    views = [(kind, view) for kind in item_kinds() if (view := kind.view(site, item))]
    apart = what_tells_apart(item, other)
    length = name_length(item, apart)
    return PairSide(outcome, mark, item, views, apart, length, whole_reading(views))


def _counter(request: JudgeRequest, offer: Offer, progress: JudgeProgress) -> dict[str, Any]:
    settings = request.site.study.settings
    practice = offer.kind == Kind.PRACTICE
    sizes = settings.practice_pairs, settings.study.target
    study, store = request.site.study, request.site.store
    if study.design is not None:
        sizes = list_sizes(store, study.design, request.signed_up, set(study.asked_items))
    made = progress.practice if practice else progress.made
    if study.design is not None and not practice:
        made = progress.pairs
    of = sizes[0] if practice else sizes[1]
    return {"number": made + 1, "of": of, "practice": practice, "answers": sum(progress)}


def save_answer(request: JudgeRequest) -> Response:
    """Save an answer and go on; one that came late or twice changes nothing."""
    site, judge = request.site, request.signed_up
    offer, replies = request.form.get("offer"), read_replies(request)
    if not NUMBER.fullmatch(offer) or replies is None:
        raise HTTPException(400)
    half = bool(request.form.get("half"))
    settings = site.study.settings
    # Pages without scripts show both, and leave the field empty.
    compared = any(on_scale(reply.answer) for reply in replies.values())
    if settings.answers.both_seen and request.form.get("seen") == "no" and compared and not half:
        return _pair_page(request, see_both=True)
    site.store.answer_questions(judge, int(offer), replies, settings.question_ids, finish=not half)
    if half:  # sent by a script while the judge goes on
        return Response(status_code=204)
    if not replies and site.store.open_offer(judge) is not None:
        return _pair_page(request, missing=True)
    reached = False
    if site.study.design is None:  # else the list ends, not the target
        reached = site.store.progress(judge).made == settings.study.target
    path = next_step_after(request, int(offer), reached=reached and _was_compared(request, replies))
    return request.go_on(path)


def _was_compared(request: JudgeRequest, replies: Mapping[str, Reply]) -> bool:
    """Whether the pair was compared, and every question of it answered."""
    if "" in replies:
        return bool(on_scale(replies[""].answer))
    judge, store = request.signed_up, request.site.store
    past = store.history(judge).answers if store.open_offer(judge) is None else ()
    return bool(past) and bool(on_scale(past[-1].answer))


def undo_answer(request: JudgeRequest) -> Response:
    """Take back the last pair, or what is half given of the open one, and show it again."""
    answers, offer = request.form.get("answers"), request.form.get("offer")
    half = request.form.get("half") or "0"
    if not all(NUMBER.fullmatch(number) for number in (answers, half, offer or "0")):
        raise HTTPException(400)
    if int(half):
        request.site.store.drop_drafts(request.signed_up, int(offer or 0), of=int(half))
    else:
        request.site.store.undo(request.signed_up, of=int(answers))
    return request.redirect("/pair")


def thanks_page(request: JudgeRequest) -> Response:
    """How many answers a judge gave, with the offer to go on."""
    return _thanks(request, request.site.store.progress(request.signed_up))


def _thanks(request: JudgeRequest, progress: JudgeProgress, *, all_seen: bool = False) -> Response:
    study, store, judge = request.site.study, request.site.store, request.signed_up
    settings, target, done = study.settings, study.settings.study.target, progress.made
    if study.design is None:
        reached, complete = done >= target, done >= target or all_seen
    else:
        target = list_sizes(store, study.design, judge, set(study.asked_items))[1]
        done = progress.pairs
        # Whoever has no list yet, or found none left, has made nothing that is paid for.
        reached = 0 < target <= done
        all_seen, complete = all_seen or reached, reached or (all_seen and done > 0)
    panel = settings.panel if settings.panel.identifiers and complete else None
    if panel is not None and not PanelStore(store).is_from_panel(judge):
        panel = None
    return request.show(
        "judge/thanks.html", progress=progress, answers=sum(progress), all_seen=all_seen,
        reached=reached, phase=request.site.phase, panel=panel, target=target,
        listed=study.design is not None,
    )  # fmt: skip
