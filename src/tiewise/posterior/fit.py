"""fit(): a model and an engine to an ArviZ DataTree."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.engines import engine_class
from tiewise.engines.base import Draws, Engine, EngineUnsuitable
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.kernels import is_compiled
from tiewise.model.semiorder import cannot_say
from tiewise.posterior.large.groups import attach_summaries
from tiewise.posterior.prior_sensitivity import attach_prior_sensitivity
from tiewise.posterior.sampling import EnoughDraws, sample_on, sampling_cause, target_ess
from tiewise.posterior.scales.anchored import attach_anchors
from tiewise.posterior.tree import build_tree
from tiewise.posterior.warnings import data_warnings, enough, sampling_warnings
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed_sequence

Floats = NDArray[np.float64]
log = logging.getLogger("tiewise")

ANCHORED_ENGINES = ("transport", "patient-transport", "laplace", "gibbs", "metropolis")
"""Engines that know anchors."""
# Limits of Pareto k-hat. Beyond the last the weights have no mean, and are not used.
GOOD_K, TRUSTED_K, HOPELESS_K = 0.5, 0.7, 1.0


def fit(
    model: BradleyTerry,
    engine: Engine | None = None,
    *,
    rng: RNGLike = None,
    names: Mapping[str, str] | None = None,
    ess: int | None = None,
    progress: Progress = no_progress,
) -> DataTree:
    """The model's posterior: `posterior.quality[item]`, `posterior.tie`, `posterior.variance`.

    Qualities of each draw are centred; `posterior.level` is what was subtracted.

    Terms add theirs: `coefficient[covariate]` per unit of the column, and the share of variance
    `explained`; `order[advantage]`; `contrast[group, item]`; `sharpness[judge]`;
    `threshold[judge]`. Quality is then that of all groups together, covariates included.

    The same seed gives the same draws; without one a fresh seed is drawn. It is recorded in
    `attrs["seed"]`. `names` are shown beside the ids of items in tables, plots and reports.

    Exact engines sample on until their draws are worth `ess` independent ones and chains agree, up
    to 16 times the engine's number of draws; 0 turns that off. By default it is 400, and 0 where
    another number of draws than the engine's default was chosen.
    """
    engine = Transport() if engine is None else engine
    if not is_compiled():
        # Without a handler of the caller's own, Python prints this line on standard error.
        log.warning("Compiling the inner loops for this machine, once: some seconds ...")
    root = as_seed_sequence(rng)
    start = perf_counter()
    target = target_ess(engine, ess)
    sampled = None
    with one_blas_thread():
        engine, draws = run_engine(model, engine, root.spawn(1)[0], progress)
        if engine.kind == "exact":
            sampled = sample_on(model, draws, target, progress)
            draws = sampled.draws
    if "log_weight" in draws.stats:
        draws = _resample(draws, np.random.default_rng(root.spawn(1)[0]))
    if engine.kind != "point":
        draws = draws.on_disk()
    seconds = perf_counter() - start - (sampled.checking_seconds if sampled else 0.0)
    tree = described_tree(
        model, engine, draws, sampled, target=target, seconds=seconds, seed=str(root.entropy),
        names=names, progress=progress,
    )  # fmt: skip
    messages = (
        *data_warnings(model, names or {}),
        *draws.warnings,
        *sampling_warnings(tree),
    )
    if model.anchor_factor is not None:
        rng = np.random.default_rng(root.spawn(1)[0])
        check = attach_anchors(tree, model, rng, names or {})
        messages = (*messages, *check)
    tree.attrs["warnings"] = json.dumps(messages)
    return tree


def described_tree(
    model: BradleyTerry, engine: Engine, draws: Draws, sampled: EnoughDraws | None, *,
    target: int, seconds: float, seed: str, names: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> DataTree:  # fmt: skip
    """The tree of draws, with the facts about them that a verdict reads."""
    tree = build_tree(model, draws, names or {})
    tree.attrs.update(_attributes(model, engine, draws, seconds, seed))
    if sampled is not None:
        tree.attrs.update(_sampling_facts(model, engine, sampled, target))
    if draws.stored is not None:
        attach_summaries(tree, model, draws.stored, progress)
    attach_prior_sensitivity(tree, model)
    return tree


def _sampling_facts(
    model: BradleyTerry, engine: Engine, sampled: EnoughDraws, target: int
) -> dict[str, Any]:
    """What draws are worth, how far sampling went on, and why they are not worth enough."""
    draws, (ess, rhat, parameter) = sampled.draws, sampled.worth
    cause = sampling_cause(model, draws, engine.name, parameter, went_on=sampled.went_on)
    return {
        "ess_min": ess, "rhat_max": rhat, "ess_cause": "" if enough(ess, rhat) else cause,
        "ess_target": target, "rounds": sampled.rounds, "thin": sampled.thin,
    }  # fmt: skip


def _attributes(
    model: BradleyTerry, engine: Engine, draws: Draws, seconds: float, seed: str
) -> dict[str, Any]:
    """Facts about a fit, as attributes of its tree."""
    # An engine with a prior of its own gives it; the model's was not used then.
    own = draws.facts.get("prior")
    engine_prior = {"prior": {"kind": "engine", "text": own}}
    return dict(
        engine=engine.name,
        settings=json.dumps(_settings(engine)),
        kind=engine.kind,
        # Seeds exceed what NetCDF integers hold, so they are stored as text.
        seed=seed,
        version=version("tiewise"),
        digest=model.counts.digest(),
        cannot_say=cannot_say(model),
        model=json.dumps(model.to_dict() if own is None else engine_prior),
        build_seconds=draws.build_seconds,
        sample_seconds=seconds - draws.build_seconds,
        superchains=draws.superchains or 0,
        **{f"engine_{key}": value for key, value in draws.facts.items()},
    )


def run_engine(
    model: BradleyTerry, engine: Engine, seed: SeedSequence, progress: Progress
) -> tuple[Engine, Draws]:
    """Draws of the engine, or of its fall-back where it cannot sample the model well."""
    if model.anchors is not None and engine.name not in ANCHORED_ENGINES:
        raise InputError(f"{engine.name} does not know anchors=; fit with transport")
    try:
        return engine, engine.run(model, seed, progress)
    except EngineUnsuitable as reason:
        if reason.fallback is None:
            raise InputError(
                f"this model cannot be explored well ({reason}); its data say too little: fix a "
                "variance, give it a tighter prior, or leave a term out"
            ) from None
        message = (
            f"Fitted with {reason.fallback.name}, because {engine.name} found itself unsuited: "
            f"{reason}."
        )
        fallback, draws = run_engine(model, reason.fallback, seed, progress)
        return fallback, replace(draws, warnings=(*draws.warnings, message))


def make_engine(name: str, **settings: Any) -> Engine:
    """The engine with this name and these settings."""
    engine: Engine = engine_class(name)(**settings)
    return engine


def _settings(engine: Engine) -> dict[str, object]:
    fields = getattr(engine, "__dataclass_fields__", {})
    return {name: getattr(engine, name) for name, field in fields.items() if field.repr}


def _resample(draws: Draws, rng: np.random.Generator) -> Draws:
    """Draws in proportion to their Pareto-smoothed weights, with the k-hat of those weights."""
    from arviz_stats.base import array_stats

    raw = draws.stats["log_weight"][0]
    # ArviZ takes log likelihoods here, whose inverses are the weights: hence the sign.
    # Weights that are all equal have no tail to smooth, which it refuses.
    even = np.ptp(raw) < 1e-9
    smooth, k_hat = (raw, 0.0) if even else array_stats.psislw(raw.max() - raw)
    weight = np.exp(smooth - smooth.max()) if k_hat < HOPELESS_K else np.ones_like(smooth)
    weight /= weight.sum()
    # Systematic resampling: with equal weights every draw is kept exactly once.
    steps = (np.arange(len(weight)) + rng.uniform()) / len(weight)
    chosen = rng.permutation(np.searchsorted(np.cumsum(weight), steps).clip(max=len(weight) - 1))
    warnings = draws.warnings
    if not k_hat <= TRUSTED_K:
        warnings += (
            f"The Laplace approximation fits this posterior poorly (Pareto k-hat {k_hat:.2f}, "
            f"above {TRUSTED_K}): use it for a first look, and an exact engine for decisions.",
        )
    health = "good" if k_hat <= GOOD_K else "fair" if k_hat <= TRUSTED_K else "poor"
    size = float(1 / (weight**2).sum())
    facts = {**draws.facts, "k_hat": float(k_hat), "health": health, "weight_ess": size}
    return replace(
        draws,
        quality=draws.quality[:, chosen],
        tie=draws.tie[:, chosen],
        variance=draws.variance[:, chosen],
        terms={name: values[:, chosen] for name, values in draws.terms.items()},
        stats={"log_weight": draws.stats["log_weight"][:, chosen]},
        facts=facts,
        warnings=warnings,
    )
