"""Terms, sampled: calibration, regressions by other libraries, a published analysis, results."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence
from scipy import special

from support.calibration import assert_uniform_ranks, transport_ranks
from support.everyday import everyday
from support.judge_studies import TERMS as EVERY_TERM
from support.judge_studies import model_with_terms
from support.quadrature_cases import IG
from support.reference_formulas import LEVEL, assert_normal_scores, monte_carlo_error
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.engines import transport
from tiewise.engines.base import Draws
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.preconditioners.hierarchical import HierarchicalPosterior
from tiewise.engines.preconditioners.hierarchical_marginal import ModeFinder
from tiewise.engines.transport import PatientTransport, Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.simulate import Truth, random_pairs, replicate_counts
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds
from tiewise.posterior.fit import fit
from tiewise.progress import no_progress

# Simulation-based calibration: the truth is one more draw.

MAP = Graph.grid(3, 4)
TABLE = {"item": list(MAP.items), "x": np.linspace(-1, 1, 12) ** 3, "kind": list("aabbbccccaab")}
JUDGES = {"p": "old", "q": "old", "r": "young", "s": "young"}
CALIBRATED = {
    "covariates": (Covariates(TABLE, "x + kind"),),
    "shrunk covariates": (Covariates(TABLE, "x + kind", variance=HalfNormalSpread(1.0)),),
    "order": (Order(),),
    "groups": (Groups(JUDGES),),
    "three groups": (Groups(JUDGES | {"s": "ancient"}),),
    "sharpness": (Sharpness(),),
    "thresholds": (Thresholds(),),
    "all": (Covariates(TABLE, "x"), Order(), Groups(JUDGES), Sharpness(), Thresholds()),
}


RARE = {"shrunk covariates", "three groups", "all"}  # calibrated over a hundred studies alone


def one_study(name: str, rng: Generator) -> tuple[BradleyTerry, Truth]:
    """Eighty judgements by four judges of twelve areas, by a truth drawn from the prior."""
    first, second = random_pairs(12, 80, rng)
    counts = Counts.of(
        MAP.items, first, second, np.ones(80), np.zeros(80),
        stratum=rng.integers(4, size=80), strata=tuple(JUDGES), ordered=True,
    )  # fmt: skip
    model = BradleyTerry(
        counts, Network(MAP, share=1), variance=IG, tie=Exponential(2.0), terms=CALIBRATED[name]
    )
    truth = Truth.from_model(model, rng)
    return replace(model, counts=replicate_counts(model, truth, rng)), truth


def quantities(model: BradleyTerry, quality, tie, variance, terms) -> np.ndarray:
    """A few qualities and a gap, δ, α², the likelihood, and a few of everything that terms have."""
    likelihood = model.design.likelihood.log_likelihood(model.design.arguments(quality, tie, terms))
    rest = [value.reshape(-1, len(tie))[:4] for value in terms.values()]
    rows = [quality[:3], quality[:1] - quality[1:2], tie[None], variance[None], likelihood[None]]
    return np.concatenate([*rows, *rest])


def ranks_of_truth(name: str, rng: Generator) -> np.ndarray:
    """Where the truth ranks among the last draws of as many chains."""
    model, truth = one_study(name, rng)
    return transport_ranks(model, truth, quantities, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CALIBRATED if name not in RARE])
def test_truth_is_one_more_draw(name):
    generators = np.random.default_rng(2).spawn(30)
    assert_uniform_ranks(np.array([ranks_of_truth(name, rng) for rng in generators]))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", CALIBRATED)
def test_truth_is_one_more_draw_over_a_hundred_studies(name):
    generators = np.random.default_rng(3).spawn(100)
    assert_uniform_ranks(np.array([ranks_of_truth(name, rng) for rng in generators]))


# Regressions by another library.


def logistic_regression(rows: np.ndarray) -> Any:
    """The estimate of statsmodels, which is imported here so that not every process does."""
    import statsmodels.api as sm

    return sm.Logit(rows[:, 2], rows[:, :2]).fit(disp=False)


def answers_by_columns() -> tuple[Counts, np.ndarray, np.ndarray]:
    """Judgements that two columns explain, and the differences and answers of each."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(12, 2)) * [1.0, 30.0]
    first, second = random_pairs(12, 400, rng)
    apart = values[first] - values[second]
    won = rng.uniform(size=400) < special.expit(apart @ [0.8, -0.02])
    counts = Counts.of(MAP.items, first, second, won, ~won)
    return counts, np.column_stack([apart, won]), values


