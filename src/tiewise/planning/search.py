"""The search for how many comparisons a study needs: simulations where the answer is uncertain.

A few scouts find out where a reliability is reached at all, a survey draws the curves around
there, and then studies are simulated close to the crossing until its place is known well enough.
What is simulated depends on results alone, so that it is the same on any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, inf

import numpy as np

from tiewise.jobs.journal import Done, Journal, Row
from tiewise.jobs.run import Crew, Task, carry_out, chance
from tiewise.planning.accuracy import FIGURES
from tiewise.planning.curves import (
    Estimate,
    averaged,
    crossing,
    first_reached,
    line_near,
)  # fmt: skip
from tiewise.planning.design import StudyDesign, crowd_limit
from tiewise.planning.plan import Answer, Plan, asked, down, neat, up
from tiewise.planning.simulated_study import simulated, so_far
from tiewise.progress import Progress

SCOUTS, SURVEYORS, BATCH, FEWEST, MOST = 4, 24, 16, 6, 240
USUAL = 0.03
"""The precision that these numbers are meant for; a rougher plan is surveyed by fewer studies."""
SURVEYED = 7
"""Sizes of the survey."""
AROUND = (0.88, 1.14)
"""Sizes on both sides of the crossing, as shares of it."""
BESIDE = 0.1
MOST_EACH = 200
"""Comparisons of each item beyond which a study is not sensible."""

Looks = Sequence[tuple[int, tuple[str, ...]]]
"""Sizes at which a study is fitted, and with which priors."""


class Search:
    """A plan in the making: scouts, a survey, and studies close to what is looked for."""

    def __init__(
        self, design: StudyDesign, wanted: float, precision: float, seed: int,
        journal: Journal, crew: Crew, progress: Progress,
    ) -> None:  # fmt: skip
        self.design, self.wanted, self.precision, self.seed = design, wanted, precision, seed
        self.journal, self.crew, self.progress = journal, crew, progress
        self.done: list[Done] = []
        self.surveyors = int(np.clip(round(SURVEYORS * USUAL / precision), FEWEST, SURVEYORS))
        limit = crowd_limit(design.crowd, np.random.default_rng(chance(seed, "limit")))
        most = min(MOST_EACH * len(design.items) / 2, limit["all"])
        self.most = max(floor(most), 1)
        self.reach = {"each": limit["each"], "most": float(self.most), "all": limit["all"]}
        self.now, self.truths = so_far(design, seed)

    def planned(self) -> Plan:
        """Scouts, a survey, and more studies where it matters."""
        guesses = self._scouted()
        sizes = self._surveyed(guesses)
        found = self._closed_in(self._places(sizes))
        answers = {prior: self._answer(prior, found.get(prior)) for prior in self.design.priors}
        table = tuple(self._table(sizes, answers))
        return Plan(
            self.design, self.wanted, self.precision, self.seed, answers, table, self.now,
            self.reach, tuple(self.done),
        )  # fmt: skip

    # Simulating.

    def _go(self, phase: str, what: str, looks: Looks, numbers: range) -> None:
        """Simulate studies of a phase by their numbers, each fitted at all looks."""
        tasks = [self._task(f"{phase} {k + 1}", phase, looks) for k in numbers]

        def progress(_: str, done: int, total: int) -> None:
            # Of a phase in several batches, what came before is done, too.
            self.progress(what, numbers.start + done, numbers.start + total)

        self.done += carry_out(
            simulated,
            tasks,
            seed=self.seed,
            journal=self.journal,
            crew=self.crew,
            progress=progress,
        )  # fmt: skip
        failed = [one for one in self.done if one.error is not None]
        if 2 * len(failed) > len(self.done):
            raise RuntimeError(
                f"{len(failed)} of {len(self.done)} simulated studies failed, such as "
                f"{failed[0].name!r} (seed {failed[0].seed}): {failed[0].error}"
            )

    def _task(self, name: str, phase: str, looks: Looks) -> Task:
        truth = None
        if self.truths:
            rng = np.random.default_rng(chance(self.seed, f"truth of {name}"))
            truth = self.truths[int(rng.integers(len(self.truths)))]
        until = self.wanted if phase == "scout" else None
        about = {"design": self.design, "study": name, "phase": phase, "looks": list(looks)}
        return Task(name, about | {"truth": truth, "until": until})

    def _rows(self, prior: str, *phases: str) -> list[Row]:
        return [
            row for one in self.done for row in one.rows
            if row["prior"] == prior and row["phase"] in phases
        ]  # fmt: skip

    # Where to look.

    def _scouted(self) -> dict[str, float]:
        """About where each prior reaches what is wanted; inf where it does not."""
        smallest = max(len(self.design.items) // 2, 2)
        doubled = [smallest * 2**k for k in range(64) if smallest * 2**k < self.most]
        priors = tuple(self.design.priors)
        self._go("scout", "scouting", [(n, priors) for n in (*doubled, self.most)], range(SCOUTS))
        out = {}
        for prior in priors:
            each: dict[str, list[Row]] = {}
            for row in self._rows(prior, "scout"):
                each.setdefault(row["study"], []).append(row)
            found = [
                self._reached(
                    prior, [row["total"] for row in rows], [row["reliability"] for row in rows]
                )
                for rows in each.values()
            ]
            out[prior] = float(np.median(found)) - self.design.begun if found else inf
        return out

    def _surveyed(self, guesses: Mapping[str, float]) -> list[int]:
        """Curves around the guesses; the sizes they were drawn through."""
        there = [min(max(guess, 1.0), self.most) for guess in guesses.values()]
        ends = (max(min(there) / 4, 2.0), min(2 * max(there), self.most))
        spaced = np.geomspace(min(ends), max(ends), SURVEYED)
        number = asked(self.design, self.reach)
        wanted = {neat(n, 2) for n in spaced} | ({number} if number else set())
        sizes = sorted({min(n, self.most) for n in wanted})
        priors = tuple(self.design.priors)
        self._go("survey", "surveying", [(n, priors) for n in sizes], range(self.surveyors))
        return sizes

    def _places(self, sizes: Sequence[int]) -> dict[str, float]:
        """Totals at which the survey's curves reach what is wanted, where they do."""
        out = {}
        for prior in self.design.priors:
            rows = self._rows(prior, "survey")
            heights = [
                averaged([row["reliability"] for row in rows if row["comparisons"] == n]).value
                for n in sizes
            ]
            place = self._reached(prior, [self.design.begun + n for n in sizes], heights)
            if self.design.begun < place < inf:
                out[prior] = place
        return out

    def _reached(self, prior: str, totals: Sequence[float], heights: Sequence[float]) -> float:
        """Where a curve reaches what is wanted; it begins with the judgements so far, if any."""
        if prior in self.now:
            totals, heights = (self.design.begun, *totals), (self.now[prior], *heights)
            if heights[0] >= self.wanted:
                return float(self.design.begun)
        return first_reached(totals, heights, self.wanted)

    def _closed_in(self, places: dict[str, float]) -> dict[str, Estimate]:
        """Studies close to each crossing until it is known well enough, or they are spent."""
        found = {prior: Estimate(place, inf) for prior, place in places.items()}
        number, batch, left = 0, min(BATCH, self.surveyors), dict(found)
        while left and number < MOST:
            looks, until = self._near(left, first=number == 0), min(number + batch, MOST)
            self._go("near", "closing in", looks, range(number, until))
            number = until
            found |= {prior: self._crossing(prior, found[prior].value) for prior in found}
            left = {prior: one for prior, one in found.items() if one.error > self.precision}
            worst = max((min(one.error, 1.0) for one in left.values()), default=0.0)
            short = number * ((worst / self.precision) ** 2 - 1)
            batch = int(np.clip(ceil(short), FEWEST, 3 * BATCH))
        return found

    def _near(self, left: Mapping[str, Estimate], *, first: bool) -> Looks:
        """Two sizes close to each crossing; at first the number that was thought of, too."""
        looks: dict[int, list[str]] = {}
        for prior, there in left.items():
            more = there.value - self.design.begun
            for share in AROUND:
                size = there.value * share - self.design.begun
                size = min(max(size, more / 2, 1.0), self.most)
                looks.setdefault(neat(size, 3), []).append(prior)
        number = asked(self.design, self.reach)
        if first and number:
            looks[min(number, self.most)] = list(self.design.priors)
        return [(size, tuple(looks[size])) for size in sorted(looks)]

    def _crossing(self, prior: str, guess: float) -> Estimate:
        found = crossing(self._rows(prior, "survey", "near"), "reliability", self.wanted, guess)
        return Estimate(guess, inf) if found is None else found

    # What is said of it.

    def _answer(self, prior: str, found: Estimate | None) -> Answer | None:
        if found is None:
            return None
        begun = self.design.begun
        spread = np.exp(1.96 * min(found.error, 1.0))
        number = up(found.value - begun)
        low, high = max(found.value / spread - begun, 0.0), found.value * spread - begun
        rows = self._rows(prior, "survey", "near")
        told = {name: _at(rows, name, begun + number) for name in FIGURES}
        tenth = _tenth(rows, begun + number)
        return Answer(prior, number, down(low), up(high), found.error, told, tenth)

    def _table(self, sizes: Sequence[int], answers: Mapping[str, Answer | None]) -> list[Row]:
        """A row for each prior and size of the survey, and for what is recommended."""
        out: list[Row] = []
        for prior in self.design.priors:
            rows = self._rows(prior, "survey", "near")
            answer = answers[prior]
            for size in sizes:
                if answer is not None and self._beside(size, answer.comparisons):
                    continue
                those = [row for row in rows if row["comparisons"] == size]
                told = {name: averaged([row[name] for row in those]) for name in FIGURES}
                out.append(_line(prior, size, len(those), told, recommended=False))
            if answer is not None:
                near = {row["study"] for row in rows if row["phase"] == "near"}
                out.append(
                    _line(prior, answer.comparisons, len(near), answer.figures, recommended=True)
                )
        return sorted(out, key=lambda row: (row["prior"], row["comparisons"]))

    def _beside(self, size: int, recommended: int) -> bool:
        """Whether a size would only repeat, less exactly, what is said of the one recommended."""
        same = size == asked(self.design, self.reach)
        return not same and abs(size - recommended) < BESIDE * recommended


def _at(rows: Sequence[Row], figure: str, total: float) -> Estimate:
    line = line_near(rows, figure, total)
    return Estimate(float("nan"), inf) if line is None else line.read(float(np.log(total)))


def _tenth(rows: Sequence[Row], total: float) -> float:
    """The reliability that nine in ten studies of a size have, by those of about that size."""
    line = line_near(rows, "reliability", total)
    if line is None:
        return float("nan")
    here = line.read(float(np.log(total))).value
    near = [row for row in rows if abs(np.log(row["total"] / total)) <= np.log(1.2)]
    away = [row["reliability"] - line.read(float(np.log(row["total"]))).value for row in near]
    return here + float(np.quantile(away, 0.1)) if away else float("nan")


def _line(
    prior: str, size: int, studies: int, told: Mapping[str, Estimate], *, recommended: bool
) -> Row:
    row: Row = {
        "prior": prior, "comparisons": size, "recommended": recommended, "studies": studies,
    }  # fmt: skip
    for name, one in told.items():
        row |= {name: one.value, f"{name}_error": one.error}
    return row
