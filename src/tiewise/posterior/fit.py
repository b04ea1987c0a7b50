"""fit(): a model and an engine to an ArviZ DataTree."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from time import perf_counter

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.data.counts import COLUMNS
from tiewise.engines.base import Draws, Engine, Unsuited
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Patient, Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.kernels import is_compiled
from tiewise.model.scalar_priors import say
from tiewise.posterior.diagnostics import worst
from tiewise.posterior.warnings import data_cautions, draw_cautions
from tiewise.progress import Progress, no_progress

Floats = NDArray[np.float64]
log = logging.getLogger("tiewise")

ENGINES = {
    engine.name: engine
    for engine in (Transport, Gibbs, Metropolis, CaronDoucet, Laplace, MaximumLikelihood)
}
# What the parts of a term are, where there is more than one.
DIMENSIONS = {
    "coefficient": ("covariate",),
    "order": ("advantage",),
    "contrast": ("group", "item"),
    "sharpness": ("judge",),
    "threshold": ("judge",),
}
# Beyond the last of these the weights have no mean, and do more harm than good.
GOOD_K, TRUSTED_K, HOPELESS_K = 0.5, 0.7, 1.0


def fit(
    model: BradleyTerry,
    engine: Engine | None = None,
    *,
    seed: int | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> DataTree:
    """The model's posterior: `posterior.quality[item]`, `posterior.tie`, `posterior.variance`.

    Terms add theirs: `coefficient[covariate]` per unit of the column, and the share of variance
    `explained`; `order[advantage]`; `contrast[group, item]`; `sharpness[judge]`;
    `threshold[judge]`. Quality is then that of all groups together, covariates included.

    The same seed gives the same draws; without one a fresh seed is drawn and recorded. `names`
    puts a name beside an item's id in everything a person reads.
    """
    engine = Transport() if engine is None else engine
    if not is_compiled():
        # Without a handler of the caller's own, Python prints this line on standard error.
        log.warning("Compiling the inner loops for this machine, once: some seconds ...")
    root = SeedSequence(secrets.randbits(32) if seed is None else seed)
    begun = perf_counter()
    with one_blas_thread():
        engine, draws = explored(model, engine, root.spawn(1)[0], progress)
    if "log_weight" in draws.stats:
        draws = _drawn_again(draws, np.random.default_rng(root.spawn(1)[0]))
    seconds = perf_counter() - begun
    tree = _tree(model, draws, names or {})
    # An engine with a prior of its own says so; the model's was not used then.
    own = draws.facts.get("prior")
    tree.attrs.update(
        engine=engine.name,
        settings=json.dumps(_settings(engine)),
        kind=engine.kind,
        # Seeds exceed what NetCDF integers hold, so they are kept as text.
        seed=str(root.entropy),
        version=version("tiewise"),
        digest=model.counts.digest(),
        model=json.dumps({"prior": own} if own else describe(model)),
        build_seconds=draws.build_seconds,
        sample_seconds=seconds - draws.build_seconds,
        superchains=draws.superchains or 0,
        **{f"engine_{key}": value for key, value in draws.facts.items()},
    )
    if engine.kind == "exact":
        tree.attrs["ess_min"], tree.attrs["rhat_max"] = worst(tree)
    free = not np.isnan(draws.variance).all()
    cautions = (
        *data_cautions(model, names or {}, variance=free),
        *draws.warnings,
        *draw_cautions(tree),
    )
    tree.attrs["warnings"] = json.dumps(cautions)
    return tree


def explored(
    model: BradleyTerry, engine: Engine, seed: SeedSequence, progress: Progress
) -> tuple[Engine, Draws]:
    """Draws of the engine, or of another where the engine says that the model does not suit it.

    That is Gibbs; and where a model has terms, which Gibbs does not know, Transport with patience.
    """
    try:
        return engine, engine.run(model, seed, progress)
    except Unsuited as why:
        instead: Engine = (Patient if model.terms else Gibbs)(draws=getattr(engine, "draws", 4000))
        said = f"Fitted with {instead.name}, because {engine.name} found itself unsuited: {why}."
        try:
            draws = instead.run(model, seed, progress)
        except Unsuited as still:
            raise InputError(
                f"this model cannot be explored well ({still}); its data say too little: fix a "
                "variance, give it a tighter prior, or leave a term out"
            ) from None
        return instead, replace(draws, warnings=(*draws.warnings, said))


def describe(model: BradleyTerry) -> dict[str, str]:
    """The model in words, as the command takes them: priors of quality, variance and threshold."""
    words = {
        "quality": model.prior.describe(),
        "variance": say(model.variance),
        "tie": "no ties" if model.tie is None else say(model.tie),
    }
    terms = "; ".join(term.describe() for term in model.terms)
    return words | ({"terms": terms} if terms else {})


def _settings(engine: Engine) -> dict[str, object]:
    fields = getattr(engine, "__dataclass_fields__", {})
    return {name: getattr(engine, name) for name, field in fields.items() if field.repr}


def _drawn_again(draws: Draws, rng: np.random.Generator) -> Draws:
    """Draws in proportion to their Pareto-smoothed weights, with the k-hat of those weights."""
    from arviz_stats.base import array_stats

    raw = draws.stats["log_weight"][0]
    # ArviZ takes log likelihoods here, whose inverses are the weights: hence the sign.
    # Weights that are all equal have no tail to smooth, which it will not take for an answer.
    even = np.ptp(raw) < 1e-9
    smooth, k_hat = (raw, 0.0) if even else array_stats.psislw(raw.max() - raw)
    weight = np.exp(smooth - smooth.max()) if k_hat < HOPELESS_K else np.ones_like(smooth)
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
    health = "good" if k_hat <= GOOD_K else "fair" if k_hat <= TRUSTED_K else "poor"
    size = float(1 / (weight**2).sum())
    facts = {**draws.facts, "k_hat": float(k_hat), "health": health, "weight_ess": size}
    return replace(
        draws,
        quality=draws.quality[:, picked],
        tie=draws.tie[:, picked],
        variance=draws.variance[:, picked],
        stats={"log_weight": draws.stats["log_weight"][:, picked]},
        facts=facts,
        warnings=warnings,
    )


def _prior_sd(model: BradleyTerry) -> Floats:
    """Standard deviation of each centred quality before any judgement, where α is 1."""
    if model.factor is None:
        return np.full(model.size, np.sqrt(1 - 1 / model.size))
    level = model.factor.mean(axis=0)
    out: Floats = np.sqrt(((model.factor - level) ** 2).sum(axis=1))
    return out


def _of_terms(model: BradleyTerry, more: Mapping[str, Floats]) -> Dataset:
    """What the terms of a model add to the posterior, by covariate, group, judge or advantage."""
    design = model.design
    names = {
        "covariate": () if design.columns is None else design.columns.names,
        "advantage": design.advantages,
        "group": design.group_names,
        "judge": model.counts.strata,
        "item": model.items,
    }
    values = {
        name: (["chain", "draw", *DIMENSIONS.get(name, ())], told) for name, told in more.items()
    }
    used = {place for name in more for place in DIMENSIONS.get(name, ())}
    return Dataset(values, coords={place: list(names[place]) for place in used})


def _tree(model: BradleyTerry, draws: Draws, names: Mapping[str, str]) -> DataTree:
    """Draws and data as ArviZ lays them out. By hand: arviz-base would load Matplotlib."""
    counts, item, sample = model.counts, ["item"], ["chain", "draw"]
    constant = Dataset(
        {
            "name": (item, np.array([names.get(i, i) for i in model.items])),
            "comparisons": (item, counts.per_item()),
            "prior_sd": (item, _prior_sd(model)),
            "skips": counts.skips,
            "judges": -1 if counts.judges is None else len(counts.judges),
        },
        coords={"item": list(model.items)},
    )
    if model.design.columns is not None:
        constant["covariate_sd"] = (["covariate"], model.design.columns.sd)
    if model.design.groups is not None:
        constant["group_of_stratum"] = (["stratum"], model.design.group)
    if model.design.order is not None:
        constant["advantage_of_stratum"] = (["stratum", "advantage"], model.design.sides)
    if draws.standard_error is not None:
        constant["standard_error"] = (item, draws.standard_error)
    if draws.tie_standard_error is not None:
        constant["tie_standard_error"] = draws.tie_standard_error
    places = {name: np.arange(size) for name, size in zip(sample, draws.tie.shape, strict=True)}
    posterior = Dataset(
        {
            "quality": ([*sample, "item"], draws.quality),
            "tie": (sample, draws.tie),
            "variance": (sample, draws.variance),
        },
        coords={**places, "item": list(model.items)},
    )
    if draws.more:
        posterior = posterior.merge(_of_terms(model, draws.more))
    stats = Dataset({key: (sample, value) for key, value in draws.stats.items()}, coords=places)
    observed = Dataset({column: (["pair"], getattr(counts, column)) for column in COLUMNS})
    groups = {"posterior": posterior, "observed_data": observed, "constant_data": constant}
    return DataTree.from_dict(groups | ({"sample_stats": stats} if draws.stats else {}))
