"""What stands on the page of the report, gathered from the results."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tiewise.criticism.predictive_checks import MOST_JUDGED
from tiewise.geo.colours import LOW_TO_HIGH, SURE_TO_UNSURE, UNLIKELY_TO_CERTAIN, along
from tiewise.geo.outline import Outline, outline
from tiewise.report import answer, certainty, reproduce
from tiewise.report.folder import Results
from tiewise.report.model_checks import believed
from tiewise.report.terms import gap_formula, parameter_label, sections

BAR, HALF = 120.0, 60.0  # width of an interval drawn in a row, and of half of it
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Shown(NamedTuple):
    """Columns and parts that these results have."""

    ids: bool
    groups: bool
    ranks: bool
    chance: bool
    map: bool
    unseen: bool


class Legend(NamedTuple):
    """One way to colour the map: its name, its colours from low to high, and their words."""

    key: str
    title: str
    ramp: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]


def clean(text: str) -> str:
    """Text without control characters, which a page may not hold."""
    return UNSEEN.sub("", text)


def page(results: Results) -> dict[str, Any]:
    """Everything that the template asks for, but for the pictures."""
    table, facts = _table(results), results.facts
    drawn = outline(results.areas) if results.areas is not None else None
    told = pd.read_csv(results.folder / "parameters.csv", index_col="parameter")
    return {
        "about": results.about,
        "facts": facts,
        "version": version("tiewise"),
        "shown": shown(results),
        "rows": _records(table),
        "stand": _standing_out(results, table),
        "answer": answer.answer(results),
        "verdict": answer.verdict(facts),
        "beware": answer.beware(facts),
        "every": answer.number(len(table), results.about.one, results.about.nouns),
        "done": answer.what_was_done(results),
        "limits": answer.limits(results),
        "scale": answer.scale_rows(),
        "borrowed": answer.borrowed(results),
        "sureness": certainty.sureness(results),
        "belief": believed(results),
        "most_judged": MOST_JUDGED,
        "ties": certainty.tie_words(results, told),
        "coverage": certainty.coverage(results),
        "priors": certainty.priors(facts["model"]) if "quality" in facts["model"] else [],
        "gap": gap_formula(results),
        "parameters": [(parameter_label(str(name)), dict(row)) for name, row in told.iterrows()],
        "terms": sections(results),
        "command": reproduce.command(results),
        "python": reproduce.python(results),
        "unknowns": reproduce.unknowns(results),
        "source": reproduce.source_name(results.about),
        "drawn": drawn,
        "shapes": _shapes(drawn, table) if drawn is not None else [],
        "legends": _legends(results, table),
    }


def shown(results: Results) -> Shown:
    """Which columns and parts there is something to say in."""
    items, areas = results.items, results.areas
    return Shown(
        ids=bool((items["item"] != items["name"]).any()),
        groups=areas is not None and areas.groups is not None and any(areas.groups),
        ranks=bool(items["rank_q2.5"].notna().any()) and len(items) > 1,
        chance=answer.ranked(results),
        map=areas is not None,
        unseen=bool((items["comparisons"] == 0).any()),
    )


def _table(results: Results) -> pd.DataFrame:
    """`items.csv` with the highest median first, and what a row shows besides."""
    table, areas = results.items, results.areas
    # Medians are what the page shows; those of nearly equal items may not be in order of means.
    table = table.sort_values("median", ascending=False, kind="stable", ignore_index=True)
    groups: dict[str, str] = {}
    if areas is not None and areas.groups is not None:
        groups = dict(zip(areas.items, areas.groups, strict=True))
    return table.assign(
        key=np.arange(len(table)),
        group=[groups.get(item, "") for item in table["item"]],
        **_bars(table),
        **_fills(table),
    )


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _bars(table: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """Where the interval of each row is drawn, on a line with the average in its middle."""
    ends = table[["q2.5", "q97.5", "median"]]
    reach = float(np.nanmax(np.abs(ends.where(np.isfinite(ends)).to_numpy()), initial=0)) or 1.0
    left, right, middle = (
        (HALF + HALF * ends[name].clip(-reach, reach).fillna(0) / reach).round(1) for name in ends
    )
    return {"left": left, "length": (right - left).round(1), "middle": middle}


def _fills(table: pd.DataFrame) -> dict[str, list[str]]:
    """The colour of each item on each kind of map."""
    median, sd = table["median"].to_numpy(float), table["sd"].to_numpy(float)
    chance = table["top_k_probability"].to_numpy(float)
    return {
        "quality": along(LOW_TO_HIGH, 0.5 + median / (2 * _reach(median))),
        "unsure": along(SURE_TO_UNSURE, sd / _reach(sd)),
        "top": along(UNLIKELY_TO_CERTAIN, chance),
    }


def _reach(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The largest size of a number among these; 1 where all are 0."""
    known = np.abs(values[np.isfinite(values)])
    return float(known.max(initial=0)) or 1.0


def _legends(results: Results, table: pd.DataFrame) -> list[Legend]:
    about, reach = results.about, _reach(table["median"].to_numpy(float))
    most = _reach(table["sd"].to_numpy(float))
    legends = [
        Legend(
            "quality", "Estimate", LOW_TO_HIGH,
            ((about.lower, f"−{reach:.1f}"), ("average", "0"), (about.higher, f"+{reach:.1f}")),
        ),
        Legend(
            "unsure", "Uncertainty", SURE_TO_UNSURE,
            (("sure", "sd 0"), ("less sure", f"sd {most:.1f}")),
        ),
    ]  # fmt: skip
    if shown(results).chance:
        top = "highest" if about.top == 1 else f"among the highest {about.top}"
        ends = (("ruled out", "0 %"), ("even", "50 %"), ("certain", "100 %"))
        legends.append(Legend("top", f"Chance of being {top}", UNLIKELY_TO_CERTAIN, ends))
    return legends


def _shapes(drawn: Outline, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Paths of the map with the row of each; an area that was not in the study has none."""
    rows = {row["item"]: row for row in _records(table)}
    return [{"path": path, "row": rows.get(item)} for item, path in drawn.paths.items()]


def _standing_out(results: Results, table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = {row["item"]: row for row in _records(table)}
    stand = [rows[item] for item in answer.standing_out(results)["item"]]
    return [row | {"words": answer.chance_words(row["top_k_probability"])} for row in stand]


def isolated(text: str, names: Iterable[str]) -> str:
    """A sentence in which names that run from right to left do not turn what follows them."""
    turned = sorted({name for name in names if _right_to_left(name)}, key=len, reverse=True)
    if not turned:
        return text
    return re.sub("|".join(map(re.escape, turned)), "\u2068\\g<0>\u2069", text)


def _right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
