"""A plan in sentences for a researcher."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isfinite

from tiewise.model.map_priors import Network
from tiewise.planning.answer_information import information_by_answers
from tiewise.planning.curves import Estimate
from tiewise.planning.design import random_pair
from tiewise.planning.plan import Plan, Requirement, round_significant
from tiewise.text import percent, quantity

PRIOR_PHRASES = {"independent": "", "network": "with the network prior "}


def sentences(plan: Plan) -> list[str]:
    """All sentences, the most important first."""
    return [
        *_required(plan), *_saved(plan), *_as_designed(plan), *_accuracy(plan), _meaning(plan),
        _assumptions(plan), *_cautions(plan),
    ]  # fmt: skip


# How many.


def _required(plan: Plan) -> Iterator[str]:
    design, target = plan.design, f"{plan.target:.2f}"
    if design.before is not None:
        yield (
            f"So far there are {quantity(design.comparisons_so_far, 'comparison')}: "
            + "reliability "
            + ", and ".join(
                f"{_share(r)} {PRIOR_PHRASES[p]}".strip()
                for p, r in plan.current_reliability.items()
            )
            + "."
        )
    reached = [need for need in plan.requirements.values() if need is not None]
    more = " more" if design.before is not None else ""
    parts = [_number(plan, need, first=k == 0, more=more) for k, need in enumerate(reached)]
    if parts:
        yield f"For a reliability of {target} collect {'; '.join(parts)}."
    for prior, need in plan.requirements.items():
        if need is None:
            yield _out_of_reach(plan, prior)


def _saved(plan: Plan) -> Iterator[str]:
    """What graded answers save, by the information of an answer."""
    design = plan.design
    reached = [need for need in plan.requirements.values() if need is not None]
    if design.levels == 1 or design.before is not None or not reached:
        return
    worth = information_by_answers(design)
    own, others = worth.pop(design.answers), sorted(worth, reverse=True)
    times = [f"{own / worth[n]:.2f} times as much as with {n}" for n in others]
    instead = [
        f"about {round_significant(reached[-1].comparisons * own / worth[n], 2):,} comparisons "
        f"with {n} answers"
        for n in others
    ]
    yield (
        f"With {design.answers} answers a comparison of two items at random says "
        f"{' and '.join(times)} (Fisher information {own:.2f}, against "
        f"{' and '.join(f'{worth[n]:.2f}' for n in others)}): "
        f"{PRIOR_PHRASES[reached[-1].prior]}the same reliability would take "
        f"{', and '.join(instead)}."
    )


def _number(plan: Plan, need: Requirement, *, first: bool, more: str) -> str:
    noun = f"{more} comparisons" if first else more
    between = f"between {need.low:,} and {need.high:,}"
    who = _judges(plan, need.comparisons)
    return f"{PRIOR_PHRASES[need.prior]}about {need.comparisons:,}{noun} ({between}): {who}"


def _judges(plan: Plan, comparisons: int) -> str:
    """How many judges make so many comparisons."""
    each, judges = plan.design.per_judge, plan.design.judges
    if each is None:
        assert judges is not None
        if judges == 1:
            return "all by one judge"
        return f"each of {judges:,} judges answers {ceil(comparisons / judges):,}"
    number = ceil(comparisons / min(each, plan.reach["each"]))
    if plan.reach["each"] < each:
        return f"{quantity(number, 'judge')} at about {plan.reach['each']:.0f} each"
    return f"{quantity(number, 'judge')} at {each:,} each"


def _out_of_reach(plan: Plan, prior: str) -> str:
    which = f"{PRIOR_PHRASES[prior]}a" if PRIOR_PHRASES[prior] else "a"
    if plan.current_reliability.get(prior, 0.0) >= plan.target:
        return f"{which.capitalize()} reliability of {plan.target:.2f} is there already."
    last = [row for row in plan.table if row["prior"] == prior][-1]
    there = f"{last['comparisons']:,} comparisons, where it is {_share(last['reliability'])}"
    if plan.reach["all"] <= last["comparisons"] * 1.05:
        judges = plan.design.judges or 0
        return (
            f"{which.capitalize()} reliability of {plan.target:.2f} is out of reach: no pair is "
            f"left for {quantity(judges, 'judge')} after about {there}. Ask more judges, or such "
            "as know more."
        )
    return (
        f"{which.capitalize()} reliability of {plan.target:.2f} is out of reach: it takes more "
        f"than {there}. Items as alike as this are hard to rank; settle for less, "
        "or for the top few."
    )


# The accuracy.


def _as_designed(plan: Plan) -> Iterator[str]:
    planned, design = plan.planned_comparisons, plan.design
    if planned is None:
        return
    rows = [row for row in plan.table if row["comparisons"] == planned and not row["recommended"]]
    if not rows:
        return
    parts = [
        f"{_with_error(Estimate(row['reliability'], row['reliability_error']))} "
        f"{PRIOR_PHRASES[row['prior']]}".strip()
        for row in rows
    ]
    more = " more" if design.before is not None else ""
    yield (
        f"Your {quantity(design.judges or 0, 'judge')} at {design.per_judge:,} each make "
        f"{planned:,}{more}: reliability {', and '.join(parts)}."
    )


def _accuracy(plan: Plan) -> Iterator[str]:
    """The accuracy at the recommended number, with the best prior there is."""
    reached = [need for need in plan.requirements.values() if need is not None]
    if not reached or not isfinite(reached[-1].measures["rank_error"].value):
        return
    need, items, top = reached[-1], len(plan.design.items), plan.design.top_count
    means = {name: one.value for name, one in need.measures.items()}
    total = need.comparisons + plan.design.comparisons_so_far
    yield (
        f"At {total:,} comparisons {PRIOR_PHRASES[need.prior]}the rank of an item is off by "
        f"{means['rank_error']:.1f} of {items} places on average, {top * means['top_share']:.1f} "
        f"of the true top {top} are among the {top} ranked highest, and 95 % intervals are "
        f"{means['width']:.1f} wide ({means['rank_width']:.0f} ranks) and hold the truth "
        f"{percent(means['covered'])} of the time."
    )
    if isfinite(need.tenth_percentile):
        yield (
            f"That is on average: nine in ten such studies have a reliability of "
            f"{need.tenth_percentile:.2f} or more."
        )


def _meaning(plan: Plan) -> str:
    share = plan.target
    return (
        f"A reliability of {share:.2f} means that {percent(share)} of the variance between "
        f"items is known; estimates then correlate with the truth at about {share**0.5:.2f}."
    )


def _assumptions(plan: Plan) -> str:
    design = plan.design
    if design.before is not None:
        return (
            "Assumed: judges go on as they have judged so far, all of them by one scale; the true "
            "qualities are anything that the judgements so far leave open."
        )
    pair = random_pair(design.prior, len(design.items), design.spread, design.tie)
    ties = f", call them equal {percent(pair.tied)}" if design.tie else ""
    step = f", step between cuts {design.step:g}" if design.levels > 1 else ""
    return (
        f"Assumed: of two items at random judges choose the better {percent(pair.better)} of "
        f"the time{ties}, and choose the worse {percent(pair.worse)} "
        f"(spread {design.spread:g}, tie tendency {design.tie:.3g}{step}); all judge by one scale."
        f"{_strength_assumption(plan)}{_map_assumption(plan)}"
    )


def _strength_assumption(plan: Plan) -> str:
    """How often a choice is as strong as can be, where answers are graded."""
    design = plan.design
    if design.levels == 1:
        return ""
    last = float(design.cuts[-1])
    strongest = random_pair(design.prior, len(design.items), design.spread, last)
    share = percent(strongest.better + strongest.worse)
    return f" With {design.answers} answers {share} are one of the two strongest."


def _map_assumption(plan: Plan) -> str:
    """What is assumed of neighbours, where they are known."""
    prior = plan.design.prior
    if not isinstance(prior, Network):
        return ""
    if prior.share is not None:
        return (
            " Neighbours are alike as the network prior has it, with a share of "
            f"{prior.share:g} for the map."
        )
    return (
        " How far neighbours are alike differs from one simulated study to the next: the share "
        "of the map in the prior is drawn evenly between 0 (not at all) and 1."
    )


def _cautions(plan: Plan) -> Iterator[str]:
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
    for need in plan.requirements.values():
        if need is not None and need.error > 1.25 * plan.precision:
            yield (
                f"The number {PRIOR_PHRASES[need.prior] or 'with the independent prior '}is known "
                f"to {percent(min(need.error, 1.0))} only: the simulations allowed are spent."
            )
    if plan.failed:
        one = plan.failed[0]
        yield (
            f"{len(plan.failed)} of {len(plan.records)} simulated studies failed and were left "
            f"out, such as {one.name!r} (seed {one.seed}): {one.error}."
        )


def _with_error(one: Estimate) -> str:
    return f"{one.value:.2f} ± {round_error_up(one.error, 2):.2f}"


def round_error_up(error: float, decimals: int) -> float:
    """An error rounded up, so that a positive one is not shown as 0."""
    return ceil(error * 10**decimals - 1e-9) / 10**decimals if isfinite(error) else error


def _share(value: float) -> str:
    return f"{value:.2f}"
