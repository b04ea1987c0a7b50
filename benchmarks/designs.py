"""What designs save: `python -m benchmarks.designs DATA [--transport] [--studies N] [--table]`.

Fresh studies are simulated that no design was made on: 95 wards (South Yorkshire publishes no
boundaries, so that they are independent) and the map of Dar es Salaam, at α² = 1, 2 and 4 with
δ = 0.5. Each truth is judged by random, balanced and optimal pairs of two sizes; where its
reliability passes 0.8 follows from the odds of reliability, which are in proportion to comparisons.
Differences between policies are those within a truth.

Posteriors are Gaussian at their mode, with α², δ and the share of the map those of the truth, which
takes a hundredth of a fit; `--transport` fits with the model's own priors instead, and `--check`
compares the two where both were done. What is done is kept in results/designs-DATA.json, and the
same command goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import expit

from benchmarks.workload import ROOT
from tiewise.data.answers import FIRST, SECOND
from tiewise.data.answers import TIE as TIED
from tiewise.data.counts import Counts
from tiewise.designs.design import make_design
from tiewise.designs.prior import DesignPrior
from tiewise.designs.wish import DesignWish
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, QualityPrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_answers
from tiewise.posterior.fit import run_engine
from tiewise.posterior.reliability import known_share
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


@lru_cache(maxsize=1)
def prior_precision(data: str, variance: float, share: float) -> Any:
    """The inverse of the covariance of qualities, the share of the map known."""
    prior = quality_prior(data)
    mixture = getattr(prior, "mixture", None)
    inner = np.eye(len(prior.items or ())) if mixture is None else mixture.precision(share)
    return inner / variance


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


def simulate(data: str, variance: float, study: int, transport: bool) -> dict[str, list[float]]:
    """Figures of one truth with each kind of pairs at each size, by "policy size".

    They are reliability, mean posterior variance, and mean square error, of centred qualities.
    """
    prior = quality_prior(data)
    entropy = [study, int(10 * variance), len(data)]
    truth = Truth.from_priors(prior, Fixed(variance), Fixed(TIE), _generator(entropy, 0, 0))
    rows = {}
    for size in SIZES[data, variance]:
        for number, policy in enumerate(POLICIES):
            rng = _generator(entropy, 1 + number, size)
            if policy == "random":
                asked = random_pairs_of_judges(len(truth.items), size, rng)
            else:
                asked = pairs(data, variance, policy, size)
            judged = np.array(asked), simulate_answers(truth, *asked, rng)
            if transport:
                seed = np.random.SeedSequence(entropy, spawn_key=(1 + number, size, 1))
                mean, variance_left = _by_transport(prior, truth, *judged, seed)
            else:
                mean, variance_left = _at_the_mode(data, truth, *judged)
            off = mean - (truth.quality - truth.quality.mean())
            known = known_share(mean, variance_left, DRAWS if transport else 10**9)
            figures = known, variance_left.mean(), (off**2).mean()
            rows[f"{policy} {size}"] = [round(float(figure), 6) for figure in figures]
    return rows


def _generator(entropy: list[int], *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


def _by_transport(
    prior: QualityPrior, truth: Truth, pairs: Any, answer: Any, seed: np.random.SeedSequence
) -> tuple[Any, Any]:
    """Means and variances of centred qualities, with the model's own priors."""
    chosen = (answer == code for code in (FIRST, SECOND, TIED))
    model = BradleyTerry(Counts.of(truth.items, *pairs, *chosen), prior)
    engine = Transport(draws=DRAWS, blocks=1, threads=1)
    _, draws = run_engine(model, engine, seed, no_progress)
    quality = draws.quality.reshape(-1, model.size)
    centred = quality - quality.mean(axis=1, keepdims=True)
    return centred.mean(axis=0), centred.var(axis=0)


def _at_the_mode(data: str, truth: Truth, pairs: Any, answer: Any) -> tuple[Any, Any]:
    """The same of the Gaussian at the mode, everything but qualities known, by Newton's method.

    A tie is one success each way, against a threshold on each side.
    """
    size, (i, j) = len(truth.items), pairs
    within = prior_precision(data, truth.variance, float(truth.terms.get("share", 0)))
    up, down = (answer == FIRST) | (answer == TIED), (answer == SECOND) | (answer == TIED)
    quality = truth.quality - truth.quality.mean()
    for _ in range(50):
        gap = quality[i] - quality[j]
        low, high = expit(truth.tie - gap), expit(truth.tie + gap)
        slope = np.bincount(i, up * low - down * high, size)
        slope -= np.bincount(j, up * low - down * high, size)
        weight = up * low * (1 - low) + down * high * (1 - high)
        cells = np.concatenate([i * size + i, j * size + j, i * size + j, j * size + i])
        weights = np.concatenate([weight, weight, -weight, -weight])
        precision = within + np.bincount(cells, weights, size**2).reshape(size, size)
        factor = cho_factor(precision, overwrite_a=True, check_finite=False)
        step = cho_solve(factor, slope - within @ quality, check_finite=False)
        quality = quality + step * min(1.0, 1 / np.abs(step).max())
        if np.abs(step).max() < 1e-5:
            break
    else:
        raise RuntimeError("Newton's method found no mode")
    covariance = dpotri(factor[0], lower=factor[1], overwrite_c=True)[0]
    covariance = np.tril(covariance) if factor[1] else np.triu(covariance)
    covariance = covariance + covariance.T - np.diag(np.diag(covariance))
    level = covariance.mean(axis=0)
    return quality - quality.mean(), np.diag(covariance) - 2 * level + level.mean()


