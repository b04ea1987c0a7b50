"""A plan in words that a researcher reads."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isfinite

from tiewise.planning.curves import Estimate
from tiewise.planning.design import random_pair
from tiewise.planning.plan import Answer, Plan

WITH = {"independent": "", "network": "with the network prior "}


def sentences(plan: Plan) -> list[str]:
    """Everything that is said, most important first."""
    return [
        *_needed(plan), *_thought_of(plan), *_given(plan), _meaning(plan), _assumed(plan),
        *_beware(plan),
    ]  # fmt: skip


# How many.


def _needed(plan: Plan) -> Iterator[str]:
    design, wanted = plan.design, f"{plan.wanted:.2f}"
    if design.before is not None:
        yield (
            f"So far there are {_comparisons(design.begun)}: "
            + "reliability "
            + ", and ".join(f"{_share(r)} {WITH[p]}".strip() for p, r in plan.now.items())
            + "."
        )
    reached = [answer for answer in plan.answers.values() if answer is not None]
    more = " more" if design.before is not None else ""
    parts = [_number(plan, answer, first=k == 0, more=more) for k, answer in enumerate(reached)]
    if parts:
        yield f"For a reliability of {wanted} collect {'; '.join(parts)}."
    for prior, answer in plan.answers.items():
        if answer is None:
            yield _out_of_reach(plan, prior)


def _number(plan: Plan, answer: Answer, *, first: bool, more: str) -> str:
    noun = f"{more} comparisons" if first else more
    between = f"between {answer.low:,} and {answer.high:,}"
    who = _judges(plan, answer.comparisons)
    return f"{WITH[answer.prior]}about {answer.comparisons:,}{noun} ({between}): {who}"


def _judges(plan: Plan, comparisons: int) -> str:
    """Who makes so many comparisons."""
    each, judges = plan.design.per_judge, plan.design.judges
    if each is None:
        assert judges is not None
        if judges == 1:
            return "all by one judge"
        return f"each of {judges:,} judges answers {ceil(comparisons / judges):,}"
    number = ceil(comparisons / min(each, plan.reach["each"]))
    if plan.reach["each"] < each:
        return f"{_people(number)} at about {plan.reach['each']:.0f} each"
    return f"{_people(number)} at {each:,} each"


def _out_of_reach(plan: Plan, prior: str) -> str:
    which = f"{WITH[prior]}a" if WITH[prior] else "a"
    if plan.now.get(prior, 0.0) >= plan.wanted:
        return f"{which.capitalize()} reliability of {plan.wanted:.2f} is there already."
    last = [row for row in plan.table if row["prior"] == prior][-1]
    there = f"{last['comparisons']:,} comparisons, where it is {_share(last['reliability'])}"
    if plan.reach["all"] <= last["comparisons"] * 1.05:
        judges = plan.design.judges or 0
        return (
            f"{which.capitalize()} reliability of {plan.wanted:.2f} is out of reach: no pair is "
            f"left for {_people(judges)} after about {there}. Ask more judges, or such as know "
            "more."
        )
    return (
        f"{which.capitalize()} reliability of {plan.wanted:.2f} is out of reach: it takes more "
        f"than {there}. Items as alike as this are hard to rank; settle for less "
        "(--reliability), or for the top few."
    )


# What it gives.


def _thought_of(plan: Plan) -> Iterator[str]:
    asked, design = plan.asked, plan.design
    if asked is None:
        return
    rows = [row for row in plan.table if row["comparisons"] == asked and not row["recommended"]]
    if not rows:
        return
    parts = [
        f"{_with_error(Estimate(row['reliability'], row['reliability_error']))} "
        f"{WITH[row['prior']]}".strip()
        for row in rows
    ]
    more = " more" if design.before is not None else ""
    yield (
        f"Your {_people(design.judges or 0)} at {design.per_judge:,} each make {asked:,}{more}: "
        f"reliability {', and '.join(parts)}."
    )


def _given(plan: Plan) -> Iterator[str]:
    """What the results will be like at the number recommended, with the best prior there is."""
    reached = [answer for answer in plan.answers.values() if answer is not None]
    if not reached or not isfinite(reached[-1].figures["rank_error"].value):
        return
    answer, items, top = reached[-1], len(plan.design.items), plan.design.best
    told = {name: one.value for name, one in answer.figures.items()}
    total = answer.comparisons + plan.design.begun
    yield (
        f"At {total:,} comparisons {WITH[answer.prior]}the rank of an item is off by "
        f"{told['rank_error']:.1f} of {items} places on average, {top * told['top_share']:.1f} of "
        f"the true top {top} are among the {top} ranked highest, and 95 % intervals are "
        f"{told['width']:.1f} wide ({told['rank_width']:.0f} ranks) and hold the truth "
        f"{100 * told['covered']:.0f} % of the time."
    )
    if isfinite(answer.tenth):
        yield (
            f"That is on average: nine in ten such studies have a reliability of "
            f"{answer.tenth:.2f} or more."
        )


def _meaning(plan: Plan) -> str:
    share = plan.wanted
    return (
        f"A reliability of {share:.2f} means that {100 * share:.0f} % of the variance between "
        f"items is known; estimates then correlate with the truth at about {share**0.5:.2f}."
    )


def _assumed(plan: Plan) -> str:
    design = plan.design
    if design.before is not None:
        return (
            "Assumed: judges go on as they have judged so far, all of them by one scale; the true "
            "qualities are anything that the judgements so far leave open."
        )
    pair = random_pair(design.prior, len(design.items), design.spread, design.tie)
    ties = f", call them equal {100 * pair.tied:.0f} %" if design.tie else ""
    return (
        f"Assumed: of two items at random judges choose the better {100 * pair.better:.0f} % of "
        f"the time{ties}, and choose the worse {100 * pair.worse:.0f} % "
        f"(--spread {design.spread:g}, --tie-tendency {design.tie:.3g}); all judge by one scale."
    )


def _beware(plan: Plan) -> Iterator[str]:
    design, each = plan.design, plan.reach["each"]
    if design.per_judge is not None and each < design.per_judge:
        whose = f" who knows {design.knows} of the groups" if design.knows else ""
        yield (
            f"A judge{whose} has about {each:.0f} pairs to compare, and so cannot make "
            f"{design.per_judge:,} comparisons."
        )
    if design.knows == 1:
        yield (
            "Judges who know one group never compare its items with those of another, so how the "
            "groups stand to each other stays unknown; let judges know 2 or more."
        )
    for answer in plan.answers.values():
        if answer is not None and answer.error > 1.25 * plan.precision:
            yield (
                f"The number {WITH[answer.prior] or 'with the independent prior '}is known to "
                f"{100 * min(answer.error, 1.0):.0f} % only: the simulations allowed are spent."
            )
    if plan.failed:
        one = plan.failed[0]
        yield (
            f"{len(plan.failed)} of {len(plan.done)} simulated studies failed and were left out, "
            f"such as {one.name!r} (seed {one.seed}): {one.error}."
        )


def _with_error(one: Estimate) -> str:
    return f"{one.value:.2f} ± {upwards(one.error, 2):.2f}"


def upwards(error: float, decimals: int) -> float:
    """An error rounded up: one that is there is not told as 0."""
    return ceil(error * 10**decimals - 1e-9) / 10**decimals if isfinite(error) else error


def _share(value: float) -> str:
    return f"{value:.2f}"


def _people(number: int) -> str:
    return "1 judge" if number == 1 else f"{number:,} judges"


def _comparisons(number: int) -> str:
    return "1 comparison" if number == 1 else f"{number:,} comparisons"
