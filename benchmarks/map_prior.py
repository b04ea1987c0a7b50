"""Whether intervals on a map hold what they promise: the table of docs/inference.md.

`python -m benchmarks.map_prior` takes random subsamples of the Dar es Salaam study, fits them with
no map, with the paper's prior and with the mixture, and compares each with all the judgements that
were left out, fitted without a map. Both have errors, so that a 95 % interval is one of the
difference. The log predictive density is that of the judgements that were left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, QualityPrior
from tiewise.posterior.fit import fit

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZES = (1500, 15_000)


def split(counts: Counts, size: int, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """A random part of the judgements, and the rest."""
    answers = np.column_stack([counts.wins_first, counts.wins_second, counts.ties])
    chosen = rng.multivariate_hypergeometric(answers.ravel(), size).reshape(answers.shape)
    parts = chosen, answers - chosen
    one, two = (Counts.of(counts.items, counts.first, counts.second, *part.T) for part in parts)
    return one, two


def moments(counts: Counts, prior: QualityPrior, seed: int) -> tuple[np.ndarray, ...]:
    """Means and standard deviations of centred qualities, and draws of quality and threshold."""
    posterior = fit(BradleyTerry(counts, prior), rng=seed, ess=0)["posterior"]
    quality = posterior["quality"].to_numpy().reshape(-1, len(counts.items))
    tie = posterior["tie"].to_numpy().ravel()
    return quality.mean(axis=0), quality.std(axis=0), quality, tie


def predictive(counts: Counts, prior: QualityPrior, quality: np.ndarray, tie: np.ndarray) -> float:
    """Mean log predictive density of judgements, each pair's averaged over draws."""
    model = BradleyTerry(counts, prior)
    forth, back = model.counts.wins_first, model.counts.wins_second
    gap = quality[:400, model.counts.first] - quality[:400, model.counts.second]
    some = tie[:400, None]
    first, second = 1 / (1 + np.exp(some - gap)), 1 / (1 + np.exp(some + gap))
    chances = [first.mean(axis=0), second.mean(axis=0), (1 - first - second).mean(axis=0)]
    answers = (forth, back, model.counts.ties)
    return float(
        sum(n @ np.log(p) for n, p in zip(answers, chances, strict=True)) / counts.comparisons
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    graph = Graph.from_edges(SHARED / "dar-es-salaam-edges.csv")
    whole = read_comparisons(SHARED / "dar-es-salaam-comparisons.csv").counts().over(graph.items)
    priors: dict[str, QualityPrior] = {
        "no map": Independent(graph.items),
        "the paper's, ρ = 1": Network(graph, share=1.0),
        "mixture, ρ inferred": Network(graph),
    }
    print("| judgements | prior | 95 % intervals hold | root mean square error | "
          "log predictive density against no map, per 1,000 |")  # fmt: skip
    print("|---|---|---|---|---|")
    for size in SIZES:
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in priors}
        for seed, rng in enumerate(np.random.default_rng(1).spawn(repeats)):
            part, rest = split(whole, size, rng)
            mean, sd, _, _ = moments(rest, priors["no map"], seed)
            base = 0.0
            for name, prior in priors.items():
                own, own_sd, quality, tie = moments(part, prior, seed)
                held = np.abs(own - mean) < 1.96 * np.hypot(sd, own_sd)
                score = predictive(rest, priors["no map"], quality, tie)
                base = score if name == "no map" else base
                error = float(np.sqrt(((own - mean) ** 2).mean()))
                rows[name].append((float(held.mean()), error, 1000 * (score - base)))
        for name, values in rows.items():
            held, error, score = (np.array(column) for column in zip(*values, strict=True))
            spread = score.std(ddof=1) / np.sqrt(len(score))
            print(f"| {size:,} | {name} | {held.mean():.1%} | {error.mean():.3f} | "
                  f"{score.mean():+.1f} ({spread:.1f}) |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
