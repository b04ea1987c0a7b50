"""Anchors in results: the level of their scale, scores on it, and which of them disagree."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.scales.link_check import (
    attach_link_check,
    largest_by_chance,
    link_contradictions,
)
from tiewise.posterior.scales.quality_covariance import anchor_covariance, sd_by_anchors
from tiewise.posterior.scales.scale import ENDS, QualityDraws, Scale, Transformation
from tiewise.text import percent, sentence_list, signed

Floats = NDArray[np.float64]

DISAGREES = 2.5
"""Standard deviations by which an anchor that disagrees lies off."""
SD_BY_ANCHORS = "sd_by_anchors"
"""In `constant_data`, what was open of each item with anchors or a link, before any answer."""
COLUMNS = ("item", "value", "sd", "expected", "expected_sd", "z")


def attach_anchors(
    tree: DataTree,
    model: BradleyTerry,
    rng: np.random.Generator,
    names: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Add anchors and draws of their level to a fit; sentences about those that disagree.

    `names` are what items are called, where that is not their id.
    """
    factor, anchors = model.anchor_factor, model.anchors
    assert factor is not None
    assert anchors is not None
    constant, open_before = tree["constant_data"], sd_by_anchors(tree, model)
    added = {SD_BY_ANCHORS: ("item", open_before)}
    tree["constant_data"] = DataTree(constant.to_dataset().assign(added))
    if anchors.sd is None:  # linked results have no level of their own
        return attach_link_check(tree, model, names)
    posterior = tree["posterior"]
    quality = posterior["quality"].to_numpy()
    slope = factor.slope_draws(quality, rng)
    scale = {"anchor_level": factor.level(quality, slope, rng)}
    if anchors.slope != 1:
        scale["anchor_slope"] = slope
    values = {name: (("chain", "draw"), draws) for name, draws in scale.items()}
    tree["posterior"] = DataTree(posterior.to_dataset().assign(values))
    mean = quality.mean(axis=(0, 1), dtype=np.float64)
    check = factor.check(mean, anchor_covariance(tree, model))
    columns = zip(COLUMNS[1:], (anchors.values, anchors.sd, *check), strict=True)
    table = {name: ("anchor", np.asarray(own)) for name, own in columns}
    tree["anchors"] = DataTree(Dataset(table, coords={"anchor": list(anchors.items)}))
    return anchor_warnings(tree, names)


def anchor_table(tree: DataTree) -> pd.DataFrame | None:
    """One row per anchor: its value and sd, where everything else expects it, and how far off (z).

    `expected` and `expected_sd` are the value that this study's answers and the other anchors give
    it, its own left out. None where there are no anchors.
    """
    if "anchors" not in tree.children:
        return None
    stored = tree["anchors"]
    columns: dict[str, Any] = {name: stored[name].to_numpy() for name in COLUMNS[1:]}
    return pd.DataFrame({"item": stored["anchor"].to_numpy().astype(str), **columns})


def anchor_warnings(tree: DataTree, names: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """A sentence where anchors disagree with this study's answers."""
    table = anchor_table(tree)
    if table is None or not len(off := table[table["z"].abs() > DISAGREES]):
        return []
    off = off.sort_values("z", key=abs, ascending=False, kind="stable")
    called = [
        f"{names.get(row['item'], row['item'])} (z {signed(row['z'], 1)})"
        for row in off.to_dict("records")
    ]
    disagree = "anchor disagrees" if len(off) == 1 else "anchors disagree"
    return [
        f"{len(off)} {disagree} with the answers and the other anchors by more than {DISAGREES} "
        f"standard deviations: {sentence_list(called, 5)}. Either the item has changed, or its "
        "value is wrong: leave it out, or give it a larger sd."
    ]


def contradicted(tree: DataTree) -> str:
    """What was known before and does not agree with the answers: anchors, a link, or nothing.

    By chance that is so in fewer than one of 100 studies, for anchors as for a link.
    """
    table = anchor_table(tree)
    if table is not None and table["z"].abs().max() > largest_by_chance(len(table)):
        return "the anchors"
    return "the earlier study" if link_contradictions(tree) else ""


def anchor_sentences(tree: DataTree, names: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """How well anchors agree with this study's answers."""
    table = anchor_table(tree)
    if table is None:
        return []
    within = percent(float((table["z"].abs() < 1).mean()))
    slope = tree["posterior"].get("anchor_slope")
    learned = slope is not None and float(slope.min()) < float(slope.max())
    fix = "the level and the unit" if learned else "the level"
    return [
        f"{len(table)} anchors fix {fix} of the scale. Left out one at a time, {within} of "
        "them lie within one standard deviation of where the answers and the other anchors expect "
        "them (about 68 % where all is well).",
        *anchor_warnings(tree, names),
    ]


def _anchored(draws: QualityDraws) -> Transformation:
    level, slope = draws.anchor_level, draws.anchor_slope
    if level is None:
        raise InputError("scale='anchored' is that of anchors, and there are none; give anchors=")
    if slope is None:
        return lambda some: some + level[..., None]
    return lambda some: slope[..., None] * some + level[..., None]


def _meaning(tree: DataTree, one: str, nouns: str) -> list[str]:
    number = tree["anchors"].sizes["anchor"]
    return [
        f"Estimates are on the scale of the anchors, {number} {nouns} whose value was known from "
        f"elsewhere, in {_units(tree)}: they can be compared with other studies on this scale, and "
        "are not centred."
    ]


def _units(tree: DataTree) -> str:
    """The units of the anchors, and what a logit is in them."""
    if "anchor_slope" not in tree["posterior"]:
        return "logits"
    slope = tree["posterior/anchor_slope"].to_numpy()
    low, high = np.quantile(slope, ENDS)
    if low == high:
        return f"units of which a logit is {low:.3g}"
    return (
        f"units of which a logit is {slope.mean():.3g} (95 % interval {low:.3g} to {high:.3g}), as "
        "the answers and the anchors together say"
    )


ANCHORED = Scale(
    "anchored", "Anchored score", "score on the scale of the anchors", _meaning,
    middle=None, digits=2, transformation=_anchored,
)  # fmt: skip
