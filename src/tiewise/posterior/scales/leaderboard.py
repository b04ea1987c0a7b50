"""Leaderboards: score, interval, rank with its range and votes, of all and of each group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.posterior.scales import DEFAULT_SCALE
from tiewise.posterior.scales.group_judges import as_judged
from tiewise.posterior.scales.scale import (
    ENDS,
    MIDDLE_AND_ENDS,
    Scale,
    quality_draws,
    scale_named,
    scored,
    scores,
)
from tiewise.posterior.summaries import ranks, summarise

Floats = NDArray[np.float64]

ALL, OTHERWISE = "all", "all together"
"""What the leaderboard of all answers together is called; the second where a group is the first."""
RANKS = ("rank", "rank_q2.5", "rank_q97.5")
SCORES = ("score", "score_q2.5", "score_q97.5")
DIFFERENCES = ("difference", "difference_q2.5", "difference_q97.5", "sure")


def leaderboard(tree: DataTree, *, scale: str = DEFAULT_SCALE) -> pd.DataFrame:
    """A row per item, the highest score first: rank and its range, score and interval, votes.

    Ranks and scores have 95 % intervals. A fit that compares groups has the leaderboard of each
    below that of `all`, with the `difference` of each score from that of all, and how `sure` it is:
    the probability that the difference has the sign it is shown with.
    """
    return leaderboard_of(tree, summarise(tree, 1, scale=scale), scale)


def leaderboard_of(tree: DataTree, table: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The leaderboards of a fit whose table of items, on this scale, is there already."""
    own = scale_named(scale)
    if "contrast" not in tree["posterior"]:
        return _common_board(table, own, ALL)
    names = tree["posterior/contrast"]["group"].to_numpy().astype(str)
    common = _common_board(table, own, OTHERWISE if ALL in names else ALL)
    groups = [_group_board(tree, own, k, name) for k, name in enumerate(names)]
    return pd.concat([common, *groups], ignore_index=True)


def _common_board(table: pd.DataFrame, scale: Scale, name: str) -> pd.DataFrame:
    """The leaderboard of all answers together, from the table of items."""
    if not scored(scale):
        table = table.assign(**dict(zip(SCORES, (table[n] for n in MIDDLE_AND_ENDS), strict=True)))
    board = table[[*RANKS, "item", "name", *SCORES]].assign(votes=table["comparisons"])
    board.insert(0, "group", name)
    return board.assign(scale=scale.name)


def _group_board(tree: DataTree, scale: Scale, number: int, name: str) -> pd.DataFrame:
    """The leaderboard of one group, and how it differs from that of all."""
    constant, common = tree["constant_data"], quality_draws(tree)
    # Contrasts are centred as qualities are.
    contrast = tree["posterior/contrast"].to_numpy()[..., number, :]
    own = common._replace(quality=common.quality + contrast)
    score = scores(scale, as_judged(tree, own, name) if scale.is_probability else own)
    columns: dict[str, Any] = {
        "group": name,
        **_rank_columns(own.quality),
        "item": constant["item"].to_numpy().astype(str),
        "name": constant["name"].to_numpy().astype(str),
        **dict(zip(SCORES, _middle_and_ends(score), strict=True)),
        "votes": group_votes(tree, number),
        "scale": scale.name,
        **_difference_columns(score - scores(scale, common)),
    }
    table = pd.DataFrame(columns)
    return table.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def _rank_columns(quality: Floats) -> dict[str, Floats]:
    rank = ranks(quality.reshape(-1, quality.shape[-1]))
    places = (0.5, *ENDS)
    # A rank that occurs among the draws, not one between two of them.
    return dict(zip(RANKS, np.quantile(rank, places, axis=0, method="inverted_cdf"), strict=True))


def _difference_columns(difference: Floats) -> dict[str, Floats]:
    above = (difference > 0).mean(axis=(0, 1))
    mean, low, high = _middle_and_ends(difference)
    sure = np.where(mean > 0, above, 1 - above)
    return dict(zip(DIFFERENCES, (mean, low, high, sure), strict=True))


def _middle_and_ends(draws: Floats) -> tuple[Floats, Floats, Floats]:
    low, high = np.quantile(draws, ENDS, axis=(0, 1))
    return draws.mean(axis=(0, 1)), low, high


def group_votes(tree: DataTree, number: int) -> NDArray[np.int64]:
    """How many answers of a group each item has."""
    observed, constant = tree["observed_data"], tree["constant_data"]
    own = constant["group_of_stratum"].to_numpy()[observed["stratum"].to_numpy()] == number
    answers = sum(observed[name].to_numpy() for name in ("wins_first", "wins_second", "ties"))
    size = constant.sizes["item"]
    votes = sum(
        np.bincount(observed[side].to_numpy()[own], np.asarray(answers)[own], size)
        for side in ("first", "second")
    )
    return np.asarray(votes).astype(np.int64)
