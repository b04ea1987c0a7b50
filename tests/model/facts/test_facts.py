"""Facts of comparisons: in counts, in the likelihood, and in columns of a table."""

from __future__ import annotations

import numpy as np
import pytest

from support.judge_studies import ANSWERS, FACTS, GROUP, ITEMS, JUDGES, count_answers
from support.reference_formulas import derivative
from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts, rows_of
from tiewise.data.facts import count_with_facts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.facts.columns import read_facts
from tiewise.model.likelihood import LikelihoodArguments
from tiewise.model.term_design import TermDesign
from tiewise.model.terms import Groups, Order, Sharpness, Thresholds

NAMES = ("words", "bold")
EVERY = (Order(facts=NAMES), Groups(GROUP), Sharpness(), Thresholds())
ROUNDED = np.round(FACTS / [1.0, 20.0])
"""Facts of which several answers have the same."""


def design_with(facts: np.ndarray, *, levels: int = 1) -> TermDesign:
    return TermDesign.of(counts_with(facts, levels), EVERY)


def counts_with(facts: np.ndarray, levels: int = 1, **more) -> Counts:
    first, second, judge, answer = (np.array(column) for column in zip(*ANSWERS, strict=True))
    wins = np.stack([answer == "first", answer == "second"], axis=1)
    strength = np.random.default_rng(3).integers(levels, size=len(answer))
    strengths = wins[:, :, None] * (strength[:, None] == np.arange(levels))[:, None]
    own = {"facts": facts, "fact_names": NAMES, "stratum": judge, "strata": JUDGES} | more
    return Counts.of(
        ITEMS, first, second, *wins.T, answer == "tie", ordered=True,
        strengths=strengths if levels > 1 else None, **own,
    )  # fmt: skip


def point(design: TermDesign, chains: int = 3) -> LikelihoodArguments:
    rng, likelihood = np.random.default_rng(4), design.likelihood
    strata, levels = likelihood.strata, likelihood.levels
    return LikelihoodArguments(
        rng.normal(size=(8, chains)), np.zeros((strata, chains)),
        0.3 * rng.normal(size=(strata, chains)), rng.uniform(0.1, 1, (levels * strata, chains)),
        rng.normal(size=(2, chains)),
    )  # fmt: skip


# Counts.


def test_comparisons_with_the_same_facts_share_a_row():
    """The witness is a count of distinct rows by Python."""
    counts = counts_with(ROUNDED)
    kinds = {(*answer[:3], *facts) for answer, facts in zip(ANSWERS, ROUNDED.tolist(), strict=True)}
    assert len(counts.first) == len(kinds) < len(ANSWERS)
    assert counts.comparisons == len(ANSWERS)
    assert np.array_equal(counts.pooled().per_item(), counts.per_item())


def test_counts_with_facts_stay_what_they_are():
    counts = counts_with(FACTS)
    assert counts.over(ITEMS).digest() == counts.digest()
    assert counts.digest() != counts_with(FACTS + 1).digest()
    assert (counts + counts).comparisons == 2 * counts.comparisons
    assert np.array_equal((counts + counts).facts, counts.facts)
    assert counts.within(("q",)).facts.shape == (counts.within(("q",)).comparisons, 2)
    untied = counts.without_ties()
    assert len(untied.facts) == len(untied.first) == untied.comparisons
    with pytest.raises(InputError, match="different facts"):
        counts + count_answers(ANSWERS)
    with pytest.raises(InputError, match="ordered=True"):
        Counts.of(ITEMS, [0], [1], [1], [0], facts=[[1.0]], fact_names=("words",))
    with pytest.raises(InputError, match="facts are numbers"):
        Counts.of(ITEMS, [0], [1], [1], [0], facts=[[np.inf]], fact_names=("a",), ordered=True)


