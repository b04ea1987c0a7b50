"""Simulation studies: their parts against other calculations, and how they are run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence
from scipy import integrate, linalg, optimize, stats

from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.errors import InputError
from tiewise.experiments import EXPERIMENTS
from tiewise.experiments.alpha import change_from_inferred
from tiewise.experiments.delta import contrasts
from tiewise.experiments.designs import (
    expected_information,
    expected_ties,
    scaling_study,
    simulate_county_study,
    tie_for_share,
)  # fmt: skip
from tiewise.experiments.efficiency import effective_rates
from tiewise.experiments.experiment import (
    Experiment,
    ResultColumn,
    comparison_words,
    group_means,
    markdown,
    mean_difference,
)
from tiewise.experiments.run import (
    findings_markdown,
    load_experiment,
    read_experiment,
    run_experiment,
)
from tiewise.experiments.scalability import exponent
from tiewise.experiments.ties import HalfWins, break_ties_randomly, posterior_accuracy
from tiewise.experiments.timing import total_steps
from tiewise.geo.graph import Graph
from tiewise.jobs.run import TaskResult, seed_text, task_seed
from tiewise.model.map_priors import Network
from tiewise.planning.recovery import PosteriorSample, interval_covers, rank_positions
from tiewise.progress import no_progress

ROOT = Path(__file__).parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results" / "experiments"
SMALL = Graph.grid(3, 3)
TINY = {"wards": 12, "comparisons": 60}
ENGINES = {
    "transport": {"draws": 400},
    "gibbs": {"draws": 80, "warmup": 5, "as_published": True},
    "metropolis": {"draws": 40, "warmup": 5, "thin": 2},
}


def small(name: str, repeats: int = 2) -> Experiment:
    """An experiment with cases that take a moment."""
    whole = load_experiment(name)
    engines = {"engines": ENGINES} if whole.timed else {}
    cases = [
        {**case, **TINY, **engines, **({"items": 4 + 4 * k} if "items" in case else {})}
        for k, case in enumerate(whole.quick[: 1 if name == "ties" else 2])
    ]
    return replace(whole, quick=cases, quick_repeats=repeats)


# Ties and information, before there is any judgement.


def over_pairs(of):
    """The mean over pairs and over the prior's differences, by adaptive integration.

    The network prior is written out: D^{-1/2} e^A D^{-1/2}.
    """
    exponential = linalg.expm(SMALL.adjacency().toarray())
    unit = 1 / np.sqrt(np.diag(exponential))
    covariance = unit[:, None] * exponential * unit
    total = []
    for i in range(9):
        for j in range(i):
            sd = np.sqrt(2 - 2 * covariance[i, j])
            density = stats.norm(0, sd).pdf
            total.append(integrate.quad(lambda g, p=density: p(g) * of(g), -12, 12)[0])
    return np.mean(total)


def probabilities(gap: float, tie: float) -> np.ndarray:
    """Rao and Kupper's probabilities: first, second, tie."""
    one, theta = np.exp(gap), np.exp(tie)
    first, second = one / (one + theta), 1 / (1 + theta * one)
    tied = (theta**2 - 1) * one / ((one + theta) * (1 + theta * one))
    return np.array([first, second, tied])


@pytest.mark.parametrize("tie", [0.1, 0.7, 2.5])
def test_the_expected_share_of_ties_is_that_of_integration(tie):
    assert expected_ties(SMALL, tie) == pytest.approx(
        over_pairs(lambda gap: probabilities(gap, tie)[2]), abs=1e-6
    )


@pytest.mark.parametrize("share", [0.05, 0.5, 0.75])
def test_a_threshold_is_found_for_a_share_of_ties(share):
    tie = tie_for_share(SMALL, share)
    assert over_pairs(lambda gap: probabilities(gap, tie)[2]) == pytest.approx(share, abs=1e-6)


def test_a_share_of_ties_beyond_everything_is_refused():
    with pytest.raises(InputError, match=r"between 0 and 1"):
        tie_for_share(SMALL, 1.0)


