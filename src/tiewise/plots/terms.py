"""Plots of terms: what explains quality, and the sharpness and tie threshold of each judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.errors import InputError
from tiewise.plots.canvas import Block, heading, notes, page, space, styled
from tiewise.plots.definition import PlotDefinition, needs_term
from tiewise.plots.ranking import RowAxis, interval_rows
from tiewise.posterior.phrases import has_ties
from tiewise.posterior.terms.judge_kinds import has_kinds
from tiewise.posterior.terms.sentences import column_label, term_sentences
from tiewise.posterior.terms.tables import coefficients, judge_terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results

SHARPNESS_TICKS = {np.log(times): f"{times:g}" for times in (0.03, 0.1, 0.25, 0.5, 1, 2, 4, 10, 30)}


@styled
def coefficient_plot(results: Results, *, title: str | None = None) -> Figure:
    """Coefficients with their intervals, each per standard deviation of its column."""
    if "coefficient" not in results.tree["posterior"]:
        raise InputError(f"{results.folder} has no covariates; fit with formula= for this")
    table, wording = coefficients(results.tree), results.wording
    per_sd = {"median": "per_sd", "q2.5": "per_sd_q2.5", "q97.5": "per_sd_q97.5"}
    names = table["covariate"].map(column_label)
    rows = pd.DataFrame(
        {"item": table["covariate"], "name": names, "comparisons": 1}
        | {name: table[column] for name, column in per_sd.items()}
    )
    axis = RowAxis("change in quality per standard deviation of it")
    return page(
        heading(title or f"What goes with {wording.higher}?"),
        interval_rows(rows, axis=axis)[0],
        notes(
            "Dot: the median. Line: the 95 % interval. Red: more of it goes with "
            f"{wording.higher}; blue: with {wording.lower}; grey: cannot be told."
        ),
    )


def _coefficient_caption(results: Results) -> str:
    return f"Coefficients with their intervals. {term_sentences(results)['coefficient'][0]}"


COEFFICIENTS = PlotDefinition(
    "coefficients", "What goes with it", coefficient_plot, _coefficient_caption,
    needs_term("coefficient"),
)  # fmt: skip


@styled
def judge_terms_plot(results: Results, *, title: str | None = None) -> Figure:
    """Every judge's sharpness, and chance of “about equal” for two that are equal."""
    table = judge_terms(results.tree) if "judge" in results.tree["posterior"].dims else None
    if table is None:
        raise InputError(
            f"{results.folder} tells no judges apart; fit with sharpness=True or thresholds=True "
            "for this"
        )
    typical = _typical(results)
    differ = "kinds of judges" if has_kinds(results.tree) else "judges"
    head = heading(title or f"How do {differ} differ?")
    foot = notes(
        f"Dot: the median. Line: the 95 % interval. Red: surely more than {typical}; blue: "
        "surely less; grey: cannot be told."
    )
    return page(head, *_sharpness(table, typical), *_thresholds(table, results), foot)


def _typical(results: Results) -> str:
    """To whom others are compared: a typical judge, or the group to which groups are relative."""
    terms = results.facts["model"].get("terms", ())
    references = [f"“{term['reference']}”" for term in terms if "reference" in term]
    return references[0] if references else "a typical judge"


def _sharpness(table: pd.DataFrame, typical: str) -> Iterator[Block]:
    if "sharpness" not in table:
        return
    rows = _rows(table, *(np.log(table[f"sharpness{end}"]) for end in ("", "_q2.5", "_q97.5")))
    yield notes(f"Sharpness: 1 is {typical}, 0 answers at random.")
    yield interval_rows(rows, axis=RowAxis("sharpness", ticks=SHARPNESS_TICKS))[0]


def _thresholds(table: pd.DataFrame, results: Results) -> Iterator[Block]:
    if "threshold" not in table:
        return
    equal = (100 * np.tanh(table[f"threshold{end}"] / 2) for end in ("", "_q2.5", "_q97.5"))
    posterior, ties = results.tree["posterior"], has_ties(results.tree)
    cut = (posterior["tie"] if ties else posterior["cut"].isel(strength=1)).to_numpy()
    typical = float(100 * np.tanh(np.median(cut) / 2))
    note = "How often two of the same quality are called “about equal”."
    if not ties:
        note = "How often one of two of the same quality is chosen but weakly."
    yield from (space(8), notes(note))
    answer = "“about equal”" if ties else "weak choices"
    axis = RowAxis(f"% {answer}, line: {_typical(results)}", middle=typical)
    yield interval_rows(_rows(table, *equal), axis=axis)[0]


def _rows(
    table: pd.DataFrame, median: pd.Series[float], low: pd.Series[float], high: pd.Series[float]
) -> pd.DataFrame:
    names = "judge " + table["judge"].where(table["judge"].str.fullmatch(r"[\d\W]+"), "")
    names = names.where(names != "judge ", table["judge"])
    rows = pd.DataFrame(
        {"item": table["judge"], "name": names, "comparisons": 1, "median": median,
         "q2.5": low, "q97.5": high}
    )  # fmt: skip
    return rows.sort_values("median", ascending=False, kind="stable")


def _judge_caption(results: Results) -> str:
    return f"Judges with their intervals. {' '.join(term_sentences(results)['judge'])}"


JUDGE_TERMS = PlotDefinition(
    "judge-terms", "How judges differ", judge_terms_plot, _judge_caption,
    needs_term("sharpness", "threshold"),
)  # fmt: skip
