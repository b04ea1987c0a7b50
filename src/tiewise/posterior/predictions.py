"""What draws of a posterior say of any pair: the one place where results ask for chances.

    margin = ± a_s (λ_i + contrast_{g,i} − λ_j − contrast_{g,j} + κᵀc_s) − δ_s

for a stratum s of group g. A plain model has quality λ and threshold δ alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.errors import InputError
from tiewise.model.bradley_terry import answer_probabilities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BY_STRATUM = ("contrast", "order", "sharpness", "threshold")
"""Terms for which it matters who was asked, or which of a pair came first."""
AT_ONCE = 4_000_000
"""Chances that are held at once."""


@dataclass(frozen=True)
class Terms:
    """Draws of what strata add, None where a model has no such term.

    `group` is that of each stratum; contrasts are (draws, groups, items), the others (draws,
    strata): the advantage of the first, sharpness, and threshold.
    """

    group: Integers | None = None
    contrast: Floats | None = None
    advantage: Floats | None = None
    sharpness: Floats | None = None
    threshold: Floats | None = None

    def picked(self, which: Integers | slice) -> Terms:
        """Some of the draws."""
        drawn = (self.contrast, self.advantage, self.sharpness, self.threshold)
        return Terms(self.group, *(None if draws is None else draws[which] for draws in drawn))


@dataclass(frozen=True)
class Opinions:
    """Draws of qualities (draws, items) and of the threshold (draws), ready to be asked."""

    quality: Floats
    tie: Floats
    terms: Terms | None = None

    @classmethod
    def of(cls, tree: DataTree, most: int | None = None) -> Opinions:
        """The draws of a fit, or so many of them, evenly spaced."""
        _refuse_points(tree)
        posterior = tree["posterior"]
        quality = posterior["quality"].to_numpy()
        quality, tie = quality.reshape(-1, quality.shape[-1]), posterior["tie"].to_numpy().ravel()
        whole = cls(quality, tie, _terms(tree) if has_strata(tree) else None)
        if most is None or len(tie) <= most:
            return whole
        return whole.picked(np.linspace(0, len(tie) - 1, most).round().astype(np.int64))

    def __len__(self) -> int:
        return len(self.tie)

    def picked(self, which: Integers | slice) -> Opinions:
        """Some of the draws."""
        terms = None if self.terms is None else self.terms.picked(which)
        return Opinions(self.quality[which], self.tie[which], terms)

    def chances(self, first: Integers, second: Integers, stratum: Integers | None = None) -> Floats:
        """Chances (3, draws, pairs) that a judge says first, about equal, second.

        `stratum` of each pair is needed where the model has terms that depend on it.
        """
        gap = self.quality[:, first] - self.quality[:, second]
        tie = self.tie[:, None]
        if self.terms is not None:
            if stratum is None:
                raise InputError(
                    "this model has terms of its own for judges or sides; say who was asked"
                )
            gap, tie = _with_terms(self.terms, gap, tie, first, second, stratum)
        return np.stack(answer_probabilities(gap, tie))

    def log_chance(
        self, first: Integers, second: Integers, answer: Integers, stratum: Integers | None = None
    ) -> Floats:
        """Log chance (draws, pairs) of these answers: 0 first, 1 about equal, 2 second."""
        chance = self.chances(first, second, stratum)
        picked = np.take_along_axis(chance, answer[None, None, :], axis=0)[0]
        out: Floats = np.log(np.maximum(picked, 1e-300))
        return out

    def in_parts(self, pairs: int) -> Iterator[Opinions]:
        """Some draws at a time, so that not too many chances are held at once."""
        step = max(AT_ONCE // max(3 * pairs, 1), 1)
        for k in range(0, len(self), step):
            yield self.picked(slice(k, k + step))


def _with_terms(
    terms: Terms, gap: Floats, tie: Floats, first: Integers, second: Integers, stratum: Integers
) -> tuple[Floats, Floats]:
    """Differences and thresholds (draws, pairs) with what the strata add."""
    if terms.contrast is not None and terms.group is not None:
        group = terms.group[stratum]
        gap = gap + terms.contrast[:, group, first] - terms.contrast[:, group, second]
    if terms.advantage is not None:
        gap = gap + terms.advantage[:, stratum]
    if terms.sharpness is not None:
        gap = gap * terms.sharpness[:, stratum]
    return gap, tie if terms.threshold is None else terms.threshold[:, stratum]


def has_strata(tree: DataTree) -> bool:
    """Whether it matters to this model who was asked, or which of a pair came first."""
    return any(name in tree["posterior"] for name in BY_STRATUM)


def _terms(tree: DataTree) -> Terms:
    posterior, constant = tree["posterior"], tree["constant_data"]
    lost = [
        name
        for term, name in (("contrast", "group_of_stratum"), ("order", "advantage_of_stratum"))
        if term in posterior and name not in constant
    ]
    if lost:
        raise InputError(f"these results lack {', '.join(lost)} of their terms; fit again")

    def drawn(name: str, *last: str) -> Floats | None:
        if name not in posterior:
            return None
        whole = posterior[name].transpose("chain", "draw", *last).to_numpy()
        flat: Floats = whole.reshape(-1, *whole.shape[2:])
        return flat

    order = drawn("order", "advantage")
    return Terms(
        constant["group_of_stratum"].to_numpy() if "contrast" in posterior else None,
        drawn("contrast", "group", "item"),
        None if order is None else order @ constant["advantage_of_stratum"].to_numpy().T,
        drawn("sharpness", "judge"),
        drawn("threshold", "judge"),
    )


def replies(chance: Floats, rng: Generator) -> Integers:
    """Made-up answers (draws, pairs), 0, 1 or 2, with these chances (3, draws, pairs)."""
    uniform = rng.uniform(size=chance.shape[1:])
    out: Integers = (uniform >= chance[0]).astype(np.int64) + (uniform >= chance[0] + chance[1])
    return out


def tail(replicated: Floats, observed: Floats | float) -> Floats:
    """Chance that what is made up is at least as large; of those as large, half."""
    above = (replicated > observed).sum(axis=0) + 0.5 * (replicated == observed).sum(axis=0)
    out: Floats = np.asarray((above + 0.5) / (len(replicated) + 1))
    return out


def _refuse_points(tree: DataTree) -> None:
    if tree.attrs.get("kind") == "point":
        raise InputError(
            f"{tree.attrs['engine']} gives one estimate and no draws, so nothing can be made up "
            "from it; fit with another engine"
        )
