"""The pictures of a report: drawn, saved, and put inside the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tiewise.allocator import first_import
from tiewise.plots import PLOTS
from tiewise.plots.canvas import load_matplotlib, save, style
from tiewise.plots.definition import Plot, PlotDefinition
from tiewise.posterior.results_folder import Results
from tiewise.progress import Progress
from tiewise.ready_process import BegunJobs, ReadyProcess
from tiewise.registry import load

MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
LARGE_SVG = 500_000
"""Bytes from which on a picture is drawn as PNG, too, which may be smaller."""
LONGEST = ("traces",)
"""Begun first, so that no process ends with it while the other has nothing left to do."""


class EmbeddedPicture(NamedTuple):
    """A picture inside the page."""

    title: str
    alt: str
    width: int
    height: int
    source: str


class BegunPictures:
    """Pictures that are being drawn in a folder by a second process."""

    def __init__(self, place: Path, png: bool, process: ReadyProcess) -> None:
        self.place, self._png, self._process = place, png, process
        self._begun: list[BegunJobs[EmbeddedPicture | None]] = []

    def begin(self, results: Results, *, criticism: bool) -> None:
        """Begin with those that show checks and verdict, or with the others."""
        known = {key: results.cache[key] for key in ("checks",) if key in results.cache}
        own = replace(results, cache=known)
        jobs = [partial(_draw, name, own, self.place, self._png, criticism) for name in _order()]
        self._begun.append(self._process.begin(jobs))

    def drawn(self, progress: Progress) -> dict[str, EmbeddedPicture]:
        """All pictures that were begun, in the order of the catalogue."""
        steps = len(self._begun) * len(PLOTS) + 1
        drawn: dict[str, EmbeddedPicture] = {}
        for place, begun in enumerate(self._begun):
            report = partial(_report, progress, place * len(PLOTS), steps)
            some = zip(_order(), begun.results(report), strict=True)
            drawn |= {name: one for name, one in some if one is not None}
        progress("drawing", steps - 1, steps)
        return {name: drawn[name] for name in PLOTS if name in drawn}


@contextmanager
def begin_pictures(
    results: Results, *, png: bool, process: ReadyProcess | None = None
) -> Iterator[BegunPictures]:
    """Draw, in a second process if there can be one, while the block runs, inside the folder.

    The results need not be criticised yet.
    """
    with (
        TemporaryDirectory(prefix=".pictures.", dir=results.folder) as place,
        ReadyProcess() if process is None else nullcontext(process) as process,
    ):
        pictures = BegunPictures(Path(place), png, process)
        pictures.begin(results, criticism=False)
        yield pictures


def _order() -> list[str]:
    """Names of plots in the order in which they are drawn."""
    return sorted(PLOTS, key=lambda name: name not in LONGEST)


def _report(progress: Progress, before: int, steps: int, place: int) -> None:
    progress("drawing", before + place, steps)


def load_libraries() -> None:
    """Import what pictures need, as they would themselves."""
    with first_import("matplotlib"):
        load_matplotlib()
        for line in PLOTS.values():
            load(line)


def _draw(
    name: str, results: Results, place: Path, png: bool, criticism: bool
) -> EmbeddedPicture | None:
    """Draw a plot and save it in `place`; None if it is of the other kind or not for these."""
    plot: PlotDefinition = load(PLOTS[name])
    if plot.criticism != criticism or not plot.available(results):
        return None
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
