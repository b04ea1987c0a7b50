"""Simulation studies: their ingredients against other reckonings, and how they are run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence
from scipy import integrate, linalg, optimize, stats

from tiewise.cli.experiment import NAMES
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.errors import InputError
from tiewise.experiments.alpha import beside
from tiewise.experiments.delta import contrasts
from tiewise.experiments.designs import (
    expected_information,
    expected_ties,
    judged,
    scaling_study,
    tie_for,
)  # fmt: skip
from tiewise.experiments.efficiency import rates
from tiewise.experiments.experiment import Column, Experiment, apart, averaged, markdown, versus
from tiewise.experiments.run import HOMES, evidence_in, experiment, run_experiment, told
from tiewise.experiments.scalability import exponent
from tiewise.experiments.ties import HalfWins, by_coin, judged_by
from tiewise.experiments.timing import steps
from tiewise.geo.graph import Graph
from tiewise.jobs.run import Found, chance, told_seed
from tiewise.model.quality_priors import Network
from tiewise.planning.recovery import Found as Posterior
from tiewise.planning.recovery import held, places
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
    whole = experiment(name)
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
    grown = linalg.expm(SMALL.adjacency().toarray())
    unit = 1 / np.sqrt(np.diag(grown))
    covariance = unit[:, None] * grown * unit
    total = []
    for i in range(9):
        for j in range(i):
            sd = np.sqrt(2 - 2 * covariance[i, j])
            density = stats.norm(0, sd).pdf
            total.append(integrate.quad(lambda g, p=density: p(g) * of(g), -12, 12)[0])
    return np.mean(total)


def chances(gap: float, tie: float) -> np.ndarray:
    """Rao and Kupper's, in worths: first, second, tie."""
    one, theta = np.exp(gap), np.exp(tie)
    first, second = one / (one + theta), 1 / (1 + theta * one)
    tied = (theta**2 - 1) * one / ((one + theta) * (1 + theta * one))
    return np.array([first, second, tied])


@pytest.mark.parametrize("tie", [0.1, 0.7, 2.5])
def test_the_expected_share_of_ties_is_that_of_integration(tie):
    assert expected_ties(SMALL, tie) == pytest.approx(
        over_pairs(lambda gap: chances(gap, tie)[2]), abs=1e-6
    )


@pytest.mark.parametrize("share", [0.05, 0.5, 0.75])
def test_a_threshold_is_found_for_a_share_of_ties(share):
    tie = tie_for(SMALL, share)
    assert over_pairs(lambda gap: chances(gap, tie)[2]) == pytest.approx(share, abs=1e-6)


def test_a_share_of_ties_beyond_everything_is_refused():
    with pytest.raises(InputError, match=r"between 0 and 1"):
        tie_for(SMALL, 1.0)


@pytest.mark.parametrize("tie", [0.1, 0.7, 2.5])
def test_what_an_answer_tells_is_fishers_information(tie):
    """The expected square of the slope of its log chance, by finite differences."""

    def fisher(gap: float) -> float:
        slope = (chances(gap + 1e-5, tie) - chances(gap - 1e-5, tie)) / 2e-5
        return float((slope**2 / chances(gap, tie)).sum())

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
    return judged(SMALL, comparisons=200, tie=0.8, variance=0.6, rng=rng)[1]


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
    tossed = by_coin(counts, np.random.default_rng(5))
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
    said = judged_by(Posterior(draws, np.ones(50), np.ones(50)), truth, pairs)
    assert said["slope"] == pytest.approx(2)
    assert said["scale"] == pytest.approx(0.5)
    assert said["square"] == pytest.approx((truth**2).mean())
    assert said["scaled_square"] == pytest.approx(0)
    assert said["rank_correlation"] == pytest.approx(1)
    assert said["held"] == said["width"] == 0


# Small reckonings.


def test_an_interval_holds_what_lies_within_its_quantiles():
    """Of the whole numbers 0 to 1000 the 95 % interval is 25 to 975, the 50 % one 250 to 750."""
    draws = np.tile(np.arange(1001.0)[:, None], (1, 4))
    truth = np.array([24.0, 26.0, 974.0, 976.0])
    assert held(draws, truth, 0.95).tolist() == [0, 1, 1, 0]
    assert held(draws[:, 0], 700.0, 0.5) == 1
    assert held(draws[:, 0], 760.0, 0.5) == 0


def test_places_count_from_the_highest():
    assert places(np.array([0.5, 3.0, -1.0])).tolist() == [2, 1, 3]


