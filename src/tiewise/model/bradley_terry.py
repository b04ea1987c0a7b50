"""BradleyTerry: comparisons with ties, and the only likelihood there is."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model import kernels
from tiewise.model.quality_priors import Independent, Prior
from tiewise.model.scalar_priors import Exponential, Fixed, InverseGamma, TiePrior, VariancePrior
from tiewise.model.term_design import Design
from tiewise.model.terms import Covariates, Term

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curvature:
    """Minus the second derivatives of the log likelihood at one point.

    By qualities they are the Laplacian of the comparisons, each row with its own `weight`.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weight: Floats
    quality_and_tie: Floats
    tie: float

    @property
    def qualities(self) -> Floats:
        """By qualities, written out (items, items)."""
        return kernels.laplacian(self.first, self.second, self.weight, len(self.quality_and_tie))

    def through(self, factor: Floats | None) -> Floats:
        """By coordinates y with quality = factor · y; None stands for the identity."""
        if factor is None:
            return self.qualities
        return factor.T @ kernels.laplacian_product(self.first, self.second, self.weight, factor)


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Counts of judgements, and what was believed before them.

    Higher quality means chosen more often. `tie=None` is the model without ties (δ = 0); `Fixed`
    holds α² or δ at a value. Every item of the prior is in the model, compared or not. `terms` add
    what else there is: covariates, order, groups and sharpness of judges, and their thresholds;
    `covariates=table, formula="a + log(b)"` is short for the first of these.
    """

    counts: Counts
    prior: Prior = field(default_factory=Independent)
    variance: VariancePrior | Fixed = field(default_factory=InverseGamma, kw_only=True)
    tie: TiePrior | Fixed | None = field(default_factory=Exponential, kw_only=True)
    terms: tuple[Term, ...] = field(default=(), kw_only=True)
    covariates: InitVar[object] = field(default=None, kw_only=True)
    formula: InitVar[str | None] = field(default=None, kw_only=True)

    def __post_init__(self, covariates: object, formula: str | None) -> None:
        if self.prior.items is not None:
            object.__setattr__(self, "counts", self.counts.over(self.prior.items))
        if len(self.items) < 2:
            raise InputError(f"a comparison needs two items, and there are {len(self.items)}")
        if isinstance(self.variance, Fixed) and self.variance.value <= 0:
            raise InputError("a fixed variance must be positive: at 0 all qualities are equal")
        if self.fixed_tie == 0 and self.counts.total_ties:
            raise InputError(
                f"the judgements hold {self.counts.total_ties} ties, which a model without ties "
                "cannot explain; leave them out (counts.without_ties(), --no-ties) or model them"
            )
        self._settle_terms(covariates, formula)

    def _settle_terms(self, covariates: object, formula: str | None) -> None:
        """The terms with the short form among them, each worked out or refused."""
        if (covariates is None) != (formula is None):
            given, lost = ("covariates", "a formula") if formula is None else ("a formula", "them")
            raise InputError(f"{given} came without {lost}; covariates need a table and a formula")
        short = () if formula is None else (Covariates(covariates, formula),)
        object.__setattr__(self, "terms", (*self.terms, *short))
        design = self.design
        if design.thresholds is not None and self.fixed_tie == 0:
            raise InputError("Thresholds are those of ties, and this model has none; leave it out")
        own = None if design.groups is None else design.groups.prior
        if own is not None and own.items is not None and own.items != self.items:
            raise InputError(
                "the contrasts' prior speaks of other items than the model's; align it"
            )

    @property
    def items(self) -> tuple[str, ...]:
        """The items, in the order of every vector of qualities."""
        return self.counts.items

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def fixed_tie(self) -> float | None:
        """δ where it is not inferred (0 without ties), else None."""
        if self.tie is None:
            return 0.0
        return self.tie.value if isinstance(self.tie, Fixed) else None

    @property
    def fixed_variance(self) -> float | None:
        """α² where it is not inferred, else None."""
        return self.variance.value if isinstance(self.variance, Fixed) else None

    @property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
        """First, second, and directed successes each way, row by row: what the kernels read."""
        forth, back = self.successes
        return self.counts.first, self.counts.second, forth, back

    @cached_property
    def design(self) -> Design:
        """The terms, worked out for the items and strata at hand."""
        return Design.of(self.counts, self.terms)

    @cached_property
    def factor(self) -> Floats | None:
        """F with prior covariance α² F Fᵀ; None stands for the identity."""
        return self.prior.factor(self.size)

    @cached_property
    def precision(self) -> Floats | None:
        """(F Fᵀ)⁻¹ where it can be trusted, else None."""
        return self.prior.precision(self.size)

    @cached_property
    def successes(self) -> tuple[Floats, Floats]:
        """Directed successes of first over second and back, row by row; a tie is one each way."""
        forth, back = self.counts.successes()
        return forth.astype(float), back.astype(float)

    def margins(self, quality: Floats, tie: float) -> tuple[Floats, Floats]:
        """Log-odds that the first, and that the second, of each row's pair is chosen."""
        gap = quality[self.counts.first] - quality[self.counts.second]
        return kernels.margins(gap, tie)

    def log_likelihood(self, quality: Floats, tie: Floats) -> Floats:
        """Log likelihood for qualities (items, chains) and thresholds (chains)."""
        return kernels.log_likelihood(*self.rows, quality, tie) + self._of_threshold(tie)

    def slopes(self, quality: Floats, tie: Floats) -> tuple[Floats, Floats]:
        """Its derivatives by quality (items, chains) and by threshold (chains)."""
        by_quality, by_tie = kernels.slopes(*self.rows, quality, tie)
        return by_quality, by_tie + self._of_threshold_slope(tie)

    def curvature(self, quality: Floats, tie: float) -> Curvature:
        """Minus its second derivatives for one chain: quality (items), threshold a number."""
        weight, cross, own = kernels.curvature(*self.rows, quality, tie)
        own += self._of_threshold_bend(tie)
        return Curvature(self.counts.first, self.counts.second, weight, cross, own)

    # A tie is one success each way; the rest, T log(e^{2δ} − 1), depends on the threshold alone.

    def _of_threshold(self, tie: Floats) -> Floats | float:
        ties = self.counts.total_ties
        return ties * (2 * tie + np.log(-np.expm1(-2 * tie))) if ties else 0.0

    def _of_threshold_slope(self, tie: Floats) -> Floats | float:
        ties = self.counts.total_ties
        return 2 * ties / -np.expm1(-2 * tie) if ties else 0.0

    def _of_threshold_bend(self, tie: float) -> float:
        ties = self.counts.total_ties
        return float(ties / np.sinh(min(tie, 300.0)) ** 2) if ties else 0.0

    def unbounded_variance(self) -> bool:
        """Whether the data leave α² to its prior: no tie and no circle among the successes."""
        return all(len(part) == 1 for part in self.counts.components(directed=True))


def answer_probabilities(gap: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Chances that a judge says first, about equal, second, for a difference in quality."""
    ahead, behind = kernels.margins(gap, tie)
    # (e^{2δ} − 1) σ(a) σ(b) = (1 − e^{−2δ}) σ(−a) σ(−b), and only the latter never overflows.
    tied = -np.expm1(-2 * tie) * _sigmoid(-ahead) * _sigmoid(-behind)
    return _sigmoid(ahead), tied, _sigmoid(behind)


def _sigmoid(x: Floats) -> Floats:
    out: Floats = np.exp(-np.logaddexp(0.0, -x))
    return out
