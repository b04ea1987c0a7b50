"""A model from judgements, what is known of the items, and options by name."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model import QUALITY_PRIORS
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.item_context import ItemContext
from tiewise.model.quality_priors import QualityPrior, quality_prior_class
from tiewise.model.scalar_priors import Exponential, Fixed, InverseGamma, TiePrior, VariancePrior
from tiewise.model.term_options import TermOptions, counts_and_terms, join_waves
from tiewise.text import some_names


class ModelOptions(TypedDict, total=False):
    """The options of `build_model`, for functions that pass them on."""

    prior: str | None
    reach: float | None
    variance: VariancePrior | Fixed | None
    tie: TiePrior | Fixed | None
    ties: bool
    covariates: object
    formula: str | None
    order: bool
    advantage: str | None
    judge_groups: str | None
    judges: object
    waves: str | Path | None
    sharpness: bool
    thresholds: bool


def build_model(
    comparisons: Comparisons | Counts,
    context: ItemContext | None = None,
    *,
    prior: str | None = None,
    reach: float | None = None,
    variance: VariancePrior | Fixed | None = None,
    tie: TiePrior | Fixed | None = None,
    ties: bool = True,
    covariates: object = None,
    formula: str | None = None,
    order: bool = False,
    advantage: str | None = None,
    judge_groups: str | None = None,
    judges: object = None,
    waves: str | Path | None = None,
    sharpness: bool = False,
    thresholds: bool = False,
) -> BradleyTerry:
    """The model of these judgements; `ties=False` leaves the tied ones out.

    `prior` names a prior of quality, `reach` is that of the distance prior; the others, from
    `covariates` on, are the fields of `TermOptions`.
    """
    context = context or ItemContext()
    options = TermOptions(
        covariates, formula, order, advantage, judge_groups, judges, waves, sharpness, thresholds
    )
    if isinstance(comparisons, Comparisons):
        comparisons, options = join_waves(comparisons, options)
    counts, terms = counts_and_terms(comparisons, options, table=context.table, id=context.id)
    if not ties:
        counts = counts.without_ties()
    if counts.comparisons == 0:
        raise InputError(
            "there is nothing to fit: no judgement chooses an item"
            + (" or calls a tie" if ties else " (ties=False leaves ties out)")
            + (f", {counts.skips} are skips" if counts.skips else "")
            + "; give a file with some that do"
        )
    quality_prior = choose_prior(context, prior, reach=reach)
    _refuse_strangers(counts, quality_prior, context)
    return BradleyTerry(
        counts,
        quality_prior,
        variance=variance or InverseGamma(),
        tie=(tie or Exponential()) if ties else None,
        terms=terms,
    )


def choose_prior(
    context: ItemContext, kind: str | None = None, *, reach: float | None = None
) -> QualityPrior:
    """The prior of this name; by default the network where neighbours are known."""
    kind = kind or ("network" if context.graph is not None else "independent")
    if kind not in QUALITY_PRIORS:
        raise InputError(f"no prior {kind!r}; there are {', '.join(QUALITY_PRIORS)}")
    chosen = quality_prior_class(kind)
    if reach is not None and "reach" not in chosen.takes:
        raise InputError(f"reach= belongs to prior=distance, and this prior is {kind}")
    if context.matrix is not None and "matrix" not in chosen.takes:
        raise InputError("say what matrix= holds: prior=covariance or prior=precision")
    return chosen.from_context(context, reach=reach)


def _refuse_strangers(counts: Counts, prior: QualityPrior, context: ItemContext) -> None:
    """Say so when the judgements and the prior have no item in common: the ids are of two kinds."""
    if prior.items is None or set(counts.items) & set(prior.items):
        return
    mapped = context.areas is not None
    way = "choose its column of ids with id=" if mapped else "use the same ids"
    where = "map" if mapped else "edges" if context.graph is not None else "matrix"
    raise InputError(
        f"none of the compared items ({some_names(counts.items, 3, ellipsis=True) or 'none'}) is "
        f"in the {where}, which has {some_names(prior.items, 3, ellipsis=True) or 'none'}; {way}"
    )
