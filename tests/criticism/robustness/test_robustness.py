"""How few answers decide it: against brute force, confirmed by fits, and in words."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from xarray import DataTree

from support.everyday import everyday
from support.handmade_results import GOOD
from support.reference_formulas import rao_kupper_probabilities
from tiewise.criticism.robustness.assessment import Fragility, read_findings
from tiewise.criticism.robustness.conclusion import AVERAGE, Conclusion, Contrast
from tiewise.criticism.robustness.refits import FitWithout, Refits
from tiewise.criticism.robustness.removable import Removable
from tiewise.criticism.robustness.search import Removal, smallest_removal
from tiewise.criticism.robustness.sentences import caution, finding_sentence, leading_sentence
from tiewise.criticism.verdict import results_verdict
from tiewise.data.comparisons import Comparisons
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.terms import Order, Sharpness
from tiewise.posterior.fit import fit
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.posterior.results_folder import Wording, read_results
from tiewise.posterior.tree import attach_record
from tiewise.report.criticism_terminal import print_robustness
from tiewise.workflows.analyse import analyse
from tiewise.workflows.assess_robustness import assess_robustness, keep_robustness

VARIANCE, TIE = 2.0, 0.6
ITEMS = ("a", "b", "c", "d")
NEAR = 0.04
"""Differences this close to zero are not held against the draws of the search."""


def panel(rows: list[tuple[str, str, str, str]]) -> Comparisons:
    first, second, outcome, judge = zip(*rows, strict=True)
    return Comparisons.from_columns(
        first=list(first), second=list(second), outcome=list(outcome), judge=list(judge)
    )


def small_study(seed: int, number: int = 26) -> Comparisons:
    """Answers about four items, of which the first two are nearly alike."""
    rng = np.random.default_rng(seed)
    quality = np.array([0.8, 0.6, 0.0, -0.8])
    rows = []
    for k in range(number):
        i, j = rng.choice(4, 2, replace=False)
        chances = rao_kupper_probabilities(quality[i], quality[j], TIE)
        answer = rng.choice(list(chances), p=list(chances.values()))
        rows.append((ITEMS[i], ITEMS[j], str(answer), f"judge {k % 5}"))
    return panel(rows)


def plain_model(comparisons: Comparisons, **terms) -> BradleyTerry:
    return BradleyTerry(comparisons.counts(), variance=Fixed(VARIANCE), tie=Fixed(TIE), **terms)


def answer_probabilities(gap: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rao and Kupper's probabilities of first, tie and second."""
    first, second = 1 / (1 + np.exp(TIE - gap)), 1 / (1 + np.exp(TIE + gap))
    return first, 1 - first - second, second


class GridPosterior:
    """Posterior means of differences without some answers, by sums over a grid of differences."""

    def __init__(self, removable: Removable, size: int) -> None:
        axis = np.linspace(-6, 6, 49)
        self.quality = np.stack(np.meshgrid(*[axis] * (size - 1), [0.0], indexing="ij"), axis=-1)
        self.quality = self.quality.reshape(-1, size)
        # Differences from the last of independent qualities.
        precision = (np.eye(size - 1) - 1 / size) / VARIANCE
        free = self.quality[:, :-1]
        self.log_prior = -np.einsum("ki,ij,kj->k", free, precision, free) / 2
        table = removable.record.compared
        self.columns = []
        for column in range(len(removable.capacity)):
            row = int(np.flatnonzero(removable.column == column)[0])
            left, right = self.quality[:, table.left[row]], self.quality[:, table.right[row]]
            self.columns.append(np.log(answer_probabilities(left - right)[table.answer[row]]))
        self.whole = np.stack(self.columns, axis=1) @ removable.capacity

    def mean(self, removed: tuple[int, ...] = ()) -> np.ndarray:
        """Posterior means of centred qualities without one answer of each of these columns."""
        log_density = self.log_prior + self.whole - sum(self.columns[k] for k in removed)
        weight = np.exp(log_density - log_density.max())
        mean = weight @ self.quality / weight.sum()
        return mean - mean.mean()


