"""The page that sets the questions of a study side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isfinite
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.posterior.questions.side_by_side import (
    Composite,
    Correlation,
    Quality,
    composite,
    quality_correlation,
)
from tiewise.study.snapshot_store import Snapshot
from tiewise.study.toml.questions import QuestionSettings
from tiewise.text import noun_forms, signed
from tiewise.web.researcher.estimates import ShownScale, item_estimates, labels
from tiewise.web.researcher.request import ResearcherRequest

LARGEST_WEIGHT = 1000.0


class CorrelationRow(NamedTuple):
    """Two questions, and how their qualities go together; None where too little is known."""

    one: str
    other: str
    correlation: Correlation | None
    text: str


class CompositeRow(NamedTuple):
    """An item with its estimates by question and its composite, in words."""

    position: int
    name: str
    estimates: Sequence[str]
    composite: str
    interval: str


def side_by_side_page(request: ResearcherRequest) -> Response:
    """Every question's estimates beside each other, their correlations, and a composite."""
    study = request.whole_study
    questions = study.settings.questions
    if not questions:
        raise HTTPException(404)
    weights = [_weight(request, one) for one in questions]
    weights = weights if sum(weights) > 0 else [one.weight for one in questions]
    sites = {one.id: request.whole_site.asked(one.id) for one in questions}
    snapshots = {id_: site.snapshot_cache.snapshot() for id_, site in sites.items()}
    there = {id_: snapshot for id_, snapshot in snapshots.items() if snapshot is not None}
    values: dict[str, Any] = {"rows": [], "correlations": []}
    if len(there) == len(questions):
        values = _values(request, questions, there, weights)
    return request.show(
        "researcher/side_by_side.html", asked=questions, weights=weights,
        nouns=noun_forms(study.settings.study.noun), **values,
    )  # fmt: skip


def _weight(request: ResearcherRequest, question: QuestionSettings) -> float:
    """The weight that the address asks for, else that of the settings."""
    try:
        weight = float(request.query(f"weight-{question.id}"))
    except ValueError:
        return question.weight
    return weight if isfinite(weight) and 0 <= weight <= LARGEST_WEIGHT else question.weight


def _values(
    request: ResearcherRequest,
    questions: Sequence[QuestionSettings],
    snapshots: Mapping[str, Snapshot],
    weights: Sequence[float],
) -> dict[str, Any]:
    items = _shared_items(request, snapshots)
    is_mapped = request.whole_study.fit_inputs().areas is not None
    qualities = {
        id_: _quality(snapshot.body, items, is_mapped=is_mapped)
        for id_, snapshot in snapshots.items()
    }
    correlations = [
        _correlation(one, other, qualities) for one, other in combinations(questions, 2)
    ]
    whole = composite([qualities[one.id] for one in questions], weights)
    texts = [_texts(request, one.id, snapshots[one.id]) for one in questions]
    rows = _rows(request, items, whole, texts)
    return {"rows": rows, "correlations": correlations, "is_mapped": is_mapped}


def _texts(request: ResearcherRequest, question: str, snapshot: Snapshot) -> dict[str, str]:
    """The estimates of a question as its own pages show them, by item."""
    study, shown = request.whole_site.asked(question).study, ShownScale.of(snapshot.body)
    rows = item_estimates(snapshot.body, study, shown)
    return {row.item: shown.text(row.estimate) for row in rows}


def _shared_items(request: ResearcherRequest, snapshots: Mapping[str, Snapshot]) -> list[str]:
    """The items of the study that every question has an estimate of."""
    known = [set(snapshot.body["items"]) for snapshot in snapshots.values()]
    return [item for item in request.whole_study.items if all(item in items for items in known)]


def _quality(body: Mapping[str, Any], items: Sequence[str], *, is_mapped: bool) -> Quality:
    place = {item: k for k, item in enumerate(body["items"])}
    mean, sd = ([body[name][place[item]] for item in items] for name in ("mean", "sd"))
    return Quality.of(mean, sd, body["variance"]["median"], is_mapped=is_mapped)


def _correlation(
    one: QuestionSettings, other: QuestionSettings, qualities: Mapping[str, Quality]
) -> CorrelationRow:
    known = quality_correlation(qualities[one.id], qualities[other.id])
    is_mapped = qualities[one.id].is_mapped
    text = "not worked out for a map" if is_mapped else "too little is known yet"
    if known is not None:
        text = f"{signed(known.median, 2)} ({signed(known.low, 2)} to {signed(known.high, 2)})"
    return CorrelationRow(one.question, other.question, known, text)


def _rows(
    request: ResearcherRequest,
    items: Sequence[str],
    whole: Composite,
    texts: Sequence[Mapping[str, str]],
) -> list[CompositeRow]:
    names = labels(request.whole_study)
    order = sorted(range(len(items)), key=lambda k: (-whole.mean[k], k))
    return [
        CompositeRow(
            position, names[items[k]], [text[items[k]] for text in texts],
            signed(float(whole.mean[k]), 2),
            f"{signed(float(whole.low[k]), 2)} to {signed(float(whole.high[k]), 2)}",
        )
        for position, k in enumerate(order, 1)
    ]  # fmt: skip
