"""What researchers and partners are told: figures from facts, and pages without scripts."""

from __future__ import annotations

import html
import json
import re
import time
from array import array
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from support.form_browser import Visitor
from support.judging import add_answer, add_judge
from support.site import copy_study, edited, with_database
from support.snapshots import add_snapshot, body, judge_row
from tiewise.criticism.verdict import Verdict
from tiewise.criticism.verdict_parts import VerdictPart
from tiewise.data.answers import FIRST, SECOND, SKIP, TIE
from tiewise.geo.areas import Areas
from tiewise.pairing.policies import OrderedPair
from tiewise.study.activity import ActivityCache, DayCount
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.export import comparison_rows
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Item, Study
from tiewise.study.values import Kind, Phase, TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.cache import Failure, pack_failure, pack_rows
from tiewise.web.researcher import charts, choropleth, wording
from tiewise.web.researcher.estimates import (
    ItemEstimate,
    ShownScale,
    connectedness,
    early_sentence,
    item_estimates,
    least_compared,
    sort_estimates,
    top_and_bottom,
)
from tiewise.web.researcher.forecast import Forecast, daily_rate, forecast, forecast_sentence
from tiewise.web.researcher.history import (
    MISSING,
    HistoryFrame,
    SnapshotHistory,
    evenly_spaced,
    history_scale,
    without_superseded,
)

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
AB, BC = OrderedPair("a", "b"), OrderedPair("b", "c")


def days(*counts: int) -> list[DayCount]:
    """Comparisons of consecutive days, today last."""
    return [
        DayCount(NOON.date() - timedelta(days=back), count)
        for back, count in zip(range(len(counts) - 1, -1, -1), counts, strict=True)
    ]


def row(key: int = 0, **other) -> ItemEstimate:
    made = {
        "key": key, "item": str(key), "name": f"ward {key}", "group": "", "position": key + 1,
        "rank_low": 1, "rank_high": 9, "estimate": 0.0, "low": -0.5, "high": 0.5, "sd": 0.25,
        "side": "", "top": 0.5, "comparisons": 10, "part": 0,
    }  # fmt: skip
    return ItemEstimate(**made | other)


# When it will be enough.


def test_the_pace_is_that_of_the_last_week_and_no_older():
    """Six and a half days with 650 comparisons are a hundred a day, whatever was before."""
    counted = days(5000, *[100] * 6, 50)
    assert daily_rate(counted, begun=NOON - timedelta(days=60), now=NOON) == pytest.approx(100)


def test_a_study_younger_than_a_week_has_the_pace_since_it_began():
    assert daily_rate(days(30, 50), begun=NOON - timedelta(days=1), now=NOON) == pytest.approx(80)


def test_the_first_minutes_are_no_pace_yet():
    """Five answers in five minutes are counted as five in an hour, not sixty."""
    result = daily_rate(days(5), begun=NOON - timedelta(minutes=5), now=NOON)
    assert result == pytest.approx(5 * 24)


def test_the_goal_is_reached_on_the_day_that_division_says():
    result = forecast(
        1000, 700, days(*[100] * 6, 50), begun=NOON - timedelta(days=60), now=NOON
    )  # fmt: skip
    assert result.missing == 300
    assert result.day == date(2026, 3, 13)  # three days at a hundred a day
    assert forecast_sentence(result, NOON) == (
        "At the pace of the last days (100 a day) it is reached in 3 days, around 13 March 2026."
    )


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Forecast(10.0, 0, None), "reached"),
        (Forecast(0.0, 5, None), "Nobody has judged in the last 7 days"),
        (Forecast(1.5, 9000, None), "more than a year"),
        (Forecast(90.0, 2, NOON.date()), "later today"),
        (Forecast(90.0, 80, date(2026, 3, 11)), "tomorrow"),
    ],
)
def test_a_forecast_is_honest_in_words(result, words):
    assert words in forecast_sentence(result, NOON)


def test_without_anybody_lately_there_is_no_day():
    quiet = days(500, *[0] * 9)
    result = forecast(1000, 500, quiet, begun=NOON - timedelta(days=9), now=NOON)
    assert result == Forecast(0.0, 500, None)


def test_what_would_take_more_than_a_year_has_no_day():
    slow = forecast(10_000, 1, days(1), begun=NOON - timedelta(days=1), now=NOON)
    assert slow.day is None
    assert slow.missing == 9999


# Who did what when.


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """An empty database of each kind."""
    url = (
        f"sqlite:///{tmp_path / 'pace.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgresql")()
    )
    opened = JudgeStore(url)
    yield opened
    opened.close()


def test_days_count_what_a_fit_would_count(store):
    """No practice, no skips, nothing taken back, nobody left out; the export is the witness."""
    good, bad = add_judge(store), add_judge(store)
    add_answer(store, good, AB, FIRST, Kind.PRACTICE)
    add_answer(store, good, AB, FIRST)
    add_answer(store, good, BC, TIE)
    add_answer(store, good, OrderedPair("a", "c"), SKIP)
    add_answer(store, good, OrderedPair("c", "d"), SECOND)
    store.undo(good)
    add_answer(store, bad, AB, SECOND)
    ResearcherStore(store).exclude(bad.id, "clicked at random")
    counted = [one for one in comparison_rows(store) if one[5] != "skipped"]
    assert len(counted) == 2
    assert ActivityCache(store).activity().days == [DayCount(now().date(), 2)]


def test_days_are_told_apart_and_in_order(store):
    """Times are UTC, to the day on which they fall there."""
    late = datetime(2026, 3, 8, 23, 59, 59, tzinfo=UTC)
    store.import_judgements(
        [
            {"judge": "j", "left": "a", "right": "b", "outcome": "tie", "answered": at}
            for at in (NOON, late, late + timedelta(seconds=1), NOON)
        ],
        consent="1",
    )
    assert ActivityCache(store).activity().days == [
        DayCount(date(2026, 3, 8), 1), DayCount(date(2026, 3, 9), 1),
        DayCount(date(2026, 3, 10), 2),
    ]  # fmt: skip
    assert ActivityCache(store).activity().begun == late


def test_turnout_counts_judges_once_and_by_when_they_were_last_there(store):
    rows = [
        {"judge": judge, "left": "a", "right": "b", "outcome": "left", "answered": NOON - back}
        for judge, back in [
            ("old", timedelta(days=3)), ("today", timedelta(hours=5)), ("now", timedelta(0)),
            ("now", timedelta(minutes=1)), ("now", timedelta(days=2)),
        ]
    ]  # fmt: skip
    store.import_judgements(rows, consent="1")
    add_judge(store)  # who has not judged yet
    assert ActivityCache(store).activity().turnout(NOON) == (3, 2, 1)


