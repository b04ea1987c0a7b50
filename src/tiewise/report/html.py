"""The report: one page with all that a reader of the results needs, and its pictures."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from tiewise.criticism.predictive_checks import checks_table, results_checks
from tiewise.criticism.verdict import PART_TITLES, results_verdict
from tiewise.data.files import write_csv
from tiewise.errors import InputError
from tiewise.folders import refuse_study
from tiewise.optional import require
from tiewise.plots import PLOT_FILES
from tiewise.plots.canvas import save
from tiewise.plots.checks import check_plot
from tiewise.posterior.phrases import item_labels, uncompared_note
from tiewise.posterior.results_folder import Results, WordingChanges
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.leaderboard import leaderboard_of
from tiewise.posterior.summaries import summarise
from tiewise.progress import Progress, no_progress
from tiewise.report import LIBRARIES
from tiewise.report.answer import LONGEST_NAME
from tiewise.report.item_rows import page_features
from tiewise.report.pictures import MEDIA_TYPES, BegunPictures, EmbeddedPicture, begin_pictures
from tiewise.report.section import page_sections
from tiewise.text import (
    UNKNOWN,
    capital,
    could_be,
    isolate,
    isolate_names,
    probability_percent,
    quantity,
    signed,
    true_minus,
    without_controls,
)

if TYPE_CHECKING:
    from jinja2 import Environment


def write_report(
    results: Results,
    *,
    png: bool = False,
    begun: BegunPictures | None = None,
    progress: Progress = no_progress,
) -> Path:
    """Write the pictures and `report.html` into the results folder; give the page's path.

    Pictures are SVG files, with `png` PNG files as well; they may have been `begun` before.
    Everything is made before anything is put in its place: a run that fails leaves the old report.
    """
    require("a report", *LIBRARIES)
    with (
        _moved_into(results.folder) as new,
        nullcontext(begun) if begun else begin_pictures(results, png=png) as begun,
    ):
        if results_checks(results):
            write_csv(checks_table(results_checks(results)), new / "checks.csv")
        begun.begin(results, criticism=True)  # now that the results are criticised
        page = _page(results)
        pictures = begun.drawn(progress)
        begun.place.rename(new / "pictures")
        text = rendered(results, pictures, page)
        (new / "report.html").write_text(text, encoding="utf-8", newline="\n")
        progress("drawing", len(pictures) + 1, len(pictures) + 1)
    return results.folder / "report.html"


def write_checks(results: Results) -> list[Path]:
    """Write what predictive checks found, as a table and a picture, into the results folder."""
    with _moved_into(results.folder, whole=False) as new:
        (new / "pictures").mkdir()
        write_csv(checks_table(results_checks(results)), new / "checks.csv")
        figure = check_plot(results)
        for kind in MEDIA_TYPES:
            save(figure, new / "pictures" / f"checks.{kind}")
    pictures = results.folder / "pictures"
    return [results.folder / "checks.csv", *(pictures / f"checks.{kind}" for kind in MEDIA_TYPES)]


def rewrite_report(
    results: Results,
    *,
    png: bool = False,
    progress: Progress = no_progress,
    **changes: Unpack[WordingChanges],
) -> Path:
    """Write the report anew, perhaps with other words, another `top` or another `scale`.

    The twin of `tiewise report`. `study.json` keeps the words, and another `top` changes its
    column of `items.csv`. With `png`, pictures are written as PNG files as well.
    """
    wording = replace(results.wording, **changes)
    # Everybody is among the top of as many as there are.
    wording = replace(wording, top=min(wording.top, max(int(results.facts["items"]) - 1, 1)))
    table = summarise(results.tree, wording.top, scale=wording.scale)
    with _moved_into(results.folder) as new:
        kept = [
            name
            for name in ("parameters.csv", "areas.gpkg", "robust.json")
            if (results.folder / name).exists()
        ]
        for name in kept:
            shutil.copy2(results.folder / name, new)
        write_csv(table, new / "items.csv")
        board = leaderboard_of(results.tree, table, wording.scale)
        write_csv(board, new / "leaderboard.csv")
        text = json.dumps(asdict(wording), indent=2, ensure_ascii=False)
        (new / "study.json").write_text(text + "\n", encoding="utf-8", newline="\n")
        fresh = Results(new, results.tree, wording, results.facts)
        write_report(fresh, png=png, progress=progress)
        for name in kept:
            (new / name).unlink()
    return results.folder / "report.html"


@contextmanager
def _moved_into(folder: Path, *, whole: bool = True) -> Iterator[Path]:
    """A folder to write in; what is in it is moved into the other one when all went well.

    A `whole` report replaces every picture there was.
    """
    refuse_study(folder)
    try:
        new = Path(tempfile.mkdtemp(prefix=".report.", dir=folder))
        try:
            yield new
            _move(new, folder, whole=whole)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(f"{folder} cannot be written ({why}); copy it and report there") from error


def _move(new: Path, folder: Path, *, whole: bool) -> None:
    fresh = {path.relative_to(new) for path in new.rglob("*") if path.is_file()}
    (folder / "pictures").mkdir(exist_ok=True)
    for path in sorted(fresh):
        (new / path).replace(folder / path)
    ours = {Path("pictures", name) for name in PLOT_FILES}
    for path in ours - fresh if whole else ():  # an old picture beside a new page would mislead
        (folder / path).unlink(missing_ok=True)


def rendered(
    results: Results,
    pictures: Mapping[str, EmbeddedPicture],
    page: Mapping[str, Any] | None = None,
) -> str:
    """The page as one text, with its style, its script and its pictures inside."""
    environment = _environment()
    # Names that run from right to left must not turn the sentence around them.
    names = [*results.items["name"], *item_labels(results.items, LONGEST_NAME)]
    reordering = [name for name in names if isolate(name) != name]
    environment.filters["isolated"] = partial(isolate_names, names=reordering)
    style, script = (_template(f"report.{kind}") for kind in ("css", "js"))
    return environment.get_template("report.html.jinja").render(
        **(page or _page(results)), pictures=pictures, style=style, script=script,
        style_hash=_fingerprint(style), script_hash=_fingerprint(script),
    )  # fmt: skip


def _page(results: Results) -> dict[str, Any]:
    """What the templates are given besides pictures, style and script."""
    wording = results.wording
    return {
        "wording": wording,
        "facts": results.facts,
        "verdict": results_verdict(results),
        "part_titles": PART_TITLES,
        "version": version("tiewise"),
        "every": quantity(len(results.items), wording.one, wording.nouns),
        "has": page_features(results),
        "uncompared": uncompared_note(results),
        "scale": shown_scores(results).scale,
        "meaning": shown_scores(results).meaning(results),
        "sections": page_sections(results),
    }


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def printable(value: Any) -> Any:
        # What the template calls safe is its own: the style, the script, pictures by the megabyte.
        plain = isinstance(value, str) and not hasattr(value, "__html__")
        return without_controls(value) if plain else value

    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=printable, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(
        capital=capital,
        signed=signed,
        percent=probability_percent,
        full=_full,
        fixed=_fixed,
        could_be=_could_be,
        zip=zip,
    )
    return environment


def _could_be(row: Mapping[str, Any]) -> str:
    return could_be(row["rank_q2.5"], row["rank_q97.5"])


def _template(name: str) -> str:
    return (files("tiewise.report") / "templates" / name).read_text(encoding="utf-8")


def _fingerprint(text: str) -> str:
    """What the page's own rules call a text that they allow."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _full(value: float) -> str:
    """A number in full, so that nothing is lost between the tables and the page."""
    return "" if np.isnan(value) else repr(float(value)).removesuffix(".0")


def _fixed(value: float, digits: int = 2) -> str:
    return UNKNOWN if np.isnan(value) else true_minus(f"{value:,.{digits}f}")
