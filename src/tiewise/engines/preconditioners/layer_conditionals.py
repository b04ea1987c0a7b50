"""The conditionals of a model's layers: each Gaussian, given the layers before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.hierarchical import HierarchicalPosterior

Floats = NDArray[np.float64]

TIE = "tie"  # the name of the conditional of the unconstrained threshold
JUDGES = ("sharpness", "threshold")
SMALL = ("coefficient", "order", TIE)  # few coordinates, which a pilot run does not pool


@dataclass(frozen=True, eq=False)
class LayerConditional:
    """The Gaussian distribution of a layer's x, conditional on the layers before it.

    Its precision is `eigenvalues` + the prior's, its mean (`precision_mean` − shift) / precision.
    The shift is `cross` times the deviations of all earlier x from the mode, or, where there is a
    `design`, of the arguments to which it takes those of the core; and, one by one, `link` times
    those of as many x from `link_start` on. `q_rows` and `x_rows` are its rows of q and x; `scale`
    is the index of its scale, None for the unconstrained threshold. `cross_single` is `cross` in
    single precision, where that is used.
    """

    name: str
    q_rows: slice
    x_rows: slice
    eigenvalues: Floats
    precision_mean: Floats
    cross: Floats
    scale: int | None
    link_start: int = 0
    link: Floats | None = None
    cross_single: NDArray[np.float32] | None = None
    design: Floats | None = None

    def shift(self, deviation: Floats, *, single: bool) -> Floats:
        """The shift for deviations (x, chains); `single` allows single precision."""
        before = deviation[: self.before]
        if self.design is not None:
            before = self.design @ before
        if single and self.cross_single is not None:
            shift = (self.cross_single @ before.astype(np.float32)).astype(np.float64)
        else:
            shift = self.cross @ before
        if self.link is not None:
            shift += self.link[:, None] * deviation[self.linked]
        return shift

    def add_gradient(self, by_shift: Floats, by_x: Floats) -> None:
        """Add to derivatives by x what they have through this layer's shift."""
        if self.cross_single is not None:
            by = (self.cross_single.T @ by_shift.astype(np.float32)).astype(np.float64)
        else:
            by = self.cross.T @ by_shift
        by_x[: self.before] += by if self.design is None else self.design.T @ by
        if self.link is not None:
            by_x[self.linked] += self.link[:, None] * by_shift

    @property
    def before(self) -> int:
        """The number of earlier x on which it depends."""
        return int((self.cross if self.design is None else self.design).shape[1])

    @property
    def linked(self) -> slice:
        """The rows of x that are linked one by one."""
        return slice(self.link_start, self.link_start + len(self.eigenvalues))

    def prior_precision(self, log_scales: Floats) -> Floats:
        """Prior precision in each chain; 0 for the threshold, whose prior is not Gaussian."""
        if self.scale is None:
            return np.zeros(log_scales.shape[1])
        return np.asarray(np.exp(-2 * log_scales[self.scale]), np.float64)


def layer_conditionals(
    posterior: HierarchicalPosterior,
    names: list[str],
    eigenvalues: list[Floats],
    crosses: list[Floats],
    modes: list[Floats],
    precisions: Floats,
    sharpness_threshold: Floats,
    design: Floats,
) -> list[LayerConditional]:
    """The layers' conditionals, in the order of x; in q small layers come last."""
    q_rows, end = {}, 0
    for k in sorted(range(len(names)), key=lambda k: names[k] in SMALL):
        q_rows[k] = slice(end, end + len(eigenvalues[k]))
        end += len(eigenvalues[k])
    scales = {layer.name: k for k, layer in enumerate(posterior.layers)}
    conditionals, start = [], 0
    for k, name in enumerate(names):
        scale = scales.get(name)
        precision = eigenvalues[k] + (0.0 if scale is None else precisions[scale])
        x_rows = slice(start, start + len(eigenvalues[k]))
        layer = LayerConditional(
            name, q_rows[k], x_rows, eigenvalues[k], precision * modes[k], crosses[k], scale
        )
        if name in JUDGES:
            layer = replace(layer, design=design)
        if name == "threshold" and len(sharpness_threshold):
            link_start = start - len(sharpness_threshold)
            layer = replace(layer, link_start=link_start, link=sharpness_threshold)
        conditionals.append(layer)
        start = x_rows.stop
    return conditionals
