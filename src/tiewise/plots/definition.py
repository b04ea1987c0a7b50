"""What a plot of results is: file name, title, condition, figure, and a caption in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tiewise.posterior.terms.tables import has_term

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results


class Plot(NamedTuple):
    """A plot to be saved: its name as a file, its title, its caption and its figure."""

    name: str
    title: str
    alt: str
    figure: Figure


# Conditions.

Condition = Callable[["Results"], bool]


def always(results: Results) -> bool:
    """For plots that need nothing special."""
    return True


def needs_map(results: Results) -> bool:
    """Whether there is a map."""
    return results.areas is not None


def needs_term(*names: str) -> Condition:
    """Whether the model has a term with any of these names in its posterior."""
    return lambda results: any(has_term(results.tree, name) for name in names)


def needs_all(*conditions: Condition) -> Condition:
    """Whether all of these hold; the first that does not ends the search."""
    return lambda results: all(condition(results) for condition in conditions)


@dataclass(frozen=True)
class PlotDefinition:
    """How a plot is made: `plots.PLOTS` lists all.

    `name` is that of its files, `figure` draws it, `caption` says what is to be seen for those who
    cannot see it, and `available` tells whether the results have what it needs. One of `criticism`
    shows what predictive checks found, or what the verdict allows; the others can be drawn before.
    """

    name: str
    title: str
    figure: Callable[[Results], Figure]
    caption: Callable[[Results], str]
    available: Condition = always
    criticism: bool = False

    def draw(self, results: Results) -> Plot:
        """The plot of these results."""
        return Plot(self.name, self.title, self.caption(results), self.figure(results))
