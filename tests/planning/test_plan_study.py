"""How many comparisons: figures, curves, and plans that keep what they promise."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, pearsonr, spearmanr

from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.jobs.run import Crew
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent, Network
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, answers, random_pairs, simulate_counts
from tiewise.planning import search
from tiewise.planning.accuracy import FIGURES, figures
from tiewise.planning.curves import crossing, first_reached, line_near
from tiewise.planning.design import StudyDesign, crowd_limit, random_pair, threshold
from tiewise.planning.plan import down, neat, up
from tiewise.planning.plan_study import plan_study
from tiewise.planning.sentences import sentences
from tiewise.posterior.fit import fit
from tiewise.posterior.reliability import reliability

ITEMS = tuple(str(k + 1) for k in range(12))
RING = Graph.from_edges([(k + 1, (k + 1) % 12 + 1) for k in range(12)], ITEMS)
SMALL = StudyDesign(items=ITEMS, judges=5, per_judge=20, spread=2.0, top=3)
ROUGH = 0.2
"""A precision that a few simulated studies reach."""


@pytest.fixture(scope="module", autouse=True)
def _few_scouts_and_sizes():
    """What is tested here does not depend on how finely a plan is surveyed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SCOUTS", 2)
        patch.setattr(search, "SURVEYED", 4)
        yield


# Figures of one study.


def draws_around(mean, sd, number, seed=1):
    rng = np.random.default_rng(seed)
    return mean + sd * rng.normal(size=(number, len(mean)))


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(5)
    truth, draws = rng.normal(size=20), rng.normal(size=(300, 20))
    found = figures(draws, truth, 4)
    mean = (draws - draws.mean(axis=1, keepdims=True)).mean(axis=0)
    assert found["correlation"] == pytest.approx(pearsonr(mean, truth).statistic)
    assert found["rank_correlation"] == pytest.approx(spearmanr(mean, truth).statistic)


def test_figures_of_a_case_made_by_hand():
    """Estimates 4 3 2 1 of a truth 3 4 1 2: neighbours are exchanged, every rank is off by one."""
    draws = np.array([[4.0, 3.0, 2.0, 1.0]] * 200)
    found = figures(draws, np.array([3.0, 4.0, 1.0, 2.0]), 1)
    assert found["rank_error"] == 1.0
    assert (found["top_share"], found["all_top"]) == (0.0, 0.0)
    assert (found["width"], found["rank_width"]) == (0.0, 0.0)
    assert (found["covered"], found["rank_covered"]) == (0.0, 0.0)
    assert found["rank_correlation"] == pytest.approx(1 - 6 * 4 / (4 * 15))
    assert figures(draws, np.array([3.0, 4.0, 1.0, 2.0]), 2)["top_share"] == 1.0


def test_half_of_the_top_is_half():
    draws = np.array([[4.0, 3.0, 2.0, 1.0]] * 50)
    found = figures(draws, np.array([4.0, 1.0, 3.0, 2.0]), 2)
    assert (found["top_share"], found["all_top"]) == (0.5, 0.0)


def test_what_is_known_exactly_is_known_exactly():
    truth = np.arange(8.0)
    found = figures(draws_around(truth, 1e-6, 100), truth, 3)
    perfect = ("reliability", "correlation", "rank_correlation", "top_share", "all_top")
    assert [found[name] for name in perfect] == pytest.approx([1.0] * 5)
    assert found["rank_error"] == 0.0


def test_a_common_level_changes_nothing():
    rng = np.random.default_rng(3)
    truth, draws = rng.normal(size=9), rng.normal(size=(400, 9))
    moved = figures(draws + rng.normal(size=(400, 1)), truth + 7.0, 3)
    assert moved == pytest.approx(figures(draws, truth, 3))


def test_widths_are_those_of_a_normal_however_few_the_draws():
    """95 % intervals of N(0, 1) are 2 × 1.96 wide; the mean over many items shows any bias."""
    wide = 2 * norm.ppf(0.975)
    for number in (250, 4000):
        each = [
            figures(draws_around(np.linspace(-50, 50, 40), 1.0, number, seed=k), np.zeros(40), 3)
            for k in range(40)
        ]
        widths = [one["width"] for one in each]
        # Less the share of the common level, which centring takes away.
        expected = wide * np.sqrt(1 - 1 / 40)
        error = np.std(widths, ddof=1) / np.sqrt(len(widths))
        assert abs(np.mean(widths) - expected) < 4 * error


