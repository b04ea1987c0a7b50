"""A posterior at a glance: the figures that a snapshot of a running study holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.model.bradley_terry import BradleyTerry, answer_probabilities
from tiewise.posterior.reliability import reliability
from tiewise.posterior.summaries import ENDS, ranks
from tiewise.posterior.warnings import data_cautions

Floats = NDArray[np.float64]

DIGITS = 4
GAPS = np.linspace(0, 5, 26)


def glance(
    model: BradleyTerry,
    quality: Floats,
    tie: Floats,
    variance: Floats,
    *,
    names: Mapping[str, str],
    top: int = 5,
) -> dict[str, Any]:
    """Figures of draws (draws, items), (draws) and (draws), ready for JSON (docs/live.md)."""
    centred = quality - quality.mean(axis=1, keepdims=True)
    low, median, high = np.quantile(centred, (ENDS[0], 0.5, ENDS[1]), axis=0)
    label, number = parts(model.counts)
    has_tie = model.tie is not None
    return {
        "items": list(model.items),
        "median": _short(median), "mean": _short(centred.mean(axis=0)),
        "sd": _short(centred.std(axis=0, ddof=1)), "low": _short(low), "high": _short(high),
        **_places(quality, min(top, max(model.size - 1, 1))),
        "comparisons": model.counts.per_item().tolist(),
        "part": label.tolist(), "parts": number,
        "tie": _scalar(tie) if has_tie else None,
        "tie_curve": _tie_curve(tie) if has_tie else None,
        "variance": _scalar(variance),
        "reliability": round(reliability(quality), DIGITS),
        "cautions": data_cautions(model, names),
    }  # fmt: skip


def parts(counts: Counts) -> tuple[NDArray[np.int64], int]:
    """For each item the part of the comparison graph it is in, 0 the largest; and how many."""
    found = counts.components()
    place = {item: k for k, part in enumerate(found) for item in part}
    return np.array([place[item] for item in counts.items], np.int64), len(found)


def _places(quality: Floats, top: int) -> dict[str, Any]:
    rank = ranks(quality)
    ends = np.quantile(rank, (ENDS[0], 0.5, ENDS[1]), axis=0, method="inverted_cdf")
    low, median, high = ends.astype(int).tolist()
    return {
        "rank": median, "rank_low": low, "rank_high": high,
        "top": _short((rank <= top).mean(axis=0)), "top_of": top,
    }  # fmt: skip


def _tie_curve(tie: Floats) -> dict[str, list[float]]:
    chance = np.stack([answer_probabilities(np.asarray(gap), tie)[1] for gap in GAPS])
    low, median, high = np.quantile(chance, (ENDS[0], 0.5, ENDS[1]), axis=1)
    return {
        "gap": _short(GAPS), "median": _short(median), "low": _short(low), "high": _short(high),
    }  # fmt: skip


def _scalar(draws: Floats) -> dict[str, float]:
    low, median, high = _short(np.quantile(draws, (ENDS[0], 0.5, ENDS[1])))
    return {"median": median, "low": low, "high": high}


def _short(values: Floats) -> list[float]:
    # Adding 0 turns -0.0 into 0.0.
    out: list[float] = (np.round(values, DIGITS) + 0.0).tolist()
    return out
