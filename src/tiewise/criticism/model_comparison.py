"""Which model predicts judgements best: leave-one-out (PSIS-LOO), and models set side by side.

A judgement is left out by weighting draws. All judgements of one pair (and stratum) with one answer
have the same weights, so each such row is worked out once and counted as often as it occurs: tens
of thousands of judgements are as many numbers, never a matrix of draws by judgements.
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
from tiewise.posterior.predictions import Opinions

if TYPE_CHECKING:
    from arviz_stats.utils import ELPDData

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_DRAWS = 2000
AT_ONCE = 500
"""Rows of answers worked out together."""
EVEN = float(np.log(3))
"""Weights within this factor of each other are taken as they are."""
NOTABLE, CLEAR = 2.0, 4.0
"""Differences in standard errors, and in log score, below which nothing is said for either."""
ENOUGH = 100


class Rows(NamedTuple):
    """Distinct pairs with an answer (0 first, 1 about equal, 2 second), and how often each came.

    In an order that does not depend on the model: by pair, answer, then stratum.
    """

    first: Integers
    second: Integers
    answer: Integers
    stratum: Integers
    times: Integers


def rows_of(tree: DataTree) -> Rows:
    """The distinct rows of what was fitted."""
    seen = {str(k): v.to_numpy().astype(np.int64) for k, v in tree["observed_data"].items()}
    number = np.stack([seen[name] for name in ("wins_first", "ties", "wins_second")])
    answer, row = np.nonzero(number)
    first, second = seen["first"][row], seen["second"][row]
    turned = first > second
    low, high = np.minimum(first, second), np.maximum(first, second)
    said = np.where(turned, 2 - answer, answer)
    order = np.lexsort((turned, seen["stratum"][row], said, high, low))
    columns = (first, second, answer, seen["stratum"][row], number[answer, row])
    return Rows(*(column[order] for column in columns))


def data_digest(tree: DataTree) -> str:
    """A fingerprint of the judgements, however a model sorted them into strata and sides."""
    seen = tree["observed_data"]
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    items = [str(item) for item in tree["constant_data/item"].to_numpy()]
    return Counts.of(items, *(seen[name].to_numpy() for name in columns)).digest()


def leave_one_out(tree: DataTree) -> ELPDData:
    """Expected log score of a judgement that the fit has not seen, by PSIS, as ArviZ has it.

    `elpd_i` and `pareto_k` have an entry for every judgement, in an order that is the same for
    all models of the same judgements.
    """
    from arviz_stats.utils import ELPDData

    rows, opinions = rows_of(tree), Opinions.of(tree, MOST_DRAWS)
    parts = list(_by_parts(opinions, rows))
    each, k_hat, in_sample = (np.concatenate(part) for part in zip(*parts, strict=True))
    pointwise = np.repeat(each, rows.times)
    good = min(1 - 1 / np.log10(len(opinions)), 0.7)
    size = len(pointwise)
    return ELPDData(
        "loo",
        float(pointwise.sum()),
        float(np.sqrt(size * np.var(pointwise))),
        float(rows.times @ in_sample - pointwise.sum()),
        len(opinions),
        size,
        "log",
        bool((k_hat > good).any()),
        float(good),
        elpd_i=DataArray(pointwise, dims="judgement"),
        pareto_k=DataArray(np.repeat(k_hat, rows.times), dims="judgement"),
    )


def _by_parts(opinions: Opinions, rows: Rows) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Log score left out, k-hat, and log score left in, some rows at a time."""
    for k in range(0, len(rows.first), AT_ONCE):
        part = Rows(*(column[k : k + AT_ONCE] for column in rows))
        log = opinions.log_chance(part.first, part.second, part.answer, part.stratum).T
        weight, k_hat = _weights(log)
        yield _log_mean(log, weight), k_hat, _log_mean(log, np.zeros_like(log))


def _weights(log: Floats) -> tuple[Floats, Floats]:
    """Log weights of draws without a judgement, smoothed where they have a tail, and k-hat."""
    from arviz_stats.base import array_stats

    # Smoothing takes a millisecond a row, and even weights have no tail that would need it.
    uneven = np.ptp(log, axis=1) > EVEN
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


# Models side by side.


class Comparison(NamedTuple):
    """Models from the best to the worst, and what may be said of them."""

    table: pd.DataFrame
    says: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write the table as CSV."""
        try:
            write_csv(self.table, path)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); name another") from None


def compare(models: Mapping[str, DataTree]) -> Comparison:
    """Models of the same judgements by how well they predict one they have not seen.

    The table has, best first: log score (`elpd`) and its standard error, the difference from the
    best and its standard error, effective parameters, the weight in a mixture (stacking), and the
    share of judgements whose k-hat is too high.
    """
    from arviz_stats import compare as set_side_by_side

    if len(models) < 2:
        raise InputError("a comparison needs two results folders or more; name another")
    _refuse_other_data(models)
    scores = {name: leave_one_out(tree) for name, tree in models.items()}
    found = set_side_by_side(scores)
    poor = {
        name: float((score.pareto_k.to_numpy() > score.good_k).mean())
        for name, score in scores.items()
    }
    table = pd.DataFrame(
        {
            "model": found.index,
            "elpd": found["elpd"].to_numpy(), "se": found["se"].to_numpy(),
            # Minus what each is behind the best, whichever sign ArviZ gives it.
            "difference": -np.abs(found["elpd_diff"].to_numpy()),
            "difference_se": found["dse"].to_numpy(),
            "parameters": found["p"].to_numpy(), "weight": found["weight"].to_numpy(),
            "poor_k": [poor[name] for name in found.index],
        }
    )  # fmt: skip
    size = next(iter(scores.values())).n_data_points
    return Comparison(table, tuple(_said(table, size)))


def _refuse_other_data(models: Mapping[str, DataTree]) -> None:
    digests = {name: data_digest(tree) for name, tree in models.items()}
    first = next(iter(digests))
    for name, digest in digests.items():
        if digest != digests[first]:
            raise InputError(
                f"{first} and {name} are fits of different judgements, and scores of different "
                "judgements cannot be compared; fit both models to the same file"
            )


def _said(table: pd.DataFrame, size: int) -> Iterator[str]:
    best = table["model"].iloc[0]
    for _, row in table.iloc[1:].iterrows():
        yield _against(best, row)
    poor = table[table["poor_k"] > 0]
    for _, row in poor.iterrows():
        number = max(round(row["poor_k"] * size), 1)
        yield (
            f"For {number:,} of {size:,} judgements {row['model']} leans on the judgement itself "
            "too much for weights (k-hat too high): its score is rough."
        )
    if size < ENOUGH:
        yield f"{size} judgements are few: standard errors of differences are rough below 100."


def _against(best: str, row: pd.Series) -> str:
    behind, error = -float(row["difference"]), float(row["difference_se"])
    told = f"by {behind:.1f} in log score, with a standard error of {error:.1f}"
    if behind < CLEAR:
        return f"{best} and {row['model']} predict about equally well: they differ {told}."
    if behind < NOTABLE * error:
        return f"{best} predicts better than {row['model']} {told}: too little to be sure."
    return f"{best} predicts better than {row['model']}, and clearly so: {told}."


def compare_results(results: Sequence[Results]) -> Comparison:
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
