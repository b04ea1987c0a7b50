"""Made-up judgements with known truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.data.format_rules import FIRST, OUTCOMES, SECOND, SKIP, TIE
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry, answer_probabilities
from tiewise.model.quality_priors import Prior
from tiewise.model.scalar_priors import Fixed, TiePrior, VariancePrior

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PART = 1 << 20
"""Made-up judgements that are in memory at a time."""


@dataclass(frozen=True)
class Truth:
    """What judgements are simulated from."""

    items: tuple[str, ...]
    quality: Floats = field(repr=False)
    tie: float
    variance: float
    more: Mapping[str, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def drawn(
        cls,
        prior: Prior,
        variance: VariancePrior | Fixed,
        tie: TiePrior | Fixed | None,
        rng: Generator,
        *,
        items: tuple[str, ...] | None = None,
    ) -> Truth:
        """A truth drawn from the prior."""
        names = prior.items or items
        if names is None:
            raise InputError("this prior speaks of no items of its own; say which there are")
        spread = variance.sample(rng)
        factor = prior.factor(len(names))
        rank = len(names) if factor is None else factor.shape[1]
        noise = rng.normal(size=rank) * np.sqrt(spread)
        quality = noise if factor is None else factor @ noise
        return cls(names, quality, 0.0 if tie is None else tie.sample(rng), spread)

    @classmethod
    def of(cls, model: BradleyTerry, rng: Generator) -> Truth:
        """A truth drawn from the prior of a model, its terms included.

        `more` has what terms add by the names that results have for it.
        """
        truth = cls.drawn(model.prior, model.variance, model.tie, rng, items=model.items)
        more = dict(_of_terms(model, truth.tie, rng))
        columns = model.design.columns
        if columns is None:
            return replace(truth, more=more)
        known = columns.standard @ (more["coefficient"] * columns.sd)
        explained = known.var() / (known.var() + truth.quality.var())
        more["explained"] = np.asarray(explained)
        return replace(truth, quality=truth.quality + known, more=more)


def _of_terms(model: BradleyTerry, tie: float, rng: Generator) -> Iterator[tuple[str, Floats]]:
    """What each term of a model has, drawn from its prior."""
    design, strata = model.design, model.design.rows.strata

    def normal(variance: VariancePrior | Fixed, size: int) -> tuple[Floats, Floats]:
        square = np.asarray(variance.sample(rng))
        return np.sqrt(square) * rng.normal(size=size), square

    if design.covariates is not None and design.columns is not None:
        own, square = normal(design.covariates.variance, len(design.columns.names))
        yield "coefficient", own / design.columns.sd
        if not isinstance(design.covariates.variance, Fixed):
            yield "coefficient_sd", np.sqrt(square)
    if design.order is not None:
        yield "order", normal(design.order.variance, len(design.advantages))[0]
    if design.groups is not None:
        prior = design.groups.prior or model.prior
        factor, copies = prior.factor(model.size), design.contrasts.shape[1]
        rank = model.size if factor is None else factor.shape[1]
        own, square = normal(design.groups.variance, copies * rank)
        apart = own.reshape(copies, rank)
        yield "contrast", design.contrasts @ (apart if factor is None else apart @ factor.T)
        yield "contrast_variance", square
    if design.sharpness is not None:
        own, square = normal(design.sharpness.variance, strata)
        yield "sharpness", np.exp(own)
        yield "sharpness_sd", np.sqrt(square)
    if design.thresholds is not None:
        own, square = normal(design.thresholds.variance, strata)
        yield "threshold", tie * np.exp(own)
        yield "threshold_sd", np.sqrt(square)


def judged_again(model: BradleyTerry, truth: Truth, rng: Generator) -> Counts:
    """The pairs of a model's counts judged anew, as often and by the same judges, by this truth."""
    design, counts = model.design, model.counts
    more = {name: value[..., None] for name, value in truth.more.items()}
    at = design.point(truth.quality[:, None], np.array([truth.tie]), more)
    gap, tie = (part[:, 0] for part in design.gaps(at))
    chances = np.column_stack(answer_probabilities(gap, tie))
    times = counts.wins_first + counts.wins_second + counts.ties
    # The three add up to 1 but for rounding, about which multinomial draws are strict.
    said = rng.multinomial(times, chances / chances.sum(axis=1, keepdims=True))
    return replace(counts, wins_first=said[:, 0], ties=said[:, 1], wins_second=said[:, 2])


def random_pairs(size: int, comparisons: int, rng: Generator) -> tuple[Integers, Integers]:
    """Pairs of distinct items, uniform over pairs and over sides."""
    first = rng.integers(size, size=comparisons)
    second = (first + rng.integers(1, size, size=comparisons)) % size
    return first, second


def answers(truth: Truth, first: Integers, second: Integers, rng: Generator) -> Integers:
    """What a judge says of each pair: 0 the first, 1 about equal, 2 the second."""
    gap = truth.quality[first] - truth.quality[second]
    win, tied, _ = answer_probabilities(gap, np.asarray(truth.tie))
    chance = rng.uniform(size=len(first))
    out: Integers = (chance >= win).astype(np.int64) + (chance >= win + tied)
    return out


def simulate_counts(
    truth: Truth, comparisons: int, rng: Generator, pairs: tuple[Integers, Integers] | None = None
) -> Counts:
    """Counts of made-up judgements about random pairs, or about the pairs given."""
    first, second = random_pairs(len(truth.items), comparisons, rng) if pairs is None else pairs
    said = answers(truth, first, second, rng)
    return Counts.of(truth.items, first, second, said == 0, said == 2, said == 1)


class Sitting(NamedTuple):
    """Made-up judgements, one after another, by judges and about items known by their positions."""

    judge: Integers
    first: Integers
    second: Integers
    said: Integers
    """A position in `OUTCOMES`."""


def simulate_sittings(
    truth: Truth, comparisons: int, rng: Generator, *, judges: int = 1, skip: float = 0.0
) -> Iterator[Sitting]:
    """Made-up judgements by judges who take turns and skip a pair with chance `skip`.

    They come in parts, so that as many as one likes can be made.
    """
    outcome = np.array([FIRST, TIE, SECOND])
    for begin in range(0, max(comparisons, 1), PART):
        size = min(PART, comparisons - begin)
        first, second = random_pairs(len(truth.items), size, rng)
        said = outcome[answers(truth, first, second, rng)]
        said[rng.uniform(size=size) < skip] = SKIP
        yield Sitting(np.arange(begin, begin + size) % judges, first, second, said)


def simulate_comparisons(
    truth: Truth, comparisons: int, rng: Generator, *, judges: int = 1, skip: float = 0.0
) -> Comparisons:
    """Made-up judgements by judges who take turns and skip a pair with chance `skip`."""
    parts = simulate_sittings(truth, comparisons, rng, judges=judges, skip=skip)
    judge, first, second, said = (np.concatenate(column) for column in zip(*parts, strict=True))
    items, people = (np.array(names, object) for names in (truth.items, judge_names(judges)))
    return Comparisons.from_columns(
        first=items[first],
        second=items[second],
        outcome=np.array(OUTCOMES, object)[said],
        judge=people[judge],
    )


def judge_names(judges: int) -> tuple[str, ...]:
    """What made-up judges are called."""
    return tuple(f"judge {1 + k}" for k in range(judges))