def test_covariates_alone_are_logistic_regression():
    """No ties, next to no random part, flat priors: the mode is statsmodels' estimate."""
    counts, rows, values = answers_by_columns()
    witness = logistic_regression(rows)
    table = {"item": list(MAP.items), "one": values[:, 0], "two": values[:, 1]}
    term = Covariates(table, "one + two", variance=Fixed(1e8))
    model = BradleyTerry(counts, variance=Fixed(1e-10), tie=None, terms=(term,))
    posterior = HierarchicalPosterior(model)
    mode = ModeFinder(posterior).mode(np.empty(0), tolerance=1e-12)
    ours = mode.point[posterior.layer_slices[1]] / model.design.columns.sd
    assert np.allclose(ours, witness.params, rtol=1e-4)


@pytest.mark.slow
def test_coefficients_are_those_of_the_integral():
    """Means and variances on a grid of the logistic likelihood, written out."""
    counts, rows, values = answers_by_columns()
    table = {"item": list(MAP.items), "one": values[:, 0], "two": values[:, 1]}
    term = Covariates(table, "one + two", variance=Fixed(1e8))
    model = BradleyTerry(counts, variance=Fixed(1e-10), tie=None, terms=(term,))
    draws = Transport(draws=16_000, chains=8).run(model, SeedSequence(2), no_progress)
    witness = logistic_regression(rows)
    ends = zip(witness.params - 6 * witness.bse, witness.params + 6 * witness.bse, strict=True)
    sides = [np.linspace(*both, 61) for both in ends]
    grid = np.stack(np.meshgrid(*sides, indexing="ij")).reshape(2, -1)
    odds = np.where(rows[:, 2:] == 1, 1, -1) * (rows[:, :2] @ grid)
    log = special.log_expit(odds).sum(axis=0)
    weight = special.softmax(log)
    ours = np.concatenate([draws.terms["coefficient"], draws.terms["coefficient"] ** 2], axis=-1)
    known = np.concatenate([grid @ weight, grid**2 @ weight])
    assert_normal_scores((ours.mean(axis=(0, 1)) - known) / monte_carlo_error(ours))


# Seven teams of the American League, Eastern Division, 1987: wins and losses of the home team (row)
# against each visitor (Agresti, Categorical Data Analysis, 2nd edition, 2002, table 10.10). The
# estimates are those of its table 10.11 and the text beside it.

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
AT_HOME = """
    -    4-3  4-2  4-3  6-1  4-2  6-0
    3-3  -    4-2  4-3  6-0  6-1  4-3
    2-5  4-3  -    2-4  4-3  4-2  6-0
    3-3  5-1  2-5  -    4-3  4-2  6-1
    5-1  2-5  3-3  4-2  -    5-2  6-0
    2-5  3-3  3-4  4-3  4-2  -    2-4
    2-5  1-5  1-6  2-4  1-6  3-4  -
"""
PUBLISHED_SHARES = {
    "Milwaukee": 0.220, "Detroit": 0.190, "Toronto": 0.164, "New York": 0.157, "Boston": 0.137,
    "Cleveland": 0.088, "Baltimore": 0.044,
}  # fmt: skip
PUBLISHED_ADVANTAGE = 0.302