def test_before_the_first_judgement_there_are_no_days(store):
    assert ActivityCache(store).activity().days == []
    assert ActivityCache(store).activity().begun is None
    assert ActivityCache(store).activity().turnout(NOON) == (0, 0, 0)


# Items in words.


def studied(*named: tuple[str, str]) -> dict[str, Item]:
    return {id_: Item(id_, name) for id_, name in named}


def test_the_highest_comes_first_and_names_that_are_shared_have_their_id(tmp_path):
    items = studied(("1", "Mill"), ("2", "Mill"), ("3", "Kiln"))
    result = item_estimates(
        body(["1", "2", "3", "gone"], [0.1, 0.7, -0.8, 5.0]), Study(tmp_path, None, items)
    )
    assert [one.name for one in result] == ["Mill (2)", "Mill (1)", "Kiln"]
    assert [one.key for one in result] == [1, 0, 2]
    assert [one.position for one in result] == [1, 2, 3]


def test_the_order_is_that_of_means_as_in_the_report(tmp_path):
    """Medians of nearly equal items may lie the other way round."""
    items = studied(("1", "Mill"), ("2", "Kiln"))
    values = body(["1", "2"], [0.2, 0.1], mean=[0.1, 0.2], rank_low=[1, 1], rank_high=[2, 1])
    result = item_estimates(values, Study(tmp_path, None, items))
    assert [(one.name, one.estimate, one.could_be) for one in result] == [
        ("Kiln", 0.2, "1"), ("Mill", 0.1, "1 to 2"),
    ]  # fmt: skip


def test_a_side_is_taken_only_by_the_whole_interval(tmp_path):
    items = studied(*((item, item) for item in "abc"))
    values = body([*"abc"], [0.6, -0.6, 0.4])  # half a unit to both sides
    result = item_estimates(values, Study(tmp_path, None, items))
    assert {one.item: one.side for one in result} == {"a": "above", "b": "below", "c": ""}


def test_the_thinnest_are_those_with_the_fewest_comparisons():
    rows = [row(k, comparisons=count) for k, count in enumerate([9, 3, 5, 0, 7])]
    assert [one.comparisons for one in least_compared(rows, 3)] == [0, 3, 5]


def test_a_short_list_is_shown_whole():
    assert [len(part) for part in top_and_bottom([row(k) for k in range(16)])] == [16, 0]
    assert [len(part) for part in top_and_bottom([row(k) for k in range(17)])] == [10, 5]


@pytest.mark.parametrize(
    ("comparisons", "words"),
    [
        (1, "Too early to read: there is 1 judgement for 3 wards."),
        (2, "Too early to read: there are 2 judgements for 3 wards."),
        (3, ""), (4, ""),
    ],
)  # fmt: skip
def test_before_one_judgement_for_each_item_it_is_too_early(comparisons, words):
    result = early_sentence(comparisons, 3, ("ward", "wards"), on_map=True)
    assert result.startswith(words)
    assert bool(result) == bool(words)


def test_tables_are_ordered_as_their_headings_say():
    rows = [
        row(0, name="b", position=1, estimate=0.3, sd=0.1, comparisons=5),
        row(1, name="A", position=3, estimate=0.1, sd=0.3, comparisons=4),
        row(2, name="c", position=2, estimate=0.2, sd=0.2, comparisons=6),
    ]
    result = {
        by: [one.key for one in sort_estimates(rows, by)]
        for by in ("position", "name", "uncertainty")
    }
    assert result == {"position": [0, 2, 1], "name": [1, 0, 2], "uncertainty": [1, 2, 0]}
    assert [one.key for one in sort_estimates(rows, "comparisons")] == [1, 0, 2]


def test_one_connected_whole_is_said_to_be_one():
    result = connectedness([row(0), row(1)], ("ward", "wards"))
    assert result.whole
    assert result.text.startswith("All wards are connected")


def test_parts_that_nobody_compared_with_each_other_are_named():
    rows = [row(0), row(1), row(2), row(3, part=1, name="Isle"), row(4, part=1, name="Cape")]
    result = connectedness([*rows, row(5, comparisons=0, part=2)], ("ward", "wards"))
    assert not result.whole
    assert "2 parts" in result.text
    assert "1 ward was not compared yet" in result.text
    assert result.parts == (("Cape", "Isle"),)


def test_items_never_compared_are_not_called_connected():
    result = connectedness([row(0), row(1), row(2, comparisons=0, part=1)], ("ward", "wards"))
    assert not result.whole
    assert "1 ward was not compared yet" in result.text
    assert result.parts == ()


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (0, "0 seconds ago"), (1, "1 second ago"), (59.9, "59 seconds ago"), (60, "1 minute ago"),
        (7199, "1 hour ago"), (86400 * 3, "3 days ago"), (-5, "0 seconds ago"),
    ],
)  # fmt: skip
def test_ages_are_told_in_the_largest_unit_that_fits(passed, words):
    assert wording.ago(NOON - timedelta(seconds=passed), NOON) == words


def test_numbers_are_told_as_people_read_them():
    assert [wording.seconds(value) for value in (0.84, 59.0, 200.0, None)] == [
        "0.8 s", "59.0 s", "3 min", "–",
    ]  # fmt: skip


def test_short_ids_still_tell_judges_apart():
    brief = wording.short_ids(["abcdef123456", "abcdef999999", "0123456789ab", "kim"])
    assert brief["0123456789ab"] == "012345…"
    assert brief["kim"] == "kim"
    assert len(set(brief.values())) == 4


# The past.


@pytest.mark.parametrize("count", [0, 1, 5, 60, 61, 240])
def test_a_replay_has_both_ends_and_not_too_much(count):
    chosen = evenly_spaced(range(count), 60)
    assert len(chosen) == min(count, 60)
    assert chosen == sorted(set(chosen))
    assert not count or (chosen[0], chosen[-1]) == (0, count - 1)


