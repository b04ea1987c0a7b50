"""The ranking: everybody in the right place, and nothing that looks like more than it is."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from support.drawings import RISK, results_of, table_of, words
from tiewise.geo.colours import HIGH, LOW, NEUTRAL
from tiewise.plots.canvas import save
from tiewise.plots.ranking import MOST_NAMED, NAMED_AT_EACH_END, ranking_plot


def rows(figure: Figure) -> list[str]:
    """The labels of a ranking as they are seen, top first."""
    axes = figure.axes[0]
    labels = [label.get_text().replace(r"\$", "$") for label in axes.get_yticklabels()]
    return [label for _, label in sorted(zip(axes.get_yticks(), labels, strict=True), reverse=True)]


def dots(figure: Figure) -> dict[float, tuple[float, tuple[float, ...], tuple[float, ...]]]:
    """By height: the median, the colour of the dot, and that of its edge."""
    rows = {}
    for some in figure.axes[0].collections:
        for x, y in some.get_offsets():
            face, edge = some.get_facecolor()[0], some.get_edgecolor()[0]
            rows[float(y)] = (float(x), tuple(face), tuple(edge))
    return rows


def strokes(figure: Figure) -> dict[float, tuple[float, float, bool]]:
    """By height: both ends of the line, and whether it is dashed."""
    rows = {}
    for patch in figure.axes[0].patches:
        if isinstance(patch, PathPatch):
            for start, end in patch.get_path().vertices.reshape(-1, 2, 2):
                rows[float(start[1])] = (
                    start[0],
                    end[0],
                    patch.get_linestyle() not in ("-", "solid"),
                )
    return rows


def test_the_highest_stands_on_top():
    figure = ranking_plot(results_of(table_of(12)))
    assert rows(figure) == [f"Ward {k}" for k in range(1, 13)]


def test_every_item_has_its_own_dot_and_line():
    table = table_of(12)
    figure = ranking_plot(results_of(table))
    heights = sorted(figure.axes[0].get_yticks(), reverse=True)
    for (_, row), height in zip(table.iterrows(), heights, strict=True):
        assert dots(figure)[height][0] == row["median"]
        assert strokes(figure)[height][:2] == (row["q2.5"], row["q97.5"])


def test_colour_says_whether_the_interval_holds_the_average():
    figure = ranking_plot(results_of(table_of(5)))
    colours = [dots(figure)[height][1] for height in sorted(figure.axes[0].get_yticks())]
    assert colours == [to_rgba(c) for c in (LOW, LOW, NEUTRAL, HIGH, HIGH)]


def test_what_nobody_compared_is_open_and_dashed():
    figure = ranking_plot(results_of(table_of(5, comparisons=[10, 0, 10, 10, 0])))
    heights = sorted(figure.axes[0].get_yticks(), reverse=True)
    for height, silent in zip(heights, [False, True, False, False, True], strict=True):
        _, face, edge = dots(figure)[height]
        assert (face == to_rgba("white")) == silent
        assert edge != to_rgba("white")
        assert strokes(figure)[height][2] == silent
    assert "not compared: estimate borrowed from its neighbours" in words(figure)


def test_lines_part_bands_between_the_right_rows():
    table = table_of(6).assign(band=[1, 1, np.nan, np.nan, 2, 2])
    figure = ranking_plot(results_of(table))
    heights = sorted(figure.axes[0].get_yticks(), reverse=True)
    across = [line.get_ydata()[0] for line in figure.axes[0].lines if line.get_xdata()[0] == 0]
    drawn = sorted(set(across) - {0.0}, reverse=True)
    assert len(drawn) == 2
    assert heights[1] > drawn[0] > heights[2]
    assert heights[3] > drawn[1] > heights[4]
    assert "part bands" in words(figure)
    assert "part bands" not in words(ranking_plot(results_of(table_of(6))))


def test_where_all_were_compared_nothing_is_said_of_it():
    figure = ranking_plot(results_of(table_of(5)))
    assert "compared" not in words(figure)
    assert not any(dashed for *_, dashed in strokes(figure).values())


def test_about_a_hundred_items_are_all_named():
    assert len(rows(ranking_plot(results_of(table_of(100))))) == 100


def test_of_many_items_both_ends_are_named_and_all_are_drawn():
    count, ends = 400, NAMED_AT_EACH_END
    table = table_of(count)
    figure = ranking_plot(results_of(table))
    named = [f"Ward {k}" for k in (*range(1, ends + 1), *range(count - ends + 1, count + 1))]
    assert rows(figure) == named
    assert f"{count - 2 * ends} more between" in words(figure)
    medians = [x for _, (x, *_) in sorted(dots(figure).items(), reverse=True)]
    assert medians == pytest.approx(table["median"].tolist())


def test_thousands_of_items_are_no_higher_a_picture():
    two, ten = (ranking_plot(results_of(table_of(k))).get_size_inches()[1] for k in (2000, 10000))
    assert two == pytest.approx(ten, rel=0.1)


def test_how_many_are_named_can_be_chosen():
    figure = ranking_plot(results_of(table_of(30)), most=20, ends=3)
    assert rows(figure) == [f"Ward {k}" for k in (1, 2, 3, 28, 29, 30)]


def test_names_that_occur_twice_are_told_apart_by_id():
    """Also where the other one is among those without a name."""
    table = table_of(4, name=["Kitonga", "Masaki", "Ada", "Kitonga"])
    assert rows(ranking_plot(results_of(table))) == ["Kitonga (1)", "Masaki", "Ada", "Kitonga (4)"]
    many = table_of(200)
    many.loc[[0, 100], "name"] = "Kitonga"
    assert rows(ranking_plot(results_of(many)))[0] == "Kitonga (1)"


def test_odd_names_are_drawn_as_they_are(tmp_path):
    """Dollars are not mathematics, a name is one line, and none is endless."""
    names = ["$5 and $6", "a$b", "$\\frac{", "two\nlines", "x" * 200, "[b]", "\x1b[31m", "100 %"]
    figure = ranking_plot(results_of(table_of(8, name=names)))
    shown = rows(figure)
    assert shown[:4] == ["$5 and $6", "a$b", "$\\frac{", "two lines"]
    assert shown[4].startswith("xxxxx")
    assert shown[4].endswith("…")
    assert len(shown[4]) < 40
    assert shown[5:] == ["[b]", "[31m", "100 %"]
    save(figure, tmp_path / "ranking.svg")
    for text in figure.axes[0].get_yticklabels():
        assert text._preprocess_math(text.get_text())[1] is not True, "this would be mathematics"


def test_names_leave_half_of_the_room_to_the_intervals():
    """Also names of the widest letters, and with an id as long behind them."""
    table = table_of(3, name="W" * 200, item=[f"{k}{'M' * 40}" for k in range(3)])
    left, _, width, _ = ranking_plot(results_of(table)).axes[0].get_position().bounds
    assert width > 0.4
    assert left > 0.2
    assert len(set(rows(ranking_plot(results_of(table))))) == 3


def test_a_name_the_font_has_no_letters_for_is_shown_by_its_id():
    names = ["日本橋", "שכונה", "Ada"]
    assert rows(ranking_plot(results_of(table_of(3, name=names)))) == ["1", "שכונה", "Ada"]


def test_both_directions_are_said_in_words():
    text = words(ranking_plot(results_of(table_of(3))))
    assert "← lower risk" in text
    assert "higher risk →" in text
    assert RISK.question in text


def test_an_interval_without_end_is_left_out_and_the_dot_stays():
    table = table_of(4)
    table.loc[1, ["q2.5", "q97.5"]] = np.nan
    table.loc[2, "q97.5"] = np.inf
    figure = ranking_plot(results_of(table, kind="point"))
    assert len(strokes(figure)) == 2
    assert len(dots(figure)) == 4
    assert np.isfinite(figure.axes[0].get_xlim()).all()


@pytest.mark.parametrize("count", [1, 2, 3, MOST_NAMED, MOST_NAMED + 1])
def test_any_number_of_items_can_be_ranked(count, tmp_path):
    save(ranking_plot(results_of(table_of(count))), tmp_path / "ranking.png")
    assert (tmp_path / "ranking.png").stat().st_size > 5000
