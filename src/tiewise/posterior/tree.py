"""The DataTree of a fit: its assembly, what is attached to it, and the model read back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import COLUMNS, Counts, rows_of
from tiewise.data.facts import facts_of_judgements
from tiewise.engines.base import Draws
from tiewise.errors import ModelNotStoredError
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.facts.columns import read_facts
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import (
    DENSE_ITEMS,
    Covariance,
    Independent,
    Precision,
    QualityPrior,
    describe_quality_prior,
)
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.notation import prior_from_dict
from tiewise.model.term_options import TermOptions, row_strata
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.variables import describe_variables

Floats = NDArray[np.float64]


# The parts of a term along which it has more than one value.
DIMENSIONS = {
    "coefficient": ("covariate",),
    "order": ("advantage",),
    "contrast": ("group", "item"),
    "contrast_level": ("group",),
    "sharpness": ("judge",),
    "threshold": ("judge",),
    "cut": ("strength",),
}


def build_tree(model: BradleyTerry, draws: Draws, names: Mapping[str, str]) -> DataTree:
    """Draws, centred, and data in ArviZ's layout. Without arviz-base, which loads Matplotlib."""
    draws = draws if draws.level is not None else draws.centred()
    sample = ["chain", "draw"]
    index = {name: np.arange(size) for name, size in zip(sample, draws.tie.shape, strict=True)}
    if draws.stored is not None:
        index["draw"] = draws.stored.kept_positions
    posterior = Dataset(
        {
            "quality": ([*sample, "item"], draws.quality),
            "level": (sample, draws.level),
            "tie": (sample, draws.tie),
            "variance": (sample, draws.variance),
        },
        coords={**index, "item": list(model.items)},
    )
    if draws.terms:
        posterior = posterior.merge(_term_dataset(model, draws.terms))
    stats = Dataset({key: (sample, value) for key, value in draws.stats.items()}, coords=index)
    observed = Dataset({column: (["pair"], getattr(model.counts, column)) for column in COLUMNS})
    if model.counts.strengths is not None:
        observed["strengths"] = (["pair", "side", "strength"], model.counts.strengths)
    if model.counts.facts is not None:
        observed = observed.assign_coords(fact=list(model.counts.fact_names))
        observed["facts"] = (["pair", "fact"], model.counts.facts)
    groups = {
        "posterior": posterior,
        "observed_data": observed,
        "constant_data": _constant_data(model, draws, names),
    }
    tree = DataTree.from_dict(groups | ({"sample_stats": stats} if draws.stats else {}))
    describe_variables(tree)
    return tree


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
        constant["covariate_value"] = (["item", "covariate"], design.columns.standard)
    if model.terms and counts.strata != ("all",):
        constant["stratum_name"] = (["stratum"], np.array(counts.strata))
    if design.groups is not None:
        constant["group_of_stratum"] = (["stratum"], design.group)
    if design.facts is not None:
        constant["fact_sd"] = (["advantage"], design.facts.sd)
    elif design.order is not None:
        constant["advantage_of_stratum"] = (["stratum", "advantage"], design.advantage_values)
    if (unevenness := _unevenness(model)) is not None:
        constant["unevenness"] = unevenness
    if draws.standard_error is not None:
        constant["standard_error"] = (item, draws.standard_error)
    if draws.tie_standard_error is not None:
        constant["tie_standard_error"] = draws.tie_standard_error
    if draws.cut_standard_error is not None:
        strengths = np.arange(1, model.counts.levels + 1)
        constant = constant.assign_coords(strength=strengths)
        constant["cut_standard_error"] = (["strength"], draws.cut_standard_error)
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
        "strength": range(1, model.counts.levels + 1),
    }
    values = {
        name: (["chain", "draw", *DIMENSIONS.get(name, ())], draws) for name, draws in parts.items()
    }
    used = {dimension for name in parts for dimension in DIMENSIONS.get(name, ())}
    return Dataset(values, coords={dimension: list(names[dimension]) for dimension in used})


def _unevenness(model: BradleyTerry) -> float | None:
    """The variance of differences under the correlation of the map; None where it has no share."""
    if (network := _large_network(model)) is not None:
        return network.exponential.unevenness if network.share is None else None
    return None if model.mixture is None else model.mixture.unevenness


def _large_network(model: BradleyTerry) -> Network | None:
    """The model's network prior where matrices of items by items were not written out for it."""
    prior = model.prior
    written_out = "correlation" in prior.__dict__ or "factor" in model.__dict__
    if not isinstance(prior, Network) or model.size <= DENSE_ITEMS or written_out:
        return None
    return prior


