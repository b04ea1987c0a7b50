"""How a study stands, in one sentence, and the one thing that is suggested next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from tiewise.posterior.reliability import StoppingAdvice
from tiewise.study.toml.pairing_policy import BALANCED, UNIFORM
from tiewise.study.values import Phase
from tiewise.text import quantity, rounded_down
from tiewise.web.researcher.estimates import ItemEstimate

ENOUGH_TO_TELL = 4
"""Comparisons of a usual item from which on an item with less than half as many is thin."""


class NextStep(NamedTuple):
    """What is suggested, and the button that does it or leads there."""

    text: str
    button: str
    path: str
    fields: Mapping[str, str] | None = None
    """Of the form that the button sends; None where it is a link."""
    names: tuple[str, ...] = ()
    """Items that it is about."""


class StudyStatus(NamedTuple):
    """What the suggestion depends on."""

    phase: Phase
    done: int
    """Comparisons that count."""
    judges: int
    goal: int
    target: float
    reliability: float | None
    advice: StoppingAdvice
    rows: Sequence[ItemEstimate]
    nouns: tuple[str, str]
    policy: str
    flagged: int
    awaited: int
    """People invited by name who have not come, although they have a link."""
    reported: bool
    """Whether there is a report."""


def state_sentence(now: StudyStatus) -> str:
    """How the study stands, in one sentence."""
    if not now.done:
        return {
            Phase.OPEN: "The study is open, and nobody has judged yet.",
            Phase.PAUSED: "The study is paused before anybody has judged.",
            Phase.CLOSED: "The study is closed, and nobody has judged.",
        }[now.phase]
    made = f"{quantity(now.done, 'judgement')} by {quantity(now.judges, 'judge')}"
    return f"The study is {now.phase.value}, with {made}{_certainty(now)}."


def _certainty(now: StudyStatus) -> str:
    if now.goal:
        missing = now.goal - now.done
        return "; its goal is reached" if missing <= 0 else f"; {missing:,} more reach its goal"
    if now.reliability is None:
        return "; how sure they are is not known yet"
    known = f"; reliability is {rounded_down(now.reliability)} of the {now.target:.2f} wanted"
    return f"{known}, about {now.advice.more:,} more" if now.advice.more else known


def next_step(now: StudyStatus) -> NextStep | None:
    """The first suggestion that applies; None where the study may just go on."""
    steps = (_of_phase, _of_judges, _of_enough, _of_thin_items, _of_invitations)
    return next((step for one in steps if (step := one(now))), None)


def _of_phase(now: StudyStatus) -> NextStep | None:
    if now.phase == Phase.PAUSED:
        return NextStep(
            "let judges go on", "Open the study", "/watch/phase", {"phase": Phase.OPEN.value}
        )
    if now.phase == Phase.OPEN and not now.done:
        return NextStep("send judges their link, or invite them by name", "Invite", "/watch/invite")
    if now.phase == Phase.CLOSED and now.done and not now.reported:
        return NextStep(
            "make the report and the briefing", "Make report and briefing", "/watch/papers", {}
        )
    return None


def _of_judges(now: StudyStatus) -> NextStep | None:
    if not now.flagged or now.phase == Phase.CLOSED:
        return None
    who = quantity(now.flagged, "judge")
    return NextStep(f"look at {who} about whom something stands out", "Judges", "/watch/judges")


def _of_enough(now: StudyStatus) -> NextStep | None:
    reached = now.done >= now.goal if now.goal else now.advice.enough
    if not reached or not now.done or now.phase == Phase.CLOSED:
        return None
    return NextStep("there are enough judgements: close the study", "Run the study", "/watch/run")


def _of_thin_items(now: StudyStatus) -> NextStep | None:
    thin = thin_items(now.rows)
    if not thin or now.policy != UNIFORM or now.phase == Phase.CLOSED:
        return None
    one, many = now.nouns
    these = f"this thin {one}" if len(thin) == 1 else f"these {len(thin)} thin {many}"
    return NextStep(
        f"ask about {these}: switch to balanced pairing", "Switch to balanced pairing",
        "/watch/pairing", {"policy": BALANCED}, tuple(row.name for row in thin),
    )  # fmt: skip


def thin_items(rows: Sequence[ItemEstimate]) -> list[ItemEstimate]:
    """Items with less than half as many comparisons as a usual one, the fewest first."""
    usual = median(row.comparisons for row in rows) if rows else 0
    if usual < ENOUGH_TO_TELL:
        return []
    thin = [row for row in rows if 2 * row.comparisons < usual]
    return sorted(thin, key=lambda row: (row.comparisons, row.name))


def _of_invitations(now: StudyStatus) -> NextStep | None:
    if not now.awaited or now.phase != Phase.OPEN:
        return None
    who = quantity(now.awaited, "person", "people")
    verb = "has" if now.awaited == 1 else "have"
    return NextStep(f"remind {who} who {verb} not come", "Invite", "/watch/invite")


def step_values(now: StudyStatus) -> dict[str, Any]:
    """The values of the template."""
    return {"state": state_sentence(now), "step": next_step(now)}