# Curves.


def noisy_rows(rng, *, studies=40, sizes=(88, 114), level=0.8, slope=0.16, at=100.0):
    """Studies whose reliability is a line in log size, with a part of their own that all sizes
    of a study share."""
    out = []
    for study in range(studies):
        own = rng.normal(0, 0.05)
        for size in sizes:
            value = level + slope * np.log(size / at) + own + rng.normal(0, 0.01)
            out.append({"study": f"near {study}", "total": size, "reliability": value})
    return out


def test_a_crossing_is_found_and_its_error_is_honest():
    """Over many sets of studies (found − true) / error has mean 0 and variance 1."""
    rng = np.random.default_rng(11)
    found = [crossing(noisy_rows(rng), "reliability", 0.8, 105.0) for _ in range(300)]
    z = np.array([np.log(one.value / 100.0) / one.error for one in found])
    assert abs(z.mean()) < 4 / np.sqrt(300)
    # The variance of 300 normal numbers has standard error √(2/299); t-like tails add a little.
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / 299) + 0.1


def test_a_crossing_beyond_what_was_simulated_is_not_taken_for_known():
    rows = noisy_rows(np.random.default_rng(4), at=300.0)
    found = crossing(rows, "reliability", 0.8, 100.0)
    assert found.error == np.inf
    assert found.value == pytest.approx(135)


def test_a_line_is_read_where_it_was_drawn():
    rows = [
        {"study": str(k), "total": size, "width": 3 + 2 * np.log(size)}
        for k, size in enumerate([90, 95, 100, 110, 120])
    ]
    found = line_near(rows, "width", 100).read(np.log(105))
    assert found.value == pytest.approx(3 + 2 * np.log(105))
    assert found.error == pytest.approx(0, abs=1e-9)


def test_a_line_through_one_size_is_none():
    rows = [{"study": str(k), "total": 100, "width": float(k)} for k in range(9)]
    assert line_near(rows, "width", 100) is None


def test_spearmans_and_browns_rule_is_read_off_exactly():
    """Where odds grow in proportion to size, a level is reached where the rule says."""
    sizes = [50.0, 200.0, 800.0]
    values = [(n / 100) / (1 + n / 100) for n in sizes]
    assert first_reached(sizes, values, 0.8) == pytest.approx(400.0)
    assert first_reached(sizes, values, 0.99) == np.inf


# What is assumed.


@pytest.mark.parametrize("graph", [None, RING])
def test_a_share_of_ties_is_met(graph):
    prior = Independent(ITEMS) if graph is None else Network(graph)
    tie = threshold(0.3, prior, 12, 1.5)
    rng, said = np.random.default_rng(7), []
    for _ in range(400):
        truth = Truth.drawn(prior, Fixed(1.5), Fixed(tie), rng)
        told = answers(truth, *random_pairs(12, 30, rng), rng)
        said.append([(told == 1).mean(), np.nan])
    shares = np.array(said)[:, 0]
    assert abs(shares.mean() - 0.3) < 4 * shares.std(ddof=1) / np.sqrt(400)


def test_a_random_pair_is_judged_as_simulated():
    prior, rng, right = Independent(ITEMS), np.random.default_rng(8), []
    for _ in range(400):
        truth = Truth.drawn(prior, Fixed(4.0), Fixed(0.5), rng)
        one, two = random_pairs(12, 30, rng)
        told = answers(truth, one, two, rng)
        better = np.where(truth.quality[one] > truth.quality[two], 0, 2)
        right.append((told == better).mean())
    expected = random_pair(prior, 12, 4.0, 0.5).better
    assert abs(np.mean(right) - expected) < 4 * np.std(right, ddof=1) / np.sqrt(400)


def test_the_chances_of_answers_add_up():
    assert sum(random_pair(Network(RING), 12, 1.5, 0.7)) == pytest.approx(1)


def test_no_ties_need_no_threshold():
    assert threshold(0.0, Independent(ITEMS), 12, 1.5) == 0.0


