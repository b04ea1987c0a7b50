"""The results folder: written whole or not at all, and read again."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from xarray import DataTree, open_datatree

from tiewise.data.files import write_csv
from tiewise.errors import InputError
from tiewise.posterior.summaries import parameters, summarise
from tiewise.posterior.term_tables import said_terms, write_term_tables

if TYPE_CHECKING:
    from tiewise.criticism.predictive_checks import Check
    from tiewise.geo.areas import Areas

PICTURES = (
    "map", "map-uncertainty", "map-faded", "map-top", "ranking", "tie-curve", "parameters",
    "prior-to-posterior", "checks", "traces", "ranks", "autocorrelation",
)  # fmt: skip
"""Names of the files in the folder `pictures`, each as SVG and as PNG."""

TERM_PICTURES = ("coefficients", "difference", "difference-real", "judge-terms")
"""Those of models with terms."""

OURS = (
    "items.csv", "parameters.csv", "fit.json", "posterior.nc", "study.json", "areas.gpkg",
    "report.html", "briefing.pdf", "checks.csv",
    "coefficients.csv", "covariates.csv", "contrasts.csv", "judge-terms.csv",
    *(f"{name}.{kind}" for name in (*PICTURES, *TERM_PICTURES) for kind in ("svg", "png")),
)  # fmt: skip


@dataclass(frozen=True)
class About:
    """What the study asked, and how its results are to be told."""

    question: str = "Which has the higher quality?"
    higher: str = "higher quality"
    lower: str = "lower quality"
    noun: str = "item"
    top: int = 5
    source: str = ""
    groups: bool = False

    @property
    def nouns(self) -> str:
        """What several items are called: as said after a stroke (`city/cities`), else with an s."""
        one, _, many = self.noun.partition("/")
        return many or f"{one}s"

    @property
    def one(self) -> str:
        """What an item is called."""
        return self.noun.partition("/")[0]


@dataclass(frozen=True)
class Results:
    """A results folder, read."""

    folder: Path
    tree: DataTree
    about: About
    facts: Mapping[str, Any]

    @cached_property
    def items(self) -> pd.DataFrame:
        """The table in `items.csv`."""
        # An item may be called NA: only the numbers can be missing, and then they are empty.
        table = pd.read_csv(self.folder / "items.csv", dtype=str, keep_default_na=False)
        numbers = table.columns.drop(["item", "name"])
        return table.assign(**{column: pd.to_numeric(table[column]) for column in numbers})

    @cached_property
    def checks(self) -> list[Check]:
        """What predictive checks found; none where there is one estimate and no draws."""
        from tiewise.criticism.predictive_checks import predictive_checks

        return [] if self.facts["kind"] == "point" else predictive_checks(self.tree)

    @cached_property
    def areas(self) -> Areas | None:
        """The map, where there is one."""
        from tiewise.geo.areas import Areas

        path = self.folder / "areas.gpkg"
        return Areas.read(path, id="id") if path.exists() else None


def fit_facts(tree: DataTree, *, read_seconds: float = 0.0) -> dict[str, Any]:
    """What `fit.json` says of a fit."""
    attrs, constant, observed = tree.attrs, tree["constant_data"], tree["observed_data"]
    told = {name: int(observed[name].sum()) for name in ("wins_first", "wins_second", "ties")}
    ess, rhat = (float(attrs.get(name, np.nan)) for name in ("ess_min", "rhat_max"))
    quality = tree["posterior/quality"]
    seconds = {
        "read": read_seconds,
        "build": float(attrs["build_seconds"]),
        "sample": float(attrs["sample_seconds"]),
    }
    judges = int(constant["judges"])
    return {
        "engine": attrs["engine"],
        "exact": attrs["kind"] == "exact",
        "kind": attrs["kind"],
        "settings": json.loads(attrs["settings"]),
        "engine_facts": {
            str(key).removeprefix("engine_"): np.asarray(value).item()
            for key, value in attrs.items()
            if str(key).startswith("engine_")
        },
        "seed": int(attrs["seed"]),
        "draws": quality.sizes["chain"] * quality.sizes["draw"],
        "chains": quality.sizes["chain"],
        "items": quality.sizes["item"],
        "comparisons": sum(told.values()),
        "ties": told["ties"],
        "skips": int(constant["skips"]),
        "judges": None if judges < 0 else judges,
        "seconds": {
            k: round(v, 4) for k, v in (seconds | {"total": sum(seconds.values())}).items()
        },
        "ess_min": None if np.isnan(ess) else round(ess, 1),
        "rhat_max": None if np.isnan(rhat) else round(rhat, 5),
        "warnings": json.loads(attrs["warnings"]),
        "model": json.loads(attrs["model"]),
        **({"terms": said_terms(tree)} if said_terms(tree) else {}),
        "digest": attrs["digest"],
        "version": attrs["version"],
    }


def refuse_full(out: Path, *, force: bool) -> None:
    """Refuse a place where no folder can be written, or one that holds something unless forced."""
    try:
        _refuse(out, out.resolve(), force=force)
    except OSError as error:
        raise _unwritable(out, error) from error


def _refuse(out: Path, place: Path, *, force: bool) -> None:
    if place.exists() and not place.is_dir():
        raise InputError(f"{out} is a file; name a folder for the results (--out)")
    # A folder is replaced as a whole, and nobody should be standing in it meanwhile.
    if Path.cwd().is_relative_to(place):
        raise InputError(f"{out} is the folder you are in; name one inside it (--out)")
    if os.path.ismount(place):
        raise InputError(f"{out} is a mounted volume; name a folder inside it (--out)")
    if place.is_dir() and any(place.iterdir()) and not force:
        raise InputError(f"{out} is not empty; name another folder (--out), or overwrite (--force)")
    above = next(folder for folder in place.parents if folder.exists())
    if not above.is_dir():
        raise InputError(f"{above} is a file, so {out} cannot be in it; name another (--out)")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{above} may not be written to; name another folder (--out)")


def _unwritable(out: Path, error: OSError) -> InputError:
    why = os.strerror(error.errno) if error.errno else str(error)
    return InputError(f"{out} cannot be written ({why}); name another (--out)")


def write_results(
    tree: DataTree,
    out: str | Path,
    *,
    about: About | None = None,
    areas: Areas | None = None,
    force: bool = False,
    read_seconds: float = 0.0,
    finish: Callable[[Results], object] | None = None,
) -> Results:
    """Write the results folder beside its place and move it there when it is whole.

    `finish` may add to it, such as a report (`write_report`), before it is moved.
    """
    about = about or About()
    facts = fit_facts(tree, read_seconds=read_seconds)
    with whole_folder(Path(out), force=force) as folder:
        table = summarise(tree, about.top)
        write_csv(table, folder / "items.csv")
        parameters(tree).to_csv(folder / "parameters.csv", lineterminator="\n")
        write_term_tables(tree, folder)
        _write_json(folder / "fit.json", facts)
        _write_json(folder / "study.json", asdict(about))
        tree.to_netcdf(folder / "posterior.nc", engine="h5netcdf")
        if areas is not None:
            areas.to_gpkg(folder / "areas.gpkg")
        if finish is not None:
            finish(Results(folder, tree, about, facts))
    return Results(Path(out), tree, about, facts)


def read_results(folder: str | Path) -> Results:
    """The results that `write_results` left in a folder."""
    place = Path(folder)
    needed = ("posterior.nc", "items.csv", "parameters.csv", "fit.json", "study.json")
    missing = [name for name in needed if not (place / name).is_file()]
    if missing:
        raise InputError(
            f"{place} is not a results folder: {', '.join(missing)} not found; "
            "make one with `tiewise fit`"
        )
    known = {field.name for field in fields(About)}
    said = _read_json(place / "study.json")
    about = About(**{key: value for key, value in said.items() if key in known})
    facts = _read_json(place / "fit.json")
    try:
        tree = open_datatree(place / "posterior.nc", engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise InputError(f"{place / 'posterior.nc'} cannot be read; fit again") from error
    return Results(place, tree, about, facts)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); correct it, or fit again") from error
    if not isinstance(said, dict):
        raise InputError(f"{path} holds no names and values in braces; correct it, or fit again")
    return said


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


@contextmanager
def whole_folder(out: Path, *, force: bool = False, ours: Collection[str] = OURS) -> Iterator[Path]:
    """A folder to write in, which becomes `out` only when all went well.

    With `force`, what is in `out` is carried over, except for files called like one of `ours`.
    """
    refuse_full(out, force=force)
    try:
        with _beside(out.resolve(), ours) as new:
            yield new
    except OSError as error:
        raise _unwritable(out, error) from error


@contextmanager
def _beside(place: Path, ours: Collection[str]) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name[:60]}.", dir=place.parent))
    new, old = beside / "new", beside / "old"
    try:
        new.mkdir()
        yield new
        if place.is_dir():
            _carry_over(place, new, ours)
            place.rename(old)
        new.rename(place)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        shutil.rmtree(beside, ignore_errors=True)


def _carry_over(old: Path, new: Path, ours: Collection[str]) -> None:
    for entry in old.iterdir():
        if entry.name == "pictures" and entry.is_dir() and not entry.is_symlink():
            # Ours and the user's may lie in it side by side.
            (new / entry.name).mkdir(exist_ok=True)
            _carry_over(entry, new / entry.name, ours)
            if not any((new / entry.name).iterdir()):
                (new / entry.name).rmdir()
            continue
        if entry.name in ours or (new / entry.name).exists():
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, new / entry.name, follow_symlinks=False)
    shutil.copymode(old, new)
