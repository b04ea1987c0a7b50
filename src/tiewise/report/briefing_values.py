"""What the briefing's template is given: sentences, rows and a map, all as plain values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tiewise.geo.colours import LOW_TO_HIGH
from tiewise.report.answer import (
    answer,
    begun,
    beware,
    borrowed,
    called,
    chance_words,
    limits,
    listed,
    number,
    one_line,
    percent,
    ranked,
    scale_rows,
    standing_out,
    the_highest,
    what_was_done,
)
from tiewise.report.briefing_map import drawn_map
from tiewise.report.certainty import signed
from tiewise.report.folder import About, Results

QUESTION, WORD, NAME = 300, 40, 60  # letters at most
UPPER, LOWER = 12, 8  # rows of the ladder that stands in for a map


def template_values(results: Results) -> tuple[dict[str, Any], str]:
    """The values that a template gets, and the map as SVG (nothing where there is none)."""
    told = replace(results, about=_short(results.about))
    about, shown, names = told.about, standing_out(told), _names(told)
    drawing, chart = "", None
    if told.areas is not None:
        drawing, chart = drawn_map(told, list(shown["item"]))
        chart |= {"alt": _alt(told, names), "ramp": list(LOW_TO_HIGH)}
    values = {
        "question": about.question,
        "one": about.one,
        "nouns": about.nouns,
        "higher": about.higher,
        "lower": about.lower,
        "top": about.top,
        "among": ("among " if about.top > 1 else "") + the_highest(about),
        "beware": beware(told.facts),
        "answer": answer(told).first,
        "then": list(answer(told).then),
        "ranked": ranked(told),
        "rows": [_row(told.items.loc[k], names[k], borrowed(told)) for k in shown.index],
        "map": chart,
        "ladder": None if chart else _ladder(told, names),
        "unseen": borrowed(told) if (told.items["comparisons"] == 0).any() else "",
        "groups": told.areas is not None and told.areas.groups is not None,
        "done": what_was_done(told),
        "limits": limits(told),
        "scale": [{"words": words, "range": span} for words, span in scale_rows()],
        "made": _made(told),
    }
    return values, drawing


def _names(results: Results) -> pd.Series[str]:
    """Every item as it is called in a list."""
    names = called(results.items, results.about, NAME)
    return names.map(lambda name: begun(name, results.about))


def _short(about: About) -> About:
    """The study's words, none of them endless."""
    return replace(
        about,
        question=one_line(about.question, QUESTION),
        higher=one_line(about.higher, WORD),
        lower=one_line(about.lower, WORD),
        noun=one_line(about.noun, 2 * WORD),
    )


def _row(row: pd.Series, name: str, unseen: str) -> dict[str, Any]:
    """One of those that stand out; what was not computed is empty."""
    chance, told = float(row["top_k_probability"]), int(row["comparisons"])
    ends = row[["rank_q2.5", "rank_q97.5"]]
    return {
        "name": name,
        "note": "" if told else unseen,
        "chance": _or_none(chance),
        "percent": percent(chance),
        "words": chance_words(chance),
        "rank": f"{row['rank']:.0f}",
        "ranks": "" if ends.isna().any() else f"{ends.iloc[0]:.0f} to {ends.iloc[1]:.0f}",
        "estimate": signed(row["median"]),
        "interval": _interval(row),
        "compared": f"{told:,}" if told else "never",
    }


def _interval(row: pd.Series) -> str:
    low, high = row["q2.5"], row["q97.5"]
    return f"{signed(low)} to {signed(high)}" if np.isfinite([low, high]).all() else "unknown"


def _ladder(results: Results, names: pd.Series[str]) -> dict[str, Any]:
    """Items from highest to lowest with their intervals; of many, both ends."""
    table = results.items
    few = len(table) <= UPPER + LOWER
    shown = table if few else pd.concat([table.head(UPPER), table.tail(LOWER)])
    ends = shown[["q2.5", "q97.5", "median"]].replace([np.inf, -np.inf], np.nan).to_numpy(float)
    low, high = np.nanmin(ends, initial=-0.1), np.nanmax(ends, initial=0.1)

    def share(value: float) -> float | None:
        return _or_none((value - low) / (high - low))

    rows = [
        _row(row, name, borrowed(results))
        | {"low": share(row["q2.5"]), "middle": share(row["median"]), "high": share(row["q97.5"])}
        for name, (_, row) in zip(names[shown.index], shown.iterrows(), strict=True)
    ]
    return {
        "upper": rows if few else rows[:UPPER],
        "lower": [] if few else rows[UPPER:],
        "between": len(table) - len(shown),
        "zero": share(0.0),
    }


def _or_none(value: float) -> float | None:
    return round(float(value), 5) if np.isfinite(value) else None


def _alt(results: Results, names: pd.Series[str]) -> str:
    """The map for those who cannot see it."""
    every = number(len(names), results.about.one, results.about.nouns)
    if len(names) <= 6:
        return f"Map of {every}. From highest to lowest: {listed(list(names))}."
    return (
        f"Map of {every}. Highest: {listed(list(names.head(3)))}. "
        f"Lowest: {listed(list(names.tail(3)))}."
    )


def _made(results: Results) -> str:
    facts = results.facts
    return (
        f"Made with Tiewise {facts['version']}. Engine {facts['engine']}, seed {facts['seed']}, "
        f"fingerprint of the answers {facts['digest'][:16]}."
    )
