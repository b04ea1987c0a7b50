"""StudyDesign: a planned study, and what is assumed of its items and judges."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.data.answers import MOST_LEVELS
from tiewise.data.counts import Counts
from tiewise.designs.pair_lists import PairLists
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.map_priors import Network
from tiewise.model.prior_sets import prior_set
from tiewise.model.quality_priors import Independent, QualityPrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth
from tiewise.pairing import POLICIES
from tiewise.pairing.candidates import ANCHOR_LIMIT
from tiewise.planning.crowd import MAX_CONCURRENT, Crowd
from tiewise.planning.known_anchors import quality_with_anchors, refuse_anchors
from tiewise.text import some_names

Floats = NDArray[np.float64]

SPREAD, TIE, TOP = 1.5, 0.5, 5
STEP = 1.25
"""From one cut of graded answers to the next, in units of quality."""
MIN_ITEMS = 3
"""Items: of two there is one pair, and no ranking to plan for."""
MAX_TIE_SHARE = 0.9
NODES, SPREADS = 61, 200
SHARES = 8
"""Shares of the map that stand for all of them in an average over a mixture."""


class AnswerProbabilities(NamedTuple):
    """Probabilities of the answers to a pair drawn at random."""

    better: float
    tied: float
    worse: float


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyDesign:
    """What is to be compared, by whom, and what is assumed of them.

    Give `judges`, `per_judge` or both: with `per_judge` a judge leaves after so many comparisons
    and another comes, without it `judges` share whatever number there is. `graph` says who borders
    whom, `groups` the group of each item, of which a judge knows `knows`. `spread` is the variance
    α² of qualities, `tie` the threshold δ (0: judges cannot call a tie). With several `levels` an
    item is chosen more or less strongly, at cuts that lie `step` apart beyond δ. `before` are the
    judgements of a study that runs; the truth is then drawn from what they leave open.
    `prior_set` names the priors of the fits, as `tiewise fit --priors` does. `anchors` are items
    whose quality is known from elsewhere: the truth agrees with them, the fits know them, and the
    policy "reference" shows each at most `anchor_limit` times. With `lists`, made by `design_study`
    or read from `design.csv`, each judge answers the pairs of one list, and nobody others.
    """

    items: tuple[str, ...]
    graph: Graph | None = None
    groups: tuple[str, ...] | None = None
    judges: int | None = None
    per_judge: int | None = None
    knows: int | None = None
    spread: float = SPREAD
    tie: float = TIE
    levels: int = 1
    step: float = STEP
    policy: str = "uniform"
    skip: float = 0.0
    top: int | None = None
    prior_set: str = "default"
    before: Counts | None = field(default=None, repr=False)
    anchors: Anchors | None = field(default=None, repr=False)
    anchor_limit: int = ANCHOR_LIMIT
    lists: PairLists | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.lists is not None and self.judges is None:
            object.__setattr__(self, "judges", len(self.lists))
        _refuse_items(self)
        _refuse_judges(self)
        _refuse_lists(self)
        _refuse_groups(self)
        _refuse_numbers(self)
        _refuse_levels(self)
        refuse_anchors(self.anchors, self.items, self.policy, self.anchor_limit)
        prior_set(self.prior_set)

    # Derived values.

    @cached_property
    def priors(self) -> dict[str, QualityPrior]:
        """The priors that are fitted, by name; that of the truth is the last."""
        out: dict[str, QualityPrior] = {"independent": Independent(self.items)}
        if self.graph is None:
            return out
        share = prior_set(self.prior_set).get("share")
        network = Network(self.graph) if share is None else Network(self.graph, share=share)
        return out | {"network": network}

    @property
    def prior(self) -> QualityPrior:
        """The prior of the truth, which `tiewise fit` would take by itself."""
        return list(self.priors.values())[-1]

    @property
    def top_count(self) -> int:
        """k of 'top k'."""
        return min(TOP, len(self.items) - 1) if self.top is None else self.top

    @cached_property
    def crowd(self) -> Crowd:
        """The judges."""
        members: dict[str, list[str]] = {}
        for item, group in zip(self.items, self.groups or self.items, strict=True):
            members.setdefault(group if self.knows is not None else "all", []).append(item)
        groups = tuple(tuple(items) for items in members.values())
        return Crowd(
            groups, self.knows or len(groups), self.judges or MAX_CONCURRENT, self.per_judge,
            self.policy, self.skip, anchors=self.anchors, anchor_limit=self.anchor_limit,
            lists=self.lists,
        )  # fmt: skip

    @property
    def comparisons_so_far(self) -> int:
        """Comparisons that are there already."""
        return 0 if self.before is None else self.before.comparisons

    @property
    def answers(self) -> int:
        """How many answers judges choose from."""
        return 2 * self.levels + (self.tie > 0)

    @property
    def cuts(self) -> Floats:
        """The cuts between answers on one side, δ first."""
        return np.asarray(self.tie + self.step * np.arange(self.levels), np.float64)

    def truth(self, rng: Generator) -> Truth:
        """A truth as it is assumed to be, given the values of anchors, centred."""
        tie = Fixed(self.tie) if self.tie else None
        truth = Truth.from_priors(self.prior, Fixed(self.spread), tie, rng)
        quality = truth.quality
        if self.anchors is not None:
            covariance = self._covariance(truth)
            quality = quality_with_anchors(quality, covariance, self.anchors, self.items, rng)
        quality = quality - quality.mean()
        terms = {"cut": self.cuts} if self.levels > 1 else {}
        return Truth(truth.items, quality, truth.tie, truth.variance, terms)

    def _covariance(self, truth: Truth) -> Floats:
        """The covariance that a truth was drawn with: that of its share, where there is one."""
        size, prior = len(self.items), self.prior
        mixture = prior.mixture if isinstance(prior, Network) else None
        if mixture is None:
            factor = prior.factor(size)
        else:
            factor = mixture.vectors * np.sqrt(mixture.variances(truth.terms["share"]))
        square = np.eye(size) if factor is None else factor @ factor.T
        return np.asarray(self.spread * square, np.float64)

    def model(self, counts: Counts, prior: str) -> BradleyTerry:
        """The model that `tiewise fit` would take, with one of the priors."""
        scalars = prior_set(self.prior_set)
        tie = scalars["tie"] if self.tie else None
        return BradleyTerry(
            counts, self.priors[prior], variance=scalars["variance"], tie=tie, anchors=self.anchors
        )

    def settings(self) -> dict[str, Any]:
        """All of it in plain values, for files; map and judgements by their digests."""
        options = {
            name: getattr(self, name)
            for name in ("judges", "per_judge", "knows", "spread", "tie", "policy", "skip")
        }
        edges = None if self.graph is None else self.graph.edges.tolist()
        known: tuple[Any, ...] = (self.items, edges, self.groups)
        if self.anchors is not None:
            known = (*known, self.anchors.to_dict())
            options |= {"anchors": len(self.anchors.items), "anchor_limit": self.anchor_limit}
        if self.lists is not None:
            options |= {"design": self.lists.digest}
        digest = hashlib.sha256(repr(known).encode()).hexdigest()[:16]
        before = None if self.before is None else self.before.digest()[:16]
        if self.levels > 1:
            options |= {"answers": self.answers, "step": self.step}
        return {
            "items": len(self.items), "borders": None if edges is None else len(edges),
            "top": self.top_count, **options, "fingerprint": digest, "before": before,
            "priors": self.prior_set,
        }  # fmt: skip


def random_pair(prior: QualityPrior, size: int, spread: float, tie: float) -> AnswerProbabilities:
    """Probabilities of the answers to a random pair, before anything is known of the items."""
    return _averaged(prior_gaps(prior, size, spread), tie)


def tie_for_share(share: float, prior: QualityPrior, size: int, spread: float) -> float:
    """δ with which this share of random pairs is tied, before anything is known of the items."""
    from scipy.optimize import brentq

    if not 0 <= share <= MAX_TIE_SHARE:
        raise InputError(
            f"a share of ties between 0 and {MAX_TIE_SHARE} can be planned for, not {share:g}; "
            "beyond, a comparison tells next to nothing"
        )
    if share == 0:
        return 0.0
    gaps = prior_gaps(prior, size, spread)
    return float(brentq(lambda tie: _averaged(gaps, tie).tied - share, 0.0, 100.0, xtol=1e-6))


def prior_gaps(prior: QualityPrior, size: int, spread: float) -> Floats:
    """Differences in quality: standard deviations of pairs (rows) times nodes (columns)."""
    squared = _squared_gaps(prior, size)
    # Quantiles stand for the many pairs, which are much alike.
    sd = np.sqrt(np.quantile(spread * squared.clip(0), (np.arange(SPREADS) + 0.5) / SPREADS))
    return np.asarray(sd[:, None] * np.polynomial.hermite_e.hermegauss(NODES)[0])


def _squared_gaps(prior: QualityPrior, size: int) -> Floats:
    """Prior variances of the differences of pairs where α² is 1, over all shares of a mixture."""
    mixture = prior.mixture if isinstance(prior, Network) else None
    factor = prior.factor(size) if mixture is None else mixture.vectors * np.sqrt(mixture.values)
    square = np.eye(size) if factor is None else factor @ factor.T
    own = np.diag(square)
    squared = (own[:, None] + own - 2 * square)[np.triu_indices(size, 1)]
    if mixture is None:
        return np.asarray(squared, np.float64)
    share = (np.arange(SHARES) + 0.5)[:, None] / SHARES
    return np.asarray(share * squared + (1 - share) * 2, np.float64).ravel()


def _averaged(gaps: Floats, tie: float) -> AnswerProbabilities:
    weight = np.polynomial.hermite_e.hermegauss(NODES)[1]
    probabilities = answer_probabilities(np.abs(gaps), np.asarray(float(tie)))
    better, tied, worse = (float((part @ (weight / weight.sum())).mean()) for part in probabilities)
    return AnswerProbabilities(better, tied, worse)


# Refusals.


def _refuse_items(design: StudyDesign) -> None:
    items = design.items
    if len(items) < MIN_ITEMS:
        raise InputError(f"a study to plan has {MIN_ITEMS} items or more, not {len(items)}")
    if len(set(items)) < len(items):
        raise InputError("item ids must be distinct; give each item one of its own")
    if design.graph is not None and design.graph.items != items:
        raise InputError("the map or edges speak of other items than the study; use the same ids")
    if design.before is not None and not set(design.before.items) <= set(items):
        strange = next(item for item in design.before.items if item not in set(items))
        raise InputError(
            f"{strange!r} was compared and is not among the {len(items)} items; use the same ids"
        )
    if design.before is not None and not design.before.comparisons:
        raise InputError("nothing has been compared yet; plan it as a new study, without before=")


def _refuse_judges(design: StudyDesign) -> None:
    if design.judges is None and design.per_judge is None:
        raise InputError(
            "say how many judges there are (judges=), how many comparisons each makes "
            "(per_judge=), or both"
        )
    for name, number in {"judges": design.judges, "per_judge": design.per_judge}.items():
        if number is not None and number < 1:
            raise InputError(f"{name}= must be 1 or more, not {number}")


def _refuse_lists(design: StudyDesign) -> None:
    lists = design.lists
    if lists is None:
        return
    if design.per_judge is not None or design.knows is not None:
        raise InputError("a design says what each judge compares; leave per_judge= and knows= out")
    if design.judges != len(lists):
        raise InputError(
            f"the design has lists for {len(lists)} judges, not {design.judges}; leave judges= out"
        )
    strange = [item for item in lists.items if item not in set(design.items)]
    if strange:
        raise InputError(
            f"the design compares {some_names(strange)}, not among the {len(design.items)} items; "
            "use the same ids"
        )


def _refuse_groups(design: StudyDesign) -> None:
    if design.knows is None:
        return
    groups = set(design.groups or ())
    if len(groups) < 2:
        raise InputError(
            "knows= speaks of groups, and none are known here; name their column of the map with "
            "group=, or leave knows= out"
        )
    if "" in groups:
        without = sum(group == "" for group in design.groups or ())
        raise InputError(
            f"{without} of {len(design.items)} items are in no group, so nobody would know them; "
            "fill in the column of groups, or leave knows= out"
        )
    if not 1 <= design.knows <= len(groups):
        raise InputError(f"a judge can know 1 to {len(groups)} of the groups, not {design.knows}")
    if design.knows == 1 and len(groups) == len(design.items):
        raise InputError(
            "every group has one item, so a judge who knows one group has nothing to compare; "
            "let them know 2 or more (knows=)"
        )


def _refuse_numbers(design: StudyDesign) -> None:
    if not (np.isfinite(design.spread) and design.spread > 0):
        raise InputError(f"the spread must be a positive number, not {design.spread:g}")
    if not (np.isfinite(design.tie) and 0 <= design.tie <= 20):
        raise InputError(f"the tie tendency must be between 0 and 20, not {design.tie:g}")
    if not 0 <= design.skip <= MAX_TIE_SHARE:
        raise InputError(
            f"judges may skip a share between 0 and {MAX_TIE_SHARE}, not {design.skip:g}"
        )
    if design.policy not in POLICIES:
        raise InputError(f"no pairing policy {design.policy!r}; there are {', '.join(POLICIES)}")
    if not 1 <= design.top_count < len(design.items):
        raise InputError(
            f"the top must be 1 to {len(design.items) - 1} of {len(design.items)} items, "
            f"not {design.top_count}"
        )


def _refuse_levels(design: StudyDesign) -> None:
    if not 1 <= design.levels <= MOST_LEVELS:
        raise InputError(
            f"an item is chosen on 1 to {MOST_LEVELS} levels (2 to {2 * MOST_LEVELS + 1} answers), "
            f"not on {design.levels}"
        )
    if not (np.isfinite(design.step) and 0 < design.step <= 20):
        raise InputError(f"the step between cuts must be between 0 and 20, not {design.step:g}")
    if design.before is not None and design.before.levels != design.levels:
        raise InputError(
            f"the judgements so far have {design.before.levels} strengths of choice, and the "
            f"design {design.levels}; say levels={design.before.levels}, or leave the grades out "
            "(ungraded())"
        )


def crowd_limit(crowd: Crowd, rng: Generator) -> Mapping[str, float]:
    """Comparisons that the known pairs allow: of one judge, and of all in most studies."""
    if crowd.lists is not None:
        total = float(crowd.lists.comparisons * (1 - crowd.skip))
        return {"each": total / len(crowd.lists), "all": total}
    pairs = crowd.pairs_known(rng) * (1 - crowd.skip)
    if crowd.per_judge is not None:
        return {"each": float(np.minimum(pairs, crowd.per_judge).mean()), "all": np.inf}
    each, sd = float(pairs.mean()), float(pairs.std())
    # Nearly all studies get as far as this, whoever happens to come.
    return {"each": each, "all": crowd.judges * each - 2 * sd * float(np.sqrt(crowd.judges))}
