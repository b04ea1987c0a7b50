"""The results folder: written whole or not at all, and read again."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from xarray import DataTree, open_datatree

from tiewise.errors import InputError
from tiewise.results.diagnostics import worst
from tiewise.results.summaries import parameters, summarise

if TYPE_CHECKING:
    from tiewise.core.areas import Areas

OURS = (
    "items.csv", "parameters.csv", "fit.json", "posterior.nc", "study.json", "areas.gpkg",
    "map.png", "map.svg", "ranking.png", "ranking.svg",
)  # fmt: skip


@dataclass(frozen=True)
class About:
    """What the study asked, and how its results are to be told."""

    question: str = "Which has the higher quality?"
    higher: str = "chosen more often"
    top: int = 5
    source: str = ""
    groups: bool = False


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
        text = {"item": str, "name": str}
        return pd.read_csv(self.folder / "items.csv", dtype=text, keep_default_na=False, na_values={
            column: [""] for column in ("rank_q2.5", "rank_q97.5", "top_k_probability", "sd")
        })  # fmt: skip

    @cached_property
    def areas(self) -> Areas | None:
        """The map, where there is one."""
        from tiewise.core.areas import Areas

        path = self.folder / "areas.gpkg"
        return Areas.read(path, id="id") if path.exists() else None


def fit_facts(tree: DataTree, *, read_seconds: float = 0.0) -> dict[str, Any]:
    """What `fit.json` says of a fit."""
    attrs, constant, observed = tree.attrs, tree["constant_data"], tree["observed_data"]
    told = {name: int(observed[name].sum()) for name in ("wins_first", "wins_second", "ties")}
    ess, rhat = worst(tree) if attrs["kind"] == "exact" else (np.nan, np.nan)
    quality = tree["posterior/quality"]
    seconds = {
        "read": read_seconds,
        "build": float(attrs["build_seconds"]),
        "sample": float(attrs["sample_seconds"]),
    }
    seconds["total"] = sum(seconds.values())
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
        "digest": attrs["digest"],
        "version": attrs["version"],
    }


def refuse_full(out: Path, *, force: bool) -> None:
    """Refuse a folder that holds something, unless forced to write into it."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; name a folder for the results (--out)")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise InputError(f"{out} is not empty; name another folder (--out), or overwrite (--force)")


def write_results(
    tree: DataTree,
    out: str | Path,
    *,
    about: About | None = None,
    areas: Areas | None = None,
    pictures: bool = True,
    force: bool = False,
    read_seconds: float = 0.0,
) -> Results:
    """Write the results folder beside its place and move it there when it is whole."""
    about = about or About()
    with whole_folder(Path(out), force=force) as folder:
        table = summarise(tree, about.top)
        table.to_csv(folder / "items.csv", index=False, lineterminator="\n")
        parameters(tree).to_csv(folder / "parameters.csv", lineterminator="\n")
        _write_json(folder / "fit.json", fit_facts(tree, read_seconds=read_seconds))
        _write_json(folder / "study.json", asdict(about))
        tree.to_netcdf(folder / "posterior.nc", engine="h5netcdf")
        if areas is not None:
            areas.to_gpkg(folder / "areas.gpkg")
        if pictures:
            _write_pictures(folder, table, about, areas)
    return read_results(out)


def _write_pictures(folder: Path, table: pd.DataFrame, about: About, areas: Areas | None) -> None:
    from tiewise.results import pictures

    drawn = {"ranking": pictures.ranking(table, question=about.question)}
    if areas is not None:
        drawn["map"] = pictures.quality_map(table, areas, question=about.question)
    for name, figure in drawn.items():
        pictures.save(figure, folder / f"{name}.svg")
        pictures.save(figure, folder / f"{name}.png")


def read_results(folder: str | Path) -> Results:
    """The results that `write_results` left in a folder."""
    place = Path(folder)
    missing = [n for n in ("posterior.nc", "fit.json", "study.json") if not (place / n).is_file()]
    if missing:
        raise InputError(
            f"{place} is not a results folder: {', '.join(missing)} not found; "
            "make one with `tiewise fit`"
        )
    tree = open_datatree(place / "posterior.nc", engine="h5netcdf")
    known = {field.name for field in fields(About)}
    said = json.loads((place / "study.json").read_text(encoding="utf-8"))
    about = About(**{key: value for key, value in said.items() if key in known})
    facts = json.loads((place / "fit.json").read_text(encoding="utf-8"))
    return Results(place, tree, about, facts)


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


@contextmanager
def whole_folder(out: Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to write in, which becomes `out` only when all went well.

    With `force`, files in `out` that are not ours are carried over.
    """
    refuse_full(out, force=force)
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        new = beside / "new"
        new.mkdir()
        yield new
        if out.is_dir():
            _carry_over(out, new)
            out.rename(beside / "old")
        new.rename(out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _carry_over(old: Path, new: Path) -> None:
    for entry in old.iterdir():
        if entry.name in OURS:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, new / entry.name, follow_symlinks=False)
