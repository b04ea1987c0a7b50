"""Posterior predictive checks: do answers replicated from the fit look like the observed ones?

From every draw of the posterior the answers to the same pairs are simulated. Statistics of the
observed answers are compared with those of the replicates; where the observed lie far outside, the
model misses something. A check of what the model is free to fit, such as wins, says little when it
passes. A new check is a function of `CheckInputs` and a line in `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import default_rng
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.replicates import CheckInputs, observed_answers, replicate
from tiewise.posterior.predictions import PosteriorDraws, tail_probability
from tiewise.randomness import RNGLike, as_seed

if TYPE_CHECKING:
    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DRAWS = 400
MAX_REPLICATES = 3_000_000
"""Answers simulated in all: with very many judgements fewer draws are used, at least 100."""
MIN_JUDGES = 2


class Check(NamedTuple):
    """One statistic: observed, and replicated from the fit (median and 95 % interval).

    `p` is the probability of a replicate as extreme or more so. `parts` are its parts, where it
    has any: columns part, x, observed, low, middle, high. `counted` names what they count.
    """

    key: str
    title: str
    unit: str
    observed: float
    low: float
    middle: float
    high: float
    p: float
    parts: pd.DataFrame | None = None
    counted: str = ""


def predictive_checks(
    tree: DataTree, *, draws: int = DRAWS, judgements: int | None = None, rng: RNGLike = None
) -> list[Check]:
    """Every check that these results allow, from draws of their posterior.

    Of more `judgements` than this (30,000 by default) so many are drawn at random.

    Without `rng` the seed of the fit is used, so that the same results give the same figures.
    """
    seed = int(tree.attrs.get("seed", 0)) if rng is None else as_seed(rng)
    generator = default_rng([seed, 7])
    data = observed_answers(tree, generator, judgements)
    size = len(data.table.left)
    if not size:
        return []
    number = max(min(draws, MAX_REPLICATES // size), 100)
    inputs = replicate(data, PosteriorDraws.from_tree(tree, number), generator)
    return [check for function in CHECKS for check in function(inputs)]


def results_checks(results: Results) -> list[Check]:
    """The checks of a results folder, computed once; none for a point estimate, without draws."""
    if "checks" not in results.cache:
        point = results.facts["kind"] == "point"
        results.cache["checks"] = [] if point else predictive_checks(results.tree)
    checks: list[Check] = results.cache["checks"]
    return checks


# The checks.


def _ties_by_difference(inputs: CheckInputs) -> Iterator[Check]:
    data, observed, replicated = inputs.data, inputs.observed, inputs.replicated
    if not data.ties:
        return
    parts = _parts(data.centres, observed.share[0], replicated.share, 100.0)
    parts.insert(0, "part", [f"about {gap:.2f} apart" for gap in data.centres])
    p = tail_probability(inputs.replicated_discrepancy.ties - inputs.observed_discrepancy.ties, 0.0)
    whole = replicated.share.mean(axis=1)
    yield _check("ties", "Ties by difference in quality", "% of answers",
                 100 * float(observed.share[0].mean()), 100 * whole, float(p), parts)  # fmt: skip


def _ties_by_judge(inputs: CheckInputs) -> Iterator[Check]:
    data, observed, replicated = inputs.data, inputs.observed.judges[0], inputs.replicated.judges
    if not data.ties or data.judges < MIN_JUDGES:
        return
    order = np.argsort(observed, kind="stable")
    parts = _parts(np.arange(len(order)), observed[order], replicated[:, order], 100.0)
    parts.insert(0, "part", order)
    p = tail_probability(
        inputs.replicated_discrepancy.judges - inputs.observed_discrepancy.judges, 0.0
    )
    spread = 100 * replicated.std(axis=1)
    yield _check("judges", "How much judges differ in their use of ties", "% (sd over judges)",
                 100 * float(observed.std()), spread, float(p), parts)  # fmt: skip


def _strength_by_difference(inputs: CheckInputs) -> Iterator[Check]:
    data, observed, replicated = inputs.data, inputs.observed.strength[0], inputs.replicated
    if data.levels == 1:
        return
    parts = _parts(data.centres, observed, replicated.strength, 1.0)
    parts.insert(0, "part", [f"about {gap:.2f} apart" for gap in data.centres])
    p = tail_probability(
        inputs.replicated_discrepancy.strength - inputs.observed_discrepancy.strength, 0.0
    )
    yield _check("strength", "Strength of choices by difference in quality",
                 f"mean strength, 0 to {data.levels}", float(observed.mean()),
                 replicated.strength.mean(axis=1), float(p), parts)  # fmt: skip


def _strength_by_judge(inputs: CheckInputs) -> Iterator[Check]:
    data, observed = inputs.data, inputs.observed.judge_strength[0]
    if data.levels == 1 or data.judges < MIN_JUDGES:
        return
    replicated, order = inputs.replicated.judge_strength, np.argsort(observed, kind="stable")
    parts = _parts(np.arange(len(order)), observed[order], replicated[:, order], 1.0)
    parts.insert(0, "part", order)
    p = tail_probability(
        inputs.replicated_discrepancy.judge_strength - inputs.observed_discrepancy.judge_strength,
        0.0,
    )
    yield _check("judge_strength", "How much judges differ in strength",
                 "mean strength (sd over judges)", float(observed.std()), replicated.std(axis=1),
                 float(p), parts)  # fmt: skip


def _agreement_of_judges(inputs: CheckInputs) -> Iterator[Check]:
    """Whether each judge's choices of each item are as the estimates of all judges say."""
    if inputs.data.judges < MIN_JUDGES:
        return
    cells = int(inputs.data.cells.max()) + 1
    observed = inputs.observed_discrepancy.agreement / cells
    replicated = inputs.replicated_discrepancy.agreement / cells
    p = tail_probability(replicated - observed, 0.0)
    yield _check("agreement", "Do judges agree about items?", "times what chance explains",
                 float(observed.mean()), replicated, float(p))  # fmt: skip


