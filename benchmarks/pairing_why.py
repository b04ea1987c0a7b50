"""Why informative pairs save less for 0.90 than for 0.95 at α² = 4.

    python -m benchmarks.pairing_why

Three readings are raced: chance (three times as many studies), a standing that is old (renewed
after every 5 comparisons in place of 20), pairs left to chance (none in place of a fifth). The
fourth is looked at directly: how much more the pairs chosen tell than pairs at random, as a study
goes on. Writes results/pairing_why.json and pairing_why.md.
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
from benchmarks.pairing_study import WARDS, Case, studied, truth_of
from benchmarks.plan import ROOT
from tiewise.engines.threads import one_blas_thread
from tiewise.experiments.designs import SURE
from tiewise.pairing.information import information, worth
from tiewise.pairing.policies import HANDFUL

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
TELLING, HANDFULS = 30, 3000
"""Studies in which pairs are looked at, and handfuls of pairs in each look."""


def main() -> None:
    """Run everything and write what was seen."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        curves = {}
        for name, case in CASES.items():
            curves[name] = np.array(list(pool.map(_curve, [case] * REPEATS, range(REPEATS))))
            print(f"{time.strftime('%H:%M:%S')}  {name}", flush=True)
        telling = np.array(list(pool.map(_telling, range(TELLING))))
    raced = [
        {"name": name, **asdict(CASES[name]), "curve": curve.mean(axis=0).round(4).tolist()}
        | {"reached": [_beside(curve, curves["uniform"], level) for level in LEVELS]}
        for name, curve in curves.items()
    ]
    write({"raced": raced, "telling": _averaged(telling)})


def write(found: Mapping[str, Any]) -> None:
    """The figures, and the same as tables."""
    place = ROOT / "benchmarks" / "results"
    (place / "pairing_why.json").write_text(json.dumps(found, indent=1) + "\n")
    (place / "pairing_why.md").write_text(_told(found))


def _curve(case: Case, repeat: int) -> list[float]:
    """Rank correlation with the truth after every 20 comparisons."""
    truth = truth_of(case, repeat).quality
    with one_blas_thread():
        looks = studied(case, repeat, every=STEP // case.at_once)
        return [float(spearmanr(look.mean, truth).statistic) for look in looks]


def _beside(curve: Floats, plain: Floats, level: float) -> dict[str, float]:
    """Comparisons to a level, their share of what `uniform` needs, and its standard error."""
    rng = np.random.default_rng(1)

    def needed(these: Floats) -> float:
        return crossing(these.mean(axis=0), STEP, level)

    drawn = rng.integers(len(curve), size=(RESAMPLES, len(curve)))
    again = [needed(curve[these]) / needed(plain[these]) for these in drawn]
    return {
        "level": level, "comparisons": round(needed(curve), 1),
        "ratio": needed(curve) / needed(plain), "error": float(np.std(again, ddof=1)),
    }  # fmt: skip


def _telling(repeat: int) -> list[float]:
    """Fisher information, at the truth, of the best of a handful over that of any pair."""
    truth, rng = truth_of(INFORMED, repeat), np.random.default_rng(repeat)
    i, j = np.triu_indices(WARDS, 1)
    gap = np.abs(truth.quality[i] - truth.quality[j])
    told = information(gap, np.full(len(gap), SURE), truth.tie)
    out = []
    with one_blas_thread():
        for look in studied(INFORMED, repeat):
            value = worth(look.mean, look.covariance, look.tie, of="ranks")[i, j]
            hands = rng.integers(len(i), size=(HANDFULS, HANDFUL))
            best = hands[np.arange(HANDFULS), value[hands].argmax(axis=1)]
            out.append(float(told[best].mean() / told.mean()))
    return out


def _averaged(telling: Floats) -> list[dict[str, float]]:
    error = telling.std(axis=0, ddof=1) / np.sqrt(len(telling))
    return [
        {"comparisons": STEP * (k + 1), "times": round(float(mean), 3), "error": round(float(e), 3)}
        for k, (mean, e) in enumerate(zip(telling.mean(axis=0), error, strict=True))
    ]


def _told(found: Mapping[str, Any]) -> str:
    rows = [["policy", *(f"to {level}" for level in LEVELS)]]
    for row in found["raced"]:
        cells = [
            f"{one['comparisons']:.0f} ({one['ratio']:.2f} ± {one['error']:.2f})"
            for one in row["reached"]
        ]
        rows.append([row["name"], *cells])
    told = [["after comparisons", "information of a pair chosen, times that of any pair"]]
    told += [
        [f"{one['comparisons']}", f"{one['times']:.2f} ± {one['error']:.2f}"]
        for one in found["telling"]
    ]
    return (
        "# Why informative pairs save less at first\n\nWritten by "
        "`python -m benchmarks.pairing_why`; do not edit.\n\n"
        f"{WARDS} wards, α² = {VARIANCE:g}, {REPEATS} studies each: comparisons to a rank "
        "correlation, and in brackets their share of what `uniform` needs.\n\n"
        f"{_table(rows)}\n\n{TELLING} studies, renewed every {STEP}: Fisher information at the "
        f"true qualities, the best of {HANDFUL} pairs beside any pair.\n\n{_table(told)}\n"
    )


def _table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
