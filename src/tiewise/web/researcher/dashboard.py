"""The dashboard of a running study: overview, items, history, and the page for partners."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from tiewise import text
from tiewise.posterior.reliability import StoppingAdvice, stopping_advice
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.connection import now
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.signup import clean_line
from tiewise.study.snapshot_store import Snapshot
from tiewise.web.researcher import charts, choropleth, erasure, wording
from tiewise.web.researcher.estimates import (
    LOGITS,
    SORT_ORDERS,
    ItemEstimate,
    ShownScale,
    connectedness,
    early_sentence,
    item_estimates,
    labels,
    least_compared,
    sort_estimates,
    top_and_bottom,
    uncompared_note,
)
from tiewise.web.researcher.forecast import forecast, forecast_sentence
from tiewise.web.researcher.grades import graded_answers
from tiewise.web.researcher.history import (
    HistoryFrame,
    HistoryScale,
    Replay,
    history_scale,
    without_superseded,
)
from tiewise.web.researcher.overview.next_step import StudyStatus, step_values
from tiewise.web.researcher.report_job import report_status

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

LONGEST_SEARCH = 100
PARTS = (
    "age", "state", "verdict", "numbers", "enough", "early", "days", "order", "ranked", "ties",
    "coverage", "legend-quality", "legend-doubt", "data",
)  # fmt: skip
"""The parts of the overview that change; each is a template."""


def overview_page(request: ResearcherRequest) -> Response:
    """The study at a glance."""
    due = erasure.due_erasure(request)
    return request.show("researcher/overview.html", due=due, **_overview(request))


def updates(request: ResearcherRequest) -> Response:
    """The parts of the overview that changed since the version of the page; 204 for none."""
    if request.query("after") == _version(request):
        return Response(status_code=204)
    if request.query("only") == "age":
        return request.show("researcher/updates.html", parts=("age",), **_age(request))
    return request.show("researcher/updates.html", parts=PARTS, **_overview(request))


def items_page(request: ResearcherRequest) -> Response:
    """Every item with its estimate."""
    values = _age(request) | _estimates(request, request.site.snapshot_cache.snapshot())
    rows: list[ItemEstimate] = values["rows"]
    by = request.query("by")
    by = by if by in SORT_ORDERS else "name" if values["early"] else "position"
    sought = clean_line(request.query("q"))[:LONGEST_SEARCH]
    shown = [row for row in sort_estimates(rows, by) if is_sought(row, sought)]
    values |= {"rows": rows, "shown": shown, "layers": [choropleth.coverage_layer(rows)]}
    asked = request.site.study.settings.reasons.asked
    commented = CommentStore(request.site.store).counts() if asked else {}
    return request.show(
        "researcher/items.html", **values, by=by, sought=sought, order=SORT_ORDERS[by].words,
        commented=commented, connectedness=connectedness(rows, values["nouns"]),
    )  # fmt: skip


def is_sought(row: ItemEstimate, sought: str) -> bool:
    """Whether a name, a group or an id holds the words that are looked for, in any case."""
    text_ = f"{row.name}\n{row.group}\n{row.item}".casefold()
    return all(word in text_ for word in sought.casefold().split())


def history_page(request: ResearcherRequest) -> Response:
    """Earlier snapshots, to be replayed or seen one by one."""
    snapshot = _chosen_snapshot(request)
    frames, shown = _replay(request) if snapshot else Replay([], LOGITS)
    if snapshot and shown.figures_of(snapshot.body) is None:  # a moment between the frames
        frames, shown = request.site.history.frames(), LOGITS
    # One scale for all of them, so that they can be compared.
    scale = history_scale(frames, shown.middle)
    return request.show(
        "researcher/history.html", frames=frames, scale=scale,
        **_estimates(request, snapshot, scale if frames else None, shown),
        before_scale=shown.name != _shown_scale(request).name,
    )  # fmt: skip


def _replay(request: ResearcherRequest) -> Replay:
    """Earlier snapshots on the scale of the latest, if they are known on it and it is asked for."""
    shown = LOGITS if request.query("in") == LOGITS.name else _shown_scale(request)
    return Replay.of(request.site.history.frames(), shown)


def _shown_scale(request: ResearcherRequest) -> ShownScale:
    snapshot = request.site.snapshot_cache.snapshot()
    return ShownScale.of(snapshot.body if snapshot else None)


def _chosen_snapshot(request: ResearcherRequest) -> Snapshot | None:
    """The snapshot that the address asks for, else the latest."""
    at = request.query("at")
    if not at:
        return request.site.snapshot_cache.snapshot()
    snapshot = request.site.history.one(int(at)) if at.isdecimal() and len(at) < 10 else None
    if snapshot is None:
        raise HTTPException(404)
    return snapshot


def history_frames(request: ResearcherRequest) -> Response:
    """The frames of a replay: items in the order of the study, in hundredths."""
    frames, shown = _replay(request)
    values = [_frame_values(frame, _early(request, frame)) for frame in frames]
    if not shown.line:  # the order is that of quality
        for own, frame in zip(values, request.site.history.frames(), strict=True):
            own["order"] = frame.highest_first()
    return JSONResponse(values)


def _frame_values(frame: HistoryFrame, early: str) -> dict[str, Any]:
    return {
        "id": frame.id, "made": frame.made.isoformat(timespec="seconds"),
        "comparisons": frame.comparisons, "reliability": round(frame.reliability, 4),
        "early": early, "uncompared": sorted(frame.uncompared),
        "estimate": [_hundredths(value) for value in frame.estimate],
        "sd": [_hundredths(value) for value in frame.sd],
    }  # fmt: skip


def _hundredths(value: float) -> int | None:
    """The eye sees no more; None of an item that the snapshot lacks."""
    return None if isnan(value) else round(100 * value)


def shared_page(request: ResearcherRequest) -> Response:
    """The map and the ranking for partners; nothing about judges."""
    snapshot = request.site.snapshot_cache.snapshot()
    values = _estimates(request, snapshot)
    return request.show("researcher/shared.html", advice=_advice(request, snapshot), **values)


# The values of templates.


def _version(request: ResearcherRequest) -> str:
    """Changes whenever there is something new to show."""
    cache = request.site.snapshot_cache
    snapshot, failure = cache.snapshot(), cache.failure()
    number = str(snapshot.id) if snapshot else f"n{_comparisons(request)}"
    failed = f"f{failure.since.timestamp():.0f}" if failure else ""
    return f"{number}.{failed}.{request.site.phase}"


def _comparisons(request: ResearcherRequest) -> int:
    return sum(day.comparisons for day in request.site.pace.activity().days)


def _age(request: ResearcherRequest) -> dict[str, Any]:
    """How old the snapshot is, and whether it is renewed."""
    cache = request.site.snapshot_cache
    snapshot = cache.snapshot()
    return {
        "now": now(), "snapshot": snapshot, "failure": cache.failure(),
        "live": request.site.live, "version": _version(request), "base_url": request.base_url,
        "wording": wording, "text": text,
        "waiting": 0 if snapshot else _comparisons(request),
    }  # fmt: skip


def _overview(request: ResearcherRequest) -> dict[str, Any]:
    age = _age(request)
    values = age | _estimates(request, age["snapshot"])
    values |= _activity(request, age["now"]) | _certainty(request, values)
    return values | step_values(_study_status(request, values))


def _study_status(request: ResearcherRequest, values: dict[str, Any]) -> StudyStatus:
    """How the study stands, for what is suggested next."""
    site, snapshot, about = request.site, values["snapshot"], request.site.study.settings.study
    left_out = site.researcher_store.excluded()
    flagged = [row for row in site.snapshot_cache.judges() if row["flags"]]
    return StudyStatus(
        phase=site.phase, done=values["done"], judges=values["turnout"].all, goal=about.goal,
        target=about.reliability, reliability=snapshot.body["reliability"] if snapshot else None,
        advice=values["advice"], rows=values["rows"], nouns=values["nouns"],
        policy=request.whole_site.policy_cache.policy(),
        flagged=sum(row["judge"] not in left_out for row in flagged),
        awaited=InvitationStore(site.store).awaited(),
        reported=report_status(site.store, site.study.question_id).made is not None,
    )  # fmt: skip


def _activity(request: ResearcherRequest, at: datetime) -> dict[str, Any]:
    """How many comparisons there are, by how many judges, and when there will be enough."""
    site = request.site
    tally, goal = site.pace.activity(), site.study.settings.study.goal
    done = sum(day.comparisons for day in tally.days)
    more = _advice(request, site.snapshot_cache.snapshot()).more
    target = goal or (done + more if more else 0)
    expected = forecast(target, done, tally.days, begun=tally.begun, now=at) if target else None
    return {
        "done": done, "goal": goal, "target": target,
        "today": sum(day.comparisons for day in tally.days if day.day == at.date()),
        "turnout": tally.turnout(at), "left_out": len(site.researcher_store.excluded()),
        "day_plot": charts.day_plot(tally.days, at.date()),
        "forecast": forecast_sentence(expected, at) if expected else "",
    }  # fmt: skip


def _certainty(request: ResearcherRequest, values: dict[str, Any]) -> dict[str, Any]:
    """Whether there are enough comparisons, and which items have few."""
    snapshot, rows, shown = values["snapshot"], values["rows"], values["shown_scale"]
    frames = request.site.history.frames() if snapshot else []
    points = [(frame.comparisons, frame.reliability) for frame in frames]
    highest, lowest = top_and_bottom(rows)
    return {
        "advice": _advice(request, snapshot), "highest": highest, "lowest": lowest,
        "trend": charts.reliability_plot(
            without_superseded(points), request.site.study.settings.study.reliability
        ),
        "superseded": any(later[0] < before[0] for before, later in pairwise(points)),
        "dot_plot": None if values["area_paths"] else charts.dot_plot(rows, shown),
        "tie_curve": charts.tie_curve(snapshot.body["tie_curve"], shown) if snapshot else None,
        **graded_answers(request.site.study, snapshot, shown),
        "least_compared": least_compared(rows),
        "connectedness": connectedness(rows, values["nouns"]),
    }  # fmt: skip


def _advice(request: ResearcherRequest, snapshot: Snapshot | None) -> StoppingAdvice:
    target = request.site.study.settings.study.reliability
    return stopping_advice(snapshot.body if snapshot else None, target=target)


def _estimates(
    request: ResearcherRequest,
    snapshot: Snapshot | None,
    scale: HistoryScale | None = None,
    shown: ShownScale | None = None,
) -> dict[str, Any]:
    """Items and their map, coloured and shown on scales of their own or on these."""
    site, study = request.site, request.site.study
    shown = shown or ShownScale.of(snapshot.body if snapshot else None)
    rows = item_estimates(snapshot.body, study, shown) if snapshot else []
    about = study.settings.study
    area_paths = site.maps.area_paths if site.maps and rows else None
    layers = _layers(rows, shown, (about.lower, about.higher), scale)
    caveats = _caveats(request, snapshot)
    return {
        "snapshot": snapshot, "rows": rows, "bars": charts.interval_bars(rows, shown),
        "wording": wording, "text": text, "area_paths": area_paths, "layers": layers,
        "by_item": {row.item: row for row in rows}, "shown_scale": shown,
        "nouns": text.noun_forms(about.noun),
        "names": list(labels(study).values()),
        "uncompared": sum(row.uncompared for row in rows),
        "map_data": _map_data(rows, layers, len(study.items)) | caveats | _written(shown),
    } | caveats  # fmt: skip


def _written(shown: ShownScale) -> dict[str, Any]:
    """How the script writes estimates."""
    names = ("title", "digits", "signed", "middle", "limits")
    return {"scale": {name: getattr(shown, name) for name in names}}


def _caveats(request: ResearcherRequest, snapshot: Snapshot | None) -> dict[str, str]:
    """What to say of too few judgements, empty where there are enough; and of an item with none."""
    return {
        "early": _early(request, snapshot) if snapshot else "",
        "uncompared_note": uncompared_note(on_map=request.site.maps is not None),
    }


def _early(request: ResearcherRequest, moment: Snapshot | HistoryFrame) -> str:
    site, study = request.site, request.site.study
    nouns, on_map = text.noun_forms(study.settings.study.noun), site.maps is not None
    return early_sentence(moment.comparisons, len(study.items), nouns, on_map=on_map)


def _layers(
    rows: list[ItemEstimate], shown: ShownScale, ends: tuple[str, str], scale: HistoryScale | None
) -> list[choropleth.MapLayer]:
    lower, higher = ends
    largest = (scale.estimate, scale.sd) if scale else (None, None)
    return [
        choropleth.quality_layer(rows, shown, lower=lower, higher=higher, most=largest[0]),
        choropleth.uncertainty_layer(rows, shown, least=0.0 if scale else None, most=largest[1]),
    ]


def _map_data(
    rows: list[ItemEstimate], layers: list[choropleth.MapLayer], items: int
) -> dict[str, Any]:
    """Colours and figures for the script, by the number of the item in the study."""
    by_key = {row.key: row for row in rows}
    every = [by_key.get(k) for k in range(items)]
    return {
        "fills": {
            layer.key: [layer.fill(row.item) if row else "" for row in every] for layer in layers
        },
        "figures": [
            [row.position, row.could_be, row.estimate, row.low, row.high, row.sd, row.top,
             row.comparisons] if row else None
            for row in every
        ],
    }  # fmt: skip
