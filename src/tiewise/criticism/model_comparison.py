"""Model comparison by leave-one-out cross-validation (PSIS-LOO).

A judgement is left out by weighting draws. All judgements of one pair (and stratum) with one answer
have the same weights, so each such row is computed once and repeated as often as it occurs; there
is never a matrix of draws by judgements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import DataArray, DataTree

from tiewise.data.counts import Counts
from tiewise.data.files import write_csv
from tiewise.errors import InputError
from tiewise.posterior.predictions import PosteriorDraws

if TYPE_CHECKING:
    from arviz_stats.utils import ELPDData

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_DRAWS = 2000
BATCH_ROWS = 500
"""Rows of answers computed together."""
LOG_WEIGHT_RANGE = float(np.log(3))
"""Weights within this factor of each other are not smoothed."""
MIN_STANDARD_ERRORS, MIN_DIFFERENCE = 2.0, 4.0
"""Differences, in standard errors and in log score, below which no model is called better."""
ENOUGH_JUDGEMENTS = 100


class AnswerRows(NamedTuple):
    """Distinct pairs with an answer, by its code, and how often each occurs.

    In an order that does not depend on the model: by pair, answer, then stratum.
    """

    first: Integers
    second: Integers
    answer: Integers
    stratum: Integers
    times: Integers


def answer_rows(tree: DataTree) -> AnswerRows:
    """The distinct rows of the fitted judgements."""
    observed = {str(k): v.to_numpy().astype(np.int64) for k, v in tree["observed_data"].items()}
    number = np.stack([observed[name] for name in ("wins_first", "ties", "wins_second")])
    answer, row = np.nonzero(number)
    first, second = observed["first"][row], observed["second"][row]
    turned = first > second
    low, high = np.minimum(first, second), np.maximum(first, second)
    ordered_answer = np.where(turned, 2 - answer, answer)
    order = np.lexsort((turned, observed["stratum"][row], ordered_answer, high, low))
    columns = (first, second, answer, observed["stratum"][row], number[answer, row])
    return AnswerRows(*(column[order] for column in columns))


def data_digest(tree: DataTree) -> str:
    """A digest of the judgements that does not depend on strata and sides."""
    observed = tree["observed_data"]
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    items = [str(item) for item in tree["constant_data/item"].to_numpy()]
    return Counts.of(items, *(observed[name].to_numpy() for name in columns)).digest()


def leave_one_out(tree: DataTree) -> ELPDData:
    """Expected log score of a judgement that is left out of the fit, by PSIS, as ArviZ has it.

    `elpd_i` and `pareto_k` have an entry for every judgement, in an order that is the same for
    all models of the same judgements.
    """
    from arviz_stats.utils import ELPDData

    rows, draws = answer_rows(tree), PosteriorDraws.from_tree(tree, MAX_DRAWS)
    parts = list(_by_batches(draws, rows))
    left_out, k_hat, in_sample = (np.concatenate(part) for part in zip(*parts, strict=True))
    pointwise = np.repeat(left_out, rows.times)
    good = min(1 - 1 / np.log10(len(draws)), 0.7)
    size = len(pointwise)
    return ELPDData(
        "loo",
        float(pointwise.sum()),
        float(np.sqrt(size * np.var(pointwise))),
        float(rows.times @ in_sample - pointwise.sum()),
        len(draws),
        size,
        "log",
        bool((k_hat > good).any()),
        float(good),
        elpd_i=DataArray(pointwise, dims="judgement"),
        pareto_k=DataArray(np.repeat(k_hat, rows.times), dims="judgement"),
    )


def _by_batches(draws: PosteriorDraws, rows: AnswerRows) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Log score of left-out rows, k-hat, and log score in the sample, some rows at a time."""
    for k in range(0, len(rows.first), BATCH_ROWS):
        part = AnswerRows(*(column[k : k + BATCH_ROWS] for column in rows))
        log_likelihood = draws.log_probability(part.first, part.second, part.answer, part.stratum).T
        weight, k_hat = _weights(log_likelihood)
        yield (
            _log_mean(log_likelihood, weight),
            k_hat,
            _log_mean(log_likelihood, np.zeros_like(log_likelihood)),
        )


def _weights(log: Floats) -> tuple[Floats, Floats]:
    """Log weights of draws without a judgement, smoothed where they have a tail, and k-hat."""
    from arviz_stats.base import array_stats

    # Smoothing takes a millisecond a row, and even weights have no tail that would need it.
    uneven = np.ptp(log, axis=1) > LOG_WEIGHT_RANGE
    weight, k_hat = -log, np.zeros(len(log))
    if uneven.any():
        weight[uneven], k_hat[uneven] = array_stats.psislw(log[uneven])
    return weight, k_hat


