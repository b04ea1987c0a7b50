"""Scales that are a straight line of quality: logits themselves, and Elo ratings."""

from __future__ import annotations

import numpy as np
from xarray import DataTree

from tiewise.model.likelihood import answer_probabilities
from tiewise.posterior.large.groups import all_draws
from tiewise.posterior.scales.group_judges import reference_sentences
from tiewise.posterior.scales.scale import Line, Scale
from tiewise.text import percent

ELO_AVERAGE, ELO_STEP = 1500.0, 400.0
ELO_SLOPE = ELO_STEP / np.log(10.0)
"""Points per logit: 400 points are odds of ten to one."""
FEWEST_TIES = 0.005
"""The share of ties, of equal items, below which there is nothing to say of them."""


def _logit_meaning(tree: DataTree, one: str, nouns: str) -> list[str]:
    return [
        f"Estimates are in logits, and 0 is the average {one}: of two {nouns} that lie 1 apart, "
        "a judge who has to choose chooses the higher 73 % of the time.",
        *reference_sentences(tree),
    ]


def _elo_meaning(tree: DataTree, one: str, nouns: str) -> list[str]:
    """What a rating means, and what ties make of it."""
    sentences = [
        f"Estimates are Elo ratings: the average {one} has {ELO_AVERAGE:.0f} points, and one that "
        f"is {ELO_STEP:.0f} points higher than another is chosen ten times as often by judges who "
        f"have to choose. Ratings set the {nouns} of this study against each other.",
        *reference_sentences(tree),
    ]
    ties = np.nan_to_num(all_draws(tree)["tie"].to_numpy().ravel())
    if np.tanh(ties / 2).mean() < FEWEST_TIES:
        return sentences
    gap = np.full(len(ties), np.log(10.0))
    chosen, tied, other = (float(p.mean()) for p in answer_probabilities(gap, ties))
    return [
        *sentences,
        f"Judges of this study could also say “about equal”: at {ELO_STEP:.0f} points they choose "
        f"the higher {percent(chosen)} of the time, the lower {percent(other)}, and neither "
        f"{percent(tied)}. Where ratings come from games in which a draw counts as half a win, "
        f"{ELO_STEP:.0f} points mean a score of 91 %; here they mean {percent(chosen + tied / 2)}.",
    ]


LOGIT = Scale(
    "logit", "Estimate", "quality, 0 the average", _logit_meaning,
    digits=2, is_signed=True, line=Line(0.0, 1.0),
)  # fmt: skip
ELO = Scale(
    "elo", "Elo rating", "Elo rating, 1500 the average", _elo_meaning,
    middle=ELO_AVERAGE, line=Line(ELO_AVERAGE, ELO_SLOPE),
)  # fmt: skip