def _network_sd(network: Network) -> Floats:
    """Prior standard deviation of each centred quality, from the row sums of the covariance.

    Where the share is inferred, of the covariance averaged over it.
    """
    size, share = len(network.items), 0.5 if network.share is None else network.share
    sums = share * network.exponential.row_sums + (1 - share)
    out: Floats = np.sqrt(1 - 2 * sums / size + sums.sum() / size**2)
    return out


def _prior_sd(model: BradleyTerry) -> Floats:
    """Prior standard deviation of each centred quality, where α is 1; NaN where it is not known."""
    if isinstance(model.prior, Precision) and model.prior.is_large:
        return np.full(model.size, np.nan)
    if (network := _large_network(model)) is not None:
        return _network_sd(network)
    if model.factor is None:
        return np.full(model.size, np.sqrt(1 - 1 / model.size))
    level = model.factor.mean(axis=0)
    out: Floats = np.sqrt(((model.factor - level) ** 2).sum(axis=1))
    return out


def judgement_record(
    model: BradleyTerry, comparisons: Comparisons, options: TermOptions | None = None
) -> JudgementRecord | None:
    """The record of these judgements for a model of them, with strata where terms have any.

    Without the `options` that the model was built with, strata are taken to be judges.
    """
    strata = model.counts.strata
    names = None
    if strata != ("all",):
        by_judge = comparisons.judges is not None and comparisons.judges <= set(strata)
        names = row_strata(comparisons, options) if options is not None else None
        if names is None and by_judge:
            names = comparisons.row_strata("judge")
    record = JudgementRecord.from_comparisons(
        comparisons, model.items, strata=strata, names=names,
        keep_sides=model.design.order is not None,
    )  # fmt: skip
    if record is None or model.counts.facts is None or options is None:
        return record
    return record._replace(stratum=_rows_of_counts(model, comparisons, options, record))


def _rows_of_counts(
    model: BradleyTerry, comparisons: Comparisons, options: TermOptions, record: JudgementRecord
) -> NDArray[np.int64]:
    """The row of the counts of each judgement: where comparisons have facts, its stratum."""
    assert options.advantage is not None
    facts = facts_of_judgements(comparisons, read_facts(comparisons, options.advantage)[1])
    table = record.judgements
    stratum = np.zeros_like(table.left) if record.stratum is None else record.stratum
    return rows_of(model.counts, table.left, table.right, stratum, facts)


def attach_record(
    tree: DataTree,
    model: BradleyTerry,
    comparisons: Comparisons | None,
    options: TermOptions | None = None,
) -> JudgementRecord | None:
    """Add the record of judgements, unless it is too long, and what the prior is made of."""
    record = None if comparisons is None else judgement_record(model, comparisons, options)
    if record is not None:
        attach_judgements(tree, record)
    if isinstance(model.prior, Network):
        edges = model.prior.graph.edges
        tree["prior"] = DataTree(Dataset({"edges": (["edge", "end"], edges)}))
        return record
    large = isinstance(model.prior, Precision) and model.prior.is_large
    factor = None if large else model.factor
    # A factor that is larger than all the draws would be most of the file.
    if factor is not None and factor.size <= tree["posterior/quality"].size:
        tree["prior"] = DataTree(Dataset({"factor": (["item", "direction"], factor)}))
    return record


def attach_judgements(tree: DataTree, record: JudgementRecord) -> None:
    """Add a record of judgements to a fit."""
    tree["judgements"] = DataTree(record.dataset())


def rebuild_model(tree: DataTree) -> BradleyTerry:
    """The model of a fit, built again from what its tree holds."""
    prior, described = rebuild_prior(tree), json.loads(tree.attrs["model"])
    terms = _rebuild_terms(tree, described.get("terms", ()))
    variance = prior_from_dict(described["variance"], VARIANCE_PRIORS)
    tie = described["tie"] and prior_from_dict(described["tie"], TIE_PRIORS)
    steps: Any = tuple(prior_from_dict(facts, TIE_PRIORS) for facts in described.get("step", ()))
    return BradleyTerry(
        _rebuild_counts(tree), prior, variance=variance, tie=tie, step=steps, terms=terms,
        anchors=_rebuild_anchors(described),
    )  # fmt: skip


def _rebuild_anchors(described: Mapping[str, Any]) -> Anchors | None:
    facts = described.get("anchors")
    if facts is None:
        return None
    if "anchors" not in facts:
        raise ModelNotStoredError(
            "these results are linked to an earlier study, which they do not hold",
            "give the file of judgements and the earlier results instead",
        )
    items, values, sd = zip(*facts["anchors"], strict=True)
    slope, scale = facts.get("slope", 1.0), facts.get("slope_scale")
    return Anchors(items, values, sd, slope=slope, slope_scale=scale)


