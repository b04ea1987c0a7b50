"""fit(): a model and an engine to an ArviZ DataTree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.core.model import BradleyTerry
from tiewise.engines.chains import Draws, Engine, Unsuited, Watch, one_blas_thread, unwatched
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.results.cautions import data_cautions, draw_cautions

Floats = NDArray[np.float64]

ENGINES = {engine.name: engine for engine in (Transport, Gibbs, Laplace, MaximumLikelihood)}
TRUSTED_K = 0.7


def fit(
    model: BradleyTerry,
    engine: Engine | None = None,
    *,
    seed: int | None = None,
    names: Mapping[str, str] | None = None,
    watch: Watch = unwatched,
) -> DataTree:
    """The model's posterior: `posterior.quality[item]`, `posterior.tie`, `posterior.variance`.

    The same seed gives the same draws; without one a fresh seed is drawn and recorded. `names`
    puts a name beside an item's id in everything a person reads.
    """
    engine = Transport() if engine is None else engine
    root = SeedSequence(seed)
    begun = perf_counter()
    with one_blas_thread():
        engine, draws = _explored(model, engine, root.spawn(1)[0], watch)
    if "log_weight" in draws.stats:
        draws = _drawn_again(draws, np.random.default_rng(root.spawn(1)[0]))
    seconds = perf_counter() - begun
    tree = _tree(model, draws, names or {})
    tree.attrs.update(
        engine=engine.name,
        settings=json.dumps(_settings(engine)),
        kind=engine.kind,
        # Seeds exceed what NetCDF integers hold, so they are kept as text.
        seed=str(root.entropy),
        version=version("tiewise"),
        digest=model.counts.digest(),
        model=json.dumps(describe(model)),
        build_seconds=draws.build_seconds,
        sample_seconds=seconds - draws.build_seconds,
        superchains=draws.superchains or 0,
        **{f"engine_{key}": value for key, value in draws.facts.items()},
    )
    cautions = (*data_cautions(model), *draws.warnings, *draw_cautions(tree))
    tree.attrs["warnings"] = json.dumps(cautions)
    return tree


def _explored(
    model: BradleyTerry, engine: Engine, seed: SeedSequence, watch: Watch
) -> tuple[Engine, Draws]:
    """Draws of the engine, or of Gibbs where the engine says that the model does not suit it."""
    try:
        return engine, engine.explore(model, seed, watch)
    except Unsuited as why:
        instead = Gibbs(draws=getattr(engine, "draws", Gibbs.draws))
        said = f"Fitted with {instead.name}, because {engine.name} found itself unsuited: {why}."
        draws = instead.explore(model, seed, watch)
        return instead, replace(draws, warnings=(*draws.warnings, said))


def describe(model: BradleyTerry) -> dict[str, str]:
    """The model in words: priors of quality, variance and threshold."""
    return {
        "quality": model.prior.describe(),
        "variance": repr(model.variance),
        "tie": "no ties" if model.tie is None else repr(model.tie),
    }


def _settings(engine: Engine) -> dict[str, object]:
    fields = getattr(engine, "__dataclass_fields__", {})
    return {name: getattr(engine, name) for name in fields}


def _drawn_again(draws: Draws, rng: np.random.Generator) -> Draws:
    """Draws in proportion to their Pareto-smoothed weights, with the k-hat of those weights."""
    from arviz_stats.base import array_stats

    raw = draws.stats["log_weight"][0]
    # ArviZ takes log likelihoods here, whose inverses are the weights: hence the sign.
    smooth, k_hat = array_stats.psislw(raw.max() - raw)
    weight = np.exp(smooth - smooth.max())
    weight /= weight.sum()
    # Systematic resampling: one uniform, so that an unweighted draw is kept exactly once.
    steps = (np.arange(len(weight)) + rng.uniform()) / len(weight)
    picked = rng.permutation(np.searchsorted(np.cumsum(weight), steps).clip(max=len(weight) - 1))
    warnings = draws.warnings
    if not k_hat <= TRUSTED_K:
        warnings += (
            f"The Laplace approximation fits this posterior poorly (Pareto k-hat {k_hat:.2f}, "
            f"above {TRUSTED_K}): use it for a first look, and an exact engine for decisions.",
        )
    facts = {**draws.facts, "k_hat": float(k_hat), "weight_ess": float(1 / (weight**2).sum())}
    return replace(
        draws,
        quality=draws.quality[:, picked],
        tie=draws.tie[:, picked],
        variance=draws.variance[:, picked],
        stats={"log_weight": draws.stats["log_weight"][:, picked]},
        facts=facts,
        warnings=warnings,
    )


def _tree(model: BradleyTerry, draws: Draws, names: Mapping[str, str]) -> DataTree:
    from arviz_base import from_dict

    counts = model.counts
    constant = {
        "name": np.array([names.get(item, item) for item in model.items]),
        "comparisons": counts.per_item(),
        "skips": np.array(counts.skips),
        "judges": np.array(-1 if counts.judges is None else len(counts.judges)),
    }
    if draws.standard_error is not None:
        constant["standard_error"] = draws.standard_error
    if draws.tie_standard_error is not None:
        constant["tie_standard_error"] = np.array(draws.tie_standard_error)
    observed = {
        "first": counts.first, "second": counts.second, "stratum": counts.stratum,
        "wins_first": counts.wins_first, "wins_second": counts.wins_second, "ties": counts.ties,
    }  # fmt: skip
    groups: dict[str, dict[str, Any]] = {
        "posterior": {"quality": draws.quality, "tie": draws.tie, "variance": draws.variance},
        "sample_stats": dict(draws.stats),
        "observed_data": observed,
        "constant_data": constant,
    }
    per_item = {name: ["item"] for name in ("quality", "name", "comparisons", "standard_error")}
    return from_dict(
        {name: group for name, group in groups.items() if group},
        coords={"item": list(model.items), "pair": np.arange(len(counts.first))},
        dims=per_item | {name: ["pair"] for name in observed},
    )
