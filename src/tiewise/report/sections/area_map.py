"""The map of a study of areas, with the colours and legends that can be chosen for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tiewise.geo.colours import LOW_TO_HIGH, SURE_TO_UNSURE, UNLIKELY_TO_CERTAIN, interpolate
from tiewise.geo.svg_map import SvgMap, svg_map
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.map_share import map_share_sentence
from tiewise.posterior.phrases import has_top_probabilities
from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.report.item_rows import item_records, item_table
from tiewise.report.section import Fragment, Paragraphs, PictureRow, Section


class MapLegend(NamedTuple):
    """One way to colour the map: its name, its colours from low to high, and their words."""

    key: str
    title: str
    ramp: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]


def map_section(results: Results) -> Section | None:
    """The map, for a study of areas."""
    if results.areas is None:
        return None
    if len(results.areas) > MANY_ITEMS:
        return _pixel_section(results)
    drawing, table = svg_map(results.areas), item_table(results)
    values = {
        "drawing": drawing,
        "shapes": _shapes(drawing, table.assign(**_fills(table, shown_scores(results).middle))),
        "legends": _legends(results, table),
    }
    sentence = map_share_sentence(results.tree, results.wording.nouns)
    words = (Paragraphs([sentence]),) if sentence else ()
    blocks = (Fragment("map", values), *words, PictureRow(("map-top", "map-faded")))
    return Section("map", "Map", "Map", blocks)


def _pixel_section(results: Results) -> Section:
    """Maps drawn as pixels, of very many areas."""
    sentence = map_share_sentence(results.tree, results.wording.nouns)
    pictures = PictureRow(("map", "map-top", "map-faded"))
    blocks = (*((Paragraphs([sentence]),) if sentence else ()), pictures)
    return Section("map", "Map", "Map", blocks)


def _shapes(drawing: SvgMap, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Paths of the map with the row of each; an area that was not in the study has none."""
    rows = {row["item"]: row for row in item_records(table)}
    return [{"path": path, "row": rows.get(item)} for item, path in drawing.paths.items()]


def _fills(table: pd.DataFrame, middle: float) -> dict[str, list[str]]:
    """The colour of each item by each of the legends."""
    away, sd = table["score"].to_numpy(float) - middle, table["score_sd"].to_numpy(float)
    return {
        "quality": interpolate(LOW_TO_HIGH, 0.5 + away / (2 * _largest(away))),
        "unsure": interpolate(SURE_TO_UNSURE, sd / _largest(sd)),
        "top": interpolate(UNLIKELY_TO_CERTAIN, table["top_k_probability"].to_numpy(float)),
    }


def _largest(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The largest size of a number among these; 1 where all are 0."""
    known = np.abs(values[np.isfinite(values)])
    return float(known.max(initial=0)) or 1.0


def _legends(results: Results, table: pd.DataFrame) -> list[MapLegend]:
    wording, (scale, middle, _) = results.wording, shown_scores(results)
    reach = _largest(table["score"].to_numpy(float) - middle)
    most = _largest(table["score_sd"].to_numpy(float))
    low, average, high = scale.ends(middle, reach)
    legends = [
        MapLegend(
            "quality", scale.title, LOW_TO_HIGH,
            ((wording.lower, low), ("average", average), (wording.higher, high)),
        ),
        MapLegend(
            "unsure", "Uncertainty", SURE_TO_UNSURE,
            (("sure", "sd 0"), ("less sure", f"sd {most:.{min(scale.digits, 1)}f}")),
        ),
    ]  # fmt: skip
    if has_top_probabilities(results):
        top = "highest" if wording.top == 1 else f"among the highest {wording.top}"
        ends = (("ruled out", "0 %"), ("even", "50 %"), ("certain", "100 %"))
        legends.append(MapLegend("top", f"Chance of being {top}", UNLIKELY_TO_CERTAIN, ends))
    return legends
