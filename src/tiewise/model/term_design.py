"""The terms of a model applied to its items and strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts, natural_order
from tiewise.errors import InputError
from tiewise.model.facts.columns import FactColumns
from tiewise.model.facts.likelihood import FactLikelihood
from tiewise.model.formula import CovariateColumns, read_columns
from tiewise.model.likelihood import Likelihood, LikelihoodArguments
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds
from tiewise.text import some_names

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Kind = TypeVar("Kind")


@dataclass(frozen=True, eq=False)
class TermDesign:
    """CovariateColumns of covariates, groups and advantages of a model's items and strata.

    `group` has the group of each stratum, `advantage_values` (strata, advantages) how much each
    advantage favours the first of a pair. Where advantages are facts of comparisons these are in
    `facts` instead, an advantage a column, each with standard deviation 1.
    """

    counts: Counts = field(repr=False)
    covariates: Covariates | None = None
    columns: CovariateColumns | None = None
    order: Order | None = None
    advantages: tuple[str, ...] = ()
    advantage_values: Floats = field(default_factory=lambda: np.zeros((1, 0)), repr=False)
    groups: Groups | None = None
    group_names: tuple[str, ...] = ("all",)
    group: Integers = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)
    sharpness: Sharpness | None = None
    thresholds: Thresholds | None = None
    facts: FactColumns | None = None

    @classmethod
    def of(cls, counts: Counts, terms: Sequence[Term]) -> TermDesign:
        """The design of these terms, at most one of each kind, over these counts."""
        covariates, order = _only(terms, Covariates), _only(terms, Order)
        groups, sharpness = _only(terms, Groups), _only(terms, Sharpness)
        thresholds = _only(terms, Thresholds)
        columns = None if covariates is None else read_columns(covariates, counts.items)
        names, group = _group_strata(counts, groups)
        advantages, values = _advantages(counts, order)
        facts = FactColumns.of(counts, order.facts) if order and order.facts else None
        for term in (sharpness, thresholds):
            if term is not None and len(counts.strata) < 2:
                raise InputError(
                    f"{type(term).__name__} tells judges apart, and the judgements are counted "
                    "as of one; count them with by='judge'"
                )
            if term is not None and term.reference not in (None, *counts.strata):
                raise InputError(
                    f"reference={term.reference!r} of {type(term).__name__} is none of "
                    f"{some_names(counts.strata)}; name one of them"
                )
        return cls(
            counts, covariates, columns, order, advantages, values,
            groups, names, group, sharpness, thresholds, facts,
        )  # fmt: skip

    @cached_property
    def likelihood(self) -> Likelihood:
        """The likelihood's rows."""
        stratified = self.sharpness is not None or self.thresholds is not None
        if self.facts is not None:
            return FactLikelihood.of_facts(
                self.counts, self.group, len(self.group_names), self.facts.standard,
                stratified=stratified,
            )  # fmt: skip
        stratified = stratified or self.order is not None
        return Likelihood.of(self.counts, self.group, len(self.group_names), stratified=stratified)

    def arguments(
        self, quality: Floats, tie: Floats, terms: Mapping[str, Floats]
    ) -> LikelihoodArguments:
        """The arguments of the likelihood, from values as results name them, chains last.

        `terms` has `contrast` (groups, items, chains), `order`, `sharpness` and `threshold` as far
        as there are such terms; what covariates explain is part of `quality`.
        """
        strata, levels, chains = self.likelihood.strata, self.likelihood.levels, len(tie)
        groups = np.repeat(quality[None], len(self.group_names), axis=0)
        if "contrast" in terms:
            groups = groups + terms["contrast"]
        zero = np.zeros((strata, chains))
        steps = np.repeat(tie[None], strata, axis=0)
        if levels > 1:
            steps = np.repeat(np.diff(terms["cut"], axis=0, prepend=0.0), strata, axis=0)
        if "threshold" in terms:
            # A judge's threshold scales all cuts alike; it is that of the first which is not 0.
            first = tie if self.likelihood.levels == 1 or tie.any() else terms["cut"][1]
            steps = steps * np.tile(terms["threshold"] / first, (levels, 1))
        shifted = "order" in terms and self.facts is None
        return LikelihoodArguments(
            groups.reshape(-1, chains),
            self.advantage_values @ terms["order"] if shifted else zero,
            np.log(terms["sharpness"]) if "sharpness" in terms else zero,
            steps,
            np.zeros((0, chains)) if self.facts is None else self.facts.per_sd(terms["order"]),
        )

    def gaps(self, at: LikelihoodArguments) -> tuple[Floats, Floats]:
        """For each row of the counts: how far apart its judge sees the pair, and the cuts.

        Cuts are (levels, rows, chains), the first of them the threshold.
        """
        counts = self.counts
        start = len(counts.items) * self.group[counts.stratum]
        own = counts.stratum if self.likelihood.stratified else np.zeros_like(counts.stratum)
        gap = at.quality[counts.first + start] - at.quality[counts.second + start] + at.shift[own]
        if self.facts is not None:
            gap = gap + self.facts.standard @ at.facts
        steps = at.tie.reshape(self.likelihood.levels, self.likelihood.strata, -1)[:, own]
        return np.exp(at.log_sharpness[own]) * gap, np.cumsum(steps, axis=0)

    def relative(self, term: Sharpness | Thresholds | None, values: Floats) -> Floats:
        """Values by stratum (strata, ...), with 0 for the one to which the others are relative.

        Its coordinate is then in nothing but its prior, and says nothing.
        """
        if term is None or term.reference is None:
            return values
        out = values.copy()
        out[self.counts.strata.index(term.reference)] = 0.0
        return out

    @cached_property
    def contrasts(self) -> Floats:
        """Q (groups, groups − 1), orthonormal columns that sum to zero over groups.

        Contrasts Qw with w ~ N(0, ν²Σ) independently are those of groups that differ from a
        common quality by N(0, ν²Σ) each, less their mean: the same for every choice of Q.
        """
        number = len(self.group_names)
        out = np.zeros((number, number - 1))
        # Helmert's: each group against the mean of those before it.
        for k in range(1, number):
            out[:k, k - 1], out[k, k - 1] = 1.0, -k
        return np.asarray(out / np.sqrt((out**2).sum(axis=0)), np.float64)