def test_what_pairs_allow():
    limit = crowd_limit(replace(SMALL, per_judge=500).crowd, np.random.default_rng(1))
    assert limit["each"] == 66
    shared = crowd_limit(replace(SMALL, per_judge=None).crowd, np.random.default_rng(1))
    assert shared["all"] == 5 * 66


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"items": ("a", "b")}, "3 items or more"),
        ({"items": ("a", "b", "a")}, "distinct"),
        ({"judges": None, "per_judge": None}, "say how many judges"),
        ({"judges": 0}, "--judges must be 1 or more"),
        ({"knows": 2}, "--knows speaks of groups"),
        ({"spread": 0.0}, "positive"),
        ({"tie": -1.0}, "tie tendency"),
        ({"skip": 1.0}, "skip"),
        ({"policy": "guess"}, "no pairing policy"),
        ({"top": 12}, "top"),
        ({"graph": Graph.from_edges([("x", "y"), ("y", "z")])}, "other items"),
        ({"knows": 4, "groups": ("g", "h", "i") * 4}, "1 to 3"),
        ({"knows": 2, "groups": ("g", "h", "") * 4}, "4 of 12 items are in no group"),
        ({"knows": 1, "groups": ITEMS}, "nothing to compare"),
        ({"before": Counts.of(("1", "x"), [0], [1], [1], [0])}, "'x' was compared"),
        ({"before": Counts.of(ITEMS, [], [], [], [])}, "nothing has been compared"),
    ],
)
def test_designs_that_cannot_be_are_refused(change, says):
    with pytest.raises(InputError, match=says):
        replace(SMALL, **change)


@pytest.mark.parametrize("share", [-0.1, 0.99, np.nan])
def test_shares_of_ties_that_cannot_be_planned_for_are_refused(share):
    with pytest.raises(InputError, match="share of ties"):
        threshold(share, Independent(ITEMS), 12, 1.5)


@pytest.mark.parametrize("given", [{"reliability": 1.2}, {"reliability": 0.0}, {"precision": 0.0}])
def test_goals_that_cannot_be_are_refused(given):
    with pytest.raises(InputError, match=next(iter(given))):
        plan_study(SMALL, **given)


# Plans.


@pytest.fixture(scope="module")
def plan():
    return plan_study(SMALL, precision=ROUGH, crew=Crew(1))


def test_a_plan_says_what_it_is_asked(plan):
    answer = plan.answers["independent"]
    assert answer.low < answer.comparisons <= answer.high
    assert answer.error <= ROUGH
    told = answer.figures
    assert set(told) == set(FIGURES)
    assert told["reliability"].value >= 0.8 - 4 * told["reliability"].error
    assert [row["comparisons"] for row in plan.table] == sorted(
        row["comparisons"] for row in plan.table
    )


def test_the_number_is_that_of_studies_simulated_without_the_planner(plan):
    """Random pairs, counts and a fit as anybody would write them down."""
    rng, found = np.random.default_rng(99), []
    answer = plan.answers["independent"]
    for k in range(60):
        truth = Truth.drawn(Independent(ITEMS), Fixed(2.0), Fixed(0.5), rng)
        counts = simulate_counts(truth, answer.comparisons, rng)
        tree = fit(BradleyTerry(counts, Independent(ITEMS)), Transport(draws=1000), seed=k)
        found.append(reliability(tree["posterior/quality"].to_numpy().reshape(-1, 12)))
    promised = answer.figures["reliability"]
    error = np.hypot(np.std(found, ddof=1) / np.sqrt(len(found)), promised.error)
    assert abs(np.mean(found) - promised.value) < 4 * error


def test_more_comparisons_are_better(plan):
    first, last = plan.table[0], plan.table[-1]
    for name in ("reliability", "correlation", "rank_correlation", "top_share"):
        assert last[name] > first[name]
    for name in ("rank_error", "rank_width"):
        assert last[name] < first[name]


