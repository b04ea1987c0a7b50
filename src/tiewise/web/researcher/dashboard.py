"""What a researcher sees of a running study: overview, items, history; and what partners see."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from tiewise.posterior.reliability import Verdict, verdict
from tiewise.study.judge_store import now
from tiewise.study.snapshot_store import Snapshot
from tiewise.web.researcher import charts, choropleth, wording
from tiewise.web.researcher.estimates import (
    ORDERS,
    Estimate,
    connection,
    ends,
    estimates,
    labels,
    nouns,
    ordered,
    thinnest,
)
from tiewise.web.researcher.forecast import forecast, told
from tiewise.web.researcher.history import MISSING, Extremes, Frame, extremes

if TYPE_CHECKING:
    from tiewise.web.researcher.request import Watch

PARTS = (
    "age",
    "numbers",
    "enough",
    "days",
    "order",
    "ranked",
    "ties",
    "coverage",
    "legend-quality",
    "legend-doubt",
    "data",
)
"""The pieces of the overview that change; each is a template."""


def overview(watch: Watch) -> Response:
    """The study at a glance."""
    return watch.show("watch/overview.html", **_overview(watch))


def fresh(watch: Watch) -> Response:
    """What has changed on the overview since the mark that the page had; 204 where nothing has."""
    if watch.request.query_params.get("after", "") == _mark(watch):
        return Response(status_code=204)
    wanted = watch.request.query_params.get("only", "")
    if wanted == "age":
        return watch.show("watch/fresh.html", parts=("age",), **_age(watch))
    return watch.show("watch/fresh.html", parts=PARTS, **_overview(watch))


def items(watch: Watch) -> Response:
    """Every item with what is known of it."""
    by = watch.request.query_params.get("by", "rank")
    by = by if by in ORDERS else "rank"
    told_ = _age(watch) | _estimates(watch, watch.site.latest.snapshot())
    rows: list[Estimate] = told_["rows"]
    return watch.show(
        "watch/items.html",
        **told_ | {"rows": ordered(rows, by), "by": by, "paintings": [choropleth.coverage(rows)]},
        words=ORDERS[by].words,
        connection=connection(rows, told_["nouns"]),
    )


def history(watch: Watch) -> Response:
    """Earlier pictures, to be replayed or looked at one by one."""
    snapshot = _chosen(watch)
    frames_ = watch.site.past.frames() if snapshot else []
    # One scale for all moments, so that they can be told from each other.
    scale = extremes(frames_)
    return watch.show(
        "watch/history.html", frames=frames_, scale=scale,
        **_estimates(watch, snapshot, scale if frames_ else None),
    )  # fmt: skip


def _chosen(watch: Watch) -> Snapshot | None:
    """The snapshot that the address asks for, else the latest."""
    at = watch.request.query_params.get("at", "")
    if not at:
        return watch.site.latest.snapshot()
    found = watch.site.past.one(int(at)) if at.isdecimal() and len(at) < 10 else None
    if found is None:
        raise HTTPException(404)
    return found


def frames(watch: Watch) -> Response:
    """The pictures of a replay: items in the order of the study, in hundredths."""
    return JSONResponse([_told(frame) for frame in watch.site.past.frames()])


def _told(frame: Frame) -> dict[str, Any]:
    return {
        "id": frame.id, "made": frame.made.isoformat(timespec="seconds"),
        "comparisons": frame.comparisons, "reliability": round(frame.reliability, 4),
        "median": [None if value == MISSING else value for value in frame.median],
        "sd": [None if value == MISSING else value for value in frame.sd],
    }  # fmt: skip


def shared(watch: Watch) -> Response:
    """The map and the order for partners; nothing of judges."""
    snapshot = watch.site.latest.snapshot()
    told_ = _estimates(watch, snapshot)
    return watch.show("watch/shared.html", verdict=_verdict(watch, snapshot), **told_)


# What pages are told.


def _mark(watch: Watch) -> str:
    """Changes whenever there is something new to see."""
    snapshot, failure = watch.site.latest.snapshot(), watch.site.latest.failure()
    known = str(snapshot.id) if snapshot else f"n{_so_far(watch)}"
    failed = f"f{failure.since.timestamp():.0f}" if failure else ""
    return f"{known}.{failed}.{watch.site.phase}"


def _so_far(watch: Watch) -> int:
    return sum(day.comparisons for day in watch.site.pace.tally().days)


def _age(watch: Watch) -> dict[str, Any]:
    """How old the picture is, and whether something is amiss with it."""
    snapshot = watch.site.latest.snapshot()
    return {
        "now": now(), "snapshot": snapshot, "failure": watch.site.latest.failure(),
        "live": watch.site.live, "mark": _mark(watch), "base": watch.base, "spoken": wording,
        "waiting": 0 if snapshot else _so_far(watch),
    }  # fmt: skip


def _overview(watch: Watch) -> dict[str, Any]:
    age = _age(watch)
    found = age | _estimates(watch, age["snapshot"])
    return found | _numbers(watch, age["now"]) | _sureness(watch, found)


def _numbers(watch: Watch, at: datetime) -> dict[str, Any]:
    """How much was done, by how many, and when it will be what is wanted."""
    tally, snapshot = watch.site.pace.tally(), watch.site.latest.snapshot()
    days, goal = tally.days, watch.site.study.settings.study.goal
    done = sum(day.comparisons for day in days)
    found = _verdict(watch, snapshot)
    wanted = goal or (done + found.more if found.more else 0)
    expected = forecast(wanted, done, days, begun=tally.begun, now=at) if wanted else None
    return {
        "done": done, "goal": goal, "wanted": wanted,
        "today": sum(day.comparisons for day in days if day.day == at.date()),
        "turnout": tally.turnout(at), "left_out": len(watch.site.ledger.excluded()),
        "columns": charts.columns(days, at.date()),
        "forecast": told(expected, at) if expected else "",
    }  # fmt: skip


def _sureness(watch: Watch, found: dict[str, Any]) -> dict[str, Any]:
    """Whether it is enough, how that came about, and what is thin."""
    snapshot, rows = found["snapshot"], found["rows"]
    past = watch.site.past.frames() if snapshot else []
    wanted = watch.site.study.settings.study.reliability
    trend = charts.trend([(frame.comparisons, frame.reliability) for frame in past], wanted)
    return {
        "verdict": _verdict(watch, snapshot), "trend": trend, "ends": ends(rows),
        "dots": None if found["ground"] else charts.dots(rows),
        "curve": charts.tie_curve(snapshot.body["tie_curve"]) if snapshot else None,
        "thin": thinnest(rows), "connection": connection(rows, found["nouns"]),
    }  # fmt: skip


def _verdict(watch: Watch, snapshot: Snapshot | None) -> Verdict:
    wanted = watch.site.study.settings.study.reliability
    return verdict(snapshot.body if snapshot else None, wanted=wanted)


def _estimates(
    watch: Watch, snapshot: Snapshot | None, scale: Extremes | None = None
) -> dict[str, Any]:
    """Items, and how they are drawn: on a scale of their own, or on this one."""
    study, site = watch.site.study, watch.site
    rows = estimates(snapshot.body, study) if snapshot else []
    about = study.settings.study
    ends_ = {"lower": about.lower, "higher": about.higher}
    paintings = [
        choropleth.quality(rows, **ends_, most=scale.median if scale else None),
        choropleth.doubt(rows, least=0.0, most=scale.sd) if scale else choropleth.doubt(rows),
    ]
    return {
        "snapshot": snapshot, "rows": rows, "spans": charts.spans(rows), "spoken": wording,
        "ground": site.maps.ground if site.maps and rows else None, "paintings": paintings,
        "of": {row.item: row for row in rows}, "nouns": nouns(about.noun),
        "names": list(labels(study).values()), "drawn": _drawn(rows, paintings, len(study.items)),
    }  # fmt: skip


def _drawn(
    rows: list[Estimate], paintings: list[choropleth.Painting], items_: int
) -> dict[str, Any]:
    """What the script needs to colour the map and to tell of an area, by place in the study."""
    by_key = {row.key: row for row in rows}
    every = [by_key.get(k) for k in range(items_)]
    return {
        "fills": {
            one.key: [one.fill(row.item) if row else "" for row in every] for one in paintings
        },
        "figures": [
            [row.rank, row.rank_low, row.rank_high, row.median, row.low, row.high, row.sd,
             row.top, row.comparisons] if row else None
            for row in every
        ],
    }  # fmt: skip
