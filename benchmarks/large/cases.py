"""What the long cases are, and what a run of each brings home (docs/benchmarks.md).

Only the standard library is imported here: a child's peak memory counts from its parent's.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.process import TIEWISE, Cost, cost

Row = dict[str, Any]

ITEM_SIZES = (1_000, 3_000, 8_000, 10_000, 30_000, 100_000)
VOTE_SIZES = (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)
VOTED_ITEMS, VOTERS = 200, 5_000
FACTS_FORMULA = "length_diff + lists_diff + bold_diff"
TURNS = 3
"""Runs of the two that are compared in processor time, one after the other."""


class Case(NamedTuple):
    """A long case; `name` tells its kind and its size."""

    name: str
    kind: str
    items: int
    comparisons: int
    judges: int = 15


def full_cases() -> tuple[Case, ...]:
    """Every long case, the quicker ones first."""
    return (
        *_votes(VOTE_SIZES),
        Case("facts-1000000", "facts", VOTED_ITEMS, 1_000_000, 0),
        Case("against-scikit-learn", "logistic", VOTED_ITEMS, 1_000_000, VOTERS),
        *_items(ITEM_SIZES),
        Case("judges-10000", "judges", 225, 1_000_000, 10_000),
        Case("map-100000", "map", 100_000, 1_000_000),
    )


def quick_cases() -> tuple[Case, ...]:
    """The same kinds in a few minutes: small, and each along the way of the large."""
    return (
        *_votes((3_000, 10_000, 30_000)),
        Case("facts-30000", "facts", VOTED_ITEMS, 30_000, 0),
        Case("against-scikit-learn", "logistic", VOTED_ITEMS, 30_000, VOTERS),
        *_items((500, 1_600, 3_000)),
        Case("judges-100", "judges", 25, 5_000, 100),
        Case("map-4500", "map", 4_500, 22_500),
    )


def _votes(sizes: tuple[int, ...]) -> Iterator[Case]:
    return (Case(f"votes-{n}", "votes", VOTED_ITEMS, n, VOTERS) for n in sizes)


def _items(sizes: tuple[int, ...]) -> Iterator[Case]:
    return (Case(f"items-{n}", "items", n, 10 * n) for n in sizes)


POSTERIOR = """
import sys, tiewise as tw
tw.fit(tw.build_model(tw.read_comparisons(sys.argv[1])), rng=1)
"""


def small(case: Case) -> Case:
    """A case that runs the same compiled code, to be run before: compiling is left out."""
    sizes = {"items": min(case.items, 1_600), "map": 4_500, "judges": 25}
    items = sizes.get(case.kind, case.items)
    return case._replace(items=items, comparisons=4 * items, judges=min(case.judges, 20))


def run(case: Case, folder: Path) -> Row:
    """The figures of a case, whose files are made in `folder`."""
    ways = {
        "items": _simulated, "votes": _simulated, "logistic": _against_logistic,
        "judges": _judges, "map": _map, "facts": _facts_of_votes,
    }  # fmt: skip
    return {**case._asdict(), **ways[case.kind](case, folder)}


def _simulate(case: Case, folder: Path, *, parquet: bool = False) -> Path:
    """The judgements of `tiewise simulate`, independent qualities."""
    numbers = {"items": case.items, "comparisons": case.comparisons, "judges": case.judges}
    words = [word for name, number in numbers.items() for word in (f"--{name}", str(number))]
    words += ["--parquet"] if parquet else []
    cost([TIEWISE, "simulate", f"{folder}/study", *words, "--skip", "0", "--force"])
    return folder / "study" / ("comparisons.parquet" if parquet else "comparisons.csv")


def _fit(file: Path, *words: str) -> tuple[Cost, Row]:
    """Cost of `tiewise fit --no-report`, and what its results folder tells."""
    out = file.parent / "results"
    command = [TIEWISE, "fit", str(file), *words, "--no-report", "--seed", "1", "--force"]
    took = cost([*command, "--out", str(out)], file.parent)
    return took, {**_costs(took), **_facts(out, file.parent / "truth.csv")}


def _costs(took: Cost) -> Row:
    return {"seconds": took.seconds, "cpu_s": took.cpu_s, "peak_mb": took.peak_mb}


def _facts(out: Path, truth: Path) -> Row:
    """What the draws are worth, where time went, and how many truths 95 % intervals hold."""
    fit = json.loads((out / "fit.json").read_text())
    engine = fit["engine_facts"]
    return {
        "engine": fit["engine"], "ess_min": fit["ess_min"], "rhat_max": fit["rhat_max"],
        "draws": fit["draws"], "rounds": fit["rounds"], "thin": fit["thin"],
        "steps": engine.get("steps"), "acceptance": engine.get("acceptance"),
        "parts_s": fit["seconds"], "inside": _inside(out / "items.csv", truth),
    }  # fmt: skip


def _inside(items: Path, truth: Path) -> float:
    with items.open() as file:
        ends = {row["item"]: (float(row["q2.5"]), float(row["q97.5"])) for row in _lines(file)}
    with truth.open() as file:
        true = {row["item"]: float(row["quality"]) for row in _lines(file)}
    held = [low <= true[item] <= high for item, (low, high) in ends.items()]
    return sum(held) / len(held)


def _lines(file: Any) -> Iterator[dict[str, str]]:
    return csv.DictReader(file)


def _simulated(case: Case, folder: Path) -> Row:
    file = _simulate(case, folder, parquet=case.kind == "votes")
    return {**_fit(file)[1], "file_mb": file.stat().st_size / 2**20}


def _facts_of_votes(case: Case, folder: Path) -> Row:
    """Votes with three columns of facts: every vote is a row."""
    numbers = (str(case.items), str(case.comparisons))
    cost([sys.executable, "-m", "benchmarks.large.style_votes", str(folder), *numbers])
    return _fit(folder / "comparisons.csv", "--advantage", FACTS_FORMULA)[1]


def _map(case: Case, folder: Path) -> Row:
    """Areas of a square map in a GeoPackage; the prior is the default, its share inferred."""
    numbers = (str(case.items), str(case.comparisons))
    cost([sys.executable, "-m", "benchmarks.large.map_study", str(folder), *numbers])
    return _fit(folder / "comparisons.csv", "--areas", str(folder / "areas.gpkg"))[1]


def _judges(case: Case, folder: Path) -> Row:
    """Judges' terms, through `fit`: the time is the fit's, from a model to its tree."""
    numbers = {"items": case.items, "comparisons": case.comparisons, "judges": case.judges}
    words = [word for name, number in numbers.items() for word in (f"--{name}", str(number))]
    took = cost([sys.executable, "-m", "benchmarks.judges", *words, "--json"])
    return {**_costs(took), **json.loads(took.output.strip().splitlines()[-1])}


def _against_logistic(case: Case, folder: Path) -> Row:
    """Processor time over that of one fit by scikit-learn, turn by turn; the middle of each.

    Ours is from the file to the posterior, as theirs is to the estimate. The command writes results
    and judges them as well: `command_cpu_s`.
    """
    file = _simulate(case, folder)
    command, facts = _fit(file)
    turns = []
    for _ in range(TURNS):
        ours = cost([sys.executable, "-c", POSTERIOR, str(file)])
        theirs = cost([sys.executable, "-m", "benchmarks.large.logistic", str(file)])
        turns.append((ours.cpu_s, theirs.cpu_s, theirs.seconds))
    peer = json.loads(theirs.output.strip().splitlines()[-1])
    return {
        **facts, "command_cpu_s": command.cpu_s, "cpu_s": median(ours for ours, _, _ in turns),
        "peer_cpu_s": median(theirs for _, theirs, _ in turns),
        "peer_seconds": median(seconds for _, _, seconds in turns),
        "over_peer": median(ours / theirs for ours, theirs, _ in turns),
        "turns": turns, **{f"peer_{name}": value for name, value in peer.items()},
    }  # fmt: skip
