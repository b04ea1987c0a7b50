"""Models from judgements, what is known of the items, and options by name."""

from __future__ import annotations

import numpy as np
import pytest

from tiewise.data.about_table import about_path, write_about
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.geo.item_context import ItemContext
from tiewise.model.build import ModelOptions, build_model, choose_prior
from tiewise.model.map_priors import Network
from tiewise.model.prior_sets import paper_priors
from tiewise.model.quality_priors import Covariance, Independent, Precision
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.term_options import TermOptions

PAIR = Counts.of(["a", "b"], [0], [1], [3], [2], [1])
LANE = ItemContext(graph=Graph.from_edges([("a", "b"), ("b", "c")]))
SQUARE = ItemContext(matrix=(np.eye(2), ("a", "b")))


@pytest.mark.parametrize(
    ("context", "kind", "expected"),
    [
        (ItemContext(), None, Independent),
        (LANE, None, Network),
        (LANE, "independent", Independent),
        (SQUARE, "covariance", Covariance),
        (SQUARE, "precision", Precision),
    ],
)
def test_a_prior_is_chosen_by_name_or_by_what_is_known(context, kind, expected):
    prior = choose_prior(context, kind)
    assert type(prior) is expected
    assert prior.items == context.items


@pytest.mark.parametrize(
    ("context", "options", "message"),
    [
        (ItemContext(), {"kind": "tree"},
         "no prior 'tree'; there are independent, network, distance, covariance, precision"),
        (ItemContext(), {"kind": "network"},
         "a network prior needs neighbours: give areas= or edges="),
        (LANE, {"kind": "distance"}, "a prior on distance needs a map: give areas="),
        (LANE, {"kind": "covariance"}, "a covariance prior needs its matrix: give matrix=FILE"),
        (LANE, {"reach": 2.0}, "reach= belongs to prior=distance, and this prior is network"),
        (SQUARE, {}, "say what matrix= holds: prior=covariance or prior=precision"),
    ],
)  # fmt: skip
def test_a_prior_that_cannot_be_is_refused_in_the_words_of_python(context, options, message):
    with pytest.raises(InputError) as error:
        choose_prior(context, **options)
    assert str(error.value) == message


def test_what_is_not_chosen_is_proper():
    model = build_model(PAIR)
    assert (model.variance, model.tie, model.terms) == (HalfNormalSpread(2), HalfNormal(1), ())


def test_the_papers_choices_go_together():
    model = build_model(PAIR, LANE, **paper_priors())
    assert (model.variance, model.tie) == (InverseGamma(0.01, 0.01), Exponential(0.01))
    assert model.prior.share == 1
    assert build_model(PAIR, LANE).prior.share is None
    # Without a network there is no share to speak of.
    assert build_model(PAIR, **paper_priors()).tie == Exponential(0.01)


def test_without_ties_the_tied_are_left_out():
    model = build_model(PAIR, ties=False, variance=Fixed(2.0))
    assert model.tie is None
    assert model.variance == Fixed(2.0)
    assert model.counts.comparisons == 5


DECIDED = Counts.of(["a", "b"], [0], [1], [3], [2])


def test_a_threshold_comes_with_the_first_tie():
    assert build_model(DECIDED).tie is None
    assert build_model(DECIDED, **paper_priors()).tie is None
    assert build_model(DECIDED, ties=True).tie == HalfNormal(1)
    assert build_model(DECIDED, ties=True, **paper_priors()).tie == Exponential(0.01)
    assert build_model(PAIR).tie == HalfNormal(1)


def test_a_threshold_that_is_held_stays():
    assert build_model(DECIDED, tie=Fixed(0.5)).tie == Fixed(0.5)


@pytest.mark.parametrize(("offered", "threshold"), [(True, True), (False, False), (None, False)])
def test_ties_that_were_offered_and_never_called_keep_the_threshold(tmp_path, offered, threshold):
    (tmp_path / "j.csv").write_text("winner,loser\na,b\nb,a\n", encoding="utf-8")
    if offered is not None:
        write_about(tmp_path / "j.csv", ties_offered=offered)
    comparisons = read_comparisons(tmp_path / "j.csv")
    assert comparisons.ties_offered is offered
    assert (build_model(comparisons).tie is not None) == threshold
    assert build_model(comparisons, ties=False).tie is None


def test_a_second_wave_in_which_ties_were_offered_keeps_the_threshold(tmp_path):
    for name in ("one", "two"):
        rows = "winner,loser\na,b\nb,a\na,b\n"
        (tmp_path / f"{name}.csv").write_text(rows, encoding="utf-8")
    waves = {"comparisons": read_comparisons(tmp_path / "one.csv"), "waves": tmp_path / "two.csv"}
    assert build_model(**waves).tie is None
    write_about(tmp_path / "two.csv", ties_offered=True)
    assert build_model(**waves).tie is not None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"ties_offered": "yes"}', "{"])
def test_a_file_beside_the_table_that_says_nothing_is_refused(tmp_path, text):
    (tmp_path / "j.csv").write_text("winner,loser\na,b\n", encoding="utf-8")
    about_path(tmp_path / "j.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"j\.about\.json: it should hold .* or move it away"):
        read_comparisons(tmp_path / "j.csv")


def test_only_ties_leave_nothing_to_fit_without_them():
    with pytest.raises(InputError, match=r"nothing to fit.*\(ties=False leaves ties out\)"):
        build_model(Counts.of(["a", "b"], [0], [1], [0], [0], [4]), ties=False)


def test_ids_of_two_kinds_are_remarked_upon():
    strangers = Counts.of(["x", "y"], [0], [1], [3], [2])
    with pytest.raises(InputError, match="none of the compared items .'x', 'y'. is in the edges"):
        build_model(strangers, LANE)


def test_options_that_are_passed_on_are_those_of_the_function():
    """`ModelOptions` types what `analyse` and others hand on, and terms are among them."""
    import inspect

    own = set(inspect.signature(build_model).parameters) - {"comparisons", "context"}
    assert set(ModelOptions.__annotations__) == own
    assert set(TermOptions.__dataclass_fields__) <= own


def test_a_model_as_data_has_its_priors_and_terms():
    assert build_model(PAIR, LANE, ties=False).to_dict() == {
        "quality": {"kind": "network", "borders": 2, "share": None},
        "variance": {"kind": "half-normal", "scale": 2.0},
        "tie": None,
    }
