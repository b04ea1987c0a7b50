"""Scales and leaderboards, held against the formulas written out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from xarray import Dataset, DataTree

from support.reference_formulas import rao_kupper_probabilities
from tiewise.errors import InputError
from tiewise.posterior.results_folder import Wording
from tiewise.posterior.scales import SCALES
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.leaderboard import leaderboard
from tiewise.posterior.scales.scale import QualityDraws, scale_named, scores
from tiewise.posterior.summaries import summarise
from tiewise.workflows.write_results import write_results

ITEMS = ("ash", "birch", "cedar", "elm")
GROUPS = ("de", "en")


def draws_of(size: int, spread: float, tie: float) -> QualityDraws:
    """Two chains of five draws, centred."""
    rng = np.random.default_rng(3)
    quality = rng.normal(0, spread, (2, 5, size))
    return QualityDraws(quality - quality.mean(axis=-1, keepdims=True), np.full((2, 5), tie))


def tree_of(draws: QualityDraws, *, kind: str = "exact", groups: bool = False) -> DataTree:
    """A tree with these draws; with groups, the first places `ash` higher than the second."""
    sample, size = ["chain", "draw"], draws.quality.shape[-1]
    items = list(ITEMS[:size])
    posterior = Dataset(
        {"quality": ([*sample, "item"], draws.quality), "tie": (sample, draws.tie),
         "level": (sample, 0 * draws.tie), "variance": (sample, 1 + draws.tie)},
        coords={"item": items},
    )  # fmt: skip
    constant = Dataset(
        {"name": ("item", items), "comparisons": ("item", np.full(size, 6)), "skips": 0,
         "judges": -1, "group_of_stratum": ("stratum", [0, 1]),
         "standard_error": ("item", np.full(size, 0.5))},
        coords={"item": items},
    )  # fmt: skip
    if groups:
        half = np.array([0.75, -0.25, -0.25, -0.25]) / 2
        contrast = np.broadcast_to(np.stack([half, -half]), (2, 5, 2, size))
        posterior["contrast"] = ([*sample, "group", "item"], contrast.copy())
        posterior = posterior.assign_coords(group=list(GROUPS))
    rows = {"first": [0, 1, 0], "second": [1, 2, 3], "wins_first": [3, 1, 0],
            "wins_second": [0, 2, 4], "ties": [1, 0, 0], "stratum": [0, 0, 1]}  # fmt: skip
    observed = Dataset({name: ("pair", np.array(values)) for name, values in rows.items()})
    tree = DataTree.from_dict(
        {"posterior": posterior, "constant_data": constant, "observed_data": observed}
    )
    tree.attrs.update(
        kind=kind, superchains=0, engine="transport", settings="{}", seed="1", version="0",
        digest="0", model=json.dumps({"tie": None}), warnings="[]", build_seconds=0.0,
        sample_seconds=0.0, cannot_say="",
    )  # fmt: skip
    return tree


def test_four_hundred_points_are_odds_of_ten_to_one():
    """And the average item has 1500, on whatever level a draw sits."""
    tree = tree_of(draws_of(4, 1.0, 0.0))
    tree["posterior/quality"][...] = np.array([np.log(10), 0, 0, -np.log(10)])
    table = summarise(tree, scale="elo").set_index("item")
    np.testing.assert_allclose(table["score"][list(ITEMS)], [1900, 1500, 1500, 1100])
    np.testing.assert_allclose(table["score_q2.5"], table["score"])
    assert set(table["scale"]) == {"elo"}


@pytest.mark.parametrize(("size", "spread"), [(2, 1.0), (5, 0.02), (40, 1.5), (60, 12.0)])
@pytest.mark.parametrize("tie", [0.0, 0.7])
def test_percentage_is_the_mean_probability_of_being_chosen(size, spread, tie):
    """Over every other item, a tie half: worked out pair by pair, to a hundredth of a point."""
    draws = draws_of(size, spread, tie)
    draws = QualityDraws(draws.quality[:, :1], draws.tie[:, :1])
    expected = np.zeros_like(draws.quality)
    for place in np.ndindex(2, 1):
        quality = draws.quality[place]
        for i, j in ((i, j) for i in range(size) for j in range(size) if i != j):
            answer = rao_kupper_probabilities(quality[i], quality[j], tie)
            expected[(*place, i)] += 100 * (answer["first"] + answer["tie"] / 2) / (size - 1)
    actual = scores(scale_named("0-100"), draws)
    np.testing.assert_allclose(actual, expected, atol=0.01)
    np.testing.assert_allclose(actual.mean(axis=-1), 50, atol=0.01)


def test_table_has_the_mean_and_interval_of_scores():
    """Those of the draws, item by item; quality and its columns stay as they are."""
    draws = draws_of(4, 1.0, 0.4)
    tree = tree_of(draws)
    plain, table = summarise(tree), summarise(tree, scale="0-100")
    pd.testing.assert_frame_equal(table[plain.columns], plain)
    own = table.set_index("item").loc[list(ITEMS)]
    flat = scores(scale_named("0-100"), draws).reshape(-1, 4)
    np.testing.assert_allclose(own["score"], flat.mean(axis=0))
    np.testing.assert_allclose(own["score_sd"], flat.std(axis=0, ddof=1))
    np.testing.assert_allclose(own["score_q97.5"], np.quantile(flat, 0.975, axis=0))


@pytest.mark.parametrize("tie", [0.0, 0.7])
@pytest.mark.parametrize("quality", [(1.0, 0.5, -0.5, -1.0), (0.25, -0.25)])
def test_a_point_estimate_has_the_scores_of_its_interval(quality, tie):
    """Both ends against every other item, written out; of two items that is one probability."""
    draws = QualityDraws(np.array([[quality]]), np.full((1, 1), tie))
    table = summarise(tree_of(draws, kind="point"), scale="0-100").set_index("item")
    reach = 1.959963984540054 * 0.5
    for column, away in (("score", 0.0), ("score_q2.5", -reach), ("score_q97.5", reach)):
        for i, own in enumerate(quality):
            answers = [
                rao_kupper_probabilities(own + away, other, tie)
                for j, other in enumerate(quality)
                if j != i
            ]
            expected = 100 * np.mean([one["first"] + one["tie"] / 2 for one in answers])
            assert table[column][ITEMS[i]] == pytest.approx(expected, abs=0.01)


def test_an_unknown_scale_is_refused():
    """By its name, with those there are."""
    with pytest.raises(InputError, match="scale= is 'stars', which is no scale"):
        Wording(scale="stars")
    assert [scale_named(name).name for name in SCALES] == list(SCALES)


@pytest.mark.parametrize(("tie", "words"), [(0.0, 1), (0.6, 2)])
def test_elo_says_a_word_about_ties(tie, words):
    """Where there are ties, the share of each answer at 400 points, by Rao and Kupper."""
    sentences = scale_named("elo").meaning(tree_of(draws_of(4, 1.0, tie)), "ward", "wards")
    assert len(sentences) == words
    if words == 2:
        answer = rao_kupper_probabilities(np.log(10), 0.0, tie)
        assert f"the higher {100 * answer['first']:.0f} %" in sentences[1]
        assert f"neither {100 * answer['tie']:.0f} %" in sentences[1]


def test_the_folder_says_its_scale_and_another_can_be_asked_for(tmp_path):
    """`study.json` and every row of both tables; scores on a third scale come from the draws."""
    tree = tree_of(draws_of(4, 1.0, 0.4))
    results = write_results(tree, tmp_path / "out", wording=Wording(scale="elo", top=1))
    assert json.loads((tmp_path / "out/study.json").read_text())["scale"] == "elo"
    board = pd.read_csv(tmp_path / "out/leaderboard.csv")
    assert set(board["scale"]) == set(results.items["scale"]) == {"elo"}
    np.testing.assert_allclose(board["score"], results.items["score"])
    other = shown_scores(replace(results, wording=replace(results.wording, scale="0-100")))
    expected = summarise(tree, scale="0-100")["score"]
    np.testing.assert_allclose(other.items["score"], expected)
    plain = shown_scores(replace(results, wording=Wording())).items
    np.testing.assert_array_equal(plain["score"], plain["mean"])


def test_leaderboard_of_each_group_says_what_differs():
    """Scores of all plus the contrast; votes are those of the group; differences are sure."""
    tree = tree_of(draws_of(4, 1.0, 0.4), groups=True)
    board = leaderboard(tree, scale="elo").set_index(["group", "item"])
    assert list(dict.fromkeys(board.index.get_level_values(0))) == ["all", *GROUPS]
    points = 400 / np.log(10)
    gap = board["score"]["de"]["ash"] - board["score"]["en"]["ash"]
    assert gap == pytest.approx(0.75 * points)
    assert board["difference"]["de"]["ash"] == pytest.approx(0.375 * points)
    assert board["sure"]["de"]["ash"] == board["sure"]["en"]["ash"] == 1
    assert board["difference"]["all"].isna().all()
    assert board["votes"]["de"].to_dict() == {"ash": 4, "birch": 7, "cedar": 3, "elm": 0}
    assert board["votes"]["en"].to_dict() == {"ash": 4, "birch": 0, "cedar": 0, "elm": 4}
    ranks = (-tree["posterior/quality"].to_numpy()).argsort(-1).argsort(-1).reshape(-1, 4) + 1
    expected = np.quantile(ranks, 0.975, axis=0, method="inverted_cdf")
    np.testing.assert_array_equal(board["rank_q97.5"]["all"][list(ITEMS)], expected)


def test_percentages_of_a_group_are_those_of_its_own_judges():
    """Its sharpness and threshold, pair by pair; Elo ratings are those of the reference."""
    tree = tree_of(draws_of(4, 1.0, 0.4), groups=True)
    sharpness, threshold = {"de": 1.0, "en": 0.3}, {"de": 0.4, "en": 1.1}
    sample = tree["posterior/tie"].shape
    values = {
        name: (("chain", "draw", "judge"), np.broadcast_to([own[g] for g in GROUPS], (*sample, 2)))
        for name, own in (("sharpness", sharpness), ("threshold", threshold))
    }
    posterior = tree["posterior"].to_dataset().assign(values).assign_coords(judge=list(GROUPS))
    tree["posterior"] = DataTree(posterior)
    terms = [{"kind": kind, "reference": "de"} for kind in ("sharpness", "thresholds")]
    tree.attrs["model"] = json.dumps({"tie": None, "terms": terms})
    board = leaderboard(tree, scale="0-100").set_index(["group", "item"])["score"]
    own = tree["posterior/quality"].to_numpy()[:, :, None] + tree["posterior/contrast"].to_numpy()
    for k, group in enumerate(GROUPS):
        for i, item in enumerate(ITEMS):
            gaps = sharpness[group] * (own[:, :, k, [i]] - np.delete(own[:, :, k], i, axis=-1))
            answers = [rao_kupper_probabilities(gap, 0.0, threshold[group]) for gap in gaps.ravel()]
            expected = 100 * np.mean([one["first"] + one["tie"] / 2 for one in answers])
            assert board[group][item] == pytest.approx(expected, abs=0.01)
    ratings = leaderboard(tree, scale="elo").set_index(["group", "item"])["score"]
    quality = own.mean(axis=(0, 1))[1]
    np.testing.assert_allclose(ratings["en"][list(ITEMS)], 1500 + 400 / np.log(10) * quality)
    assert "on the scale of “de”" in " ".join(scale_named("elo").meaning(tree, "tree", "trees"))


def test_a_group_called_all_is_not_mixed_up_with_all():
    """The leaderboard of all answers then has another name."""
    tree = tree_of(draws_of(4, 1.0, 0.4), groups=True)
    tree["posterior"] = DataTree(tree["posterior"].to_dataset().assign_coords(group=["all", "en"]))
    assert list(dict.fromkeys(leaderboard(tree)["group"])) == ["all together", "all", "en"]
