"""Terms: what a model may have beyond one quality per item and one threshold for all.

    margin = ± a_s (λ_i + contrast_{g,i} − λ_j − contrast_{g,j} + κᵀc_s) − δ_s,    λ = u + Zβ

for a judge or other stratum s of group g. A term is a value; `BradleyTerry(..., terms=(...))` takes
any of them together. Every term has a Gaussian prior, and its `variance` a prior of the kind that
α² has, or `Fixed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tiewise.errors import InputError
from tiewise.model.quality_priors import QualityPrior, describe_quality_prior
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.kinds import require_variance_prior
from tiewise.model.scalar_priors.notation import format_prior, prior_to_dict


@dataclass(frozen=True, eq=False)
class Covariates:
    """Quality partly explained: λ = u + Zβ, with Z the columns of `formula` over a table of items.

    `table` is a data frame or a mapping of columns; `item` names its column of ids (else `item`,
    `item_id`, `id`, or the index of a pandas frame). Columns are standardised inside: `variance`
    is of coefficients per standard deviation of a column. A prior in place of `Fixed` draws all of
    them towards 0 as far as the data suggest.
    """

    kind: ClassVar[str] = "covariates"

    table: object = field(repr=False)
    formula: str
    item: str | None = field(default=None, kw_only=True)
    variance: VariancePrior | Fixed = field(default=Fixed(2.5**2), kw_only=True)

    def __post_init__(self) -> None:
        require_variance_prior(self.variance, "variance of Covariates")

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {
            "kind": self.kind,
            "formula": self.formula,
            "variance": prior_to_dict(self.variance),
        }

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports, from what `to_dict` gave."""
        variance = format_prior(facts["variance"])
        return f"covariates {facts['formula']}, variance {variance} per standard deviation"


@dataclass(frozen=True)
class Order:
    """The first of a pair has an advantage κ: at home, shown on the left, or heard first.

    `by` has other things that may favour the first, each with its value in every stratum, as in
    `{"home": {"derby": 0, "league": 1}}`; without it there is one, `first`, 1 everywhere.
    `facts` names facts that the counts have of each comparison instead, and `first` where being
    the first is among them. `variance` is then of coefficients per standard deviation of a fact.
    """

    kind: ClassVar[str] = "order"

    by: Mapping[str, Mapping[str, float]] | None = field(default=None, kw_only=True)
    variance: VariancePrior | Fixed = field(default=Fixed(1.0), kw_only=True)
    facts: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        require_variance_prior(self.variance, "variance of Order")
        if self.by is not None and self.facts:
            raise InputError(
                "Order came with by= and with facts=, which say the same of strata and of single "
                "comparisons; give one of them"
            )

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {
            "kind": self.kind,
            "by": None if self.by is None else list(self.by),
            "variance": prior_to_dict(self.variance),
            **({"facts": list(self.facts)} if self.facts else {}),
        }

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports, from what `to_dict` gave."""
        names = facts.get("facts") or facts["by"]
        what = "first of a pair" if names is None else ", ".join(names)
        per = " per standard deviation" if facts.get("facts") else ""
        return f"order ({what}), variance {format_prior(facts['variance'])}{per}"


@dataclass(frozen=True)
class Groups:
    """Groups of judges see qualities differently: λ + contrast_g, and contrasts sum to zero.

    `of` says which group each stratum belongs to (left out, each is its own). Contrasts have a
    covariance like that of quality, `prior` (left out, the model's), and a variance of their own.
    """

    kind: ClassVar[str] = "groups"

    of: Mapping[str, str] | None = None
    prior: QualityPrior | None = field(default=None, kw_only=True)
    variance: VariancePrior | Fixed = field(default=HalfNormalSpread(1.0), kw_only=True)

    def __post_init__(self) -> None:
        require_variance_prior(self.variance, "variance of Groups")

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return {
            "kind": self.kind,
            "prior": None if self.prior is None else self.prior.to_dict(),
            "variance": prior_to_dict(self.variance),
        }

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports, from what `to_dict` gave."""
        prior = facts["prior"]
        how = "as qualities" if prior is None else describe_quality_prior(prior)
        return f"groups of judges, contrasts {how}, variance {format_prior(facts['variance'])}"


@dataclass(frozen=True)
class Sharpness:
    """Each stratum (a judge) tells qualities apart more or less well: log a_s ~ N(0, τ²).

    Of few strata, such as groups of judges, the level would be hardly known beside the spread of
    quality: `reference` is then the stratum with a = 1, and those of others are relative to it.
    """

    kind: ClassVar[str] = "sharpness"

    variance: VariancePrior | Fixed = field(default=HalfNormalSpread(0.5), kw_only=True)
    reference: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_variance_prior(self.variance, "variance of Sharpness")

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return _variation_dict(self)

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports, from what `to_dict` gave."""
        variance = format_prior(facts["variance"])
        whose = _whose(facts)
        return f"sharpness of {whose}, variance of its logarithm {variance}"


@dataclass(frozen=True)
class Thresholds:
    """Each stratum (a judge) ties more or less readily: log δ_s ~ N(log δ, ω²).

    `reference`, if any, is the stratum whose threshold is δ itself.
    """

    kind: ClassVar[str] = "thresholds"

    variance: VariancePrior | Fixed = field(default=HalfNormalSpread(1.0), kw_only=True)
    reference: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_variance_prior(self.variance, "variance of Thresholds")

    def to_dict(self) -> dict[str, Any]:
        """What it is, as data."""
        return _variation_dict(self)

    @staticmethod
    def describe(facts: Mapping[str, Any]) -> str:
        """A line for reports, from what `to_dict` gave."""
        variance = format_prior(facts["variance"])
        whose = _whose(facts)
        return f"thresholds of {whose}, variance of their logarithms {variance}"


def _variation_dict(term: Sharpness | Thresholds) -> dict[str, Any]:
    """How strata vary, as data."""
    return {
        "kind": term.kind,
        "variance": prior_to_dict(term.variance),
        **({"reference": term.reference} if term.reference else {}),
    }


def _whose(facts: Mapping[str, Any]) -> str:
    """Whose terms they are: of judges, or of strata relative to one."""
    reference = facts.get("reference")
    return "judges" if reference is None else f"groups relative to {reference}"


Term = Covariates | Order | Groups | Sharpness | Thresholds
TERMS: dict[str, type[Term]] = {
    term.kind: term for term in (Covariates, Order, Groups, Sharpness, Thresholds)
}


def describe_term(facts: Mapping[str, Any]) -> str:
    """A line for reports about a term that is given as data."""
    if facts["kind"] not in TERMS:
        return str(facts["text"])
    return TERMS[facts["kind"]].describe(facts)
