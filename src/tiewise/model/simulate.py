"""Simulated judgements with known truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from tiewise.data.answers import FIRST, SECOND, SKIP, TIE, grade_probabilities
from tiewise.data.comparisons import ANSWER_WORDS, Comparisons
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.map_priors import Mixture
from tiewise.model.quality_priors import QualityPrior
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.randomness import RNGLike

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BATCH = 1 << 20
"""Simulated judgements that are in memory at a time."""


@dataclass(frozen=True)
class Truth:
    """What judgements are simulated from."""

    items: tuple[str, ...]
    quality: Floats = field(repr=False)
    tie: float
    variance: float
    terms: Mapping[str, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def from_priors(
        cls,
        prior: QualityPrior,
        variance: VariancePrior | Fixed,
        tie: TiePrior | Fixed | None,
        rng: RNGLike,
        *,
        items: tuple[str, ...] | None = None,
    ) -> Truth:
        """A truth drawn from the prior."""
        names = prior.items or items
        if names is None:
            raise InputError("this prior speaks of no items of its own; say which there are")
        rng = default_rng(rng)
        spread = variance.sample(rng)
        terms = {}
        mixture: Mixture | None = getattr(prior, "mixture", None)
        if mixture is None:
            factor = prior.factor(len(names))
        else:
            terms["share"] = np.asarray(rng.uniform())
            factor = mixture.vectors * np.sqrt(mixture.variances(terms["share"]))
        rank = len(names) if factor is None else factor.shape[1]
        noise = rng.normal(size=rank) * np.sqrt(spread)
        quality = noise if factor is None else factor @ noise
        return cls(names, quality, 0.0 if tie is None else tie.sample(rng), spread, terms)

    @classmethod
    def from_model(cls, model: BradleyTerry, rng: RNGLike) -> Truth:
        """A truth drawn from the prior of a model, its terms included.

        `terms` has what terms add, by the names that results have for it.
        """
        rng = default_rng(rng)
        truth = cls.from_priors(model.prior, model.variance, model.tie, rng, items=model.items)
        steps = [prior.sample(rng) for prior in model.steps]
        first = truth.tie if truth.tie or not steps else steps[0]
        terms = {**truth.terms, **dict(_term_values(model, first, rng))}
        if steps:
            terms["cut"] = np.cumsum([truth.tie, *steps])
        columns = model.design.columns
        if columns is None:
            return replace(truth, terms=terms)
        by_covariates = columns.standard @ (terms["coefficient"] * columns.sd)
        explained = by_covariates.var() / (by_covariates.var() + truth.quality.var())
        terms["explained"] = np.asarray(explained)
        return replace(truth, quality=truth.quality + by_covariates, terms=terms)


def _term_values(model: BradleyTerry, tie: float, rng: Generator) -> Iterator[tuple[str, Floats]]:
    """Values of each term of a model, drawn from its prior."""
    design, strata = model.design, model.design.likelihood.strata

    def normal(variance: VariancePrior | Fixed, size: int) -> tuple[Floats, Floats]:
        square = np.asarray(variance.sample(rng))
        return np.sqrt(square) * rng.normal(size=size), square

    if design.covariates is not None and design.columns is not None:
        own, square = normal(design.covariates.variance, len(design.columns.names))
        yield "coefficient", own / design.columns.sd
        if not isinstance(design.covariates.variance, Fixed):
            yield "coefficient_sd", np.sqrt(square)
    if design.order is not None:
        order = normal(design.order.variance, len(design.advantages))[0]
        yield "order", order if design.facts is None else order / design.facts.sd
    if design.groups is not None:
        prior = design.groups.prior or model.prior
        factor, copies = prior.factor(model.size), design.contrasts.shape[1]
        rank = model.size if factor is None else factor.shape[1]
        own, square = normal(design.groups.variance, copies * rank)
        coordinates = own.reshape(copies, rank)
        yield (
            "contrast",
            design.contrasts @ (coordinates if factor is None else coordinates @ factor.T),
        )
        yield "contrast_variance", square
    if design.sharpness is not None:
        own, square = normal(design.sharpness.variance, strata)
        yield "sharpness", np.exp(design.relative(design.sharpness, own))
        if design.sharpness.reference is None:
            yield "sharpness_sd", np.sqrt(square)
    if design.thresholds is not None:
        own, square = normal(design.thresholds.variance, strata)
        yield "threshold", tie * np.exp(design.relative(design.thresholds, own))
        if design.thresholds.reference is None:
            yield "threshold_sd", np.sqrt(square)


def replicate_counts(model: BradleyTerry, truth: Truth, rng: RNGLike) -> Counts:
    """The pairs of a model's counts judged anew, as often and by the same judges, by this truth."""
    design, counts = model.design, model.counts
    terms = {name: value[..., None] for name, value in truth.terms.items()}
    at = design.arguments(truth.quality[:, None], np.array([truth.tie]), terms)
    gap, cuts = (part[..., 0] for part in design.gaps(at))
    if model.steps:
        probabilities = grade_probabilities(gap, cuts).T
    else:
        probabilities = np.column_stack(answer_probabilities(gap, cuts[0]))
    times = counts.wins_first + counts.wins_second + counts.ties
    # They add up to 1 but for rounding, about which multinomial draws are strict.
    shares = probabilities / probabilities.sum(axis=1, keepdims=True)
    answers = default_rng(rng).multinomial(times, shares)
    if model.steps:
        return _graded(counts, answers)
    return replace(
        counts,
        wins_first=answers[:, FIRST],
        ties=answers[:, TIE],
        wins_second=answers[:, SECOND],
    )