@pytest.mark.parametrize("tie", [0.1, 0.7, 2.5])
def test_what_an_answer_tells_is_fishers_information(tie):
    """The expected square of the slope of its log chance, by finite differences."""

    def fisher(gap: float) -> float:
        slope = (probabilities(gap + 1e-5, tie) - probabilities(gap - 1e-5, tie)) / 2e-5
        return float((slope**2 / probabilities(gap, tie)).sum())

    assert expected_information(SMALL, tie) == pytest.approx(over_pairs(fisher), rel=0.01)


def test_information_is_greatest_at_a_third_of_ties_between_equals():
    """2 σ(δ)² σ(−δ) at a difference of 0 has its maximum where σ(δ) = 2/3, at δ = log 2."""
    near = [expected_information(SMALL, tie, variance=1e-6) for tie in (0.5, np.log(2), 0.9)]
    assert near[1] == pytest.approx(8 / 27, rel=1e-3)
    assert near[1] > max(near[0], near[2])


def test_the_scaling_study_is_the_papers():
    covariance, counts = scaling_study(24, np.random.default_rng(3))
    assert np.diag(covariance) == pytest.approx(np.ones(24))
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert counts.comparisons == 240


# Ways to treat ties.


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(4)
    return simulate_county_study(SMALL, comparisons=200, tie=0.8, variance=0.6, rng=rng)[1]


def test_half_wins_give_the_estimate_of_another_optimiser(counts):
    """Wins and halves of ties as weights of a plain Bradley–Terry likelihood."""
    one, two = counts.first, counts.second
    forth = counts.wins_first + counts.ties / 2
    back = counts.wins_second + counts.ties / 2

    def minus(free: np.ndarray) -> float:
        quality = np.append(free, -free.sum())
        gap = quality[one] - quality[two]
        return float((forth * np.logaddexp(0, -gap) + back * np.logaddexp(0, gap)).sum())

    best = optimize.minimize(minus, np.zeros(8), method="BFGS", options={"gtol": 1e-7}).x
    model = HalfWins.of(counts, Network(SMALL))
    estimate = MaximumLikelihood().run(model, SeedSequence(1), no_progress).quality[0, 0]
    assert estimate - estimate.mean() == pytest.approx(np.append(best, -best.sum()), abs=1e-4)


def test_a_coin_decides_every_tie_and_nothing_else(counts):
    tossed = break_ties_randomly(counts, np.random.default_rng(5))
    assert tossed.total_ties == 0
    assert tossed.comparisons == counts.comparisons
    assert (tossed.wins_first - counts.wins_first >= 0).all()
    assert (tossed.wins_first - counts.wins_first <= counts.ties).all()
    assert 0 < (tossed.wins_first - counts.wins_first).sum() < counts.total_ties


def test_a_posterior_twice_too_wide_is_told_by_its_slopes():
    """Draws that are all twice the truth: order right, scale wrong, no interval holds."""
    truth = np.array([-1.5, -0.5, 0.5, 1.5])
    draws = np.tile(2 * truth, (50, 1))
    pairs = np.array([[0, 1], [2, 3], [0, 3]])
    accuracy = posterior_accuracy(PosteriorSample(draws, np.ones(50), np.ones(50)), truth, pairs)
    assert accuracy["slope"] == pytest.approx(2)
    assert accuracy["scale"] == pytest.approx(0.5)
    assert accuracy["square"] == pytest.approx((truth**2).mean())
    assert accuracy["scaled_square"] == pytest.approx(0)
    assert accuracy["rank_correlation"] == pytest.approx(1)
    assert accuracy["held"] == accuracy["width"] == 0


# Small calculations.


