"""Made-up judgements: they follow the model, and are read back as what they are."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare, kstest, norm

from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import (
    Truth,
    random_pairs,
    simulate_answers,
    simulate_comparisons,
    simulate_counts,
)
from tiewise.workflows.simulate import write_simulated_study

# A right program fails a test of chance once in a thousand seeds; seeds are not searched for.
RARE = 1e-3
TRUTH = Truth(("a", "b", "c", "d"), np.array([1.0, 0.2, -0.3, -0.9]), tie=0.6, variance=1.0)


def probabilities(gap: float, tie: float) -> list[float]:
    """Rao and Kupper's formula, written out: first, about equal, second."""
    first = 1 / (1 + np.exp(-(gap - tie)))
    second = 1 / (1 + np.exp(-(-gap - tie)))
    return [first, (np.exp(2 * tie) - 1) * first * second, second]


@pytest.mark.parametrize("tie", [0.0, 0.05, 0.6, 3.0])
def test_answers_follow_the_model(tie):
    """For each ordered pair, as many of each answer as the formula says."""
    truth = Truth(TRUTH.items, TRUTH.quality, tie=tie, variance=1.0)
    rng, times = np.random.default_rng(11), 4000
    counts, expected = [], []
    for i, j in permutations(range(4), 2):
        answers = simulate_answers(truth, np.full(times, i), np.full(times, j), rng)
        counts += list(np.bincount(answers, minlength=3))
        expected += [times * p for p in probabilities(truth.quality[i] - truth.quality[j], tie)]
    possible = np.array(expected) > 0
    assert not np.array(counts)[~possible].any()
    # Twelve pairs: each total is given, so each costs a degree of freedom.
    fit = chisquare(np.array(counts)[possible], np.array(expected)[possible], ddof=11)
    assert fit.pvalue > RARE


def test_without_a_threshold_nobody_ties():
    truth = Truth(TRUTH.items, np.zeros(4), tie=0.0, variance=1.0)
    assert simulate_counts(truth, 5000, np.random.default_rng(1)).total_ties == 0


@pytest.mark.parametrize("size", [2, 3, 7])
def test_pairs_are_uniform_over_pairs_and_sides(size):
    first, second = random_pairs(size, 20_000, np.random.default_rng(size))
    assert (first != second).all()
    counts = Counter(zip(first.tolist(), second.tolist(), strict=True))
    ordered = list(permutations(range(size), 2))
    assert set(counts) <= set(ordered)
    assert chisquare([counts[pair] for pair in ordered]).pvalue > RARE


def test_given_pairs_are_the_pairs_that_are_judged():
    first, second = np.array([0, 0, 1, 3]), np.array([1, 1, 2, 0])
    counts = simulate_counts(TRUTH, 4, np.random.default_rng(1), pairs=(first, second))
    assert counts.comparisons == 4
    assert list(zip(counts.first, counts.second, strict=True)) == [(0, 1), (0, 3), (1, 2)]


def test_judges_take_turns_and_skip_as_often_as_asked():
    rng = np.random.default_rng(3)
    comparisons = simulate_comparisons(TRUTH, 6000, rng, judges=7, skip=0.1)
    shares = comparisons.rows()["judge"].value_counts()
    assert len(shares) == 7
    assert shares.max() - shares.min() <= 1
    assert chisquare([comparisons.skips, 6000 - comparisons.skips], [600, 5400]).pvalue > RARE
    assert simulate_comparisons(TRUTH, 100, rng).skips == 0
    assert simulate_comparisons(TRUTH, 100, rng, skip=1.0).skips == 100


def test_skipping_does_not_depend_on_the_answer():
    rng = np.random.default_rng(5)
    half = simulate_comparisons(TRUTH, 20_000, rng, skip=0.5).counts()
    whole = simulate_counts(TRUTH, 20_000, rng)
    share = half.total_ties / half.comparisons
    error = np.sqrt(share * (1 - share) * (1 / half.comparisons + 1 / whole.comparisons))
    assert abs(share - whole.total_ties / whole.comparisons) < norm.isf(RARE / 2) * error


def test_comparisons_written_and_read_are_the_same_counts(tmp_path):
    comparisons = simulate_comparisons(TRUTH, 500, np.random.default_rng(2), judges=3, skip=0.1)
    comparisons.to_csv(tmp_path / "comparisons.csv")
    again = read_comparisons(tmp_path / "comparisons.csv")
    assert again.counts() == comparisons.counts()
    assert (len(again), again.skips) == (500, comparisons.skips)
    assert again.judges == {"judge 1", "judge 2", "judge 3"}