def _graded(counts: Counts, answers: Integers) -> Counts:
    """The pairs of these counts with graded answers (rows, grades) instead."""
    levels = counts.levels
    first, second = answers[:, :levels][:, ::-1], answers[:, levels + 1 :]
    return replace(
        counts,
        wins_first=first.sum(axis=1),
        ties=answers[:, levels],
        wins_second=second.sum(axis=1),
        strengths=np.stack([first, second], axis=1),
    )


def random_pairs(size: int, comparisons: int, rng: Generator) -> tuple[Integers, Integers]:
    """Pairs of distinct items, uniform over pairs and over sides."""
    first = rng.integers(size, size=comparisons)
    second = (first + rng.integers(1, size, size=comparisons)) % size
    return first, second


def simulate_answers(truth: Truth, first: Integers, second: Integers, rng: Generator) -> Integers:
    """A judge's answer to each pair, as the codes of `data.answers`."""
    gap = truth.quality[first] - truth.quality[second]
    win, tied, _ = answer_probabilities(gap, np.asarray(truth.tie))
    uniform = rng.uniform(size=len(first))
    out: Integers = (uniform >= win).astype(np.int64) + (uniform >= win + tied)
    return out


def simulate_strengths(
    truth: Truth, first: Integers, second: Integers, answer: Integers, rng: Generator
) -> Integers:
    """How strongly each item was chosen, from 1; 0 for other answers. Without cuts all are 1."""
    chosen = (answer == FIRST) | (answer == SECOND)
    out = chosen.astype(np.int64)
    if "cut" in truth.terms:
        gap = truth.quality[first] - truth.quality[second]
        gap = np.where(answer == SECOND, -gap, gap)
        # Beyond the first cut, the probability of being beyond the others.
        cuts = truth.terms["cut"][:, None]
        beyond = np.exp(np.logaddexp(0.0, cuts[:1] - gap) - np.logaddexp(0.0, cuts[1:] - gap))
        out += chosen * (rng.uniform(size=len(first)) < beyond).sum(axis=0)
    return np.asarray(out, np.int64)


def simulate_counts(
    truth: Truth, comparisons: int, rng: RNGLike, pairs: tuple[Integers, Integers] | None = None
) -> Counts:
    """Counts of simulated judgements about random pairs, or about the pairs in `pairs`."""
    rng = default_rng(rng)
    first, second = random_pairs(len(truth.items), comparisons, rng) if pairs is None else pairs
    answer = simulate_answers(truth, first, second, rng)
    strengths = None
    if "cut" in truth.terms:
        strength = simulate_strengths(truth, first, second, answer, rng)
        same = strength[:, None] == np.arange(1, 1 + len(truth.terms["cut"]))
        strengths = np.stack([same & (answer == side)[:, None] for side in (FIRST, SECOND)], 1)
    return Counts.of(
        truth.items, first, second, answer == FIRST, answer == SECOND, answer == TIE,
        strengths=strengths,
    )  # fmt: skip


class JudgementBatch(NamedTuple):
    """Simulated judgements in order of time; judges and items are positions."""

    judge: Integers
    first: Integers
    second: Integers
    answer: Integers
    """Codes of `data.answers`."""


def simulate_batches(
    truth: Truth, comparisons: int, rng: Generator, *, judges: int = 1, skip: float = 0.0
) -> Iterator[JudgementBatch]:
    """Simulated judgements by judges who take turns and skip a pair with probability `skip`.

    They come in batches, so that any number can be simulated.
    """
    for begin in range(0, max(comparisons, 1), BATCH):
        size = min(BATCH, comparisons - begin)
        first, second = random_pairs(len(truth.items), size, rng)
        answer = simulate_answers(truth, first, second, rng)
        answer[rng.uniform(size=size) < skip] = SKIP
        yield JudgementBatch(np.arange(begin, begin + size) % judges, first, second, answer)


def simulate_comparisons(
    truth: Truth, comparisons: int, rng: RNGLike, *, judges: int = 1, skip: float = 0.0
) -> Comparisons:
    """Simulated judgements by judges who take turns and skip a pair with probability `skip`."""
    batches = simulate_batches(truth, comparisons, default_rng(rng), judges=judges, skip=skip)
    judge, first, second, answer = (np.concatenate(column) for column in zip(*batches, strict=True))
    items, people = (np.array(names, object) for names in (truth.items, judge_names(judges)))
    return Comparisons.from_columns(
        first=items[first],
        second=items[second],
        outcome=ANSWER_WORDS[answer],
        judge=people[judge],
    )


def judge_names(judges: int) -> tuple[str, ...]:
    """Names of simulated judges."""
    return tuple(f"judge {1 + k}" for k in range(judges))
