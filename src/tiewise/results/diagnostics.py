"""How far draws can be trusted: effective sample sizes and R-hat, nested where chains share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

Floats = NDArray[np.float64]

TAILS = (0.05, 0.95)


def centred_quality(tree: DataTree) -> Floats:
    """Qualities (chains, draws, items), each draw less its own mean."""
    quality = tree["posterior/quality"].to_numpy()
    out: Floats = quality - quality.mean(axis=-1, keepdims=True)
    return out


def ess(draws: Floats, method: str = "bulk") -> Floats:
    """Effective sample size over (chains, draws, ...)."""
    from arviz_stats.base import array_stats

    prob = TAILS if method == "tail" else None
    return np.asarray(
        array_stats.ess(draws, chain_axis=0, draw_axis=1, method=method, prob=prob), np.float64
    )


def rhat(draws: Floats, superchains: int = 0) -> Floats:
    """R-hat over (chains, draws, ...); nested when chains belong to superchains."""
    from arviz_stats.base import array_stats

    if superchains:
        ids = np.repeat(np.arange(superchains), draws.shape[0] // superchains)
        return np.asarray(array_stats.rhat_nested(draws, ids, chain_axis=0, draw_axis=1))
    return np.asarray(array_stats.rhat(draws, chain_axis=0, draw_axis=1))


def every_parameter(tree: DataTree) -> Floats:
    """Centred qualities, threshold, variance (chains, draws, parameters); none that is fixed."""
    posterior = tree["posterior"]
    scalars = [posterior[name].to_numpy()[..., None] for name in ("tie", "variance")]
    free = [column for column in scalars if np.ptp(column) > 0]
    return np.concatenate([centred_quality(tree), *free], axis=-1)


def worst(tree: DataTree) -> tuple[float, float]:
    """Smallest bulk effective sample size and largest R-hat over every parameter."""
    draws = every_parameter(tree)
    if draws.shape[1] < 4:
        return np.nan, np.nan
    superchains = int(tree.attrs.get("superchains", 0))
    return float(np.nanmin(ess(draws))), float(np.nanmax(rhat(draws, superchains)))
