"""Pictures: everything that is to be seen is drawn, and the same twice over."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from shapely import box

from tiewise.core.areas import Areas
from tiewise.results.pictures import HIGH, LOW, MOST_SHOWN, quality_map, ranking, save


def table_of(count: int, **columns: object) -> pd.DataFrame:
    """A table of items, from quality 2 down to −2, with intervals half a unit either way."""
    middle = np.linspace(2, -2, count)
    told = {
        "item": [str(k + 1) for k in range(count)], "name": [f"Ward {k + 1}" for k in range(count)],
        "mean": middle, "median": middle, "sd": 0.25, "q2.5": middle - 0.5, "q97.5": middle + 0.5,
        "comparisons": 10,
    }  # fmt: skip
    return pd.DataFrame(told | columns)


def squares(count: int, *, crs: str | None = "EPSG:27700", **columns: object) -> Areas:
    """Squares in a row, a kilometre each."""
    shapes = [box(1000 * k, 0, 1000 * (k + 1), 1000) for k in range(count)]
    ids = {"id": [str(k + 1) for k in range(count)]}
    return Areas.read(geopandas.GeoDataFrame(ids | columns, geometry=shapes, crs=crs))


def patches(figure) -> list[PatchCollection]:
    return [c for c in figure.axes[0].collections if isinstance(c, PatchCollection)]


def colours(figure) -> np.ndarray:
    """Red, green, blue, alpha of each area, in the order of the map."""
    filled = patches(figure)[0]
    return filled.to_rgba(filled.get_array())


def words(figure) -> str:
    figure.draw_without_rendering()
    texts = figure.findobj(lambda thing: hasattr(thing, "get_text"))
    return "\n".join(text.get_text() for text in texts)


def rows(figure) -> list[str]:
    """The labels of a ranking as they are seen, top first."""
    labels = [label.get_text().replace(r"\$", "$") for label in figure.axes[0].get_yticklabels()]
    heights = figure.axes[0].get_yticks()
    return [label for _, label in sorted(zip(heights, labels, strict=True), reverse=True)]


# The map.


def test_red_is_higher_blue_lower_and_white_the_average():
    figure = quality_map(table_of(5), squares(5), question="Which?")
    red, _, blue, _ = colours(figure).T
    warmth = red - blue
    assert (warmth[:2] > 0.2).all()
    assert (warmth[3:] < -0.2).all()
    assert colours(figure)[2].min() > 0.95


def test_the_map_follows_ids_and_not_the_order_of_rows():
    straight = quality_map(table_of(5), squares(5), question="Which?")
    turned = quality_map(table_of(5).iloc[::-1], squares(5), question="Which?")
    assert np.array_equal(colours(straight), colours(turned))
    assert not np.array_equal(colours(straight)[0], colours(straight)[4])


def test_areas_nobody_compared_are_hatched_and_explained():
    table = table_of(5, comparisons=[10, 0, 10, 10, 0])
    figure = quality_map(table, squares(5), question="Which?")
    hatched = [patch for patch in patches(figure) if patch.get_hatch()]
    assert len(hatched) == 1
    left = sorted(path.vertices[:, 0].min() for path in hatched[0].get_paths())
    assert left == [1000, 4000]
    assert "never compared" in words(figure)


def test_a_map_where_all_were_compared_has_no_hatching():
    figure = quality_map(table_of(5), squares(5), question="Which?")
    assert not any(patch.get_hatch() for patch in patches(figure))
    assert "never compared" not in words(figure)


def test_groups_are_outlined_where_there_are_any():
    plain = quality_map(table_of(4), squares(4), question="Which?")
    grouped = squares(4, group=["east", "east", "west", ""])
    figure = quality_map(table_of(4), grouped, question="Which?")
    extra = len(figure.axes[0].collections) - len(plain.axes[0].collections)
    assert extra == 1
    outlines = figure.axes[0].collections[-1].get_paths()
    assert len(outlines) == 3


@pytest.mark.parametrize("crs", ["EPSG:27700", "EPSG:4326", None])
def test_a_map_is_drawn_whatever_its_coordinates(crs, tmp_path):
    shapes = [box(0.01 * k, 55, 0.01 * (k + 1), 55.01) for k in range(3)]
    frame = geopandas.GeoDataFrame({"id": ["1", "2", "3"]}, geometry=shapes, crs=crs)
    figure = quality_map(table_of(3), Areas.read(frame), question="Which?")
    save(figure, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000


def test_equal_qualities_are_a_white_map():
    table = table_of(3, median=0.0)
    assert colours(quality_map(table, squares(3), question="Which?")).min() > 0.95


# The ranking.


def test_the_highest_stands_on_top():
    assert rows(ranking(table_of(12), question="Which?")) == [f"Ward {k}" for k in range(1, 13)]


def test_colour_says_whether_the_interval_holds_the_average():
    figure = ranking(table_of(5), question="Which?")
    dots = figure.axes[0].collections[1].get_facecolor()
    assert np.allclose(dots[0], to_rgba(HIGH))
    assert np.allclose(dots[-1], to_rgba(LOW))
    assert not any(np.allclose(dots[2], to_rgba(colour)) for colour in (HIGH, LOW))


def test_of_many_items_both_ends_are_shown_and_the_rest_counted():
    figure = ranking(table_of(200), question="Which?")
    shown = rows(figure)
    half = MOST_SHOWN // 2
    assert shown[:half] == [f"Ward {k}" for k in range(1, half + 1)]
    assert shown[half:] == [f"Ward {k}" for k in range(200 - half + 1, 201)]
    assert f"{200 - MOST_SHOWN} more between" in words(figure)


def test_names_that_occur_twice_are_told_apart_by_id():
    table = table_of(4, name=["Kitonga", "Masaki", "Ada", "Kitonga"])
    assert rows(ranking(table, question="Which?")) == [
        "Kitonga (1)", "Masaki", "Ada", "Kitonga (4)",
    ]  # fmt: skip


def test_odd_names_are_drawn_as_they_are(tmp_path):
    """Dollars are not mathematics, a name is one line, and none is endless."""
    names = ["$5 and $6", "a$b", "$\\frac{", "two\nlines", "x" * 200, "[b]", "\x1b[31m", "100 %"]
    figure = ranking(table_of(8, name=names), question="Is it $5 or $10?")
    shown = rows(figure)
    assert shown[:4] == ["$5 and $6", "a$b", "$\\frac{", "two lines"]
    assert shown[4] == "x" * 31 + "…"
    assert shown[5:] == ["[b]", "[31m", "100 %"]
    save(figure, tmp_path / "ranking.svg")
    for text in figure.axes[0].get_yticklabels():
        assert text._preprocess_math(text.get_text())[1] is not True, "this would be mathematics"


def test_a_long_question_is_wrapped():
    figure = ranking(table_of(3), question="Which of these two places " * 5)
    lines = figure.get_suptitle().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("count", [2, 3, MOST_SHOWN, MOST_SHOWN + 1])
def test_any_number_of_items_can_be_ranked(count, tmp_path):
    save(ranking(table_of(count), question="Which?"), tmp_path / "ranking.png")
    assert (tmp_path / "ranking.png").stat().st_size > 5000


# Both.


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_input_gives_the_same_bytes(kind, tmp_path):
    table, areas = table_of(4, comparisons=[1, 0, 2, 3]), squares(4, group=["a", "a", "b", "b"])
    for turn in ("one", "two"):
        save(ranking(table, question="Which?"), tmp_path / f"{turn}-ranking.{kind}")
        save(quality_map(table, areas, question="Which?"), tmp_path / f"{turn}-map.{kind}")
    for what in ("ranking", "map"):
        one, two = (Path(tmp_path, f"{turn}-{what}.{kind}").read_bytes() for turn in ("one", "two"))
        assert one == two


@pytest.mark.parametrize("draw", ["map", "ranking"])
def test_every_picture_says_what_higher_means(draw):
    table = table_of(3)
    if draw == "map":
        figure = quality_map(table, squares(3), question="Which is older?")
    else:
        figure = ranking(table, question="Which is older?")
    assert "higher: chosen more often" in words(figure)
    assert "Which is older?" in words(figure)