def test_a_picture_of_the_past_is_small_and_in_the_order_of_the_study(store):
    add_snapshot(store, body(["b", "a"], [0.5, -0.5]), comparisons=12)
    add_snapshot(store, body(["a", "b", "c"], [1.234, -2.0, 0.766]), comparisons=30)
    first, last = SnapshotHistory(store, ["a", "b", "c"]).frames()
    assert list(first.estimate) == pytest.approx([-0.5, 0.5, MISSING], nan_ok=True)
    assert list(last.estimate) == pytest.approx([1.234, -2.0, 0.766])
    assert (first.comparisons, last.comparisons) == (12, 30)
    assert list(last.sd) == [0.25, 0.25, 0.25]


def test_items_that_nobody_had_compared_are_known_at_every_moment(store):
    """In the order of the study; an item that the snapshot lacks is not among them."""
    add_snapshot(store, body(["b", "a"], [0.5, -0.5], comparisons=[0, 3]), comparisons=3)
    (frame,) = SnapshotHistory(store, ["a", "b", "c"]).frames()
    assert frame.uncompared == {1}


def frame_of(estimate: list[float], sd: list[float], uncompared: set[int] = frozenset()):
    values = (array("d", part) for part in (estimate, sd))
    return HistoryFrame(1, NOON, 20, 0.5, *values, frozenset(uncompared))


def test_a_replay_is_scaled_by_its_last_moment():
    """The first knew nothing, with a standard deviation of 320: that must not bleach the last."""
    first, last = frame_of([9.0, -9.0], [320.0, 320.0]), frame_of([1.0, -1.5], [0.5, 0.4])
    assert history_scale([first, last]) == (1.5, 2 * 0.5)


def test_neither_an_outlier_nor_an_item_without_comparisons_sets_the_scale_of_a_replay():
    plain = frame_of([1.0, -1.0, 0.5, 1.0, -0.5], [0.5] * 5)
    odd = frame_of([1.0, -1.0, 0.5, 1.0, -30.0], [0.5, 0.5, 0.5, 0.5, 300.0])
    silent = frame_of([1.0, -1.0, 0.5, 1.0, -9.0], [0.5, 0.5, 0.5, 0.5, 300.0], {4})
    assert history_scale([plain]) == history_scale([silent]) == (1.0, 1.0)
    assert history_scale([odd]) == (2.5, 2.5)  # and not 30 and 600
    assert history_scale([]) == (1.0, 1.0)


def test_reliability_does_not_double_back_when_a_judge_is_left_out():
    """250 judgements become 200: what was known from more than 200 is superseded."""
    points = [(50, 0.3), (190, 0.6), (230, 0.7), (250, 0.65), (200, 0.75), (240, 0.8)]
    kept = without_superseded(points)
    assert kept == [(50, 0.3), (190, 0.6), (200, 0.75), (240, 0.8)]
    line = charts.reliability_plot(kept, 0.8).line
    across = [float(point.split(",")[0]) for point in line.split()]
    assert across == sorted(set(across))


def test_of_two_moments_with_as_many_judgements_the_later_counts():
    assert without_superseded([(10, 0.2), (10, 0.3)]) == [(10, 0.3)]


def test_a_snapshot_that_was_thinned_out_is_not_replayed(store):
    past = SnapshotHistory(store, ["a"])
    numbers = [add_snapshot(store, body(["a"], [0.0]), comparisons=k) for k in (1, 2, 3)]
    assert [frame.id for frame in past.frames()] == numbers
    with store.writing() as connectedness:
        connectedness.exec_driver_sql(f"DELETE FROM snapshots WHERE id = {numbers[1]}")
    assert [frame.id for frame in past.frames()] == [numbers[0], numbers[2]]
    assert past.one(numbers[1]) is None
    assert past.one(numbers[2]).comparisons == 3


# Colours and small plots.


def test_the_highest_is_red_the_lowest_blue_and_the_average_pale():
    rows = [row(0, estimate=2.0), row(1, estimate=0.0), row(2, estimate=-2.0), row(3, estimate=1.0)]
    result = choropleth.quality_layer(rows, lower="safe", higher="risky")
    assert [result.fill(str(k)) for k in range(3)] == ["#67001f", "#f7f7f7", "#053061"]
    assert result.ends == (("safe", "−2.0"), ("average", "0"), ("risky", "+2.0"))
    assert result.fill("elsewhere") == "#d9dce1"


def test_an_outlier_does_not_bleach_the_rest_of_the_map():
    rows = [row(k, estimate=value) for k, value in enumerate([1.0, -1.0, 0.8, -0.6, 40.0])]
    result = choropleth.quality_layer(rows, lower="safe", higher="risky")
    assert result.fill("4") == "#67001f"
    assert result.fill("0") not in ("#67001f", "#f7f7f7")
    assert result.ends[2] == ("risky", "+2.5 or more")


def test_small_estimates_that_are_unsure_stay_pale():
    """Were the largest of them the darkest, noise would look like a finding."""
    noise = [row(0, estimate=0.1, sd=1.0), row(1, estimate=-0.1, sd=1.0)]
    sure = [row(0, estimate=0.1, sd=0.01), row(1, estimate=-0.1, sd=0.01)]
    pale, dark = (
        choropleth.quality_layer(rows, lower="", higher="").fill("0") for rows in (noise, sure)
    )
    assert dark == "#67001f"
    assert int(pale[3:5], 16) > 200  # nearly white


def test_an_item_that_nobody_compared_does_not_set_the_scale_of_estimates():
    rows = [row(0, estimate=1.0), row(1, estimate=-1.0), row(2, estimate=1.9, comparisons=0)]
    result = choropleth.quality_layer(rows, lower="", higher="")
    assert result.ends[2] == ("", "+1.0 or more")


def test_uncertainty_and_thin_coverage_are_both_dark():
    rows = [row(0, sd=1.0, comparisons=0), row(1, sd=0.5, comparisons=40)]
    assert (
        choropleth.uncertainty_layer(rows).fill("0")
        == choropleth.coverage_layer(rows).fill("0")
        == "#54278f"
    )
    assert (
        choropleth.uncertainty_layer(rows).fill("1")
        == choropleth.coverage_layer(rows).fill("1")
        == "#fcfbfd"
    )


def test_small_differences_of_uncertainty_stay_small_on_the_map():
    """Two areas that differ by a fiftieth must not look like day and night."""
    result = choropleth.uncertainty_layer([row(0, sd=1.0), row(1, sd=0.98)])
    dark, other = (int(result.fill(key)[1:3], 16) for key in "01")
    assert abs(dark - other) < 16


