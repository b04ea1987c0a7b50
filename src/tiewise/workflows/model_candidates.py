"""Candidate models of a file of judgements: what each has beyond the plain one, and its options."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tiewise.data.answers import FIRST, SECOND
from tiewise.data.comparisons import Comparisons

TERMS = ("thresholds", "sharpness", "order")
"""The terms that candidates may have, by the names of the options of `build_model`."""
MIN_DECIDED = 50
"""With fewer choices than this, all may be on one side by accident."""


@dataclass(frozen=True)
class Candidate:
    """A model to be tried: a prior of quality, terms, and whether ties are modelled.

    `prior` is None for independent qualities; `other_prior` is the prior that was left out. With
    `drops_ties` tied judgements are left out.
    """

    prior: str | None = None
    terms: tuple[str, ...] = ()
    ties: bool = True
    other_prior: str | None = None
    drops_ties: bool = False

    @property
    def name(self) -> str:
        """What it has beyond the plain model."""
        parts = [*([self.prior] if self.prior else []), *self.terms]
        return "no ties" if self.drops_ties else " + ".join(parts or ["plain"])

    @property
    def parts(self) -> int:
        """How many things it has beyond the plain model: the fewer, the simpler."""
        return (self.prior is not None) + len(self.terms)

    @property
    def options(self) -> dict[str, Any]:
        """The keywords of `build_model` that it differs by from the defaults."""
        options: dict[str, Any] = dict.fromkeys(self.terms, True)
        if self.prior is None and self.other_prior is not None:
            options["prior"] = "independent"
        return options | ({"ties": False} if self.drops_ties else {})

    def with_terms(self, terms: Sequence[str]) -> Candidate:
        """The same with these terms."""
        return Candidate(self.prior, tuple(terms), self.ties, self.other_prior)


def first_candidates(prior: str | None, *, ties: bool, called: int) -> list[Candidate]:
    """Independent qualities or a prior that knows of the items; and, of `called` ties, without."""
    plain = Candidate(ties=ties, other_prior=prior)
    candidates = [plain, *([Candidate(prior, ties=ties)] if prior else [])]
    without = Candidate(ties=False, other_prior=prior, drops_ties=True)
    return [*candidates, *([without] if ties and called else [])]


def possible_terms(comparisons: Comparisons, *, ties: bool) -> tuple[str, ...]:
    """The terms that these judgements can say something about."""
    judges = len(comparisons.judges or ())
    possible = {
        "thresholds": (ties or comparisons.levels > 1) and judges > 1,
        "sharpness": judges > 1,
        "order": comparisons.layout.sides and not _one_sided(comparisons),
    }
    return tuple(name for name in TERMS if possible[name])


def combined_terms(helpful: Collection[str]) -> tuple[str, ...] | None:
    """All terms that help, where there are several."""
    return tuple(name for name in TERMS if name in helpful) if len(helpful) > 1 else None


def _one_sided(comparisons: Comparisons) -> bool:
    """Whether all choices are of the same side, as where the winner is written first."""
    tally = comparisons.tally
    chosen = [int(tally.times[tally.answer == code].sum()) for code in (FIRST, SECOND)]
    return min(chosen) == 0 and sum(chosen) >= MIN_DECIDED


def left_out_notes(comparisons: Comparisons, prior: str | None, *, ties: bool) -> list[str]:
    """What was not tried, and why."""
    notes = []
    if prior is None:
        notes.append("Neighbours are not known, so no prior with neighbours was tried.")
    if not ties:
        notes.append("No tie is modelled, so no thresholds of judges were tried.")
    if len(comparisons.judges or ()) < 2:
        notes.append("Judges are not known, so neither sharpness nor thresholds were tried.")
    if not comparisons.layout.sides or _one_sided(comparisons):
        notes.append("Nothing says which item was shown first, so order was not tried.")
    return notes
