"""Results written by hand: a table of the numbers a test wants, and nothing fitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from xarray import Dataset, DataTree

from tiewise.criticism.verdict import Verdict
from tiewise.criticism.verdict_parts import VerdictPart
from tiewise.data.files import write_csv
from tiewise.geo.areas import Areas
from tiewise.posterior.results_folder import Results, Wording

FACTS: dict[str, Any] = {
    "engine": "transport", "kind": "exact", "exact": True, "engine_facts": {}, "seed": 1,
    "draws": 4000, "comparisons": 900, "ties": 120, "skips": 0, "judges": 15,
    "ess_min": 3000.0, "rhat_max": 1.002, "warnings": [], "digest": "0123456789abcdef" * 4,
    "version": "0.1.0",
    "model": {
        "quality": {"kind": "network", "borders": 9},
        "variance": {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01},
        "tie": {"kind": "exponential", "rate": 0.01},
    },
}  # fmt: skip

GOOD = Verdict(
    VerdictPart("good", "The computation has settled."),
    VerdictPart("good", "The answers suffice."),
    VerdictPart("good", "The model describes the answers."),
)

RISK = Wording(
    question="Which ward has the higher risk?", higher="higher risk", lower="lower risk",
    noun="ward",
)  # fmt: skip


def table_of(chances: Sequence[float], **columns: Any) -> pd.DataFrame:
    """Items with these chances of the top k, from quality 2 down to −2, half a unit either way."""
    size = len(chances)
    middle = np.linspace(2, -2, size) if size > 1 else np.zeros(1)
    place = np.arange(1, size + 1)
    defaults = {
        "item": [f"i{k}" for k in place], "name": [f"Ward {chr(64 + k)}" for k in place],
        "mean": middle, "median": middle, "sd": 0.25, "q2.5": middle - 0.5, "q97.5": middle + 0.5,
        "rank": place, "rank_q2.5": np.maximum(place - 1, 1),
        "rank_q97.5": np.minimum(place + 2, size), "top_k_probability": chances,
        "comparisons": 10,
    }  # fmt: skip
    return pd.DataFrame(defaults | columns)


def results_of(
    folder: Path,
    table: pd.DataFrame,
    *,
    wording: Wording = RISK,
    areas: Areas | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    **facts: Any,
) -> Results:
    """A results folder that holds this table; `pairs` are positions of items that were compared."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(table, folder / "items.csv")
    if areas is not None:
        areas.to_gpkg(folder / "areas.gpkg")
    size = len(table)
    seen = np.array([(k, k + 1) for k in range(size - 1)] if pairs is None else pairs, int)
    first, second = seen.reshape(-1, 2).T
    one = np.ones_like(first)
    counts = {
        "first": first, "second": second, "wins_first": 2 * one, "wins_second": one, "ties": one,
    }  # fmt: skip
    tree = DataTree.from_dict(
        {
            "observed_data": Dataset({name: ("pair", column) for name, column in counts.items()}),
            "constant_data": Dataset(coords={"item": list(table["item"])}),
        }
    )
    verdict = GOOD.to_dict() | {"top": min(wording.top, max(size - 1, 1))}
    return Results(folder, tree, wording, FACTS | {"items": size, "verdict": verdict} | facts)
