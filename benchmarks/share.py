"""What it costs to infer the share of the map: effective draws a second, with ρ = 1 and inferred.

`python -m benchmarks.share` alternates the two in one run, and prints the best of each and their
ratio; the figures stand in docs/inference.md. Processor seconds, building included.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from benchmarks.map_prior import SHARED, split
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.diagnostics import ess
from tiewise.posterior.fit import fit

REPEATS = 3


def studies() -> dict[str, tuple[Graph, Counts]]:
    """Dar es Salaam, a part of it, and a simulated grid of 1,000."""
    grid, rng = Graph.grid(25, 40), np.random.default_rng(1)
    truth = Truth.from_priors(Network(grid, share=0.7), Fixed(1.0), Fixed(0.4), rng)
    out = {"grid of 1,000, ten comparisons an item": (grid, simulate_counts(truth, 10_000, rng))}
    if not SHARED.exists():
        return out
    graph = Graph.from_edges(SHARED / "dar-es-salaam-edges.csv")
    whole = read_comparisons(SHARED / "dar-es-salaam-comparisons.csv").counts().over(graph.items)
    return {
        "Dar es Salaam": (graph, whole),
        "Dar es Salaam, 15,000": (graph, split(whole, 15_000, rng)[0]),
        **out,
    }


def speed(counts: Counts, prior: Network, seed: int) -> tuple[float, float, float]:
    """Smallest effective draws (bulk) a processor second, the draws' acceptance, and seconds."""
    begin = process_time()
    tree = fit(BradleyTerry(counts, prior), Transport(), rng=seed, ess=0)
    seconds = process_time() - begin
    posterior = tree["posterior"]
    names = [name for name in ("quality", "tie", "variance", "share") if name in posterior]
    least = min(float(np.min(ess(posterior[name].to_numpy()))) for name in names)
    return least / seconds, float(tree.attrs["engine_acceptance"]), seconds


def main() -> None:
    """Print the table."""
    print("| study | ρ = 1: ESS/s, acceptance, s | ρ inferred | ratio |")
    print("|---|---|---|---|")
    for name, (graph, counts) in studies().items():
        best: dict[float | None, tuple[float, float, float]] = {}
        for seed in range(REPEATS):
            for share in (1.0, None):
                one = speed(counts, Network(graph, share=share), seed)
                best[share] = max(best.get(share, (0.0, 0.0, 0.0)), one)
        cells = [
            f"{each:,.0f}, {accepted:.2f}, {took:.1f}"
            for each, accepted, took in (best[1.0], best[None])
        ]
        print(f"| {name} | {' | '.join(cells)} | {best[None][0] / best[1.0][0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