def test_days_without_judgements_are_drawn_as_such():
    result = charts.day_plot(
        [DayCount(date(2026, 3, 7), 4), DayCount(date(2026, 3, 9), 8)], NOON.date()
    )
    assert [bar.comparisons for bar in result.bars] == [4, 0, 8, 0]
    tall, none, taller, _ = (bar.height for bar in result.bars)
    assert none == 0
    assert taller == pytest.approx(2 * tall, abs=0.2)
    assert charts.day_plot([], NOON.date()) is None


def test_a_trend_needs_two_moments_and_rises_upwards():
    assert charts.reliability_plot([(10, 0.5)], 0.8) is None
    result = charts.reliability_plot([(10, 0.2), (20, 0.6)], 0.8)
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in result.line.split())
    assert x2 > x1
    assert y2 < y1  # the page counts from above
    assert result.level < y2


def test_the_tie_curve_has_its_band_around_it():
    curve = body(["a"], [0.0])["tie_curve"]
    result = charts.tie_curve(curve)
    line = [float(point.split(",")[1]) for point in result.line.split()]
    band = [float(point.split(",")[1]) for point in result.band.split()]
    high, low = band[:4], band[4:][::-1]
    assert all(h < m < w for h, m, w in zip(high, line, low, strict=True))
    assert charts.tie_curve(None) is None


def test_intervals_are_drawn_on_one_scale_with_the_average_in_the_middle():
    rows = [row(0, low=0.0, high=2.0, estimate=1.0), row(1, low=-1.0, high=1.0, estimate=0.0)]
    result = charts.interval_bars(rows)
    assert result["0"] == (60.0, 60.0, 90.0)
    assert result["1"] == (30.0, 60.0, 60.0)


# Pages.


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    Areas.synthetic(12, rng=3).to_gpkg(place / "wards.gpkg")
    made = create_study(
        place / "study", question="Which ward is greener?", title="Green wards",
        areas=place / "wards.gpkg",
    )  # fmt: skip
    return with_database(edited(made, {"goal = 0": "goal = 400"}))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "study")


@pytest.fixture
def app(study):
    return make_app(study, study.store(), secret="k" * 40)


@pytest.fixture
def researcher(app) -> Callable[[], Visitor]:
    """Somebody who signed in with a one-time link."""
    researcher_store: ResearcherStore = app.state.site.researcher_store

    def come_in(name: str = "Ada") -> Visitor:
        who = researcher_store.researcher(name) or researcher_store.add_researcher(name)
        link = f"/sign-in/{researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=who)}"
        visitor = Visitor(app)
        visitor.get(link)
        visitor.send(link)
        return visitor

    return come_in


def text(visitor: Visitor) -> str:
    """The page as it is read: no tags, no data for scripts."""
    page = re.sub(r"<(script|title)\b.*?</\1>", " ", visitor.answer.text, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def parts(visitor: Visitor) -> set[str]:
    return {
        forecast_sentence["data-part"]
        for _, forecast_sentence in visitor.page.tags
        if "data-part" in forecast_sentence
    }


def judged(store: JudgeStore, study: Study, count: int = 20) -> None:
    """Some judgements, of two judges, today."""
    ids = list(study.items)
    store.import_judgements(
        [
            {"judge": f"judge-{k % 2}", "left": ids[k % 11], "right": ids[11], "outcome": "left"}
            for k in range(count)
        ],
        consent="1",
    )


def pictured(store: JudgeStore, study: Study, **other) -> int:
    ids = list(study.items)
    return add_snapshot(store, body(ids, np.linspace(1, -1, len(ids)), **other), comparisons=20)


def test_before_the_first_judgement_the_overview_has_the_link_for_judges(researcher):
    visitor = researcher()
    visitor.get("/watch")
    assert "No judgements yet" in text(visitor)
    assert ("http://study.test/", "http://study.test/") in visitor.page.links


def test_the_overview_says_first_how_old_the_picture_is(app, study, researcher):
    store = app.state.site.store
    judged(store, study)
    pictured(store, study)
    visitor = researcher()
    visitor.get("/watch")
    shown = text(visitor)
    assert re.search(r"Overview From 20 judgements , \d+ seconds? ago", shown)
    assert "20 20 today (UTC)" in shown
    assert "2 2 in the last hour, 2 in the last day" in shown
    assert "Not yet: reliability is 0.70, and 0.80 is wanted" in shown
    assert "400" in shown
    assert "δ: 0.50 (0.40 to 0.60)" in shown
    assert "All areas are connected" in shown


def test_the_map_has_every_area_once_and_its_figures_without_scripts(app, study, researcher):
    pictured(app.state.site.store, study)
    visitor = researcher()
    visitor.get("/watch")
    page = visitor.answer.text
    assert page.count("<path id=") == 12 + 1  # and the outlines of groups
    for name in (item.name for item in study.items.values()):
        assert re.search(rf"<title>{re.escape(html.escape(name))}: [+−]?\d", page)
    assert "style=" not in page  # the policy of the site would drop it
    assert '<noscript><meta http-equiv="refresh"' in page


def test_a_failure_of_fitting_is_said_plainly(app, study, researcher):
    store = app.state.site.store
    pictured(store, study)
    since = datetime(2026, 3, 10, 12, 5, tzinfo=UTC)
    SnapshotStore(store).set_current("failure", pack_failure(Failure("No space left.", since, 3)))
    visitor = researcher()
    visitor.get("/watch")
    assert (
        "The picture cannot be renewed since 10 Mar 2026, 12:05 UTC (3 attempts): No space left."
        in text(visitor)
    )


def test_nothing_new_is_told_without_a_word(app, study, researcher):
    pictured(app.state.site.store, study)
    visitor = researcher()
    visitor.get("/watch")
    mark = next(
        forecast_sentence["data-mark"]
        for _, forecast_sentence in visitor.page.tags
        if "data-mark" in forecast_sentence
    )
    answer = visitor.get("/watch/fresh", params={"after": mark})
    assert (answer.status_code, answer.text) == (204, "")


def test_what_is_new_comes_in_the_parts_that_the_page_has(app, study, researcher):
    """Each part of the page is renewed, and the paths of the map are not sent again."""
    pictured(app.state.site.store, study)
    visitor = researcher()
    visitor.get("/watch")
    there = parts(visitor)
    visitor.get("/watch/fresh?after=0")
    assert visitor.answer.status_code == 200
    assert there <= parts(visitor)
    assert parts(visitor) - there == {"order"}  # which takes the place of a map
    assert "<path id=" not in visitor.answer.text
    forecast_sentence = re.search(r"data-drawn>(.*?)</script>", visitor.answer.text, re.S)[1]
    drawn = json.loads(forecast_sentence)
    assert [len(fills) for fills in drawn["fills"].values()] == [12, 12]
    assert drawn["figures"][0][2] == 1.0


def test_a_change_of_phase_is_news(app, study, researcher):
    """Pages learn of it when the site does, which may take a second."""
    pictured(app.state.site.store, study)
    visitor = researcher()
    visitor.get("/watch")
    mark = next(
        forecast_sentence["data-mark"]
        for _, forecast_sentence in visitor.page.tags
        if "data-mark" in forecast_sentence
    )
    assert visitor.get("/watch/fresh", params={"after": mark}).status_code == 204
    app.state.site.researcher_store.set_phase(Phase.PAUSED)
    until = time.monotonic() + 20
    while visitor.get("/watch/fresh", params={"after": mark}).status_code == 204:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert visitor.answer.status_code == 200


def test_a_script_that_is_signed_out_is_told_so(app):
    assert Visitor(app).get("/watch/fresh").status_code == 401
    assert Visitor(app).get("/watch/history.json").status_code == 401


def test_names_with_angle_brackets_are_text(tmp_path):
    (tmp_path / "list.csv").write_text(
        "name\n<script>alert(1)</script>\n</script><s>bold\n\"quoted'\n", encoding="utf-8"
    )
    study = create_study(
        tmp_path / "study", question="Which <em>one</em>?", title="<i>T</i>",
        items=tmp_path / "list.csv",
    )  # fmt: skip
    app = make_app(study, study.store(), secret="k" * 40)
    researcher_store = app.state.site.researcher_store
    pictured(app.state.site.store, study)
    link = f"/shared/{researcher_store.make_token(TokenPurpose.SHARE)}"
    who = researcher_store.add_researcher("<u>Ada</u>")
    one_time = f"/sign-in/{researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=who)}"
    visitor = Visitor(app)
    visitor.get(one_time)
    visitor.send(one_time)
    for path in ("/watch", "/watch/items", "/watch/history", "/watch/fresh?after=0", link):
        visitor.get(path)
        assert visitor.answer.status_code == 200
        page = visitor.answer.text
        assert "alert(1)" in page
        for tag in ("<script>alert", "<s>", "<em>", "<u>"):
            assert tag not in page
        assert "<i>T" not in page
        assert page.count("</script>") == len(re.findall(r"<script\b", page))


def test_a_study_without_a_map_is_shown_as_dots(tmp_path, researcher):
    (tmp_path / "list.csv").write_text("name\n" + "\n".join("abcdefgh"), encoding="utf-8")
    study = create_study(
        tmp_path / "posters", question="Which?", title="T", items=tmp_path / "list.csv"
    )
    app = make_app(study, study.store(), secret="k" * 40)
    pictured(app.state.site.store, study)
    link = f"/shared/{app.state.site.researcher_store.make_token(TokenPurpose.SHARE)}"
    visitor = Visitor(app)
    visitor.get(link)
    assert visitor.answer.status_code == 200
    who = app.state.site.researcher_store.add_researcher("Ada")
    secret = app.state.site.researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=who)
    one_time = f"/sign-in/{secret}"
    visitor.get(one_time)
    visitor.send(one_time)
    visitor.get("/watch")
    dots = [
        forecast_sentence
        for tag, forecast_sentence in visitor.page.tags
        if tag == "g" and "data-k" in forecast_sentence
    ]
    assert [forecast_sentence["data-k"] for forecast_sentence in dots] == list("01234567")