def test_the_words_say_the_number_and_the_judges(plan):
    answer, said = plan.answers["independent"], " ".join(sentences(plan))
    judges = -(-answer.comparisons // 20)
    assert f"collect about {answer.comparisons:,} comparisons" in said
    assert f"between {answer.low:,} and {answer.high:,}" in said
    assert f"{judges} judges at 20 each" in said
    assert "Your 5 judges at 20 each make 100: reliability" in said


def written(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A plan on a ring, written by one process."""
    folder = tmp_path_factory.mktemp("kept") / "plan"
    plan_study(RINGED, precision=ROUGH, crew=Crew(1), out=folder)
    return folder


RINGED = replace(SMALL, graph=RING, per_judge=None, policy="balanced", skip=0.1)
SAME = ("plan.csv", "plan.json", "plan.png", "plan.svg", "simulations.parquet")


def test_everything_is_written(kept):
    assert set(written(kept)) == {*SAME, "timings.parquet", "journal.jsonl"}
    told = json.loads((kept / "plan.json").read_text(encoding="utf-8"))
    assert told["words"]
    assert set(told["answers"]) == {"independent", "network"}


def test_two_workers_write_the_same_bytes(kept, tmp_path):
    plan_study(RINGED, precision=ROUGH, crew=Crew(2), out=tmp_path / "plan")
    one, two = written(kept), written(tmp_path / "plan")
    assert [name for name in SAME if one[name] != two[name]] == []


def test_a_plan_taken_up_again_writes_the_same_bytes(kept, tmp_path):
    lines = (kept / "journal.jsonl").read_bytes().splitlines(keepends=True)
    begun = tmp_path / "plan"
    begun.mkdir()
    # Stopped in the middle of the survey, and of writing a line.
    (begun / "journal.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:40])
    plan_study(RINGED, precision=ROUGH, crew=Crew(1), out=begun)
    one, two = written(kept), written(begun)
    assert [name for name in SAME if one[name] != two[name]] == []


def test_what_is_there_is_not_simulated_again(kept):
    before = written(kept)
    plan_study(RINGED, precision=ROUGH, crew=Crew(1), out=kept)
    after = written(kept)
    assert after["journal.jsonl"] == before["journal.jsonl"]
    assert after["timings.parquet"] == before["timings.parquet"]


def test_other_settings_are_refused_in_the_folder_of_a_plan(kept):
    with pytest.raises(InputError, match=r"other settings \(spread 2.0, now 3.0\)"):
        plan_study(replace(RINGED, spread=3.0), precision=ROUGH, out=kept)


def test_a_folder_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        plan_study(SMALL, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_neighbours_who_are_alike_save_comparisons(kept):
    told = json.loads((kept / "plan.json").read_text(encoding="utf-8"))["answers"]
    assert told["network"]["comparisons"] < told["independent"]["comparisons"]


# A study that runs.


@pytest.fixture(scope="module")
def running():
    rng = np.random.default_rng(21)
    truth = Truth.drawn(Independent(ITEMS), Fixed(2.0), Fixed(0.5), rng)
    return simulate_counts(truth, 60, rng)


def test_a_study_that_runs_is_told_how_many_more(running):
    plan = plan_study(replace(SMALL, before=running), precision=ROUGH, crew=Crew(1))
    answer, said = plan.answers["independent"], " ".join(sentences(plan))
    assert 0.2 < plan.now["independent"] < 0.8
    assert f"about {answer.comparisons:,} more comparisons" in said
    assert f"So far there are 60 comparisons: reliability {plan.now['independent']:.2f}" in said
    totals = {row["total"] - row["comparisons"] for one in plan.done for row in one.rows}
    assert totals == {60}


def test_a_study_that_has_enough_is_told_so(running):
    many = replace(
        running, wins_first=60 * running.wins_first, wins_second=60 * running.wins_second,
        ties=60 * running.ties,
    )  # fmt: skip
    plan = plan_study(replace(SMALL, before=many), reliability=0.7, precision=ROUGH, crew=Crew(1))
    assert "A reliability of 0.70 is there already." in sentences(plan)


# Out of reach.


def test_judges_who_run_out_of_pairs_are_told_of():
    few = replace(SMALL, judges=1, per_judge=None, spread=0.5)
    plan = plan_study(few, reliability=0.95, precision=ROUGH, crew=Crew(1))
    said = " ".join(sentences(plan))
    assert plan.answers["independent"] is None
    assert "out of reach: no pair is left for 1 judge after about 66 comparisons" in said


def test_a_reliability_that_nobody_can_pay_for_is_out_of_reach():
    alike = replace(SMALL, spread=0.001)
    plan = plan_study(alike, reliability=0.95, precision=ROUGH, crew=Crew(1))
    assert plan.answers["independent"] is None
    assert "out of reach: it takes more than 1,200 comparisons" in " ".join(sentences(plan))


# Numbers as they are said.


def test_numbers_have_two_or_three_digits_that_count():
    assert [neat(n, 2) for n in (3.2, 94.6, 1234)] == [3, 95, 1200]
    assert [neat(n, 3) for n in (94.6, 1234, 0.2)] == [95, 1230, 1]
    assert [up(n) for n in (612, 1201, 99.5)] == [620, 1300, 100]
    assert [down(n) for n in (612, 1299, 99.5, 0.4)] == [610, 1200, 99, 0]