def season() -> Counts:
    rows = []
    for home, line in enumerate(AT_HOME.split("\n")[1:-1]):
        for away, games in enumerate(line.split()):
            if games != "-":
                rows.append((home, away, *(int(n) for n in games.split("-"))))
    return Counts.of(TEAMS, *zip(*rows, strict=True), ordered=True)


def test_home_advantage_is_the_published_one():
    """Under flat priors the mode is the maximum-likelihood estimate in print."""
    model = BradleyTerry(
        season(), variance=Fixed(1e6), tie=None, terms=(Order(variance=Fixed(1e6)),)
    )
    posterior = HierarchicalPosterior(model)
    mode = ModeFinder(posterior).mode(np.empty(0), tolerance=1e-12)
    quality, advantage = mode.point[:7], mode.point[7]
    assert round(float(advantage), 3) == PUBLISHED_ADVANTAGE
    shares = special.softmax(quality)
    assert dict(zip(TEAMS, np.round(shares, 3), strict=True)) == PUBLISHED_SHARES


def test_the_home_advantage_has_its_published_precision():
    """A sensible prior hardly moves it: printed standard error 0.13."""
    tree = fit(BradleyTerry(season(), tie=None, terms=(Order(),)), rng=2)
    advantage = tree["posterior/order"].sel(advantage="first")
    assert float(advantage.mean()) == pytest.approx(PUBLISHED_ADVANTAGE, abs=0.13 / 4)
    assert float(advantage.std()) == pytest.approx(0.13, abs=0.13 / 5)


# Results.


def test_the_tree_has_what_terms_add():
    tree = fit(model_with_terms("all"), Transport(draws=400), rng=2)
    posterior = tree["posterior"].dataset
    assert posterior["coefficient"].dims == ("chain", "draw", "covariate")
    assert posterior["order"].dims == ("chain", "draw", "advantage")
    assert posterior["contrast"].dims == ("chain", "draw", "group", "item")
    assert posterior["sharpness"].dims == posterior["threshold"].dims == ("chain", "draw", "judge")
    assert list(posterior["judge"].to_numpy()) == ["p", "q", "r"]
    assert list(posterior["group"].to_numpy()) == ["old", "young"]
    assert np.allclose(posterior["contrast"].sum("group"), 0, atol=1e-12)
    for name in ("contrast_variance", "sharpness_sd", "threshold_sd", "explained"):
        assert posterior[name].dims == ("chain", "draw")
        assert (posterior[name] > 0).all()
    assert (posterior["explained"] < 1).all()
    terms = json.loads(tree.attrs["model"])["terms"]
    kinds = ["covariates", "order", "groups", "sharpness", "thresholds"]
    assert [term["kind"] for term in terms] == kinds
    assert terms[0]["formula"] == "x"