def test_items_are_ordered_by_links(app, study, researcher):
    ids = list(study.items)
    counts = [30 - k for k in range(12)]
    pictured(app.state.site.store, study, comparisons=counts)
    visitor = researcher()

    def order(by: str) -> list[str]:
        visitor.get(f"/watch/items?by={by}")
        return [
            forecast_sentence["data-row"]
            for _, forecast_sentence in visitor.page.tags
            if "data-row" in forecast_sentence
        ]

    assert order("position") == order("nonsense") == [str(k) for k in range(12)]
    assert order("comparisons") == [str(k) for k in reversed(range(12))]
    names = [study.items[item].name for item in ids]
    assert order("name") == [str(names.index(name)) for name in sorted(names, key=str.casefold)]
    order("comparisons")
    assert "Estimates, fewest comparisons first" in text(visitor)


def test_single_moments_can_be_looked_at_without_scripts(app, study, researcher):
    ids = list(study.items)
    early = add_snapshot(app.state.site.store, body(ids, [0.0] * 11 + [3.0]), comparisons=5)
    late = pictured(app.state.site.store, study)
    visitor = researcher()
    visitor.get("/watch/history")
    links = {href for _, href in visitor.page.links}
    assert {f"?at={early}", f"?at={late}"} <= links
    assert "20 judgements" in text(visitor).split("Highest")[0]
    visitor.get(f"/watch/history?at={early}")
    assert "5 judgements" in text(visitor).split("Highest")[0]
    first = next(
        forecast_sentence
        for _, forecast_sentence in visitor.page.tags
        if "data-row" in forecast_sentence
    )
    assert first["data-row"] == "11"


@pytest.mark.parametrize("at", ["999", "x", "-1", "1e9", "9" * 40, "٣"])
def test_a_moment_that_is_not_kept_is_not_found(app, study, researcher, at):
    pictured(app.state.site.store, study)
    assert researcher().get("/watch/history", params={"at": at}).status_code == 404


def test_frames_are_in_the_order_of_time_and_of_the_study(app, study, researcher):
    ids = list(study.items)
    add_snapshot(app.state.site.store, body(ids[::-1], [0.0] * 11 + [3.0]), comparisons=5)
    pictured(app.state.site.store, study)
    frames = researcher().get("/watch/history.json").json()
    assert [frame["comparisons"] for frame in frames] == [5, 20]
    assert frames[0]["estimate"] == [300] + [0] * 11
    assert frames[1]["estimate"][0] == 100


def test_before_the_first_picture_every_page_says_so(researcher, app):
    visitor = researcher()
    for path in ("/watch/items", "/watch/history", "/watch/judges"):
        assert visitor.get(path).status_code == 200, path
    assert visitor.get("/watch/history.json").json() == []
    link = f"/shared/{app.state.site.researcher_store.make_token(TokenPurpose.SHARE)}"
    visitor.get(link)
    assert "nothing to see yet" in text(visitor)


# Too early to read, and never compared.


