"""Whether two samplers tell one story, within Monte Carlo error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from support.perturbation_gibbs import perturbation_gibbs
from support.reference_formulas import assert_normal_scores, monte_carlo_error
from tiewise.engines.base import Draws
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import no_progress


def assert_same_posterior(one: Draws, other: Draws) -> None:
    """Means of draws, and of their squares, agree within Monte Carlo error.

    Compared are centred qualities, δ, α², and ρ where it is inferred.
    """
    tables = []
    for draws in (one.centred(), other.centred()):
        scales = [draws.tie, draws.variance]
        scales += [draws.terms["share"]] if "share" in draws.terms else []
        table = np.concatenate([draws.quality, np.stack(scales, axis=-1)], axis=-1)
        centred = table - table.mean(axis=(0, 1))
        tables.append(np.concatenate([table, centred**2], axis=-1))
    error = np.hypot(*(monte_carlo_error(table) for table in tables))
    apart = tables[0].mean(axis=(0, 1)) - tables[1].mean(axis=(0, 1))
    free = error > 0
    assert_normal_scores(apart[free] / error[free])


def assert_witness_agrees(model: BradleyTerry, draws: int, root: Any = None) -> None:
    """Watched items, δ and α² within Monte Carlo error of Gibbs by perturbation."""
    watched = np.arange(0, model.size, model.size // 50)
    other = perturbation_gibbs(model, draws, np.random.default_rng(3), root=root, watched=watched)
    ours = Transport(draws=4000).run(model, SeedSequence(4), no_progress).centred()
    tables = [
        np.column_stack([other.quality, other.tie, other.variance])[None],
        np.concatenate(
            [ours.quality[..., watched], ours.tie[..., None], ours.variance[..., None]], axis=-1
        ),
    ]
    apart = tables[0].mean(axis=(0, 1)) - tables[1].mean(axis=(0, 1))
    assert_normal_scores(apart / np.hypot(*(monte_carlo_error(table) for table in tables)))


def differences(graph: Graph) -> sparse.csr_array:
    """E with a row for every border, whose precision EᵀE is that of differences of neighbours."""
    number, size = len(graph.edges), len(graph.items)
    where = np.repeat(np.arange(number), 2), graph.edges.ravel()
    return sparse.csr_array((np.tile([1.0, -1.0], number), where), shape=(number, size))
