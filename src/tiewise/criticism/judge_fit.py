"""Infit and outfit: how well each judge, and each item, goes with the model.

An answer is worth 1, ½ or 0 for the first of a pair: chosen, about equal, not chosen. Its residual
is what it is worth less what was expected. Infit is the sum of squared residuals over the sum of
their variances; outfit is the mean of squared residuals, each over its own variance. Without ties
these are the figures that comparative judgement has always used. Above 1 is less predictable than
the model thinks, below 1 more so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_influence import Standing, Without, influence, without_each
from tiewise.criticism.judge_statistics import TIE, Said, judge_rows
from tiewise.criticism.leave_own_out import Belief
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.judgement_record import Record, asked
from tiewise.posterior.predictions import Opinions, replies, tail
from tiewise.progress import Progress, no_progress

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

REPLIES = 1000
"""Sets of answers made up for each judge."""
DRAWS = 300
"""Draws asked about items."""


class Fit(NamedTuple):
    """Infit and outfit with their p-values: the chance of as much or more if the model is right.

    95 % of infits lie between `infit_low` and `infit_high` then.
    """

    infit: float
    outfit: float
    infit_p: float
    outfit_p: float
    infit_low: float
    infit_high: float


# Judges.


def judge_fit(without: Without, own: Said, rng: Generator, *, number: int = REPLIES) -> Fit:
    """How a judge's answers go with what all the others lead to expect.

    Both figures are 1 on average for somebody who judges as the others do, and p-values are
    uniform then: what is expected comes from the posterior without the judge, and so do the
    made-up answers that the given ones are set against.
    """
    picked = _picked(without, number, rng)
    chance = picked.chances(own.left, own.right)
    mean, variance = _moments(chance.mean(axis=1))
    answers = np.vstack([own.outcome[None, :], replies(chance, rng)])
    square = (1 - answers / 2 - mean) ** 2
    infit, outfit = square.sum(axis=1) / variance.sum(), (square / variance).mean(axis=1)
    return Fit(
        float(infit[0]), float(outfit[0]),
        float(tail(infit[1:], infit[0])), float(tail(outfit[1:], outfit[0])),
        *(float(end) for end in np.quantile(infit[1:], (0.025, 0.975))),
    )  # fmt: skip


def _picked(without: Without, number: int, rng: Generator) -> Opinions:
    """Draws as often as they weigh."""
    steps = (np.arange(number) + rng.uniform()) / number
    which = np.searchsorted(np.cumsum(without.weight), steps).clip(max=len(without.weight) - 1)
    return without.opinions.picked(which)


def _moments(chance: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of what an answer is worth, from its chances (3, ...)."""
    mean = chance[0] + chance[1] / 2
    variance = chance[0] + chance[1] / 4 - mean**2
    return mean, np.maximum(variance, 1e-9)


def judge_table(
    model: BradleyTerry,
    tree: DataTree,
    record: Record | None = None,
    *,
    seed: int = 1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """One row a judge: figures, infit and outfit, influence on the results, and flags in words.

    Without a `record`, the one that was kept with the posterior is read.
    """
    known = Record.read(tree) if record is None else record
    record = _named(known)
    opinions = Opinions.of(tree)
    belief, items = Belief.of(opinions.quality, opinions.tie), model.items
    rows = judge_rows(record.judges, record.said, belief, np.zeros(len(record.judges), bool))
    table = pd.DataFrame(rows).set_index("judge", drop=False)
    told = record.compared
    if model.fixed_tie == 0:
        told = told.where(told.outcome != TIE)
    whole, rng, found = Standing.of(opinions), default_rng([seed, 11]), dict[str, Any]()
    for without in without_each(model, tree, record, seed=seed):
        name = record.judges[without.judge]
        progress("judges", len(found), len(record.judges))
        own = told.where(told.judge == without.judge)
        moved = influence(whole, Standing.of(without.opinions, without.weight))
        found[name] = {
            **judge_fit(without, own, rng)._asdict(),
            "influence": moved.shift, "most_moved": items[moved.item], "most_moved_by": moved.most,
            "ranks_moved": moved.moved, "k_hat": without.k_hat, "refitted": without.refitted,
        }  # fmt: skip
    more = pd.DataFrame.from_dict(found, orient="index")
    if not record.sides:
        table = table.assign(left_share=np.nan)
    return _ordered(table.join(more))


FIGURES = (
    "judge", "comparisons", "skips", "median_seconds", "tie_share", "skip_share", "left_share",
    "agreement", "expected_agreement", "misfit", "misfit_p", "infit", "infit_p", "infit_low",
    "infit_high", "outfit", "outfit_p", "influence", "most_moved", "most_moved_by", "ranks_moved",
    "k_hat", "refitted", "repeats", "consistency", "flags",
)  # fmt: skip
"""The columns of `judges.csv`."""


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    said = table["flags"].map(lambda flags: "; ".join(flag["says"] for flag in flags))
    table = table.assign(flags=said).reindex(columns=list(FIGURES))
    # Whoever has a flag comes first, then those who go least with the others.
    table = table.assign(plain=said == "").sort_values(["plain", "infit_p"], kind="stable")
    return table.drop(columns="plain").reset_index(drop=True)


def _named(record: Record | None) -> Record:
    if record is None or not record.judges:
        raise InputError(
            "nobody knows who judged: these judgements name no judges; "
            "name their column (--judge), or give a file that has one"
        )
    if len(np.unique(record.compared.judge)) < 2:
        raise InputError("there is but one judge, and nobody to set them against; give more")
    return record


# Items.


def item_fit(tree: DataTree, *, draws: int = DRAWS, seed: int = 1) -> pd.DataFrame:
    """Infit and outfit of each item, averaged over draws, with posterior predictive p-values.

    At a draw of the posterior both are 1 on average where the model is right. The item's own
    answers are in the fit, so that p-values lean to the middle.
    """
    said, rng = asked(tree), default_rng([seed, 13])
    items = tree["constant_data/item"].to_numpy().astype(str)
    given: list[Floats] = []
    made: list[Floats] = []
    for part in Opinions.of(tree, draws).in_parts(len(said.left)):
        chance = part.chances(said.left, said.right)
        mean, variance = _moments(chance)
        for answer, out in ((said.outcome[None, :], given), (replies(chance, rng), made)):
            square = (1 - answer / 2 - mean) ** 2
            out.extend(
                _by_item(said, s, v, len(items)) for s, v in zip(square, variance, strict=True)
            )
    seen, replicated = np.stack(given), np.stack(made)
    p = tail(replicated - seen, 0.0)
    names = tree["constant_data/name"].to_numpy().astype(str)
    columns = {"item": items, "name": names, "comparisons": tree["constant_data/comparisons"]}
    names_of = ("infit", "outfit", "infit_p", "outfit_p")
    seen_any = tree["constant_data/comparisons"].to_numpy() > 0
    figures = {
        name: np.where(seen_any, column, np.nan)
        for name, column in zip(names_of, (*seen.mean(axis=0), *p), strict=True)
    }
    return pd.DataFrame({**columns, **figures})


def _by_item(said: Said, square: Floats, variance: Floats, size: int) -> Floats:
    """Infit and outfit (2, items) of one set of answers."""
    item = np.concatenate([said.left, said.right])

    def total(values: Floats) -> Floats:
        sums: Floats = np.bincount(item, np.concatenate([values, values]), size).astype(float)
        return sums

    number = np.maximum(np.bincount(item, minlength=size), 1)
    infit = total(square) / np.maximum(total(variance), 1e-9)
    return np.stack([infit, total(square / variance) / number])
