"""Very many items: the highest and the lowest in a table, and all of them to be searched.

Numbers of all items are columns of small whole numbers, so that a page with 100,000 stays small.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np
import pandas as pd

from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.scale import COLUMNS, scored
from tiewise.report.item_rows import item_records, item_table, page_features, score_reach
from tiewise.report.section import Fragment, PictureRow, Section
from tiewise.text import probability_percent, without_controls

SHOWN_AT_EACH_END = 100
THOUSANDTHS, UNKNOWN = 1000, -(2**15)
LARGEST = 2**15 - 1


def long_list_section(results: Results) -> Section:
    """The highest and the lowest of very many items, and a search among all."""
    table = item_table(results)
    values = {
        "highest": item_records(table.head(SHOWN_AT_EACH_END)),
        "lowest": item_records(table.tail(SHOWN_AT_EACH_END)),
        "between": len(table) - 2 * SHOWN_AT_EACH_END,
        "data": searchable(results, table),
    }
    blocks = (Fragment("long_list", values), PictureRow(("ranking",)))
    return Section("list", "Ranked list", "Ranked list", blocks)


def searchable(results: Results, table: pd.DataFrame) -> str:
    """All items as JSON: names as lists, numbers as base64 of little-endian columns."""
    has = page_features(results)
    scale, average, _ = shown_scores(results)
    data: dict[str, Any] = {
        "names": [without_controls(name) for name in table["name"]],
        "ids": [without_controls(item) for item in table["item"]] if has.ids else None,
        "reach": round(score_reach(table, average), 3),
        "mean": _thousandths(table["mean"]),
        "low": _thousandths(table["q2.5"]),
        "high": _thousandths(table["q97.5"]),
        "sd": _thousandths(table["sd"]),
        "first": _whole(table["rank_q2.5"]) if has.ranks else None,
        "last": _whole(table["rank_q97.5"]) if has.ranks else None,
        "compared": _whole(table["comparisons"]),
    }
    if has.groups:
        data["groups"], data["group"] = _coded(table["group"], "<u4")
    if scored(scale):
        columns = zip(("mean", "sd", "low", "high"), COLUMNS, strict=True)
        data["scores"] = {name: _base64(table[column], "<f4") for name, column in columns}
        data |= {"digits": scale.digits, "average": average}
    if has.probabilities:
        words = table["top_k_probability"].map(probability_percent)
        data["chances"], data["chance"] = _coded(words, "<u1")
    # In a script's element no text may end it.
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _coded(words: pd.Series[str], kind: str) -> tuple[list[str], str]:
    """The distinct words, and for each row which of them it has."""
    texts = list(dict.fromkeys(words))
    number = {text: k for k, text in enumerate(texts)}
    return texts, _base64(words.map(number), kind)


def _thousandths(column: pd.Series[float]) -> str:
    """A column to three digits; beyond ±32 the largest number there is."""
    values = np.nan_to_num(column.to_numpy(float) * THOUSANDTHS, nan=UNKNOWN, posinf=LARGEST)
    return _base64(np.clip(np.round(values), UNKNOWN, LARGEST), "<i2")


def _whole(column: pd.Series[float]) -> str:
    return _base64(np.nan_to_num(column.to_numpy(float)), "<u4")


def _base64(values: Any, kind: str) -> str:
    return b64encode(np.asarray(values).astype(kind).tobytes()).decode()
