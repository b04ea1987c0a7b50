"""What designs save: `python -m benchmarks.designs DATA [--studies N] [--seconds S] [--table]`.

Fresh studies are simulated that no design was made on: 95 wards (South Yorkshire publishes no
boundaries, so that they are independent) and the map of Dar es Salaam, at α² = 1, 2 and 4 with
δ = 0.5. Each is judged by random, balanced and optimal pairs of two sizes, and fitted with the
model's own priors; where its reliability passes 0.8 is interpolated on the scale of odds.
What is done is kept in results/designs-DATA.json, and the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import cache
from typing import Any

import numpy as np

from benchmarks.workload import ROOT
from tiewise.designs.design import make_design
from tiewise.designs.prior import DesignPrior
from tiewise.designs.wish import DesignWish
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, QualityPrior
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import run_engine
from tiewise.posterior.reliability import reliability
from tiewise.progress import no_progress

TIE, LEVEL, JUDGES, DRAWS = 0.5, 0.8, 20, 1000
POLICIES = ("random", "balanced", "optimal")
SIZES = {
    ("wards", 1.0): (900, 1200), ("wards", 2.0): (600, 800), ("wards", 4.0): (460, 620),
    ("dar-es-salaam", 1.0): (3800, 5000), ("dar-es-salaam", 2.0): (2500, 3300),
    ("dar-es-salaam", 4.0): (1800, 2400),
}  # fmt: skip
"""Comparisons on both sides of what a reliability of 0.8 takes, about."""
PLACE = ROOT / "benchmarks" / "results" / "designs.json"
EDGES = ROOT.parent / "shared" / "data" / "dar-es-salaam-edges.csv"


@cache
def quality_prior(data: str) -> QualityPrior:
    """Who borders whom, or nothing."""
    if data == "wards":
        return Independent(tuple(str(k + 1) for k in range(95)))
    return Network(Graph.from_edges(EDGES))


@cache
def pairs(data: str, variance: float, policy: str, size: int) -> tuple[Any, Any]:
    """The pairs of a design, as positions."""
    prior = quality_prior(data)
    items = tuple(prior.items or ())
    judges = tuple(f"judge {k + 1}" for k in range(JUDGES))
    wish = DesignWish(items=items, judges=judges, per_judge=size // JUDGES, policy=policy)
    assumed = DesignPrior.of(prior, items, spread=variance, cuts=np.array([TIE]))
    lists = make_design(wish, assumed, rng=1).lists
    place = {item: k for k, item in enumerate(items)}
    columns = [[place[pair[side]] for pair in lists.pairs] for side in (0, 1)]
    return np.array(columns[0]), np.array(columns[1])


def random_pairs_of_judges(items: int, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Pairs drawn at random for each judge, none twice."""
    first, second = np.triu_indices(items, 1)
    chosen = np.concatenate(
        [rng.choice(len(first), size // JUDGES, replace=False) for _ in range(JUDGES)]
    )
    return first[chosen], second[chosen]


def simulate(data: str, variance: float, study: int) -> list[dict[str, Any]]:
    """The reliability of one study with each kind of pairs at each size."""
    prior = quality_prior(data)
    seed = np.random.SeedSequence([study, int(10 * variance), len(data)])
    truth = Truth.from_priors(
        prior, Fixed(variance), Fixed(TIE), np.random.default_rng(seed.spawn(1)[0])
    )
    rows = []
    for size in SIZES[data, variance]:
        for policy in POLICIES:
            rng = np.random.default_rng(seed.spawn(1)[0])
            if policy == "random":
                asked = random_pairs_of_judges(len(truth.items), size, rng)
            else:
                asked = pairs(data, variance, policy, size)
            counts = simulate_counts(truth, size, rng, asked)
            engine = Transport(draws=DRAWS, blocks=1, threads=1)
            model = BradleyTerry(counts, prior)
            _, draws = run_engine(model, engine, seed.spawn(1)[0], no_progress)
            known = reliability(draws.quality.reshape(-1, len(truth.items)))
            rows.append({"policy": policy, "size": size, "reliability": known})
    return rows


def needed(rows: list[dict[str, Any]], policy: str) -> float:
    """The comparisons at which a study passes the level: log odds are linear in log size."""
    mine = [row for row in rows if row["policy"] == policy]
    x = np.log([row["size"] for row in mine])
    y = np.log([row["reliability"] / (1 - row["reliability"]) for row in mine])
    # Odds are in proportion to comparisons (Spearman–Brown); two sizes of one study say too
    # little of a slope.
    return float(np.exp(np.mean(x - y) + np.log(LEVEL / (1 - LEVEL))))


def table(kept: dict[str, Any]) -> list[str]:
    """A row for each data set and spread: what each kind needs, and shares with errors."""
    lines = [
        "| data | α² | studies | random | balanced | optimal | balanced, share of random | "
        "optimal, share of balanced |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (data, variance), _ in SIZES.items():
        studies = [rows for key, rows in kept.items() if key.startswith(f"{data} {variance} ")]
        if len(studies) < 2:
            continue
        by = {policy: np.array([needed(rows, policy) for rows in studies]) for policy in POLICIES}
        cells = [_with_error(by[policy], 0) for policy in POLICIES]
        shares = [
            _with_error(by[one] / by[other], 4)
            for one, other in (("balanced", "random"), ("optimal", "balanced"))
        ]
        lines.append(
            f"| {data} | {variance:g} | {len(studies)} | {' | '.join([*cells, *shares])} |"
        )
    return lines


def _with_error(values: Any, digits: int) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {error:.{max(digits, 1)}f}"


def main() -> None:
    """Simulate studies for so many seconds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["wards", "dar-es-salaam"])
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--variance", type=float, help="only this α²")
    parser.add_argument("--table", action="store_true", help="only print what is kept")
    options = parser.parse_args()
    place = PLACE.with_stem(f"designs-{options.data}")
    kept = json.loads(place.read_text()) if place.exists() else {}
    end = time.monotonic() + (0 if options.table else options.seconds)
    with one_blas_thread():
        for study in range(options.studies):
            for data, variance in SIZES:
                key = f"{data} {variance} {study}"
                if options.variance not in (None, variance) or data != options.data:
                    continue
                if key in kept or time.monotonic() > end:
                    continue
                kept[key] = simulate(data, variance, study)
                place.write_text(json.dumps(kept) + "\n")
    print("\n".join(table(kept)))


if __name__ == "__main__":
    main()
