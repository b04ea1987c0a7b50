"""Counts are all that matters: neither order, side, label nor portion of the rows does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts, natural_order
from tiewise.errors import InputError

ITEMS = ("3", "20", "100", "4", "5")
OTHER = {"first": "second", "second": "first", "tie": "tie", "skip": "skip"}

steady = settings(deadline=None)

Row = tuple[str, str, str, str]  # judge, first, second, outcome


@st.composite
def judgements(draw: st.DrawFn) -> Row:
    first, second = draw(st.permutations(ITEMS))[:2]
    return draw(st.sampled_from("AB")), first, second, draw(st.sampled_from(list(OTHER)))


many = st.lists(judgements(), min_size=1, max_size=40)


def comparisons(rows: list[Row]) -> Comparisons:
    judge, first, second, outcome = zip(*rows, strict=True)
    return Comparisons.from_columns(judge=judge, first=first, second=second, outcome=outcome)


def count(rows: list[Row], **options: object) -> Counts:
    return comparisons(rows).counts(**options)


@steady
@given(many)
def test_counts_are_what_a_tally_by_hand_gives(rows):
    hand = Counter((judge, *pair, outcome) for judge, *pair, outcome in rows)
    counts = count(rows, by="judge")
    for i, j, g, wins, losses, ties in zip(
        counts.first, counts.second, counts.stratum, counts.wins_first, counts.wins_second,
        counts.ties, strict=True,
    ):  # fmt: skip
        judge, one, two = counts.strata[g], counts.items[i], counts.items[j]
        assert int(one) < int(two)
        assert wins == hand[judge, one, two, "first"] + hand[judge, two, one, "second"]
        assert losses == hand[judge, one, two, "second"] + hand[judge, two, one, "first"]
        assert ties == hand[judge, one, two, "tie"] + hand[judge, two, one, "tie"]
    skips = sum(outcome == "skip" for *_, outcome in rows)
    assert (counts.skips, counts.comparisons) == (skips, len(rows) - skips)
    assert counts.total_ties == sum(outcome == "tie" for *_, outcome in rows)


@steady
@given(many, st.randoms())
def test_the_order_of_rows_changes_nothing(rows, random):
    here, there = comparisons(rows), comparisons(random.sample(rows, len(rows)))
    for options in ({}, {"by": "judge"}, {"ordered": True}):
        assert there.counts(**options) == here.counts(**options)


@steady
@given(many, st.sets(st.integers(0, 39)))
def test_swapping_first_and_second_changes_nothing(rows, turned):
    swapped = [
        (judge, two, one, OTHER[outcome]) if k in turned else (judge, one, two, outcome)
        for k, (judge, one, two, outcome) in enumerate(rows)
    ]
    assert count(swapped) == count(rows)
    assert count(swapped, by="judge") == count(rows, by="judge")


@steady
@given(many, st.permutations(["x", "y", "z", "10", "w"]))
def test_relabelling_changes_nothing_but_the_labels(rows, labels):
    name = dict(zip(ITEMS, labels, strict=True))
    relabelled = [(judge, name[a], name[b], outcome) for judge, a, b, outcome in rows]
    there, here = count(relabelled).over(labels), count(rows).over(ITEMS)
    assert there.items == tuple(labels)
    for column in ("first", "second", "wins_first", "wins_second", "ties"):
        np.testing.assert_array_equal(getattr(there, column), getattr(here, column))


@steady
@given(many, many)
def test_two_halves_counted_and_added_are_the_whole(one, two):
    parts = [comparisons(rows) for rows in (one, two, one + two)]
    for options in ({}, {"by": "judge"}, {"ordered": True}):
        first, second, whole = (part.counts(**options) for part in parts)
        assert first + second == second + first == whole


@steady
@given(many)
def test_strata_pooled_are_the_counts_without_strata(rows):
    read = comparisons(rows)
    assert read.counts(by="judge").pooled() == read.counts()


@steady
@given(many)
def test_without_ties_is_as_if_they_were_skipped_unseen(rows):
    untied = [row for row in rows if row[3] != "tie"]
    tied = count(rows, by="judge")
    bare = tied.without_ties()
    assert (bare.total_ties, bare.strata) == (0, tied.strata)
    if untied:
        np.testing.assert_array_equal(
            bare.pooled().successes(), count(untied).over(bare.items).successes()
        )


@steady
@given(many)
def test_each_comparison_has_two_items(rows):
    counts = count(rows)
    seen = Counter(item for _, *pair, outcome in rows if outcome != "skip" for item in pair)
    assert counts.per_item().tolist() == [seen[item] for item in counts.items]


def test_numbers_are_ordered_as_numbers_and_words_as_words():
    assert natural_order(["10", "9", "-1", "9"]) == ("-1", "9", "10")
    assert natural_order(["10", "9", "a"]) == ("10", "9", "a")
    assert natural_order(["--5", "4"]) == ("--5", "4")
    assert natural_order([]) == ()


def test_a_win_is_one_success_and_a_tie_is_one_each_way():
    counts = Counts.of(("a", "b"), [0, 1], [1, 0], [2, 5], [1, 0], [3, 0])
    assert [column.tolist() for column in counts.successes()] == [[5], [9]]


@pytest.mark.parametrize("items", [2, 20, 200])
@pytest.mark.parametrize("closed", [True, False])
def test_chains_of_any_length_join_items(items, closed):
    """Each item won once against the next; if `closed`, the last against the first, too."""
    rows = [("A", str(k), str(k + 1), "first") for k in range(items - 1)]
    rows += [("A", str(items - 1), "0", "first")] if closed else []
    counts = count(rows)
    assert counts.components() == [counts.items]
    joined = counts.components(directed=True)
    assert sorted(map(len, joined)) == ([items] if closed else [1] * items)


def test_components_are_found_with_and_without_direction():
    counts = Counts.of(tuple("abcd"), [0, 1], [1, 2], [1, 0], [0, 0], [0, 1])
    assert [set(group) for group in counts.components()] == [{"a", "b", "c"}, {"d"}]
    assert {frozenset(group) for group in counts.components(directed=True)} == {
        frozenset("bc"), frozenset("a"), frozenset("d")
    }  # fmt: skip


def test_no_comparisons_are_counts_too():
    nothing = Counts.of((), [], [], [], [])
    assert nothing + nothing == nothing
    assert nothing.comparisons == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0], [0], [1], [0]), "item 'a' is compared with itself; take it out"),
        (([0], [1], [-1], [0]), "a count is negative; counts of wins and ties are 0 or more"),
    ],
)
def test_impossible_counts_are_refused(rows, message):
    with pytest.raises(InputError) as caught:
        Counts.of(("a", "b"), *rows)
    assert str(caught.value) == message


def test_items_that_the_model_lacks_are_named():
    counts = Counts.of(("a", "b"), [0], [1], [1], [0])
    with pytest.raises(InputError, match=r"1 compared item.* not among the model's items: 'b'"):
        counts.over(("a", "c"))


def test_the_fingerprint_tells_counts_apart():
    one = Counts.of(("a", "b"), [0], [1], [1], [0])
    assert one.digest() == Counts.of(("a", "b"), [1], [0], [0], [1]).digest()
    others = [
        Counts.of(("a", "b"), [0], [1], [0], [1]),
        Counts.of(("a", "c"), [0], [1], [1], [0]),
        Counts.of(("a", "b"), [0], [1], [1], [0], [1]),
    ]
    assert len({one.digest(), *(other.digest() for other in others)}) == 4
