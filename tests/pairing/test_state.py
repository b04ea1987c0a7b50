"""What all judgements so far say: counted, kept and read again."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiewise.data.counts import Counts
from tiewise.pairing.policies import Standing

ITEMS = ("a", "b", "c", "d", "e")


def counted() -> Counts:
    """a–b twice, b–c once as a tie, d–e once."""
    return Counts.of(ITEMS, [0, 1, 3], [1, 2, 4], [2, 0, 0], [0, 0, 1], [0, 1, 0])


def test_comparisons_and_parts_are_those_of_the_counts():
    standing = Standing.of(counted())
    assert standing.comparisons.tolist() == [2, 3, 1, 1, 1]
    a, b, c, d, e = standing.part.tolist()
    assert a == b == c != d == e
    assert standing.worth is None


def test_items_never_compared_are_parts_of_their_own():
    nothing = Counts.of(ITEMS, [], [], [], [])
    standing = Standing.of(nothing)
    assert len(set(standing.part.tolist())) == len(ITEMS)
    assert not standing.comparisons.any()


def with_worth(size: int, seed: int) -> Standing:
    rng = np.random.default_rng(seed)
    items = tuple(f"ward {k}" for k in range(size))
    first = rng.integers(size, size=3 * size)
    second = (first + rng.integers(1, size, size=3 * size)) % size
    counts = Counts.of(items, first, second, np.ones(3 * size), np.zeros(3 * size))
    root = rng.normal(size=(size, size)) / np.sqrt(size)
    return Standing.of(counts).with_worth(rng.normal(size=size), root @ root.T, 0.5)


def test_what_is_kept_is_what_was_known():
    standing = with_worth(40, 2)
    again = Standing.from_bytes(standing.to_bytes())
    assert again.items == standing.items
    np.testing.assert_array_equal(again.comparisons, standing.comparisons)
    np.testing.assert_array_equal(again.part, standing.part)
    np.testing.assert_array_equal(again.quality, standing.quality)
    # Half precision has eleven binary digits.
    np.testing.assert_allclose(again.worth, standing.worth, rtol=2**-11, atol=1e-7)
    np.testing.assert_array_equal(again.worth, again.worth.T)


@given(
    items=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
        max_size=6,
        unique=True,
    )
)
def test_any_ids_are_kept(items):
    standing = Standing.of(Counts.of(items, [], [], [], []))
    again = Standing.from_bytes(standing.to_bytes())
    assert again.items == tuple(items)
    assert again.worth is None
    assert again.quality is None


def test_a_standing_of_450_items_is_small_enough_to_be_sent_around():
    assert len(with_worth(450, 2).to_bytes()) < 500_000


def test_nothing_is_run_that_was_kept():
    """An array of Python objects, which reading would have to unpickle, is refused."""
    wicked = io.BytesIO()
    np.savez(wicked, items=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        Standing.from_bytes(wicked.getvalue())


def test_worth_needs_no_posterior_that_knows_anything():
    """Where nothing is uncertain, no pair is worth anything, and nothing breaks."""
    standing = Standing.of(counted()).with_worth(np.zeros(5), np.zeros((5, 5)), 0.5)
    assert np.isfinite(standing.worth).all()
