"""South Yorkshire and Dar es Salaam, against reference posteriors by another system."""

from __future__ import annotations

import pytest

from support.reference_posteriors import assert_reference_posterior
from tiewise.engines.gibbs import Gibbs
from tiewise.geo.graph import Graph
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent


@pytest.mark.slow
def test_south_yorkshire_is_the_reference_posterior(real):
    """δ, α² and every quality, independent prior."""
    engine = Gibbs(draws=5000, warmup=200)
    assert_reference_posterior(real, "south-yorkshire", Independent(), engine)


@pytest.mark.slow
def test_south_yorkshire_as_published_is_the_reference_posterior_too(real):
    engine = Gibbs(draws=8000, warmup=400, as_published=True)
    assert_reference_posterior(real, "south-yorkshire", Independent(), engine)


@pytest.mark.slow
def test_dar_es_salaam_is_the_reference_posterior(real):
    """δ, α² and every quality of 452 subwards, network prior."""
    graph = Graph.from_edges(real("data/dar-es-salaam-edges.csv"))
    engine = Gibbs(draws=1000, warmup=60)
    assert_reference_posterior(real, "dar-es-salaam", Network(graph, share=1), engine)
