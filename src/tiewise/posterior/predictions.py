"""Answer probabilities from posterior draws, for any pair and stratum.

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
from tiewise.model.likelihood import answer_probabilities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STRATUM_TERMS = ("contrast", "order", "sharpness", "threshold")
"""Terms that depend on the judge or on which item of a pair was shown first."""
MAX_PROBABILITIES = 4_000_000
"""Probabilities held in memory at once."""


@dataclass(frozen=True)
class StratumDraws:
    """Draws of the terms that depend on the stratum; None where a model has no such term.

    `group` is the group of each stratum; contrasts are (draws, groups, items), the others (draws,
    strata): the advantage of the first item, sharpness, and threshold. `sharpness_sd` and
    `threshold_sd` (draws) are the standard deviations of their logarithms over judges.
    """

    group: Integers | None = None
    contrast: Floats | None = None
    advantage: Floats | None = None
    sharpness: Floats | None = None
    threshold: Floats | None = None
    sharpness_sd: Floats | None = None
    threshold_sd: Floats | None = None

    def select(self, which: Integers | slice) -> StratumDraws:
        """The draws at these positions."""
        arrays = (self.contrast, self.advantage, self.sharpness, self.threshold,
                  self.sharpness_sd, self.threshold_sd)  # fmt: skip
        return StratumDraws(
            self.group, *(None if draws is None else draws[which] for draws in arrays)
        )

    def of_stratum(self, stratum: int) -> StratumDraws:
        """The terms of one stratum, as its only one."""

        def column(draws: Floats | None) -> Floats | None:
            return None if draws is None else draws[:, [stratum]]

        return StratumDraws(
            None if self.group is None else self.group[[stratum]], self.contrast,
            column(self.advantage), column(self.sharpness), column(self.threshold),
            self.sharpness_sd, self.threshold_sd,
        )  # fmt: skip


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws of qualities (draws, items), of the threshold (draws) and of strata's terms."""

    quality: Floats
    tie: Floats
    terms: StratumDraws | None = None

    @classmethod
    def from_tree(cls, tree: DataTree, most: int | None = None) -> PosteriorDraws:
        """The draws of a fit, or at most so many of them, evenly spaced."""
        _refuse_points(tree)
        posterior = tree["posterior"]
        quality = posterior["quality"].to_numpy()
        quality, tie = quality.reshape(-1, quality.shape[-1]), posterior["tie"].to_numpy().ravel()
        whole = cls(quality, tie, _terms(tree) if has_strata(tree) else None)
        if most is None or len(tie) <= most:
            return whole
        return whole.select(np.linspace(0, len(tie) - 1, most).round().astype(np.int64))

    def __len__(self) -> int:
        return len(self.tie)

    def select(self, which: Integers | slice) -> PosteriorDraws:
        """The draws at these positions."""
        terms = None if self.terms is None else self.terms.select(which)
        return PosteriorDraws(self.quality[which], self.tie[which], terms)

    def answer_probabilities(
        self, first: Integers, second: Integers, stratum: Integers | None = None
    ) -> Floats:
        """Probabilities (3, draws, pairs) of the answers first, tie, second.

        The stratum of each pair is needed where the model has terms that depend on it.
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

    def log_probability(
        self, first: Integers, second: Integers, answer: Integers, stratum: Integers | None = None
    ) -> Floats:
        """Log probability (draws, pairs) of these answers, by their codes."""
        probability = self.answer_probabilities(first, second, stratum)
        chosen = np.take_along_axis(probability, answer[None, None, :], axis=0)[0]
        out: Floats = np.log(np.maximum(chosen, 1e-300))
        return out

    def batches(self, pairs: int, most: int = MAX_PROBABILITIES) -> Iterator[PosteriorDraws]:
        """Some draws at a time, so that at most so many probabilities are held in memory."""
        step = max(most // max(3 * pairs, 1), 1)
        for k in range(0, len(self), step):
            yield self.select(slice(k, k + step))


def _with_terms(
    terms: StratumDraws,
    gap: Floats,
    tie: Floats,
    first: Integers,
    second: Integers,
    stratum: Integers,
) -> tuple[Floats, Floats]:
    """Differences and thresholds (draws, pairs) with the terms of the strata."""
    if terms.contrast is not None and terms.group is not None:
        group = terms.group[stratum]
        gap = gap + terms.contrast[:, group, first] - terms.contrast[:, group, second]
    if terms.advantage is not None:
        gap = gap + terms.advantage[:, stratum]
    if terms.sharpness is not None:
        gap = gap * terms.sharpness[:, stratum]
    return gap, tie if terms.threshold is None else terms.threshold[:, stratum]


def has_strata(tree: DataTree) -> bool:
    """Whether answers of this model depend on the judge or on which item was shown first."""
    return any(name in tree["posterior"] for name in STRATUM_TERMS)


def _terms(tree: DataTree) -> StratumDraws:
    posterior, constant = tree["posterior"], tree["constant_data"]
    missing = [
        name
        for term, name in (("contrast", "group_of_stratum"), ("order", "advantage_of_stratum"))
        if term in posterior and name not in constant
    ]
    if missing:
        raise InputError(f"these results lack {', '.join(missing)} of their terms; fit again")

    def draws_of(name: str, *last: str) -> Floats | None:
        if name not in posterior:
            return None
        whole = posterior[name].transpose("chain", "draw", *last).to_numpy()
        flat: Floats = whole.reshape(-1, *whole.shape[2:])
        return flat

    order = draws_of("order", "advantage")
    return StratumDraws(
        constant["group_of_stratum"].to_numpy() if "contrast" in posterior else None,
        draws_of("contrast", "group", "item"),
        None if order is None else order @ constant["advantage_of_stratum"].to_numpy().T,
        draws_of("sharpness", "judge"),
        draws_of("threshold", "judge"),
        draws_of("sharpness_sd"),
        draws_of("threshold_sd"),
    )


def replicate_answers(probability: Floats, rng: Generator) -> Integers:
    """Replicated answers (draws, pairs), with these probabilities (3, draws, pairs)."""
    uniform = rng.uniform(size=probability.shape[1:])
    above = uniform >= probability[0]
    out: Integers = above.astype(np.int64) + (uniform >= probability[0] + probability[1])
    return out


def tail_probability(replicated: Floats, observed: Floats | float) -> Floats:
    """Share of replicates that are larger than observed; of those that are equal, half."""
    above = (replicated > observed).sum(axis=0) + 0.5 * (replicated == observed).sum(axis=0)
    out: Floats = np.asarray((above + 0.5) / (len(replicated) + 1))
    return out


def _refuse_points(tree: DataTree) -> None:
    if tree.attrs.get("kind") == "point":
        raise InputError(
            f"{tree.attrs['engine']} gives one estimate and no draws, so nothing can be made up "
            "from it; fit with another engine"
        )


def refuse_grades(tree: DataTree, what: str) -> None:
    """Raise InputError for a fit of graded answers, where only their direction is known."""
    if "cut" in tree["posterior"]:
        raise InputError(
            f"{what} does not know graded answers yet; fit them without their grades (ungraded())"
        )
