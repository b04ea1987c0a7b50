"""Record what this version computes, so that a later one can be compared with it byte by byte.

    python tests/regression/record.py            every case and every listing
    python tests/regression/record.py NAME ...   these cases alone

Fits and experiments go through the `tiewise` command only. What has to import Python names is in
`routes`, `density_points` and nowhere else.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = ROOT.parent / "shared" / "data"

DIGESTS, DENSITY = HERE / "digests.json", HERE / "density.json"
ROUTES, SCHEMA, HELP = HERE / "routes.txt", HERE / "schema.sql", HERE / "help.txt"

ROWS = 12
"""Rows of a table that are written out beside its digest."""


# Cases.


@dataclass(frozen=True)
class Case:
    """Commands to run one after the other, and the folder whose tables are digested.

    `{shared}` stands for the folder of the real studies; everything else is relative to a folder
    in which `prepare` has put the small study.
    """

    commands: tuple[tuple[str, ...], ...]
    folder: str
    real: bool = False

    @property
    def missing(self) -> bool:
        """Whether it needs real studies that are not beside this checkout."""
        return self.real and not SHARED.is_dir()


SMALL_STUDY = ("simulate", "small", "--county", "12", "--comparisons", "300", "--judges", "6",
               "--seed", "3")  # fmt: skip
TERMS = {
    "formula": ("--areas", "small/areas.gpkg", "--formula", "deprivation + town",
                "--covariates", "items.csv"),
    "order": ("--order",),
    "judge-groups": ("--judge-groups", "sex"),
    "waves": ("--waves", "year"),
    "sharpness": ("--sharpness",),
    "thresholds": ("--thresholds",),
    "advantage": ("--advantage", "home"),
    "all-terms": ("--areas", "small/areas.gpkg", "--formula", "deprivation",
                  "--covariates", "items.csv", "--order", "--judge-groups", "sex", "--sharpness",
                  "--thresholds"),
}  # fmt: skip
ENGINES = {
    "transport": ("--draws", "600"),
    "gibbs": ("--draws", "600"),
    "metropolis": ("--draws", "600"),
    "caron-doucet": ("--prior", "independent", "--draws", "600"),
    "laplace": ("--draws", "600"),
    "maximum-likelihood": ("--prior", "independent"),
}
PRIORS = {
    "network": ("--areas", "small/areas.gpkg"),
    "distance": ("--areas", "small/areas.gpkg", "--prior", "distance", "--reach", "20000"),
}
EXPERIMENTS = ("efficiency", "scalability", "alpha", "delta", "coverage", "ties")


def fit(file: str, *words: str, seed: int = 1) -> tuple[str, ...]:
    """A fit under the priors of then, whose tables go to `results`."""
    then = ("--priors", "paper")
    return ("fit", file, *words, *then, "--seed", str(seed), "--no-report", "--out", "results")


def cases() -> dict[str, Case]:
    """Every case by its name."""
    simulated = ("simulate", "data", "--county", "60", "--comparisons", "900", "--seed", "7")
    county = fit(
        "data/comparisons.csv", "--areas", "data/areas.gpkg",
        "--question", "Which ward has the higher rate of fly-tipping?",
        "--higher", "higher rate", "--lower", "lower rate", "--noun", "ward",
    )  # fmt: skip
    recorded = {
        "south-yorkshire": Case(
            (fit("{shared}/south-yorkshire-comparisons.csv"),), "results", real=True
        ),
        "dar-es-salaam": Case(
            (fit("{shared}/dar-es-salaam-comparisons.csv",
                 "--areas", "{shared}/dar-es-salaam-subwards.gpkg",
                 "--id", "id", "--name", "subwardName"),),
            "results", real=True,
        ),
        "demo-data": Case((simulated,), "data"),
        "demo": Case((simulated, county), "results"),
        "small-data": Case(((SMALL_STUDY[0], "again", *SMALL_STUDY[2:]),), "again"),
    }  # fmt: skip
    for name, words in TERMS.items():
        recorded[f"term-{name}"] = Case((fit("judged.csv", *words, "--draws", "600"),), "results")
    for name, words in ENGINES.items():
        asked = fit("judged.csv", "--engine", name, *words)
        recorded[f"engine-{name}"] = Case((asked,), "results")
    for name, words in PRIORS.items():
        recorded[f"prior-{name}"] = Case((fit("judged.csv", *words, "--draws", "600"),), "results")
    for name in EXPERIMENTS:
        asked = ("experiment", name, "--quick", "--seed", "1", "--out", "experiment")
        recorded[f"experiment-{name}"] = Case((asked,), "experiment")
    return recorded


def tiewise(*words: str, folder: Path) -> str:
    """Run the command in a folder; what it printed."""
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    # Workers of an experiment are processes of their own, and are to import the same code.
    environment = {**os.environ, **one, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(HERE / "command.py"), *words]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"tiewise {' '.join(words)} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def prepare(folder: Path) -> None:
    """The small study: simulated judgements, with the columns that terms ask for added by rule."""
    tiewise(*SMALL_STUDY, folder=folder)
    rows = read_table(folder / "small" / "comparisons.csv")
    for number, row in enumerate(rows):
        row["sex"] = "women" if int(row["user_id"].split()[-1]) % 2 else "men"
        row["year"] = "2019" if number < len(rows) // 2 else "2024"
        row["home"] = str((number * 7 % 11 - 5) / 5)
    _write_table(folder / "judged.csv", rows)
    items = [row["item"] for row in read_table(folder / "small" / "truth.csv") if row.get("item")]
    about = [
        {"item": item, "deprivation": str(k * k % 7 / 2), "town": "yes" if k % 3 else "no"}
        for k, item in enumerate(sorted(items, key=int))
    ]
    _write_table(folder / "items.csv", about)


def compute(case: Case, study: Path) -> dict[str, Any]:
    """Run a case beside a copy of the small study; digests and beginnings of its tables."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for path in study.iterdir():
            (folder / path.name).symlink_to(path)
        for words in case.commands:
            tiewise(*(word.replace("{shared}", str(SHARED)) for word in words), folder=folder)
        out = folder / case.folder
        record: dict[str, Any] = {
            "commands": [" ".join(("tiewise", *words)) for words in case.commands]
        }
        if (out / "results.parquet").is_file():
            return record | _experiment(out)
        tables = sorted(out.glob("*.csv"))
        record["sha256"] = {path.name: _sha256(path.read_bytes()) for path in tables}
        for path in tables:
            if path.name in ("items.csv", "parameters.csv"):
                record[path.stem] = _beginning(read_table(path))
        return record


