"""What pairing policies save: `python -m benchmarks.pairing [--quick]`, or `make bench-pairing`.

Writes results/pairing.json, pairing.md, pairing.png and pairing.svg. What is simulated is said in
docs/pairing.md; the studies themselves are in `pairing_study` and `pairing_trust`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.pairing_reliability import reliability_check
from benchmarks.pairing_report import draw, pairing_markdown
from benchmarks.pairing_study import PATIENCE, TIE, WARDS, Case, case_truth, simulate_case
from benchmarks.workload import ROOT
from tiewise.engines.threads import one_blas_thread

Floats = NDArray[np.float64]
Result = TypeVar("Found")

REPEATS, LEVELS, POLICIES = 30, (0.90, 0.95), ("uniform", "balanced", "informative")
# Long enough for the slowest policy to get past the higher level in every bootstrap sample.
LONG = {1.0: 1600, 2.0: 1280, 4.0: 640}
AT_ONCE, CROWD = 20, 50
ROUNDS_PER_POINT = {AT_ONCE: 2, CROWD: 1}
"""Rounds from one point of a curve to the next."""
TRUST = ((2.0, 600), (0.0, 600))
"""α² and comparisons at which reliability is checked; at 0 all items are alike."""
TARGETED = (2.0,)
"""α² at which informative pairs are also chosen for the variance of qualities."""
RESAMPLES = 2000


def main() -> None:
    """Run every case and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two studies of each kind")
    quick = parser.parse_args().quick
    place = ROOT / "benchmarks" / "results" / ("quick" if quick else "")
    place.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    rows = run(2 if quick else REPEATS)
    rows["seconds"] = round(time.perf_counter() - begun)
    (place / "pairing.json").write_text(json.dumps(rows, indent=1) + "\n")
    (place / "pairing.md").write_text(pairing_markdown(rows))
    draw(rows, place)


def run(repeats: int) -> dict[str, Any]:
    """All figures."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:

        def each(job: Callable[[Case, int], Result], case: Case) -> list[Result]:
            results = list(pool.map(job, [case] * repeats, range(repeats)))
            print(f"{time.strftime('%H:%M:%S')}  {job.__name__}  {case}", flush=True)
            return results

        speeds = [speed for variance in LONG for speed in _compare_policies(variance, each)]
        trust = [
            {"policy": policy, "variance": variance, "comparisons": comparisons}
            | _averaged(each(_reliability_check, Case(policy, variance, AT_ONCE, comparisons)))
            for variance, comparisons in TRUST
            for policy in POLICIES
        ]
    return {
        "wards": WARDS, "tie": TIE, "repeats": repeats, "patience": PATIENCE, "levels": LEVELS,
        "speeds": speeds, "trust": trust,
    }  # fmt: skip


def _compare_policies(
    variance: float, each: Callable[..., list[list[float]]]
) -> list[dict[str, Any]]:
    """Policies beside uniform at one α²; informative also for 50 at once, and another target."""
    plain = Case("uniform", variance, AT_ONCE, LONG[variance])
    cases = [replace(plain, policy=policy) for policy in POLICIES]
    cases += [replace(cases[-1], at_once=CROWD)]
    cases += [replace(cases[-2], target="qualities")] if variance in TARGETED else []
    curves = {case: np.array(each(_curve, case)) for case in cases}
    return [
        asdict(case)
        | {"step": _step(case), "curve": curve.mean(axis=0).round(4).tolist()}
        | {
            "reached": [
                _comparisons_needed(curve, case, curves[plain], plain, level) for level in LEVELS
            ]
        }
        for case, curve in curves.items()
    ]


def _curve(case: Case, repeat: int) -> list[float]:
    """Rank correlation with the truth as a study goes on."""
    truth = case_truth(case, repeat).quality
    with one_blas_thread():
        posteriors = simulate_case(case, repeat, every=ROUNDS_PER_POINT[case.at_once])
        return [float(spearmanr(posterior.mean, truth).statistic) for posterior in posteriors]


def _reliability_check(case: Case, repeat: int) -> dict[str, float | None]:
    with one_blas_thread():
        return reliability_check(case, repeat)


def _comparisons_needed(
    curve: Floats, case: Case, plain: Floats, base: Case, level: float
) -> dict[str, float | None]:
    """Comparisons needed on average, their ratio to uniform, and its standard error (bootstrap)."""
    rng = np.random.default_rng(1)
    needed = crossing(curve.mean(axis=0), _step(case), level)
    ratio = needed / crossing(plain.mean(axis=0), _step(base), level)
    # Repeats have their truth in common, so they are drawn again together.
    again = []
    for _ in range(RESAMPLES):
        these = rng.integers(len(curve), size=len(curve))
        one = crossing(curve[these].mean(axis=0), _step(case), level)
        again.append(one / crossing(plain[these].mean(axis=0), _step(base), level))
    error = float(np.std(again, ddof=1))
    return {"level": level, "comparisons": round(needed, 1), "ratio": ratio, "error": error}


def _step(case: Case) -> int:
    return case.at_once * ROUNDS_PER_POINT[case.at_once]


def crossing(curve: Floats, step: int, level: float) -> float:
    """Comparisons at which a curve first reaches a level, interpolated between points."""
    above = np.flatnonzero(curve >= level)
    if not len(above):
        return float("inf")
    k = int(above[0])
    before = curve[k - 1] if k else 0.0
    return float(step * (k + (level - before) / (curve[k] - before)))


def _averaged(rows: list[dict[str, float | None]]) -> dict[str, Any]:
    """Mean and standard error over repeats of every figure; None where there is none."""
    out: dict[str, Any] = {}
    for key in rows[0]:
        values = np.array([row[key] for row in rows if row[key] is not None], float)
        if not len(values):
            out[key] = None
            continue
        error = values.std(ddof=1) / np.sqrt(len(values))
        out[key] = [round(float(values.mean()), 4), round(float(error), 4)]
    return out


if __name__ == "__main__":
    main()