def test_shrinking_to_half_is_told_as_half():
    """Halved estimates: spread and neighbours' differences halve, no rank moves."""
    mean = np.linspace(-2, 2, 9) ** 3
    said = beside(mean / 2, mean, np.full(9, 0.5), SMALL)
    assert said["spread"] == said["between"] == pytest.approx(0.5)
    assert said["rank_moved"] == 0
    assert said["moved"] == pytest.approx(np.abs(mean).mean())


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
    told_rates = rates(results, timings).set_index(["task", "engine"])["tie_rate"]
    assert told_rates.to_dict() == {
        ("a", "gibbs"): 5.0, ("a", "transport"): 200.0, ("b", "gibbs"): 10.0,
    }  # fmt: skip


def test_steps_count_warm_up_and_thinning():
    assert steps("gibbs", {"draws": 4600, "warmup": 100}) == 5000
    assert steps("metropolis", {"draws": 1800, "warmup": 50, "thin": 50}) == 100_000
    assert steps("transport", {"draws": 4000}) == 4000


def test_means_come_with_their_standard_errors():
    rows = pd.DataFrame({"kind": ["a", "a", "a", "b"], "value": [1.0, 2.0, 6.0, 4.0]})
    table = averaged(rows, ["kind"], ["value"]).set_index("kind")
    assert table.loc["a", "value"] == 3
    assert table.loc["a", "value_error"] == pytest.approx(stats.sem([1, 2, 6]))
    assert np.isnan(table.loc["b", "value_error"])


def test_differences_within_studies_are_compared():
    """Studies that differ a lot among themselves, and hardly within: paired as SciPy pairs them."""
    one, two = pd.Series([1.0, 5.1, 9.2]), pd.Series([0.5, 4.5, 8.5])
    gap, error = apart(one, two)
    assert gap / error == pytest.approx(stats.ttest_rel(one, two).statistic)
    assert versus(gap, error) == "larger than"
    assert versus(-gap, error) == "smaller than"
    assert versus(error, error) == "no different from that"


def test_outer_shares_are_set_against_inner_ones():
    rows = [
        {"task": task, "share": share, "error": error + task}
        for share, error in ((0.05, 4.0), (0.2, 1.0), (0.5, 2.0), (0.75, 3.0))
        for task in (0, 1, 2)
    ]
    found = contrasts(pd.DataFrame(rows[::-1]), "error")
    assert [(outer, inner, gap) for outer, inner, gap, _ in found] == [
        (0.05, 0.2, 3.0), (0.05, 0.5, 2.0), (0.75, 0.2, 2.0), (0.75, 0.5, 1.0),
    ]  # fmt: skip


def test_a_table_is_written_with_errors_and_gaps():
    table = pd.DataFrame({"name": ["x", "y"], "value": [0.125, np.nan], "wrong": [0.01, np.nan]})
    columns = (Column("who", "name"), Column("what", "value", "+.2f", "wrong"))
    assert markdown(table, columns).splitlines() == [
        "| who | what |", "|---|---:|", "| x | +0.12 ± 0.01 |", "| y | – |",
    ]  # fmt: skip


