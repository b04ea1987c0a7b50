"""The values of the briefing's template: sentences, rows and a map, all as plain values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tiewise.criticism.verdict import PART_TITLES, Verdict, results_verdict
from tiewise.geo.colours import LOW_TO_HIGH
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.phrases import (
    has_top_probabilities,
    standalone_labels,
    top_phrase,
    uncompared_note,
)
from tiewise.posterior.results_folder import Results, Wording
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.scale import Scale
from tiewise.report.answer import main_answer, sentence_start, top_items
from tiewise.report.briefing_map import numbered_map
from tiewise.report.scope import limits, what_was_done
from tiewise.text import (
    one_line,
    probability_percent,
    probability_scale_rows,
    probability_words,
    quantity,
    rank_range,
    sentence_list,
)

QUESTION, WORD, NAME = 300, 40, 60  # letters at most
UPPER, LOWER = 12, 8  # rows of the ladder that stands in for a map


def template_values(results: Results) -> tuple[dict[str, Any], str]:
    """The values that a template gets, and the map as SVG (nothing where there is none)."""
    results = replace(results, wording=_short(results.wording))
    wording, shown, names = results.wording, top_items(results), _names(results)
    verdict, scores = results_verdict(results), shown_scores(results)
    drawing, map_values = "", None
    areas = results.areas
    # Of very many areas a printed map would be a blur: both ends of the list are shown instead.
    if areas is not None and len(areas) <= MANY_ITEMS and verdict.headline:
        drawing, map_values = numbered_map(results, list(shown["item"]))
        map_values |= {"alt": _alt(results, names), "ramp": list(LOW_TO_HIGH)}
    values = {
        "question": wording.question,
        "one": wording.one,
        "nouns": wording.nouns,
        "higher": wording.higher,
        "lower": wording.lower,
        "top": wording.top,
        "among": ("among " if wording.top > 1 else "") + top_phrase(wording),
        "verdict": _verdict_values(verdict),
        "headline": verdict.headline,
        "answer": main_answer(results).first,
        "then": list(main_answer(results).rest),
        "ranked": has_top_probabilities(results),
        "rows": [
            _row(k, scores.items.loc[k], names[k], uncompared_note(results), scores.scale)
            for k in shown.index
        ],
        "estimate": scores.scale.title,
        "meaning": " ".join(scores.meaning(results)),
        "map": map_values,
        "ladder": None if map_values or not verdict.headline else _ladder(results, names),
        "unseen": uncompared_note(results) if (results.items["comparisons"] == 0).any() else "",
        "groups": results.areas is not None and results.areas.groups is not None,
        "done": what_was_done(results),
        "limits": limits(results),
        "scale": [{"words": words, "range": span} for words, span in probability_scale_rows()],
        "made": _made(results),
    }
    return values, drawing


def _names(results: Results) -> pd.Series[str]:
    """Every item as it is called in a list."""
    names = standalone_labels(results.items, results.wording, NAME)
    return names.map(lambda name: sentence_start(name, results.wording))


def _short(wording: Wording) -> Wording:
    """The study's words, none of them endless."""
    return replace(
        wording,
        question=one_line(wording.question, QUESTION),
        higher=one_line(wording.higher, WORD),
        lower=one_line(wording.lower, WORD),
        noun=one_line(wording.noun, 2 * WORD),
    )


def _verdict_values(verdict: Verdict) -> dict[str, Any]:
    """The verdict and its three parts, each with a mark that needs no colour."""
    return {
        "text": verdict.text,
        "level": verdict.level,
        "parts": [
            {"title": title, "level": part.level, "text": part.text}
            for title, part in zip(PART_TITLES, verdict.parts, strict=True)
        ],
    }


def _row(k: int, row: pd.Series, name: str, note: str, scale: Scale) -> dict[str, Any]:
    """One of those that stand out; what was not computed is empty."""
    probability, count = float(row["top_k_probability"]), int(row["comparisons"])
    return {
        "name": name,
        "note": "" if count else note,
        "chance": _or_none(probability),
        "percent": probability_percent(probability),
        "words": probability_words(probability),
        "position": k + 1,
        "ranks": rank_range(row["rank_q2.5"], row["rank_q97.5"]),
        "estimate": scale.text(row["score"]),
        "interval": _interval(row, scale),
        "compared": f"{count:,}" if count else "never",
    }


def _interval(row: pd.Series, scale: Scale) -> str:
    low, high = row["score_q2.5"], row["score_q97.5"]
    return scale.interval(low, high) if np.isfinite([low, high]).all() else "unknown"


def _ladder(results: Results, names: pd.Series[str]) -> dict[str, Any]:
    """Items from highest to lowest with their intervals; of many, both ends."""
    scale, average, table = shown_scores(results)
    few = len(table) <= UPPER + LOWER
    shown = table if few else pd.concat([table.head(UPPER), table.tail(LOWER)])
    columns = ["score_q2.5", "score_q97.5", "score"]
    ends = shown[columns].replace([np.inf, -np.inf], np.nan).to_numpy(float)
    low, high = np.nanmin(ends, initial=average - 0.1), np.nanmax(ends, initial=average + 0.1)

    def share(value: float) -> float | None:
        return _or_none((value - low) / (high - low))

    rows = [
        _row(k, row, name, uncompared_note(results), scale)
        | dict(zip(("low", "high", "middle"), map(share, row[columns]), strict=True))
        for k, name, (_, row) in zip(shown.index, names[shown.index], shown.iterrows(), strict=True)
    ]
    return {
        "upper": rows if few else rows[:UPPER],
        "lower": [] if few else rows[UPPER:],
        "between": len(table) - len(shown),
        "zero": share(average),
    }


def _or_none(value: float) -> float | None:
    return round(float(value), 5) if np.isfinite(value) else None


def _alt(results: Results, names: pd.Series[str]) -> str:
    """The map for those who cannot see it."""
    every = quantity(len(names), results.wording.one, results.wording.nouns)
    if len(names) <= 6:
        return f"Map of {every}. From highest to lowest: {sentence_list(list(names))}."
    return (
        f"Map of {every}. Highest: {sentence_list(list(names.head(3)))}. "
        f"Lowest: {sentence_list(list(names.tail(3)))}."
    )


def _made(results: Results) -> str:
    facts = results.facts
    worth = f" (draws worth {facts['ess_min']:,.0f} independent ones)" if facts["ess_min"] else ""
    return (
        f"Made with Tiewise {facts['version']}. Engine {facts['engine']}{worth}, seed "
        f"{facts['seed']}, fingerprint of the answers {facts['digest'][:16]}."
    )
