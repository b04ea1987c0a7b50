"""Labels of a map: none covers another at any size, all are inside, the important come first."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import shapely

from tiewise.geo.labels import (
    LabelCandidate,
    broken,
    clear_of,
    label_box,
    label_sizes,
    place_labels,
    text_width,
)

FRAME = (0.0, 0.0, 2000.0, 1500.0)
SIZES = label_sizes(250, 12)


def crowd(count: int, seed: int) -> list[LabelCandidate]:
    rng = np.random.default_rng(seed)
    draw = rng.uniform
    words = ["Ash", "Little Briningwith", "أوكمير", "Kwa Nyoka", "東京都", "Llanfair-yn-neubwll"]
    return [
        LabelCandidate(
            words[k % len(words)], draw(0, 2000), draw(0, 1500), draw(), "area", draw(20, 900),
            bool(k % 3),
        )
        for k in range(count)
    ]  # fmt: skip


def test_at_every_size_no_label_covers_another_and_all_are_inside():
    """By shapely, on the labels that are shown at each level."""
    labels = place_labels(crowd(300, 1), FRAME, SIZES)
    assert len(labels) > 50
    for level, size in enumerate(SIZES):
        boxes = [shapely.box(*label_box(one, size)) for one in labels if one.level <= level]
        assert all(shapely.box(*FRAME).contains(box) for box in boxes)
        assert not any(one.intersects(other) for one, other in combinations(boxes, 2))


def test_a_larger_map_has_more_labels_and_those_before_stay():
    labels = place_labels(crowd(300, 2), FRAME, SIZES)
    numbers = [sum(one.level <= level for one in labels) for level in range(len(SIZES))]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]
    assert len({(one.lines, one.x, one.y) for one in labels}) == len(labels)


def test_of_two_in_one_place_the_important_one_is_shown():
    pair = [LabelCandidate(name, 500, 500, rank, "place") for name, rank in (("b", 1), ("a", 2))]
    assert [one.lines for one in place_labels(pair, FRAME, SIZES[:1])] == [("a",)]


def test_there_are_never_more_than_asked_for_and_the_corner_stays_free():
    labels = place_labels(crowd(300, 3), FRAME, SIZES, most=[3] * 6 + [9] * 6, corner=4)
    assert sum(one.level < 6 for one in labels) == 3
    assert len(labels) == 9
    for one in labels:
        corner = shapely.box(2000 - 4 * SIZES[one.level], 1500 - 4 * SIZES[one.level], 2000, 1500)
        assert not shapely.box(*label_box(one, SIZES[one.level])).intersects(corner)


def test_a_name_much_wider_than_its_area_waits_until_the_map_is_larger():
    wide = LabelCandidate("Ashby", 1000, 700, 1, "area", room=100)
    (label,) = place_labels([wide], FRAME, SIZES)
    assert text_width("Ashby") * SIZES[label.level] <= 1.3 * 100
    assert text_width("Ashby") * SIZES[label.level - 1] > 1.3 * 100


def test_labels_make_room_for_what_is_marked():
    labels = place_labels(crowd(300, 4), FRAME, SIZES)
    marked = [(900.0, 700.0, 1100.0, 900.0), (0.0, 0.0, 400.0, 400.0)]
    clear = clear_of(labels, marked, SIZES)
    assert 0 < len(clear) < len(labels)
    for one in clear:
        box = shapely.box(*label_box(one, SIZES[one.level]))
        assert not any(box.intersects(shapely.box(*mark)) for mark in marked)


def test_long_names_are_broken_at_the_space_that_makes_them_shortest():
    assert broken("Ashby") == ("Ashby",)
    assert broken("Upper Skelborne with Hexley") == ("Upper Skelborne", "with Hexley")
    assert broken("Llanfairpwllgwyngyll") == ("Llanfairpwllgwyngyll",)
