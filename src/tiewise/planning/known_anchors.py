"""Anchors of a planned study: what is wrong with them, and a truth given their values."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.model.anchors.anchors import Anchors
from tiewise.pairing.policies import load_policy
from tiewise.text import some_names

Floats = NDArray[np.float64]


def refuse_anchors(
    anchors: Anchors | None, items: tuple[str, ...], policy: str, anchor_limit: int
) -> None:
    """Raise InputError where anchors are missing, or cannot be planned with."""
    if anchor_limit < 1:
        raise InputError(f"an anchor is shown 1 time or more, not {anchor_limit} (anchor_limit=)")
    if anchors is None:
        if load_policy(policy).needs_anchors:
            raise InputError(
                f"the policy {policy!r} compares items with anchors, and there are none; give "
                "anchors=, or plan with 'balanced'"
            )
        return
    strange = [item for item in anchors.items if item not in set(items)]
    if strange:
        raise InputError(
            f"anchors name {some_names(strange)}, not among the {len(items)} items; use the same "
            "ids"
        )
    if anchors.sd is None or anchors.is_slope_learned:
        raise InputError(
            "a plan is made with anchors that have an sd each and units that are known; give sd, "
            "and the slope as a number"
        )


def quality_with_anchors(
    quality: Floats, covariance: Floats, anchors: Anchors, items: tuple[str, ...], rng: Generator
) -> Floats:
    """A draw of qualities given the anchors' values, from a draw of N(0, `covariance`).

    The draw has values of its own, with errors; it is moved by what the known values differ from
    these, as far as the covariance says (Matheron's rule). The level of the values is free.
    """
    factor = anchors.over(items)
    own, slope = factor.positions, factor.slope
    values, sd = np.asarray(anchors.values) / slope, np.asarray(anchors.sd) / slope
    simulated = quality[own] + sd * rng.normal(size=len(own))
    differences = np.eye(len(own))[1:] - np.eye(len(own))[0]
    inner = differences @ (covariance[np.ix_(own, own)] + np.diag(sd**2)) @ differences.T
    away = np.linalg.solve(inner, differences @ (values - simulated))
    return np.asarray(quality + covariance[:, own] @ (differences.T @ away), np.float64)
