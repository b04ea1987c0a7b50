"""Every picture together: which there are, their words, their letters, the same twice over."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from support.drawings import RISK, results_of, squares, table_of, texts, words
from support.everyday import everyday
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.plots import PLOT_FILES, PLOTS
from tiewise.plots.canvas import DPI, WIDTH, save, text_width, wrap
from tiewise.plots.catalogue import available_plots, draw_plots
from tiewise.plots.maps import quality_map
from tiewise.plots.ranking import ranking_plot
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import Wording, read_results, write_results_folder
from tiewise.text import probability_percent

WITHOUT_TERMS = (
    "map", "map-uncertainty", "map-faded", "map-top", "ranking", "tie-curve", "parameters",
    "prior-to-posterior", "checks", "traces", "ranks", "autocorrelation",
)  # fmt: skip
TERMS = {"coefficients", "difference", "difference-real", "judge-terms"}
CHAINS = {"traces", "ranks", "autocorrelation"}
MAPS = {"map", "map-uncertainty", "map-faded", "map-top"}
ODD = [
    "$5 and $6", "\\frac{$}", "two\nlines", "x" * 200, "<b>&amp;", '"quoted"', "مدينة النور",
    "שכונת הגנים", "日本橋", "👍", "Twin", "Twin",
]  # fmt: skip


@pytest.fixture(scope="module")
def county(tmp_path_factory):
    """Twelve wards on a map, one of them never compared, fitted and read again."""
    areas = Areas.synthetic(12, rng=5)
    prior, rng = Network(Graph.from_areas(areas)), np.random.default_rng(5)
    truth = Truth.from_priors(prior, Fixed(1.5), Fixed(0.5), rng)
    compared = Truth(areas.items[1:], truth.quality[1:], truth.tie, truth.variance)
    tree = fit(
        BradleyTerry(simulate_counts(compared, 200, rng), prior), Transport(draws=640), rng=1,
        names=dict(zip(areas.items, areas.names, strict=True)),
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("county") / "out"
    write_results_folder(tree, folder, wording=RISK, areas=areas)
    return read_results(folder)


@pytest.fixture(scope="module")
def plots(county):
    return {plot.name: plot for plot in draw_plots(county)}


# Which there are.


def test_there_is_every_picture_in_its_order(plots):
    assert tuple(plots) == WITHOUT_TERMS


def test_every_plot_has_a_name_of_its_own():
    names = list(PLOTS)
    assert sorted(names) == sorted({*WITHOUT_TERMS, *TERMS})
    assert set(PLOT_FILES) == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}


def test_old_plots_go_with_the_results_they_showed(county, tmp_path):
    """A file of the user's own in the same folder stays."""
    write_results_folder(county.tree, tmp_path / "out")
    plots = tmp_path / "out" / "pictures"
    plots.mkdir()
    for name in ("difference.svg", "ours.svg"):
        (plots / name).touch()
    write_results_folder(county.tree, tmp_path / "out", force=True, replaces=PLOT_FILES)
    assert [path.name for path in plots.iterdir()] == ["ours.svg"]


def test_pictures_come_one_at_a_time(county):
    """A report of twenty would else hold twenty figures at once."""
    begun = draw_plots(county)
    assert isinstance(begun, Iterator)
    assert next(begun).name == "map"


def test_without_geometry_there_is_everything_but_maps(village, tmp_path):
    results = write_results_folder(
        fit(village.model, Transport(draws=400), rng=1), tmp_path / "out"
    )
    assert {plot.name for plot in draw_plots(results)} == set(WITHOUT_TERMS) - MAPS


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
    results = write_results_folder(fit(model, engine, rng=1), tmp_path / "out", areas=areas)
    assert {plot.name for plot in draw_plots(results)} == set(WITHOUT_TERMS) - missing


def test_without_ties_there_is_no_curve_of_ties(village, tmp_path):
    model = BradleyTerry(village.counts.without_ties(), tie=None, variance=Fixed(1.0))
    results = write_results_folder(fit(model, Transport(draws=400), rng=1), tmp_path / "out")
    names = {plot.name for plot in draw_plots(results)}
    assert names == set(WITHOUT_TERMS) - MAPS - {"tie-curve", "parameters"}


@pytest.mark.parametrize("count", [1, 2])
def test_a_study_of_next_to_nothing_has_pictures(count):
    """One item, or two: nothing to rank, but nothing to stumble over either."""
    draws = None if count == 2 else np.zeros((4, 100, 1))
    results = results_of(table_of(count), squares(count), wording=Wording(top=1), draws=draws,
                         pairs=[(0, count - 1, 5, 5, 5)])  # fmt: skip
    names = {plot.name for plot in draw_plots(results)}
    assert {"map", "ranking"} <= names


# Words for those who cannot see them.


def test_every_picture_is_told_in_a_sentence_or_two(plots):
    for plot in plots.values():
        assert 40 < len(plot.alt) < 600
        assert plot.alt.endswith(".")
        assert "nan" not in plot.alt
        assert "\n" not in plot.alt
        assert 0 < len(plot.title) < 30


