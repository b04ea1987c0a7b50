"""Terms: what a model may have beyond one quality per item and one threshold for all.

    margin = ± a_s (λ_i + contrast_{g,i} − λ_j − contrast_{g,j} + κᵀc_s) − δ_s,    λ = u + Zβ

for a judge or other stratum s of group g. A term is a value; `BradleyTerry(..., terms=(...))` takes
any of them together. Every term is Gaussian before any judgement, and its `variance` is a prior of
the kind that qualities have, or `Fixed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tiewise.model.quality_priors import Prior
from tiewise.model.scalar_priors import Fixed, HalfNormalSpread, VariancePrior, say


@dataclass(frozen=True, eq=False)
class Covariates:
    """Quality partly explained: λ = u + Zβ, with Z the columns of `formula` over a table of items.

    `table` is a data frame or a mapping of columns; `item` names its column of ids (else `item`,
    `item_id`, `id`, or the index of a pandas frame). Columns are standardised inside: `variance`
    is of coefficients per standard deviation of a column. A prior in place of `Fixed` draws all of
    them towards 0 as far as the data suggest.
    """

    table: object = field(repr=False)
    formula: str
    item: str | None = field(default=None, kw_only=True)
    variance: VariancePrior | Fixed = field(default=Fixed(2.5**2), kw_only=True)

    def describe(self) -> str:
        """One line for reports."""
        return f"covariates {self.formula}, variance {say(self.variance)} per standard deviation"


@dataclass(frozen=True)
class Order:
    """The first of a pair has an advantage κ: at home, shown on the left, or heard first.

    `by` has other things that may favour the first, each with its value in every stratum, as in
    `{"home": {"derby": 0, "league": 1}}`; without it there is one, `first`, 1 everywhere.
    """

    by: Mapping[str, Mapping[str, float]] | None = field(default=None, kw_only=True)
    variance: VariancePrior | Fixed = field(default=Fixed(1.0), kw_only=True)

    def describe(self) -> str:
        """One line for reports."""
        what = "first of a pair" if self.by is None else ", ".join(self.by)
        return f"order ({what}), variance {say(self.variance)}"


@dataclass(frozen=True)
class Groups:
    """Groups of judges see qualities differently: λ + contrast_g, and contrasts sum to zero.

    `of` says which group each stratum belongs to (left out, each is its own). Contrasts have a
    covariance like that of quality, `prior` (left out, the model's), and a variance of their own.
    """

    of: Mapping[str, str] | None = None
    prior: Prior | None = field(default=None, kw_only=True)
    variance: VariancePrior | Fixed = field(default=HalfNormalSpread(1.0), kw_only=True)

    def describe(self) -> str:
        """One line for reports."""
        how = "as qualities" if self.prior is None else self.prior.describe()
        return f"groups of judges, contrasts {how}, variance {say(self.variance)}"


@dataclass(frozen=True)
class Sharpness:
    """Each stratum (a judge) tells qualities apart more or less well: log a_s ~ N(0, τ²)."""

    variance: VariancePrior | Fixed = field(default=HalfNormalSpread(0.5), kw_only=True)

    def describe(self) -> str:
        """One line for reports."""
        return f"sharpness of judges, variance of its logarithm {say(self.variance)}"


@dataclass(frozen=True)
class Thresholds:
    """Each stratum (a judge) ties more or less readily: log δ_s ~ N(log δ, ω²)."""

    variance: VariancePrior | Fixed = field(default=HalfNormalSpread(1.0), kw_only=True)

    def describe(self) -> str:
        """One line for reports."""
        return f"thresholds of judges, variance of their logarithms {say(self.variance)}"


Term = Covariates | Order | Groups | Sharpness | Thresholds
