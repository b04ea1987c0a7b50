"""Results of earlier versions, read as if this version had written them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from xarray import DataTree

from tiewise.errors import InputError
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.notation import parse_prior, prior_to_dict
from tiewise.posterior.variables import describe_variables


def centre_posterior(tree: DataTree) -> None:
    """Centre qualities and contrasts of version 0.1, which stored them as sampled."""
    posterior = tree["posterior"].to_dataset()
    if "level" in posterior:
        return
    for name, level in (("quality", "level"), ("contrast", "contrast_level")):
        if name in posterior:
            mean = posterior[name].mean("item")
            posterior = posterior.assign({name: posterior[name] - mean, level: mean})
    tree["posterior"] = DataTree(posterior)
    describe_variables(tree)


def current_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """The model of a fit as data; version 0.1 stored its priors and terms as English text."""
    if not any(isinstance(value, str) for value in model.values()):
        return dict(model)
    if "quality" not in model:
        return {"prior": {"kind": "engine", "text": model["prior"]}}
    current = {
        "quality": _quality(model["quality"]),
        "variance": _scalar(model["variance"], VARIANCE_PRIORS),
        "tie": None if model["tie"] == "no ties" else _scalar(model["tie"], TIE_PRIORS),
    }
    terms = [{"kind": "other", "text": text} for text in model.get("terms", "").split("; ") if text]
    return current | ({"terms": terms} if terms else {})


def _scalar(text: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return prior_to_dict(parse_prior(text, kinds))
    except InputError:  # a prior of the user's own
        return {"kind": "other", "text": text}


def _quality(text: str) -> dict[str, Any]:
    if text == "independent qualities":
        return {"kind": "independent"}
    if match := re.fullmatch(r"network: matrix exponential of (\d+) borders, unit variances", text):
        return {"kind": "network", "borders": int(match[1]), "share": 1.0}
    if match := re.fullmatch(r"distance between areas: (\S+) with reach (\S+)", text):
        return {"kind": "distance", "shape": match[1], "reach": float(match[2])}
    if text.startswith("covariance as given"):
        return {"kind": "covariance", "rescale": text.endswith("rescaled to unit variances")}
    if text.startswith("precision as given"):
        return {"kind": "precision", "sum_to_zero": text.endswith("qualities sum to zero")}
    return {"kind": "other", "text": text}
