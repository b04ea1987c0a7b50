"""What a judge sees: which groups they know, pair after pair, and thanks."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.researcher_store import Phase
from tiewise.study.study import FEWEST, Item, next_offer
from tiewise.study.values import Judge, Kind, Offer, Outcome, Progress
from tiewise.web.judge.maps import Mark
from tiewise.web.request import NUMBER, Page, Site, Visit


def way(site: Site, judge: Judge | None) -> str:
    """Where somebody is on their way: what they have yet to do comes first."""
    if judge is None or judge.consent != site.study.settings.consent.version:
        return "/begin"
    return "/groups" if site.study.groups and not judge.chose else "/pair"


def for_judges(made: Page, *, still: Collection[str] = ()) -> Page:
    """A page for judges only; others, and those who have something yet to do, go there first."""

    def only(visit: Visit) -> Response:
        if visit.judge is None:
            return visit.go("/")
        place = way(visit.site, visit.judge)
        return made(visit) if place == "/pair" or place in still else visit.go(place)

    return only


def while_open(made: Page) -> Page:
    """A page that is there while judges may judge; else one that says why it is not."""
    return _unless(made, (Phase.PAUSED, Phase.CLOSED))


def until_closed(made: Page) -> Page:
    """A page that is there until the study is closed: answers to what is on a screen are kept."""
    return _unless(made, (Phase.CLOSED,))


def _unless(made: Page, phases: Collection[Phase]) -> Page:
    def only(visit: Visit) -> Response:
        phase = visit.site.phase
        if phase not in phases:
            return made(visit)
        refused = visit.request.method == "POST"
        return visit.show("shut.html", status=409 if refused else 200, phase=phase)

    return only


def _judge(visit: Visit) -> Judge:
    assert visit.judge is not None
    return visit.judge


# Groups.


def groups(visit: Visit) -> Response:
    """Which groups do you know?"""
    return _groups(visit, visit.site.store.knows(_judge(visit)))


def choose_groups(visit: Visit) -> Response:
    """Keep the groups that a judge knows, if anything can be compared in them."""
    study = visit.site.study
    wanted = set(visit.form.all("group"))
    chosen = [group for group in study.groups if group in wanted]
    if visit.form.get("all"):
        return _groups(visit, study.groups)
    if len(study.known_items(chosen)) < FEWEST:
        return _groups(visit, chosen, status=422)
    visit.site.store.know(_judge(visit), chosen)
    return visit.go("/pair")


def _groups(visit: Visit, ticked: Collection[str], status: int = 200) -> Response:
    study = visit.site.study
    if not study.groups:
        return visit.go("/pair")
    sizes = [(group, len(study.known_items([group]))) for group in study.groups]
    drawn = visit.site.maps.groups(study.groups) if visit.site.maps else None
    return visit.show(
        "groups.html", status=status, groups=sizes, ticked=set(ticked), too_few=status != 200,
        map=drawn,
    )  # fmt: skip


# Pairs.


class Side(NamedTuple):
    """One of the two: how it is answered, marked, and shown."""

    outcome: str
    mark: str
    item: Item
    picture: Mark | None
    image: str


def pair(visit: Visit) -> Response:
    """The pair that is before a judge."""
    site, judge = visit.site, _judge(visit)
    # A source of its own for every request: workers must not repeat each other.
    chance = np.random.default_rng(secrets.randbits(128))
    history = site.store.history(judge)
    adaptive = site.study.settings.pairing.policy != "uniform"
    standing = site.latest.standing() if adaptive else None
    offer = next_offer(site.study, site.store, judge, chance, history, standing)
    if offer is None:
        return _thanks(visit, history.progress, all_seen=True)
    counter = _counter(visit, offer, history.progress)
    return visit.show("pair.html", **_pair(visit, offer), **counter)


def _pair(visit: Visit, offer: Offer) -> dict[str, Any]:
    site, say = visit.site, visit.language.say
    ids, marks = (offer.left, offer.right), (say("pair.mark_left"), say("pair.mark_right"))
    sides = [
        Side(
            outcome, mark, item := site.study.items[id_],
            site.maps.enlarged(id_) if site.maps else None, _image(site, item),
        )
        for outcome, mark, id_ in zip(("left", "right"), marks, ids, strict=True)
    ]  # fmt: skip
    return {
        "offer": offer, "sides": sides, "outcomes": site.study.outcomes(),
        "map": site.maps.both(*ids) if site.maps else None, "marks": marks,
        "wording": {outcome.value: _wording(visit, outcome) for outcome in Outcome},
    }  # fmt: skip


def _wording(visit: Visit, outcome: Outcome) -> str:
    said = visit.site.study.settings.word(f"answers.{outcome}", visit.language.code)
    return said or visit.language.say(f"answers.{outcome}")


def _image(site: Site, item: Item) -> str:
    there = site.images.get(item.image)
    return site.to(f"/image/{quote(item.id, safe='')}?v={there.digest}") if there else ""


def _counter(visit: Visit, offer: Offer, progress: Progress) -> dict[str, Any]:
    settings = visit.site.study.settings
    practice = offer.kind == Kind.PRACTICE
    made, of = (
        (progress.practice, settings.pairing.practice)
        if practice else (progress.made, settings.study.target)
    )  # fmt: skip
    return {"number": made + 1, "of": of, "practice": practice, "answers": sum(progress)}


def answer(visit: Visit) -> Response:
    """Keep an answer and go on; one that came late or twice changes nothing."""
    site, judge = visit.site, _judge(visit)
    offer, outcome = visit.form.get("offer"), visit.form.get("outcome")
    if not NUMBER.fullmatch(offer) or outcome not in site.study.outcomes():
        raise HTTPException(400)
    site.store.answer(judge, int(offer), Outcome(outcome))
    reached = site.store.progress(judge).made == site.study.settings.study.target
    return visit.go("/thanks" if reached and outcome != Outcome.SKIP else "/pair")


def undo(visit: Visit) -> Response:
    """Take the last answer back, and show its pair again."""
    answers = visit.form.get("answers")
    if not NUMBER.fullmatch(answers):
        raise HTTPException(400)
    visit.site.store.undo(_judge(visit), of=int(answers))
    return visit.go("/pair")


def thanks(visit: Visit) -> Response:
    """What a judge has done, with the offer to go on."""
    return _thanks(visit, visit.site.store.progress(_judge(visit)))


def _thanks(visit: Visit, progress: Progress, *, all_seen: bool = False) -> Response:
    reached = progress.made >= visit.site.study.settings.study.target
    return visit.show(
        "thanks.html", progress=progress, answers=sum(progress), all_seen=all_seen,
        reached=reached, phase=visit.site.phase,
    )  # fmt: skip
