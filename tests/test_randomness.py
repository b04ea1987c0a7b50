"""What is handed in as rng= stands for one integer, which can be recorded."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from tiewise.engines.laplace import Laplace
from tiewise.posterior.fit import fit
from tiewise.randomness import as_seed, as_seed_sequence


def test_an_integer_stands_for_itself():
    assert as_seed(7) == as_seed(np.int64(7)) == 7
    ours, numpys = as_seed_sequence(7), SeedSequence(7)
    assert np.array_equal(ours.generate_state(4), numpys.generate_state(4))


def test_a_sequence_stands_for_its_entropy_and_its_children_for_others():
    root = SeedSequence(2**70)
    assert as_seed(root) == 2**70
    seeds = [as_seed(child) for child in root.spawn(2)]
    assert len({2**70, *seeds}) == 3
    assert seeds == [as_seed(child) for child in SeedSequence(2**70).spawn(2)]


def test_a_generator_gives_another_seed_each_time_and_the_same_ones_again():
    rng, again = default_rng(1), default_rng(1)
    first, second = as_seed(rng), as_seed(rng)
    assert first != second
    assert (first, second) == (as_seed(again), as_seed(again))


def test_nothing_is_fresh():
    assert as_seed(None) != as_seed(None)


@pytest.mark.parametrize("bad", [1.5, "1"])
def test_what_is_no_source_is_refused(bad):
    with pytest.raises(TypeError):
        as_seed(bad)


def test_a_fit_with_a_generator_can_be_repeated_by_its_recorded_seed(village):
    tree = fit(village.model, Laplace(draws=50), rng=default_rng(3))
    again = fit(village.model, Laplace(draws=50), rng=int(tree.attrs["seed"]))
    assert np.array_equal(tree["posterior/quality"], again["posterior/quality"])