def removed_columns(amounts: np.ndarray) -> tuple[int, ...]:
    return tuple(np.repeat(np.arange(len(amounts)), amounts).tolist())


@pytest.mark.parametrize("seed", everyday(range(4), 0))
def test_sets_of_one_and_two_are_those_of_brute_force(seed):
    """All sets of one and two answers, each integrated on a grid, beside what the search found."""
    comparisons = small_study(seed)
    model = plain_model(comparisons)
    tree = fit(model, rng=seed)
    attach_record(tree, model, comparisons)
    removable = Removable.answers(JudgementRecord.from_tree(tree), ties=True, sided=False)
    whole = FitWithout(tree, np.zeros_like(removable.capacity))
    grid = GridPosterior(removable, 4)
    assert np.abs(grid.mean() - whole.mean).max() < 0.1
    for conclusion in (
        Conclusion.highest(whole.mean, 1),
        Conclusion.against_average(whole.mean, int(np.argsort(-whole.mean)[1])),
    ):
        removal = smallest_removal(Refits(model, removable, 1), whole, conclusion, 8)
        if removal is not None:
            after = grid.mean(removed_columns(removal.amounts))
            assert conclusion.weakest(after).of(after) < 0
        for size in (1, 2):
            gaps = [
                conclusion.weakest(mean).of(mean)
                for own in combinations_with_replacement(range(len(removable.capacity)), size)
                if all(own.count(k) <= removable.capacity[k] for k in own)
                for mean in [grid.mean(own)]
            ]
            if min(gaps) < -NEAR:
                assert removal is not None
                assert removal.number <= size
            elif min(gaps) > 0:
                assert removal is None or removal.number > size


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of a panel: one judge alone puts `a` first."""
    rows = [("a", "b", "first", "zealot")] * 9 + [("a", "c", "first", "zealot")] * 3
    rows += [("a", "c", "first", "one")] * 3 + [("a", "c", "second", "two")] * 2
    rows += [("b", "c", "first", "one")] * 5 + [("b", "a", "first", "two")] * 5
    rows += [("c", "d", "first", "two")] * 4 + [("d", "b", "tie", "one")] * 2
    rows += [("b", "d", "first", "three")] * 4 + [("c", "d", "first", "three")] * 3
    folder = tmp_path_factory.mktemp("robust") / "results"
    wording = Wording(top=2, noun="ward")
    return analyse(panel(rows), folder, rng=1, wording=wording, report=False)


@pytest.fixture(scope="module")
def assessment(results):
    return assess_robustness(results, rng=3)


def finding(assessment, kind: str, unit: str) -> Fragility:
    return next(one for one in assessment.findings if (one.kind, one.unit) == (kind, unit))


def test_the_judge_who_decides_is_named(results, assessment):
    first = finding(assessment, "first", "judges")
    assert (first.number, first.total, first.items) == (1, 4, ("a",))
    assert (first.behind, first.ahead) == ("a", "b")
    table = assessment.table.query("leave_out == 'judge' and conclusion == 'first'")
    assert table["judge"].tolist() == ["zealot"]


def test_a_fit_without_these_answers_has_another_first(results, assessment):
    """The rows of the table left out of the judgements, with a seed the search never used."""
    first = finding(assessment, "first", "answers")
    rows = assessment.table.query("leave_out == 'answer' and conclusion == 'first'")
    assert len(rows) == first.number < 9
    assert set(rows["chosen"]) == {"a"}
    record = JudgementRecord.from_tree(results.tree)
    kept = record.judgements.where(
        np.setdiff1d(np.arange(len(record.judgements.judge)), rows["judgement"].astype(int) - 1)
    )
    words = np.array(["first", "tie", "second"])[kept.answer]
    names = np.array(ITEMS)
    without = Comparisons.from_columns(
        first=names[kept.left], second=names[kept.right], outcome=words,
        judge=np.array(record.judges)[kept.judge],
    )  # fmt: skip
    assert len(without) == first.total - first.number
    tree = fit(BradleyTerry(without.counts()), rng=77)
    assert str(tree["posterior/quality"].mean(("chain", "draw")).idxmax().item()) == "b"


def test_without_the_record_answers_are_those_of_the_counts(results, assessment):
    """Who judged is not known then, and answers have no place in a file."""
    bare = results.tree.copy()
    del bare["judgements"]
    again = assess_robustness(
        type(results)(results.folder, bare, results.wording, results.facts), rng=3
    )
    assert {one.unit for one in again.findings} == {"answers"}
    numbers = [one.number for one in assessment.findings if one.unit == "answers"]
    assert [one.number for one in again.findings] == numbers
    assert set(again.table["judgement"]) == {""}


def test_where_nothing_is_enough_that_is_said(results):
    assessment = assess_robustness(results, most=1, units=("answers",), items=("d",), rng=3)
    last = finding(assessment, "average", "answers")
    assert (last.number, last.limit, last.above) == (None, 1, False)
    sentence = finding_sentence(last, results.wording, {"d": "ward d"})
    total = last.total
    assert sentence == (
        f"No set of up to 1 of {total} answers was found that would put ward d above the average."
    )


def test_report_and_verdict_have_the_sentence(results, assessment):
    try:
        keep_robustness(results, assessment)
        again = read_results(results.folder)
        assert read_findings(results.folder) == assessment.findings
        first = finding(assessment, "first", "answers")
        sentence = f"Leaving out {first.number} of {first.total} answers would change the first."
        text = results_verdict(again).answers.text
        assert (sentence in text) is results_verdict(again).headline
        written = pd.read_csv(results.folder / "robust.csv", dtype=str, keep_default_na=False)
        assert len(written) == len(assessment.table)
    finally:
        for name in ("robust.csv", "robust.json"):
            (results.folder / name).unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": ("z",)}, "no item 'z' in this fit"),
        ({"top": 4}, "top=4 is not between 1 and 3"),
        ({"most": 0}, "most=0 leaves nothing out"),
    ],
)
def test_what_cannot_be_asked_is_one_line(results, options, message):
    with pytest.raises(InputError, match=message):
        assess_robustness(results, **options)


def test_very_many_items_are_refused(results):
    thinned = results.tree.copy()
    thinned["all_draws"] = DataTree()
    many = type(results)(results.folder, thinned, results.wording, results.facts)
    with pytest.raises(InputError, match="fit 2,000 items or fewer"):
        assess_robustness(many)


@pytest.mark.parametrize("headline", [True, False])
def test_a_terminal_names_nobody_where_nothing_may_be_claimed(results, assessment, headline):
    judged = type(results)(results.folder, results.tree, results.wording, results.facts)
    judged.cache["verdict"] = replace(GOOD, withheld="" if headline else "Too few.")
    console = Console(record=True, width=200, file=io.StringIO())
    print_robustness(judged, assessment, console)
    assert ("b would then be ahead of a" in console.export_text()) is headline


@pytest.mark.parametrize("change", [{"findings": 3}, {"findings": [{"kind": "first"}]}])
def test_a_damaged_file_is_refused_with_the_way_out(tmp_path, change):
    (tmp_path / "robust.json").write_text(json.dumps(change))
    with pytest.raises(InputError, match="run `tiewise robust` again"):
        read_findings(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("term", [Sharpness(), Order()])
def test_models_with_terms_are_searched_and_confirmed(term):
    """Strata of judges, and sides that differ."""
    comparisons = small_study(9, 60)
    strata = "judge" if isinstance(term, Sharpness) else None
    counts = comparisons.counts(by=strata) if strata else comparisons.counts(ordered=True)
    model = BradleyTerry(counts, terms=(term,))
    tree = fit(model, rng=2)
    attach_record(tree, model, comparisons)
    record = JudgementRecord.from_tree(tree)
    removable = Removable.answers(record, ties=True, sided=True)
    assert removable.total == 60
    whole = FitWithout(tree, np.zeros_like(removable.capacity))
    conclusion = Conclusion.highest(whole.mean, 1)
    removal = smallest_removal(Refits(model, removable, 1), whole, conclusion, 12)
    assert removal is not None
    again = Refits(model, removable, 99).without(removal.amounts)
    assert conclusion.weakest(again.mean).of(again.mean) < 0.05


# Values.


def test_sides_do_not_matter_to_answers_that_are_alike():
    """`a over b` and `b under a` share a column; ties do, too."""
    rows = [("a", "b", "first", "x"), ("b", "a", "second", "y"), ("a", "b", "second", "x")]
    rows += [("b", "a", "tie", "x"), ("a", "b", "tie", "y")]
    comparisons = panel(rows)
    record = JudgementRecord.from_comparisons(comparisons, ("a", "b"))
    alike = Removable.answers(record, ties=True, sided=False)
    assert sorted(alike.capacity) == [1, 2, 2]
    assert alike.column[0] == alike.column[1]
    assert alike.column[3] == alike.column[4]
    assert Removable.answers(record, ties=True, sided=True).capacity.tolist() == [1] * 5
    without = Removable.answers(record, ties=False, sided=False)
    assert without.total == 3
    assert without.rows_left_out(without.capacity).tolist() == [True] * 3 + [False] * 2


def test_a_judge_goes_with_all_answers():
    rows = [("a", "b", "first", "x"), ("b", "a", "second", "y"), ("a", "b", "second", "x")]
    record = JudgementRecord.from_comparisons(panel(rows), ("a", "b"))
    judges = Removable.judges(record, ties=True)
    assert judges.total == 2
    assert judges.rows_left_out(np.array([1, 0])).tolist() == [True, False, True]


def test_the_weakest_difference_is_that_between_the_nearest():
    mean = np.array([0.1, 2.0, -0.5, 1.0])
    assert Conclusion.highest(mean, 2).weakest(mean) == Contrast(3, 0)
    assert Conclusion.against_average(mean, 2).weakest(mean) == Contrast(AVERAGE, 2)
    turned = np.array([1.5, 2.0, -0.5, 1.0])
    assert Conclusion.highest(mean, 2).weakest(turned).of(turned) == -0.5


def fragility(number: int | None, kind: str = "first", unit: str = "answers") -> Fragility:
    items = ("a", "b") if kind == "top" else ("a",)
    return Fragility(kind, items, True, unit, 1883, 376, number, "a", "c")


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (fragility(3), "Leaving out 3 of 1,883 answers would change the first."),
        (
            fragility(None, "top"),
            "No set of up to 376 of 1,883 answers was found that would change the top 2.",
        ),
        (
            fragility(1, "average", "judges"),
            "Leaving out 1 of 1,883 judges would put ward a below the average.",
        ),
    ],
)
def test_findings_in_words(own, sentence):
    assert finding_sentence(own, Wording(noun="ward")) == sentence


def test_who_would_be_ahead_is_said_where_items_may_be_named():
    sentence = finding_sentence(fragility(3), Wording(), {"a": "Ash", "c": "Cole"})
    assert sentence.endswith("would change the first: Cole would then be ahead of Ash.")


def test_a_verdict_speaks_of_answers_and_the_first_before_anything_else():
    some = [fragility(1, "first", "judges"), fragility(5, "top"), fragility(7)]
    assert leading_sentence(some, Wording()).startswith("Leaving out 7 of 1,883 answers")


def test_fewer_might_be_enough_unless_it_is_one():
    assert "upper bound" in caution([fragility(2)])
    assert "upper bound" not in caution([fragility(1), fragility(None, "top")])
    assert caution([fragility(None)]) == ""


def test_a_removal_counts_what_it_leaves_out():
    assert Removal(np.array([0, 2, 1]), Contrast(0, 1)).number == 3
