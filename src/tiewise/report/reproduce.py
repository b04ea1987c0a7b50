"""How to repeat a fit: the command, the call in Python, and what neither can know."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any, Literal

import numpy as np

from tiewise.model.prior_sets import prior_set, prior_set_name
from tiewise.model.quality_priors import describe_quality_prior
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.notation import format_prior, prior_from_dict, prior_to_dict
from tiewise.model.terms import describe_term
from tiewise.posterior.results_folder import Results, Wording
from tiewise.posterior.scales import DEFAULT_SCALE

SCALARS: tuple[Literal["variance", "tie"], ...] = ("variance", "tie")
STUDY_WORDS = ("question", "higher", "lower", "noun", "scale")
DEFAULT_SOURCE = "judgements.csv"


def source_name(wording: Wording) -> str:
    """The file of judgements without its folder; a data frame has no name."""
    name = PurePath(wording.source.replace("\\", "/")).name
    return name if "." in name else DEFAULT_SOURCE


def fit_command(results: Results) -> str:
    """The `tiewise fit` that would give these results again, as far as it can be known."""
    facts, wording = results.facts, results.wording
    words = ["tiewise", "fit", source_name(wording), *_context_options(results), *_priors(results)]
    words += _column_options(facts)
    for name, value in _earlier_knowledge(facts).items():
        words += [f"--{name.replace('_', '-')}", value]
    words += [*_term_options(results), "--engine", facts["engine"]]
    if "draws" in facts["settings"]:
        words += ["--draws", str(facts["settings"]["draws"])]
    if facts["exact"]:
        words += ["--ess", str(facts.get("ess_target", 0))]
    words += ["--seed", str(facts["seed"]), "--top", str(wording.top)]
    for name, value in _changed_words(wording).items():
        words += [f"--{name}", value]
    if "anchors" in _earlier_knowledge(facts) and wording.scale == DEFAULT_SCALE:
        words += ["--scale", wording.scale]  # with anchors, the command's default is theirs
    return shlex.join([*words, "--out", "again"])


def python_call(results: Results) -> str:
    """The same in Python, with every setting of the engine."""
    wording, facts = results.wording, results.facts
    options = _as_keywords(_context_options(results))
    settings = ", ".join(f"{key}={value!r}" for key, value in facts["settings"].items())
    engine = "".join(part.title() for part in facts["engine"].split("-"))
    study_words = ", ".join(
        f"{key}={_quoted(value)}" for key, value in _changed_words(wording).items()
    )
    lines = [
        _quoted(source_name(wording)),
        _quoted("again"),
        f"context=tw.ItemContext.read({options})",
        *([f"columns={_dictionary(_columns(facts))}"] if _columns(facts) else []),
        f"engine=tw.{engine}({settings})",
        f"rng={facts['seed']}",
        *([f"ess={facts.get('ess_target', 0)}"] if facts["exact"] else []),
        f"wording=tw.Wording(top={wording.top}{', ' if study_words else ''}{study_words})",
        *_prior_lines(results),
        *(f"{key}={_quoted(value)}" for key, value in _earlier_knowledge(facts).items()),
        *(f"{key}={value!r}" for key, value in _terms(results).items()),
    ]
    return "import tiewise as tw\n\ntw.analyse(\n" + "".join(f"    {x},\n" for x in lines) + ")"


def repeat_notes(results: Results) -> list[str]:
    """What has to be known besides, to fit the same again."""
    wording, facts = results.wording, results.facts
    notes = [
        f"Both are run in a copy of the results folder, with {source_name(wording)} put into it."
    ]
    if source_name(wording) == DEFAULT_SOURCE != wording.source:
        notes = [
            "The judgements did not come from a file with a name: save them as "
            f"{DEFAULT_SOURCE} in a copy of the results folder, and run either there."
        ]
    notes.append("Columns of the file that had to be named must be named again.")
    prior = facts["model"].get("quality", {"kind": ""})
    if prior["kind"] == "network" and results.areas is not None:
        notes.append(
            f"Lone areas may have been joined; the prior was {describe_quality_prior(prior)}."
        )
    elif prior["kind"] in ("network", "covariance", "precision"):
        notes.append("The neighbours or the matrix of the prior are not kept with the results.")
    tables = [_terms(results)[key] for key in ("judges", "waves") if key in _terms(results)]
    files = [name for name in tables if "." in name or name == "table"]
    if files:
        notes.append(f"Not kept with the results, and to be put beside: {', '.join(files)}.")
    if "terms" in facts["model"] and "terms" not in facts:
        notes.append(f"Its terms were made in Python: {_term_words(facts)}.")
    if "link" in _earlier_knowledge(facts):
        notes.append("The results of the earlier study are not kept: put them beside as earlier.")
    own = [name for name in SCALARS if _scalar_prior(results, name)["kind"] == "other"]
    if own:
        notes.append(f"The prior of the {' and the '.join(own)} was made in Python.")
    return notes


def _columns(facts: Mapping[str, Any]) -> dict[str, Any]:
    """How the file was read, as far as it is known: keywords of `read_comparisons`."""
    grades = {key: value for key, value in facts.get("grades", {}).items() if value}
    return grades | ({"drop_invalid": True} if "left_out" in facts else {})


def _dictionary(values: Mapping[str, Any]) -> str:
    """A dictionary as Python reads it."""
    pairs = ((key, "True" if value is True else _quoted(value)) for key, value in values.items())
    return "{" + ", ".join(f"{_quoted(key)}: {value}" for key, value in pairs) + "}"


def _column_options(facts: Mapping[str, Any]) -> list[str]:
    """The same as options of the command."""
    words = []
    for key, value in _columns(facts).items():
        text = ",".join(value) if isinstance(value, list) else value
        words += [f"--{key.replace('_', '-')}"] + ([] if value is True else [text])
    return words


def _earlier_knowledge(facts: Mapping[str, Any]) -> dict[str, str]:
    """Anchors, which are kept with the results, or the earlier study that they are linked to."""
    anchors = facts["model"].get("anchors")
    if anchors is None:
        return {}
    if "anchors" not in anchors:
        return {"link": "earlier"}
    slope = {"anchor_slope": str(anchors["slope"])} if "slope" in anchors else {}
    return {"anchors": "anchors.csv", **slope}


def _terms(results: Results) -> dict[str, Any]:
    """The terms that were fitted; the columns of a formula are kept with the results."""
    terms: dict[str, Any] = dict(results.facts.get("terms", {}))
    return terms | ({"covariates": "covariates.csv"} if "formula" in terms else {})


def _term_options(results: Results) -> list[str]:
    words = []
    for key, value in _terms(results).items():
        words += [f"--{key.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words


def _changed_words(wording: Wording) -> dict[str, str]:
    """The words of the study that are not the defaults."""
    default = {field.name: field.default for field in fields(Wording)}
    words = {name: getattr(wording, name) for name in STUDY_WORDS}
    return {name: value for name, value in words.items() if value != default[name]}


def _context_options(results: Results) -> list[str]:
    kind = _quality_prior(results)["kind"]
    words = []
    if results.areas is not None:
        words += ["--areas", "areas.gpkg"]
    elif kind == "network":
        words += ["--edges", "neighbours.csv"]
    if kind in ("covariance", "precision"):
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


def _quoted(text: str | list[str]) -> str:
    # What JSON makes of a text, or of a list of texts, is also what Python reads.
    return json.dumps(text, ensure_ascii=False)


def _priors(results: Results) -> list[str]:
    words = []
    kind, reach = _kind(results)
    if kind is not None:
        words += ["--prior", kind]
    if reach is not None:
        words += ["--reach", reach]
    usual = _prior_set(results)
    if usual != "default":
        words += ["--priors", usual]
    default = prior_set(usual)
    if (share := _held_share(results)) is not None and share != default.get("share"):
        words += ["--share", f"{share:g}"]
    for name in SCALARS:
        prior = _scalar_prior(results, name)
        if prior["kind"] == "none":
            words += ["--no-ties"]
        elif prior["kind"] not in ("engine", "other") and prior != prior_to_dict(default[name]):
            words += [f"--{name}-prior", format_prior(prior)]
    return words + (["--ties"] if _ties_asked(results) else [])


def _ties_asked(results: Results) -> bool:
    """Whether there is a threshold though nobody called a tie."""
    prior = _scalar_prior(results, "tie")
    return not results.facts["ties"] and prior["kind"] not in ("none", "engine")


def _prior_set(results: Results) -> str:
    """The name of its priors; what is no set's is the default with single ones changed."""
    return prior_set_name(results.facts["model"]) or "default"


