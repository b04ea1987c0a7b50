"""Engines that compute a model's posterior: this registry, a module for each, and shared parts."""

from __future__ import annotations

from typing import Any

from tiewise.registry import load

# The name on the command line → where the class is. Modules are loaded when first used, because
# most of them load heavy libraries.
ENGINES = {
    "transport": "tiewise.engines.transport:Transport",
    "gibbs": "tiewise.engines.gibbs:Gibbs",
    "metropolis": "tiewise.engines.metropolis:Metropolis",
    "caron-doucet": "tiewise.engines.caron_doucet:CaronDoucet",
    "laplace": "tiewise.engines.laplace:Laplace",
    "maximum-likelihood": "tiewise.engines.maximum_likelihood:MaximumLikelihood",
}


def engine_class(name: str) -> Any:
    """The class of the engine with this name; its parameters are the engine's settings."""
    return load(ENGINES[name])
