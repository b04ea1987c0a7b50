"""Tables a person can read: quality, rank, preference, the tie curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from xarray import DataTree

from tiewise.data.answers import grade_probabilities
from tiewise.errors import InputError
from tiewise.model.likelihood import answer_probabilities
from tiewise.posterior.bands.bands import bands
from tiewise.posterior.diagnostics import centred_parts, ess, rhat
from tiewise.posterior.large.groups import (
    all_draws,
    is_thinned,
    stored_top_probability,
    summary_columns,
)
from tiewise.posterior.map_share import map_share_draws
from tiewise.posterior.scales import DEFAULT_SCALE
from tiewise.posterior.scales.scale import Scale, quality_draws, scale_named, score_columns

Floats = NDArray[np.float64]

ENDS = (0.025, 0.975)
NORMAL_975 = 1.959963984540054
TERM_SCALARS = (
    "share", "order", "explained", "coefficient_sd", "contrast_variance", "sharpness_sd",
    "threshold_sd",
)  # fmt: skip
SUMMARY_COLUMNS = (
    "mean", "median", "sd", "q2.5", "q97.5", "rank", "rank_q2.5", "rank_q97.5"
)  # fmt: skip
BATCH, FEW_ITEMS = 256, 64  # draws, and items, processed together, so that copies are small
MOST_SHORT_RANKS = 2**15


def summarise(tree: DataTree, top: int = 5, *, scale: str = DEFAULT_SCALE) -> pd.DataFrame:
    """One row per item, highest mean first: centred quality, rank, probability of the top k, band.

    Another `scale` than logits (`elo`, `0-100`) adds columns: its name, and on it the `score` with
    its standard deviation and interval.

    `rank` is the posterior median rank, 1 the highest quality. `band` is that of `bands`. Where
    `top` is not below the number of items, every item is among the top. A point engine gives
    standard errors and Wald intervals, and leaves empty what it does not know.
    """
    constant = tree["constant_data"]
    items = constant["item"].to_numpy().astype(str)
    if top < 1:
        raise InputError(f"top must be between 1 and the number of items, {len(items)}, not {top}")
    columns: dict[str, Any] = (
        _point(tree) if tree.attrs["kind"] == "point" else {**_posterior(tree, top)}
    )
    names = constant["name"].to_numpy().astype(str)
    columns["band"] = _band_column(tree)
    columns["comparisons"] = constant["comparisons"]
    if scale != DEFAULT_SCALE:
        columns |= {"scale": scale, **tree_scores(tree, scale_named(scale), columns)}
    table = pd.DataFrame({"item": items, "name": names, **columns})
    return table.sort_values("mean", ascending=False, kind="stable", ignore_index=True)


def tree_scores(tree: DataTree, scale: Scale, quality: Mapping[str, Floats]) -> dict[str, Floats]:
    """Columns of scores on a scale, for items whose `quality` has its own columns."""
    is_point = tree.attrs["kind"] == "point"
    return score_columns(scale, quality_draws(tree), quality, is_point=is_point)


def _band_column(tree: DataTree) -> pd.Series[int]:
    """The band of each item; empty for those in none, and where bands are not worked out."""
    told_apart = bands(tree)
    if told_apart is None:
        return pd.Series(pd.NA, range(tree["constant_data"].sizes["item"]), dtype="Int64")
    return pd.Series(told_apart.band, dtype="Int64").mask(told_apart.band == 0)


def _posterior(tree: DataTree, top: int) -> dict[str, Floats]:
    if is_thinned(tree):
        return _summarised(tree, top)
    # Some items at a time: a copy of every draw of a thousand items is large.
    quality_parts = [_quality_columns(part) for part in centred_parts(tree)]
    quality = tree["posterior/quality"].to_numpy()
    flat = quality.reshape(-1, quality.shape[-1])
    rank = ranks(flat, np.int16 if flat.shape[1] < MOST_SHORT_RANKS else np.int32)
    rank_parts = [
        _rank_columns(rank[:, k : k + FEW_ITEMS].astype(np.int32), top)
        for k in range(0, rank.shape[1], FEW_ITEMS)
    ]
    return {
        **{key: np.concatenate([part[key] for part in quality_parts]) for key in quality_parts[0]},
        **{key: np.concatenate([part[key] for part in rank_parts]) for key in rank_parts[0]},
    }


def _summarised(tree: DataTree, top: int) -> dict[str, Floats]:
    """The columns of very many items, from all draws; that of a very large k from those kept."""
    columns = dict(summary_columns(tree))
    probability = stored_top_probability(tree, top)
    if probability is None:
        quality = tree["posterior/quality"].to_numpy()
        rank = ranks(quality.reshape(-1, quality.shape[-1]))
        probability = (rank <= top).mean(axis=0)
    return {name: columns[name] for name in SUMMARY_COLUMNS} | {"top_k_probability": probability}


def _quality_columns(draws: Floats) -> dict[str, Floats]:
    low, median, high = np.quantile(draws, (ENDS[0], 0.5, ENDS[1]), axis=(0, 1))
    return {
        "mean": draws.mean(axis=(0, 1)), "median": median, "sd": draws.std(axis=(0, 1), ddof=1),
        "q2.5": low, "q97.5": high,
    }  # fmt: skip


def _rank_columns(rank: NDArray[np.int32], top: int) -> dict[str, Floats]:
    # A rank that occurs among the draws, not one between two of them.
    probabilities = (ENDS[0], 0.5, ENDS[1])
    low, median, high = np.quantile(rank, probabilities, axis=0, method="inverted_cdf")
    return {
        "rank": median, "rank_q2.5": low, "rank_q97.5": high,
        "top_k_probability": (rank <= top).mean(axis=0),
    }  # fmt: skip


def _point(tree: DataTree) -> dict[str, Floats]:
    estimate = np.concatenate([part[0, 0] for part in centred_parts(tree)])
    error = tree["constant_data/standard_error"].to_numpy()
    unknown = np.full(len(estimate), np.nan)
    return {
        "mean": estimate, "median": estimate, "sd": error,
        "q2.5": estimate - NORMAL_975 * error, "q97.5": estimate + NORMAL_975 * error,
        "rank": ranks(estimate[None])[0], "rank_q2.5": unknown, "rank_q97.5": unknown,
        "top_k_probability": unknown,
    }  # fmt: skip


def ranks(flat: Floats, dtype: type[np.signedinteger[Any]] = np.int32) -> NDArray[Any]:
    """Rank of every item in every draw (draws, items), 1 the highest."""
    out = np.empty(flat.shape, dtype)
    places = np.arange(1, flat.shape[1] + 1, dtype=dtype)[None]
    for k in range(0, len(flat), BATCH):
        order = np.argsort(-flat[k : k + BATCH], axis=1, kind="stable")
        np.put_along_axis(out[k : k + BATCH], order, places, axis=1)
    return out


def parameters(tree: DataTree) -> pd.DataFrame:
    """Rows `tie` (δ) and `variance` (α²), with their diagnostics where the engine has any.

    Terms add theirs: `order`, `explained`, and how much contrasts, sharpness and thresholds vary.
    """
    rows = [parameter_row(tree, name, draws) for name, draws in _scalars(tree)]
    return pd.DataFrame(rows).set_index("parameter")


def _scalars(tree: DataTree) -> Iterator[tuple[str, Floats]]:
    """Every number that is one for all items and judges, by its name."""
    posterior, whole = tree["posterior"], all_draws(tree)
    for name in ("tie", "variance", "cut", *TERM_SCALARS):
        if name not in posterior:
            continue
        draws = whole[name] if name in whole else posterior[name]
        if name == "cut":
            # The first cut is the tie threshold.
            for strength in draws["strength"].to_numpy()[1:]:
                yield f"{name}: {strength}", draws.sel(strength=strength).to_numpy()
            continue
        if "advantage" not in draws.dims:
            yield name, draws.to_numpy()
            followed = map_share_draws(tree) if name == "share" else None
            if followed is not None:
                yield "map_share", followed
            continue
        for kind in draws["advantage"].to_numpy().astype(str):
            label = name if kind == "first" else f"{name}: {kind}"
            yield label, draws.sel(advantage=kind).to_numpy()


def _standard_error(tree: DataTree, label: str) -> float:
    """The standard error of a parameter of a point estimate; NaN where there is none."""
    name, _, strength = label.partition(": ")
    error = tree["constant_data"].get(f"{name}_standard_error")
    if error is None:
        return float("nan")
    return float(error.sel(strength=int(strength)) if strength else error)


def parameter_row(tree: DataTree, name: str, draws: Floats) -> dict[str, str | float]:
    """A parameter's row of a table: middle, spread, interval and diagnostics."""
    row: dict[str, str | float] = dict.fromkeys(
        ("parameter", "mean", "median", "sd", "q2.5", "q97.5", "ess_bulk", "ess_tail", "rhat"),
        np.nan,
    )
    if np.isnan(draws).all():  # an engine without this parameter
        return row | {"parameter": name}
    row |= {"parameter": name, "mean": draws.mean(), "median": float(np.median(draws))}
    if tree.attrs["kind"] == "point":
        wide = _standard_error(tree, name)
        ends = draws.mean() + NORMAL_975 * np.array([-wide, wide])
        return row | {"sd": wide, "q2.5": float(ends[0]), "q97.5": float(ends[1])}
    low, high = np.quantile(draws, ENDS)
    row |= {"q2.5": float(low), "q97.5": float(high)}
    if np.ptp(draws) == 0:
        return row | {"sd": 0.0}
    row["sd"] = draws.std(ddof=1)
    if tree.attrs["kind"] == "exact":
        superchains = int(tree.attrs.get("superchains", 0))
        row["ess_bulk"], row["ess_tail"] = float(ess(draws)), float(ess(draws, "tail"))
        row["rhat"] = float(rhat(draws, superchains))
    return row


