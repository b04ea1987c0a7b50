"""Why informative pairs save less for 0.90 than for 0.95 at α² = 4.

    python -m benchmarks.pairing_diagnosis

Three explanations are tested: Monte Carlo error (three times as many studies), an old state
(renewed after every 5 comparisons in place of 20), and random pairs (none in place of a fifth). The
fourth is measured directly: how much more informative the chosen pairs are than random ones, as a
study goes on. Writes results/pairing_why.json and pairing_why.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.pairing import crossing
from benchmarks.pairing_study import WARDS, Case, case_truth, simulate_case
from benchmarks.workload import ROOT
from tiewise.engines.threads import one_blas_thread
from tiewise.experiments.designs import KNOWN_SD
from tiewise.pairing.information import expected_variance_reduction, information
from tiewise.pairing.informative import SAMPLE_SIZE

Floats = NDArray[np.float64]

REPEATS, VARIANCE, STEP, RESAMPLES = 90, 4.0, 20, 2000
LEVELS = (0.80, 0.85, 0.90, 0.925, 0.95)
PLAIN = Case("uniform", VARIANCE, STEP, 640)
INFORMED = Case("informative", VARIANCE, STEP, 420)
CASES = {
    "uniform": PLAIN,
    "informative, renewed every 20": INFORMED,
    "informative, renewed every 5": replace(INFORMED, at_once=5),
    "informative, renewed every 5, none left to chance": replace(
        INFORMED, at_once=5, random_share=0.0
    ),
}
INFORMATION_STUDIES, SAMPLES = 30, 3000
"""Studies in which information is measured, and samples of pairs at each size."""


def main() -> None:
    """Run everything and write the results."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        curves = {}
        for name, case in CASES.items():
            curves[name] = np.array(list(pool.map(_curve, [case] * REPEATS, range(REPEATS))))
            print(f"{time.strftime('%H:%M:%S')}  {name}", flush=True)
        gains = np.array(list(pool.map(_information_gains, range(INFORMATION_STUDIES))))
    curve_rows = [
        {"name": name, **asdict(CASES[name]), "curve": curve.mean(axis=0).round(4).tolist()}
        | {"reached": [_comparisons_needed(curve, curves["uniform"], level) for level in LEVELS]}
        for name, curve in curves.items()
    ]
    write({"raced": curve_rows, "telling": _averaged(gains)})


def write(results: Mapping[str, Any]) -> None:
    """The figures, and the same as tables."""
    place = ROOT / "benchmarks" / "results"
    (place / "pairing_why.json").write_text(json.dumps(results, indent=1) + "\n")
    (place / "pairing_why.md").write_text(_markdown(results))


def _curve(case: Case, repeat: int) -> list[float]:
    """Rank correlation with the truth after every 20 comparisons."""
    truth = case_truth(case, repeat).quality
    with one_blas_thread():
        posteriors = simulate_case(case, repeat, every=STEP // case.at_once)
        return [float(spearmanr(posterior.mean, truth).statistic) for posterior in posteriors]


def _comparisons_needed(curve: Floats, plain: Floats, level: float) -> dict[str, float]:
    """Comparisons to a level, their share of what `uniform` needs, and its standard error."""
    rng = np.random.default_rng(1)

    def needed(these: Floats) -> float:
        return crossing(these.mean(axis=0), STEP, level)

    resamples = rng.integers(len(curve), size=(RESAMPLES, len(curve)))
    again = [needed(curve[these]) / needed(plain[these]) for these in resamples]
    return {
        "level": level, "comparisons": round(needed(curve), 1),
        "ratio": needed(curve) / needed(plain), "error": float(np.std(again, ddof=1)),
    }  # fmt: skip


def _information_gains(repeat: int) -> list[float]:
    """Fisher information, at the truth, of the best of a sample over that of any pair."""
    truth, rng = case_truth(INFORMED, repeat), np.random.default_rng(repeat)
    i, j = np.triu_indices(WARDS, 1)
    gap = np.abs(truth.quality[i] - truth.quality[j])
    info = information(gap, np.full(len(gap), KNOWN_SD), truth.tie)
    out = []
    with one_blas_thread():
        for posterior in simulate_case(INFORMED, repeat):
            value = expected_variance_reduction(
                posterior.mean, posterior.covariance, posterior.tie, of="ranks"
            )[i, j]
            samples = rng.integers(len(i), size=(SAMPLES, SAMPLE_SIZE))
            best = samples[np.arange(SAMPLES), value[samples].argmax(axis=1)]
            out.append(float(info[best].mean() / info.mean()))
    return out


def _averaged(gains: Floats) -> list[dict[str, float]]:
    error = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    return [
        {"comparisons": STEP * (k + 1), "times": round(float(mean), 3), "error": round(float(e), 3)}
        for k, (mean, e) in enumerate(zip(gains.mean(axis=0), error, strict=True))
    ]


def _markdown(results: Mapping[str, Any]) -> str:
    rows = [["policy", *(f"to {level}" for level in LEVELS)]]
    for row in results["raced"]:
        cells = [
            f"{one['comparisons']:.0f} ({one['ratio']:.2f} ± {one['error']:.2f})"
            for one in row["reached"]
        ]
        rows.append([row["name"], *cells])
    info = [["after comparisons", "information of a pair chosen, times that of any pair"]]
    info += [
        [f"{one['comparisons']}", f"{one['times']:.2f} ± {one['error']:.2f}"]
        for one in results["telling"]
    ]
    return (
        "# Why informative pairs save less at first\n\nWritten by "
        "`python -m benchmarks.pairing_diagnosis`; do not edit.\n\n"
        f"{WARDS} wards, α² = {VARIANCE:g}, {REPEATS} studies each: comparisons to a rank "
        "correlation, and in brackets their share of what `uniform` needs.\n\n"
        f"{_table(rows)}\n\n{INFORMATION_STUDIES} studies, renewed every {STEP}: "
        f"Fisher information at the true qualities, the best of {SAMPLE_SIZE} pairs beside any "
        f"pair.\n\n{_table(info)}\n"
    )


def _table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
