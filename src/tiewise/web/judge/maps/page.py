"""The page of the map: the pair that a judge is asked about, enlarged."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import Response

from tiewise.data.answers import ANSWERS, FIRST, SECOND
from tiewise.study.study import Item
from tiewise.web.judge.maps.windows import SURROUNDINGS
from tiewise.web.judge.request import JudgeRequest

SIDES = (ANSWERS[FIRST].stored, ANSWERS[SECOND].stored)


class MapSide(NamedTuple):
    """One side of the pair: its answer, its mark, its item, its area's number and a point of it."""

    outcome: str
    mark: str
    item: Item
    number: int
    x: float
    y: float


def map_page(request: JudgeRequest) -> Response:
    """The map of the open pair, of both areas or around one; without one, back to the pairs.

    With scripts it can be moved and enlarged, and the page of a pair shows it in a box of its own.
    """
    site = request.site
    offer = site.store.open_offer(request.signed_up)
    maps, code = site.maps, request.language.code
    if offer is None or maps is None or not {offer.left, offer.right} <= maps.numbers.keys():
        return request.redirect("/pair")
    ids = offer.left, offer.right
    items = [site.study.items[id_].in_language(code) for id_ in ids]
    marks = [request.language.translate(f"pair.mark_{side}") for side in SIDES]
    sides = [
        MapSide(side, mark, item, maps.numbers[item.id], *maps.middle(item.id))
        for side, mark, item in zip(SIDES, marks, items, strict=True)
    ]
    asked = request.query("show")
    shown = asked if asked in SIDES else "all"
    values: dict[str, Any] = {"detail": maps.detail_href(code), "frame": maps.frame}
    if shown == "all":
        values["overview"] = maps.pair_overview(*ids)
    else:
        values["area"] = maps.shown(ids[SIDES.index(shown)], SURROUNDINGS)
    return request.show("judge/map.html", sides=sides, marks=marks, shown=shown, **values)
