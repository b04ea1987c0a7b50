"""How judges differ in sharpness and in their use of ties, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tiewise.posterior.term_tables import judge_terms
from tiewise.report.answer import listed, number, percent
from tiewise.report.folder import Results
from tiewise.report.section import NAMED, SHOWN, Section


def judge_section(results: Results) -> Section:
    """How judges differ in sharpness and in their use of ties."""
    table = judge_terms(results.tree)
    says = [*_sharpness(table), *_thresholds(table, results)]
    return Section(
        "judges", "Judges", "How judges differ", tuple(says), *_judge_table(table),
        ("judge-terms",),
        "A judge of little sharpness need not be careless: they may know other places, weigh "
        "something else, or have had hard pairs. They weigh less in the estimates, and nothing "
        "more follows from it. Neither way of using “about equal” is wrong. This part names judges "
        "by their ids: think of that before the page is passed on.",
    )  # fmt: skip


def _judge(name: str) -> str:
    return f"judge {name}" if name.isdecimal() else name


def _sharpness(table: pd.DataFrame) -> Iterator[str]:
    if "sharpness" not in table:
        return
    dull, keen = table[table["sharpness_q97.5"] < 1], table[table["sharpness_q2.5"] > 1]
    if dull.empty and keen.empty:
        every = number(len(table), "judge")
        yield f"None of {every} is surely sharper or less sharp than a typical one."
    for own, words in ((dull, "less sharp"), (keen, "sharper")):
        if len(own):
            are = "judge is" if len(own) == 1 else "judges are"
            some = listed([_judge(name) for name in own["judge"]], NAMED)
            yield (
                f"{len(own):,} of {len(table):,} {are} almost certainly {words} than a typical "
                f"one ({some})."
            )
    low, high = table.iloc[0], table.iloc[-1]
    yield (
        f"Sharpness runs from {low['sharpness']:.2f} ({_judge(low['judge'])}) to "
        f"{high['sharpness']:.2f} ({_judge(high['judge'])}): how far apart a judge sees what a "
        "typical one sees 1 apart."
    )


def _thresholds(table: pd.DataFrame, results: Results) -> Iterator[str]:
    if "threshold" not in table:
        return
    order = table.sort_values("says_equal", kind="stable")
    low, high = order.iloc[0], order.iloc[-1]
    never = int((table["ties"] == 0).sum())
    yield (
        f"Shown two {results.about.nouns} of the same quality, {_judge(low['judge'])} is expected "
        f"to say “about equal” {percent(low['says_equal'])} of the time, and "
        f"{_judge(high['judge'])} {percent(high['says_equal'])}."
    )
    if never:
        yield f"{number(never, 'judge')} of {len(table):,} never said so."


def _judge_table(table: pd.DataFrame) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    head = ["Judge", "Answers", "“About equal”"]
    head += ["Sharpness (95 % interval)"] if "sharpness" in table else []
    head += ["Ties between equals (95 % interval)"] if "threshold" in table else []
    return tuple(head), tuple(_judge_row(row) for row in _ends(table).to_dict("records"))


def _ends(table: pd.DataFrame) -> pd.DataFrame:
    """All judges, or of many those at both ends."""
    most = 3 * SHOWN
    if len(table) <= most:
        return table
    return pd.concat([table.head(most // 2), table.tail(most // 2)])


def _judge_row(row: dict[Any, Any]) -> tuple[str, ...]:
    out = [_judge(str(row["judge"])), f"{row['comparisons']:,}"]
    share = f" ({percent(row['ties'] / row['comparisons'])})" if row["ties"] else ""
    out.append(f"{row['ties']:,}{share}")
    if "sharpness" in row:
        out.append(
            f"{row['sharpness']:.2f} ({row['sharpness_q2.5']:.2f} to {row['sharpness_q97.5']:.2f})"
        )
    if "threshold" in row:
        low, high = (percent(np.tanh(row[f"threshold_{end}"] / 2)) for end in ("q2.5", "q97.5"))
        out.append(f"{percent(row['says_equal'])} ({low} to {high})")
    return tuple(out)
