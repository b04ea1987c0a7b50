"""The DataTree of a fit: its assembly, what is attached to it, and the model read back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import COLUMNS, Counts
from tiewise.engines.base import Draws
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import (
    Covariance,
    Independent,
    QualityPrior,
    describe_quality_prior,
)
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS, prior_from_dict
from tiewise.posterior.judgement_record import JudgementRecord

Floats = NDArray[np.float64]


# The parts of a term along which it has more than one value.
DIMENSIONS = {
    "coefficient": ("covariate",),
    "order": ("advantage",),
    "contrast": ("group", "item"),
    "sharpness": ("judge",),
    "threshold": ("judge",),
}


def build_tree(model: BradleyTerry, draws: Draws, names: Mapping[str, str]) -> DataTree:
    """Draws and data in ArviZ's layout. Without arviz-base, which would load Matplotlib."""
    sample = ["chain", "draw"]
    index = {name: np.arange(size) for name, size in zip(sample, draws.tie.shape, strict=True)}
    posterior = Dataset(
        {
            "quality": ([*sample, "item"], draws.quality),
            "tie": (sample, draws.tie),
            "variance": (sample, draws.variance),
        },
        coords={**index, "item": list(model.items)},
    )
    if draws.terms:
        posterior = posterior.merge(_term_dataset(model, draws.terms))
    stats = Dataset({key: (sample, value) for key, value in draws.stats.items()}, coords=index)
    observed = Dataset({column: (["pair"], getattr(model.counts, column)) for column in COLUMNS})
    groups = {
        "posterior": posterior,
        "observed_data": observed,
        "constant_data": _constant_data(model, draws, names),
    }
    return DataTree.from_dict(groups | ({"sample_stats": stats} if draws.stats else {}))


def _constant_data(model: BradleyTerry, draws: Draws, names: Mapping[str, str]) -> Dataset:
    counts, design, item = model.counts, model.design, ["item"]
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
    if design.columns is not None:
        constant["covariate_sd"] = (["covariate"], design.columns.sd)
    if design.groups is not None:
        constant["group_of_stratum"] = (["stratum"], design.group)
    if design.order is not None:
        constant["advantage_of_stratum"] = (["stratum", "advantage"], design.advantage_values)
    if draws.standard_error is not None:
        constant["standard_error"] = (item, draws.standard_error)
    if draws.tie_standard_error is not None:
        constant["tie_standard_error"] = draws.tie_standard_error
    return constant


def _term_dataset(model: BradleyTerry, parts: Mapping[str, Floats]) -> Dataset:
    """Draws of the terms of a model, by covariate, group, judge or advantage."""
    design = model.design
    names = {
        "covariate": () if design.columns is None else design.columns.names,
        "advantage": design.advantages,
        "group": design.group_names,
        "judge": model.counts.strata,
        "item": model.items,
    }
    values = {
        name: (["chain", "draw", *DIMENSIONS.get(name, ())], draws) for name, draws in parts.items()
    }
    used = {dimension for name in parts for dimension in DIMENSIONS.get(name, ())}
    return Dataset(values, coords={dimension: list(names[dimension]) for dimension in used})


def _prior_sd(model: BradleyTerry) -> Floats:
    """Prior standard deviation of each centred quality, where α is 1."""
    if model.factor is None:
        return np.full(model.size, np.sqrt(1 - 1 / model.size))
    level = model.factor.mean(axis=0)
    out: Floats = np.sqrt(((model.factor - level) ** 2).sum(axis=1))
    return out


def attach_record(tree: DataTree, model: BradleyTerry, comparisons: Comparisons | None) -> None:
    """Add the record of judgements, unless it is too long, and the prior's factor to a fit."""
    record = (
        None if comparisons is None else JudgementRecord.from_comparisons(comparisons, model.items)
    )
    if record is not None:
        tree["judgements"] = DataTree(record.dataset())
    factor = model.factor
    # A factor that is larger than all the draws would be most of the file.
    if factor is not None and factor.size <= tree["posterior/quality"].size:
        tree["prior"] = DataTree(Dataset({"factor": (["item", "direction"], factor)}))


def rebuild_model(tree: DataTree) -> BradleyTerry:
    """The model of a fit, built again from what its tree holds."""
    described = json.loads(tree.attrs["model"])
    if "quality" not in described:
        raise InputError(
            f"{tree.attrs['engine']} has a prior of its own, so the model cannot be fitted again; "
            "fit with another engine"
        )
    if set(tree["posterior"].data_vars) - {"quality", "tie", "variance"}:
        raise InputError(
            "a model with terms cannot be put together again from its results; "
            "give the file of judgements instead"
        )
    observed = tree["observed_data"]
    items = tuple(tree["constant_data/item"].to_numpy().astype(str))
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    counts = Counts.of(items, *(observed[name].to_numpy() for name in columns))
    variance = prior_from_dict(described["variance"], VARIANCE_PRIORS)
    tie = described["tie"] and prior_from_dict(described["tie"], TIE_PRIORS)
    return BradleyTerry(
        counts, _prior(tree, described["quality"], items), variance=variance, tie=tie
    )


def _prior(tree: DataTree, facts: Mapping[str, Any], items: tuple[str, ...]) -> QualityPrior:
    if "prior" in tree.children:
        factor = tree["prior/factor"].to_numpy()
        return Covariance(np.asarray(factor @ factor.T), items)
    if facts["kind"] != Independent.kind:
        raise InputError(
            f"these results do not hold their prior ({describe_quality_prior(facts)}), so nothing "
            "can be fitted again; give the file of judgements and the map instead"
        )
    return Independent(items)
