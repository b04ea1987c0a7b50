"""The results folder: written whole or not at all, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_type_hints

import numpy as np
import pandas as pd
from xarray import DataTree, open_datatree

from tiewise.data.files import write_csv
from tiewise.data.json_files import NOTHING, NUMBER, read_json
from tiewise.data.spreadsheet_cells import restore
from tiewise.errors import InputError
from tiewise.folders import FolderKind, atomic_folder
from tiewise.posterior.earlier_versions import centre_posterior, current_model
from tiewise.posterior.large.groups import all_draws
from tiewise.posterior.prior_sensitivity import read_sensitivity
from tiewise.posterior.reliability import reliability_facts
from tiewise.posterior.scales import DEFAULT_SCALE
from tiewise.posterior.scales.anchored import anchor_table
from tiewise.posterior.scales.leaderboard import leaderboard_of
from tiewise.posterior.scales.scale import scale_named
from tiewise.posterior.summaries import parameters, summarise
from tiewise.posterior.terms.tables import stored_terms, write_term_tables
from tiewise.posterior.variables import describe_variables
from tiewise.text import error_line, noun_forms

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

FILES = (
    "items.csv", "leaderboard.csv", "parameters.csv", "fit.json", "posterior.nc", "study.json",
    "areas.gpkg", "report.html", "briefing.pdf", "checks.csv",
    "coefficients.csv", "advantages.csv", "covariates.csv", "contrasts.csv", "judge-terms.csv",
    "anchors.csv", "robust.csv", "robust.json", "draws.csv", "draws.parquet",
)  # fmt: skip
"""Names of the files that belong to the results, besides plots, and are replaced together."""
WAY_OUT = "correct it, or fit again"
FACTS = {
    "engine": str, "exact": bool, "kind": str, "settings": dict, "engine_facts": dict,
    "seed": int, "draws": int, "chains": int, "items": int, "comparisons": int, "ties": int,
    "ties_left_out": int, "skips": int, "judges": (int, NOTHING), "seconds": {"total": NUMBER},
    "ess_min": (NUMBER, NOTHING), "rhat_max": (NUMBER, NOTHING), "reliability": dict,
    "ess_cause": str, "ess_target": int, "rounds": int, "thin": int, "warnings": [str],
    "cannot_say": str, "verdict": {"level": str, "text": str, "headline": bool, "top": int},
    "prior_sensitivity": dict, "model": dict, "terms": dict, "left_out": dict,
    "grades": {"grade": str, "grades": [str]}, "digest": str,
    "kept_one_of": int, "version": str,
}  # fmt: skip
"""The types of what is in `fit.json`."""
REQUIRED_FACTS = (
    "engine", "exact", "kind", "seed", "draws", "chains", "items", "comparisons", "ties", "skips",
    "judges", "ess_min", "rhat_max", "warnings", "model", "version",
)  # fmt: skip
KIND = FolderKind(
    "results of `tiewise fit`", FILES, {"posterior.nc": (b"\x89HDF",), "fit.json": (b"{",)}
)


@dataclass(frozen=True)
class Wording:
    """The words in which a study's results are reported: question, direction, noun, top k."""

    question: str = "Which has the higher quality?"
    higher: str = "higher quality"
    lower: str = "lower quality"
    noun: str = "item"
    top: int = 5
    source: str = ""
    groups: bool = False
    scale: str = DEFAULT_SCALE
    """The scale on which quality is reported."""

    def __post_init__(self) -> None:
        if self.scale != DEFAULT_SCALE:
            scale_named(self.scale)

    @property
    def nouns(self) -> str:
        """The plural of the noun: what follows a stroke (`city/cities`), else with an s."""
        return noun_forms(self.noun)[1]

    @property
    def one(self) -> str:
        """The singular of the noun."""
        return noun_forms(self.noun)[0]


class WordingChanges(TypedDict, total=False):
    """What of the wording of results may be changed afterwards."""

    question: str
    higher: str
    lower: str
    noun: str
    top: int
    scale: str


