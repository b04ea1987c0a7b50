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
from tiewise.jobs.run import Crew, Found, Task, carry_out
from tiewise.jobs.tables import RESULTS, read_table, write_tables

SETTINGS = {"items": 12, "sizes": [50, 100, 200], "repeats": 10, "seed": 1}


def study(about: Mapping[str, Any], source: SeedSequence) -> Found:
    """One made-up study and its fit; all chance comes from `source`."""
    from scipy.stats import spearmanr

    import tiewise as tw
    from tiewise.model.scalar_priors import Fixed
    from tiewise.model.simulate import Truth, simulate_counts

    rng = np.random.default_rng(source)
    items = tuple(str(k + 1) for k in range(about["items"]))
    truth = Truth.drawn(tw.Independent(items), Fixed(1.0), Fixed(0.5), rng)
    counts = simulate_counts(truth, about["comparisons"], rng)
    tree = tw.fit(tw.BradleyTerry(counts), tw.Laplace(), seed=int(rng.integers(2**31)))
    found = tree["posterior/quality"].to_numpy().mean(axis=(0, 1))
    rank = float(spearmanr(found, truth.quality).statistic)
    return Found([{"comparisons": about["comparisons"], "rank_correlation": rank}])


def main(folder: Path, address: str | None) -> None:
    """Do what is not done yet, write the table, and say the means."""
    tasks = [
        Task(f"{size} comparisons, {k}", {"items": SETTINGS["items"], "comparisons": size})
        for size in SETTINGS["sizes"]
        for k in range(SETTINGS["repeats"])
    ]
    journal = Journal(folder / "journal.jsonl", SETTINGS)
    crew = Crew(workers=2, dask=address)
    done = carry_out(study, tasks, seed=SETTINGS["seed"], journal=journal, crew=crew)
    for failed in (one for one in done if one.error):
        print(f"{failed.name}, seed {failed.seed}: {failed.error}", file=sys.stderr)
    write_tables(folder, done, SETTINGS)
    table, _ = read_table(folder / RESULTS)
    print(table.groupby("comparisons")["rank_correlation"].mean().round(2).to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
