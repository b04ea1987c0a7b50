"""Tables of the terms of a model: coefficients, contrasts, judges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.data.files import write_csv
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.formula import used_columns
from tiewise.posterior.predictions import has_facts
from tiewise.posterior.summaries import ENDS, parameter_row

Floats = NDArray[np.float64]

MEAN = "the mean of all"
REAL = 0.95
"""Probability from which a difference is called real."""


def attach_terms(tree: DataTree, model: BradleyTerry, options: Mapping[str, Any]) -> None:
    """Add the options of the terms, the covariates and the groups of judges to a fit."""
    tree.attrs["terms"] = json.dumps(dict(options))
    design = model.design
    if design.covariates is not None:
        table = used_columns(design.covariates, model.items)
        tree["covariates"] = DataTree(
            Dataset(
                {"value": (["item", "column"], table.astype(str).to_numpy().astype(str))},
                coords={"item": list(model.items), "column": [str(name) for name in table]},
            )
        )
    if design.groups is not None:
        names = np.array(design.group_names)[design.group]
        tree["groups"] = DataTree(
            Dataset({"group": (["judge"], names)}, coords={"judge": list(model.counts.strata)})
        )


def stored_terms(tree: DataTree) -> dict[str, Any]:
    """The options of the terms, by the names of the command's options; empty where not stored."""
    options: dict[str, Any] = json.loads(tree.attrs.get("terms", "{}"))
    return options


def has_term(tree: DataTree, name: str) -> bool:
    """Whether the posterior has a variable of this name, which belongs to a term."""
    return name in tree["posterior"]


def write_term_tables(tree: DataTree, folder: Path) -> None:
    """Write a table for each term that has one."""
    if has_term(tree, "coefficient"):
        write_csv(coefficients(tree), folder / "coefficients.csv")
    if has_facts(tree):
        write_csv(advantages(tree), folder / "advantages.csv")
    if "covariates" in tree.children:
        write_csv(covariate_table(tree), folder / "covariates.csv")
    if has_term(tree, "contrast"):
        write_csv(contrasts(tree), folder / "contrasts.csv")
    if has_term(tree, "sharpness") or has_term(tree, "threshold"):
        write_csv(judge_terms(tree), folder / "judge-terms.csv")


def covariate_table(tree: DataTree) -> pd.DataFrame:
    """The columns of the formula, as they were read, one row for each item."""
    stored = tree["covariates"]
    columns = stored["column"].to_numpy().astype(str)
    values = pd.DataFrame(stored["value"].to_numpy().astype(str), columns=columns)
    values = values.drop(columns="item", errors="ignore")
    values.insert(0, "item", stored["item"].to_numpy().astype(str))
    return values


def coefficients(tree: DataTree) -> pd.DataFrame:
    """One row per column of the formula: change in quality per unit of it, and per sd.

    `above_0` is the probability that it is positive.
    """
    return _per_sd(tree, "coefficient", "covariate", tree["constant_data/covariate_sd"].to_numpy())


def advantages(tree: DataTree) -> pd.DataFrame:
    """One row per fact of comparisons: what a unit of it, and an sd, adds in favour of the first.

    `above_0` is the probability that it is positive.
    """
    return _per_sd(tree, "order", "advantage", tree["constant_data/fact_sd"].to_numpy())


def _per_sd(tree: DataTree, variable: str, kind: str, sd: Floats) -> pd.DataFrame:
    """A row for each of a variable's coefficients, per unit and per standard deviation."""
    draws = tree[f"posterior/{variable}"]
    names = draws[kind].to_numpy().astype(str)
    each = [draws.isel({kind: k}).to_numpy() for k in range(len(names))]
    rows = [parameter_row(tree, name, own) for name, own in zip(names, each, strict=True)]
    table = pd.DataFrame(rows).rename(columns={"parameter": kind})
    columns: dict[str, Any] = {
        "per_sd": table["median"] * sd, "per_sd_q2.5": table["q2.5"] * sd,
        "per_sd_q97.5": table["q97.5"] * sd, "above_0": [(own > 0).mean() for own in each],
    }  # fmt: skip
    return table.assign(**columns)


def group_names(tree: DataTree) -> tuple[str, ...]:
    """The groups that were compared, in their order."""
    return tuple(tree["posterior/contrast"]["group"].to_numpy().astype(str))


def differences(tree: DataTree) -> list[tuple[str, str, Floats]]:
    """Group, against whom, and draws (draws, items) of how much higher it places each item.

    Of two groups the second against the first; of more each against the mean of all. Each draw
    is centred, because only differences between items are known.
    """
    names = group_names(tree)
    contrast = tree["posterior/contrast"].to_numpy()
    flat = contrast.reshape(-1, *contrast.shape[2:])
    if "contrast_level" not in tree["posterior"]:
        flat = flat - flat.mean(axis=-1, keepdims=True)
    if len(names) == 2:
        return [(names[1], names[0], flat[:, 1] - flat[:, 0])]
    return [(name, MEAN, flat[:, k]) for k, name in enumerate(names)]


def contrasts(tree: DataTree) -> pd.DataFrame:
    """One row per item and difference, the surest first: how much, which way, how surely.

    `above_0` is the probability that the group places the item higher, among all items, than those
    it is compared with; `real` the probability that the difference has the sign of its median.
    """
    constant = tree["constant_data"]
    items, names = (constant[key].to_numpy().astype(str) for key in ("item", "name"))
    tables = []
    for group, against, draws in differences(tree):
        low, median, high = np.quantile(draws, (ENDS[0], 0.5, ENDS[1]), axis=0)
        above = (draws > 0).mean(axis=0)
        table = pd.DataFrame(
            {"item": items, "name": names, "group": group, "against": against,
             "mean": draws.mean(axis=0), "median": median, "sd": draws.std(axis=0, ddof=1),
             "q2.5": low, "q97.5": high, "above_0": above, "real": np.maximum(above, 1 - above)}
        )  # fmt: skip
        tables.append(table.sort_values("real", ascending=False, kind="stable"))
    return pd.concat(tables, ignore_index=True)


def judge_terms(tree: DataTree) -> pd.DataFrame:
    """One row per judge, the least sharp first: sharpness, threshold, and what they answered.

    `says_equal` is the probability of “about equal” for two items of the same quality; of graded
    answers without ties, that one of them is chosen with the least strength.
    """
    posterior, observed = tree["posterior"], tree["observed_data"]
    judges = posterior["judge"].to_numpy().astype(str)
    stratum = observed["stratum"].to_numpy()
    answers = sum(observed[name].to_numpy() for name in ("wins_first", "wins_second", "ties"))
    number, ties = (
        np.bincount(stratum, weights=values, minlength=len(judges)).astype(int)
        for values in (answers, observed["ties"].to_numpy())
    )
    table = pd.DataFrame({"judge": judges, "comparisons": number, "ties": ties})
    if "groups" in tree.children:
        table["group"] = tree["groups/group"].to_numpy().astype(str)
    for name in ("sharpness", "threshold"):
        if name in posterior:
            low, middle, high = _quantiles(posterior[name].to_numpy())
            table[name], table[f"{name}_q2.5"], table[f"{name}_q97.5"] = middle, low, high
    if "threshold" in posterior:
        table["says_equal"] = np.tanh(table["threshold"] / 2)
    by = "sharpness" if "sharpness" in posterior else "threshold"
    return table.sort_values(by, kind="stable", ignore_index=True)


def _quantiles(draws: Floats) -> Floats:
    out: Floats = np.quantile(draws, (ENDS[0], 0.5, ENDS[1]), axis=(0, 1))
    return out