def test_every_answer_finds_its_row():
    counts = counts_with(ROUNDED)
    first, second, judge, _ = (np.array(column) for column in zip(*ANSWERS, strict=True))
    row = rows_of(counts, first, second, judge, ROUNDED)
    assert np.array_equal(counts.facts[row], ROUNDED)
    for own, column in ((counts.first, first), (counts.second, second), (counts.stratum, judge)):
        assert np.array_equal(own[row], column)
    assert (rows_of(counts, first, second, judge, ROUNDED + 0.5) == -1).all()


# The likelihood.


@pytest.mark.parametrize("levels", [1, 2])
def test_facts_are_strata_with_shifts(levels):
    """The witness is the loop over strata, with one for each judge and pair of values."""
    design = design_with(ROUNDED, levels=levels)
    at, coefficient = point(design), design.facts
    judge = np.array([answer[2] for answer in ANSWERS])
    kinds, kind = np.unique(np.c_[judge, ROUNDED], axis=0, return_inverse=True)
    strata = tuple(map(str, range(len(kinds))))
    plain = counts_with(None, levels, fact_names=(), stratum=kind.ravel(), strata=strata)
    of, own = kinds[:, 0].astype(int), dict(zip(strata, kinds[:, 0].astype(int), strict=True))
    groups = Groups({name: GROUP[JUDGES[judge]] for name, judge in own.items()})
    witness = TermDesign.of(plain, (Order(), groups, Sharpness(), Thresholds())).likelihood
    tie = at.tie.reshape(levels, 3, -1)[:, of].reshape(levels * len(of), -1)
    shift = (kinds[:, 1:] / coefficient.sd) @ at.facts
    there = LikelihoodArguments(at.quality, shift, at.log_sharpness[of], tie)
    value = design.likelihood.log_likelihood(at)
    assert value == pytest.approx(witness.log_likelihood(there), abs=1e-9)
    by, expected = design.likelihood.gradient(at), witness.gradient(there)
    assert np.allclose(by.quality, expected.quality, rtol=0, atol=1e-9)
    assert np.allclose(
        by.facts, (kinds[:, 1:] / coefficient.sd).T @ expected.shift, rtol=0, atol=1e-9
    )
    judges = [(of == k) for k in range(3)]
    for name in ("log_sharpness", "tie"):
        rows = getattr(expected, name).reshape(-1, len(of), 3)
        sums = np.stack([rows[:, mine].sum(axis=1) for mine in judges], axis=1)
        assert np.allclose(getattr(by, name), sums.reshape(-1, 3), rtol=0, atol=1e-9)


@pytest.mark.parametrize("levels", [1, 2])
def test_derivatives_by_coefficients_are_those_of_differences(levels):
    design = design_with(FACTS, levels=levels)
    likelihood, at = design.likelihood, point(design, 1)

    def gradient(coefficient: np.ndarray) -> LikelihoodArguments:
        return likelihood.gradient(at._replace(facts=coefficient[:, None]))

    def value(coefficient: np.ndarray) -> float:
        return float(likelihood.log_likelihood(at._replace(facts=coefficient[:, None]))[0])

    there = at.facts[:, 0]
    assert np.allclose(gradient(there).facts[:, 0], derivative(value, there), rtol=0, atol=1e-6)
    hessian = likelihood.negative_hessian(at).facts
    for k, step in enumerate(1e-5 * np.eye(2)):
        up, down = gradient(there + step), gradient(there - step)
        slope = [(one - two)[:, 0] / -2e-5 for one, two in zip(up, down, strict=True)]
        assert np.allclose(hessian.quality[k], slope[0], rtol=0, atol=1e-6)
        assert np.allclose(hessian.facts[k], slope[4], rtol=0, atol=1e-6)
        assert np.allclose(hessian.tie[..., k].ravel(), slope[3], rtol=0, atol=1e-6)