def _only(terms: Sequence[Term], kind: type[Kind]) -> Kind | None:
    matches = [term for term in terms if isinstance(term, kind)]
    if len(matches) > 1:
        raise InputError(f"{kind.__name__} is given {len(matches)} times; put it all into one")
    return matches[0] if matches else None


def _group_strata(counts: Counts, groups: Groups | None) -> tuple[tuple[str, ...], Integers]:
    """Names of groups, and the group of each stratum."""
    if groups is None:
        return ("all",), np.zeros(len(counts.strata), np.int64)
    of = dict(groups.of) if groups.of is not None else {name: name for name in counts.strata}
    lost = [name for name in counts.strata if name not in of]
    if lost:
        raise InputError(f"no group is given for {some_names(lost)}; say which, or take them out")
    names = natural_order(str(of[name]) for name in counts.strata)
    if len(names) < 2:
        raise InputError(
            f"groups are compared, and there is only {some_names(names)}; count the judgements by "
            "a column with several values"
        )
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[str(of[name])] for name in counts.strata], np.int64)


def _advantages(counts: Counts, order: Order | None) -> tuple[tuple[str, ...], Floats]:
    """What may favour the first of a pair, and its value in each stratum."""
    number = len(counts.strata)
    if order is None:
        return (), np.zeros((number, 0))
    if not counts.ordered:
        raise InputError(
            "an order effect needs to know which item came first, and these counts do not; "
            "count with ordered=True"
        )
    if order.facts:
        return order.facts, np.zeros((number, 0))
    if order.by is None:
        return ("first",), np.ones((number, 1))
    for name, values in order.by.items():
        lost = [stratum for stratum in counts.strata if stratum not in values]
        if lost:
            raise InputError(
                f"{name!r} has no value for {some_names(lost)}; give one for each stratum"
            )
    table = [[float(values[s]) for s in counts.strata] for values in order.by.values()]
    return tuple(order.by), np.array(table).T.reshape(number, len(order.by))
