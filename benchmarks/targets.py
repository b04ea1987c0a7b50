"""What was to be reached first, and what was; later targets are in `later_targets`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Rows = Mapping[tuple[str, str], Row]
"""Rows by engine and data set."""

NAMES = {
    "south-yorkshire": "South Yorkshire, N = 95",
    "dar-es-salaam": "Dar es Salaam, N = 452",
    "synthetic-1024": "synthetic, N = 1024",
}
OVER_GIBBS: dict[str, float] = {"south-yorkshire": 20, "dar-es-salaam": 40, "synthetic-1024": 100}
OVER_NUTS: dict[str, float] = {"south-yorkshire": 20, "dar-es-salaam": 500, "synthetic-1024": 80}


class Target(NamedTuple):
    """A figure, its bound, and whether the bound is a floor or a ceiling.

    `valid` is false where something that goes with the figure does not hold; it is in the remark.
    """

    what: str
    unit: str
    bound: float
    floor: bool
    value: float | None
    remark: str = ""
    valid: bool = True

    @property
    def reached(self) -> bool | None:
        """None where there is no figure."""
        if self.value is None:
            return None
        within = self.value >= self.bound if self.floor else self.value <= self.bound
        return within and self.valid

    @property
    def margin(self) -> float | None:
        """How many times better than the bound; below 1 it is missed."""
        if not self.value:
            return None
        return self.value / self.bound if self.floor else self.bound / self.value


def targets(rows: Rows, figures: Mapping[str, Any]) -> Iterator[Target]:
    """Every target in the issue's order."""
    for data, bound in OVER_GIBBS.items():
        value, remark = _times(rows, data, "gibbs-as-published")
        what = f"ESS/s, Transport over Gibbs as published: {NAMES[data]}"
        yield Target(what, "×", bound, True, value, remark)
    for data, bound in OVER_NUTS.items():
        yield over_nuts(rows, data, bound)
    yield over_limit(rows, 12)
    yield Target(
        "building the map at N = 1024, one core", " s", 2, False, figures.get("map_1024_s")
    )
    yield _gradients(rows)
    for what, unit, bound, name in (
        ("peak memory of `tiewise fit --no-report` at N = 1024, above `import numpy, scipy`",
         " MB", 400, "fit_1024_peak_above_bare_mb"),
        ("`tiewise fit --no-report`, South Yorkshire, second run", " s", 3,
         "fit_south_yorkshire_s"),
        ("`import tiewise`", " s", 0.5, "import_tiewise_s"),
        ("`tiewise --help`", " s", 0.5, "tiewise_help_s"),
        ("`tiewise fit --no-report`, Dar es Salaam with its neighbours", " s", 10,
         "fit_dar_es_salaam_edges_s"),
        ("`tiewise fit --no-report`, Dar es Salaam with its map", " s", 10,
         "fit_dar_es_salaam_map_s"),
    ):  # fmt: skip
        yield Target(what, unit, bound, False, figures.get(name))


def over_nuts(rows: Rows, data: str, bound: float) -> Target:
    """Transport beside the better of two implementations of NUTS."""
    sampler = max(("numpyro", "nutpie"), key=lambda name: speed(rows, name, data) or -1.0)
    value, remark = _times(rows, data, sampler)
    what = f"ESS/s, Transport over the better of NumPyro and nutpie: {NAMES[data]}"
    return Target(what, "×", bound, True, value, "; ".join(filter(None, (sampler, remark))))


def speed(rows: Rows, engine: str, data: str) -> float | None:
    """Effective draws a second of an engine; None where there is no figure."""
    return rows.get((engine, data), {}).get("ess_per_s")


def _times(rows: Rows, data: str, sampler: str) -> tuple[float | None, str]:
    ours, theirs = speed(rows, "transport", data), speed(rows, sampler, data)
    sampler_row = rows.get((sampler, data), {})
    warm = sampler_row.get("ess_per_s_once_warm")
    remarks = [
        sampler_row.get("note"),
        f"{ours / warm:,.0f}× once it is warm" if ours and warm else "",
    ]
    return (ours / theirs if ours and theirs else None), "; ".join(filter(None, remarks))


def over_limit(rows: Rows, bound: float) -> Target:
    """Sampling time beside that of as many Gaussian draws."""
    ours, limit = (
        rows.get((name, "synthetic-1024"), {}) for name in ("transport", "gaussian-limit")
    )
    what = "sampling time over the Gaussian limit, N = 1024, 4,000 draws"
    if not ours.get("sample_s") or not limit.get("sample_s"):
        return Target(what, "×", bound, False, None)
    one = ours["sample_s"] / limit["one_thread_s"]
    remark = f"{one:.1f} over the limit with one BLAS thread"
    return Target(what, "×", bound, False, ours["sample_s"] / limit["sample_s"], remark)


def _gradients(rows: Rows) -> Target:
    each = {
        data: row["gradients_per_effective_draw"]
        for (engine, data), row in rows.items()
        if engine == "transport" and row.get("gradients_per_effective_draw")
    }
    what = "gradients per effective draw, pilot left out, the worst data set"
    if not each:
        return Target(what, "", 3, False, None)
    worst = max(each, key=lambda data: each[data])
    return Target(what, "", 3, False, each[worst], worst)
