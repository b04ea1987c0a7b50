"""A town of tiny areas in the middle of a county is found; a county without one has none."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from tiewise.geo.areas import Areas
from tiewise.geo.crowded import crowded_window
from tiewise.geo.outlines import project

RULES = {"legible": 55.0, "many": 12, "sides": (120.0, 200.0, 320.0, 400.0), "drawn": 720.0}


def county_with_town() -> np.ndarray:
    """Ten by ten fields of 200, of which the one at (1200, 600) is a town of 25 parts."""
    fields = [
        shapely.box(x, y, x + 200, y + 200)
        for x in range(0, 2000, 200) for y in range(0, 2000, 200) if (x, y) != (1200, 600)
    ]  # fmt: skip
    town = [
        shapely.box(x, y, x + 40, y + 40)
        for x in range(1200, 1400, 40) for y in range(600, 800, 40)
    ]  # fmt: skip
    return np.array(fields + town, object)


def test_the_town_is_found_whole_and_little_else():
    window = crowded_window(county_with_town(), **RULES)
    assert window == (1200, 600, 1400, 800)


@pytest.mark.parametrize("count", [12, 60])
def test_a_county_of_large_areas_has_no_crowded_centre(count):
    shapes = project(Areas.synthetic(count, rng=5), 2000, 2000)
    assert crowded_window(shapes, **RULES) is None


def test_a_few_small_islands_are_no_centre():
    rocks = [shapely.box(300 * k, 0, 300 * k + 5, 5) for k in range(14)]
    assert crowded_window(np.array(rocks, object), **RULES) is None


def test_the_old_town_of_dar_es_salaam_is_crowded(real):
    """Its smallest areas lie around Kariakoo; the window holds most of them in little land."""
    path = real("data/dar-es-salaam-subwards.gpkg")
    shapes = project(Areas.read(path, name="subwardName"), 2000, 2000)
    window = crowded_window(shapes, **RULES)
    assert window is not None
    inside = shapely.within(shapely.point_on_surface(shapes), shapely.box(*window))
    smallest = np.argsort(shapely.area(shapes))[: len(shapes) // 10]
    assert inside[smallest].mean() > 0.5
    assert shapely.area(shapes[inside]).sum() < 0.1 * shapely.area(shapes).sum()