def _prior_lines(results: Results) -> list[str]:
    kind, reach = _kind(results)
    lines = [f"prior={_quoted(kind)}"] if kind is not None else []
    lines += [f"reach={reach}"] if reach is not None else []
    share = _held_share(results)
    lines += [f"share={share:g}"] if share is not None else []
    for name, kinds in (("variance", VARIANCE_PRIORS), ("tie", TIE_PRIORS)):
        prior = _scalar_prior(results, name)
        if prior["kind"] == "none":
            lines.append("ties=False")
        elif prior["kind"] not in ("engine", "other"):
            lines.append(f"{name}=tw.{prior_from_dict(prior, kinds)!r}")
    return lines + (["ties=True"] if _ties_asked(results) else [])


def _quality_prior(results: Results) -> dict[str, Any]:
    """The prior of quality as data; an engine with a prior of its own has items independent."""
    prior: dict[str, Any] = results.facts["model"].get("quality", {"kind": "independent"})
    return prior


def _kind(results: Results) -> tuple[str | None, str | None]:
    """The prior of quality where the command has to name it, and its reach."""
    prior = _quality_prior(results)
    kind = prior["kind"]
    usual = kind == "network" or (kind == "independent" and results.areas is None)
    reach = f"{prior['reach']:.4g}" if kind == "distance" else None
    return None if usual else kind, reach


def _held_share(results: Results) -> float | None:
    """The share of a network prior where it was not inferred."""
    prior = _quality_prior(results)
    return prior.get("share", 1.0) if prior["kind"] == "network" else None


def _scalar_prior(results: Results, name: str) -> dict[str, Any]:
    """The prior of α² or δ as data; its kind is `engine` where the engine has its own instead.

    Without ties the kind of the prior of δ is `none`.
    """
    model: dict[str, Any] = results.facts["model"]
    if name not in model:
        return _held_tie(results) if name == "tie" else {"kind": "engine"}
    prior: dict[str, Any] | None = model[name]
    return {"kind": "none"} if prior is None else prior


def _held_tie(results: Results) -> dict[str, Any]:
    """The prior of δ of an engine with priors of its own: its own, unless δ was held."""
    row = results.parameters.loc["tie"]
    if not np.isclose(row["sd"], 0):
        return {"kind": "engine"}
    held = float(f"{row['mean']:g}")
    return prior_to_dict(Fixed(held)) if held > 0 else {"kind": "none"}


def _term_words(facts: Mapping[str, Any]) -> str:
    return "; ".join(describe_term(term) for term in facts["model"]["terms"])
