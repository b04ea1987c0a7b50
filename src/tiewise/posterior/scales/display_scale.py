"""The scale on which results are shown, and every item's score on it."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.leaderboard import leaderboard
from tiewise.posterior.scales.scale import COLUMNS, Scale, fitted_scale, scale_named, scored
from tiewise.posterior.summaries import summarise


class ShownScores(NamedTuple):
    """A scale, the score in the middle of its plots, and the table of items with its scores."""

    scale: Scale
    middle: float
    items: pd.DataFrame
    """`Results.items`, in which `score` and its like are there on every scale."""

    @property
    def rows(self) -> pd.DataFrame:
        """The same with scores in place of qualities, and whether items lie `above` or `below`.

        Above and below mean the average, with the whole 95 % interval.
        """
        table = self.items
        scores = {name: table[column] for name, column in zip(REPLACED, COLUMNS, strict=True)}
        return table.assign(above=table["q2.5"] > 0, below=table["q97.5"] < 0, **scores)

    def meaning(self, results: Results) -> list[str]:
        """What these scores mean, in sentences; nothing on the default scale."""
        if not scored(self.scale):
            return []
        return self.scale.meaning(results.tree, results.wording.one, results.wording.nouns)


REPLACED = ("mean", "sd", "q2.5", "q97.5")


def shown_scores(results: Results) -> ShownScores:
    """The scores of these results on the scale of their wording."""
    if "scores" not in results.cache or results.cache["scores"].scale.name != results.wording.scale:
        results.cache["scores"] = _scores(results)
    scores: ShownScores = results.cache["scores"]
    return scores


def shown_leaderboard(results: Results) -> pd.DataFrame:
    """The leaderboards of these results, on the scale of their wording."""
    key = f"leaderboard {results.wording.scale}"
    if key not in results.cache:
        results.cache[key] = leaderboard(results.tree, scale=results.wording.scale)
    board: pd.DataFrame = results.cache[key]
    return board


def _scores(results: Results) -> ShownScores:
    scale, items = scale_named(results.wording.scale), results.items
    if not scored(scale):
        scores = {column: items[name] for name, column in zip(REPLACED, COLUMNS, strict=True)}
        items = items.assign(**scores)
    elif "scale" not in items or items["scale"].iloc[0] != scale.name:
        own = summarise(results.tree, results.wording.top, scale=scale.name).set_index("item")
        items = items.assign(**own.loc[items["item"], list(COLUMNS)].reset_index(drop=True))
    return ShownScores(*fitted_scale(scale, results.tree, items["score"].to_numpy()), items)
