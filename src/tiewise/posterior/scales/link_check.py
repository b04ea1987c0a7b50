"""Whether what an earlier study says of shared items agrees with this study's answers."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pandas as pd
from xarray import Dataset, DataTree

from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.scales.quality_covariance import anchor_covariance
from tiewise.text import sentence_list, signed

RARE = 0.01
"""How often a link that holds may be called into question."""
COLUMNS = ("value", "expected", "expected_sd", "z")


def attach_link_check(tree: DataTree, model: BradleyTerry) -> list[str]:
    """Add how each linked item agrees with the answers; a sentence where the link does not.

    By the Gaussian formula at the posterior's mean and Hessian, as anchors are checked. `expected`
    is where the answers and the rest of the link put an item, on the level of the link.
    """
    factor, anchors = model.anchor_factor, model.anchors
    assert factor is not None
    assert anchors is not None
    mean = tree["posterior/quality"].to_numpy().mean(axis=(0, 1), dtype=np.float64)
    covariance = anchor_covariance(tree, model)
    columns = (anchors.values, *factor.link_check(mean, covariance))
    named = zip(COLUMNS, columns, strict=True)
    table = {name: ("linked", np.asarray(own)) for name, own in named}
    facts = factor.link_distance(mean, covariance)._asdict()
    tree["link"] = DataTree(Dataset(table, coords={"linked": list(anchors.items)}, attrs=facts))
    return link_warnings(tree)


def link_table(tree: DataTree) -> pd.DataFrame | None:
    """One row per linked item: what the link says, what the rest expects, and z; None without."""
    if "link" not in tree.children:
        return None
    columns = {name: tree["link"][name].to_numpy() for name in COLUMNS}
    return pd.DataFrame({"item": tree["link"]["linked"].to_numpy().astype(str), **columns})


def link_warnings(tree: DataTree) -> list[str]:
    """A sentence where this study's answers contradict the link, as a whole or in some items."""
    table = link_table(tree)
    if table is None:
        return []
    whole = float(tree["link"].attrs["p"])
    # The largest of many is large: so far out comes one of them by chance in one of 100 studies.
    limit = -NormalDist().inv_cdf(RARE / 2 / len(table))
    off = table[table["z"].abs() > limit]
    if whole >= RARE and not len(off):
        return []
    worst = (off if len(off) else table).sort_values("z", key=abs, ascending=False, kind="stable")
    rows = worst.head(5).to_dict("records")
    names = [f"{row['item']} (z {signed(row['z'], 1)})" for row in rows]
    return [
        "The answers contradict the earlier study that is linked: by chance they would be as far "
        f"from it in fewer than one of 100 studies. Farthest off: {sentence_list(names, 5)}. Items "
        "have changed, or judges see them differently: fit both as waves, or this one without the "
        "link."
    ]
