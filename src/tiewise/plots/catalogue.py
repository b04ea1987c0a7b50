"""The plots that results allow, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiewise.plots import PLOTS
from tiewise.plots.definition import Plot, PlotDefinition
from tiewise.registry import load

if TYPE_CHECKING:
    from tiewise.posterior.results_folder import Results


def available_plots(results: Results, *, criticism: bool | None = None) -> list[PlotDefinition]:
    """The plots that these results allow; without a map no maps.

    With `criticism` only those that need checks or verdict, or only the others.
    """
    definitions: list[PlotDefinition] = [load(line) for line in PLOTS.values()]
    kind = [plot for plot in definitions if criticism in (None, plot.criticism)]
    return [plot for plot in kind if plot.available(results)]


def draw_plots(results: Results) -> Iterator[Plot]:
    """Every plot that these results allow, one at a time."""
    for plot in available_plots(results):
        yield plot.draw(results)
