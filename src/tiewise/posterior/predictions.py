"""Answer probabilities from posterior draws, for any pair and stratum.

    margin = ± a_s (λ_i + contrast_{g,i} − λ_j − contrast_{g,j} + κᵀc_s) − δ_s

for a stratum s of group g. A plain model has quality λ and threshold δ alone. Graded answers have
further cuts beside δ, which a stratum's threshold scales alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.data.answers import grade_probabilities, grade_scores
from tiewise.errors import InputError
from tiewise.model.likelihood import answer_probabilities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STRATUM_TERMS = ("contrast", "order", "sharpness", "threshold")
"""Terms that depend on the judge or on which item of a pair was shown first."""
MAX_PROBABILITIES = 4_000_000
"""Probabilities held in memory at once."""


@dataclass(frozen=True)
class StratumDraws:
    """Draws of the terms that depend on the stratum; None where a model has no such term.

    `group` is the group of each stratum; contrasts are (draws, groups, items), the others (draws,
    strata): the advantage of the first item, sharpness, and threshold. `sharpness_sd` and
    `threshold_sd` (draws) are the standard deviations of their logarithms over judges.

    Where comparisons have facts of their own, each row of the counts is a stratum here: `facts`
    (rows, facts) has them, `advantage` is (draws, facts) the coefficients, and `judge` the stratum
    of each row that the other terms know.
    """

    group: Integers | None = None
    contrast: Floats | None = None
    advantage: Floats | None = None
    sharpness: Floats | None = None
    threshold: Floats | None = None
    sharpness_sd: Floats | None = None
    threshold_sd: Floats | None = None
    facts: Floats | None = None
    judge: Integers | None = None

    def select(self, which: Integers | slice) -> StratumDraws:
        """The draws at these positions."""

        def some(draws: Floats | None) -> Floats | None:
            return None if draws is None else draws[which]

        return replace(
            self, contrast=some(self.contrast), advantage=some(self.advantage),
            sharpness=some(self.sharpness), threshold=some(self.threshold),
            sharpness_sd=some(self.sharpness_sd), threshold_sd=some(self.threshold_sd),
        )  # fmt: skip

    def of_stratum(self, stratum: int) -> StratumDraws:
        """The terms of one stratum, as its only one."""

        def column(draws: Floats | None) -> Floats | None:
            return None if draws is None else draws[:, [stratum]]

        return StratumDraws(
            None if self.group is None else self.group[[stratum]], self.contrast,
            column(self.advantage), column(self.sharpness), column(self.threshold),
            self.sharpness_sd, self.threshold_sd,
        )  # fmt: skip


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws of qualities (draws, items), of the threshold (draws) and of strata's terms.

    Of graded answers `cuts` (draws, levels) has all cuts, of which the first is the threshold.
    """

    quality: Floats
    tie: Floats
    terms: StratumDraws | None = None
    cuts: Floats | None = None

    @classmethod
    def from_tree(cls, tree: DataTree, most: int | None = None) -> PosteriorDraws:
        """The draws of a fit, or at most so many of them, evenly spaced."""
        _refuse_points(tree)
        posterior = tree["posterior"]
        quality = posterior["quality"].to_numpy()
        quality, tie = quality.reshape(-1, quality.shape[-1]), posterior["tie"].to_numpy().ravel()
        cuts = None
        if "cut" in posterior:
            cuts = posterior["cut"].transpose("chain", "draw", "strength").to_numpy()
            cuts = cuts.reshape(len(tie), -1)
        whole = cls(quality, tie, _terms(tree) if has_strata(tree) else None, cuts)
        if most is None or len(tie) <= most:
            return whole
        return whole.select(np.linspace(0, len(tie) - 1, most).round().astype(np.int64))

    def __len__(self) -> int:
        return len(self.tie)

    def select(self, which: Integers | slice) -> PosteriorDraws:
        """The draws at these positions."""
        terms = None if self.terms is None else self.terms.select(which)
        cuts = None if self.cuts is None else self.cuts[which]
        return PosteriorDraws(self.quality[which], self.tie[which], terms, cuts)

    @property
    def levels(self) -> int:
        """How many ways there are to choose an item."""
        return 1 if self.cuts is None else self.cuts.shape[1]

    @property
    def scores(self) -> Floats:
        """The score of each grade for the first item, from 1 to 0."""
        return grade_scores(self.levels, ties=bool((self.tie > 0).any()))

    @property
    def first_cut(self) -> Floats:
        """The first cut (draws) that is not 0: a stratum's threshold is that of its own."""
        return self.tie if self.cuts is None or self.tie.any() else self.cuts[:, 1]

    def answer_probabilities(
        self, first: Integers, second: Integers, stratum: Integers | None = None
    ) -> Floats:
        """Probabilities (3, draws, pairs) of the answers first, tie, second.

        The stratum of each pair is needed where the model has terms that depend on it.
        """
        gap, threshold = self._gaps(first, second, stratum)
        return np.stack(answer_probabilities(gap, self._scaled(self.tie, threshold)))

    def grade_probabilities(
        self, first: Integers, second: Integers, stratum: Integers | None = None
    ) -> Floats:
        """Probabilities (grades, draws, pairs) of graded answers: of three, with one way to choose.

        From all for the first to all for the second; `data.answers.grade_codes` are positions.
        """
        if self.cuts is None:
            return self.answer_probabilities(first, second, stratum)
        gap, threshold = self._gaps(first, second, stratum)
        cuts = np.stack([self._scaled(cut, threshold) for cut in self.cuts.T])
        return grade_probabilities(gap, np.broadcast_to(cuts, (self.levels, *gap.shape)))

    def log_probability(
        self, first: Integers, second: Integers, grade: Integers, stratum: Integers | None = None
    ) -> Floats:
        """Log probability (draws, pairs) of these grades, by their positions on the scale."""
        probability = self.grade_probabilities(first, second, stratum)
        chosen = np.take_along_axis(probability, grade[None, None, :], axis=0)[0]
        out: Floats = np.log(np.maximum(chosen, 1e-300))
        return out

    def _gaps(
        self, first: Integers, second: Integers, stratum: Integers | None
    ) -> tuple[Floats, Floats | None]:
        """Differences (draws, pairs) as each stratum sees them, and the threshold of its own."""
        gap = self.quality[:, first] - self.quality[:, second]
        if self.terms is None:
            return gap, None
        if stratum is None:
            raise InputError(
                "this model has terms of its own for judges or sides; say who was asked"
            )
        return _with_terms(self.terms, gap, first, second, stratum)

    def _scaled(self, cut: Floats, threshold: Floats | None) -> Floats:
        """A cut (draws, pairs), scaled so that the first that is not 0 is the threshold."""
        own = cut[:, None]
        return own if threshold is None else threshold * (own / self.first_cut[:, None])

    def batches(self, pairs: int, most: int = MAX_PROBABILITIES) -> Iterator[PosteriorDraws]:
        """Some draws at a time, so that at most so many probabilities are held in memory."""
        step = max(most // max((2 * self.levels + 1) * pairs, 1), 1)
        for k in range(0, len(self), step):
            yield self.select(slice(k, k + step))


def _with_terms(
    terms: StratumDraws,
    gap: Floats,
    first: Integers,
    second: Integers,
    stratum: Integers,
) -> tuple[Floats, Floats | None]:
    """Differences (draws, pairs) with the terms of the strata, and thresholds of their own."""
    advantage = None if terms.advantage is None or terms.facts is not None else terms.advantage
    if terms.facts is not None and terms.judge is not None and terms.advantage is not None:
        gap = gap + terms.advantage @ terms.facts[stratum].T
        stratum = terms.judge[stratum]
    if terms.contrast is not None and terms.group is not None:
        group = terms.group[stratum]
        gap = gap + terms.contrast[:, group, first] - terms.contrast[:, group, second]
    if advantage is not None:
        gap = gap + advantage[:, stratum]
    if terms.sharpness is not None:
        gap = gap * terms.sharpness[:, stratum]
    return gap, None if terms.threshold is None else terms.threshold[:, stratum]


def has_strata(tree: DataTree) -> bool:
    """Whether answers of this model depend on the judge or on which item was shown first."""
    return any(name in tree["posterior"] for name in STRATUM_TERMS)


def _terms(tree: DataTree) -> StratumDraws:
    posterior, constant = tree["posterior"], tree["constant_data"]
    missing = [
        name
        for term, name in (("contrast", "group_of_stratum"), ("order", "advantage_of_stratum"))
        if term in posterior and name not in constant and "fact_sd" not in constant
    ]
    if missing:
        raise InputError(f"these results lack {', '.join(missing)} of their terms; fit again")

    def draws_of(name: str, *last: str) -> Floats | None:
        if name not in posterior:
            return None
        whole = posterior[name].transpose("chain", "draw", *last).to_numpy()
        flat: Floats = whole.reshape(-1, *whole.shape[2:])
        return flat

    order, facts, judge = draws_of("order", "advantage"), None, None
    if order is not None and "fact_sd" in constant:
        facts, judge = fact_values(tree), tree["observed_data/stratum"].to_numpy()
    elif order is not None:
        order = order @ constant["advantage_of_stratum"].to_numpy().T
    return StratumDraws(
        constant["group_of_stratum"].to_numpy() if "contrast" in posterior else None,
        draws_of("contrast", "group", "item"),
        order,
        draws_of("sharpness", "judge"),
        draws_of("threshold", "judge"),
        draws_of("sharpness_sd"),
        draws_of("threshold_sd"),
        facts,
        judge,
    )


def has_facts(tree: DataTree) -> bool:
    """Whether the comparisons of this model have facts of their own."""
    return "facts" in tree["observed_data"]


def fact_values(tree: DataTree) -> Floats:
    """The facts (rows of the counts, advantages) of a model, 1 for being the first of a pair."""
    observed = tree["observed_data"]
    names = observed["fact"].to_numpy().astype(str).tolist()
    values = observed["facts"].to_numpy()
    columns = [
        values[:, names.index(name)] if name in names else np.ones(len(values))
        for name in tree["posterior/advantage"].to_numpy().astype(str)
    ]
    return np.stack(columns, axis=1)


def replicate_answers(probability: Floats, rng: Generator) -> Integers:
    """Replicated answers (draws, pairs), with these probabilities (grades, draws, pairs)."""
    uniform = rng.uniform(size=probability.shape[1:])
    out, total = np.zeros(uniform.shape, np.int64), np.zeros(uniform.shape)
    for own in probability[:-1]:
        total = total + own
        out += uniform >= total
    return out


def tail_probability(replicated: Floats, observed: Floats | float) -> Floats:
    """Share of replicates that are larger than observed; of those that are equal, half."""
    above = (replicated > observed).sum(axis=0) + 0.5 * (replicated == observed).sum(axis=0)
    out: Floats = np.asarray((above + 0.5) / (len(replicated) + 1))
    return out


def _refuse_points(tree: DataTree) -> None:
    if tree.attrs.get("kind") == "point":
        raise InputError(
            f"{tree.attrs['engine']} gives one estimate and no draws, so nothing can be made up "
            "from it; fit with another engine"
        )