def test_single_precision_is_close():
    design = design_with(FACTS)
    at = point(design)
    double = design.likelihood.gradient(at)
    single = design.likelihood.gradient(at._replace(quality=at.quality.astype(np.float32)))
    for one, two in zip(double, single, strict=True):
        assert np.allclose(one, two, rtol=1e-4, atol=1e-4)


def test_a_fact_may_be_as_large_as_it_likes():
    """The witness is NumPy's own logarithm of 1 + eˣ."""
    far = np.where(np.arange(60)[:, None] % 7 == 0, 400.0, 1.0) * FACTS / [1.0, 20.0]
    counts = counts_with(far)
    design = TermDesign.of(counts, (Order(facts=NAMES),))
    coefficient, tie = np.array([[1.0], [-2.0]]), np.array([0.4])
    at = design.arguments(np.zeros((4, 1)), tie, {"order": coefficient})
    gap = (counts.facts @ coefficient)[:, 0]
    forth, back = counts.successes()
    expected = -forth @ np.logaddexp(0, tie - gap) - back @ np.logaddexp(0, tie + gap)
    expected += counts.total_ties * np.log(np.expm1(2 * tie[0]))
    assert np.abs(gap).max() > 300
    assert design.likelihood.log_likelihood(at)[0] == pytest.approx(expected, rel=1e-12)
    assert np.isfinite(design.likelihood.gradient(at).facts).all()


def test_facts_are_measured_in_standard_deviations():
    design = design_with(FACTS)
    assert design.facts.sd == pytest.approx(FACTS.std(axis=0))
    assert np.allclose(design.facts.standard * design.facts.sd, design.counts.facts)
    unit = np.array([[2.0], [0.1]])
    assert np.allclose(design.facts.per_unit(design.facts.per_sd(unit)), unit)
    with pytest.raises(InputError, match="the same for every comparison"):
        design_with(np.c_[FACTS[:, 0], np.ones(60)])
    with pytest.raises(InputError, match="give one of them"):
        Order(by={}, facts=("words",))
    with pytest.raises(InputError, match="name each of them once"):
        TermDesign.of(counts_with(FACTS), (Order(facts=("letters",)),))


# Columns of a table.


def votes() -> Comparisons:
    rng = np.random.default_rng(7)
    first, second, judge, answer = (np.array(column) for column in zip(*ANSWERS, strict=True))
    answer = np.where(np.arange(60) % 9 == 0, "skip", answer)
    items, judges = np.array(ITEMS), np.array(JUDGES)
    words = rng.normal(size=60)
    return Comparisons.from_columns(
        first=items[first], second=items[second], outcome=answer, judge=judges[judge],
        words=np.where(answer == "skip", np.nan, words), **{"bold type": np.round(3 * words**2)},
    )  # fmt: skip


def test_a_formula_has_a_column_for_each_term_and_a_name_is_itself():
    study = votes()
    names, values = read_facts(study, "words + I(words ** 2)")
    assert names == ("words", "I(words ** 2)")
    skipped = np.isnan(values).any(axis=1)
    assert skipped.sum() == study.skips
    assert np.allclose(values[~skipped, 1], values[~skipped, 0] ** 2)
    assert read_facts(study, "bold type")[0] == ("bold type",)


def test_counts_with_facts_are_the_counts_without_them():
    study = votes()
    names, values = read_facts(study, "words + `bold type`")
    counted = count_with_facts(study, values, names, "judge")
    plain = study.counts(by="judge", ordered=True)
    assert counted.pooled() == plain.pooled()
    assert counted.strata == plain.strata
    assert counted.fact_names == ("words", "bold type")


def test_a_model_takes_being_first_and_facts_together():
    model = build_model(votes(), advantage="words + `bold type`", order=True, sharpness=True)
    assert isinstance(model, BradleyTerry)
    assert model.design.advantages == ("first", "words", "bold type")
    assert model.design.facts.sd[0] == 1.0
    assert (model.design.facts.standard[:, 0] == 1).all()
