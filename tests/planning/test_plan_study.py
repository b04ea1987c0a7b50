"""How many comparisons: figures, curves, and plans that keep what they promise."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, pearsonr, spearmanr

from support.processes import one_process_at_a_time, shared_folder
from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.jobs.run import WorkerPool
from tiewise.model import PRIOR_SET_NAMES
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.prior_sets import prior_set_name
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs, simulate_answers, simulate_counts
from tiewise.planning import search
from tiewise.planning.accuracy import MEASURES, accuracy_measures
from tiewise.planning.curves import crossing, first_crossing, local_line
from tiewise.planning.design import StudyDesign, crowd_limit, random_pair, tie_for_share
from tiewise.planning.plan import round_down, round_significant, round_up
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
        patch.setattr(search, "SCOUT_STUDIES", 2)
        patch.setattr(search, "SURVEY_SIZES", 4)
        yield


# Figures of one study.


def draws_around(mean, sd, number, seed=1):
    rng = np.random.default_rng(seed)
    return mean + sd * rng.normal(size=(number, len(mean)))


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(5)
    truth, draws = rng.normal(size=20), rng.normal(size=(300, 20))
    measures = accuracy_measures(draws, truth, 4)
    mean = (draws - draws.mean(axis=1, keepdims=True)).mean(axis=0)
    assert measures["correlation"] == pytest.approx(pearsonr(mean, truth).statistic)
    assert measures["rank_correlation"] == pytest.approx(spearmanr(mean, truth).statistic)


def test_figures_of_a_case_made_by_hand():
    """Estimates 4 3 2 1 of a truth 3 4 1 2: neighbours are exchanged, every rank is off by one."""
    draws = np.array([[4.0, 3.0, 2.0, 1.0]] * 200)
    measures = accuracy_measures(draws, np.array([3.0, 4.0, 1.0, 2.0]), 1)
    assert measures["rank_error"] == 1.0
    assert (measures["top_share"], measures["all_top"]) == (0.0, 0.0)
    assert (measures["width"], measures["rank_width"]) == (0.0, 0.0)
    assert (measures["covered"], measures["rank_covered"]) == (0.0, 0.0)
    assert measures["rank_correlation"] == pytest.approx(1 - 6 * 4 / (4 * 15))
    assert accuracy_measures(draws, np.array([3.0, 4.0, 1.0, 2.0]), 2)["top_share"] == 1.0


def test_half_of_the_top_is_half():
    draws = np.array([[4.0, 3.0, 2.0, 1.0]] * 50)
    measures = accuracy_measures(draws, np.array([4.0, 1.0, 3.0, 2.0]), 2)
    assert (measures["top_share"], measures["all_top"]) == (0.5, 0.0)


def test_what_is_known_exactly_is_known_exactly():
    truth = np.arange(8.0)
    measures = accuracy_measures(draws_around(truth, 1e-6, 100), truth, 3)
    perfect = ("reliability", "correlation", "rank_correlation", "top_share", "all_top")
    assert [measures[name] for name in perfect] == pytest.approx([1.0] * 5)
    assert measures["rank_error"] == 0.0


def test_a_common_level_changes_nothing():
    rng = np.random.default_rng(3)
    truth, draws = rng.normal(size=9), rng.normal(size=(400, 9))
    moved = accuracy_measures(draws + rng.normal(size=(400, 1)), truth + 7.0, 3)
    assert moved == pytest.approx(accuracy_measures(draws, truth, 3))


def test_widths_are_those_of_a_normal_however_few_the_draws():
    """95 % intervals of N(0, 1) are 2 × 1.96 wide; the mean over many items shows any bias."""
    wide = 2 * norm.ppf(0.975)
    for number in (250, 4000):
        each = [
            accuracy_measures(
                draws_around(np.linspace(-50, 50, 40), 1.0, number, seed=k), np.zeros(40), 3
            )
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
    estimates = [crossing(noisy_rows(rng), "reliability", 0.8, 105.0) for _ in range(300)]
    z = np.array([np.log(one.value / 100.0) / one.error for one in estimates])
    assert abs(z.mean()) < 4 / np.sqrt(300)
    # The variance of 300 normal numbers has standard error √(2/299); t-like tails add a little.
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / 299) + 0.1


def test_a_crossing_beyond_what_was_simulated_is_not_taken_for_known():
    rows = noisy_rows(np.random.default_rng(4), at=300.0)
    estimate = crossing(rows, "reliability", 0.8, 100.0)
    assert estimate.error == np.inf
    assert estimate.value == pytest.approx(135)


def test_a_line_is_read_where_it_was_drawn():
    rows = [
        {"study": str(k), "total": size, "width": 3 + 2 * np.log(size)}
        for k, size in enumerate([90, 95, 100, 110, 120])
    ]
    estimate = local_line(rows, "width", 100).predict(np.log(105))
    assert estimate.value == pytest.approx(3 + 2 * np.log(105))
    assert estimate.error == pytest.approx(0, abs=1e-9)


def test_a_line_through_one_size_is_none():
    rows = [{"study": str(k), "total": 100, "width": float(k)} for k in range(9)]
    assert local_line(rows, "width", 100) is None


def test_spearmans_and_browns_rule_is_read_off_exactly():
    """Where odds grow in proportion to size, a level is reached where the rule says."""
    sizes = [50.0, 200.0, 800.0]
    values = [(n / 100) / (1 + n / 100) for n in sizes]
    assert first_crossing(sizes, values, 0.8) == pytest.approx(400.0)
    assert first_crossing(sizes, values, 0.99) == np.inf


# What is assumed.


@pytest.mark.parametrize("graph", [None, RING])
def test_a_share_of_ties_is_met(graph):
    prior = Independent(ITEMS) if graph is None else Network(graph)
    tie = tie_for_share(0.3, prior, 12, 1.5)
    rng, shares = np.random.default_rng(7), []
    for _ in range(400):
        truth = Truth.from_priors(prior, Fixed(1.5), Fixed(tie), rng)
        codes = simulate_answers(truth, *random_pairs(12, 30, rng), rng)
        shares.append([(codes == 1).mean(), np.nan])
    shares = np.array(shares)[:, 0]
    assert abs(shares.mean() - 0.3) < 4 * shares.std(ddof=1) / np.sqrt(400)


@pytest.mark.parametrize("prior", [Independent(ITEMS), Network(RING), Network(RING, share=1.0)])
def test_a_random_pair_is_judged_as_simulated(prior):
    """Truths of a map whose share is not fixed have each a share of their own."""
    rng, right = np.random.default_rng(8), []
    for _ in range(400):
        truth = Truth.from_priors(prior, Fixed(4.0), Fixed(0.5), rng)
        one, two = random_pairs(12, 30, rng)
        codes = simulate_answers(truth, one, two, rng)
        better = np.where(truth.quality[one] > truth.quality[two], 0, 2)
        right.append((codes == better).mean())
    expected = random_pair(prior, 12, 4.0, 0.5).better
    assert abs(np.mean(right) - expected) < 4 * np.std(right, ddof=1) / np.sqrt(400)


def test_the_chances_of_answers_add_up():
    assert sum(random_pair(Network(RING), 12, 1.5, 0.7)) == pytest.approx(1)


def test_no_ties_need_no_threshold():
    assert tie_for_share(0.0, Independent(ITEMS), 12, 1.5) == 0.0


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
        ({"judges": 0}, "judges= must be 1 or more"),
        ({"knows": 2}, "knows= speaks of groups"),
        ({"spread": 0.0}, "positive"),
        ({"tie": -1.0}, "tie tendency"),
        ({"skip": 1.0}, "skip"),
        ({"policy": "guess"}, "no pairing policy"),
        ({"top": 12}, "top"),
        ({"prior_set": "vague"}, "no priors are called 'vague'"),
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


@pytest.mark.parametrize("name", PRIOR_SET_NAMES)
def test_fits_have_the_priors_that_a_design_names(name):
    design = replace(SMALL, graph=RING, prior_set=name)
    counts = Counts.of(ITEMS, [0, 1], [1, 2], [3, 1], [2, 1], [1, 0])
    for prior in ("independent", "network"):
        assert prior_set_name(design.model(counts, prior).to_dict()) == name


@pytest.mark.parametrize("share", [-0.1, 0.99, np.nan])
def test_shares_of_ties_that_cannot_be_planned_for_are_refused(share):
    with pytest.raises(InputError, match="share of ties"):
        tie_for_share(share, Independent(ITEMS), 12, 1.5)


@pytest.mark.parametrize("goal", [{"reliability": 1.2}, {"reliability": 0.0}, {"precision": 0.0}])
def test_goals_that_cannot_be_are_refused(goal):
    with pytest.raises(InputError, match=next(iter(goal))):
        plan_study(SMALL, **goal)


# Plans.


@pytest.fixture(scope="module")
def plan():
    return plan_study(SMALL, precision=ROUGH, pool=WorkerPool(1))


def test_a_plan_says_what_it_is_asked(plan):
    requirement = plan.requirements["independent"]
    assert requirement.low < requirement.comparisons <= requirement.high
    assert requirement.error <= ROUGH
    measures = requirement.measures
    assert set(measures) == set(MEASURES)
    assert measures["reliability"].value >= 0.8 - 4 * measures["reliability"].error
    assert [row["comparisons"] for row in plan.table] == sorted(
        row["comparisons"] for row in plan.table
    )


@pytest.mark.slow
def test_the_number_is_that_of_studies_simulated_without_the_planner(plan):
    """Random pairs, counts and a fit as anybody would write them down."""
    rng, values = np.random.default_rng(99), []
    requirement = plan.requirements["independent"]
    for k in range(60):
        truth = Truth.from_priors(Independent(ITEMS), Fixed(2.0), Fixed(0.5), rng)
        counts = simulate_counts(truth, requirement.comparisons, rng)
        tree = fit(BradleyTerry(counts, Independent(ITEMS)), Transport(draws=1000), rng=k)
        values.append(reliability(tree["posterior/quality"].to_numpy().reshape(-1, 12)))
    promised = requirement.measures["reliability"]
    error = np.hypot(np.std(values, ddof=1) / np.sqrt(len(values)), promised.error)
    assert abs(np.mean(values) - promised.value) < 4 * error


def test_more_comparisons_are_better(plan):
    first, last = plan.table[0], plan.table[-1]
    for name in ("reliability", "correlation", "rank_correlation", "top_share"):
        assert last[name] > first[name]
    for name in ("rank_error", "rank_width"):
        assert last[name] < first[name]


def test_truths_are_drawn_from_the_prior_of_a_fit_and_the_words_say_so(plan):
    """Covariances of neighbours over many truths are those of the mixture, averaged over shares."""
    assert "neighbours" not in sentences(plan)[-1].lower()
    rng, neighbours = np.random.default_rng(4), []
    for _ in range(4000):
        quality = RINGED.truth(rng).quality
        neighbours.append((quality[0] - quality[1]) ** 2)
    near = RINGED.priors["network"].correlation
    alike = (near.vectors * near.values) @ near.vectors.T
    expected = 2 * RINGED.spread * (1 - alike[0, 1] / 2)
    error = np.std(neighbours, ddof=1) / np.sqrt(len(neighbours))
    assert abs(np.mean(neighbours) - expected) < 4 * error
    assert "drawn evenly between 0" in " ".join(sentences(replace(plan, design=RINGED)))
    fixed = replace(RINGED, prior_set="paper")
    assert "with a share of 1 for the map" in " ".join(sentences(replace(plan, design=fixed)))


def test_the_words_say_the_number_and_the_judges(plan):
    requirement, text = plan.requirements["independent"], " ".join(sentences(plan))
    judges = -(-requirement.comparisons // 20)
    assert f"collect about {requirement.comparisons:,} comparisons" in text
    assert f"between {requirement.low:,} and {requirement.high:,}" in text
    assert f"{judges} judges at 20 each" in text
    assert "Your 5 judges at 20 each make 100: reliability" in text


def file_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def plan_folder(tmp_path_factory):
    """A plan on a ring, written by one process; every process of the tests has a copy."""
    shared = shared_folder(tmp_path_factory)
    with one_process_at_a_time(shared / "planning"):
        if not (shared / "plan").exists():
            plan_study(RINGED, precision=ROUGH, pool=WorkerPool(1), out=shared / "made")
            (shared / "made").rename(shared / "plan")
    return Path(shutil.copytree(shared / "plan", tmp_path_factory.mktemp("kept") / "plan"))


RINGED = replace(SMALL, graph=RING, per_judge=None, policy="balanced", skip=0.1)
SAME = ("plan.csv", "plan.json", "plan.png", "plan.svg", "simulations.parquet")


@pytest.mark.slow
def test_everything_is_written(plan_folder):
    assert set(file_bytes(plan_folder)) == {*SAME, "timings.parquet", "journal.jsonl"}
    contents = json.loads((plan_folder / "plan.json").read_text(encoding="utf-8"))
    assert contents["words"]
    assert set(contents["answers"]) == {"independent", "network"}


@pytest.mark.slow
def test_two_workers_write_the_same_bytes(plan_folder, tmp_path):
    plan_study(RINGED, precision=ROUGH, pool=WorkerPool(2), out=tmp_path / "plan")
    one, two = file_bytes(plan_folder), file_bytes(tmp_path / "plan")
    assert [name for name in SAME if one[name] != two[name]] == []


@pytest.mark.slow
def test_a_plan_taken_up_again_writes_the_same_bytes(plan_folder, tmp_path):
    lines = (plan_folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    stopped = tmp_path / "plan"
    stopped.mkdir()
    # Stopped in the middle of the survey, and of writing a line.
    (stopped / "journal.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:40])
    plan_study(RINGED, precision=ROUGH, pool=WorkerPool(1), out=stopped)
    one, two = file_bytes(plan_folder), file_bytes(stopped)
    assert [name for name in SAME if one[name] != two[name]] == []


@pytest.mark.slow
def test_what_is_there_is_not_simulated_again(plan_folder):
    before = file_bytes(plan_folder)
    plan_study(RINGED, precision=ROUGH, pool=WorkerPool(1), out=plan_folder)
    after = file_bytes(plan_folder)
    assert after["journal.jsonl"] == before["journal.jsonl"]
    assert after["timings.parquet"] == before["timings.parquet"]


@pytest.mark.slow
def test_other_settings_are_refused_in_the_folder_of_a_plan(plan_folder):
    with pytest.raises(InputError, match=r"other settings \(spread 2.0, now 3.0\)"):
        plan_study(replace(RINGED, spread=3.0), precision=ROUGH, out=plan_folder)


def test_a_folder_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        plan_study(SMALL, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_neighbours_who_are_alike_save_comparisons(plan_folder):
    contents = json.loads((plan_folder / "plan.json").read_text(encoding="utf-8"))["answers"]
    assert contents["network"]["comparisons"] < contents["independent"]["comparisons"]


# A study that runs.


@pytest.fixture(scope="module")
def running():
    rng = np.random.default_rng(21)
    truth = Truth.from_priors(Independent(ITEMS), Fixed(2.0), Fixed(0.5), rng)
    return simulate_counts(truth, 60, rng)


@pytest.mark.slow
def test_a_study_that_runs_is_told_how_many_more(running):
    plan = plan_study(replace(SMALL, before=running), precision=ROUGH, pool=WorkerPool(1))
    requirement, text = plan.requirements["independent"], " ".join(sentences(plan))
    assert 0.2 < plan.current_reliability["independent"] < 0.8
    assert f"about {requirement.comparisons:,} more comparisons" in text
    now = f"{plan.current_reliability['independent']:.2f}"
    assert f"So far there are 60 comparisons: reliability {now}" in text
    totals = {row["total"] - row["comparisons"] for one in plan.records for row in one.rows}
    assert totals == {60}


def test_a_study_that_has_enough_is_told_so(running):
    many = replace(
        running, wins_first=60 * running.wins_first, wins_second=60 * running.wins_second,
        ties=60 * running.ties,
    )  # fmt: skip
    plan = plan_study(
        replace(SMALL, before=many), reliability=0.7, precision=ROUGH, pool=WorkerPool(1)
    )
    assert "A reliability of 0.70 is there already." in sentences(plan)


# Out of reach.


@pytest.mark.slow
def test_judges_who_run_out_of_pairs_are_told_of():
    few = replace(SMALL, judges=1, per_judge=None, spread=0.5)
    plan = plan_study(few, reliability=0.95, precision=ROUGH, pool=WorkerPool(1))
    text = " ".join(sentences(plan))
    assert plan.requirements["independent"] is None
    assert "out of reach: no pair is left for 1 judge after about 66 comparisons" in text


@pytest.mark.slow
def test_a_reliability_that_nobody_can_pay_for_is_out_of_reach():
    alike = replace(SMALL, spread=0.001)
    plan = plan_study(alike, reliability=0.95, precision=ROUGH, pool=WorkerPool(1))
    assert plan.requirements["independent"] is None
    assert "out of reach: it takes more than 1,200 comparisons" in " ".join(sentences(plan))


# Numbers as they are said.


def test_numbers_have_two_or_three_digits_that_count():
    assert [round_significant(n, 2) for n in (3.2, 94.6, 1234)] == [3, 95, 1200]
    assert [round_significant(n, 3) for n in (94.6, 1234, 0.2)] == [95, 1230, 1]
    assert [round_up(n) for n in (612, 1201, 99.5)] == [620, 1300, 100]
    assert [round_down(n) for n in (612, 1299, 99.5, 0.4)] == [610, 1200, 99, 0]
