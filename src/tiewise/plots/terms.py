"""Plots of terms: what explains quality, and how sharp and how ready to tie each judge is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.errors import InputError
from tiewise.plots.canvas import Block, gap, heading, notes, page, styled
from tiewise.plots.ranking import Axis, listed_rows
from tiewise.posterior.term_tables import coefficients, judge_terms
from tiewise.report.terms import column_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

TIMES = {np.log(times): f"{times:g}" for times in (0.03, 0.1, 0.25, 0.5, 1, 2, 4, 10, 30)}


@styled
def coefficient_plot(results: Results, *, title: str | None = None) -> Figure:
    """Coefficients with their intervals, each per standard deviation of its column."""
    if "coefficient" not in results.tree["posterior"]:
        raise InputError(f"{results.folder} has no covariates; fit with --formula for this")
    told, about = coefficients(results.tree), results.about
    per_sd = {"median": "per_sd", "q2.5": "per_sd_q2.5", "q97.5": "per_sd_q97.5"}
    rows = pd.DataFrame(
        {"item": told["covariate"], "name": told["covariate"].map(column_label), "comparisons": 1}
        | {name: told[column] for name, column in per_sd.items()}
    )
    axis = Axis("change in quality per standard deviation of it")
    return page(
        heading(title or f"What goes with {about.higher}?"),
        listed_rows(rows, axis=axis)[0],
        notes(
            "Dot: the median. Line: the 95 % interval. Red: more of it goes with "
            f"{about.higher}; blue: with {about.lower}; grey: cannot be told."
        ),
    )


@styled
def judge_terms_plot(results: Results, *, title: str | None = None) -> Figure:
    """Every judge's sharpness, and chance of “about equal” for two that are equal."""
    told = judge_terms(results.tree) if "judge" in results.tree["posterior"].dims else None
    if told is None:
        raise InputError(
            f"{results.folder} tells no judges apart; fit with --sharpness or --thresholds for this"
        )
    head = heading(title or "How do judges differ?")
    foot = notes(
        "Dot: the median. Line: the 95 % interval. Red: surely more than a typical judge; blue: "
        "surely less; grey: cannot be told."
    )
    return page(head, *_sharpness(told), *_thresholds(told, results), foot)


def _sharpness(told: pd.DataFrame) -> Iterator[Block]:
    if "sharpness" not in told:
        return
    rows = _rows(told, *(np.log(told[f"sharpness{end}"]) for end in ("", "_q2.5", "_q97.5")))
    yield notes("Sharpness: 1 is a typical judge, 0 answers at random.")
    yield listed_rows(rows, axis=Axis("sharpness", ticks=TIMES))[0]


def _thresholds(told: pd.DataFrame, results: Results) -> Iterator[Block]:
    if "threshold" not in told:
        return
    equal = (100 * np.tanh(told[f"threshold{end}"] / 2) for end in ("", "_q2.5", "_q97.5"))
    typical = float(100 * np.tanh(np.median(results.tree["posterior/tie"].to_numpy()) / 2))
    yield from (gap(8), notes("How often two of the same quality are called “about equal”."))
    axis = Axis("% “about equal”, line: a typical judge", middle=typical)
    yield listed_rows(_rows(told, *equal), axis=axis)[0]


def _rows(
    told: pd.DataFrame, median: pd.Series[float], low: pd.Series[float], high: pd.Series[float]
) -> pd.DataFrame:
    names = "judge " + told["judge"].where(told["judge"].str.fullmatch(r"[\d\W]+"), "")
    names = names.where(names != "judge ", told["judge"])
    table = pd.DataFrame(
        {"item": told["judge"], "name": names, "comparisons": 1, "median": median,
         "q2.5": low, "q97.5": high}
    )  # fmt: skip
    return table.sort_values("median", ascending=False, kind="stable")
