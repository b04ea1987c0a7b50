"""Fits without a threshold, and of data that cannot say: every engine, in the same words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tiewise.data.counts import Counts
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.semiorder import is_semiorder
from tiewise.model.terms import Groups, Order, Sharpness
from tiewise.posterior.fit import fit
from tiewise.posterior.snapshot import snapshot_figures
from tiewise.posterior.warnings import CANNOT_SAY

ENGINES = [
    Transport(draws=200), Gibbs(draws=200, warmup=50), Metropolis(draws=80, thin=2, warmup=20),
    Laplace(draws=200), CaronDoucet(draws=200, warmup=50),
]  # fmt: skip
RING = Counts.of(list("abcd"), [0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [3, 2, 3, 1, 2], [1, 1, 0, 1, 1])
DATA = {
    "order": Counts.of(list("abc"), [0, 1], [1, 2], [2, 1], [0, 0]),
    "semiorder": Counts.of(list("abcd"), [0, 1, 2], [1, 2, 3], [2, 1, 0], [0, 0, 0], [0, 0, 1]),
    "ties": Counts.of(list("abc"), [0, 1], [1, 2], [0, 0], [0, 0], [1, 2]),
}


def name_of(value) -> str:
    return getattr(value, "name", str(value))


@pytest.mark.parametrize("engine", [*ENGINES, MaximumLikelihood()], ids=name_of)
def test_every_engine_fits_without_a_threshold(engine):
    tree = fit(build_model(RING), engine, rng=1)
    posterior = tree["posterior"]
    assert (posterior["tie"] == 0).all()
    assert np.isfinite(posterior["quality"]).all()
    assert tree.attrs["cannot_say"] == ""
    assert not set(CANNOT_SAY.values()) & set(json.loads(tree.attrs["warnings"]))


def test_exact_engines_agree_without_a_threshold():
    """Two engines of entirely different mathematics; four means within 4.5 standard errors."""
    model = build_model(RING, variance=Fixed(1.0))
    trees = [fit(model, engine, rng=2) for engine in (Transport(draws=2000), Gibbs(draws=2000))]
    draws = [tree["posterior/quality"].to_numpy().reshape(-1, 4) for tree in trees]
    errors = [
        one.std(axis=0) / np.sqrt(tree.attrs["ess_min"])
        for one, tree in zip(draws, trees, strict=True)
    ]
    difference = draws[0].mean(axis=0) - draws[1].mean(axis=0)
    assert (abs(difference) < 4.5 * np.hypot(*errors)).all()


@pytest.mark.parametrize("term", [Order(), Sharpness(), Groups({"p": "old", "q": "young"})])
def test_terms_do_without_a_threshold(term):
    rng, number = np.random.default_rng(3), 60
    first = rng.integers(4, size=number)
    second = (first + rng.integers(1, 4, size=number)) % 4
    won = rng.random(number) < 0.6
    counts = Counts.of(
        list("abcd"), first, second, won, ~won, stratum=np.arange(number) % 2,
        strata=("p", "q"), ordered=True,
    )  # fmt: skip
    tree = fit(BradleyTerry(counts, tie=None, terms=(term,)), Transport(draws=200), rng=1)
    assert (tree["posterior/tie"] == 0).all()
    assert np.isfinite(tree["posterior/quality"]).all()


@pytest.mark.parametrize("reason", DATA)
@pytest.mark.parametrize("engine", ENGINES, ids=name_of)
def test_every_engine_says_what_the_data_cannot(engine, reason):
    if engine.name == "caron-doucet" and reason == "ties":
        with pytest.raises(InputError, match="there are no wins"):
            fit(build_model(DATA[reason]), engine, rng=1)
        return
    tree = fit(build_model(DATA[reason]), engine, rng=1)
    assert tree.attrs["cannot_say"] == reason
    assert CANNOT_SAY[reason] in json.loads(tree.attrs["warnings"])


@pytest.mark.parametrize("reason", DATA)
def test_maximum_likelihood_refuses_what_cannot_be_said(reason):
    with pytest.raises(InputError):
        fit(build_model(DATA[reason]), MaximumLikelihood(), rng=1)


def test_a_variance_that_is_known_takes_the_warning_away():
    tree = fit(build_model(DATA["order"], variance=Fixed(1.0)), Laplace(draws=100), rng=1)
    assert tree.attrs["cannot_say"] == ""
    assert CANNOT_SAY["order"] not in json.loads(tree.attrs["warnings"])


def test_the_live_picture_says_so_too():
    model = build_model(DATA["semiorder"])
    quality = np.random.default_rng(1).normal(size=(50, model.size))
    body = snapshot_figures(model, quality, np.ones(50), np.ones(50), names={})
    assert CANNOT_SAY["semiorder"] in body["cautions"]


def test_half_of_pilots_with_one_comparison_an_item_cannot_say():
    """Under the default priors; a circle of successes, the weaker test, is in nearly all."""
    rng, size, studies = np.random.default_rng(14), 50, 300
    cannot = circles = 0
    for _ in range(studies):
        alpha, tie = abs(rng.normal(size=2)) * (2, 1)
        quality = alpha * rng.normal(size=size)
        first = rng.integers(size, size=size)
        second = (first + rng.integers(1, size, size=size)) % size
        ahead, tied, _ = answer_probabilities(quality[first] - quality[second], np.full(size, tie))
        draw = rng.random(size)
        answers = draw < ahead, draw >= ahead + tied, (draw >= ahead) & (draw < ahead + tied)
        counts = Counts.of([str(k) for k in range(size)], first, second, *answers)
        cannot += is_semiorder(counts)
        circles += any(len(part) > 1 for part in counts.components(directed=True))
    assert 0.4 < cannot / studies < 0.6
    assert circles / studies > 0.9
