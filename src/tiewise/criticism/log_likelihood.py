"""The log likelihood of every judgement at draws of a fit, as ArviZ expects it in a tree."""

from __future__ import annotations

import numpy as np
from xarray import Dataset, DataTree

from tiewise.criticism.leave_one_out import BATCH_ROWS, AnswerRows, answer_rows
from tiewise.errors import InputError
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.variables import describe_variables

MOST_NUMBERS, FEWEST_DRAWS = 50_000_000, 400
"""Numbers that the group may hold (400 MB), and the fewest draws with which it is of use."""


def with_log_likelihood(tree: DataTree) -> DataTree:
    """The tree of a fit with a group `log_likelihood`, for `arviz_stats.loo` and its like.

    `log_likelihood.answer[chain, draw, judgement]` is the log probability, in nats, of each answer
    that was given, in an order that is the same for all models of the same judgements. There are
    at most 50 million numbers: of more judgements fewer draws of each chain, evenly spaced. Where
    fewer than 400 would be left, `leave_one_out` does without the matrix. The tree that is given
    stays as it is.
    """
    rows = answer_rows(tree)
    kept = _kept_draws(tree, int(rows.times.sum()))
    draws = PosteriorDraws.from_tree(tree)
    chains, number = (tree["posterior"].sizes[name] for name in ("chain", "draw"))
    which = (np.arange(chains)[:, None] * number + kept).ravel()
    values = np.empty((chains, len(kept), int(rows.times.sum())))
    _fill(values.reshape(len(which), -1), draws.select(which), rows)
    out: DataTree = tree.copy()
    coords = tree["posterior"].coords
    index = {"chain": coords["chain"], "draw": coords["draw"][kept]}
    group = Dataset({"answer": (["chain", "draw", "judgement"], values)}, coords=index)
    out["log_likelihood"] = DataTree(group)
    describe_variables(out)
    return out


def _kept_draws(tree: DataTree, judgements: int) -> np.ndarray:
    """Positions of the draws of each chain that are used."""
    chains, number = (tree["posterior"].sizes[name] for name in ("chain", "draw"))
    most = MOST_NUMBERS // max(judgements, 1)
    if most < min(FEWEST_DRAWS, chains * number):
        raise InputError(
            f"the log likelihood of {judgements:,} judgements at {FEWEST_DRAWS} draws would take "
            f"{judgements * FEWEST_DRAWS * 8 / 1e9:.1f} GB; tiewise.leave_one_out(tree) gives the "
            "same without it"
        )
    kept = min(most // chains, number)
    return np.linspace(0, number - 1, kept).round().astype(np.int64)


def _fill(values: np.ndarray, draws: PosteriorDraws, rows: AnswerRows) -> None:
    """Write the values (draws, judgements), some distinct answers at a time."""
    end = np.cumsum(rows.times)
    for k in range(0, len(rows.first), BATCH_ROWS):
        part = AnswerRows(*(column[k : k + BATCH_ROWS] for column in rows))
        log = draws.log_probability(part.first, part.second, part.answer, part.stratum)
        start = end[k] - rows.times[k]
        stop = end[min(k + BATCH_ROWS, len(end)) - 1]
        values[:, start:stop] = np.repeat(log, part.times, axis=1)
