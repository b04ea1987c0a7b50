"""Bands: what is told apart, against draws looked at one by one, and over simulated studies."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from xarray import Dataset, DataTree

from support.handmade_results import results_of, table_of
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.prior_sets import DEFAULT_TIE, DEFAULT_VARIANCE
from tiewise.model.quality_priors import Independent
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.bands.bands import SURE, Bands, bands
from tiewise.posterior.bands.sentences import band_sentences, has_bands, missing_bands
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import summarise


def tree_of(quality: np.ndarray, kind: str = "exact") -> DataTree:
    """A posterior of these draws (draws, items)."""
    draws = Dataset({"quality": (("chain", "draw", "item"), quality[None])})
    return DataTree.from_dict({"posterior": draws, "/": Dataset(attrs={"kind": kind})})


def normal_draws(mean: list[float], sd: list[float] | float, number: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.array(mean) + np.array(sd) * rng.normal(size=(number, len(mean)))


def held_together(quality: np.ndarray, band: np.ndarray) -> float:
    """The share of draws in which every order between bands holds, pair by pair."""
    placed = [k for k in range(len(band)) if band[k] > 0]
    holds = np.ones(len(quality), bool)
    for i, j in combinations(placed, 2):
        if band[i] != band[j]:
            high, low = (i, j) if band[i] < band[j] else (j, i)
            holds &= quality[:, high] > quality[:, low]
    return float(holds.mean())


def test_clusters_are_bands_whatever_the_order_of_items():
    apart = bands(tree_of(normal_draws([0.0, 5.0, -5.0, 0.1, 5.1], 0.5)))
    assert apart.band.tolist() == [2, 1, 3, 2, 1]
    assert apart.sizes == [2, 2, 1]
    assert apart.pairs == 8
    assert apart.probability > SURE


def test_items_that_are_alike_are_one_band():
    apart = bands(tree_of(normal_draws([0.0, 0.1, 0.2, 0.3], 1.0)))
    assert apart.band.tolist() == [1, 1, 1, 1]
    assert (apart.sizes, apart.pairs, apart.probability) == ([4], 0, 1.0)


def test_who_could_be_anywhere_is_in_no_band():
    apart = bands(tree_of(normal_draws([3, 2.8, 0, -2.8, -3], [0.3, 0.3, 9, 0.3, 0.3])))
    assert apart.band.tolist() == [1, 1, 0, 2, 2]


@pytest.mark.parametrize("seed", range(20))
def test_all_orders_between_bands_hold_together_as_often_as_said(seed):
    """Pair by pair over the draws, which the lines between bands never look at."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1.5, size=8) + rng.normal(size=(1500, 8)) * rng.uniform(0.1, 0.6, 8)
    for probability in (0.6, 0.8, 0.95):
        apart = bands(tree_of(quality), probability)
        assert held_together(quality, apart.band) == pytest.approx(apart.probability)
        assert apart.probability >= probability
        order = np.argsort(-quality.mean(axis=0))
        placed = apart.band[order][apart.band[order] > 0]
        assert (np.diff(placed) >= 0).all()


def test_no_single_line_more_could_be_drawn():
    """Every other partition that adds a line to the bands would be too unsure."""
    quality = normal_draws([4.0, 3.2, 1.5, 1.0, 0.0, -2.0], 0.35)
    apart = bands(tree_of(quality))
    assert (apart.band > 0).all()
    order, more = np.argsort(-quality.mean(axis=0)), 0
    for last in range(5):
        if apart.band[order[last]] == apart.band[order[last + 1]]:
            finer = 2 * apart.band
            finer[order[last + 1 :]] += 1
            assert held_together(quality, finer) < SURE + 0.01
            more += 1
    assert more


def test_points_have_no_bands_and_a_probability_is_one():
    assert bands(tree_of(np.zeros((1, 3)), "point")) is None
    for wrong in (0.5, 1.0, 95):
        with pytest.raises(InputError, match="such as 0.95"):
            bands(tree_of(np.zeros((2, 3))), wrong)


def study(rng: np.random.Generator) -> tuple[np.ndarray, Bands]:
    """True qualities of a simulated study, and the bands of its fit."""
    items = tuple(f"i{k}" for k in range(int(rng.integers(4, 16))))
    prior = Independent(items)
    truth = Truth.from_priors(prior, DEFAULT_VARIANCE, DEFAULT_TIE, rng)
    counts = simulate_counts(truth, int(len(items) * rng.integers(4, 40)), rng)
    tree = fit(BradleyTerry(counts, prior), Transport(draws=1600), rng=rng)
    return truth.quality, bands(tree)


def wrong_studies(number: int, rng: np.random.Generator) -> tuple[int, int]:
    """Studies with two bands or more, and those of them with a true order that does not hold."""
    apart = wrong = 0
    for _ in range(number):
        quality, own = study(rng)
        if own.pairs:
            apart += 1
            wrong += held_together(quality[None], own.band) < 1
    return apart, wrong


def assert_rarely_wrong(apart: int, wrong: int) -> None:
    """Not more often wrong than one in twenty, within three standard errors."""
    expected = (1 - SURE) * apart
    assert wrong <= expected + 3 * np.sqrt(expected * SURE)


@pytest.mark.slow
def test_true_orders_between_bands_hold():
    apart, wrong = wrong_studies(40, np.random.default_rng(11))
    assert apart > 20
    assert_rarely_wrong(apart, wrong)


@pytest.mark.slow
@pytest.mark.thorough
def test_true_orders_between_bands_hold_in_nineteen_of_twenty_studies():
    apart, wrong = wrong_studies(600, np.random.default_rng(12))
    assert apart > 300
    assert_rarely_wrong(apart, wrong)


# The table, and words.


def test_the_table_has_the_band_of_each_item():
    from support.judge_studies import model_with_terms

    tree = fit(model_with_terms("none"), Transport(draws=400), rng=1)
    table = summarise(tree)
    own = pd.Series(bands(tree).band, tree["posterior/item"].to_numpy().astype(str))
    assert table["band"].fillna(0).tolist() == own[table["item"]].tolist()


def sentences(folder, band: list[float]) -> list[str]:
    table = table_of([0.9] + [0.1] * (len(band) - 1), band=band)
    return band_sentences(results_of(folder, table))


@pytest.mark.parametrize(
    ("band", "words"),
    [
        ([1, 2, 2, 3], "Three bands can be told apart: Ward A; Ward B and Ward C; Ward D."),
        ([1, 2, 2, 2, 2], "Two bands can be told apart: Ward A; 4 wards (Ward B to Ward E)."),
        (
            [1, np.nan, 2, 2, 2, 2],
            "Two bands can be told apart: Ward A and the 4 lowest (Ward C to Ward F); the one "
            "between them belongs to neither.",
        ),
        (
            [1, 1, np.nan, np.nan, 2],
            "Two bands can be told apart: the 2 highest wards (Ward A and Ward B) and Ward E; "
            "the 2 between belong to neither.",
        ),
    ],
)
def test_bands_in_words(tmp_path, band, words):
    first, meaning = sentences(tmp_path, band)
    assert first == words
    assert "together with a probability of 95 % or more" in meaning


def test_one_band_and_unknown_bands_in_words(tmp_path):
    (only,) = sentences(tmp_path, [1, 1, 1])
    assert only.startswith("No band of wards can be told from the others")
    assert sentences(tmp_path / "none", [np.nan] * 3) == []
    assert not has_bands(table_of([0.9, 0.1]))
    assert missing_bands(results_of(tmp_path / "few", table_of([0.9, 0.1]))) == []
