"""The pictures of a report: drawn, saved, and put inside the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tiewise.forking import SharedJobs
from tiewise.plots.canvas import save, style
from tiewise.plots.catalogue import available_plots
from tiewise.plots.definition import Plot, PlotDefinition
from tiewise.posterior.results_folder import Results
from tiewise.progress import Progress

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


class BegunPictures(NamedTuple):
    """Pictures that are being drawn in a folder."""

    place: Path
    png: bool
    jobs: dict[str, Callable[[], EmbeddedPicture]]
    shared: SharedJobs[EmbeddedPicture]

    def drawn(self, results: Results, progress: Progress) -> dict[str, EmbeddedPicture]:
        """All pictures of the results: those that need predictive checks, and those begun."""
        last = _jobs(results, self.place, png=self.png, criticism=True)
        steps = len(self.jobs) + len(last) + 1
        checks = {name: draw() for name, draw in last.items()}
        begun = self.shared.results(lambda number: progress("drawing", number, steps))
        progress("drawing", steps - 1, steps)
        return dict(zip(self.jobs, begun, strict=True)) | checks


@contextmanager
def begin_pictures(results: Results, *, png: bool) -> Iterator[BegunPictures]:
    """Draw, in a second process if there can be one, while the block runs, inside the folder.

    The results need not be criticised yet.
    """
    with TemporaryDirectory(prefix=".pictures.", dir=results.folder) as place:
        jobs = _jobs(results, Path(place), png=png, criticism=False)
        with SharedJobs(list(jobs.values())) as shared:
            yield BegunPictures(Path(place), png, jobs, shared)


def _jobs(
    results: Results, place: Path, *, png: bool, criticism: bool
) -> dict[str, Callable[[], EmbeddedPicture]]:
    """What draws each plot that these results allow and saves it in `place`, by its name."""
    plots = available_plots(results, criticism=criticism)
    return {plot.name: partial(_draw, plot, results, place, png) for plot in plots}


def _draw(plot: PlotDefinition, results: Results, place: Path, png: bool) -> EmbeddedPicture:
    with style():
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
