"""What every variable of a fit is: a name for readers, its unit, and what it means."""

from __future__ import annotations

from typing import NamedTuple

from xarray import DataTree

LOGITS = "logits"
ANCHOR_UNITS = "units of the anchors"
COUNT = "1"


class VariableDescription(NamedTuple):
    """The attributes of a variable: `long_name`, `units` and `description`."""

    long_name: str
    units: str
    description: str


VARIABLES = {
    "quality": VariableDescription(
        "quality of an item", LOGITS,
        "log-odds scale; centred: each draw less its mean over all items, which is `level`",
    ),
    "level": VariableDescription(
        "level of qualities", LOGITS,
        "the mean over items that was subtracted from `quality`; answers do not depend on it",
    ),
    "tie": VariableDescription(
        "tie threshold δ", LOGITS,
        "of two items of the same quality a judge says “about equal” with probability tanh(δ/2)",
    ),
    "cut": VariableDescription(
        "cut between graded answers", LOGITS,
        "difference in quality at which an item is chosen this strongly, or more so, half of the "
        "time; the first is `tie`",
    ),
    "variance": VariableDescription(
        "variance of quality α²", "logits²", "scale of the prior of the qualities, before centring"
    ),
    "share": VariableDescription(
        "share of the map ρ", COUNT,
        "weight of the network's correlation in the prior; the rest is independent of the map",
    ),
    "coefficient": VariableDescription(
        "coefficient of a covariate", LOGITS, "change in quality per unit of the column"
    ),
    "coefficient_sd": VariableDescription(
        "spread of coefficients", LOGITS, "standard deviation of standardised coefficients"
    ),
    "explained": VariableDescription(
        "share of variance explained", COUNT, "share of the variance of quality by covariates"
    ),
    "order": VariableDescription(
        "advantage of the first item κ", LOGITS, "added to the difference in favour of the first"
    ),
    "contrast": VariableDescription(
        "difference of a group of judges", LOGITS,
        "added to the quality of an item for this group; centred: each draw and group less its "
        "mean over all items, which is `contrast_level`",
    ),
    "contrast_level": VariableDescription(
        "level of contrasts", LOGITS, "the mean over items that was subtracted from `contrast`"
    ),
    "contrast_variance": VariableDescription(
        "variance of differences ν²", "logits²", "scale of the prior of the contrasts"
    ),
    "sharpness": VariableDescription(
        "sharpness of a judge", COUNT, "factor of differences in quality; 1 is that of all judges"
    ),
    "sharpness_sd": VariableDescription(
        "spread of log sharpness τ", COUNT, "standard deviation of log sharpness over judges"
    ),
    "threshold": VariableDescription("tie threshold of a judge", LOGITS, "as `tie`, of one judge"),
    "threshold_sd": VariableDescription(
        "spread of log thresholds ω", COUNT, "standard deviation of log threshold over judges"
    ),
    "anchor_level": VariableDescription(
        "level of the anchors", ANCHOR_UNITS,
        "added to `quality`, times `anchor_slope` if there is one, it gives scores on the anchors' "
        "scale",
    ),
    "anchor_slope": VariableDescription(
        "slope of the anchors", f"{ANCHOR_UNITS} per logit", "units of the anchors that a logit is"
    ),
    "spread": VariableDescription(
        "spread of qualities", LOGITS, "standard deviation of centred quality over items"
    ),
    "highest": VariableDescription(
        "highest items", COUNT, "indices of items, from 0, from the highest of a draw downwards"
    ),
    "position": VariableDescription("position of a watched item", COUNT, "its index, from 0"),
    "mean": VariableDescription("mean", LOGITS, "of centred quality, over all draws"),
    "median": VariableDescription("median", LOGITS, "of centred quality, over all draws"),
    "sd": VariableDescription("standard deviation", LOGITS, "of centred quality, over all draws"),
    "q2.5": VariableDescription("2.5 % quantile", LOGITS, "of centred quality, over all draws"),
    "q97.5": VariableDescription("97.5 % quantile", LOGITS, "of centred quality, over all draws"),
    "above_average": VariableDescription(
        "probability of being above average", COUNT, "share of all draws above the mean of items"
    ),
    "rank": VariableDescription("rank", COUNT, "median over all draws, 1 the highest quality"),
    "rank_q2.5": VariableDescription("2.5 % quantile of the rank", COUNT, "over all draws"),
    "rank_q97.5": VariableDescription("97.5 % quantile of the rank", COUNT, "over all draws"),
    "acceptance_rate": VariableDescription(
        "acceptance probability", COUNT, "of the trajectory that ended in this draw"
    ),
    "log_weight": VariableDescription(
        "log importance weight", "nats", "log posterior density less that of the approximation"
    ),
    "first": VariableDescription("first item", COUNT, "index of an item, from 0"),
    "second": VariableDescription("second item", COUNT, "index of an item, from 0"),
    "wins_first": VariableDescription("wins of the first", COUNT, "answers that chose the first"),
    "wins_second": VariableDescription(
        "wins of the second", COUNT, "answers that chose the second"
    ),
    "ties": VariableDescription("ties", COUNT, "answers “about equal”"),
    "strengths": VariableDescription(
        "choices by strength", COUNT, "answers that chose the first, and the second, how strongly"
    ),
    "stratum": VariableDescription("stratum", COUNT, "index of a stratum of answers, from 0"),
    "name": VariableDescription("name", "", "of an item or a judge, as readers see it"),
    "comparisons": VariableDescription("comparisons", COUNT, "answers about pairs with this item"),
    "prior_sd": VariableDescription(
        "prior standard deviation", COUNT, "of centred quality, where α is 1"
    ),
    "skips": VariableDescription("skipped pairs", COUNT, "pairs that judges left unanswered"),
    "judges": VariableDescription("judges", COUNT, "number of judges; -1 where it is not known"),
    "covariate_sd": VariableDescription(
        "standard deviation of a covariate", "units of the covariate", "over all items"
    ),
    "covariate_value": VariableDescription(
        "standardised value of a covariate", COUNT, "of an item; mean 0, standard deviation 1"
    ),
    "stratum_name": VariableDescription("name of a stratum", "", "for most models a judge"),
    "group_of_stratum": VariableDescription("group of a stratum", COUNT, "index of a group"),
    "advantage_of_stratum": VariableDescription(
        "advantage values of a stratum", COUNT, "factors of `order` for answers of this stratum"
    ),
    "facts": VariableDescription(
        "facts of comparisons", "units of the fact", "what favours the first of a pair, if above 0"
    ),
    "fact_sd": VariableDescription(
        "standard deviation of a fact", "units of the fact", "over all comparisons"
    ),
    "standard_error": VariableDescription(
        "standard error of quality", LOGITS, "of a point estimate"
    ),
    "tie_standard_error": VariableDescription(
        "standard error of the tie threshold", LOGITS, "of a point estimate"
    ),
    "cut_standard_error": VariableDescription(
        "standard error of each cut", LOGITS, "of a point estimate"
    ),
    "scales": VariableDescription(
        "log prior density", "nats", "of the scale hyperparameters alone, total of a draw"
    ),
    "answer": VariableDescription(
        "log likelihood of an answer", "nats", "log probability of the answer that was given"
    ),
    "judgements": VariableDescription(
        "log likelihood", "nats", "of all answers, total of a draw"
    ),
    "unevenness": VariableDescription(
        "unevenness of the map t", COUNT,
        "variance of differences under the map's correlation, that of independent qualities is 1",
    ),
    "edges": VariableDescription("neighbours", COUNT, "pairs of indices of items, from 0"),
    "factor": VariableDescription(
        "factor of the prior covariance", COUNT, "qualities are α · factor · N(0, I)"
    ),
    "value": VariableDescription("value of a covariate", "", "as it was read, as text"),
    "group": VariableDescription("group of a judge", "", "its name"),
    "judge": VariableDescription("judge", COUNT, "index of a judge, from 0"),
    "left": VariableDescription("item on the left", COUNT, "index of an item; -1 where unknown"),
    "right": VariableDescription("item on the right", COUNT, "index of an item; -1 where unknown"),
    "outcome": VariableDescription(
        "answer", COUNT, "0 left, 1 about equal, 2 right; others are no comparison"
    ),
    "repeat": VariableDescription("repeat", COUNT, "1 where a pair was shown again on purpose"),
    "seconds": VariableDescription("time to answer", "s", "as recorded; NaN where it is not known"),
}  # fmt: skip
"""By the name of the variable, in whichever group of the tree it stands."""


def describe_variables(tree: DataTree) -> None:
    """Write what is known about every variable of a fit into its attributes."""
    for node in tree.subtree:
        for name, variable in node.data_vars.items():
            if (about := VARIABLES.get(str(name))) is not None:
                variable.attrs.update(about._asdict())