def test_an_interval_holds_what_lies_within_its_quantiles():
    """Of the whole numbers 0 to 1000 the 95 % interval is 25 to 975, the 50 % one 250 to 750."""
    draws = np.tile(np.arange(1001.0)[:, None], (1, 4))
    truth = np.array([24.0, 26.0, 974.0, 976.0])
    assert interval_covers(draws, truth, 0.95).tolist() == [0, 1, 1, 0]
    assert interval_covers(draws[:, 0], 700.0, 0.5) == 1
    assert interval_covers(draws[:, 0], 760.0, 0.5) == 0


def test_places_count_from_the_highest():
    assert rank_positions(np.array([0.5, 3.0, -1.0])).tolist() == [2, 1, 3]


def test_shrinking_to_half_is_told_as_half():
    """Halved estimates: spread and neighbours' differences halve, no rank moves."""
    mean = np.linspace(-2, 2, 9) ** 3
    change = change_from_inferred(mean / 2, mean, np.full(9, 0.5), SMALL)
    assert change["spread"] == change["between"] == pytest.approx(0.5)
    assert change["rank_moved"] == 0
    assert change["moved"] == pytest.approx(np.abs(mean).mean())


def test_a_power_of_items_is_found_again():
    items = np.repeat([16, 64, 256], 3)
    times = pd.DataFrame({"items": items, "engine": "gibbs", "whole_seconds": 0.01 * items**2.0})
    assert exponent(times, "gibbs", 0) == pytest.approx((2.0, 0.0), abs=1e-9)
    assert np.isnan(exponent(times, "gibbs", 256)[0])


def test_rates_are_effective_draws_over_seconds():
    results = pd.DataFrame(
        {"task": ["a", "a", "b"], "seed": "", "engine": ["gibbs", "transport", "gibbs"],
         "ess_tie": [10.0, 100.0, 30.0], "ess_quality": [20.0, 200.0, 60.0]}
    )  # fmt: skip
    timings = pd.DataFrame(
        {"task": ["b", "a", "a"], "seed": "", "engine": ["gibbs", "gibbs", "transport"],
         "seconds": [3.0, 2.0, 0.5]}
    )  # fmt: skip
    tie_rates = effective_rates(results, timings).set_index(["task", "engine"])["tie_rate"]
    assert tie_rates.to_dict() == {
        ("a", "gibbs"): 5.0, ("a", "transport"): 200.0, ("b", "gibbs"): 10.0,
    }  # fmt: skip


def test_steps_count_warm_up_and_thinning():
    assert total_steps("gibbs", {"draws": 4600, "warmup": 100}) == 5000
    assert total_steps("metropolis", {"draws": 1800, "warmup": 50, "thin": 50}) == 100_000
    assert total_steps("transport", {"draws": 4000}) == 4000


def test_means_come_with_their_standard_errors():
    rows = pd.DataFrame({"kind": ["a", "a", "a", "b"], "value": [1.0, 2.0, 6.0, 4.0]})
    table = group_means(rows, ["kind"], ["value"]).set_index("kind")
    assert table.loc["a", "value"] == 3
    assert table.loc["a", "value_error"] == pytest.approx(stats.sem([1, 2, 6]))
    assert np.isnan(table.loc["b", "value_error"])


def test_differences_within_studies_are_compared():
    """Studies that differ a lot among themselves, and hardly within: paired as SciPy pairs them."""
    one, two = pd.Series([1.0, 5.1, 9.2]), pd.Series([0.5, 4.5, 8.5])
    gap, error = mean_difference(one, two)
    assert gap / error == pytest.approx(stats.ttest_rel(one, two).statistic)
    assert comparison_words(gap, error) == "larger than"
    assert comparison_words(-gap, error) == "smaller than"
    assert comparison_words(error, error) == "no different from that"


def test_outer_shares_are_set_against_inner_ones():
    rows = [
        {"task": task, "share": share, "error": error + task}
        for share, error in ((0.05, 4.0), (0.2, 1.0), (0.5, 2.0), (0.75, 3.0))
        for task in (0, 1, 2)
    ]
    differences = contrasts(pd.DataFrame(rows[::-1]), "error")
    assert [(outer, inner, gap) for outer, inner, gap, _ in differences] == [
        (0.05, 0.2, 3.0), (0.05, 0.5, 2.0), (0.75, 0.2, 2.0), (0.75, 0.5, 1.0),
    ]  # fmt: skip