def _experiment(out: Path) -> dict[str, Any]:
    """What an experiment found, task by task; its times are in a file of their own."""
    import pandas as pd

    results = pd.read_parquet(out / "results.parquet")
    rows = results.sort_values(list(results.columns)).reset_index(drop=True)
    text = rows.to_csv(index=False)
    record: dict[str, Any] = {
        "columns": list(rows.columns),
        "tasks": len(rows),
        "sha256": {"results.parquet as sorted CSV": _sha256(text.encode())},
    }
    if not len(pd.read_parquet(out / "timings.parquet")):
        record["sha256"]["table.csv"] = _sha256((out / "table.csv").read_bytes())
    else:
        record["left out"] = "table.csv and timings.parquet, which hold times"
    numbers = rows.select_dtypes("number").drop(columns="seed", errors="ignore")
    record["mean"] = {name: _rounded(str(value)) for name, value in numbers.mean().items()}
    return record


def read_table(path: Path) -> list[dict[str, str]]:
    """A CSV file, as it is written."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write_table(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _beginning(rows: list[dict[str, str]]) -> list[list[Any]]:
    """The first rows of a table: what it is, mean and standard deviation, to six digits."""
    first = next(iter(rows[0]))
    columns = [name for name in ("mean", "estimate", "sd") if name in rows[0]]
    return [[row[first], *(_rounded(row[name]) for name in columns)] for row in rows[:ROWS]]


def _rounded(number: str) -> float | None:
    return round(float(number), 6) if number not in ("", "nan") else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def made_with() -> dict[str, str]:
    """What the last bits of a number depend on beside our own code."""
    import llvmlite.binding

    libraries = ("numpy", "scipy", "numba", "pandas", "polyagamma")
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in libraries},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": llvmlite.binding.get_host_cpu_name(),
    }


# Listings.


def schema() -> str:
    """The schema of a fresh study's SQLite database."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "trees.csv").write_text("name\nAsh\nBirch\n", encoding="utf-8")
        tiewise("new", "s", "--items", "trees.csv", "--question", "Which is taller?", folder=folder)
        tiewise("invite", "s", folder=folder)
        database = sqlite3.connect(folder / "s" / "study.db")
        rows = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        database.close()
    # SQLAlchemy 2.0 writes the same with brackets.
    plain = (sql.replace("DEFAULT (0)", "DEFAULT 0") for (sql,) in rows)
    statements = sorted("\n".join(map(str.rstrip, sql.splitlines())) for sql in plain)
    return "".join(f"{statement};\n\n" for statement in statements).rstrip() + "\n"


