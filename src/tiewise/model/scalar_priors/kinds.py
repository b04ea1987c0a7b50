"""Which priors may be those of a variance, and which those of the tie threshold δ."""

from __future__ import annotations

from tiewise.errors import InputError
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed

ScalarPrior = VariancePrior | TiePrior | Fixed


def require_variance_prior(prior: object, name: str = "variance") -> None:
    """Refuse what is no prior of a variance, such as a prior of δ."""
    if not isinstance(prior, VariancePrior | Fixed):
        mistake = "a prior of the tie threshold δ" if isinstance(prior, TiePrior) else "no prior"
        raise InputError(
            f"{name} is {prior!r}, which is {mistake}; give a prior of a variance, such as "
            "InverseGamma() or HalfNormalSpread(), or Fixed with a value"
        )


def require_tie_prior(prior: object, name: str = "tie") -> None:
    """Refuse what is no prior of δ, such as a prior of α²."""
    if prior is not None and not isinstance(prior, TiePrior | Fixed):
        mistake = "a prior of a variance" if isinstance(prior, VariancePrior) else "no prior"
        raise InputError(
            f"{name} is {prior!r}, which is {mistake}; give a prior of the tie threshold δ, such "
            "as Exponential() or HalfNormal(), Fixed with a value, or None for no ties"
        )
