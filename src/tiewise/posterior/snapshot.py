"""The figures that a snapshot of a running study holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.posterior.reliability import reliability
from tiewise.posterior.summaries import ENDS, ranks
from tiewise.posterior.warnings import data_warnings

Floats = NDArray[np.float64]

DIGITS = 4
GAPS = np.linspace(0, 5, 26)


def snapshot_figures(
    model: BradleyTerry,
    quality: Floats,
    tie: Floats,
    variance: Floats,
    *,
    names: Mapping[str, str],
    top: int = 5,
) -> dict[str, Any]:
    """Figures of draws (draws, items), (draws) and (draws), as values for JSON (docs/live.md)."""
    centred = quality - quality.mean(axis=1, keepdims=True)
    low, median, high = np.quantile(centred, (ENDS[0], 0.5, ENDS[1]), axis=0)
    label, number = component_labels(model.counts)
    has_tie = model.tie is not None
    return {
        "items": list(model.items),
        "median": _rounded(median), "mean": _rounded(centred.mean(axis=0)),
        "sd": _rounded(centred.std(axis=0, ddof=1)), "low": _rounded(low), "high": _rounded(high),
        **_rank_figures(quality, min(top, max(model.size - 1, 1))),
        "comparisons": model.counts.per_item().tolist(),
        "part": label.tolist(), "parts": number,
        "tie": _scalar(tie) if has_tie else None,
        "tie_curve": _tie_curve(tie) if has_tie else None,
        "variance": _scalar(variance),
        "reliability": round(reliability(quality), DIGITS),
        "cautions": data_warnings(model, names),
    }  # fmt: skip


def component_labels(counts: Counts) -> tuple[NDArray[np.int64], int]:
    """The connected component of each item, 0 the largest; and the number of components."""
    components = counts.components()
    label = {item: k for k, component in enumerate(components) for item in component}
    return np.array([label[item] for item in counts.items], np.int64), len(components)


def _rank_figures(quality: Floats, top: int) -> dict[str, Any]:
    rank = ranks(quality)
    ends = np.quantile(rank, (ENDS[0], 0.5, ENDS[1]), axis=0, method="inverted_cdf")
    low, median, high = ends.astype(int).tolist()
    return {
        "rank": median, "rank_low": low, "rank_high": high,
        "top": _rounded((rank <= top).mean(axis=0)), "top_of": top,
    }  # fmt: skip


def _tie_curve(tie: Floats) -> dict[str, list[float]]:
    probability = np.stack([answer_probabilities(np.asarray(gap), tie)[1] for gap in GAPS])
    low, median, high = np.quantile(probability, (ENDS[0], 0.5, ENDS[1]), axis=1)
    return {
        "gap": _rounded(GAPS), "median": _rounded(median),
        "low": _rounded(low), "high": _rounded(high),
    }  # fmt: skip


def _scalar(draws: Floats) -> dict[str, float]:
    low, median, high = _rounded(np.quantile(draws, (ENDS[0], 0.5, ENDS[1])))
    return {"median": median, "low": low, "high": high}


def _rounded(values: Floats) -> list[float]:
    # Adding 0 turns -0.0 into 0.0.
    out: list[float] = (np.round(values, DIGITS) + 0.0).tolist()
    return out
