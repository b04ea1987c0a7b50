"""Designs: balance, sides, known groups and connectedness, whatever the sizes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tiewise.designs.design import Design, known_groups, make_design
from tiewise.designs.pair_lists import NEW, PRACTICE, REPEAT, PairLists
from tiewise.designs.prior import DesignPrior
from tiewise.designs.wish import DesignWish
from tiewise.errors import InputError
from tiewise.model.quality_priors import Independent


def prior_of(items: tuple[str, ...], tie: float = 0.5) -> DesignPrior:
    return DesignPrior.of(Independent(items), items, spread=1.5, cuts=np.array([tie]))


def names(what: str, number: int) -> tuple[str, ...]:
    return tuple(f"{what} {k + 1}" for k in range(number))


def made(seed: int = 1, **wish) -> Design:
    whole = DesignWish(**wish)
    return make_design(whole, prior_of(whole.items), rng=seed)


def parts_of(items: tuple[str, ...], lists: PairLists) -> list[set[str]]:
    """Items that are compared with each other, by steps; written without the code under test."""
    parts = [{item} for item in items]
    for pair in lists.pairs:
        joined = [part for part in parts if part & pair.items]
        parts = [part for part in parts if not part & pair.items] + [set().union(*joined)]
    return parts


def appearances(lists: PairLists, kinds=(NEW,)) -> Counter[str]:
    return Counter(
        item
        for pairs in lists.lists.values()
        for pair in pairs
        if pair.kind in kinds
        for item in pair.items
    )


@st.composite
def sizes(draw):
    """Sizes of a design that can be."""
    items = draw(st.integers(3, 24))
    judges = draw(st.integers(1, 9))
    pairs = items * (items - 1) // 2
    least = -(-(items - 1) // judges)
    assume(least <= min(pairs, 30))
    distinct = draw(st.integers(least, min(pairs, 30)))
    repeats = draw(st.integers(0, min(3, distinct)))
    practice = draw(st.integers(0, 3))
    return items, judges, distinct + repeats, repeats, practice


POLICIES = st.sampled_from(["balanced", "optimal"])


@settings(max_examples=40, deadline=None)
@given(sizes(), POLICIES, st.integers(0, 2**32 - 1))
def test_whatever_the_sizes(size, policy, seed):
    """No pair twice, everything connected, sides even; balanced: items within one comparison."""
    number, judges, per_judge, repeats, practice = size
    items = names("item", number)
    lists = made(
        seed, items=items, judges=names("judge", judges), per_judge=per_judge, repeats=repeats,
        practice=practice, policy=policy,
    ).lists  # fmt: skip
    for pairs in lists.lists.values():
        kinds = Counter(pair.kind for pair in pairs)
        assert kinds == Counter({PRACTICE: practice, NEW: per_judge - repeats, REPEAT: repeats})
        new = [pair.items for pair in pairs if pair.kind == NEW]
        assert len(set(new)) == len(new)
        assert all(pair.left != pair.right for pair in pairs)
        for k, pair in enumerate(pairs):
            if pair.kind == REPEAT:
                assert (pair.right, pair.left, NEW) in pairs[:k]
    assert len(parts_of(items, lists)) == 1
    left, right = Counter(), Counter()
    for pair in (pair for pair in lists.pairs if pair.kind == NEW):
        left[pair.left] += 1
        right[pair.right] += 1
    assert max(abs(left[item] - right[item]) for item in items) <= 1
    if policy == "balanced":
        times = appearances(lists)
        assert max(times[item] for item in items) - min(times[item] for item in items) <= 1


@settings(max_examples=25, deadline=None)
@given(
    groups=st.integers(2, 6), each=st.integers(2, 5), judges=st.integers(3, 9),
    knows=st.integers(2, 4), policy=POLICIES, seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_judges_are_asked_only_about_groups_they_know(groups, each, judges, knows, policy, seed):
    """And all of it is connected, where they link the groups and have enough comparisons."""
    knows = min(knows, groups)
    assume(judges * (knows - 1) >= groups - 1)
    items = names("item", groups * each)
    group = tuple(f"group {k // each}" for k in range(len(items)))
    who = names("judge", judges)
    known = known_groups(group, who, knows, seed)
    assert all(len(set(mine)) == knows for mine in known.values())
    pairs = knows * each * (knows * each - 1) // 2
    per_judge = min(pairs, len(items))
    lists = made(
        seed, items=items, judges=who, per_judge=per_judge, groups=group, known=known, policy=policy
    ).lists
    of = dict(zip(items, group, strict=True))
    for judge, pairs in lists.lists.items():
        assert {of[item] for pair in pairs for item in pair.items} <= set(known[judge])
        assert len({pair.items for pair in pairs}) == len(pairs)
    assert len(parts_of(items, lists)) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5), st.integers(4, 15), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_reference_pairs_are_of_an_item_and_an_anchor(anchors, others, judges, seed):
    """Items come equally often, anchors equally often, none beyond its limit."""
    items = names("item", anchors + others)
    per_judge = min(anchors * others, -(-(len(items) - 1) // judges) + 2)
    limit = -(-judges * per_judge // anchors)
    assume(judges * per_judge >= len(items) - 1)
    lists = made(
        seed, items=items, judges=names("judge", judges), per_judge=per_judge, policy="reference",
        anchors=items[:anchors], anchor_limit=limit,
    ).lists  # fmt: skip
    assert all(len(pair.items & set(items[:anchors])) == 1 for pair in lists.pairs)
    times = appearances(lists)
    for members in (items[:anchors], items[anchors:]):
        counts = [times[item] for item in members]
        assert max(counts) - min(counts) <= 1
    assert max(times[item] for item in items[:anchors]) <= limit


def test_a_judge_who_compares_every_pair_has_each_once():
    lists = made(items=names("item", 6), judges=("A", "B"), per_judge=15).lists
    for pairs in lists.lists.values():
        assert len({pair.items for pair in pairs}) == 15


def test_the_seed_is_all_that_chance_depends_on():
    wish = {"items": names("item", 9), "judges": names("judge", 3), "per_judge": 8}
    one, same, other = (made(seed, **wish).lists for seed in (7, 7, 8))
    assert one.lists == same.lists
    assert one.lists != other.lists
    assert one.digest == same.digest != other.digest


def test_a_design_is_read_as_it_was_written(tmp_path):
    lists = made(
        items=names("item", 9), judges=("Ann, of Leeds", "Bo"), per_judge=8, repeats=2, practice=1
    ).lists
    lists.write(tmp_path / "design.csv")
    read = PairLists.read(tmp_path / "design.csv")
    assert read == lists
    assert read.codes == lists.codes


def test_a_code_belongs_to_one_list_of_one_design():
    wish = {"items": names("item", 9), "judges": names("judge", 3), "per_judge": 8}
    one, other = made(1, **wish).lists, made(2, **wish).lists
    code = one.codes["judge 2"]
    assert code.startswith("2-")
    for typed in (code, code.lower(), code.replace("-", ""), f" {code} "):
        assert one.named_by(typed) == "judge 2"
    with pytest.raises(InputError, match="its letters are of another sheet or design"):
        other.named_by(code)
    with pytest.raises(InputError, match="the sheets are numbered 1 to 3"):
        one.named_by("9-ABC")


GOOD = {"items": names("item", 10), "judges": names("judge", 4), "per_judge": 9}
GROUPED = GOOD | {"groups": ("north",) * 5 + ("south",) * 5}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (GOOD | {"per_judge": 46}, "a judge knows 10 items, 45 pairs in all.*ask for 45 or fewer"),
        (GOOD | {"per_judge": 2}, "8 different pairs cannot connect 10 items.*ask each.*for 3"),
        (GOOD | {"repeats": 5}, "at most half can be repeats, not 5"),
        (GOOD | {"judges": ()}, "1 judge or more"),
        (GOOD | {"per_judge": 0}, "1 pair or more, not 0"),
        (GOOD | {"policy": "best"}, "no design 'best'; there are balanced"),
        (GOOD | {"target": "mean"}, "no target 'mean'; there are differences"),
        (GOOD | {"items": ("a",)}, "1 items make no pair"),
        (GOOD | {"items": ("a", "b", "a")}, "the item 'a' is there twice"),
        (GOOD | {"judges": ("a", "a")}, "the judge 'a' is there twice"),
        (GOOD | {"policy": "reference"}, "there are none; give anchors"),
        (GOOD | {"policy": "reference", "anchors": ("x",)}, "not among the items"),
        (
            GOOD | {"policy": "reference", "anchors": names("item", 2), "anchor_limit": 10},
            "2 anchors that are shown 10 times each have room for 20 comparisons, not 36",
        ),
        (
            GROUPED | {"known": dict.fromkeys(GOOD["judges"], ("north",))},
            "no judge knows 'south'",
        ),
        (
            GROUPED
            | {
                "known": dict.fromkeys(GOOD["judges"][:2], ("north",))
                | dict.fromkeys(GOOD["judges"][2:], ("south",))
            },
            "no judge knows both 'north' and 'south'",
        ),
        (
            GROUPED | {"known": dict.fromkeys(GOOD["judges"], ("north", "west"))},
            "judge 1 knows 'west', and no item is of that group",
        ),
    ],
)  # fmt: skip
def test_a_wish_that_cannot_be_gets_one_line_with_the_way_out(wish, message):
    with pytest.raises(InputError, match=message) as refused:
        DesignWish(**wish)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judge,left\nA,x\n", "no column right"),
        ("judge,left,right\n", "no pairs"),
        ("judge,left,right\nA,x,x\n", "compared with itself"),
        ("judge,left,right\n,x,y\n", "judge is empty"),
        ("judge,left,right\nA,x,y\nA,y,x\n", "A has 'y' and 'x' twice"),
        ("judge,left,right,kind\nA,x,y,again\n", "kind 'again'; there are practice"),
        ("judge,left,right,kind\nA,x,y,repeat\n", "do not come before"),
        ("judge,left,right,position\nA,x,y,first\n", "position 'first' is no number"),
    ],
)
def test_a_faulty_table_gets_one_line(tmp_path, text, message):
    path = tmp_path / "design.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        PairLists.read(path)
