"""How to fit the same again: the command, the lines of Python, and what neither can know."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from tiewise.errors import InputError
from tiewise.model.scalar_priors import (
    TIE_PRIORS,
    VARIANCE_PRIORS,
    Exponential,
    InverseGamma,
    say,
    spoken,
)
from tiewise.report.folder import About, Results

WORDS = ("question", "higher", "lower", "noun")
UNNAMED = "judgements.csv"


def source_name(about: About) -> str:
    """The file of judgements without its folder; a data frame has no name."""
    name = PurePath(about.source.replace("\\", "/")).name
    return name if "." in name else UNNAMED


def command(results: Results) -> str:
    """The `tiewise fit` that would give these results again, as far as it can be known."""
    facts, about = results.facts, results.about
    words = ["tiewise", "fit", source_name(about), *_surroundings(results), *_priors(results)]
    words += [*_term_options(results), "--engine", facts["engine"]]
    if "draws" in facts["settings"]:
        words += ["--draws", str(facts["settings"]["draws"])]
    words += ["--seed", str(facts["seed"]), "--top", str(about.top)]
    for name, said in _said(about).items():
        words += [f"--{name}", said]
    return shlex.join([*words, "--out", "again"])


def python(results: Results) -> str:
    """The same in Python, with every setting of the engine."""
    about, facts = results.about, results.facts
    options = _as_keywords(_surroundings(results))
    settings = ", ".join(f"{key}={value!r}" for key, value in facts["settings"].items())
    engine = "".join(part.title() for part in facts["engine"].split("-"))
    said = ", ".join(f"{key}={_quoted(value)}" for key, value in _said(about).items())
    lines = [
        _quoted(source_name(about)),
        _quoted("again"),
        f"around=tw.Surroundings.read({options})",
        f"engine=tw.{engine}({settings})",
        f"seed={facts['seed']}",
        f"about=tw.About(top={about.top}{', ' if said else ''}{said})",
        *_prior_lines(results),
        *(f"{key}={value!r}" for key, value in _terms(results).items()),
    ]
    return "import tiewise as tw\n\ntw.analyse(\n" + "".join(f"    {x},\n" for x in lines) + ")"


def unknowns(results: Results) -> list[str]:
    """What has to be known besides, to fit the same again."""
    about, facts = results.about, results.facts
    said = [f"Both are run in a copy of the results folder, with {source_name(about)} put into it."]
    if source_name(about) == UNNAMED != about.source:
        said = [
            "The judgements did not come from a file with a name: save them as "
            f"{UNNAMED} in a copy of the results folder, and run either there."
        ]
    said.append("Columns of the file that had to be named (such as --first) must be named again.")
    prior = facts["model"].get("quality", "")
    if prior.startswith("network") and results.areas is not None:
        said.append(f"Lone areas may have been joined (--join-islands); the prior was {prior}.")
    elif prior.startswith(("network", "covariance", "precision")):
        said.append("The neighbours or the matrix of the prior are not kept with the results.")
    tables = [_terms(results)[key] for key in ("judges", "waves") if key in _terms(results)]
    files = [name for name in tables if "." in name or name == "table"]
    if files:
        said.append(f"Not kept with the results, and to be put beside: {', '.join(files)}.")
    if "terms" in facts["model"] and "terms" not in facts:
        said.append(f"Its terms were made in Python: {facts['model']['terms']}.")
    unspoken = [name for name in ("variance", "tie") if _belief(results, name) is None]
    if unspoken:
        said.append(f"The prior of the {' and the '.join(unspoken)} was made in Python.")
    return said


def _terms(results: Results) -> dict[str, Any]:
    """The terms that were asked for; the columns of a formula are kept with the results."""
    told: dict[str, Any] = dict(results.facts.get("terms", {}))
    return told | ({"covariates": "covariates.csv"} if "formula" in told else {})


def _term_options(results: Results) -> list[str]:
    words = []
    for key, value in _terms(results).items():
        words += [f"--{key.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words


def _said(about: About) -> dict[str, str]:
    """The words of the study that are not the usual ones."""
    usual = {field.name: field.default for field in fields(About)}
    given = {name: getattr(about, name) for name in WORDS}
    return {name: said for name, said in given.items() if said != usual[name]}


def _surroundings(results: Results) -> list[str]:
    prior = results.facts["model"].get("quality", "independent")
    words = []
    if results.areas is not None:
        words += ["--areas", "areas.gpkg"]
    elif prior.startswith("network"):
        words += ["--edges", "neighbours.csv"]
    if prior.startswith(("covariance", "precision")):
        words += ["--matrix", "matrix.csv"]
    return words + (["--names", "items.csv"] if _named(results) else [])


def _named(results: Results) -> bool:
    """Whether names came from elsewhere than the map."""
    items, areas = results.items, results.areas
    known = dict(zip(areas.items, areas.names, strict=True)) if areas is not None else {}
    return any(
        known.get(item, item) != name
        for item, name in zip(items["item"], items["name"], strict=True)
    )


def _as_keywords(words: list[str]) -> str:
    pairs = zip(words[::2], words[1::2], strict=True)
    return ", ".join(f"{name.lstrip('-')}={_quoted(value)}" for name, value in pairs)


def _quoted(text: str) -> str:
    # What JSON makes of a text is also what Python reads.
    return json.dumps(text, ensure_ascii=False)


def _priors(results: Results) -> list[str]:
    words = []
    kind, reach = _kind(results)
    if kind is not None:
        words += ["--prior", kind]
    if reach is not None:
        words += ["--reach", reach]
    usual = {"variance": say(InverseGamma()), "tie": say(Exponential())}
    for name, prior in usual.items():
        said = _belief(results, name)
        if said == "no ties":
            words += ["--no-ties"]
        elif said not in (prior, "", None):
            words += [f"--{name}-prior", said]
    return words


def _prior_lines(results: Results) -> list[str]:
    kind, reach = _kind(results)
    lines = [f"prior={_quoted(kind)}"] if kind is not None else []
    lines += [f"reach={reach}"] if reach is not None else []
    for name, kinds in (("variance", VARIANCE_PRIORS), ("tie", TIE_PRIORS)):
        said = _belief(results, name)
        if said == "no ties":
            lines.append("ties=False")
        elif said:
            lines.append(f"{name}=tw.{spoken(said, kinds)!r}")
    return lines


def _kind(results: Results) -> tuple[str | None, str | None]:
    """The prior of quality where it has to be said, and its reach."""
    prior = results.facts["model"].get("quality", "independent")
    kind = re.split(r"[\s:]", prior)[0]
    usual = kind == "network" or (kind == "independent" and results.areas is None)
    reach = re.search(r"reach (\S+)", prior) if kind == "distance" else None
    return None if usual else kind, reach[1] if reach else None


def _belief(results: Results, name: str) -> str | None:
    """The prior of α² or δ in words; empty where there is none, None where it has no words."""
    model: dict[str, Any] = results.facts["model"]
    if name not in model:
        return _held(results) if name == "tie" else ""
    said: str = model[name]
    try:
        spoken(said, VARIANCE_PRIORS if name == "variance" else TIE_PRIORS)
    except InputError:
        return said if said == "no ties" else None
    return said


def _held(results: Results) -> str:
    """What an engine with priors of its own was told of δ: nothing, unless it stayed put."""
    row = pd.read_csv(results.folder / "parameters.csv", index_col="parameter").loc["tie"]
    if not np.isclose(row["sd"], 0):
        return ""
    return f"fixed({row['mean']:g})" if row["mean"] > 0 else "no ties"
