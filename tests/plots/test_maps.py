"""Maps: colours mean what their legend says, and every area is there to be seen."""

from __future__ import annotations

from itertools import pairwise
from math import cos, radians
from statistics import NormalDist

import numpy as np
import pytest
import shapely
from matplotlib.colors import to_rgb
from shapely import Point, box
from shapely.affinity import scale, translate

from support.drawings import (
    areas_of,
    colours,
    hatched,
    patches,
    results_of,
    squares,
    table_of,
    words,
)  # fmt: skip
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.plots.canvas import save
from tiewise.plots.map_canvas import ABSENT_HATCH, UNCOMPARED_HATCH
from tiewise.plots.map_shapes import enlarged_part, map_shapes
from tiewise.plots.maps import (
    SCALE_COLOURS,
    faded_map,
    quality_map,
    side_probability,
    top_map,
    uncertainty_map,
)
from tiewise.posterior.results_folder import Wording

MAPS = [quality_map, uncertainty_map, faded_map, top_map]


def lightness(colour: np.ndarray) -> float:
    """Relative luminance, as WCAG has it."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear[:3] @ (0.2126, 0.7152, 0.0722))


# Colour by median.


def test_red_is_higher_blue_lower_and_white_the_average():
    figure = quality_map(results_of(table_of(5), squares(5)))
    red, _, blue, _ = colours(figure).T
    warmth = red - blue
    assert (warmth[:2] > 0.2).all()
    assert (warmth[3:] < -0.2).all()
    assert colours(figure)[2].min() > 0.95


def test_as_far_above_as_below_the_average_is_as_strong_a_colour():
    """The largest quality is 1, so that red is not used up; blue at −0.5 is half as strong."""
    table = table_of(4, mean=[0.5, 1.0, -0.5, 0.0])
    shown = colours(quality_map(results_of(table, squares(4))))
    strength = [1 - lightness(colour) for colour in shown]
    assert strength[0] == pytest.approx(strength[2], abs=0.1)
    assert strength[1] > strength[0] > strength[3]


def test_the_map_follows_ids_and_not_the_order_of_rows():
    straight = quality_map(results_of(table_of(5), squares(5)))
    turned = quality_map(results_of(table_of(5).iloc[::-1], squares(5)))
    assert np.array_equal(colours(straight), colours(turned))
    assert not np.array_equal(colours(straight)[0], colours(straight)[4])


def test_equal_qualities_are_a_white_map():
    table = table_of(3, mean=0.0)
    assert colours(quality_map(results_of(table, squares(3)))).min() > 0.95


def test_the_legend_speaks_the_words_of_the_study():
    figure = quality_map(results_of(table_of(3), squares(3)))
    for phrase in ("Which ward has the higher risk?", "higher risk", "lower risk", "average"):
        assert phrase in words(figure)
    assert "My own words" in words(
        quality_map(results_of(table_of(3), squares(3)), title="My own words")
    )


# What nobody compared, and what is not in the study.


@pytest.mark.parametrize("draw", MAPS)
def test_areas_nobody_compared_are_hatched_and_explained(draw):
    table = table_of(5, comparisons=[10, 0, 10, 10, 0])
    figure = draw(results_of(table, squares(5)))
    (silent,) = hatched(figure, UNCOMPARED_HATCH)
    left = sorted(path.vertices[:, 0].min() for path in silent.get_paths())
    assert left == [68.0, 272.0], "the second and the fifth of five squares 340 points wide"
    assert "not compared: estimate borrowed from its neighbours" in words(figure)


def test_a_colour_that_was_not_measured_is_paler():
    table = table_of(5, comparisons=[0, 10, 10, 10, 0])
    guessed = colours(quality_map(results_of(table, squares(5))))
    measured = colours(quality_map(results_of(table_of(5), squares(5))))
    for k in (0, 4):
        assert lightness(guessed[k]) > lightness(measured[k]) + 0.15
    assert np.array_equal(guessed[1:4], measured[1:4])


def test_an_area_nobody_compared_does_not_look_surer_for_it():
    """Dark is less sure: no paler than one that is as unsure, and lines that can be seen on it."""
    table = table_of(4, comparisons=[0, 10, 10, 0], sd=[0.8, 0.8, 0.1, 0.1])
    figure = uncertainty_map(results_of(table, squares(4)))
    shown = colours(figure)
    assert np.array_equal(shown[0], shown[1])
    assert np.array_equal(shown[2], shown[3])
    lines = {
        silent.get_paths()[0].vertices[:, 0].min(): lightness(silent.get_edgecolor()[0])
        for silent in hatched(figure, UNCOMPARED_HATCH)
    }
    assert set(lines) == {0.0, 255.0}, "the first and the last of four squares 340 points wide"
    assert lines[0.0] > 0.9 > 0.1 > lines[255.0]


@pytest.mark.parametrize("draw", MAPS)
def test_a_map_where_all_were_compared_has_no_hatching(draw):
    figure = draw(results_of(table_of(5), squares(5)))
    assert not any(patch.get_hatch() for patch in patches(figure.axes[0]))
    assert "compared" not in words(figure)


@pytest.mark.parametrize("draw", MAPS)
def test_areas_outside_the_study_are_white_and_dotted(draw):
    figure = draw(results_of(table_of(3), squares(5)))
    (absent,) = hatched(figure, ABSENT_HATCH)
    assert len(absent.get_paths()) == 2
    assert "not in the study" in words(figure)
    assert np.array_equal(colours(figure)[3:], np.ones((2, 4)))


def test_items_that_are_not_on_the_map_are_counted():
    figure = quality_map(results_of(table_of(7), squares(4)))
    assert "3 wards of the study are not on this map." in words(figure)


def test_a_map_of_other_areas_altogether_is_refused():
    with pytest.raises(InputError, match="no area of the map"):
        quality_map(results_of(table_of(3, item=["a", "b", "c"]), squares(3)))


@pytest.mark.parametrize("draw", MAPS)
def test_without_a_map_there_is_nothing_to_draw(draw):
    with pytest.raises(InputError, match="no map"):
        draw(results_of(table_of(3)))


# How sure it is.


def test_the_less_sure_the_darker():
    table = table_of(4, sd=[0.1, 0.8, 0.4, 0.2])
    shown = [
        lightness(colour) for colour in colours(uncertainty_map(results_of(table, squares(4))))
    ]
    assert np.argsort(shown).tolist() == [1, 2, 3, 0]
    assert "0.8" in words(uncertainty_map(results_of(table, squares(4))))


def test_sure_colours_stay_and_unsure_ones_fade_to_one_grey():
    """Draws all on one side, or half on each; a quality of −2 that is unsure looks as one of +2."""
    table = table_of(4, mean=[2.0, 2.0, -2.0, -2.0])
    sides = np.array([1.0, -1.0])[np.arange(100) % 2][:, None]
    draws = np.where([True, False, True, False], [2.0, 0, -2.0, 0], [0, 1, 0, 1] * sides)
    results = results_of(table, squares(4), draws=draws[None])
    full, faded = colours(quality_map(results)), colours(faded_map(results))
    assert np.array_equal(faded[[0, 2]], full[[0, 2]])
    assert np.array_equal(faded[1], faded[3])
    assert np.ptp(faded[1][:3]) < 0.05, "grey"


def test_sureness_is_the_share_of_draws_on_the_side_of_the_median():
    rng = np.random.default_rng(8)
    draws = rng.normal([1.0, 0.2, -1.2], 0.7, (4, 50, 3))
    results = results_of(table_of(3), draws=draws)
    centred = draws - draws.mean(axis=2, keepdims=True)
    above = (centred > 0).mean(axis=(0, 1))
    want = np.where(above > 0.5, above, 1 - above)
    assert side_probability(results)[["1", "2", "3"]].to_numpy() == pytest.approx(want)


def test_sureness_of_a_point_estimate_is_that_of_its_standard_error():
    results = results_of(table_of(3, sd=[1.0, 0.5, 4.0]), kind="point")
    want = [NormalDist().cdf(z) for z in (2.0, 0.0, 0.5)]
    assert side_probability(results).to_numpy() == pytest.approx(want)


def test_an_unknown_standard_error_is_no_knowledge():
    assert side_probability(results_of(table_of(3, sd=np.nan), kind="point")).tolist() == [0.5] * 3


def test_the_key_to_fading_has_every_step_in_words():
    figure = faded_map(results_of(table_of(3), squares(3)))
    for phrase in ("almost certain", "very likely", "likely", "cannot be told", "higher risk"):
        assert phrase in words(figure)


# Among the highest.


def test_chances_have_the_colour_of_their_word():
    table = table_of(4, top_k_probability=[0.97, 0.94, 0.41, 0.001])
    shown = colours(top_map(results_of(table, squares(4))))
    for got, step in zip(shown, (0, 1, 3, 6), strict=True):
        assert got[:3] == pytest.approx(to_rgb(SCALE_COLOURS[step]))


def test_the_top_map_says_what_it_is_about():
    figure = top_map(results_of(table_of(5), squares(5)))
    assert "among the 2 wards with the highest risk" in words(figure)
    assert "almost certain: 95 % or more" in words(figure)


def test_likelier_is_darker():
    steps = [lightness(np.array(to_rgb(step))) for step in SCALE_COLOURS]
    assert all(np.diff(steps) > 0.03), "from almost certain, the darkest, to almost ruled out"


def test_a_point_estimate_has_no_map_of_chances():
    table = table_of(3, top_k_probability=np.nan)
    with pytest.raises(InputError, match="no chances"):
        top_map(results_of(table, squares(3), kind="point"))


# Shapes.


def test_groups_are_outlined_where_there_are_any():
    grouped = squares(5, group=["east", "east", "west", "", "west"])
    outlines = map_shapes(grouped, 340.0).outlines
    spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in outlines]
    assert spans == [(0, 136), (136, 340)], "none around the one that has no group"
    assert map_shapes(squares(5), 340.0).outlines == []
    plain, figure = (quality_map(results_of(table_of(5), a)) for a in (squares(5), grouped))
    assert len(patches(figure.axes[0])) == len(patches(plain.axes[0])) + 1


@pytest.mark.parametrize("north", [0, 45, 60])
def test_degrees_of_longitude_shrink_to_the_north(north):
    """A square of one degree is as narrow as the cosine of its latitude."""
    shapes = map_shapes(areas_of([box(10, north - 0.5, 11, north + 0.5)], "EPSG:4326"), 340.0)
    assert shapes.width / shapes.height == pytest.approx(cos(radians(north)))


@pytest.mark.parametrize("crs", ["EPSG:27700", None])
def test_other_coordinates_are_taken_as_they_are(crs):
    shapes = map_shapes(areas_of([box(0, 0, 4, 3)], crs), 340.0)
    assert shapes.width / shapes.height == pytest.approx(4 / 3)


def test_a_tall_map_does_not_fill_the_wall():
    shapes = map_shapes(areas_of([box(0, 0, 1, 30)]), 340.0)
    assert shapes.height <= 1.5 * 340
    assert shapes.width == pytest.approx(shapes.height / 30)


@pytest.mark.parametrize("draw", MAPS)
def test_one_area_is_a_map(draw, tmp_path):
    save(draw(results_of(table_of(1), squares(1))), tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size > 5000


def segments(vertices: np.ndarray) -> set[frozenset[tuple[float, float]]]:
    corners = [tuple(corner) for corner in vertices]
    return {frozenset(pair) for pair in pairwise(corners) if len(set(pair)) > 1}


def test_neighbours_still_touch_when_corners_are_left_out():
    """Every border is drawn twice, once from each side, wherever a polygon begins."""
    wiggle = np.column_stack([np.linspace(0, 100, 2001), 3 * np.sin(np.linspace(0, 400, 2001))])
    north = np.array([*wiggle, (100, 50), (0, 50)])
    south = np.array([*wiggle, (100, -50), (0, -50)])
    areas = areas_of([shapely.Polygon(north), shapely.Polygon(np.roll(south, 777, axis=0))])
    one, other = (segments(path.vertices) for path in map_shapes(areas, 340.0).paths)
    assert len(one & other) > 100, "the border"
    assert len(one - other) == len(other - one) == 3, "the three straight sides of each"
    assert len(one) < 2001


def test_shapes_are_simpler_but_as_large():
    rough = areas_of([Point(0, 0).buffer(1000, quad_segs=2000), box(2000, 0, 3000, 1000)])
    disc, square = map_shapes(rough, 340.0).paths
    assert len(disc.vertices) < 1000
    assert len(square.vertices) == 5
    by = 340 / 4000
    for path, want in ((disc, np.pi * 1000**2), (square, 1e6)):
        assert shapely.Polygon(path.vertices).area == pytest.approx(want * by**2, rel=0.01)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_hole_is_not_filled(turn):
    """Whichever way round it was given: SVG and PNG take a ring for a hole that runs backwards."""
    outer, inner = ([*box(a, a, 100 - a, 100 - a).exterior.coords] for a in (0, 40))
    ring = shapely.Polygon(outer, [inner[::turn]])
    path = map_shapes(areas_of([ring]), 340.0).paths[0]
    one, other = (shapely.LinearRing(part).is_ccw for part in path.to_polygons())
    assert one != other


def test_an_islet_can_be_seen():
    islet = map_shapes(areas_of([box(0, 0, 9e4, 9e4), box(9.9e4, 9.9e4, 1e5, 1e5)]), 340.0)
    assert islet.dots.tolist() == [1]
    assert np.ptp(islet.paths[1].vertices, axis=0).min() >= 4.5


def test_a_speck_among_others_can_be_seen_and_lies_on_top():
    speck = box(500, 500, 502, 502)
    around = box(0, 0, 1000, 1000).difference(speck)
    areas = areas_of([speck, around])
    figure = quality_map(results_of(table_of(2), areas))
    dot = patches(figure.axes[0])[1]
    assert np.ptp(dot.get_paths()[0].vertices, axis=0).min() >= 4.5
    assert np.array_equal(dot.get_facecolor()[0], colours(figure)[0])


def test_small_areas_side_by_side_need_no_dots():
    assert map_shapes(squares(100), 340.0).dots.size == 0


def test_dust_is_swept_away_but_not_an_area():
    pieces = [box(k, 0, k + 0.01, 0.01) for k in range(1, 50)]
    isles = shapely.MultiPolygon([box(0, 5, 50, 60), *map(shapely.Polygon, pieces)])
    assert len(map_shapes(areas_of([isles]), 340.0).paths[0].to_polygons()) == 1


# Enlarged.


def city(size: int) -> Areas:
    """Sixteen large areas, and a city of many small ones in the middle of them."""
    town = [
        box(1000 + 10 * i, 1000 + 10 * j, 1010 + 10 * i, 1010 + 10 * j)
        for i in range(size)
        for j in range(size)
    ]
    whole = shapely.union_all(town)
    corners = [(500 * i, 500 * j) for i in range(4) for j in range(4)]
    land = [box(x, y, x + 500, y + 500).difference(whole) for x, y in corners]
    return areas_of([*land, *town])


def test_a_crowded_part_is_shown_again_enlarged():
    areas = city(12)
    part = enlarged_part(areas, 340.0)
    assert part is not None
    west, south, east, north = part.window
    assert west < 170 + 10 < east < 340 / 2 + 40
    assert south < 170 + 10 < north
    assert len(set(part.areas) - set(range(16))) > 0.6 * 144, "most of the city is in it"
    small = np.ptp(part.shapes.paths[-1].vertices, axis=0).max()
    assert small > 2 * 10 * 340 / 2000, "and at least twice as large as on the map"


def test_what_is_enlarged_has_the_colours_of_the_map():
    areas = city(12)
    figure = quality_map(results_of(table_of(len(areas)), areas))
    part = enlarged_part(areas, 340.0)
    again = patches(figure.axes[-1])[0].get_facecolor()
    assert len(part.areas) < len(areas)
    assert np.array_equal(again, colours(figure)[part.areas])
    assert "enlarged" in words(figure)


@pytest.mark.parametrize("areas", [squares(60), city(4), Areas.synthetic(60, rng=7)])
def test_nothing_is_enlarged_where_it_is_not_crowded(areas):
    assert enlarged_part(areas, 340.0) is None


def test_nothing_is_enlarged_where_it_is_crowded_everywhere():
    everywhere = [box(i, j, i + 1, j + 1) for i in range(50) for j in range(50)]
    assert enlarged_part(areas_of(everywhere), 340.0) is None


# A real one.


@pytest.mark.slow
def test_450_areas_make_a_light_drawing(real, tmp_path):
    """Dar es Salaam: 452 areas with 112,000 corners in half a megabyte, part of it shown twice."""
    areas = Areas.read(real("data/dar-es-salaam-subwards.gpkg"), name="subwardName")
    table = table_of(len(areas), item=list(areas.items), name=list(areas.names))
    results = results_of(table, areas)
    for draw in MAPS:
        save(draw(results), tmp_path / "map.svg")
        assert (tmp_path / "map.svg").stat().st_size < 600_000


def test_a_map_far_from_home_is_no_larger_a_file(tmp_path):
    """Coordinates of ten digits are points on the page all the same."""
    sizes = []
    for away in (0, 5_000_000):
        shapes = [
            translate(scale(box(k, 0, k + 1, 1), 997, 991, origin=(0, 0)), away, away)
            for k in range(5)
        ]
        save(quality_map(results_of(table_of(5), areas_of(shapes))), tmp_path / "map.svg")
        sizes.append((tmp_path / "map.svg").stat().st_size)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)


def test_words_without_letters_in_the_font_give_way():
    """Better a legend that says `higher` than boxes."""
    wording = Wording(question="哪个更高？", higher="更高", lower="更低", noun="ward")
    text = words(quality_map(results_of(table_of(3), squares(3), wording=wording)))
    assert "更" not in text
    assert "higher" in text
