"""Graded answers on the overview: how often each was given, and their shares over the gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tiewise.geo.colours import LOW_TO_HIGH, UNKNOWN, interpolate
from tiewise.study.snapshot_store import Snapshot
from tiewise.study.study import Study
from tiewise.text import percent
from tiewise.web.researcher.charts import AxisLabel, PlotScale, gap_labels
from tiewise.web.researcher.estimates import LOGITS, ShownScale
from tiewise.web.words.language import language


class GradeBand(NamedTuple):
    """The share of a graded answer over the gap, on top of those before it."""

    label: str
    colour: str
    points: str


class GradePlot(NamedTuple):
    """The shares of all graded answers, which add up to one, and the numbers of both axes."""

    bands: tuple[GradeBand, ...]
    across: tuple[AxisLabel, ...]
    up: tuple[AxisLabel, ...]


def graded_answers(study: Study, snapshot: Snapshot | None, shown: ShownScale) -> dict[str, Any]:
    """How often answers of each strength were given, and the plot; nothing where none are graded.

    Both sides count together: which item stands on which is drawn by lot.
    """
    body = snapshot.body if snapshot else {}
    labels, counts = grade_labels(study), [one["count"] for one in body.get("grades") or ()]
    if len(counts) != len(labels) or not sum(counts):  # not graded, or not yet
        return {"grade_plot": None, "grade_shares": []}
    strengths = len(counts) // 2
    both = [counts[k] + counts[-1 - k] for k in range(strengths)] + counts[strengths:-strengths]
    shares = [(labels[k], number / sum(counts)) for k, number in enumerate(both)]
    names = [*labels[:-strengths], *(f"{label}: the lower one" for label in labels[-strengths:])]
    plot = grade_plot(body["grade_curves"], names, shown)
    return {"grade_plot": plot, "grade_shares": shares}


def grade_labels(study: Study) -> list[str]:
    """The words of graded answers in English, along the scale; empty where none are graded."""
    scale, english = study.scale, language("en")
    return [
        study.settings.word(answer.wording, "en") or english.translate(scale.wording(answer))
        for answer in (scale.grades if scale.levels > 1 else ())
    ]


def grade_plot(
    curves: Mapping[str, Any], labels: Sequence[str], shown: ShownScale = LOGITS
) -> GradePlot:
    """Shares of graded answers over the gap; all for the higher item at the bottom."""
    gap, shares = curves["gap"], np.array(curves["share"])
    scale = PlotScale((min(gap), max(gap)), (0.0, 1.0))
    tops = np.minimum(np.cumsum(shares, axis=0), 1.0)
    bottoms = np.vstack([np.zeros(len(gap)), tops[:-1]])
    bands = tuple(
        GradeBand(label, colour, f"{scale.points(gap, top)} {scale.points(gap[::-1], low[::-1])}")
        for label, colour, top, low in zip(
            labels, _colours(len(labels)), tops, bottoms, strict=True
        )
    )
    up = tuple(AxisLabel(scale.up(y), percent(y)) for y in (0.0, 0.5, 1.0))
    return GradePlot(bands, gap_labels(scale, shown), up)


def _colours(number: int) -> list[str]:
    """From the colour of high to that of low, with grey in the middle of an odd number."""
    strengths = number // 2
    ends = np.linspace(0.08, 0.32, strengths)
    high, low = interpolate(LOW_TO_HIGH, 1 - ends), interpolate(LOW_TO_HIGH, ends[::-1])
    return [*high, *[UNKNOWN] * (number % 2), *low]
