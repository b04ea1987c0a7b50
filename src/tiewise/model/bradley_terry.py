"""The Bradley–Terry model with ties: counts, priors and terms."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.anchors.factor import AnchorFactor
from tiewise.model.kernels import margins
from tiewise.model.likelihood import (
    AveragedDerivatives,
    Likelihood,
    LikelihoodArguments,
    PlainHessian,
)
from tiewise.model.map_priors import Mixture
from tiewise.model.prior_sets import DEFAULT_STEP, DEFAULT_TIE, DEFAULT_VARIANCE
from tiewise.model.quality_priors import Independent, QualityPrior
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.kinds import require_tie_prior, require_variance_prior
from tiewise.model.scalar_priors.notation import prior_to_dict
from tiewise.model.term_design import TermDesign
from tiewise.model.terms import Covariates, Term

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Counts of judgements, and the priors and terms of the model for them.

    Higher quality means chosen more often. `tie=None` is the model without ties (δ = 0); `Fixed`
    holds α² or δ at a value. Every item of the prior is in the model, compared or not. Of graded
    answers `step` is the prior of each step from one cut to the next, or there is one for each.
    `terms` add what else there is: covariates, order, groups and sharpness of judges, and their
    thresholds; `covariates=table, formula="a + log(b)"` is short for the first of these.
    `anchors` are items whose quality was measured elsewhere.
    """

    counts: Counts
    prior: QualityPrior = field(default_factory=Independent)
    variance: VariancePrior | Fixed = field(default=DEFAULT_VARIANCE, kw_only=True)
    tie: TiePrior | Fixed | None = field(default=DEFAULT_TIE, kw_only=True)
    step: TiePrior | tuple[TiePrior, ...] = field(default=DEFAULT_STEP, kw_only=True)
    terms: tuple[Term, ...] = field(default=(), kw_only=True)
    anchors: Anchors | None = field(default=None, kw_only=True)
    covariates: InitVar[object] = field(default=None, kw_only=True)
    formula: InitVar[str | None] = field(default=None, kw_only=True)

    def __post_init__(self, covariates: object, formula: str | None) -> None:
        if self.prior.items is not None:
            object.__setattr__(self, "counts", self.counts.over(self.prior.items))
        if len(self.items) < 2:
            raise InputError(f"a comparison needs two items, and there are {len(self.items)}")
        require_variance_prior(self.variance)
        require_tie_prior(self.tie)
        for prior in self.steps:
            require_tie_prior(prior)
        if isinstance(self.variance, Fixed) and self.variance.value <= 0:
            raise InputError("a fixed variance must be positive: at 0 all qualities are equal")
        if self.fixed_tie == 0 and self.counts.total_ties:
            raise InputError(
                f"the judgements hold {self.counts.total_ties} ties, which a model without ties "
                "cannot explain; leave them out (counts.without_ties(), ties=False) or model them"
            )
        self._set_terms(covariates, formula)

    def _set_terms(self, covariates: object, formula: str | None) -> None:
        """Add the short form to the terms, and refuse terms that do not fit the model."""
        if (covariates is None) != (formula is None):
            one, other = ("covariates", "a formula") if formula is None else ("a formula", "them")
            raise InputError(f"{one} came without {other}; covariates need a table and a formula")
        short = () if formula is None else (Covariates(covariates, formula),)
        object.__setattr__(self, "terms", (*self.terms, *short))
        design = self.design
        if design.thresholds is not None and self.fixed_tie == 0 and not self.steps:
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
    def steps(self) -> tuple[TiePrior, ...]:
        """Priors of the steps between the cuts of graded answers; none where there is one cut."""
        number = self.counts.levels - 1
        own = self.step if isinstance(self.step, tuple) else (self.step,) * number
        if len(own) != number:
            raise InputError(
                f"{len(own)} priors of steps came, and the answers have {number}; give one for "
                "each, or one for all"
            )
        return own

    @property
    def fixed_variance(self) -> float | None:
        """α² where it is not inferred, else None."""
        return self.variance.value if isinstance(self.variance, Fixed) else None

    @cached_property
    def design(self) -> TermDesign:
        """The terms applied to the items and strata of the counts."""
        return TermDesign.of(self.counts, self.terms)

    @cached_property
    def anchor_factor(self) -> AnchorFactor | None:
        """What anchors say of qualities; None where there are none."""
        return None if self.anchors is None else self.anchors.over(self.items)

    @cached_property
    def factor(self) -> Floats | None:
        """F with prior covariance α² F Fᵀ; None stands for the identity."""
        return self.prior.factor(self.size)

    @property
    def precision(self) -> Floats | None:
        """(F Fᵀ)⁻¹ where it can be trusted, else None; computed anew, so that nothing keeps it."""
        return self.prior.precision(self.size)

    @property
    def mixture(self) -> Mixture | None:
        """The correlation of qualities whose share is inferred; None where there is none."""
        mixture: Mixture | None = getattr(self.prior, "mixture", None)
        return mixture

    @cached_property
    def likelihood(self) -> Likelihood:
        """The likelihood of qualities and one threshold, terms left out."""
        return Likelihood.plain(self.counts)

    @property
    def successes(self) -> tuple[Floats, Floats]:
        """Directed successes of first over second and back, row by row; a tie is one each way."""
        return self.likelihood.successes_first, self.likelihood.successes_second

    @property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
        """First, second, and directed successes each way, row by row."""
        return self.likelihood.pairs

    def margins(self, quality: Floats, tie: float) -> tuple[Floats, Floats]:
        """Log-odds that the first, and that the second, of each row's pair is chosen."""
        return margins(quality[self.counts.first] - quality[self.counts.second], tie)

    def log_likelihood(self, quality: Floats, tie: Floats) -> Floats:
        """Log likelihood for qualities (items, chains) and thresholds (chains), terms left out.

        Of answers and, where there are any, of anchors.
        """
        own = self.likelihood.log_likelihood(LikelihoodArguments.plain(quality, tie))
        anchors = self.anchor_factor
        return own if anchors is None else own + anchors.log_density(quality)

    def gradient(self, quality: Floats, tie: Floats) -> tuple[Floats, Floats]:
        """Its derivatives by quality (items, chains) and by threshold (chains)."""
        by = self.likelihood.gradient(LikelihoodArguments.plain(quality, tie))
        if self.anchor_factor is not None:
            self.anchor_factor.add_gradient(quality, by.quality)
        return by.quality, by.tie[0]

    def negative_hessian(self, quality: Floats, tie: float) -> PlainHessian:
        """Minus its second derivatives for one chain: quality (items), threshold a number."""
        own = self.likelihood.plain_negative_hessian(quality, tie)
        return own if self.anchor_factor is None else self.anchor_factor.added(own, quality)

    def averaged_derivatives(
        self, quality: Floats, tie: float, gap_sd: Floats
    ) -> AveragedDerivatives:
        """Its derivatives, each row's gap averaged over a normal distribution."""
        own = self.likelihood.averaged_derivatives(quality, tie, gap_sd)
        if self.anchor_factor is None:
            return own
        by_quality = own.by_quality[:, None].copy()
        self.anchor_factor.add_gradient(quality[:, None], by_quality)
        return AveragedDerivatives(
            by_quality[:, 0], own.by_tie, self.anchor_factor.added(own.hessian, quality)
        )

    def to_dict(self) -> dict[str, Any]:
        """Priors and terms as data; `tie` is None in a model without ties."""
        facts: dict[str, Any] = {
            "quality": self.prior.to_dict(),
            "variance": prior_to_dict(self.variance),
            "tie": None if self.tie is None else prior_to_dict(self.tie),
        }
        if self.steps:
            facts["step"] = [prior_to_dict(prior) for prior in self.steps]
        if self.anchors is not None:
            facts["anchors"] = self.anchors.to_dict()
        terms = [term.to_dict() for term in self.terms]
        return facts | ({"terms": terms} if terms else {})