def needed(rows: dict[str, list[float]], policy: str) -> float:
    """The comparisons at which a study passes the level, with odds in proportion to comparisons.

    So said Spearman and Brown; two sizes of one study say too little of a slope of their own.
    """
    mine = {int(key.split()[1]): row[0] for key, row in rows.items() if key.startswith(policy)}
    logs = [np.log(size * (1 - known) / known) for size, known in mine.items()]
    return float(np.exp(np.mean(logs) + np.log(LEVEL / (1 - LEVEL))))


def left(rows: dict[str, list[float]], policy: str) -> float:
    """The mean posterior variance, as a geometric mean over sizes."""
    return float(np.exp(np.mean([np.log(r[1]) for k, r in rows.items() if k.startswith(policy)])))


def table(data: str, kept: dict[str, Any]) -> list[str]:
    """A row for each spread: what each kind needs, and differences within truths, with errors."""
    lines = [
        "| α² | studies | random | balanced | optimal | balanced − random | optimal − balanced | "
        "variance left, balanced ÷ random | optimal ÷ balanced |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for variance in (variance for one, variance in SIZES if one == data):
        studies = [rows for key, rows in kept.items() if key.startswith(f"{variance} ")]
        if len(studies) < 2:
            continue
        by = {policy: np.array([needed(rows, policy) for rows in studies]) for policy in POLICIES}
        unknown = {
            policy: np.array([left(rows, policy) for rows in studies]) for policy in POLICIES
        }
        cells = [_with_error(by[policy], 0) for policy in POLICIES]
        beside = (("balanced", "random"), ("optimal", "balanced"))
        cells += [_with_error(by[one] - by[other], 1) for one, other in beside]
        cells += [_with_error(unknown[one] / unknown[other], 4) for one, other in beside]
        lines.append(f"| {variance:g} | {len(studies)} | {' | '.join(cells)} |")
    return lines


def check(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """By how much the two ways differ in reliability, and in what differs between policies."""
    both = [(rows, two[key]) for key, rows in one.items() if key in two]
    rows = [
        (f"reliability, {policy}", [r[k][0] - t[k][0] for r, t in both for k in r if policy in k])
        for policy in POLICIES
    ]
    for a, b in (("balanced", "random"), ("optimal", "balanced")):
        gains = [
            np.log(needed(r, a) / needed(r, b)) - np.log(needed(t, a) / needed(t, b))
            for r, t in both
        ]
        rows.append((f"log of {a} ÷ {b}", gains))
    return [f"{what}: {_with_error(np.array(values), 4)} ({len(values)})" for what, values in rows]


def _with_error(values: Any, digits: int) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {error:.{max(digits, 1)}f}"


def main() -> None:
    """Simulate studies, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["wards", "dar-es-salaam"])
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--transport", action="store_true", help="fits with the model's own priors")
    parser.add_argument("--table", action="store_true", help="only print what is kept")
    parser.add_argument("--check", action="store_true", help="compare the two ways")
    options = parser.parse_args()
    places = [PLACE.with_stem(f"designs-{options.data}{way}") for way in ("", "-transport")]
    both = [json.loads(one.read_text()) if one.exists() else {} for one in places]
    if options.check:
        print("\n".join(check(*both)))
        return
    place, kept = places[options.transport], both[options.transport]
    written = time.monotonic()
    with one_blas_thread():
        for study in range(0 if options.table else options.studies):
            for data, variance in SIZES:
                key = f"{variance} {study}"
                if data != options.data or key in kept:
                    continue
                kept[key] = simulate(data, variance, study, options.transport)
                if time.monotonic() > written + 20:
                    place.write_text(_lines(kept))
                    written = time.monotonic()
    place.write_text(_lines(kept))
    print("\n".join(table(options.data, kept)))


def _lines(kept: dict[str, Any]) -> str:
    """JSON with a study a line."""
    rows = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    main()
