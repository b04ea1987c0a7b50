"""Models from judgements, what is known of the items, and options by name."""

from __future__ import annotations

import numpy as np
import pytest

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.build import ModelOptions, build_model, choose_prior
from tiewise.model.item_context import ItemContext
from tiewise.model.quality_priors import Covariance, Independent, Network, Precision
from tiewise.model.scalar_priors import Exponential, Fixed, InverseGamma
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


def test_what_is_not_chosen_is_the_papers():
    model = build_model(PAIR)
    assert (model.variance, model.tie, model.terms) == (InverseGamma(), Exponential(), ())


def test_without_ties_the_tied_are_left_out():
    model = build_model(PAIR, ties=False, variance=Fixed(2.0))
    assert model.tie is None
    assert model.variance == Fixed(2.0)
    assert model.counts.comparisons == 5


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
        "quality": {"kind": "network", "borders": 2},
        "variance": {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01},
        "tie": None,
    }
