"""Very many items: seconds, processor time, memory and coverage of Transport without matrices.

python -m benchmarks.sparse 8000 80000
python -m benchmarks.sparse 100000 1000000 --draws 2000 --witness 300
python -m benchmarks.sparse 100000 1000000 --draws 6400 --map
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from benchmarks.data import independent_study, map_truth
from benchmarks.memory import peak_mb
from tiewise.engines.base import Draws
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.diagnostics import ess, rhat, watched_by_mean
from tiewise.progress import no_progress

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.perturbation_gibbs import perturbation_gibbs


def study(items: int, comparisons: int) -> tuple[Truth, BradleyTerry]:
    """Simulated judgements of random pairs, independent qualities."""
    truth, counts = independent_study(items, comparisons)
    return truth, BradleyTerry(counts)


def map_study(items: int, comparisons: int) -> tuple[Truth, BradleyTerry]:
    """Simulated judgements of areas on a square grid; a share of variance is the map's."""
    side = round(items**0.5)
    rng, prior = np.random.default_rng(1), Network(Graph.grid(side, side))
    truth = map_truth(prior, rng)
    return truth, BradleyTerry(simulate_counts(truth, comparisons, rng), prior)


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, its seconds, and its processor seconds."""
    wall, cpu = perf_counter(), process_time()
    result = run()
    return result, perf_counter() - wall, process_time() - cpu


def watched_draws(model: BradleyTerry, draws: Draws) -> tuple[Any, Any]:
    """Which items are watched; all draws of these, of ρ, δ and α²: (chains, draws, parameters)."""
    mean = draws.quality.mean(axis=(0, 1), dtype=float)
    which = watched_by_mean(mean, model.counts.per_item())
    whole = draws.whole
    quality = draws.quality[..., which] if whole is draws else whole.quality.some_items(which)
    terms = [own[..., None] for own in whole.terms.values()]
    scales = np.concatenate([*terms, whole.tie[..., None], whole.variance[..., None]], axis=-1)
    return which, np.concatenate([quality.astype(float), scales], axis=-1)


def summary(table: Any, superchains: int, *, share: bool) -> dict[str, float]:
    """Effective draws, at most as many as there are, and R-hat: δ, α², ρ, watched items."""
    number = table.shape[0] * table.shape[1]
    worth = np.minimum(np.minimum(ess(table), ess(table, "tail")), number)
    return {
        "ess_tie": float(worth[-2]), "ess_variance": float(worth[-1]),
        "ess_median": float(np.median(worth[:-2])), "ess_worst": float(worth[:-2].min()),
        **({"ess_share": float(worth[-3])} if share else {}),
        "rhat": float(rhat(table, superchains).max()),
    }  # fmt: skip


def coverage(truth: Truth, which: Any, table: Any) -> float:
    """Share of watched items whose 90 % interval holds the truth."""
    low, high = np.quantile(table[..., : len(which)], (0.05, 0.95), axis=(0, 1))
    centred = (truth.quality - truth.quality.mean())[which]
    return float(np.mean((low < centred) & (centred < high)))


def compare(model: BradleyTerry, which: Any, table: Any, draws: int) -> dict[str, float]:
    """The witness: its processor time, and how far means are apart in Monte Carlo errors."""
    rng = np.random.default_rng(5)
    other, _, cpu = timed(lambda: perturbation_gibbs(model, draws, rng, watched=which))
    theirs = np.column_stack([other.quality, other.tie, other.variance])[None]
    own, worth = ess(theirs), ess(table)
    flat = table.reshape(-1, table.shape[-1])
    error = np.sqrt(theirs[0].var(axis=0) / own + flat.var(axis=0) / worth)
    score = (theirs[0].mean(axis=0) - flat.mean(axis=0)) / error
    return {
        "witness_cpu_s": cpu, "witness_ess_worst": float(own.min()),
        "z_mean_square": float(np.mean(score**2)), "z_largest": float(np.abs(score).max()),
        "z_tie": float(score[-2]), "z_variance": float(score[-1]),
    }  # fmt: skip


def main() -> None:
    """Print the figures as JSON."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("items", type=int)
    parser.add_argument("comparisons", type=int)
    parser.add_argument("--map", action="store_true", help="areas of a grid, network prior")
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--witness", type=int, default=0, metavar="DRAWS")
    options = parser.parse_args()
    make = map_study if options.map else study
    truth, model = make(options.items, options.comparisons)
    before = peak_mb()
    engine = Transport(draws=options.draws)
    draws, wall, cpu = timed(lambda: engine.run(model, SeedSequence(2), no_progress))
    which, table = watched_draws(model, draws)
    figures = summary(table, draws.superchains or 0, share=options.map)
    print(json.dumps({
        "items": options.items, "comparisons": options.comparisons, "draws": options.draws,
        "seconds": wall, "cpu_seconds": cpu, "build_seconds": draws.build_seconds,
        **draws.facts, **figures, "watched": len(which),
        "coverage_90": coverage(truth, which, table),
        **{f"cpu_per_{k}": cpu / v for k, v in figures.items() if k.startswith("ess")},
        "peak_mb": peak_mb(), "peak_mb_before": before,
        **(compare(model, which, table, options.witness) if options.witness else {}),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