def _circular_triads(inputs: CheckInputs) -> Iterator[Check]:
    observed, replicated = inputs.observed.circular[0], inputs.replicated.circular
    known = ~np.isnan(replicated)
    if np.isnan(observed) or known.mean() < 0.9:
        return
    shares, share = replicated[known], float(observed)
    yield _check("triads", "Circles: A over B, B over C, C over A", "% of triads",
                 100 * share, 100 * shares, _two_sided(shares, share))  # fmt: skip


def _side_of_choices(inputs: CheckInputs) -> Iterator[Check]:
    observed, replicated = inputs.observed.left[0], inputs.replicated.left
    if not inputs.data.sides or np.isnan(replicated).any() or np.isnan(observed):
        return
    share = float(observed)
    yield _check("order", "Left or right: does the side matter?", "% of decided answers",
                 100 * share, 100 * replicated, _two_sided(replicated, share))  # fmt: skip


def _wins_of_items(inputs: CheckInputs) -> Iterator[Check]:
    table, size = inputs.data.table, inputs.data.items
    compared = np.flatnonzero(
        np.bincount(np.concatenate([table.left, table.right]), minlength=size)
    )
    observed, replicated = inputs.observed.wins[0][compared], inputs.replicated.wins[:, compared]
    parts = _parts(replicated.mean(axis=0), observed, replicated, 1.0)
    parts.insert(0, "part", compared)
    p = tail_probability(inputs.replicated_discrepancy.wins - inputs.observed_discrepancy.wins, 0.0)
    # Of graded answers a win counts by its strength, as in infit.
    what = "wins" if inputs.data.levels == 1 else "points"
    yield _check("wins", f"{what.capitalize()} of each item", f"{what} (sd over items)",
                 float(observed.std()), replicated.std(axis=1), float(p), parts,
                 what)  # fmt: skip


CHECKS: tuple[Callable[[CheckInputs], Iterator[Check]], ...] = (
    _ties_by_difference,
    _ties_by_judge,
    _strength_by_difference,
    _strength_by_judge,
    _agreement_of_judges,
    _circular_triads,
    _side_of_choices,
    _wins_of_items,
)
"""Every check, in the order of the report: a function that yields it where the data allow it."""


def _check(
    key: str, title: str, unit: str, observed: float, replicated: Floats, p: float,
    parts: pd.DataFrame | None = None, counted: str = "",
) -> Check:  # fmt: skip
    low, middle, high = (float(q) for q in np.quantile(replicated, (0.025, 0.5, 0.975)))
    return Check(key, title, unit, observed, low, middle, high, p, parts, counted)


def _parts(x: Floats | Integers, observed: Floats, replicated: Floats, unit: float) -> pd.DataFrame:
    low, middle, high = np.quantile(replicated, (0.025, 0.5, 0.975), axis=0)
    columns = {"observed": observed, "low": low, "middle": middle, "high": high}
    return pd.DataFrame({"x": x, **{key: unit * value for key, value in columns.items()}})


def _two_sided(replicated: Floats, observed: float) -> float:
    above = float(tail_probability(replicated, observed))
    return min(2 * min(above, 1 - above), 1.0)


def checks_table(checks: list[Check]) -> pd.DataFrame:
    """The checks as `checks.csv` has them: one row each."""
    columns = ("key", "title", "unit", "observed", "low", "middle", "high", "p")
    rows = [{name: getattr(check, name) for name in columns} for check in checks]
    table = pd.DataFrame(rows, columns=columns).rename(columns={"key": "check"})
    return table.rename(columns={"low": "q2.5", "middle": "median", "high": "q97.5"})
