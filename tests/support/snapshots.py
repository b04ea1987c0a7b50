"""Snapshots put in by hand: what the live worker would write, from figures made up here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore

WRITER = "a test"


def body(items: Sequence[str], median: Sequence[float], **other: Any) -> dict[str, Any]:
    """The body of a snapshot in which every item has this median and an interval of one unit."""
    centre = np.round(np.array(median, dtype=float), 4)
    rank = [int(place) for place in 1 + np.argsort(np.argsort(-centre, kind="stable"))]
    count = len(items)
    made = {
        "items": list(items), "median": centre.tolist(), "mean": centre.tolist(),
        "sd": [0.25] * count, "low": (centre - 0.5).tolist(), "high": (centre + 0.5).tolist(),
        "rank": rank, "rank_low": [max(place - 2, 1) for place in rank],
        "rank_high": [min(place + 2, count) for place in rank],
        "top": [0.5] * count, "top_of": min(5, count), "comparisons": [10] * count,
        "part": [0] * count, "parts": 1, "tie": {"median": 0.5, "low": 0.4, "high": 0.6},
        "tie_curve": {
            "gap": [0.0, 1.0, 2.0, 3.0], "median": [0.25, 0.2, 0.1, 0.05],
            "low": [0.2, 0.15, 0.07, 0.03], "high": [0.3, 0.25, 0.14, 0.08],
        },
        "variance": {"median": 1.0, "low": 0.5, "high": 2.0},
        "answers": {"left": 5 * count, "right": 4 * count, "tie": count, "skip": 3},
        "judges": 7, "reliability": 0.7, "engine": "transport", "kind": "exact", "cautions": [],
    }  # fmt: skip
    return made | other


def add_snapshot(
    store: JudgeStore,
    values: dict[str, Any],
    *,
    comparisons: int = 100,
    pulse: str = "1",
    beside: dict[str, bytes] | None = None,
) -> int:
    """Keep it as the latest snapshot; its number."""
    snapshots = SnapshotStore(store)
    assert snapshots.take_lease("live", WRITER, 600)
    assert snapshots.add(
        values, pulse=pulse, comparisons=comparisons, seconds=0.1, holder=WRITER, current=beside
    )
    return snapshots.last_id()


def judge_row(judge: str, **other: Any) -> dict[str, Any]:
    """A judge about whom nothing stands out."""
    return {
        "judge": judge, "comparisons": 40, "skips": 2, "median_seconds": 4.2, "tie_share": 0.2,
        "skip_share": 0.05, "left_share": 0.5, "agreement": 0.8,
        "expected_agreement": 0.78, "misfit": 0.1, "misfit_p": 0.4, "repeats": 0,
        "consistency": None, "excluded": False, "flags": [],
    } | other  # fmt: skip
