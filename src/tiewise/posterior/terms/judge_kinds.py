"""Judges of several kinds: sharpness and thresholds of groups, and what an answer is worth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.data.answers import grade_probabilities
from tiewise.model import BY_GROUP
from tiewise.posterior.results_folder import Results
from tiewise.posterior.summaries import ENDS
from tiewise.posterior.terms.tables import judge_terms, stored_terms
from tiewise.text import probability_percent

Floats = NDArray[np.float64]

DRAWS, PAIRS = 400, 1000
"""Of draws and compared pairs that information is averaged over, at most so many."""
STEP = 1e-4
"""Of numerical derivatives of probabilities."""


def has_kinds(tree: DataTree) -> bool:
    """Whether groups of judges, not single judges, have a sharpness or threshold of their own."""
    terms = stored_terms(tree)
    return BY_GROUP in (terms.get("sharpness"), terms.get("thresholds"))


def kind_table(tree: DataTree) -> pd.DataFrame:
    """One row per group: `judge_terms`, and what an answer is worth in answers of the best group.

    `worth` is the ratio of Fisher information about the difference of two qualities, averaged over
    compared pairs, with its interval.
    """
    table = judge_terms(tree).rename(columns={"judge": "group"})
    table = table.loc[:, ~table.columns.duplicated()]
    names = tree["posterior/judge"].to_numpy().astype(str)
    information = pd.Series(list(_information(tree)), index=names)
    best = max(names, key=lambda name: float(np.median(information[name])))
    ratios = np.stack([information[name] / information[best] for name in table["group"]])
    low, middle, high = np.quantile(ratios, (ENDS[0], 0.5, ENDS[1]), axis=1)
    return table.assign(**{"worth": middle, "worth_q2.5": low, "worth_q97.5": high})


def _information(tree: DataTree) -> Floats:
    """Information of an answer of each group at each draw (groups, draws)."""
    posterior, observed = tree["posterior"], tree["observed_data"]
    quality = posterior["quality"].to_numpy()
    quality = quality.reshape(-1, quality.shape[-1])
    draws = np.linspace(0, len(quality) - 1, min(len(quality), DRAWS)).round().astype(int)
    first, second = (observed[name].to_numpy() for name in ("first", "second"))
    pairs = np.linspace(0, len(first) - 1, min(len(first), PAIRS)).round().astype(int)
    gap = quality[draws][:, first[pairs]] - quality[draws][:, second[pairs]]
    cuts = posterior["cut" if "cut" in posterior else "tie"].to_numpy()
    cuts = cuts.reshape(len(quality), -1)[draws]
    # A group's threshold scales all cuts alike; it is that of the first which is not 0.
    first_cut = cuts[:, 0] if cuts.shape[1] == 1 or cuts[:, 0].any() else cuts[:, 1]
    out = []
    for k in range(posterior.sizes["judge"]):
        sharp, own = np.ones(len(draws)), cuts
        if "sharpness" in posterior:
            sharp = posterior["sharpness"].isel(judge=k).to_numpy().ravel()[draws]
        if "threshold" in posterior:
            threshold = posterior["threshold"].isel(judge=k).to_numpy().ravel()[draws]
            own = cuts * (threshold / first_cut)[:, None]
        out.append(answer_information(gap, sharp[:, None], own.T[..., None]).mean(axis=1))
    return np.stack(out)


def answer_information(gap: Floats, sharpness: Floats | float, cuts: Floats) -> Floats:
    """Fisher information that an answer has about a difference in quality.

    `cuts` (levels, ...) are those of graded answers, or the threshold of ties alone.
    """
    whole = sharpness * gap
    all_cuts = np.broadcast_to(cuts, (len(cuts), *whole.shape))
    at, up, down = (grade_probabilities(whole + step, all_cuts) for step in (0.0, STEP, -STEP))
    # An answer that nobody can give tells nothing.
    with np.errstate(all="ignore"):
        squares = np.where(at > 0, ((up - down) / (2 * STEP)) ** 2 / at, 0.0)
    return np.asarray(sharpness**2 * squares.sum(axis=0), np.float64)


def kind_sentences(results: Results) -> Iterator[str]:
    """What an answer of each kind of judge is worth, and how each uses ties."""
    table = kind_table(results.tree).sort_values("worth", ascending=False, kind="stable")
    rows = table.to_dict("records")
    for row in rows[1:]:
        yield (
            f"One answer of “{row['group']}” tells as much as {row['worth']:.2f} answers of "
            f"“{rows[0]['group']}” (95 % interval {row['worth_q2.5']:.2f} to "
            f"{row['worth_q97.5']:.2f})."
        )
    yield (
        "That is said of single answers. Judges of one kind, machines above all, repeat their "
        "errors: more of their answers do not make up for what that kind gets wrong."
    )
    if "says_equal" in table:
        parts = (f"“{row['group']}” {probability_percent(row['says_equal'])}" for row in rows)
        yield (
            f"Shown two {results.wording.nouns} of the same quality, they say “about equal”: "
            f"{', '.join(parts)} of the time."
        )
