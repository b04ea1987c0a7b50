"""Transport with matrices, Transport without and Gibbs tell one story under every sparse prior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import sparse

from support.agreement import assert_same_posterior, assert_witness_agrees, differences
from tiewise.engines.base import Draws
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.sparse import choice
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model import quality_priors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network, icar
from tiewise.model.quality_priors import Independent, Precision, QualityPrior
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.progress import no_progress

GRIDS = {500: (20, 25), 2000: (40, 50)}


def given_precision(graph: Graph) -> Precision:
    """Neighbours are alike, and every quality is held by itself, too, by some more than others."""
    root = given_root(graph)
    return Precision(sparse.csr_array(root.T @ root), graph.items)


def given_root(graph: Graph) -> sparse.csr_array:
    """E whose EᵀE is that precision."""
    own = sparse.diags_array(np.sqrt(np.linspace(0.3, 1.2, len(graph.items))))
    return sparse.csr_array(sparse.vstack([differences(graph), own]))


def network_root(graph: Graph, share: float = 0.6) -> np.ndarray:
    """E of areas whose share is held, from the covariance written out."""
    factor = Network(graph, share=share).factor(len(graph.items))
    return np.linalg.inv(np.linalg.cholesky(factor @ factor.T))


PRIORS: dict[str, Callable[[Graph], QualityPrior]] = {
    "independent": lambda graph: Independent(graph.items),
    "given precision": given_precision,
    "neighbours": icar,
    "network": lambda graph: Network(graph, share=1.0),
    "network, share held": lambda graph: Network(graph, share=0.6),
    "network, share inferred": Network,
}
every_prior = pytest.mark.parametrize("prior", PRIORS)


@pytest.fixture(autouse=True)
def matrices_of_many_items(monkeypatch):
    """Up to 2,000 items matrices of items by items may be written out."""
    monkeypatch.setattr(quality_priors, "DENSE_ITEMS", max(GRIDS))
    monkeypatch.setattr(choice, "DENSE_ITEMS", max(GRIDS))


def study(prior: str, size: int) -> BradleyTerry:
    """Areas of a grid, compared at random sixteen times each; neighbours are somewhat alike."""
    graph, rng = Graph.grid(*GRIDS[size]), np.random.default_rng(2)
    quality = rng.normal(size=size)
    quality = (quality + graph.adjacency() @ quality / 2) / np.sqrt(2)
    truth = Truth(graph.items, quality - quality.mean(), 0.3, 1.0)
    return BradleyTerry(simulate_counts(truth, 8 * size, rng), PRIORS[prior](graph))


def without_matrices(model: BradleyTerry, draws: int, monkeypatch) -> Draws:
    with monkeypatch.context() as patch:
        for name in ("DENSE_ITEMS", "DENSE_AREAS"):
            patch.setattr(choice, name, 0)
        assert choice.prefers_sparse(model)
        return Transport(draws=draws).run(model, SeedSequence(4), no_progress)


def with_matrices(model: BradleyTerry, draws: int) -> Draws:
    assert not choice.prefers_sparse(model)
    return Transport(draws=draws).run(model, SeedSequence(3), no_progress)


@pytest.mark.slow
@every_prior
def test_with_and_without_matrices_agree_at_500_items(prior, monkeypatch):
    model = study(prior, 500)
    dense, ours = with_matrices(model, 4000), without_matrices(model, 6000, monkeypatch)
    assert_same_posterior(ours, dense)


@pytest.mark.slow
@pytest.mark.thorough
@every_prior
def test_with_and_without_matrices_agree_at_2000_items(prior, monkeypatch):
    model = study(prior, 2000)
    dense, ours = with_matrices(model, 2000), without_matrices(model, 4000, monkeypatch)
    assert_same_posterior(ours, dense)


@pytest.mark.slow
@pytest.mark.thorough
@every_prior
def test_gibbs_agrees_at_500_items(prior, monkeypatch):
    model = study(prior, 500)
    gibbs = Gibbs(draws=8000).run(model, SeedSequence(3), no_progress)
    assert_same_posterior(without_matrices(model, 8000, monkeypatch), gibbs)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("prior", "root", "draws"),
    [
        ("given precision", given_root, 2000),
        ("network", partial(network_root, share=1.0), 800),
        ("network, share held", network_root, 800),
    ],
    ids=["given precision", "network", "network, share held"],
)
def test_gibbs_by_perturbation_agrees_at_2000_items(prior, root, draws, monkeypatch):
    """Under an independent prior and one of neighbours: test_sparse.py."""
    model = study(prior, 2000)
    for name in ("DENSE_ITEMS", "DENSE_AREAS"):
        monkeypatch.setattr(choice, name, 0)
    assert_witness_agrees(model, draws, root(Graph.grid(*GRIDS[2000])))
