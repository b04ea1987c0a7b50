"""Scalar priors as data, and as text such as `gamma(2, 3)`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, cast

from tiewise.errors import InputError
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.kinds import ScalarPrior
from tiewise.registry import load


def prior_to_dict(prior: ScalarPrior) -> dict[str, Any]:
    """A prior as data: its kind and its numbers; of one without a kind, its repr as `text`."""
    line = f"{type(prior).__module__}:{type(prior).__name__}"
    if line not in (*VARIANCE_PRIORS.values(), *TIE_PRIORS.values()):
        return {"kind": "other", "text": repr(prior)}
    return {"kind": prior.kind, **asdict(cast("Any", prior))}


def prior_from_dict(facts: Mapping[str, Any], kinds: Mapping[str, str]) -> Any:
    """The prior that `prior_to_dict` was given; `kinds` is one of the registries."""
    if facts["kind"] not in kinds:
        raise InputError(_unknown(format_prior(facts), kinds))
    return load(kinds[facts["kind"]])(**{name: facts[name] for name in facts if name != "kind"})


def format_prior(facts: Mapping[str, Any]) -> str:
    """A prior, given as data, as the command writes it, such as `gamma(2, 3)`."""
    if facts["kind"] == "other":
        return str(facts["text"])
    numbers = ", ".join(f"{value:g}" for name, value in facts.items() if name != "kind")
    return f"{facts['kind']}({numbers})"


def parse_prior(text: str, kinds: Mapping[str, str]) -> Any:
    """The prior that `format_prior` writes as this text; `kinds` is one of the registries."""
    match = re.fullmatch(r"\s*([a-z-]+)\s*(?:\(([^()]*)\))?\s*", text.lower())
    if match is None or match[1] not in kinds:
        raise InputError(_unknown(text, kinds))
    prior = load(kinds[match[1]])
    try:
        numbers = [float(part) for part in (match[2] or "").split(",") if part.strip()]
        return prior(*numbers)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        takes = ", ".join(inspect.signature(prior).parameters)
        raise InputError(f"{text!r}: {match[1]} takes numbers, ({takes})") from None


def _unknown(text: str, kinds: Iterable[str]) -> str:
    return f"{text!r} names no prior; say one of {', '.join(kinds)}, as in 'name(1, 2)'"
