"""A model from judgements, what is known of the items, and options by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.geo.item_context import ItemContext
from tiewise.model import QUALITY_PRIORS
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.prior_sets import DEFAULT_TIE, DEFAULT_VARIANCE
from tiewise.model.quality_priors import QualityPrior, quality_prior_class
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.term_options import TermOptions, counts_and_terms, join_waves


class ModelOptions(TypedDict, total=False):
    """The options of `build_model`, for functions that pass them on."""

    prior: str | None
    reach: float | None
    share: float | None
    variance: VariancePrior | Fixed | None
    tie: TiePrior | Fixed | None
    ties: bool | None
    covariates: object
    formula: str | None
    order: bool | str
    advantage: str | None
    judge_groups: str | None
    judges: object
    waves: str | Path | None
    by: str | None
    sharpness: bool | str
    thresholds: bool | str
    anchors: object
    anchor_slope: float | str | None


def build_model(
    comparisons: Comparisons | Counts,
    context: ItemContext | None = None,
    *,
    prior: str | None = None,
    reach: float | None = None,
    share: float | None = None,
    variance: VariancePrior | Fixed | None = None,
    tie: TiePrior | Fixed | None = None,
    ties: bool | None = None,
    covariates: object = None,
    formula: str | None = None,
    order: bool | str = False,
    advantage: str | None = None,
    judge_groups: str | None = None,
    judges: object = None,
    waves: str | Path | None = None,
    by: str | None = None,
    sharpness: bool | str = False,
    thresholds: bool | str = False,
    anchors: object = None,
    anchor_slope: float | str | None = None,
) -> BradleyTerry:
    """The model of these judgements.

    It has a tie threshold where a judgement is a tie, or where the file says that ties were
    offered; `ties=True` asks for one, `ties=False` leaves tied judgements out.
    `prior` names a prior of quality, `reach` is that of the distance prior, `share` that of the
    network (None infers it); the others, from
    `covariates` on, are the fields of `TermOptions`. `anchors` are items whose quality is known
    from elsewhere: `Anchors`, or a file, data frame or columns `item`, `value` and `sd`. Where
    these are no logits, `anchor_slope` says how many of their units a logit is, or "learned".
    """
    context = context or ItemContext()
    options = TermOptions(
        covariates=covariates, formula=formula, order=order, advantage=advantage,
        judge_groups=judge_groups, judges=judges, waves=waves, by=by, sharpness=sharpness,
        thresholds=thresholds,
    )  # fmt: skip
    if isinstance(comparisons, Comparisons):
        comparisons, options = join_waves(comparisons, options)
    counts, terms = counts_and_terms(comparisons, options, table=context.table, id=context.id)
    threshold = _has_threshold(comparisons, tie) if ties is None else ties
    if not threshold:
        counts = counts.without_ties()
    _refuse_nothing(counts, ties)
    quality_prior = choose_prior(context, prior, reach=reach, share=share)
    if quality_prior.items is not None:
        context.refuse_strangers(counts.items, quality_prior.items)
    return BradleyTerry(
        counts,
        quality_prior,
        variance=variance or DEFAULT_VARIANCE,
        tie=(tie or DEFAULT_TIE) if threshold else None,
        terms=terms,
        anchors=_anchors(anchors, anchor_slope),
    )


def _refuse_nothing(counts: Counts, ties: bool | None) -> None:
    """Refuse counts without any answer that compares two items."""
    if counts.comparisons == 0:
        raise InputError(
            "there is nothing to fit: no judgement chooses an item"
            + (" (ties=False leaves ties out)" if ties is False else " or calls a tie")
            + (f", {counts.skips} are skips" if counts.skips else "")
            + "; give a file with some that do"
        )


def _anchors(source: object, slope: float | str | None) -> Anchors | None:
    if source is None:
        if slope is not None:
            raise InputError("anchor_slope= is that of anchors, and there are none; give anchors=")
        return None
    if isinstance(source, Anchors):
        return source if slope is None else replace(source, slope=slope)
    return Anchors.read(source, slope=1.0 if slope is None else slope)


def _has_threshold(comparisons: Comparisons | Counts, tie: TiePrior | Fixed | None) -> bool:
    """Whether a model without a word about ties has a threshold; one that is held stays."""
    if isinstance(tie, Fixed):
        return True
    if isinstance(comparisons, Counts):
        return comparisons.total_ties > 0
    return comparisons.ties > 0 or bool(comparisons.ties_offered)


def choose_prior(
    context: ItemContext,
    kind: str | None = None,
    *,
    reach: float | None = None,
    share: float | None = None,
) -> QualityPrior:
    """The prior of this name; by default the network where neighbours are known."""
    kind = kind or ("network" if context.graph is not None else "independent")
    if kind not in QUALITY_PRIORS:
        raise InputError(f"no prior {kind!r}; there are {', '.join(QUALITY_PRIORS)}")
    chosen = quality_prior_class(kind)
    if reach is not None and "reach" not in chosen.takes:
        raise InputError(f"reach= belongs to prior=distance, and this prior is {kind}")
    # Other priors are wholly what they are, which a share of 1 says.
    if share not in (None, 1) and "share" not in chosen.takes:
        raise InputError(f"share= belongs to prior=network, and this prior is {kind}")
    if context.matrix is not None and "matrix" not in chosen.takes:
        raise InputError("say what matrix= holds: prior=covariance or prior=precision")
    options = {"reach": reach, "share": share}
    return chosen.from_context(
        context, **{name: value for name, value in options.items() if name in chosen.takes}
    )
