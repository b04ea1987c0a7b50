"""Candidates of a file: which are tried, which is recommended, and how it is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from support.panel import comparisons, crowd, honest, network
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.item_context import ItemContext
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs
from tiewise.workflows.compare_models import FILES, compare_models, simplest_within_error
from tiewise.workflows.model_candidates import Candidate, first_candidates, possible_terms

QUICK = Transport(draws=400)


def judged(seed: int, *, judges: int = 12, each: int = 40, tie=None, order: float = 0.0):
    """Judges of ten items, each with a threshold of their own if any are given."""
    rng = np.random.default_rng([31, seed])
    truth = Truth.from_priors(
        Independent(tuple("abcdefghij")), Fixed(1.5), Fixed(0.5), rng, items=tuple("abcdefghij")
    )
    first, second = random_pairs(10, judges * each, rng)
    judge = np.repeat(np.arange(judges), each)
    own = None if tie is None else np.asarray(tie)[judge]
    answers = honest(truth, first, second, rng, order=order, tie=own)
    return comparisons(truth, first, second, answers, [f"j{k}" for k in judge])


# The rule.


def table(*rows: tuple[str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"model": m, "difference": -behind, "difference_se": se} for m, behind, se in rows]
    )


def test_the_simplest_within_one_standard_error_is_taken():
    parts = {"rich": 3, "poor": 0, "middle": 1}
    near = table(("rich", 0, 0), ("middle", 8, 10), ("poor", 30, 20))
    assert simplest_within_error(near, parts) == "middle"
    far = table(("rich", 0, 0), ("middle", 12, 10), ("poor", 30, 20))
    assert simplest_within_error(far, parts) == "rich"


def test_a_difference_that_decides_nothing_does_not_count_however_certain():
    parts = {"rich": 1, "poor": 0}
    assert simplest_within_error(table(("rich", 0, 0), ("poor", 3.9, 0.5)), parts) == "poor"
    assert simplest_within_error(table(("rich", 0, 0), ("poor", 4.1, 0.5)), parts) == "rich"


def test_of_equally_simple_ones_the_better_is_taken():
    assert simplest_within_error(table(("x", 0, 0), ("y", 1, 9)), {"x": 1, "y": 1}) == "x"


# The candidates.


def test_candidates_say_what_they_have():
    plain, near, without = first_candidates("network", ties=True, called=3)
    assert [one.name for one in (plain, near, without)] == ["plain", "network", "no ties"]
    assert plain.options == {"prior": "independent"}
    assert near.options == {}
    assert near.with_terms(("order",)).name == "network + order"
    assert near.with_terms(("order",)).parts == 2
    assert first_candidates(None, ties=False, called=0) == [Candidate(ties=False)]


def test_terms_are_tried_where_the_judgements_can_tell():
    data = judged(1, each=5)
    assert possible_terms(data, ties=True) == ("thresholds", "sharpness", "order")
    assert possible_terms(data, ties=False) == ("sharpness", "order")


@pytest.fixture(scope="module")
def different():
    """Judges of very different thresholds, compared."""
    thresholds = np.geomspace(0.05, 3, 12)
    return compare_models(judged(2, tie=thresholds), engine=QUICK)


def test_judges_who_differ_in_ties_are_given_thresholds(different):
    assert different.recommended == "thresholds"
    assert different.options == {"thresholds": True}
    assert different.sentences[0].startswith("Recommended: thresholds")
    rows = different.table.set_index("model")
    assert {"plain", "no ties", "thresholds", "sharpness", "order"} <= set(rows.index)
    assert "judges" in rows.loc["plain", "misses"]
    assert "judges" not in rows.loc["thresholds", "misses"]
    assert np.isnan(rows.loc["no ties", "elpd"])


def test_a_model_without_ties_is_scored_by_choices_alone(different):
    (words,) = [one for one in different.sentences if "without ties" in one]
    assert "gives a tie no probability" in words
    assert "Of the choices alone, " in words


def test_what_was_not_tried_is_said(different):
    assert "Neighbours are not known, so no prior with neighbours was tried." in different.sentences


def test_tables_are_written_whole(different, tmp_path):
    different.write(tmp_path / "models")
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == sorted(FILES)
    table = pd.read_csv(tmp_path / "models" / "models.csv")
    assert list(table["model"]) == list(different.table["model"])
    scores = pd.read_csv(tmp_path / "models" / "judge-scores.csv").set_index("judge")
    assert scores["plain"].sum() == pytest.approx(table.set_index("model").loc["plain", "elpd"])
    with pytest.raises(InputError, match="not empty"):
        different.write(tmp_path / "models")


@pytest.mark.slow
@pytest.mark.thorough
def test_judges_who_are_alike_are_given_the_plain_model_in_most_studies():
    """One standard error over twelve judges is passed by chance now and then."""
    plain = [compare_models(judged(k), engine=QUICK).recommended == "plain" for k in range(10)]
    assert np.mean(plain) >= 0.7


@pytest.mark.slow
def test_a_lean_to_the_left_and_a_map_are_seen_together():
    near = network(40)
    _, data = crowd(near, np.random.default_rng(8), good=10, each=30, variance=3.0)
    rows = data.rows()
    # Every third pair goes to the left, whatever it is.
    rows.loc[rows.index % 3 == 0, "outcome"] = "first"
    result = compare_models(
        rows, context=ItemContext(graph=near.graph), engine=QUICK, columns={"judge": "judge"}
    )
    assert result.recommended == "network + order"
    assert result.options == {"order": True}


def test_a_file_without_ties_and_judges_has_one_candidate(tmp_path):
    file = tmp_path / "games.csv"
    file.write_text("winner,loser\n" + "a,b\nb,c\nc,a\na,c\n" * 5)
    result = compare_models(file, engine=QUICK)
    assert list(result.table["model"]) == ["plain"]
    assert result.recommended == "plain"
    assert "There was nothing else to try." in result.sentences
    assert "Judges are not known, so neither sharpness nor thresholds were tried." in (
        result.sentences
    )


def test_terms_cannot_be_asked_for():
    with pytest.raises(InputError, match="leave out thresholds="):
        compare_models(judged(1, each=5), thresholds=True)
