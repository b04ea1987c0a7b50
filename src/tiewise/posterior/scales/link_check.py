"""Whether what an earlier study says of shared items agrees with this study's answers."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from types import MappingProxyType

import numpy as np
import pandas as pd
from xarray import Dataset, DataTree

from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.scales.quality_covariance import anchor_covariance
from tiewise.text import sentence_list, signed

RARE = 0.01
"""How often a link, or anchors, that hold may be called into question."""
HEAVY = 0.1
"""Excess kurtosis from which what is linked is not taken for Gaussian without a word."""
COLUMNS = ("value", "expected", "expected_sd", "z")


def attach_link_check(
    tree: DataTree, model: BradleyTerry, names: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Add how each linked item agrees with the answers; a sentence where the link does not.

    By the Gaussian formula at the posterior's mean and Hessian, as anchors are checked. `expected`
    is where the answers and the rest of the link put an item, on the level of the link. `names` are
    what items are called, where that is not their id.
    """
    factor, anchors = model.anchor_factor, model.anchors
    assert factor is not None
    assert anchors is not None
    mean = tree["posterior/quality"].to_numpy().mean(axis=(0, 1), dtype=np.float64)
    covariance = anchor_covariance(tree, model)
    columns = (anchors.values, *factor.link_check(mean, covariance))
    named = zip(COLUMNS, columns, strict=True)
    table = {name: ("linked", np.asarray(own)) for name, own in named}
    facts = factor.link_distance(mean, covariance)._asdict() | {"kurtosis": anchors.kurtosis}
    tree["link"] = DataTree(Dataset(table, coords={"linked": list(anchors.items)}, attrs=facts))
    return link_warnings(tree, names)


def largest_by_chance(number: int) -> float:
    """The |z| that the largest of so many exceeds by chance in one of 100 studies."""
    return -NormalDist().inv_cdf(RARE / 2 / number)


def link_table(tree: DataTree) -> pd.DataFrame | None:
    """One row per linked item: what the link says, what the rest expects, and z; None without."""
    if "link" not in tree.children:
        return None
    columns = {name: tree["link"][name].to_numpy() for name in COLUMNS}
    return pd.DataFrame({"item": tree["link"]["linked"].to_numpy().astype(str), **columns})


def link_warnings(tree: DataTree, names: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """What keeps a link from being believed: it is contradicted, or was never Gaussian."""
    return [*link_contradictions(tree, names), *_tails(tree)]


def link_contradictions(
    tree: DataTree, names: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """A sentence where this study's answers contradict the link, as a whole or in some items."""
    table = link_table(tree)
    if table is None:
        return []
    whole = float(tree["link"].attrs["p"])
    off = table[table["z"].abs() > largest_by_chance(len(table))]
    if whole >= RARE and not len(off):
        return []
    worst = (off if len(off) else table).sort_values("z", key=abs, ascending=False, kind="stable")
    rows = worst.head(5).to_dict("records")
    called = [f"{names.get(row['item'], row['item'])} (z {signed(row['z'], 1)})" for row in rows]
    return [
        "The answers contradict the earlier study that is linked: by chance they would be as far "
        f"from it in fewer than one of 100 studies. Farthest off: {sentence_list(called, 5)}. "
        "Items have changed, or judges see them differently: fit both as waves, or this one "
        "without the link."
    ]


def _tails(tree: DataTree) -> list[str]:
    """A sentence where what is linked has heavier tails than the Gaussian it is taken for."""
    kurtosis = float(tree["link"].attrs.get("kurtosis", 0.0)) if "link" in tree.children else 0.0
    if kurtosis < HEAVY:
        return []
    return [
        "What the earlier study says of shared items is not quite Gaussian, as a link takes it to "
        f"be (excess kurtosis {kurtosis:.2f}; few answers make it so, or a sharpness of judges "
        "that is inferred): standard deviations of single items may be off by a tenth or more, "
        "either way. Fit both years together where that matters."
    ]
