"""The search for how many comparisons a study needs: simulations where the answer is uncertain.

A few scout studies show about where the target is reached, a survey gives the curves around there,
and then studies are simulated near the crossing until its standard error is small enough. What is
simulated depends on results alone, so that it is the same on any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, inf

import numpy as np

from tiewise.jobs.journal import Journal, Row, TaskRecord
from tiewise.jobs.run import Task, WorkerPool, run_tasks, task_seed
from tiewise.planning.accuracy import MEASURES
from tiewise.planning.curves import (
    Estimate,
    crossing,
    first_crossing,
    local_line,
    mean_estimate,
)  # fmt: skip
from tiewise.planning.design import StudyDesign, crowd_limit
from tiewise.planning.plan import (
    Plan,
    Requirement,
    planned_comparisons,
    round_down,
    round_significant,
    round_up,
)
from tiewise.planning.simulated_study import posterior_so_far, simulate_study
from tiewise.progress import Progress

SCOUT_STUDIES, SURVEY_STUDIES, BATCH, MIN_BATCH, MAX_STUDIES = 4, 24, 16, 6, 240
REFERENCE_PRECISION = 0.03
"""The precision that these numbers are meant for; a rougher plan needs fewer studies."""
SURVEY_SIZES = 7
"""How many sizes the survey has."""
CROSSING_SHARES = (0.88, 1.14)
"""Sizes on both sides of the crossing, as shares of it."""
NEARBY = 0.1
"""Sizes of the survey this near to the recommended one, as a share of it, are not shown."""
MAX_PER_ITEM = 200
"""Comparisons of each item beyond which a study is not sensible."""

FitSchedule = Sequence[tuple[int, tuple[str, ...]]]
"""Sizes at which a study is fitted, and with which priors."""


class Search:
    """The search of a plan: scouts, a survey, and studies near the crossing."""

    def __init__(
        self, design: StudyDesign, target: float, precision: float, seed: int,
        journal: Journal, pool: WorkerPool, progress: Progress,
    ) -> None:  # fmt: skip
        self.design, self.target, self.precision, self.seed = design, target, precision, seed
        self.journal, self.pool, self.progress = journal, pool, progress
        self.records: list[TaskRecord] = []
        studies = round(SURVEY_STUDIES * REFERENCE_PRECISION / precision)
        self.survey_studies = int(np.clip(studies, MIN_BATCH, SURVEY_STUDIES))
        limit = crowd_limit(design.crowd, np.random.default_rng(task_seed(seed, "limit")))
        most = min(MAX_PER_ITEM * len(design.items) / 2, limit["all"])
        self.most = max(floor(most), 1)
        self.reach = {"each": limit["each"], "most": float(self.most), "all": limit["all"]}
        self.current_reliability, self.truths = posterior_so_far(design, seed)

    def run(self) -> Plan:
        """Scouts, a survey, and more studies near the crossings."""
        guesses = self._scout()
        sizes = self._survey(guesses)
        crossings = self._close_in(self._survey_crossings(sizes))
        requirements = {
            prior: self._requirement(prior, crossings.get(prior)) for prior in self.design.priors
        }
        table = tuple(self._table(sizes, requirements))
        return Plan(
            self.design, self.target, self.precision, self.seed, requirements, table,
            self.current_reliability, self.reach, tuple(self.records),
        )  # fmt: skip

    # Simulating.

    def _simulate(self, phase: str, what: str, schedule: FitSchedule, numbers: range) -> None:
        """Simulate studies of a phase by their numbers, each fitted as scheduled."""
        tasks = [self._task(f"{phase} {k + 1}", phase, schedule) for k in numbers]

        def progress(_: str, done: int, total: int) -> None:
            # In a phase of several batches, earlier ones count as done.
            self.progress(what, numbers.start + done, numbers.start + total)

        self.records += run_tasks(
            simulate_study,
            tasks,
            seed=self.seed,
            journal=self.journal,
            pool=self.pool,
            progress=progress,
        )  # fmt: skip
        failed = [one for one in self.records if one.error is not None]
        if 2 * len(failed) > len(self.records):
            raise RuntimeError(
                f"{len(failed)} of {len(self.records)} simulated studies failed, such as "
                f"{failed[0].name!r} (seed {failed[0].seed}): {failed[0].error}"
            )

    def _task(self, name: str, phase: str, schedule: FitSchedule) -> Task:
        truth = None
        if self.truths:
            rng = np.random.default_rng(task_seed(self.seed, f"truth of {name}"))
            truth = self.truths[int(rng.integers(len(self.truths)))]
        stop_at = self.target if phase == "scout" else None
        inputs = {"design": self.design, "study": name, "phase": phase, "schedule": list(schedule)}
        return Task(name, inputs | {"truth": truth, "stop_at": stop_at})

    def _rows(self, prior: str, *phases: str) -> list[Row]:
        return [
            row for record in self.records for row in record.rows
            if row["prior"] == prior and row["phase"] in phases
        ]  # fmt: skip

    # Where the target is reached.

    def _scout(self) -> dict[str, float]:
        """About where each prior reaches the target; inf where it does not."""
        smallest = max(len(self.design.items) // 2, 2)
        doubled = [smallest * 2**k for k in range(64) if smallest * 2**k < self.most]
        priors = tuple(self.design.priors)
        self._simulate(
            "scout", "scouting", [(n, priors) for n in (*doubled, self.most)], range(SCOUT_STUDIES)
        )
        out = {}
        for prior in priors:
            by_study: dict[str, list[Row]] = {}
            for row in self._rows(prior, "scout"):
                by_study.setdefault(row["study"], []).append(row)
            crossings = [
                self._first_crossing(
                    prior, [row["total"] for row in rows], [row["reliability"] for row in rows]
                )
                for rows in by_study.values()
            ]
            out[prior] = inf
            if crossings:
                out[prior] = float(np.median(crossings)) - self.design.comparisons_so_far
        return out

    def _survey(self, guesses: Mapping[str, float]) -> list[int]:
        """Simulate around the guesses; the sizes of the survey."""
        within = [min(max(guess, 1.0), self.most) for guess in guesses.values()]
        ends = (max(min(within) / 4, 2.0), min(2 * max(within), self.most))
        spaced = np.geomspace(min(ends), max(ends), SURVEY_SIZES)
        number = planned_comparisons(self.design, self.reach)
        rounded = {round_significant(n, 2) for n in spaced} | ({number} if number else set())
        sizes = sorted({min(n, self.most) for n in rounded})
        priors = tuple(self.design.priors)
        self._simulate(
            "survey", "surveying", [(n, priors) for n in sizes], range(self.survey_studies)
        )
        return sizes

    def _survey_crossings(self, sizes: Sequence[int]) -> dict[str, float]:
        """Totals at which the survey's curves reach the target, where they do."""
        out = {}
        for prior in self.design.priors:
            rows = self._rows(prior, "survey")
            means = [
                mean_estimate([row["reliability"] for row in rows if row["comparisons"] == n]).value
                for n in sizes
            ]
            totals = [self.design.comparisons_so_far + n for n in sizes]
            total = self._first_crossing(prior, totals, means)
            if self.design.comparisons_so_far < total < inf:
                out[prior] = total
        return out

    def _first_crossing(
        self, prior: str, totals: Sequence[float], values: Sequence[float]
    ) -> float:
        """Where a curve reaches the target; it begins with the judgements so far, if any."""
        if prior in self.current_reliability:
            totals = (self.design.comparisons_so_far, *totals)
            values = (self.current_reliability[prior], *values)
            if values[0] >= self.target:
                return float(self.design.comparisons_so_far)
        return first_crossing(totals, values, self.target)

    def _close_in(self, totals: dict[str, float]) -> dict[str, Estimate]:
        """Simulate near each crossing until it is precise enough, or `MAX_STUDIES` are spent."""
        crossings = {prior: Estimate(total, inf) for prior, total in totals.items()}
        number, batch, left = 0, min(BATCH, self.survey_studies), dict(crossings)
        while left and number < MAX_STUDIES:
            schedule = self._near(left, first=number == 0)
            until = min(number + batch, MAX_STUDIES)
            self._simulate("near", "closing in", schedule, range(number, until))
            number = until
            crossings |= {
                prior: self._crossing(prior, guess.value) for prior, guess in crossings.items()
            }
            left = {prior: one for prior, one in crossings.items() if one.error > self.precision}
            worst = max((min(one.error, 1.0) for one in left.values()), default=0.0)
            missing = number * ((worst / self.precision) ** 2 - 1)
            batch = int(np.clip(ceil(missing), MIN_BATCH, 3 * BATCH))
        return crossings

    def _near(self, left: Mapping[str, Estimate], *, first: bool) -> FitSchedule:
        """Two sizes near each crossing; at first the number in the design, too."""
        schedule: dict[int, list[str]] = {}
        for prior, estimate in left.items():
            more = estimate.value - self.design.comparisons_so_far
            for share in CROSSING_SHARES:
                size = estimate.value * share - self.design.comparisons_so_far
                size = min(max(size, more / 2, 1.0), self.most)
                schedule.setdefault(round_significant(size, 3), []).append(prior)
        number = planned_comparisons(self.design, self.reach)
        if first and number:
            schedule[min(number, self.most)] = list(self.design.priors)
        return [(size, tuple(schedule[size])) for size in sorted(schedule)]

    def _crossing(self, prior: str, guess: float) -> Estimate:
        rows = self._rows(prior, "survey", "near")
        estimate = crossing(rows, "reliability", self.target, guess)
        return Estimate(guess, inf) if estimate is None else estimate

    # Results.

    def _requirement(self, prior: str, total: Estimate | None) -> Requirement | None:
        if total is None:
            return None
        so_far = self.design.comparisons_so_far
        factor = np.exp(1.96 * min(total.error, 1.0))
        number = round_up(total.value - so_far)
        low, high = max(total.value / factor - so_far, 0.0), total.value * factor - so_far
        rows = self._rows(prior, "survey", "near")
        measures = {name: _measure_at(rows, name, so_far + number) for name in MEASURES}
        tenth = _tenth_percentile(rows, so_far + number)
        return Requirement(
            prior, number, round_down(low), round_up(high), total.error, measures, tenth
        )

    def _table(
        self, sizes: Sequence[int], requirements: Mapping[str, Requirement | None]
    ) -> list[Row]:
        """A row for each prior and size of the survey, and for what is recommended."""
        out: list[Row] = []
        for prior in self.design.priors:
            rows = self._rows(prior, "survey", "near")
            requirement = requirements[prior]
            for size in sizes:
                if requirement is not None and self._is_near(size, requirement.comparisons):
                    continue
                those = [row for row in rows if row["comparisons"] == size]
                means = {name: mean_estimate([row[name] for row in those]) for name in MEASURES}
                out.append(_table_row(prior, size, len(those), means, recommended=False))
            if requirement is not None:
                near = {row["study"] for row in rows if row["phase"] == "near"}
                size, measures = requirement.comparisons, requirement.measures
                out.append(_table_row(prior, size, len(near), measures, recommended=True))
        return sorted(out, key=lambda row: (row["prior"], row["comparisons"]))

    def _is_near(self, size: int, recommended: int) -> bool:
        """Whether a size is so near that it would only repeat the recommended one, less exactly."""
        same = size == planned_comparisons(self.design, self.reach)
        return not same and abs(size - recommended) < NEARBY * recommended


def _measure_at(rows: Sequence[Row], measure: str, total: float) -> Estimate:
    line = local_line(rows, measure, total)
    return Estimate(float("nan"), inf) if line is None else line.predict(float(np.log(total)))


def _tenth_percentile(rows: Sequence[Row], total: float) -> float:
    """The reliability that nine in ten studies of a size have, from studies of about that size."""
    line = local_line(rows, "reliability", total)
    if line is None:
        return float("nan")
    centre = line.predict(float(np.log(total))).value
    near = [row for row in rows if abs(np.log(row["total"] / total)) <= np.log(1.2)]
    residuals = [
        row["reliability"] - line.predict(float(np.log(row["total"]))).value for row in near
    ]
    return centre + float(np.quantile(residuals, 0.1)) if residuals else float("nan")


def _table_row(
    prior: str, size: int, studies: int, measures: Mapping[str, Estimate], *, recommended: bool
) -> Row:
    row: Row = {
        "prior": prior, "comparisons": size, "recommended": recommended, "studies": studies,
    }  # fmt: skip
    for name, one in measures.items():
        row |= {name: one.value, f"{name}_error": one.error}
    return row
