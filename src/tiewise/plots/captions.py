"""What is to be seen in a picture, for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.plots.chains import Chains
from tiewise.plots.maps import sureness
from tiewise.plots.parameters import scalars
from tiewise.plots.tie_curve import remaining
from tiewise.posterior.diagnostics import autocorrelation
from tiewise.posterior.summaries import tie_curve
from tiewise.report.answer import called, listed, number, percent, the_highest

if TYPE_CHECKING:
    from tiewise.report.folder import Results

NAMED, LONGEST = 3, 60


def _called(results: Results) -> pd.Series[str]:
    """How to speak of every item, by its id."""
    table = results.items
    names = called(table, results.about, LONGEST)
    seen = table["comparisons"] > 0
    return names.where(seen, names + " (never compared)").set_axis(pd.Index(table["item"]))


def _every(results: Results) -> str:
    return number(len(results.items), results.about.one, results.about.nouns)


def _silent(results: Results) -> str:
    count = int((results.items["comparisons"] == 0).sum())
    if not count:
        return ""
    were = "was never compared and is" if count == 1 else "were never compared and are"
    return f" {number(count, results.about.one, results.about.nouns)} {were} marked."


def _ends(results: Results) -> str:
    """Who is highest and who lowest, by the estimate."""
    names = list(_called(results))
    few = min(NAMED, len(names) // 2)
    if not few:
        return f"The only one is {names[0]}."
    return (
        f"The estimate is highest for {listed(names[:few])}, "
        f"and lowest for {listed(names[: -few - 1 : -1])}."
    )


def of_map(results: Results) -> str:
    """The map of medians."""
    about = results.about
    return (
        f"Map of {_every(results)}, from blue ({about.lower}) through white (the average) to red "
        f"({about.higher}). {_ends(results)}{_silent(results)}"
    )


def of_uncertainty(results: Results) -> str:
    """The map of standard deviations."""
    sd = results.items.set_index("item")["sd"].sort_values(ascending=False, kind="stable")
    names = _called(results)
    least = [f"{names[item]} ({sd[item]:.2f})" for item in sd.index[-1:]]
    most = [f"{names[item]} ({sd[item]:.2f})" for item in sd.index[:NAMED]]
    return (
        f"Map of {_every(results)} coloured by the standard deviation of the quality. The estimate "
        f"is least sure for {listed(most)}, and surest for {listed(least)}.{_silent(results)}"
    )


def of_faded(results: Results) -> str:
    """The map of medians that fades."""
    sure, median = sureness(results), results.items.set_index("item")["median"]
    settled = sure.reindex(median.index) >= 0.95
    above, below = int((settled & (median > 0)).sum()), int((settled & (median < 0)).sum())
    return (
        f"The map of estimates, faded to grey where it is not sure on which side of the average "
        f"{results.about.nouns} lie. Of {_every(results)}, {above:,} keep the full red of being "
        f"almost certainly above it and {below:,} the full blue of being below.{_silent(results)}"
    )


def of_top(results: Results) -> str:
    """The map of chances of the top k."""
    about, names = results.about, _called(results)
    chance = results.items.set_index("item")["top_k_probability"].nlargest(NAMED)
    leading = listed([f"{names[str(item)]} ({percent(one)})" for item, one in chance.items()])
    return (
        f"Map of how likely each {about.one} is {'one of ' if about.top > 1 else ''}"
        f"{the_highest(about)}. The chance is largest for {leading}.{_silent(results)}"
    )


def of_ranking(results: Results) -> str:
    """The ranking."""
    table = results.items
    above, below = int((table["q2.5"] > 0).sum()), int((table["q97.5"] < 0).sum())
    return (
        f"{_every(results)} from highest to lowest. {_ends(results)} The 95 % interval of "
        f"{above:,} lies wholly above the average, that of {below:,} below it.{_silent(results)}"
    )


def of_tie_curve(results: Results) -> str:
    """The chance of a tie against the difference in quality."""
    curve = tie_curve(results.tree, [0.0, 1.0, 2.0])
    none, one, two = (percent(chance) for chance in curve["median"])
    ends = f" ({percent(curve['q2.5'][0])} to {percent(curve['q97.5'][0])})"
    band = ends if results.facts["kind"] != "point" else ""
    return (
        f"Curve of how often two {results.about.nouns} are called about equal: {none}{band} where "
        f"their qualities do not differ, {one} where they differ by 1, {two} where by 2."
    )


def of_parameters(results: Results) -> str:
    """The histograms of both scalars."""
    free = [scalar for scalar in scalars(results) if scalar.free]
    said = []
    for scalar in free:
        middle, low, high = np.quantile(scalar.draws, (0.5, 0.025, 0.975))
        before = f", {scalar.said} before the judgements" if scalar.said else ""
        said.append(
            f"{scalar.words} {scalar.symbol}, median {middle:.2f} "
            f"(95 % interval {low:.2f} to {high:.2f}){before}"
        )
    prior = ", with the prior as a dashed line" if any(scalar.known for scalar in free) else ""
    return f"Histograms of the draws{prior}: {'; '.join(said)}."


def of_learning(results: Results) -> str:
    """How much uncertainty is left."""
    left, names = remaining(results), _called(results)
    assert left is not None
    most = left.nlargest(NAMED)
    named = listed([f"{names[str(item)]} ({100 * share:.0f} %)" for item, share in most.items()])
    return (
        f"Each {results.about.one} by its number of comparisons and the share of its uncertainty "
        f"that is left. For half of them less than {100 * left.median():.0f} % is left; "
        f"most is left for {named}.{_silent(results)}"
    )


def of_checks(results: Results) -> str:
    """The predictive checks."""
    said = [
        f"{check.title}: {check.observed:.3g} given, {check.low:.3g} to {check.high:.3g} expected "
        f"({check.unit}), p {'below 0.01' if check.p < 0.01 else f'{check.p:.2f}'}"
        for check in results.checks
    ]
    return f"What judges said beside what the fit expects of them. {'; '.join(said)}."


def _numbers(chains: Sequence[Chains]) -> str:
    return "; ".join(one.title for one in chains) + "."


def of_traces(chains: Sequence[Chains]) -> str:
    """The traces."""
    count, length = chains[0].draws.shape
    return f"Traces of {number(count, 'chain')} of {length:,} draws. {_numbers(chains)}"


def of_ranks(chains: Sequence[Chains]) -> str:
    """The rank plots."""
    return (
        f"Histograms of the ranks of the draws of each {chains[0].alike} among all draws; "
        f"level bars mean agreement. {_numbers(chains)}"
    )


def of_autocorrelation(chains: Sequence[Chains]) -> str:
    """The autocorrelations."""
    said = [f"{one.name} {autocorrelation(one.draws)[1]:.2f}".replace("-", "−") for one in chains]
    return f"Autocorrelation of the draws, lag by lag. Between neighbouring draws: {listed(said)}."
