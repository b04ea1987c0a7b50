"""What was to be reached later, up to 100,000 items, and what was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, log
from typing import Any

from benchmarks.targets import NAMES, Row, Rows, Target, over_limit, over_nuts, speed

SPEEDS: dict[str, float] = {
    "south-yorkshire": 25_000, "dar-es-salaam": 3_500, "dar-es-salaam-mixture": 2_000,
    "synthetic-1024": 2_500,
}  # fmt: skip
LATER_NAMES = {
    **NAMES,
    "dar-es-salaam": "Dar es Salaam, N = 452, share 1",
    "dar-es-salaam-mixture": "Dar es Salaam, N = 452, share inferred",
}
COMMANDS = (
    ("`tiewise fit` with report, South Yorkshire", " s", 3.5, "fit_south_yorkshire_report_s"),
    ("`tiewise fit` with report, Dar es Salaam with its map", " s", 8,
     "fit_dar_es_salaam_report_s"),
    ("peak memory of `tiewise fit --no-report` at N = 1024, above `import numpy, scipy`", " MB",
     350, "fit_1024_peak_above_bare_mb"),
)  # fmt: skip
LARGE = (
    ("items-8000", "`tiewise fit --no-report`, 8,000 items, 80,000 comparisons", 60, 900),
    ("items-100000", "100,000 items, a million comparisons, CSV to posterior", 600, 1536),
    ("map-100000", "the same with a map of 100,000 areas, share inferred", 1800, 2048),
)
ENOUGH, AGREED = 400.0, 1.01


def later_targets(
    rows: Rows, figures: Mapping[str, Any], large: Mapping[str, Row]
) -> Iterator[Target]:
    """Every later target; `large` has the long cases by name.

    Rows of earlier versions count other effective draws, so that they are no figures here.
    """
    rows = {case: row for case, row in rows.items() if "ess_tail" in row}
    for data, bound in SPEEDS.items():
        row = rows.get(("transport", data), {})
        what = f"smallest ESS/s, diagnostics included: {LATER_NAMES[data]}"
        yield Target(what, "", bound, True, speed(rows, "transport", data), _whole_fit(row))
    yield over_nuts(rows, "synthetic-1024", 120)
    yield _gradients(rows)
    yield over_limit(rows, 7)
    for what, unit, bound, name in COMMANDS:
        yield Target(what, unit, bound, False, figures.get(name))
    for name, what, seconds, megabytes in LARGE:
        yield from _time_and_memory(large.get(name, {}), what, seconds, megabytes)
    yield _growth(large)
    yield _judges(large.get("judges-10000", {}))
    yield _over_logistic(large.get("against-scikit-learn", {}))


def _whole_fit(row: Row) -> str:
    whole = row.get("fit_s")
    return f"{row['ess_min'] / whole:,.0f} with all that `fit` does" if whole else ""


def _gradients(rows: Rows) -> Target:
    value = rows.get(("transport", "independent-1000"), {}).get("gradients_per_effective_draw")
    what = "gradients per effective draw, independent, N = 1,000, ten comparisons an item"
    return Target(what, "", 2.6, False, value)


def _time_and_memory(row: Row, what: str, seconds: float, megabytes: float) -> Iterator[Target]:
    """Two bounds of a long case, whose draws must be worth enough."""
    remark, valid = _worth(row)
    yield Target(f"{what}: time", " s", seconds, False, row.get("seconds"), remark, valid)
    yield Target(f"{what}: memory", " MB", megabytes, False, row.get("peak_mb"), remark, valid)


def _worth(row: Row, *, agreed: bool = False) -> tuple[str, bool]:
    """What the draws are worth, and whether that is enough; with `agreed`, whether chains agree."""
    if "seconds" not in row:
        return str(row.get("note", "")), False
    # Draws too few to say what they are worth have neither.
    ess, rhat = row["ess_min"] or 0.0, row["rhat_max"] or inf
    valid = ess >= ENOUGH and (rhat < AGREED or not agreed)
    return f"smallest ESS {ess:,.0f}, R-hat {rhat:.4f}", valid


def exponent(one: Row, two: Row, what: str) -> float | None:
    """The power of the number of items with which something grows from one case to another."""
    if what not in one or what not in two:
        return None
    return log(two[what] / one[what]) / log(two["items"] / one["items"])


def _growth(large: Mapping[str, Row]) -> Target:
    ends = large.get("items-10000", {}), large.get("items-100000", {})
    value, by_processor = (exponent(*ends, what) for what in ("seconds", "cpu_s"))
    remark = "" if by_processor is None else f"processor time: {by_processor:.2f}"
    what = "growth of time from 10,000 to 100,000 items, ten comparisons an item: exponent"
    return Target(what, "", 1.35, False, value, remark)


def _judges(row: Row) -> Target:
    remark, valid = _worth(row, agreed=True)
    what = "10,000 judges, a million comparisons, sharpness and thresholds, ESS ≥ 400, R-hat < 1.01"
    return Target(what, " s", 400, False, row.get("seconds"), remark, valid)


def _over_logistic(row: Row) -> Target:
    what = (
        "a million votes over 200 items, CSV to posterior: processor time over one "
        "maximum-likelihood fit by scikit-learn"
    )
    remark = (
        f"{row['cpu_s']:.1f} s over {row['peer_cpu_s']:.1f} s; {_worth(row)[0]}"
        if "over_peer" in row
        else str(row.get("note", ""))
    )
    return Target(what, "×", 1.8, False, row.get("over_peer"), remark)
