"""Panels of judges with known habits, for tests that look at judges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xarray import DataTree

from tiewise.data.comparisons import Comparisons
from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import QualityPrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs
from tiewise.posterior.fit import fit
from tiewise.posterior.tree import attach_record

BAD = ("random", "left", "tie", "reversed")
WORDS = np.array(["first", "tie", "second"], object)


def network(wards: int) -> Network:
    """The prior of the paper on a made-up county: these tests are about judges, not about maps."""
    return Network(Graph.from_areas(Areas.synthetic(wards, rng=3)), share=1.0)


def honest(
    truth: Truth, first: np.ndarray, second: np.ndarray, rng: np.random.Generator, *,
    order: float = 0.0, tie: float | np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Answers written out from Rao and Kupper's formulas, perhaps with a lean to the first."""
    gap = truth.quality[first] - truth.quality[second] + order
    tie = truth.tie if tie is None else tie
    win, lose = 1 / (1 + np.exp(tie - gap)), 1 / (1 + np.exp(tie + gap))
    uniform = rng.uniform(size=len(first))
    return (uniform >= win).astype(int) + (uniform >= 1 - lose)


def crowd(
    prior: QualityPrior, rng: np.random.Generator, *, good: int, bad: Sequence[str] = (),
    each: int = 40, variance: float = 2.0,
) -> tuple[Truth, Comparisons]:  # fmt: skip
    """Good judges and bad ones, each asked about as many random pairs; their name is their kind."""
    truth = Truth.from_priors(prior, Fixed(variance), Fixed(0.5), rng)
    rows = []
    for k, kind in enumerate(["good"] * good + list(bad)):
        first, second = random_pairs(len(truth.items), each, rng)
        answers = honest(truth, first, second, rng)
        habit = {
            "good": answers, "random": rng.integers(3, size=each), "left": np.zeros(each, int),
            "tie": np.ones(each, int), "reversed": 2 - answers,
        }  # fmt: skip
        rows.append((first, second, habit[kind], [f"{kind} {k}"] * each))
    first, second, answers, judge = (np.concatenate(column) for column in zip(*rows, strict=True))
    return truth, comparisons(truth, first, second, answers, judge)


def comparisons(
    truth: Truth, first: np.ndarray, second: np.ndarray, answers: np.ndarray, judge: np.ndarray
) -> Comparisons:
    names = np.array(truth.items, object)
    return Comparisons.from_columns(
        first=names[first], second=names[second], outcome=WORDS[answers], judge=list(judge)
    )


def fitted(
    data: Comparisons, prior: QualityPrior, *, draws: int = 2000, seed: int = 1
) -> tuple[BradleyTerry, DataTree]:
    """A model and its posterior, with the record of who said what."""
    model = BradleyTerry(data.counts(), prior)
    tree = fit(model, Transport(draws=draws), rng=seed)
    attach_record(tree, model, data)
    return model, tree
