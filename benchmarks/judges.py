"""Ten thousand judges and a million comparisons with judge effects: time and memory of one fit.

`python -m benchmarks.judges` prints what docs/extensions.md states.
"""

from __future__ import annotations

import argparse
import json
import resource
from dataclasses import replace
from time import perf_counter, process_time

import numpy as np

from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs, replicate_counts
from tiewise.model.terms import Sharpness, Thresholds
from tiewise.posterior.fit import fit

FACTS = (
    "build_seconds", "sample_seconds", "ess_min", "rhat_max", "engine_steps", "engine_acceptance",
)  # fmt: skip


def crowd(items: int, judges: int, comparisons: int) -> tuple[BradleyTerry, Truth]:
    """Judges of a square map, each as often as the others, and the truth they judge by."""
    rng = np.random.default_rng(2)
    side = round(items**0.5)
    graph = Graph.grid(side, side)
    first, second = random_pairs(len(graph.items), comparisons, rng)
    counts = Counts.of(
        graph.items, first, second, np.ones(comparisons), np.zeros(comparisons),
        stratum=np.arange(comparisons) % judges, strata=[f"judge {k}" for k in range(judges)],
    )  # fmt: skip
    model = BradleyTerry(counts, Network(graph), terms=(Sharpness(), Thresholds()))
    known = replace(
        model, variance=Fixed(1.0), tie=Fixed(0.5),
        terms=(Sharpness(variance=Fixed(0.4**2)), Thresholds(variance=Fixed(0.7**2))),
    )  # fmt: skip
    truth = Truth.from_model(known, rng)
    return replace(model, counts=replicate_counts(known, truth, rng)), truth


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=225)
    parser.add_argument("--judges", type=int, default=10_000)
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--json", action="store_true", help="figures for `make bench-large`")
    options = parser.parse_args()
    model, truth = crowd(options.items, options.judges, options.comparisons)
    begun, used = perf_counter(), process_time()
    tree = fit(model, Transport(draws=options.draws), rng=1)
    seconds, processor = perf_counter() - begun, process_time() - used
    if options.json:
        facts = {name: float(tree.attrs[name]) for name in FACTS}
        print(json.dumps({"seconds": seconds, "fit_cpu_s": processor, **facts}))
        return
    posterior = tree["posterior"].dataset
    for name in ("tie", "variance", "sharpness_sd", "threshold_sd"):
        print(f"{name}: {float(posterior[name].mean()):.4f} ± {float(posterior[name].std()):.4f}")
    for name in ("sharpness", "threshold"):
        middle = np.log(posterior[name]).mean(("chain", "draw"))
        print(f"log {name}: correlation {np.corrcoef(middle, np.log(truth.terms[name]))[0, 1]:.3f}")
    facts = {key: tree.attrs[key] for key in FACTS}
    print({key: round(float(value), 3) for key, value in facts.items()})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{seconds:.0f} s, of processors {processor:.0f} s, peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()