def test_the_same_chance_makes_the_same_judgements():
    one, two, other = (simulate_counts(TRUTH, 300, np.random.default_rng(s)) for s in (1, 1, 2))
    assert one == two
    assert one != other


# The truth itself.


def test_truth_is_drawn_from_the_prior():
    """Whitened by the Cholesky factor of the covariance, qualities are standard normal."""
    covariance = np.array([[2.0, 1.2, 0.3], [1.2, 1.0, 0.1], [0.3, 0.1, 0.5]])
    prior, rng = Covariance(covariance, ("a", "b", "c")), np.random.default_rng(8)
    truths = [Truth.from_priors(prior, Fixed(4.0), Fixed(0.3), rng) for _ in range(1500)]
    scaled = np.array([truth.quality for truth in truths]).T / 2
    white = np.linalg.solve(np.linalg.cholesky(covariance), scaled)
    assert kstest(white.ravel(), "norm").pvalue > RARE
    for one, two in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(white[one], white[two])[0, 1]) < norm.isf(RARE / 2) / np.sqrt(1500)
    assert {(truth.tie, truth.variance) for truth in truths} == {(0.3, 4.0)}


def test_neighbours_are_alike_in_truth():
    lane = Graph.from_edges([("a", "b"), ("c", "d")])
    rng = np.random.default_rng(4)
    many = [Truth.from_priors(Network(lane, share=1), Fixed(1.0), None, rng) for _ in range(2000)]
    quality = np.array([truth.quality for truth in many]).T
    # e^A of one edge is cosh 1 on the diagonal and sinh 1 beside it.
    counts, error = np.corrcoef(quality), norm.isf(RARE / 2) / np.sqrt(2000)
    assert abs(np.arctanh(counts[0, 1]) - 1) < error
    assert abs(counts[0, 2]) < error
    assert many[0].tie == 0


def test_scalars_are_drawn_from_their_priors():
    rng = np.random.default_rng(6)
    prior = Independent(("a", "b"))
    many = [Truth.from_priors(prior, InverseGamma(3, 2), Exponential(2), rng) for _ in range(2000)]
    assert kstest([truth.tie for truth in many], "expon", args=(0, 0.5)).pvalue > RARE
    variances = [truth.variance for truth in many]
    assert kstest(variances, "invgamma", args=(3, 0, 2)).pvalue > RARE


def test_a_prior_that_knows_no_items_asks_for_them():
    rng = np.random.default_rng(1)
    with pytest.raises(InputError, match="which there are"):
        Truth.from_priors(Independent(), Fixed(1.0), None, rng)
    assert Truth.from_priors(Independent(), Fixed(1.0), None, rng, items=("x", "y")).items == (
        "x",
        "y",
    )


# On disk.


def test_the_truth_is_told_centred_and_beside_its_names(tmp_path):
    write_simulated_study(tmp_path / "made", county=9, rng=3)
    truth = pd.read_csv(tmp_path / "made" / "truth.csv", dtype={"item": str})
    areas = Areas.read(tmp_path / "made" / "areas.gpkg")
    assert list(truth.columns) == ["item", "name", "quality"]
    assert tuple(truth["item"]) == areas.items
    assert tuple(truth["name"]) == areas.names
    assert abs(truth["quality"].mean()) < 1e-12


def test_the_truth_is_what_the_judgements_were_drawn_from(tmp_path):
    """With very many judgements, the share of wins follows the truth told."""
    write_simulated_study(
        tmp_path / "made", items=4, comparisons=30_000, tie=0.7, variance=1.0, rng=3
    )
    truth = pd.read_csv(tmp_path / "made" / "truth.csv", dtype={"item": str}).set_index("item")
    assert list(truth.columns) == ["quality"]
    counts = read_comparisons(tmp_path / "made" / "comparisons.csv").counts()
    value = truth["quality"][list(counts.items)].to_numpy()
    observed, expected = [], []
    for row in range(len(counts.first)):
        answers = [counts.wins_first[row], counts.ties[row], counts.wins_second[row]]
        gap = value[counts.first[row]] - value[counts.second[row]]
        observed += answers
        expected += [sum(answers) * p for p in probabilities(gap, 0.7)]
    assert chisquare(observed, expected, ddof=len(counts.first) - 1).pvalue > RARE


def test_ten_comparisons_an_item_unless_said(tmp_path):
    summary = write_simulated_study(tmp_path / "made", items=6)
    assert summary == "60 judgements of 6 items by 15 judges"
    assert len(read_comparisons(tmp_path / "made" / "comparisons.csv")) == 60