class Preference(NamedTuple):
    """Item i against item j: probabilities of the higher quality, and of each answer."""

    higher: float
    first: float
    tie: float
    second: float


def preference(tree: DataTree, i: str, j: str) -> Preference:
    """Probability that i has the higher quality than j, and of each answer of a judge."""
    quality = tree["posterior/quality"]
    known = set(quality["item"].to_numpy().astype(str))
    for item in (i, j):
        if str(item) not in known:
            raise InputError(f"no item {item!r} in this fit; items are the ids in items.csv")
    gap = (quality.sel(item=str(i)) - quality.sel(item=str(j))).to_numpy().ravel()
    answers = answer_probabilities(gap, tree["posterior/tie"].to_numpy().ravel())
    return Preference(float((gap > 0).mean()), *(float(answer.mean()) for answer in answers))


def tie_curve(tree: DataTree, gaps: ArrayLike | None = None) -> pd.DataFrame:
    """Probability of a tie against the difference in quality, with its 95 % band."""
    differences = np.linspace(0, 5, 101) if gaps is None else np.asarray(gaps, float)
    ties = all_draws(tree)["tie"].to_numpy().ravel()
    probability = np.stack([answer_probabilities(np.asarray(gap), ties)[1] for gap in differences])
    return _curve(differences, probability)