@dataclass(frozen=True)
class Results:
    """A results folder, read."""

    folder: Path
    tree: DataTree
    wording: Wording
    facts: Mapping[str, Any]
    cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What others derive from the results once and use more than once."""

    @cached_property
    def items(self) -> pd.DataFrame:
        """The table in `items.csv`."""
        with _as_written(self.folder / "items.csv") as path:
            # An item may be called NA: only the numbers can be missing, and then they are empty.
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
            words = ["item", "name", *(["scale"] if "scale" in table else [])]
            texts = {column: table[column].map(restore) for column in words}
            numbers = table.columns.drop([*texts])
            figures = {column: _exact(table[column]) for column in numbers}
        return table.assign(**texts, **figures)

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """The table in `parameters.csv`, by the name of the parameter."""
        with _as_written(self.folder / "parameters.csv") as path:
            table = pd.read_csv(path, dtype=str, keep_default_na=False, index_col="parameter")
            return table.apply(_exact)

    @cached_property
    def areas(self) -> Areas | None:
        """The map, where there is one."""
        from tiewise.geo.areas import Areas

        path = self.folder / "areas.gpkg"
        return Areas.read(path, id="id") if path.exists() else None


def _exact(column: pd.Series[str]) -> pd.Series[Any]:
    """The numbers of a column to the last digit, which older versions of pandas lose."""
    numbers = pd.to_numeric(column)
    if numbers.dtype.kind != "f":
        return numbers
    words = column.where(column != "", "nan").to_numpy(object)
    return pd.Series(words.astype(float), column.index)


def fit_facts(tree: DataTree, *, read_seconds: float = 0.0) -> dict[str, Any]:
    """The values of `fit.json`."""
    attrs, constant, observed = tree.attrs, tree["constant_data"], tree["observed_data"]
    answers = {name: int(observed[name].sum()) for name in ("wins_first", "wins_second", "ties")}
    ess, rhat = (float(attrs.get(name, np.nan)) for name in ("ess_min", "rhat_max"))
    quality, tie = tree["posterior/quality"], all_draws(tree)["tie"]
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
        "draws": tie.size,
        "chains": quality.sizes["chain"],
        "items": quality.sizes["item"],
        "comparisons": sum(answers.values()),
        "ties": answers["ties"],
        "ties_left_out": int(attrs.get("ties_left_out", 0)),
        "skips": int(constant["skips"]),
        "judges": None if judges < 0 else judges,
        "seconds": {
            k: round(v, 4) for k, v in (seconds | {"total": sum(seconds.values())}).items()
        },
        "ess_min": None if np.isnan(ess) else round(ess, 1),
        "rhat_max": None if np.isnan(rhat) else round(rhat, 5),
        "reliability": reliability_facts(tree),
        "ess_cause": str(attrs.get("ess_cause", "")),
        "ess_target": int(attrs.get("ess_target", 0)),
        "rounds": int(attrs.get("rounds", 0)),
        "thin": int(attrs.get("thin", 1)),
        **({"kept_one_of": int(attrs["kept_one_of"])} if "kept_one_of" in attrs else {}),
        "warnings": json.loads(attrs["warnings"]),
        "cannot_say": str(attrs.get("cannot_say", "")),
        **({"verdict": json.loads(attrs["verdict"])} if "verdict" in attrs else {}),
        "prior_sensitivity": read_sensitivity(attrs),
        "model": json.loads(attrs["model"]),
        **({"terms": stored_terms(tree)} if stored_terms(tree) else {}),
        **({"left_out": json.loads(attrs["left_out"])} if "left_out" in attrs else {}),
        **({"grades": json.loads(attrs["grades"])} if "grades" in attrs else {}),
        "digest": attrs["digest"],
        "version": attrs["version"],
    }


def write_results_folder(
    tree: DataTree,
    out: str | Path,
    *,
    wording: Wording | None = None,
    areas: Areas | None = None,
    force: bool = False,
    read_seconds: float = 0.0,
    criticise: Callable[[Results], object] | None = None,
    meanwhile: Callable[[Results], AbstractContextManager[object]] = nullcontext,
    finish: Callable[[Results], object] | None = None,
    replaces: Collection[str] = (),
) -> Results:
    """Write the results folder: whole or not at all.

    `criticise` may add facts to the tree once its tables are written, `meanwhile` begin with what
    needs but the tables, such as pictures, and `finish` add to the folder, such as a report
    (`write_report`), before it is moved to `out`. Of few items `wording.top` is lowered to one less
    than there are. `replaces` names further files that belong to the results, such as plots: with
    `force`, old ones are removed.
    """
    wording = wording or Wording()
    # Everybody is among the top of as many as there are.
    items = tree["posterior/quality"].sizes["item"]
    wording = replace(wording, top=min(wording.top, max(items - 1, 1)))
    with atomic_folder(Path(out), KIND.with_files(replaces), force=force) as folder:
        table = summarise(tree, wording.top, scale=wording.scale)
        write_csv(table, folder / "items.csv")
        write_csv(leaderboard_of(tree, table, wording.scale), folder / "leaderboard.csv")
        parameters(tree).to_csv(folder / "parameters.csv", lineterminator="\n")
        write_term_tables(tree, folder)
        if (anchors := anchor_table(tree)) is not None:
            write_csv(anchors, folder / "anchors.csv")
        _write_json(folder / "study.json", asdict(wording))
        if areas is not None:
            areas.to_gpkg(folder / "areas.gpkg")
        results = Results(folder, tree, wording, fit_facts(tree, read_seconds=read_seconds))
        with meanwhile(results):
            if criticise is not None:
                criticise(results)
                results = replace(results, facts=fit_facts(tree, read_seconds=read_seconds))
            _write_json(folder / "fit.json", results.facts)
            describe_variables(tree)
            tree.to_netcdf(folder / "posterior.nc", engine="h5netcdf")
            if finish is not None:
                finish(results)
    return Results(Path(out), tree, wording, results.facts)


def read_results(folder: str | Path) -> Results:
    """The results that `write_results` wrote into a folder."""
    place = Path(folder)
    needed = ("posterior.nc", "items.csv", "parameters.csv", "fit.json", "study.json")
    missing = [name for name in needed if not (place / name).is_file()]
    if missing:
        raise InputError(
            f"{place} is not a results folder: {', '.join(missing)} not found; "
            "make one with `tiewise fit`"
        )
    known = get_type_hints(Wording)
    values = read_json(place / "study.json", known, way_out=WAY_OUT)
    wording = Wording(**{key: value for key, value in values.items() if key in known})
    if wording.top < 1:
        raise InputError(f"{place / 'study.json'}: top is {wording.top}, not 1 or more; {WAY_OUT}")
    facts = read_json(place / "fit.json", FACTS, required=REQUIRED_FACTS, way_out=WAY_OUT)
    with _as_written(place / "fit.json"):
        facts["model"] = current_model(facts["model"])
    try:
        tree = open_datatree(place / "posterior.nc", engine="h5netcdf")
        centre_posterior(tree)
        tree.attrs["model"] = json.dumps(current_model(json.loads(tree.attrs["model"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{place / 'posterior.nc'} cannot be read; fit again") from error
    return Results(place, tree, wording, facts)


@contextmanager
def _as_written(path: Path) -> Iterator[Path]:
    """A file of the results; where it is not as a fit writes it, that is said in one line."""
    try:
        yield path
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is not as a fit writes it ({error_line(error)}); {WAY_OUT}"
        ) from None


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
