"""How well terms are recovered: the tables of docs/extensions.md.

`python -m benchmarks.recovery` judges made-up studies anew and prints, for each term, the mean
error, the typical error, and how often 90 % intervals hold the truth.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, random_pairs, replicate_counts
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds
from tiewise.posterior.fit import fit

MAP = Graph.grid(6, 6)
JUDGES = [f"judge {k}" for k in range(20)]
TABLE = {"item": list(MAP.items), "x": np.random.default_rng(1).normal(size=36)}
TERMS: dict[str, tuple[Term, ...]] = {
    "covariates": (Covariates(TABLE, "x"),),
    "order": (Order(),),
    "groups": (Groups({judge: "ab"[k % 2] for k, judge in enumerate(JUDGES)}),),
    "sharpness": (Sharpness(),),
    "thresholds": (Thresholds(),),
}
PARTS = {
    "covariates": ("coefficient", "explained", "quality"),
    "order": ("order", "quality"),
    "groups": ("contrast", "contrast_variance", "quality"),
    "sharpness": ("sharpness", "sharpness_sd", "quality"),
    "thresholds": ("threshold", "threshold_sd", "quality"),
}
CENTRED, LOGGED = ("quality", "contrast"), ("sharpness", "threshold")


def one_study(name: str, comparisons: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Errors and whether intervals hold the truth, (2, values) for each part."""
    first, second = random_pairs(36, comparisons, rng)
    counts = Counts.of(
        MAP.items, first, second, np.ones(comparisons), np.zeros(comparisons), ordered=True,
        stratum=np.arange(comparisons) % len(JUDGES), strata=JUDGES,
    )  # fmt: skip
    model = BradleyTerry(
        counts, Network(MAP), variance=InverseGamma(3, 2), tie=Exponential(2.0), terms=TERMS[name]
    )
    truth = Truth.from_model(model, rng)
    model = replace(model, counts=replicate_counts(model, truth, rng))
    posterior = fit(model, Transport(draws=2000), rng=int(rng.integers(2**32)))["posterior"]
    out = {}
    for part in PARTS[name]:
        known = np.asarray(truth.quality if part == "quality" else truth.terms[part])
        draws = posterior[part].to_numpy()
        if part in CENTRED:
            known = known - known.mean(axis=-1, keepdims=True)
            draws = draws - draws.mean(axis=-1, keepdims=True)
        if part in LOGGED:
            known, draws = np.log(known), np.log(draws)
        low, high = np.quantile(draws, [0.05, 0.95], axis=(0, 1))
        held = (low <= known) & (known <= high)
        out[part] = np.stack([np.ravel(draws.mean(axis=(0, 1)) - known), np.ravel(held)])
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--terms", nargs="*", default=list(TERMS), choices=list(TERMS))
    options = parser.parse_args()
    print("| term | of | mean error | typical error | 90 % intervals hold |")
    print("|---|---|---|---|---|")
    for name in options.terms:
        generators = np.random.default_rng(5).spawn(options.studies)
        studies = [one_study(name, options.comparisons, rng) for rng in generators]
        for part in PARTS[name]:
            error, held = np.concatenate([study[part] for study in studies], axis=1)
            typical = np.sqrt((error**2).mean())
            name_of = f"log {part}" if part in LOGGED else part
            numbers = f"{error.mean():+.3f} | {typical:.3f} | {held.mean():.0%}"
            print(f"| {name} | {name_of} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
