"""How sure the estimates are: what an interval means, how wide they are, how sure ranks are."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tiewise.posterior.bands.sentences import missing_bands
from tiewise.posterior.phrases import item_labels
from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.report.answer import LONGEST_NAME
from tiewise.report.section import Paragraphs, PictureRow, Section
from tiewise.text import quantity


def certainty_section(results: Results) -> Section:
    """How sure we are."""
    sentences = [
        _interval_meaning(results),
        *_interval_widths(results),
        *_rank_intervals(results.items, results.wording.nouns),
        *missing_bands(results),
    ]
    pictures = PictureRow(("map-uncertainty", "prior-to-posterior"))
    return Section("sure", "How sure", "How sure we are", (Paragraphs(sentences), pictures))


def _interval_meaning(results: Results) -> str:
    if results.facts["kind"] == "point":
        return (
            "The 95 % interval is the estimate plus and minus 1.96 standard errors. Where the "
            "model is right, about 95 of 100 intervals made this way hold the true value."
        )
    return (
        f"Given the answers and the model, the quality of each {results.wording.one} lies inside "
        "its 95 % interval with a chance of 95 %."
    )


def _interval_widths(results: Results) -> list[str]:
    scale, _, table = shown_scores(results)
    width = (table["score_q97.5"] - table["score_q2.5"]).where(np.isfinite(table["sd"]))
    if width.isna().any() or len(width) < 2:
        return []
    least, typical, most = map(scale.spread_text, width.quantile([0.0, 0.5, 1.0]))
    if least == most:
        return [f"Every interval is {least} wide."]
    narrowest, widest = (
        _interval_of(table, row, scale.spread_text(width[row]))
        for row in (int(width.argmin()), int(width.argmax()))
    )
    return [
        f"A typical interval is {typical} wide. The narrowest is that of "
        f"{narrowest}, the widest that of {widest}.",
        f"Where the intervals of two {results.wording.nouns} overlap a good deal, "
        "the answers do not settle which of them is higher.",
    ]


def _interval_of(table: pd.DataFrame, row: int, width: str) -> str:
    count = int(table["comparisons"][row])
    compared = f"compared {quantity(count, 'time')}" if count else "never compared"
    return f"{item_labels(table, LONGEST_NAME)[row]} ({width}, {compared})"


def _rank_intervals(table: pd.DataFrame, nouns: str) -> list[str]:
    span = table["rank_q97.5"] - table["rank_q2.5"] + 1
    if span.isna().any() or len(table) < 3:
        return []
    return [
        f"Places in the list are less certain than they look: for half of the {nouns} the 95 % "
        f"interval of the rank takes in {int(span.median()):,} or more of {len(table):,} places."
    ]