def rebuild_prior(tree: DataTree) -> QualityPrior:
    """The prior of quality of a fit, from what its tree holds."""
    described = json.loads(tree.attrs["model"])
    if "quality" not in described:
        raise ModelNotStoredError(
            f"{tree.attrs['engine']} has a prior of its own, so the model cannot be fitted again",
            "fit with another engine",
        )
    facts, items = described["quality"], tuple(tree["constant_data/item"].to_numpy().astype(str))
    if "prior" in tree.children and "edges" in tree["prior"]:
        graph = Graph(items, tree["prior/edges"].to_numpy())
        return Network(graph, share=facts.get("share", 1.0))
    if "prior" in tree.children:
        factor = tree["prior/factor"].to_numpy()
        return Covariance(np.asarray(factor @ factor.T), items)
    if facts["kind"] != Independent.kind:
        raise ModelNotStoredError(
            f"these results do not hold their prior ({describe_quality_prior(facts)}), so nothing "
            "can be fitted again",
            "give the file of judgements and the map instead",
        )
    return Independent(items)


# Terms, and counts with their strata.


def _rebuild_counts(tree: DataTree) -> Counts:
    """The counts of a fit, with its strata and sides where terms tell them apart."""
    observed, constant = tree["observed_data"], tree["constant_data"]
    items = tuple(constant["item"].to_numpy().astype(str))
    columns = [observed[name].to_numpy() for name in COLUMNS if name != "stratum"]
    strata, ordered = _stratum_names(tree), "order" in tree["posterior"]
    strengths = observed["strengths"].to_numpy() if "strengths" in observed else None
    facts: dict[str, Any] = {}
    if "facts" in observed:
        names = tuple(observed["fact"].to_numpy().astype(str))
        facts = {"facts": observed["facts"].to_numpy(), "fact_names": names}
    if strata is None:
        return Counts.of(items, *columns, ordered=ordered, strengths=strengths, **facts)
    return Counts.of(
        items, *columns, stratum=observed["stratum"].to_numpy(), strata=strata, ordered=ordered,
        strengths=strengths, **facts,
    )  # fmt: skip


def _stratum_names(tree: DataTree) -> tuple[str, ...] | None:
    """The names of a fit's strata; None where there is but one, or an earlier version fitted."""
    constant = tree["constant_data"]
    if "stratum_name" in constant:
        return tuple(constant["stratum_name"].to_numpy().astype(str))
    if "judge" in tree["posterior"].coords:
        return tuple(tree["posterior"]["judge"].to_numpy().astype(str))
    if "groups" in tree.children:
        return tuple(tree["groups"]["judge"].to_numpy().astype(str))
    return None


def _rebuild_terms(tree: DataTree, described: Sequence[Mapping[str, Any]]) -> tuple[Term, ...]:
    """The terms of a fit, from what `BradleyTerry.to_dict` gave of them and what its tree holds."""
    return tuple(_term(tree, facts) for facts in described)


def _term(tree: DataTree, facts: Mapping[str, Any]) -> Term:
    kind = facts["kind"]
    if kind == Covariates.kind or (kind == Groups.kind and facts["prior"] is not None):
        raise ModelNotStoredError(
            "a model with covariates, or with groups that have a prior of their own, cannot be put "
            "together again from its results",
            "give the file of judgements instead",
        )
    variance: Any = prior_from_dict(facts["variance"], VARIANCE_PRIORS)
    if kind == Sharpness.kind:
        return Sharpness(variance=variance, reference=facts.get("reference"))
    if kind == Thresholds.kind:
        return Thresholds(variance=variance, reference=facts.get("reference"))
    if facts.get("facts"):
        return Order(facts=tuple(facts["facts"]), variance=variance)
    strata = _known_strata(tree)
    if kind == Groups.kind:
        names = tree["posterior"]["group"].to_numpy().astype(str)
        group = tree["constant_data/group_of_stratum"].to_numpy()
        return Groups(dict(zip(strata, names[group].tolist(), strict=True)), variance=variance)
    if facts["by"] is None:
        return Order(variance=variance)
    values = tree["constant_data/advantage_of_stratum"].to_numpy()
    by = {
        name: dict(zip(strata, np.asarray(column).tolist(), strict=True))
        for name, column in zip(facts["by"], values.T, strict=True)
    }
    return Order(by=by, variance=variance)


def _known_strata(tree: DataTree) -> tuple[str, ...]:
    strata = _stratum_names(tree)
    if strata is None and int(tree["observed_data/stratum"].max()) > 0:
        raise ModelNotStoredError(
            "these results of an earlier version do not name the strata of their terms", "fit again"
        )
    return strata or ("all",)