def test_the_words_tell_what_was_found(county, plots):
    table = county.items
    for name in ("map", "ranking"):
        for k in (0, 1, 2, -1):
            assert table["name"].iloc[k] in plots[name].alt
    likeliest = table.loc[table["top_k_probability"].idxmax(), "name"]
    assert likeliest in plots["map-top"].alt
    assert table.loc[table["sd"].idxmax(), "name"] in plots["map-uncertainty"].alt
    clear = int((table["q2.5"] > 0).sum()), int((table["q97.5"] < 0).sum())
    assert (
        "of {} lies wholly above the average, that of {} below".format(*clear)
        in plots["ranking"].alt
    )
    tie = county.tree["posterior/tie"].to_numpy()
    share = probability_percent(np.median(np.tanh(tie / 2)))
    assert f"about equal: {share} (" in plots["tie-curve"].alt
    assert f"{np.median(tie):.2f}" in plots["parameters"].alt


def test_an_item_nobody_compared_is_never_named_as_if_it_had_been(county, plots):
    (silent,) = county.items.loc[county.items["comparisons"] == 0, "name"]
    for plot in plots.values():
        assert plot.alt.count(silent) == plot.alt.count(f"{silent} (never compared)")
    for name in (*MAPS, "ranking", "prior-to-posterior"):
        assert "1 ward was never compared and is marked" in plots[name].alt


# Letters.


def page_of(figure):
    """How far every text reaches beyond the page, in points; negative inside it."""
    figure.set_dpi(DPI)
    width, height = figure.get_size_inches() * DPI
    for text in texts(figure):
        box = text.get_window_extent()
        over = max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)
        yield text.get_text(), over * 72 / DPI


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
def test_no_letter_is_cut_off_or_too_small_to_read(plots):
    """On a page 5 inches wide; 9 points are 8 pixels on the narrowest phone."""
    for plot in plots.values():
        assert plot.figure.get_size_inches()[0] * 72 == WIDTH
        for text, excess in page_of(plot.figure):
            assert excess <= 0, f"{plot.name}: {text}"
        assert all(text.get_size() >= 9 for text in texts(plot.figure))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("size", everyday([12, 300], 12))
def test_long_words_stay_on_the_page(size):
    wording = Wording(
        question="Which of these two places would you rather not walk through at night? " * 3,
        higher="a much higher risk of everything that can go wrong " * 2,
        lower="Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 2,
        noun="neighbourhood/neighbourhoods",
        top=3,
    )
    table = table_of(size, name=[ODD[k % 12] for k in range(size)], comparisons=np.arange(size) % 7)
    for plot in draw_plots(results_of(table, squares(size), wording=wording)):
        for text, excess in page_of(plot.figure):
            assert excess <= 0, f"{plot.name}: {text}"


def test_a_line_is_broken_before_it_is_too_wide():
    text = "Which of these two places " * 5 + "y" * 200
    lines = wrap(text, 13, 340, weight="bold", most=20)
    assert len(lines) > 3
    assert max(text_width(line, 13, "bold") for line in lines) <= 340
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrap(text, 13, 340, most=2)[-1].endswith("…")


@pytest.mark.parametrize("width", [60, 150, 340])
def test_no_word_would_have_fitted_on_the_line_before(width):
    lines = wrap("who said that a line must be as long as it can be, short words or not? " * 4, 10,
                 width, most=99)  # fmt: skip
    assert len(lines) > 2
    for line, after in itertools.pairwise(lines):
        assert text_width(line, 10) <= 0.98 * width
        assert text_width(f"{line} {after.split()[0]}", 10) > 0.98 * width


@pytest.mark.slow
@pytest.mark.parametrize("kind", everyday(["png", "svg"], "svg"))
def test_no_name_makes_a_warning(kind, tmp_path):
    table = table_of(12, name=ODD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for plot in draw_plots(
            results_of(table, squares(12), wording=Wording(question="哪个？ 👍"))
        ):
            save(plot.figure, tmp_path / f"{plot.name}.{kind}")


# Files.


@pytest.mark.slow
@pytest.mark.parametrize("kind", everyday(["png", "svg"], "svg"))
def test_the_same_results_give_the_same_bytes(kind, county, tmp_path):
    for turn in ("one", "two"):
        (tmp_path / turn).mkdir()
        for plot in draw_plots(read_results(county.folder)):
            save(plot.figure, tmp_path / turn / f"{plot.name}.{kind}")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.slow
def test_pictures_that_do_not_wait_for_the_verdict_do_not_depend_on_it(county, tmp_path):
    """A report begins with them before there is one: it must not show what is then withheld."""
    for headline in (True, False):
        place = tmp_path / str(headline)
        place.mkdir()
        results = read_results(county.folder)
        verdict = {"level": "ok", "text": "", "top": 3, "headline": headline}
        results = replace(results, facts={**results.facts, "verdict": verdict})
        for definition in available_plots(results, criticism=False):
            plot = definition.draw(results)
            save(plot.figure, place / f"{plot.name}.svg")
            (place / f"{plot.name}.txt").write_text(plot.alt, encoding="utf-8")
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / which).iterdir()}
        for which in ("True", "False")
    )
    assert one == two


@pytest.mark.slow
def test_a_users_own_style_does_not_change_a_picture(tmp_path):
    results = results_of(table_of(4), squares(4))
    save(quality_map(results), tmp_path / "one.svg")
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "black", "svg.fonttype": "none"}):
        save(quality_map(results), tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_users_own_font_is_used(tmp_path):
    with mpl.rc_context({"font.family": "DejaVu Serif"}):
        save(ranking_plot(results_of(table_of(3))), tmp_path / "ranking.svg")
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
