"""What it costs to infer the share of the map: effective draws a second, with ρ = 1 and inferred.

`python -m benchmarks.share` alternates the two over several seeds, and prints medians and the
median of their ratios, with the smallest and largest; the figures stand in docs/inference.md. Not
the best of each: the pilot run's choice of trajectories differs from seed to seed, and so does
what a user gets. Processor seconds, building included.
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
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit

REPEATS = 5


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
    """Smallest effective draws (of bulk and tail) a processor second, acceptance, and seconds."""
    begin = process_time()
    tree = fit(BradleyTerry(counts, prior), Transport(), rng=seed, ess=0)
    seconds = process_time() - begin
    least = float(tree.attrs["ess_min"])
    return least / seconds, float(tree.attrs["engine_acceptance"]), seconds


def main() -> None:
    """Print the table."""
    print("| study | ρ = 1: ESS/s, acceptance, s | ρ inferred | ratio (smallest to largest) |")
    print("|---|---|---|---|")
    for name, (graph, counts) in studies().items():
        runs = np.array(
            [
                [speed(counts, Network(graph, share=share), seed) for share in (1.0, None)]
                for seed in range(REPEATS)
            ]
        )
        ratio = runs[:, 1, 0] / runs[:, 0, 0]
        cells = [f"{each:,.0f}, {took[0]:.2f}, {took[1]:.1f}" for each, *took in np.median(runs, 0)]
        spread = f"{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})"
        print(f"| {name} | {' | '.join(cells)} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