def help_texts() -> str:
    """The help of the program and of every command, as a terminal of a hundred columns has it."""
    from click import Group
    from click.testing import CliRunner

    main = _command().entry_point()
    assert isinstance(main, Group)
    texts = []
    for words in ([], *([name] for name in sorted(main.commands))):
        asked = [*words, "--help"]
        ran = CliRunner().invoke(main, asked, prog_name="tiewise", env={"COLUMNS": "100"})
        assert ran.exit_code == 0, ran.output
        texts.append(f"$ tiewise {' '.join(asked)}\n{ran.output}")
    return "\n".join(texts)


def _command() -> Any:
    """`command.py`, whether this file was started as a script or imported by a test."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("tiewise_command", HERE / "command.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def routes() -> str:
    """Every route of the site: methods and path."""
    from tiewise.web.app import routes

    lines = [f"{route.path} {','.join(sorted(route.methods or ()))}" for route in routes()]
    return "".join(f"{line}\n" for line in sorted(lines))


def density_points() -> dict[str, Any]:
    """Log likelihood and its derivatives at fixed points of a small data set, in full precision.

    `plain` is the model without terms, `every term` the one with all of them, and `posterior` the
    latter with its priors, given the scales of its layers.
    """
    import numpy as np

    from tiewise.data.counts import Counts
    from tiewise.engines.preconditioners.hierarchical import HierarchicalPosterior
    from tiewise.engines.preconditioners.hierarchical_marginal import ModeFinder
    from tiewise.geo.graph import Graph
    from tiewise.model.bradley_terry import BradleyTerry
    from tiewise.model.map_priors import Network
    from tiewise.model.scalar_priors.exponential import Exponential
    from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
    from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds

    items, judges, groups = ("a", "b", "c", "d"), ("p", "q", "r"), 2
    number = np.arange(60)
    first, second = number % 4, (number % 4 + 1 + number // 4 % 3) % 4
    judge, answer = number // 2 % 3, (number * number + number // 7) % 3
    table = {"item": list(items), "x": [0.3, 1.0, 2.5, 2.0]}
    prior = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]), share=1)

    def model(terms: tuple[Any, ...] = (), *, ordered: bool = False) -> BradleyTerry:
        counts = Counts.of(
            items, first, second, answer == 0, answer == 2, answer == 1,
            stratum=judge if terms else None, strata=judges if terms else ("all",),
            ordered=ordered,
        )  # fmt: skip
        how: Any = {"variance": InverseGamma(3, 2), "tie": Exponential(2.0)}
        return BradleyTerry(counts, prior, terms=terms, **how)

    def waves(size: int, k: int, height: float = 1.0) -> Any:
        """Numbers without any pattern that matters, the same on every machine to the last bits."""
        return height * (((np.arange(size) * 37 + 11 * k) % 23) / 11.0 - 1.0)

    def listed(array: Any) -> Any:
        return np.asarray(array, float).tolist()

    plain = model()
    group = {"p": "old", "q": "young", "r": "old"}
    terms = (Covariates(table, "x"), Order(), Groups(group), Sharpness(), Thresholds())
    whole = model(terms, ordered=True)
    design, posterior = whole.design, HierarchicalPosterior(whole)
    finder = ModeFinder(posterior)
    record: dict[str, Any] = {"plain": [], "every term": [], "posterior": []}
    for k, height in enumerate((0.5, 1.0, 3.0, 30.0)):
        quality, tie = waves(4, k, height)[:, None], np.array([0.2 + 0.3 * k])
        by_quality, by_tie = plain.gradient(quality, tie)
        hessian = plain.negative_hessian(quality[:, 0], float(tie[0]))
        record["plain"].append({
            "quality": listed(quality[:, 0]), "tie": float(tie[0]),
            "log likelihood": float(plain.log_likelihood(quality, tie)[0]),
            "slope by quality": listed(by_quality[:, 0]), "slope by tie": float(by_tie[0]),
            "curvature by qualities": listed(hessian.qualities),
            "curvature by quality and tie": listed(hessian.quality_and_tie),
            "curvature by tie": float(hessian.tie),
        })  # fmt: skip
        more = {
            "contrast": waves(groups * 4, k + 1, 0.5).reshape(groups, 4, 1),
            "order": waves(1, k + 2, 0.5)[:, None],
            "sharpness": np.exp2(waves(3, k + 3, 0.5))[:, None],
            "threshold": np.exp2(waves(3, k + 4, 0.5))[:, None],
        }
        at = design.arguments(quality, np.ones(1), more)
        record["every term"].append({
            "quality": listed(quality[:, 0]),
            **{name: listed(value[..., 0]) for name, value in more.items()},
            "log likelihood": float(design.likelihood.log_likelihood(at)[0]),
            "slopes": {
                name: listed(part[:, 0])
                for name, part in zip(
                    ("quality", "shift", "log sharpness", "threshold"),
                    design.likelihood.gradient(at)[:4], strict=True,
                )
            },
        })  # fmt: skip
        scales = waves(len(posterior.layers), k + 5, 0.5)
        point = posterior.start() + waves(sum(posterior.sizes), k + 6, min(height, 3.0) / 2)
        slope = np.concatenate([part[:, 0] for part in finder.gradient(point, scales)])
        record["posterior"].append({
            "point": listed(point), "log scales": listed(scales),
            "log density": finder.log_density(point, scales), "slope": listed(slope),
        })  # fmt: skip
    return record


# Recording.


def read_digests() -> dict[str, Any]:
    """What was recorded."""
    record: dict[str, Any] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return record


def record_listings() -> None:
    """Write routes, schema, help texts and density points."""
    ROUTES.write_text(routes(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
    HELP.write_text(help_texts(), encoding="utf-8")
    DENSITY.write_text(json.dumps(density_points(), indent=1) + "\n", encoding="utf-8")


def record_cases(names: Iterable[str]) -> None:
    """Run these cases and write what they give among what is recorded already."""
    known = cases()
    with tempfile.TemporaryDirectory() as place:
        study = Path(place)
        prepare(study)
        for name in names:
            if known[name].missing:
                print(f"{name}: left out, its data is not beside this checkout")
                continue
            begun = time.perf_counter()
            result = compute(known[name], study)
            print(f"{name}: {time.perf_counter() - begun:.1f} s", flush=True)
            digests = read_digests()["cases"] if DIGESTS.exists() else {}
            digests[name] = result
            ordered = {key: digests[key] for key in known if key in digests}
            _write_digests({"made with": made_with(), "cases": ordered})


def _write_digests(digests: dict[str, Any]) -> None:
    text = json.dumps(digests, indent=1, ensure_ascii=False)
    DIGESTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.path[0] = str(ROOT / "src")
    if not sys.argv[1:]:
        record_listings()
    record_cases(sys.argv[1:] or cases())
