"""Split-half reliability over judges, and scale separation reliability (SSR) without a prior.

Judges are split into two halves at random, each half is fitted on its own, and the two sets of
estimates are correlated; many times over. The Spearman-Brown formula turns the correlation of
halves into the reliability of the whole. Both halves have the variance of quality and the tie
threshold of the whole: neither changes the order, and to infer them takes ten times as long.
Further cuts of graded answers are inferred in each half.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_influence import restrict_to_judges, without_terms
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.posterior.fit import fit, make_engine, run_engine
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.reliability import scale_separation
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed

Floats = NDArray[np.float64]

MIN_JUDGES = 4
SPLITS = 50
FIT_SPLITS = 20
"""Splits in every fit, up to `MOST_ITEMS` items and `MOST_COMPARISONS` comparisons."""
MOST_ITEMS, MOST_COMPARISONS = 200, 50_000
DRAWS = 200
"""Draws of each fit, of which only the mean is used."""


@dataclass(frozen=True)
class ReliabilityFigures:
    """Measures of reliability; None where not known.

    `ssr`: scale separation reliability, the share of the variance of quality that is known, from
    the posterior. `ssr_without_prior`: from maximum likelihood, where that is finite. `split_half`:
    of random halves of judges, the median and the middle 95 %. `consistency`: of pairs that a judge
    was asked again (`repeats`), the share answered alike.
    """

    ssr: float
    ssr_without_prior: float | None
    split_half: float | None
    split_half_low: float | None
    split_half_high: float | None
    repeats: int
    consistency: float | None


class Scales(NamedTuple):
    """The variance of quality, the tie threshold and, where it is inferred, the map's share."""

    variance: float
    tie: float
    share: float | None = None

    @classmethod
    def from_tree(cls, tree: DataTree) -> Scales | None:
        """Posterior medians; None where an engine has no variance."""
        posterior = tree["posterior"]
        variance, tie = (float(np.median(posterior[name])) for name in ("variance", "tie"))
        share = float(np.median(posterior["share"])) if "share" in posterior else None
        return cls(variance, tie, share) if np.isfinite(variance) and variance > 0 else None

    def fixed(self, model: BradleyTerry) -> BradleyTerry:
        """The model with these in place of their priors."""
        tie = model.tie if model.fixed_tie == 0 else Fixed(self.tie)
        prior = model.prior
        if self.share is not None and isinstance(prior, Network):
            prior = prior.at(self.share)
        # Anchors are the same for both halves, and would make them agree.
        return replace(model, prior=prior, variance=Fixed(self.variance), tie=tie, anchors=None)


class SplitHalf(NamedTuple):
    """Split-half reliability over random halves of judges: median, and the middle 95 % of them."""

    reliability: float
    low: float
    high: float
    splits: int

    def rounded(self) -> dict[str, float]:
        """Its figures by name, to four digits."""
        return {name: round(value, 4) for name, value in self._asdict().items()}


def split_half(
    model: BradleyTerry,
    record: JudgementRecord,
    *,
    splits: int = SPLITS,
    scales: Scales | None = None,
    rng: RNGLike = 1,
    progress: Progress = no_progress,
) -> SplitHalf | None:
    """Split-half reliability over judges; None with fewer than four of them.

    `scales` are those of the whole, from which both halves are fitted; without them each half
    infers its own.
    """
    judges = np.unique(record.compared.judge)
    if len(judges) < MIN_JUDGES:
        return None
    model = model if scales is None else scales.fixed(model)
    generator = default_rng([as_seed(rng), 17])
    reliabilities = []
    for done in range(splits):
        progress("halves", done, splits)
        reliabilities.append(spearman_brown(_one_split(model, record, judges, generator)))
    low, middle, high = np.quantile(reliabilities, (0.025, 0.5, 0.975))
    return SplitHalf(float(middle), float(low), float(high), splits)


def _one_split(
    model: BradleyTerry, record: JudgementRecord, judges: NDArray[np.int64], rng: Generator
) -> float:
    """Correlation of the estimates from two random halves of the judges."""
    shuffled = rng.permutation(judges)
    middle = len(judges) // 2
    estimates = []
    for half in (shuffled[:middle], shuffled[middle:]):
        included = np.isin(np.arange(len(record.judges)), half)
        quick = make_engine("laplace", draws=DRAWS, weighted=False)
        seed = SeedSequence(int(rng.integers(2**31)))
        part = restrict_to_judges(model, record, included)
        quality = run_engine(part, quick, seed, no_progress)[1].quality[0]
        estimates.append((quality - quality.mean(axis=1, keepdims=True)).mean(axis=0))
    return _correlation(*estimates)


def _correlation(one: Floats, two: Floats) -> float:
    """The correlation of two sets of estimates; 0 where one of them does not vary."""
    one, two = one - one.mean(), two - two.mean()
    size = float(np.sqrt((one @ one) * (two @ two)))
    return float(one @ two) / size if size > 0 else 0.0


def attach_split_half(
    tree: DataTree, model: BradleyTerry, record: JudgementRecord | None, progress: Progress
) -> None:
    """Add split-half reliability to the attributes of a fit, or why it was left out."""
    tree.attrs["split_half"] = json.dumps(split_half_facts(tree, model, record, progress))


def split_half_facts(
    tree: DataTree, model: BradleyTerry, record: JudgementRecord | None, progress: Progress
) -> dict[str, float] | dict[str, str]:
    """The split-half reliability of a fit, or why it was left out."""
    left_out = _why_left_out(model, record)
    halves = None
    if not left_out and record is not None:
        halves = split_half(
            without_terms(model), record._replace(stratum=None), splits=FIT_SPLITS,
            scales=Scales.from_tree(tree), progress=progress,
        )  # fmt: skip
    return {"left_out": left_out} if halves is None else halves.rounded()


def _why_left_out(model: BradleyTerry, record: JudgementRecord | None) -> str:
    if record is None or len(np.unique(record.compared.judge)) < MIN_JUDGES:
        return f"fewer than {MIN_JUDGES} judges are known"
    if model.size > MOST_ITEMS or model.counts.comparisons > MOST_COMPARISONS:
        return (
            f"it takes long for more than {MOST_ITEMS} items or {MOST_COMPARISONS:,} comparisons; "
            "`tiewise judges` computes it"
        )
    return ""


def separation_reliability(model: BradleyTerry) -> float:
    """Scale separation reliability by maximum likelihood; NaN where estimates are not finite."""
    try:
        tree = fit(model, make_engine("maximum-likelihood"), rng=1)
    except InputError:  # items that won or lost everything, or were never compared
        return float("nan")
    estimate = tree["posterior/quality"].to_numpy()[0, 0]
    return scale_separation(estimate, tree["constant_data/standard_error"].to_numpy())


def spearman_brown(correlation: float) -> float:
    """Reliability of the whole from the correlation of its halves; -1 at the least."""
    return max(2 * correlation / (1 + correlation), -1.0) if correlation > -1 else -1.0
