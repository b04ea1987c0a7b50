"""Every picture together: which there are, their words, their letters, the same twice over."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest

from support.drawings import RISK, results_of, squares, table_of, texts, words
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Network
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.plots.canvas import DPI, WIDTH, save, text_width, wrapped
from tiewise.plots.catalogue import draw, quality_map, ranking
from tiewise.posterior.fit import fit
from tiewise.report.folder import PICTURES, About, read_results, write_results

CHAINS = {"traces", "ranks", "autocorrelation"}
MAPS = {"map", "map-uncertainty", "map-faded", "map-top"}
ODD = [
    "$5 and $6", "\\frac{$}", "two\nlines", "x" * 200, "<b>&amp;", '"quoted"', "مدينة النور",
    "שכונת הגנים", "日本橋", "👍", "Twin", "Twin",
]  # fmt: skip


@pytest.fixture(scope="module")
def county(tmp_path_factory):
    """Twelve wards on a map, one of them never compared, fitted and read again."""
    areas = Areas.made_up(12, seed=5)
    prior, rng = Network(Graph.from_areas(areas)), np.random.default_rng(5)
    truth = Truth.drawn(prior, Fixed(1.5), Fixed(0.5), rng)
    asked = Truth(areas.items[1:], truth.quality[1:], truth.tie, truth.variance)
    tree = fit(
        BradleyTerry(simulate_counts(asked, 200, rng), prior), Transport(draws=640), seed=1,
        names=dict(zip(areas.items, areas.names, strict=True)),
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("county") / "out"
    write_results(tree, folder, about=RISK, areas=areas)
    return read_results(folder)


@pytest.fixture(scope="module")
def pictures(county):
    return {picture.name: picture for picture in draw(county)}


# Which there are.


def test_there_is_every_picture_in_its_order(pictures):
    assert tuple(pictures) == PICTURES


def test_pictures_come_one_at_a_time(county):
    """A report of twenty would else hold twenty figures at once."""
    begun = draw(county)
    assert isinstance(begun, Iterator)
    assert next(begun).name == "map"


def test_without_geometry_there_is_everything_but_maps(village, tmp_path):
    results = write_results(fit(village.model, Transport(draws=400), seed=1), tmp_path / "out")
    assert {picture.name for picture in draw(results)} == set(PICTURES) - MAPS


@pytest.mark.parametrize(
    ("engine", "missing"),
    [
        (Laplace(draws=200), CHAINS),
        (MaximumLikelihood(), CHAINS | {"map-top", "parameters", "prior-to-posterior", "checks"}),
        (CaronDoucet(draws=400), {"prior-to-posterior"}),
    ],
)
def test_an_engine_has_the_pictures_that_it_can_fill(engine, missing, village, tmp_path):
    model = BradleyTerry(village.counts)
    areas = squares(8, name=list(village.counts.items))
    areas = Areas(village.counts.items, areas.names, None, areas.geometry)
    results = write_results(fit(model, engine, seed=1), tmp_path / "out", areas=areas)
    assert {picture.name for picture in draw(results)} == set(PICTURES) - missing


def test_without_ties_there_is_no_curve_of_ties(village, tmp_path):
    model = BradleyTerry(village.counts.without_ties(), tie=None, variance=Fixed(1.0))
    results = write_results(fit(model, Transport(draws=400), seed=1), tmp_path / "out")
    names = {picture.name for picture in draw(results)}
    assert names == set(PICTURES) - MAPS - {"tie-curve", "parameters"}


@pytest.mark.parametrize("count", [1, 2])
def test_a_study_of_next_to_nothing_has_pictures(count):
    """One item, or two: nothing to rank, but nothing to stumble over either."""
    draws = None if count == 2 else np.zeros((4, 100, 1))
    results = results_of(table_of(count), squares(count), about=About(top=1), draws=draws,
                         pairs=[(0, count - 1, 5, 5, 5)])  # fmt: skip
    names = {picture.name for picture in draw(results)}
    assert {"map", "ranking"} <= names


# Words for those who cannot see them.


def test_every_picture_is_told_in_a_sentence_or_two(pictures):
    for picture in pictures.values():
        assert 40 < len(picture.alt) < 600
        assert picture.alt.endswith(".")
        assert "nan" not in picture.alt
        assert "\n" not in picture.alt
        assert 0 < len(picture.title) < 30


def test_the_words_tell_what_was_found(county, pictures):
    table = county.items
    for name in ("map", "ranking"):
        for k in (0, 1, 2, -1):
            assert table["name"].iloc[k] in pictures[name].alt
    likeliest = table.loc[table["top_k_probability"].idxmax(), "name"]
    assert likeliest in pictures["map-top"].alt
    assert table.loc[table["sd"].idxmax(), "name"] in pictures["map-uncertainty"].alt
    clear = int((table["q2.5"] > 0).sum()), int((table["q97.5"] < 0).sum())
    assert (
        "of {} lies wholly above the average, that of {} below".format(*clear)
        in pictures["ranking"].alt
    )
    tie = county.tree["posterior/tie"].to_numpy()
    assert f"{100 * np.median(np.tanh(tie / 2)):.0f} %" in pictures["tie-curve"].alt
    assert f"{np.median(tie):.2f}" in pictures["parameters"].alt


def test_an_item_nobody_compared_is_never_named_as_if_it_had_been(county, pictures):
    (silent,) = county.items.loc[county.items["comparisons"] == 0, "name"]
    for picture in pictures.values():
        assert picture.alt.count(silent) == picture.alt.count(f"{silent} (never compared)")
    for name in (*MAPS, "ranking", "prior-to-posterior"):
        assert "1 ward was never compared and is marked" in pictures[name].alt


# Letters.


def page_of(figure):
    """How far every text reaches beyond the page, in points; negative inside it."""
    figure.set_dpi(DPI)
    width, height = figure.get_size_inches() * DPI
    for text in texts(figure):
        box = text.get_window_extent()
        over = max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)
        yield text.get_text(), over * 72 / DPI


@pytest.mark.filterwarnings("ignore:Glyph")
def test_no_letter_is_cut_off_or_too_small_to_read(pictures):
    """On a page 5 inches wide; 9 points are 8 pixels on the narrowest phone."""
    for picture in pictures.values():
        assert picture.figure.get_size_inches()[0] * 72 == WIDTH
        for said, over in page_of(picture.figure):
            assert over <= 0, f"{picture.name}: {said}"
        assert all(text.get_size() >= 9 for text in texts(picture.figure))


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("size", [12, 300])
def test_long_words_stay_on_the_page(size):
    about = About(
        question="Which of these two places would you rather not walk through at night? " * 3,
        higher="a much higher risk of everything that can go wrong " * 2,
        lower="Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 2,
        noun="neighbourhood/neighbourhoods",
        top=3,
    )
    table = table_of(size, name=[ODD[k % 12] for k in range(size)], comparisons=np.arange(size) % 7)
    for picture in draw(results_of(table, squares(size), about=about)):
        for said, over in page_of(picture.figure):
            assert over <= 0, f"{picture.name}: {said}"


def test_a_line_is_broken_before_it_is_too_wide():
    text = "Which of these two places " * 5 + "y" * 200
    lines = wrapped(text, 13, 340, weight="bold", most=20)
    assert len(lines) > 3
    assert max(text_width(line, 13, "bold") for line in lines) <= 340
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrapped(text, 13, 340, most=2)[-1].endswith("…")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_no_name_makes_a_warning(kind, tmp_path):
    table = table_of(12, name=ODD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for picture in draw(results_of(table, squares(12), about=About(question="哪个？ 👍"))):
            save(picture.figure, tmp_path / f"{picture.name}.{kind}")


# Files.


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_results_give_the_same_bytes(kind, county, tmp_path):
    for turn in ("one", "two"):
        (tmp_path / turn).mkdir()
        for picture in draw(read_results(county.folder)):
            save(picture.figure, tmp_path / turn / f"{picture.name}.{kind}")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_users_own_style_does_not_change_a_picture(tmp_path):
    results = results_of(table_of(4), squares(4))
    save(quality_map(results), tmp_path / "one.svg")
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "black", "svg.fonttype": "none"}):
        save(quality_map(results), tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_users_own_font_is_used(tmp_path):
    with mpl.rc_context({"font.family": "DejaVu Serif"}):
        save(ranking(results_of(table_of(3))), tmp_path / "ranking.svg")
    assert "DejaVuSerif" in (tmp_path / "ranking.svg").read_text(encoding="utf-8")


def test_drawing_leaves_settings_as_they_were():
    before = dict(mpl.rcParams)
    quality_map(results_of(table_of(3), squares(3)))
    assert dict(mpl.rcParams) == before


def test_lines_are_written_to_the_hundredth_of_a_point(tmp_path):
    figure = quality_map(results_of(table_of(3), squares(3)))
    save(figure, tmp_path / "light.svg")
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(tmp_path / "heavy.svg")
    text = (tmp_path / "light.svg").read_text(encoding="utf-8")
    paths = [part.split('"')[0] for part in text.split(' d="')[1:]]
    numbers = [number for path in paths for number in path.split() if "." in number]
    assert len(numbers) > 100
    assert all(len(number.split(".")[1]) <= 2 for number in numbers)


def test_a_picture_can_be_changed():
    figure = quality_map(results_of(table_of(3), squares(3)), title="Another title")
    figure.axes[0].text(1, 1, "our office")
    assert "our office" in words(figure)
    assert "Another title" in words(figure)
