"""Every picture of a study: maps and plots, as matplotlib figures, each with words to go with it.

Each function takes `Results` (from `read_results` or `analyse`), and `title=` for another heading.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tiewise.plots import captions
from tiewise.plots.canvas import save
from tiewise.plots.chains import (
    Chains,
    autocorrelation_plot,
    rank_plot,
    trace_plot,
    watched,
)  # fmt: skip
from tiewise.plots.checks import check_plot, judge_plot
from tiewise.plots.group_maps import difference_picture, real_picture
from tiewise.plots.maps import faded_map, quality_map, top_map, uncertainty_map
from tiewise.plots.parameters import parameter_plot, scalars
from tiewise.plots.ranking import ranking
from tiewise.plots.term_catalogue import term_pictures
from tiewise.plots.terms import coefficient_plot, judge_terms_plot
from tiewise.plots.tie_curve import learning_plot, remaining, tie_plot
from tiewise.report.answer import ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

__all__ = [
    "Chains", "Picture", "autocorrelation_plot", "check_plot", "coefficient_plot",
    "difference_picture", "draw", "faded_map", "judge_plot", "judge_terms_plot", "learning_plot",
    "parameter_plot", "quality_map", "rank_plot", "ranking", "real_picture", "save", "tie_plot",
    "top_map", "trace_plot", "uncertainty_map", "watched",
]  # fmt: skip


class Picture(NamedTuple):
    """A picture to be saved: its name as a file, what it is called, and what is to be seen."""

    name: str
    title: str
    alt: str
    figure: Figure


def draw(results: Results) -> Iterator[Picture]:
    """Every picture that these results allow, one at a time; without geometry no maps."""
    if results.areas is not None:
        yield from _maps(results)
    yield Picture("ranking", "Ranking", captions.of_ranking(results), ranking(results))
    yield from _learnt(results)
    if results.checks:
        alt = captions.of_checks(results)
        yield Picture("checks", "Checks of the model", alt, check_plot(results))
    for picture in term_pictures(results):
        yield Picture(*picture)
    if results.facts["kind"] == "exact":
        yield from _chains(results)


def _maps(results: Results) -> Iterator[Picture]:
    yield Picture("map", "Map", captions.of_map(results), quality_map(results))
    if results.items["sd"].notna().any():
        alt = captions.of_uncertainty(results)
        yield Picture("map-uncertainty", "How unsure it is", alt, uncertainty_map(results))
        alt = captions.of_faded(results)
        yield Picture("map-faded", "Both in one map", alt, faded_map(results))
    if ranked(results):
        title = "Most likely the highest"
        yield Picture("map-top", title, captions.of_top(results), top_map(results))


def _learnt(results: Results) -> Iterator[Picture]:
    tie, variance = scalars(results)
    if (tie.draws > 0).any():
        alt = captions.of_tie_curve(results)
        yield Picture("tie-curve", "How ties were used", alt, tie_plot(results))
    if tie.free or variance.free:
        alt = captions.of_parameters(results)
        yield Picture("parameters", "Ties and spread", alt, parameter_plot(results))
    if remaining(results) is not None:
        alt = captions.of_learning(results)
        yield Picture("prior-to-posterior", "What was learnt", alt, learning_plot(results))


def _chains(results: Results) -> Iterator[Picture]:
    chains = watched(results)
    if not chains:
        return
    traces = trace_plot(results, chains=chains)
    yield Picture("traces", "Traces", captions.of_traces(chains), traces)
    ranks = rank_plot(results, chains=chains)
    yield Picture("ranks", "Ranks", captions.of_ranks(chains), ranks)
    forgetting = autocorrelation_plot(results, chains=chains)
    alt = captions.of_autocorrelation(chains)
    yield Picture("autocorrelation", "Autocorrelation", alt, forgetting)
