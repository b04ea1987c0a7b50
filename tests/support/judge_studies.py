"""Made-up judgements by three judges of four items, and models of them with every term."""

from __future__ import annotations

import numpy as np

from support.reference_formulas import rao_kupper_probabilities
from tiewise.data.counts import Counts
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds

JudgeAnswer = tuple[int, int, int, str]
"""First item, second item, judge, and `first`, `tie` or `second`."""

ITEMS, JUDGES = ("a", "b", "c", "d"), ("p", "q", "r")
GROUP = {"p": "old", "q": "young", "r": "old"}


def random_answers(number: int, seed: int = 2) -> list[JudgeAnswer]:
    """Answers at random, some of them repeated."""
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=number)
    second = (first + rng.integers(1, 4, size=number)) % 4
    answers = np.array(["first", "tie", "second"])[rng.integers(3, size=number)]
    return list(zip(first, second, rng.integers(3, size=number), answers, strict=True))


def count_answers(answers: list[JudgeAnswer], *, ordered: bool = True, **facts) -> Counts:
    """Counts with a stratum for each judge, and perhaps with facts."""
    first, second, judge, answer = (np.array(column) for column in zip(*answers, strict=True))
    return Counts.of(
        ITEMS, first, second, answer == "first", answer == "second", answer == "tie",
        stratum=judge, strata=JUDGES, ordered=ordered, **facts,
    )  # fmt: skip


def term_log_likelihood(answers: list[JudgeAnswer], at: dict[str, np.ndarray]) -> float:
    """One answer after the other, each with its judge's own quality, sharpness and threshold."""
    total = 0.0
    for one, two, judge, answer in answers:
        group = 1 if GROUP[JUDGES[judge]] == "young" else 0
        quality = at["quality"] + at["contrast"][group]
        sharp = at["sharpness"][judge]
        ahead, behind = sharp * (quality[one] + at["order"][0]), sharp * quality[two]
        total += np.log(rao_kupper_probabilities(ahead, behind, at["threshold"][judge])[answer])
    return total


ANSWERS = random_answers(60)
PATH = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]), share=1)
TABLE = {"item": list(ITEMS), "x": [0.3, 1.0, 2.5, 2.0], "kind": ["u", "v", "u", "v"]}
TERMS = {
    "none": (),
    "covariates": (Covariates(TABLE, "x + kind"),),
    "shrunk covariates": (Covariates(TABLE, "x + kind", variance=HalfNormalSpread(1.0)),),
    "order": (Order(),),
    "order by judge": (
        Order(by={"one": dict.fromkeys(JUDGES, 1), "two": {"p": 0, "q": 1, "r": 3}}),
    ),
    "groups": (Groups(GROUP),),
    "three groups": (Groups(variance=InverseGamma(3, 2)),),
    "groups with a prior": (Groups(GROUP, prior=Independent(ITEMS)),),
    "sharpness": (Sharpness(),),
    "thresholds": (Thresholds(),),
    "fixed sharpness and thresholds": (
        Sharpness(variance=Fixed(0.2)), Thresholds(variance=Fixed(0.3)),
    ),
    "all": (Covariates(TABLE, "x"), Order(), Groups(GROUP), Sharpness(), Thresholds()),
    "facts": (Order(facts=("first", "words", "bold")),),
    "facts and judges": (
        Order(facts=("words", "bold")), Groups(GROUP), Sharpness(), Thresholds(),
    ),
}  # fmt: skip
FACTS = np.random.default_rng(5).normal(size=(60, 2)) * [1.0, 20.0]
"""How much wordier, and bolder, the first of each of `ANSWERS` is."""


def model_with_terms(name: str, **priors) -> BradleyTerry:
    """The model of `ANSWERS` with the terms of this name, and these priors."""
    options = {"variance": InverseGamma(3, 2), "tie": Exponential(2.0)} | priors
    prior = options.pop("prior", PATH)
    facts = {"facts": FACTS, "fact_names": ("words", "bold")} if "facts" in name else {}
    return BradleyTerry(count_answers(ANSWERS, **facts), prior, terms=TERMS[name], **options)