def test_a_table_is_written_with_errors_and_gaps():
    table = pd.DataFrame({"name": ["x", "y"], "value": [0.125, np.nan], "wrong": [0.01, np.nan]})
    columns = (ResultColumn("who", "name"), ResultColumn("what", "value", "+.2f", "wrong"))
    assert markdown(table, columns).splitlines() == [
        "| who | what |", "|---|---:|", "| x | +0.12 ± 0.01 |", "| y | – |",
    ]  # fmt: skip


# Running.


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_leaves_tables_a_figure_and_words(name, tmp_path):
    tiny = small(name)
    run = run_experiment(tiny, tmp_path / "out", quick=True, workers=1)
    assert not run.failed
    assert {path.name for path in run.folder.iterdir()} == {
        "results.parquet", "timings.parquet", "table.csv", "figure.png", "figure.svg",
        "finding.md", "journal.jsonl",
    }  # fmt: skip
    assert (run.folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    page = (run.folder / "finding.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {tiny.title}\n")
    assert page.count("\n- ") == len(tiny.finding(run.data))
    assert len(run.data.results["task"].unique()) == len(tiny.quick) * 2
    assert run.data.results["seed"].str.match(r"1/[0-9a-f]{32}$").all()
    assert tiny.timed == (len(run.data.timings) > 0)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"no experiment 'gamma'; there are efficiency, "):
        load_experiment("gamma")


@pytest.mark.slow
def test_results_are_the_same_bytes_with_one_worker_and_with_two(tmp_path):
    one, two = (
        run_experiment(small("coverage"), tmp_path / str(number), quick=True, workers=number).folder
        for number in (1, 2)
    )
    assert (one / "results.parquet").read_bytes() == (two / "results.parquet").read_bytes()
    assert (one / "table.csv").read_bytes() == (two / "table.csv").read_bytes()


def fragile(case, seed):
    if case["repeat"] == 2:
        raise ZeroDivisionError("there is nothing to divide by")
    return TaskResult([{"value": float(np.random.default_rng(seed).normal())}])


def broken(mended: bool = False) -> Experiment:
    from tiewise.plots.canvas import heading, page

    return Experiment(
        name="broken", title="Broken", question="Does it?", job=sound if mended else fragile,
        cases=[{"name": "only"}], quick=[{"name": "only"}], repeats=3, quick_repeats=3,
        table=lambda results, _: results[["task", "value"]],
        columns=(ResultColumn("value", "value"),),
        figure=lambda _: page(heading("Broken")), finding=lambda _: ["It does."],
    )  # fmt: skip


def sound(case, seed):
    return fragile({**case, "repeat": 0}, seed)


def test_another_seed_gives_other_results(tmp_path):
    one, two = (
        run_experiment(broken(mended=True), tmp_path / str(seed), workers=1, rng=seed)
        for seed in (1, 2)
    )
    assert set(one.data.table["value"]).isdisjoint(two.data.table["value"])


def test_any_rng_is_taken_and_its_seed_recorded(tmp_path):
    """A sequence of seeds stands for its integer, a generator for an integer that it draws."""
    rngs = {"integer": 5, "sequence": SeedSequence(5), "generator": np.random.default_rng(5)}
    values, seeds = {}, {}
    for name, rng in rngs.items():
        results = run_experiment(broken(mended=True), tmp_path / name, workers=1, rng=rng).data
        values[name], seeds[name] = results.table["value"].tolist(), results.results["seed"]
    assert values["sequence"] == values["integer"]
    assert values["generator"] != values["integer"]
    recorded = int(seeds["generator"][0].split("/")[0])
    again = run_experiment(broken(mended=True), tmp_path / "again", workers=1, rng=recorded)
    assert again.data.table["value"].tolist() == values["generator"]


