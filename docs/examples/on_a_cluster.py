"""Your own simulation study on a Dask cluster, or on the cores of this machine.

    python docs/examples/on_a_cluster.py RESULTS                           # two processes here
    python docs/examples/on_a_cluster.py RESULTS tcp://127.0.0.1:8786      # that cluster

How well are 12 items ranked after 50, 100 and 200 comparisons? Ten made-up studies of each size.
Stop it and start it again: it goes on where it was. RESULTS/results.parquet has the same bytes
either way.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.jobs.journal import Journal
from tiewise.jobs.run import Task, TaskResult, WorkerPool, run_tasks
from tiewise.jobs.tables import RESULTS, read_table, write_tables

SETTINGS = {"items": 12, "sizes": [50, 100, 200], "repeats": 10, "seed": 1}


def study(inputs: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One made-up study and its fit; all randomness comes from `seed`."""
    from scipy.stats import spearmanr

    import tiewise as tw
    from tiewise.model.scalar_priors.fixed import Fixed
    from tiewise.model.simulate import Truth, simulate_counts

    rng = np.random.default_rng(seed)
    items = tuple(str(k + 1) for k in range(inputs["items"]))
    truth = Truth.from_priors(tw.Independent(items), Fixed(1.0), Fixed(0.5), rng)
    counts = simulate_counts(truth, inputs["comparisons"], rng)
    tree = tw.fit(tw.BradleyTerry(counts), tw.Laplace(), rng=int(rng.integers(2**31)))
    estimate = tree["posterior/quality"].to_numpy().mean(axis=(0, 1))
    rank = float(spearmanr(estimate, truth.quality).statistic)
    return TaskResult([{"comparisons": inputs["comparisons"], "rank_correlation": rank}])


def main(folder: Path, address: str | None) -> None:
    """Do what is not done yet, write the table, and say the means."""
    tasks = [
        Task(f"{size} comparisons, {k}", {"items": SETTINGS["items"], "comparisons": size})
        for size in SETTINGS["sizes"]
        for k in range(SETTINGS["repeats"])
    ]
    journal = Journal(folder / "journal.jsonl", SETTINGS)
    pool = WorkerPool(workers=2, dask=address)
    records = run_tasks(study, tasks, seed=SETTINGS["seed"], journal=journal, pool=pool)
    for failed in (one for one in records if one.error):
        print(f"{failed.name}, seed {failed.seed}: {failed.error}", file=sys.stderr)
    write_tables(folder, records, SETTINGS)
    table, _ = read_table(folder / RESULTS)
    print(table.groupby("comparisons")["rank_correlation"].mean().round(2).to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
