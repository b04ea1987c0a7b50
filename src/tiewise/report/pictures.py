"""The pictures of a report: drawn, saved, and put inside the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tiewise.plots.canvas import save
from tiewise.plots.catalogue import available_plots
from tiewise.plots.definition import Plot, PlotDefinition
from tiewise.posterior.results_folder import Results

MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
LARGE_SVG = 500_000
"""Bytes from which on a picture is drawn as PNG, too, which may be smaller."""


class EmbeddedPicture(NamedTuple):
    """A picture inside the page."""

    title: str
    alt: str
    width: int
    height: int
    source: str


def picture_jobs(
    results: Results, place: Path, *, png: bool
) -> dict[str, Callable[[], EmbeddedPicture]]:
    """What draws each plot that these results allow and saves it in `place`, by its name."""
    return {
        plot.name: partial(_draw, plot, results, place, png) for plot in available_plots(results)
    }


def _draw(plot: PlotDefinition, results: Results, place: Path, png: bool) -> EmbeddedPicture:
    return embedded(plot.draw(results), place, png=png)


def embedded(plot: Plot, place: Path, *, png: bool) -> EmbeddedPicture:
    """A picture saved as SVG, perhaps as PNG, and the smaller of the two as a data URI."""
    written = {kind: place / f"{plot.name}.{kind}" for kind in MEDIA_TYPES}
    save(plot.figure, written["svg"])
    if png or written["svg"].stat().st_size > LARGE_SVG:
        save(plot.figure, written["png"])
    else:
        del written["png"]
    kind = min(written, key=lambda kind: written[kind].stat().st_size)
    inside = b64encode(written[kind].read_bytes()).decode()
    width, height = (round(96 * float(inches)) for inches in plot.figure.get_size_inches())
    return EmbeddedPicture(
        plot.title, plot.alt, width, height, f"data:{MEDIA_TYPES[kind]};base64,{inside}"
    )
