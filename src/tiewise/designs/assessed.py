"""A design with what it is like."""

from __future__ import annotations

from dataclasses import dataclass

from tiewise.designs.design import Design
from tiewise.designs.efficiency import Efficiency
from tiewise.designs.figures import Coverage, ExpectedVariance
from tiewise.planning.design import StudyDesign


@dataclass(frozen=True)
class AssessedDesign:
    """A design, what was assumed, and how good it is.

    `efficiency` is None where nothing was simulated.
    """

    design: Design
    study: StudyDesign
    coverage: Coverage
    variance: ExpectedVariance
    efficiency: Efficiency | None
    stopped: bool = False
    """Whether the simulation was stopped, so that nothing is known of its reliability."""