def never(study: Study, *compared: int) -> dict[str, list[int]]:
    """Counts of comparisons, 0 but for these items."""
    return {"comparisons": [2 if k in compared else 0 for k in range(len(study.items))]}


def early_picture(store: JudgeStore, study: Study) -> int:
    """Seven judgements about twelve wards, five of which nobody compared."""
    values = body(list(study.items), np.linspace(1, -1, 12), **never(study, *range(7)))
    return add_snapshot(store, values, comparisons=7)


@pytest.fixture
def partner(app) -> Callable[[], Visitor]:
    """Somebody who opens a link to share."""

    def come() -> Visitor:
        visitor = Visitor(app)
        token = app.state.site.researcher_store.make_token(TokenPurpose.SHARE)
        visitor.get(f"/shared/{token}")
        return visitor

    return come


@pytest.fixture
def early(app, study) -> int:
    return early_picture(app.state.site.store, study)


def hatched(visitor: Visitor) -> list[list[int]]:
    """The numbers of the areas that are hatched, for each map."""
    groups = re.findall(r"data-hatches>(.*?)</g>", visitor.answer.text, re.S)
    return [[int(k) for k in re.findall(r'href="#a(\d+)"', group)] for group in groups]


def test_areas_never_compared_are_hatched_on_every_map_and_named(app, study, researcher):
    counts = never(study, *(k for k in range(12) if k not in (2, 9)))
    pictured(app.state.site.store, study, **counts)
    visitor = researcher()
    for path, maps in (("/watch", 2), ("/watch/items", 1), ("/watch/history", 2)):
        visitor.get(path)
        assert hatched(visitor) == [[2, 9]] * maps, path
        assert text(visitor).count("not compared yet ( 2 )") == maps
        assert visitor.answer.text.count('fill="url(#hatch') == 2 * maps  # areas, and key
    silent = [study.items[item].name for item in list(study.items)[2:10:7]]
    visitor.get("/watch")
    for name in silent:
        pattern = rf"<title>{re.escape(html.escape(name))}: [^<]*\(not compared yet; its estimate"
        assert re.search(pattern, visitor.answer.text)
    visitor.get("/watch/items")
    for name in silent:
        assert f"{name} not compared yet" in text(visitor)


def test_hatching_makes_nothing_paler_where_dark_is_less_sure(app, study, researcher):
    """The pattern for estimates has a veil; that for uncertainty and coverage has none."""
    pictured(app.state.site.store, study, **never(study, *range(11)))
    visitor = researcher()
    visitor.get("/watch")
    page = visitor.answer.text
    veiled, bare = (
        "fill-opacity" in re.search(rf'<pattern id="{name}" .*?</pattern>', page)[0]
        for name in ("hatch", "hatch-bare")
    )
    assert (veiled, bare) == (True, False)
    drawn = re.findall(r'data-map="(\w+)".*?class="hatches" fill="url\(#([\w-]+)\)"', page, re.S)
    assert drawn == [("quality", "hatch"), ("doubt", "hatch-bare")]


def test_a_map_where_all_were_compared_has_no_hatching(app, study, researcher):
    pictured(app.state.site.store, study)
    visitor = researcher()
    visitor.get("/watch")
    assert hatched(visitor) == [[], []]
    keys = [about for _, about in visitor.page.tags if "data-hatch-key" in about]
    assert len(keys) == 2
    assert all("hidden" in about for about in keys)


def muted(visitor: Visitor) -> bool:
    (around,) = (about for _, about in visitor.page.tags if "data-figures" in about)
    return "early" in around["class"].split()


def test_the_overview_of_a_few_judgements_is_muted_and_ranks_nothing(early, study, researcher):
    visitor = researcher()
    visitor.get("/watch")
    assert muted(visitor)
    shown = text(visitor)
    assert "Too early to read: there are 7 judgements for 12 areas" in shown
    assert "Highest" not in shown
    assert "Compared so far 7 of 12 areas have been compared" in shown
    assert not any(about.get("class") == "ranked" for _, about in visitor.page.tags)
    assert "too early for an estimate" in visitor.answer.text
    assert not re.search(r"<title>[^<]*: [+−]\d", visitor.answer.text)


def test_partners_of_a_few_judgements_see_a_muted_map_and_no_order(early, study, partner):
    visitor = partner()
    assert muted(visitor)
    shown = text(visitor)
    assert "Too early to read: there are 7 judgements for 12 areas" in shown
    assert "From higher to lower" not in shown
    assert "Not compared yet: 5 areas" in shown
    assert not any(about.get("class") == "ranked" for _, about in visitor.page.tags)
    listed = shown.split("Compared so far")[1]
    names = sorted((item.name for item in list(study.items.values())[:7]), key=listed.index)
    assert names == sorted(names)  # by name: no order of estimates


def test_items_of_a_few_judgements_come_by_name_unless_asked_otherwise(early, researcher):
    visitor = researcher()
    visitor.get("/watch/items")
    assert "Estimates, by name Too early to read" in text(visitor)
    visitor.get("/watch/items?by=position")
    assert "Estimates, highest first Too early to read" in text(visitor)


def test_with_a_judgement_for_each_item_the_order_is_there(app, study, researcher):
    add_snapshot(
        app.state.site.store, body(list(study.items), np.linspace(1, -1, 12)), comparisons=12
    )
    visitor = researcher()
    visitor.get("/watch")
    assert not muted(visitor)
    assert "Too early" not in text(visitor)
    assert "From the highest to the lowest" in text(visitor)


def test_what_is_new_unmutes_the_overview(early, app, study, researcher):
    """The script gets what it needs: the part without a sentence, and data that say so."""
    visitor = researcher()

    def fresh() -> tuple[str, str]:
        visitor.get("/watch/fresh?after=0")
        part = re.search(r'data-part="early">(.*?)</div>', visitor.answer.text, re.S)[1]
        drawn = re.search(r"data-drawn>(.*?)</script>", visitor.answer.text, re.S)[1]
        return part.strip(), json.loads(drawn)["early"]

    part, sentence = fresh()
    assert sentence in part
    assert sentence.startswith("Too early")
    pictured(app.state.site.store, study)
    until = time.monotonic() + 20
    while fresh() != ("", ""):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_frames_say_which_were_too_early_and_what_nobody_had_compared(
    early, app, study, researcher
):
    pictured(app.state.site.store, study)
    visitor = researcher()
    first, last = visitor.get("/watch/history.json").json()
    assert first["early"].startswith("Too early to read: there are 7 judgements")
    assert first["uncompared"] == [7, 8, 9, 10, 11]
    assert (last["early"], last["uncompared"]) == ("", [])
    visitor.get(f"/watch/history?at={first['id']}")
    (ranked,) = (about for _, about in visitor.page.tags if "data-ranked" in about)
    assert "hidden" in ranked
    assert muted(visitor)


