"""The information of one answer about a random pair, by the number of answers that are offered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import grade_probabilities, sigmoid
from tiewise.planning.design import NODES, TIE, StudyDesign, prior_gaps

Floats = NDArray[np.float64]


def fisher_information(gap: Floats, cuts: Floats) -> Floats:
    """Fisher information of one answer about the difference in quality, at differences `gap`.

    An answer between cuts a and b has P = F(a) − F(b), F(c) = σ(gap − c), and P′²/P is
    P · (1 − F(a) − F(b))².
    """
    ends = [-np.inf, *-cuts[::-1], *cuts, np.inf]
    above = np.stack([sigmoid(gap - end) for end in ends[::-1]])
    columns = cuts.reshape(-1, *(1,) * gap.ndim)
    probability = grade_probabilities(gap, columns)
    out: Floats = (probability * (1 - above[:-1] - above[1:]) ** 2).sum(axis=0)
    return out


def random_pair_information(design: StudyDesign, cuts: Floats) -> float:
    """Fisher information of an answer about a random pair, averaged over pairs and qualities."""
    gaps = prior_gaps(design.prior, len(design.items), design.spread)
    weight = np.polynomial.hermite_e.hermegauss(NODES)[1]
    return float((fisher_information(gaps, cuts) @ (weight / weight.sum())).mean())


def information_by_answers(design: StudyDesign) -> dict[int, float]:
    """The same with two answers, with three, and with those of the design."""
    tie = design.tie or TIE
    cuts = {2: np.zeros(1), 3: np.array([tie]), design.answers: design.cuts}
    return {number: random_pair_information(design, own) for number, own in cuts.items()}
