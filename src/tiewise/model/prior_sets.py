"""Priors that go together under one name: the defaults, and the choices of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from tiewise.errors import InputError
from tiewise.model import PRIOR_SET_NAMES
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.notation import format_prior, prior_to_dict

DEFAULT_VARIANCE, DEFAULT_TIE, DEFAULT_STEP = (
    HalfNormalSpread(2.0),
    HalfNormal(1.0),
    HalfNormal(2.0),
)
"""Proper, and wide enough for real studies: docs/priors.md has what they predict."""
PAPER_VARIANCE, PAPER_TIE = InverseGamma(), Exponential()
"""The choices of the paper, which are next to improper."""


class PriorSet(TypedDict, total=False):
    """Keywords of `build_model` that say its priors."""

    variance: VariancePrior
    tie: TiePrior
    share: float


def default_priors() -> PriorSet:
    """The priors that a model has by itself, as keywords of `build_model`."""
    return {"variance": DEFAULT_VARIANCE, "tie": DEFAULT_TIE}


def paper_priors() -> PriorSet:
    """The priors of the paper, as keywords of `build_model` and `analyse`."""
    return {"variance": PAPER_VARIANCE, "tie": PAPER_TIE, "share": 1.0}


def prior_set(name: str) -> PriorSet:
    """The priors of this name."""
    if name not in PRIOR_SET_NAMES:
        raise InputError(f"no priors are called {name!r}; say one of {', '.join(PRIOR_SET_NAMES)}")
    return paper_priors() if name == "paper" else default_priors()


def describe_prior_set(name: str) -> str:
    """The priors of this name in words, such as `paper: α² inverse-gamma(0.01, 0.01), …`."""
    priors = prior_set(name)
    variance, tie = (format_prior(prior_to_dict(priors[key])) for key in ("variance", "tie"))
    spread = f"α² {variance}" if name == "paper" else f"α {variance}"
    share = "1" if "share" in priors else "learned"
    return f"{name} ({spread}, δ {tie}, share of the network {share})"


def prior_set_name(model: Mapping[str, Any]) -> str | None:
    """Which priors a model has, given as data; None where they are neither set's."""
    return next((name for name in PRIOR_SET_NAMES if _has_priors(model, prior_set(name))), None)


def _has_priors(model: Mapping[str, Any], priors: PriorSet) -> bool:
    quality, tie = model.get("quality", {}), model.get("tie")
    # A model without ties has no prior of δ to differ in, and one without a network no share.
    return (
        model.get("variance") == prior_to_dict(priors["variance"])
        and tie in (None, prior_to_dict(priors["tie"]))
        and (quality.get("kind") != "network" or quality.get("share", 1.0) == priors.get("share"))
    )
