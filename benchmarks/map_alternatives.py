"""Other priors of a map, compared on Dar es Salaam by leaving out one judgement at a time.

`python -m benchmarks.map_alternatives` fits no map, the paper's prior, the mixture, e^{κA} and the
scaled ICAR with independent effects (BYM2), the last two over a grid of their parameter. The
figures stand in docs/inference.md.
"""

from __future__ import annotations

import numpy as np

from benchmarks.map_prior import SHARED
from tiewise.criticism.model_comparison import compare
from tiewise.data.comparisons import read_comparisons
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent, QualityPrior
from tiewise.posterior.fit import fit

KAPPA = (0.3, 0.5, 0.7)
SHARES = (0.7, 0.8, 0.9)


def exponential(graph: Graph, kappa: float) -> QualityPrior:
    """e^{κA}, normalised to unit variances."""
    values, vectors = np.linalg.eigh(graph.adjacency().toarray())
    matrix = (vectors * np.exp(kappa * values)) @ vectors.T
    return Covariance(matrix, graph.items, rescale=True)


def bym2(graph: Graph, share: float) -> QualityPrior:
    """Intrinsic autoregression, scaled so that the geometric mean of its variances is 1, mixed."""
    adjacency = graph.adjacency().toarray()
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    smooth = np.linalg.pinv(laplacian, rcond=1e-10, hermitian=True)
    smooth /= np.exp(np.log(np.diag(smooth)).mean())
    return Covariance(share * smooth + (1 - share) * np.eye(len(smooth)), graph.items)


def main() -> None:
    """Print the comparison."""
    graph = Graph.from_edges(SHARED / "dar-es-salaam-edges.csv")
    counts = read_comparisons(SHARED / "dar-es-salaam-comparisons.csv").counts()
    priors: dict[str, QualityPrior] = {
        "no map": Independent(graph.items),
        "paper": Network(graph, share=1.0),
        "mixture": Network(graph),
        **{f"e^{kappa}A": exponential(graph, kappa) for kappa in KAPPA},
        **{f"BYM2 {share}": bym2(graph, share) for share in SHARES},
    }
    trees = {name: fit(BradleyTerry(counts, prior), rng=1, ess=0) for name, prior in priors.items()}
    for name, tree in trees.items():
        if name != "no map":
            table = compare({"no map": trees["no map"], name: tree}).table
            print(name, table.to_string(index=False), sep="\n")


if __name__ == "__main__":
    main()