# Running.


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_leaves_tables_a_figure_and_words(name, tmp_path):
    asked = small(name)
    outcome = run_experiment(asked, tmp_path / "out", quick=True, workers=1)
    assert not outcome.failed
    assert {path.name for path in outcome.folder.iterdir()} == {
        "results.parquet", "timings.parquet", "table.csv", "figure.png", "figure.svg",
        "finding.md", "journal.jsonl",
    }  # fmt: skip
    assert (outcome.folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    page = (outcome.folder / "finding.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {asked.title}\n")
    assert page.count("\n- ") == len(asked.finding(outcome.evidence))
    assert len(outcome.evidence.results["task"].unique()) == len(asked.quick) * 2
    assert outcome.evidence.results["seed"].str.match(r"1/[0-9a-f]{32}$").all()
    assert asked.timed == (len(outcome.evidence.timings) > 0)


def test_every_experiment_can_be_named():
    assert tuple(HOMES) == NAMES
    with pytest.raises(InputError, match=r"no experiment 'gamma'; there are efficiency, "):
        experiment("gamma")


def test_results_are_the_same_bytes_with_one_worker_and_with_two(tmp_path):
    one, two = (
        run_experiment(small("coverage"), tmp_path / str(number), quick=True, workers=number).folder
        for number in (1, 2)
    )
    assert (one / "results.parquet").read_bytes() == (two / "results.parquet").read_bytes()
    assert (one / "table.csv").read_bytes() == (two / "table.csv").read_bytes()


def fragile(case, source):
    if case["repeat"] == 2:
        raise ZeroDivisionError("there is nothing to divide by")
    return Found([{"value": float(np.random.default_rng(source).normal())}])


def broken(mended: bool = False) -> Experiment:
    from tiewise.plots.canvas import heading, page

    return Experiment(
        name="broken", title="Broken", question="Does it?", job=sound if mended else fragile,
        cases=[{"name": "only"}], quick=[{"name": "only"}], repeats=3, quick_repeats=3,
        table=lambda results, _: results[["task", "value"]], columns=(Column("value", "value"),),
        figure=lambda _: page(heading("Broken")), finding=lambda _: ["It does."],
    )  # fmt: skip


def sound(case, source):
    return fragile({**case, "repeat": 0}, source)


def test_another_seed_gives_other_results(tmp_path):
    one, two = (
        run_experiment(broken(mended=True), tmp_path / str(seed), workers=1, seed=seed)
        for seed in (1, 2)
    )
    assert set(one.evidence.table["value"]).isdisjoint(two.evidence.table["value"])


def test_a_run_cut_off_goes_on_to_the_same_bytes(tmp_path):
    """Stopped after three of six tasks, its last line torn as by a power cut."""
    asked, cut, whole = broken(mended=True), tmp_path / "cut", tmp_path / "whole"

    def stop(_what: str, done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(asked, cut, workers=1, repeats=6, progress=stop)
    journal = (cut / "journal.jsonl").read_bytes()
    assert journal.count(b"\n") == 4
    (cut / "journal.jsonl").write_bytes(journal[:-40])
    done = []
    run_experiment(asked, cut, workers=1, repeats=6, progress=lambda _, k, n: done.append((k, n)))
    assert done == [(2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    run_experiment(asked, whole, workers=1, repeats=6)
    for name in ("results.parquet", "table.csv", "finding.md"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


def test_a_task_that_fails_is_told_with_its_seed_and_stops_nothing(tmp_path):
    outcome = run_experiment(broken(), tmp_path / "out", workers=1)
    (failed,) = outcome.failed
    assert failed.name == "broken/only/2"
    assert failed.seed == told_seed(chance(1, "broken/only/2"))
    assert "ZeroDivisionError: there is nothing to divide by" in failed.error
    assert outcome.evidence.table["task"].tolist() == ["broken/only/1", "broken/only/3"]
    mended = run_experiment(broken(mended=True), tmp_path / "out", workers=1)
    assert not mended.failed
    assert len(mended.evidence.table) == 3


def test_other_settings_are_refused_in_a_folder_that_was_begun(tmp_path):
    run_experiment(broken(mended=True), tmp_path / "out", workers=1)
    with pytest.raises(InputError, match=r"begun with other settings \(seed 1, now 2\)"):
        run_experiment(broken(mended=True), tmp_path / "out", workers=1, seed=2)
    anew = run_experiment(broken(mended=True), tmp_path / "out", workers=1, seed=2, force=True)
    assert anew.evidence.results["seed"].str.startswith("2/").all()


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("chapter one")
    with pytest.raises(InputError, match=r"is not empty"):
        run_experiment(broken(mended=True), tmp_path, workers=1)
    run_experiment(broken(mended=True), tmp_path / "out", workers=1)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    run_experiment(broken(mended=True), tmp_path / "out", workers=1, force=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


# What the page says.


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_the_results_do(name):
    page, picture = DOCS / "experiments.md", f"pictures/experiments/{name}.png"
    asked = experiment(name)
    said = told(asked, evidence_in(asked, RESULTS / name), picture)
    assert said in page.read_text(encoding="utf-8")
    assert (DOCS / picture).is_file()


def test_results_kept_are_those_of_full_runs():
    from tiewise.jobs.tables import read_table

    for name in NAMES:
        rows, said = read_table(RESULTS / name / "results.parquet")
        asked = experiment(name)
        assert said["cases"] == json.loads(json.dumps(list(asked.cases))), name
        assert not said["quick"]
        assert rows["task"].nunique() == asked.repeats * len(asked.cases)


# The paper's findings.


@pytest.mark.slow
def test_qualities_are_best_known_where_a_fifth_or_half_of_comparisons_tie(tmp_path):
    outcome = run_experiment("delta", tmp_path / "delta", repeats=120)
    for outer, inner, gap, error in contrasts(outcome.evidence.results, "quality_square"):
        assert gap > 2 * error, (outer, inner)


@pytest.mark.slow
def test_only_a_very_strong_prior_smooths_visibly(tmp_path):
    outcome = run_experiment("alpha", tmp_path / "alpha", repeats=30)
    by = outcome.evidence.table.set_index("strength")
    for key in ("between", "spread"):
        worst = (1 - by.loc[["weak", "strong"], key]).abs().max()
        lost, error = 1 - by.loc["very strong", key], by.loc["very strong", f"{key}_error"]
        assert lost - 3 * error > 3 * worst
    assert by.loc["very strong", "moved"] > 3 * by.loc[["weak", "strong"], "moved"].max()