def test_without_a_map_dots_come_when_there_is_something_to_rank(tmp_path):
    (tmp_path / "list.csv").write_text("name\n" + "\n".join("abcdefgh"), encoding="utf-8")
    study = create_study(tmp_path / "posters", question="Which?", items=tmp_path / "list.csv")
    app = make_app(study, study.store(), secret="k" * 40)
    researchers = app.state.site.researcher_store
    who = researchers.add_researcher("Ada")
    link = f"/sign-in/{researchers.make_token(TokenPurpose.SIGN_IN, researcher=who)}"
    visitor = Visitor(app)
    visitor.get(link)
    visitor.send(link)
    values = body(list(study.items), np.linspace(1, -1, 8), **never(study, 0, 1, 2, 3))
    for comparisons, dots in ((7, 0), (8, 4)):
        add_snapshot(app.state.site.store, values, comparisons=comparisons)
        until = time.monotonic() + 20
        while f"From {comparisons} judgements" not in text(visitor):
            assert time.monotonic() < until
            visitor.get("/watch")
        classes = [about["class"] for tag, about in visitor.page.tags if tag == "g"]
        assert classes.count("unmeasured") == dots
        assert ("Too early to read" in text(visitor)) == (not dots)


@pytest.mark.parametrize("withheld", [None, "", "All answers are ties."])
def test_an_order_that_the_verdict_withholds_has_no_highest(app, study, partner, withheld):
    """A snapshot of an earlier version has no verdict; the page is there all the same."""
    part = VerdictPart("stop" if withheld else "good", withheld or "Well.")
    verdict = Verdict(part, part, part, withheld or "", 5).to_dict()
    pictured(app.state.site.store, study, **({} if withheld is None else {"verdict": verdict}))
    shown = text(partner())
    note = "All answers are ties. No area can be called the highest yet."
    assert (note in shown) == bool(withheld)
    assert "From higher to lower" in shown


ELO = {
    "name": "elo", "title": "Elo rating", "digits": 0, "signed": False, "middle": 1500.0,
    "line": [1500.0, 200.0], "limits": None, "meaning": ["The average ward has 1500 points."],
}  # fmt: skip
PERCENTAGE = ELO | {
    "name": "0-100", "title": "Score", "middle": 50.0, "line": None, "limits": [0, 100],
    "meaning": ["Out of a hundred."],
}  # fmt: skip


def on_scale(facts, mean, half, sd=44.4):
    """Scores beside the figures of a snapshot."""
    scores = {"score": mean, "score_low": mean - half, "score_high": mean + half}
    scores = {name: values.tolist() for name, values in scores.items()}
    return scores | {"score_sd": [sd] * len(mean), "scale": facts}


def drawn_by(visitor):
    return json.loads(re.search("data-drawn>(.*?)</script>", visitor.answer.text)[1])


def test_every_page_is_on_the_scale_of_the_study(app, study, researcher, partner):
    """Tables, panel, map, its legends and the tie curve; nothing is left in logits unsaid."""
    pictured(app.state.site.store, study, **on_scale(ELO, 1600.4 - 20 * np.arange(12), 90))
    visitor = researcher()
    for path in ("/watch", "/watch/items", "/watch/history"):
        visitor.get(path)
        shown = text(visitor)
        assert "Elo rating" in shown
        assert "1510 to 1690" in shown
        assert "The average ward has 1500 points." in shown
        drawn = drawn_by(visitor)
        assert drawn["figures"][0][2:6] == [1600.4, 1510.4, 1690.4, 44.4]
        assert drawn["scale"]["middle"] == 1500
        if path != "/watch/items":  # the darkest colours are as far off as the largest estimate
            assert "average 1500" in shown
            assert re.search("higher 16(00|20)", shown), shown
            assert re.search("less sure sd (44|89)", shown)
            assert "−1.0" not in shown
    visitor.get("/watch")
    assert "gap in Elo rating" in visitor.answer.text
    assert "sd 44" in text(visitor)
    shown = text(partner())
    assert "1510 to 1690" in shown
    assert "average 1500" in shown


def test_without_a_middle_of_its_own_a_scale_has_the_mean_of_all_items():
    """As snapshots of an earlier version."""
    facts = {name: ELO[name] for name in ("name", "title", "digits", "signed", "meaning")}
    scale = ShownScale.of(body(["a", "b"], [1, -1], **on_scale(facts, np.array([1600, 1410]), 9)))
    assert (scale.middle, scale.line, scale.limits) == (1505, None, None)
    assert ShownScale.of(body(["a"], [0.0])) == ShownScale.of(None) == ShownScale()


def test_moments_from_before_the_scale_are_replayed_on_it(app, study, researcher):
    """An Elo rating is a straight line of quality, so that earlier moments can be told on it."""
    ids = list(study.items)
    add_snapshot(app.state.site.store, body(ids, [0.5] + [0.0] * 11), comparisons=15)
    mean = 1600.4 - 20 * np.arange(12)
    late = pictured(app.state.site.store, study, **on_scale(ELO, mean, 90))
    visitor = researcher()
    first, last = visitor.get("/watch/history.json").json()
    assert first["estimate"] == [160_000] + [150_000] * 11
    assert first["sd"] == [5000] * 12
    assert (last["estimate"][0], last["sd"][0]) == (160_040, 4440)
    visitor.get(f"/watch/history?at={first['id']}")
    assert "1500 to 1700" in text(visitor)  # 0.5 logits, half a logit to both sides
    visitor.get(f"/watch/history?at={late}")
    assert "1510 to 1690" in text(visitor)