def _log_mean(log: Floats, log_weight: Floats) -> Floats:
    """Log of the weighted mean of what these are logs of, row by row."""
    total = log + log_weight
    top = total.max(axis=1, keepdims=True)
    out: Floats = top[:, 0] + np.log(np.exp(total - top).sum(axis=1))
    return out - _log_sum(log_weight)


def _log_sum(log: Floats) -> Floats:
    top = log.max(axis=1, keepdims=True)
    out: Floats = top[:, 0] + np.log(np.exp(log - top).sum(axis=1))
    return out


# Comparing models.


class ModelComparison(NamedTuple):
    """Models from the best to the worst, and sentences about the differences."""

    table: pd.DataFrame
    sentences: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write the table as CSV."""
        try:
            write_csv(self.table, path)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); name another") from None


def compare(models: Mapping[str, DataTree]) -> ModelComparison:
    """Models of the same judgements by how well they predict one they have not seen.

    The table has, best first: log score (`elpd`) and its standard error, the difference from the
    best and its standard error, effective parameters, the weight in a mixture (stacking), and the
    share of judgements whose k-hat is too high.
    """
    from arviz_stats import compare as arviz_compare

    if len(models) < 2:
        raise InputError("a comparison needs two results folders or more; name another")
    _refuse_other_data(models)
    scores = {name: leave_one_out(tree) for name, tree in models.items()}
    ranking = arviz_compare(scores)
    poor = {
        name: float((score.pareto_k.to_numpy() > score.good_k).mean())
        for name, score in scores.items()
    }
    table = pd.DataFrame(
        {
            "model": ranking.index,
            "elpd": ranking["elpd"].to_numpy(), "se": ranking["se"].to_numpy(),
            # Minus what each is behind the best, whichever sign ArviZ gives it.
            "difference": -np.abs(ranking["elpd_diff"].to_numpy()),
            "difference_se": ranking["dse"].to_numpy(),
            "parameters": ranking["p"].to_numpy(), "weight": ranking["weight"].to_numpy(),
            "poor_k": [poor[name] for name in ranking.index],
        }
    )  # fmt: skip
    size = next(iter(scores.values())).n_data_points
    return ModelComparison(table, tuple(_sentences(table, size)))


def _refuse_other_data(models: Mapping[str, DataTree]) -> None:
    digests = {name: data_digest(tree) for name, tree in models.items()}
    first = next(iter(digests))
    for name, digest in digests.items():
        if digest != digests[first]:
            raise InputError(
                f"{first} and {name} are fits of different judgements, and scores of different "
                "judgements cannot be compared; fit both models to the same file"
            )


def _sentences(table: pd.DataFrame, size: int) -> Iterator[str]:
    best = table["model"].iloc[0]
    for _, row in table.iloc[1:].iterrows():
        yield _difference_sentence(best, row)
    poor = table[table["poor_k"] > 0]
    for _, row in poor.iterrows():
        number = max(round(row["poor_k"] * size), 1)
        yield (
            f"For {number:,} of {size:,} judgements {row['model']} leans on the judgement itself "
            "too much for weights (k-hat too high): its score is rough."
        )
    if size < ENOUGH_JUDGEMENTS:
        yield f"{size} judgements are few: standard errors of differences are rough below 100."


def _difference_sentence(best: str, row: pd.Series) -> str:
    behind, error = -float(row["difference"]), float(row["difference_se"])
    difference = f"by {behind:.1f} in log score, with a standard error of {error:.1f}"
    if behind < MIN_DIFFERENCE:
        return f"{best} and {row['model']} predict about equally well: they differ {difference}."
    if behind < MIN_STANDARD_ERRORS * error:
        return f"{best} predicts better than {row['model']} {difference}: too little to be sure."
    return f"{best} predicts better than {row['model']}, and clearly so: {difference}."


def compare_results(results: Sequence[Results]) -> ModelComparison:
    """Results folders side by side: the twin of `tiewise compare`."""
    names = _names([one.folder for one in results])
    return compare({name: one.tree for name, one in zip(names, results, strict=True)})


def _names(folders: Sequence[Path]) -> list[str]:
    """What folders are called: their own names, or whole paths where those are not distinct."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    paths = [str(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        raise InputError("the same results folder is named twice; name two that differ")
    return paths