def test_diagnostics_look_at_what_terms_add():
    """Sharpnesses that never agree spoil the worst figures of a fit."""
    from tiewise.posterior.diagnostics import worst

    tree = fit(model_with_terms("sharpness"), Transport(draws=400), rng=2)
    before = worst(tree)
    stuck = tree["posterior/sharpness"]
    stuck.values[: len(stuck) // 4] += 5
    after = worst(tree)
    assert after[0] < before[0]
    assert after[1] > 1.5 > before[1]


@pytest.mark.slow
def test_same_seed_same_draws_whatever_the_threads():
    runs = [
        Transport(draws=400, threads=n).run(model_with_terms("all"), SeedSequence(2), no_progress)
        for n in (1, 2)
    ]
    assert np.array_equal(runs[0].quality, runs[1].quality)
    for name, values in runs[0].terms.items():
        assert np.array_equal(values, runs[1].terms[name])


@pytest.mark.parametrize("name", everyday(EVERY_TERM, "sharpness", "facts"))
def test_a_draw_costs_few_gradients(name):
    """Counted, not timed: no more steps than eight, and most trajectories accepted."""
    model = replace(model_with_terms(name), terms=EVERY_TERM[name] or (Order(),))
    facts = Transport().run(model, SeedSequence(2), no_progress).facts
    assert facts["steps"] <= 8
    assert facts["acceptance"] > 0.6


@pytest.mark.parametrize(
    "engine", [Gibbs(), Metropolis(), CaronDoucet(), Laplace(), MaximumLikelihood()]
)
def test_engines_that_know_no_terms_say_so(engine):
    with pytest.raises(InputError, match=f"{engine.name} cannot.*Order.*transport") as refusal:
        engine.run(model_with_terms("order"), SeedSequence(2), no_progress)
    assert "\n" not in str(refusal.value)


# Where large steps are rejected.


def means(draws: Draws) -> np.ndarray:
    parts = [draws.quality, draws.tie[..., None], *draws.terms.values()]
    flat = [part.reshape(*part.shape[:2], -1) for part in parts]
    every = np.concatenate(flat, axis=-1)
    every[..., : draws.quality.shape[-1]] -= draws.quality.mean(axis=-1, keepdims=True)
    return every


@pytest.mark.slow
def test_small_steps_have_the_same_posterior():
    """Many small steps and few large ones, within Monte Carlo error."""
    model = model_with_terms("thresholds")
    one, two = (
        means(engine(draws=3000, chains=8).run(model, SeedSequence(2), no_progress))
        for engine in (Transport, PatientTransport)
    )
    error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
    assert_normal_scores((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error, LEVEL)


def test_fit_falls_back_on_small_steps_and_says_so(monkeypatch):
    monkeypatch.setattr(Transport, "steps", (1,))
    monkeypatch.setattr(transport, "ANGLE", 3.0)
    monkeypatch.setattr(transport, "MIN_ACCEPTANCE", 0.9)
    tree = fit(model_with_terms("sharpness"), Transport(draws=400), rng=2)
    assert tree.attrs["engine"] == "patient-transport"
    assert any("unsuited" in warning for warning in json.loads(tree.attrs["warnings"]))


def test_what_cannot_be_explored_is_refused(monkeypatch):
    monkeypatch.setattr(transport, "MIN_ACCEPTANCE", 1.1)
    with pytest.raises(InputError, match="cannot be explored well") as refusal:
        fit(model_with_terms("sharpness"), Transport(draws=400), rng=2)
    assert "\n" not in str(refusal.value)


# Real studies.


@pytest.mark.slow
def test_women_and_men_of_dar_es_salaam_see_much_the_same(real):
    """Contrasts are there, and small beside the qualities that both see."""
    counts = read_comparisons(real("data/dar-es-salaam-comparisons.csv")).counts(by="judge_sex")
    prior = Network(Graph.from_edges(real("data/dar-es-salaam-edges.csv")), share=1)
    tree = fit(BradleyTerry(counts, prior, terms=(Groups(),)), rng=2)
    assert tree.attrs["engine"] == "transport"
    assert tree.attrs["rhat_max"] < 1.02
    apart, whole = tree["posterior/contrast_variance"], tree["posterior/variance"]
    assert 0 < float(apart.mean()) < float(whole.mean()) / 20


@pytest.mark.slow
def test_judges_of_south_yorkshire_tie_very_differently(real):
    """Eight never tied and one tied 58 % of the time: thresholds are in that order."""
    counts = read_comparisons(real("data/south-yorkshire-comparisons.csv")).counts(by="judge")
    tree = fit(BradleyTerry(counts, Independent(), terms=(Sharpness(), Thresholds())), rng=2)
    assert tree.attrs["rhat_max"] < 1.02
    ties = np.bincount(counts.stratum, counts.ties, len(counts.strata))
    answers = np.bincount(counts.stratum, counts.ties + counts.wins_first + counts.wins_second)
    middle = tree["posterior/threshold"].mean(("chain", "draw")).to_numpy()
    assert middle[(ties == 0) & (answers > 20)].max() < middle[np.argmax(ties / answers)] / 3