def test_moments_that_cannot_be_told_on_the_scale_have_all_in_logits(app, study, researcher):
    """The mean over all other items is no function of an item's own estimate."""
    ids, store = list(study.items), app.state.site.store
    mean = 60.0 - np.arange(12)
    early = add_snapshot(store, body(ids, [0.5] + [0.0] * 11), comparisons=15)
    pictured(store, study, **on_scale(PERCENTAGE, mean, 9, 4.0))
    visitor = researcher()
    for path in (f"/watch/history?at={early}", "/watch/history"):
        visitor.get(path)
        assert "from before the study had the scale that it has now" in text(visitor)
        assert "average 0" in text(visitor)
        assert "/watch/history.json?in=logit" in visitor.answer.text
    frames = visitor.get("/watch/history.json?in=logit").json()
    assert [frame["estimate"][0] for frame in frames] == [50, 100]
    assert visitor.get("/watch/history.json").json() == frames
    visitor.get("/watch")
    assert "51 to 69" in text(visitor)


def test_a_replay_has_the_order_of_quality_where_scores_might_have_another(app, study, researcher):
    """As the table of the same moment, and the report."""
    swapped = np.array([59.0, 60.0, *range(58, 48, -1)])
    pictured(app.state.site.store, study, **on_scale(PERCENTAGE, swapped, 9, 4.0))
    visitor = researcher()
    (frame,) = visitor.get("/watch/history.json").json()
    assert frame["order"] == list(range(12))
    visitor.get("/watch/history")
    rows = [about["data-row"] for _, about in visitor.page.tags if "data-row" in about]
    assert rows == [str(k) for k in range(12)]
    assert "50 to 68" in text(visitor)


def test_a_round_number_stands_below_the_gap_on_every_scale():
    curve = {"gap": [0.0, 5.0], **{name: [0.3, 0.1] for name in ("median", "low", "high")}}
    labels = [label.text for label in charts.tie_curve(curve).across]
    assert labels == ["0", "1", "2", "3", "4", "5"]
    elo = ShownScale.of({"score": [1500.0], "scale": ELO | {"line": [1500.0, 173.7]}})
    plot = charts.tie_curve(curve, elo)
    assert [label.text for label in plot.across] == ["0", "200", "400", "600", "800"]
    assert plot.across[1].position == pytest.approx(36 + 296 * 200 / (5 * 173.7), abs=0.1)


# Partners.


def test_partners_see_the_map_and_nothing_of_judges(app, study):
    store = app.state.site.store
    judged(store, study)
    rows = pack_rows([judge_row("judge-0", flags=[{"kind": "x", "says": "Too fast."}])])
    add_snapshot(
        store, body(list(study.items), np.linspace(1, -1, 12)), comparisons=20,
        beside={"judges": rows},
    )  # fmt: skip
    app.state.site.researcher_store.exclude("judge-1", "secret reason")
    visitor = Visitor(app)
    visitor.get(
        f"/shared/{app.state.site.researcher_store.make_token(TokenPurpose.SHARE, label='council')}"
    )
    page, shown = visitor.answer.text, text(visitor)
    assert "Which ward is greener?" in shown
    assert "20 judgements" in shown
    assert "Not yet: reliability is 0.70" in shown
    assert all(html.escape(item.name) in page for item in study.items.values())
    assert page.count("<path id=") == 13
    assert not re.search(r"judge-|Too fast|secret reason|council|/watch/", page)
    assert not re.search(r"\bjudges?\b", shown, re.I)
    assert not any(tag == "nav" for tag, _ in visitor.page.tags)


# Judges.


@pytest.fixture
def with_judges(app, study) -> None:
    store = app.state.site.store
    judged(store, study)
    flag = {"kind": "left", "says": "Chose the left item in 39 of 40; by chance 20 <b>."}
    rows = [judge_row("judge-0", comparisons=99), judge_row("judge-1", flags=[flag])]
    add_snapshot(
        store, body(list(study.items), [0.0] * 12), comparisons=20,
        beside={"judges": pack_rows(rows)},
    )  # fmt: skip


def test_flagged_judges_come_first_with_the_figures_in_words(with_judges, researcher):
    visitor = researcher()
    visitor.get("/watch/judges")
    shown = text(visitor)
    assert "Chose the left item in 39 of 40; by chance 20 <b>." in shown
    table = shown.split("Everybody who counts: 2")[1]
    assert table.index("judge-1") < table.index("judge-0")


def test_a_judge_is_left_out_with_a_reason_and_comes_back(with_judges, app, researcher):
    visitor = researcher()
    visitor.get("/watch/judges")
    visitor.post(
        "/watch/judges/exclude",
        {"token": visitor.token, "judge": "judge-1", "reason": "Always <left>"},
    )
    assert app.state.site.researcher_store.excluded() == {"judge-1": "Always <left>"}
    shown = text(visitor)
    assert "The map follows within seconds" in shown
    left_out = shown.split("Left out: 1")[1].split("Everybody who counts: 1")[0]
    assert "judge-1" in left_out
    assert "Always <left>" in left_out
    assert "Ada" in left_out
    visitor.send("/watch/judges/include")
    assert app.state.site.researcher_store.excluded() == {}
    assert "counts again" in text(visitor)


def test_without_a_reason_nobody_is_left_out(with_judges, app, researcher):
    visitor = researcher()
    visitor.get("/watch/judges")
    sent = {"token": visitor.token, "judge": "judge-1", "reason": "  "}
    answer = visitor.post("/watch/judges/exclude", sent)
    assert answer.status_code == 422
    assert "Say why the judge is left out" in text(visitor)
    assert app.state.site.researcher_store.excluded() == {}
    answer = visitor.post("/watch/judges/exclude", sent | {"reason": "x" * 501})
    assert answer.status_code == 422
    assert app.state.site.researcher_store.excluded() == {}


def test_a_judge_who_is_not_there_cannot_be_left_out(with_judges, app, researcher):
    visitor = researcher()
    visitor.get("/watch/judges")
    for path in ("/watch/judges/exclude", "/watch/judges/include"):
        sent = {"token": visitor.token, "judge": "nobody", "reason": "x"}
        assert visitor.post(path, sent).status_code == 422
        assert "no judge 'nobody'" in text(visitor)


def test_who_left_a_judge_out_last_is_named(store):
    researcher_store, first, second = (
        ResearcherStore(store),
        add_judge(store).id,
        add_judge(store).id,
    )
    ada, bo = researcher_store.add_researcher("Ada"), researcher_store.add_researcher("Bo")
    researcher_store.exclude(second, "first", by=ada)
    researcher_store.include(second, by=ada)
    researcher_store.exclude(second, "again", by=bo)
    researcher_store.exclude(first, "from the command line")
    rows = researcher_store.exclusions()
    assert [(row["judge"], row["reason"], row["name"]) for row in rows] == [
        (first, "from the command line", None), (second, "again", "Bo"),
    ]  # fmt: skip
