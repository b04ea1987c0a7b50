"""The figures that a snapshot of a running study holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.data.answers import grade_probabilities
from tiewise.data.counts import Counts
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.posterior.reliability import reliability
from tiewise.posterior.scales.scale import (
    COLUMNS,
    fitted_scale,
    quality_draws,
    scale_named,
    score_columns,
    scored,
)
from tiewise.posterior.summaries import ENDS, ranks
from tiewise.posterior.warnings import data_warnings

Floats = NDArray[np.float64]

DIGITS = 4
GAPS = np.linspace(0, 5, 26)
QUALITY = {"mean": "mean", "sd": "sd", "q2.5": "low", "q97.5": "high"}
"""Columns of quality, as they are called among the figures."""
SCORES = ("score", "score_sd", "score_low", "score_high")


def snapshot_figures(
    model: BradleyTerry,
    quality: Floats,
    tie: Floats,
    variance: Floats,
    *,
    cuts: Floats | None = None,
    names: Mapping[str, str],
    top: int = 5,
) -> dict[str, Any]:
    """Figures of draws (draws, items), (draws) and (draws), as values for JSON (docs/live.md).

    Of graded answers `cuts` (draws, levels) are draws of all cuts.
    """
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
        **({} if cuts is None else _grade_figures(cuts, ties=has_tie)),
        "variance": _scalar(variance),
        "reliability": round(reliability(quality), DIGITS),
        "cautions": data_warnings(model, names),
    }  # fmt: skip


def scale_figures(
    name: str, tree: DataTree, figures: Mapping[str, Any], nouns: tuple[str, str]
) -> dict[str, Any]:
    """Scores on a scale beside the figures of quality, and their meaning; {} for logits."""
    scale = scale_named(name)
    if not scored(scale):
        return {}
    columns = {key: np.array(figures[own]) for key, own in QUALITY.items()}
    scores = score_columns(scale, quality_draws(tree), columns, is_point=False)
    scale, middle = fitted_scale(scale, tree, scores["score"])
    facts = {
        "name": scale.name, "title": scale.title, "digits": scale.digits,
        "signed": scale.is_signed, "middle": round(middle, DIGITS), "limits": scale.limits,
        "line": scale.line and tuple(scale.line), "meaning": scale.meaning(tree, *nouns),
    }  # fmt: skip
    return {"scale": facts} | {
        key: _rounded(values)
        for key, values in zip(SCORES, (scores[own] for own in COLUMNS), strict=True)
    }


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


def _grade_figures(cuts: Floats, *, ties: bool) -> dict[str, Any]:
    """Cuts, and the mean share of each graded answer over the gap, all for the higher first."""
    every = np.broadcast_to(cuts.T[:, :, None], (*cuts.T.shape, len(GAPS)))
    share = grade_probabilities(np.broadcast_to(GAPS, every.shape[1:]), every).mean(axis=1)
    middle = cuts.shape[1]
    shares = [_rounded(own) for k, own in enumerate(share) if ties or k != middle]
    curves = {"gap": _rounded(GAPS), "share": shares}
    return {"cuts": [_scalar(cut) for cut in cuts.T], "grade_curves": curves}


def _scalar(draws: Floats) -> dict[str, float]:
    low, median, high = _rounded(np.quantile(draws, (ENDS[0], 0.5, ENDS[1])))
    return {"median": median, "low": low, "high": high}


def _rounded(values: Floats) -> list[float]:
    # Adding 0 turns -0.0 into 0.0.
    out: list[float] = (np.round(values, DIGITS) + 0.0).tolist()
    return out