def answer_curves(tree: DataTree, gaps: ArrayLike | None = None) -> list[pd.DataFrame]:
    """The same of every answer, from all for the first item to all for the second.

    Graded answers have a curve each; `about equal` is the one in the middle, 0 without ties.
    """
    differences = np.linspace(0, 5, 101) if gaps is None else np.asarray(gaps, float)
    if "cut" in tree["posterior"]:
        cuts = tree["posterior/cut"].transpose("strength", "chain", "draw").to_numpy()
        cuts = cuts.reshape(len(cuts), -1)
        at = [grade_probabilities(np.full(cuts.shape[1], gap), cuts) for gap in differences]
    else:
        ties = all_draws(tree)["tie"].to_numpy().ravel()
        at = [np.stack(answer_probabilities(np.asarray(gap), ties)) for gap in differences]
    return [_curve(differences, own) for own in np.stack(at, axis=1)]


def _curve(differences: Floats, probability: Floats) -> pd.DataFrame:
    """A curve of probabilities (differences, draws) with its 95 % band."""
    low, median, high = np.quantile(probability, (ENDS[0], 0.5, ENDS[1]), axis=1)
    return pd.DataFrame(
        {
            "gap": differences,
            "mean": probability.mean(axis=1),
            "median": median,
            "q2.5": low,
            "q97.5": high,
        }
    )
