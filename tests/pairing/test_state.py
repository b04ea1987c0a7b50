"""The state of pairing: counted, stored and read again."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiewise.data.counts import Counts
from tiewise.pairing.state import PairingState

ITEMS = ("a", "b", "c", "d", "e")


def small_counts() -> Counts:
    """a–b twice, b–c once as a tie, d–e once."""
    return Counts.of(ITEMS, [0, 1, 3], [1, 2, 4], [2, 0, 0], [0, 0, 1], [0, 1, 0])


def test_comparisons_and_parts_are_those_of_the_counts():
    state = PairingState.of(small_counts())
    assert state.comparisons.tolist() == [2, 3, 1, 1, 1]
    a, b, c, d, e = state.component.tolist()
    assert a == b == c != d == e
    assert state.utility is None


def test_items_never_compared_are_parts_of_their_own():
    nothing = Counts.of(ITEMS, [], [], [], [])
    state = PairingState.of(nothing)
    assert len(set(state.component.tolist())) == len(ITEMS)
    assert not state.comparisons.any()


def with_posterior(size: int, seed: int) -> PairingState:
    rng = np.random.default_rng(seed)
    items = tuple(f"ward {k}" for k in range(size))
    first = rng.integers(size, size=3 * size)
    second = (first + rng.integers(1, size, size=3 * size)) % size
    counts = Counts.of(items, first, second, np.ones(3 * size), np.zeros(3 * size))
    root = rng.normal(size=(size, size)) / np.sqrt(size)
    return PairingState.of(counts).with_posterior(rng.normal(size=size), root @ root.T, 0.5)


def test_what_is_kept_is_what_was_known():
    state = with_posterior(40, 2)
    again = PairingState.from_bytes(state.to_bytes())
    assert again.items == state.items
    np.testing.assert_array_equal(again.comparisons, state.comparisons)
    np.testing.assert_array_equal(again.component, state.component)
    np.testing.assert_array_equal(again.quality, state.quality)
    # Half precision has eleven binary digits.
    np.testing.assert_allclose(again.utility, state.utility, rtol=2**-11, atol=1e-7)
    np.testing.assert_array_equal(again.utility, again.utility.T)


@given(
    items=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
        max_size=6,
        unique=True,
    )
)
def test_any_ids_are_kept(items):
    state = PairingState.of(Counts.of(items, [], [], [], []))
    again = PairingState.from_bytes(state.to_bytes())
    assert again.items == tuple(items)
    assert again.utility is None
    assert again.quality is None


def test_a_standing_of_450_items_is_small_enough_to_be_sent_around():
    assert len(with_posterior(450, 2).to_bytes()) < 500_000


def test_nothing_is_run_that_was_kept():
    """An array of Python objects, which reading would have to unpickle, is refused."""
    malicious = io.BytesIO()
    np.savez(malicious, items=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        PairingState.from_bytes(malicious.getvalue())


def test_worth_needs_no_posterior_that_knows_anything():
    """Where nothing is uncertain, no pair is worth anything, and nothing breaks."""
    state = PairingState.of(small_counts()).with_posterior(np.zeros(5), np.zeros((5, 5)), 0.5)
    assert np.isfinite(state.utility).all()