def test_a_run_cut_off_goes_on_to_the_same_bytes(tmp_path):
    """Stopped after three of six tasks, its last line torn as by a power cut."""
    tiny, cut, whole = broken(mended=True), tmp_path / "cut", tmp_path / "whole"

    def stop(_what: str, done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(tiny, cut, workers=1, repeats=6, progress=stop)
    journal = (cut / "journal.jsonl").read_bytes()
    assert journal.count(b"\n") == 4
    (cut / "journal.jsonl").write_bytes(journal[:-40])
    done = []
    run_experiment(tiny, cut, workers=1, repeats=6, progress=lambda _, k, n: done.append((k, n)))
    assert done == [(2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    run_experiment(tiny, whole, workers=1, repeats=6)
    for name in ("results.parquet", "table.csv", "finding.md"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


def test_a_task_that_fails_is_told_with_its_seed_and_stops_nothing(tmp_path):
    run = run_experiment(broken(), tmp_path / "out", workers=1)
    (failed,) = run.failed
    assert failed.name == "broken/only/2"
    assert failed.seed == seed_text(task_seed(1, "broken/only/2"))
    assert "ZeroDivisionError: there is nothing to divide by" in failed.error
    assert run.data.table["task"].tolist() == ["broken/only/1", "broken/only/3"]
    mended = run_experiment(broken(mended=True), tmp_path / "out", workers=1)
    assert not mended.failed
    assert len(mended.data.table) == 3


def test_other_settings_are_refused_in_a_folder_that_was_begun(tmp_path):
    run_experiment(broken(mended=True), tmp_path / "out", workers=1)
    with pytest.raises(InputError, match=r"begun with other settings \(seed 1, now 2\)"):
        run_experiment(broken(mended=True), tmp_path / "out", workers=1, rng=2)
    anew = run_experiment(broken(mended=True), tmp_path / "out", workers=1, rng=2, force=True)
    assert anew.data.results["seed"].str.startswith("2/").all()


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("chapter one")
    with pytest.raises(InputError, match=r"is not empty"):
        run_experiment(broken(mended=True), tmp_path, workers=1)
    run_experiment(broken(mended=True), tmp_path / "out", workers=1)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    run_experiment(broken(mended=True), tmp_path / "out", workers=1, force=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


# What the page says.


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_says_what_the_results_do(name):
    page, picture = DOCS / "experiments.md", f"pictures/experiments/{name}.png"
    study = load_experiment(name)
    text = findings_markdown(study, read_experiment(study, RESULTS / name), picture)
    assert text in page.read_text(encoding="utf-8")
    assert (DOCS / picture).is_file()


def test_results_kept_are_those_of_full_runs():
    from tiewise.jobs.tables import read_table

    for name in EXPERIMENTS:
        rows, heading = read_table(RESULTS / name / "results.parquet")
        study = load_experiment(name)
        assert heading["cases"] == json.loads(json.dumps(list(study.cases))), name
        assert not heading["quick"]
        assert rows["task"].nunique() == study.repeats * len(study.cases)


# The paper's findings.


@pytest.mark.slow
@pytest.mark.thorough
def test_qualities_are_best_known_where_a_fifth_or_half_of_comparisons_tie(tmp_path):
    run = run_experiment("delta", tmp_path / "delta", repeats=120)
    for outer, inner, gap, error in contrasts(run.data.results, "quality_square"):
        assert gap > 2 * error, (outer, inner)


@pytest.mark.slow
def test_only_a_very_strong_prior_smooths_visibly(tmp_path):
    run = run_experiment("alpha", tmp_path / "alpha", repeats=30)
    by = run.data.table.set_index("strength")
    for key in ("between", "spread"):
        worst = (1 - by.loc[["weak", "strong"], key]).abs().max()
        lost, error = 1 - by.loc["very strong", key], by.loc["very strong", f"{key}_error"]
        assert lost - 3 * error > 3 * worst
    assert by.loc["very strong", "moved"] > 3 * by.loc[["weak", "strong"], "moved"].max()
