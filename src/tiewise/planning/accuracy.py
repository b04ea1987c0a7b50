"""The accuracy of a simulated study: draws of its posterior against the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiewise.planning.recovery import correlation
from tiewise.posterior.reliability import reliability
from tiewise.posterior.summaries import ranks

Floats = NDArray[np.float64]

ENDS = (0.025, 0.975)
MEASURES = (
    "reliability", "correlation", "rank_correlation", "rank_error", "top_share", "all_top",
    "width", "covered", "rank_width", "rank_covered",
)  # fmt: skip


def accuracy_measures(quality: Floats, truth: Floats, top: int) -> dict[str, float]:
    """Every measure of MEASURES, from draws (draws, items) and true qualities (items).

    Items are ranked by their posterior means. `width` and `rank_width` are those of 95 %
    intervals, averaged over items; `covered` and `rank_covered` how many of these hold the truth.
    """
    centred = quality - quality.mean(axis=1, keepdims=True)
    actual = truth - truth.mean()
    mean, true_rank = centred.mean(axis=0), ranks(actual[None])[0]
    rank = ranks(mean[None])[0]
    top_found = (rank <= top) & (true_rank <= top)
    # Unbiased for normal draws, however few there are.
    low, high = np.quantile(centred, ENDS, axis=0, method="normal_unbiased")
    first, last = np.quantile(ranks(centred), ENDS, axis=0, method="inverted_cdf")
    return {
        "reliability": reliability(quality),
        "correlation": correlation(mean, actual),
        "rank_correlation": correlation(rank.astype(float), true_rank.astype(float)),
        "rank_error": float(np.abs(rank - true_rank).mean()),
        "top_share": float(top_found.sum() / top),
        "all_top": float(top_found.sum() == top),
        "width": float((high - low).mean()),
        "covered": float(((low <= actual) & (actual <= high)).mean()),
        "rank_width": float((last - first).mean()),
        "rank_covered": float(((first <= true_rank) & (true_rank <= last)).mean()),
    }
