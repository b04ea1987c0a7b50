"""The page about judges: their figures, and who is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from tiewise import text
from tiewise.errors import InputError
from tiewise.study.connection import now
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.signup import clean_line
from tiewise.web.researcher import wording

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

LONGEST = 500
"""Letters of a reason."""


class JudgeOrder(NamedTuple):
    """A column that judges can be sorted by: what it is called, its key, and which way."""

    name: str
    key: str
    way: str = "descending"


ORDERS = {
    "judge": JudgeOrder("Judge", "judge", "ascending"),
    "judgements": JudgeOrder("Judgements", "comparisons"),
    "skipped": JudgeOrder("Skipped", "skip_share"),
    "time": JudgeOrder("Median time", "median_seconds", "ascending"),
    "ties": JudgeOrder("Ties", "tie_share"),
    "left": JudgeOrder("Left", "left_share"),
    "agrees": JudgeOrder("Agrees", "agreement", "ascending"),
    "misfit": JudgeOrder("Misfit", "misfit"),
    "repeats": JudgeOrder("Repeats the same", "consistency", "ascending"),
}
MESSAGES = {
    "excluded": "The judge is left out. The map follows within seconds; the judgements are kept.",
    "included": "The judge counts again. The map follows within seconds.",
}


def judges_page(request: ResearcherRequest) -> Response:
    """Every judge with their figures, those with flags first."""
    return _judges(request, message=MESSAGES.get(request.query("done"), ""))


def exclude(request: ResearcherRequest) -> Response:
    """Leave a judge out, with the reason."""
    judge, reason = request.form.get("judge"), clean_line(request.form.get("reason"))
    if len(reason) > LONGEST:
        return _judges(request, fault=f"That reason is too long; say it in {LONGEST} letters.")
    try:
        request.site.researcher_store.exclude(judge, reason, by=request.researcher)
    except InputError as error:
        return _judges(request, fault=wording.sentence(error))
    return request.redirect("/watch/judges?done=excluded")


def include(request: ResearcherRequest) -> Response:
    """Let a judge count again."""
    try:
        request.site.researcher_store.include(request.form.get("judge"), by=request.researcher)
    except InputError as error:
        return _judges(request, fault=wording.sentence(error))
    return request.redirect("/watch/judges?done=included")


def _judges(request: ResearcherRequest, *, message: str = "", fault: str = "") -> Response:
    cache = request.site.snapshot_cache
    rows, left_out = cache.judges(), request.site.researcher_store.exclusions()
    # Exclusions hold at once; the figures follow with the next snapshot.
    excluded = {row["judge"] for row in left_out}
    counting = [row for row in rows if row["judge"] not in excluded]
    # Viewers see figures, and of nobody who it is.
    names = InvitationStore(request.site.store).labels() if request.may_change else {}
    by = request.query("by")
    by = by if by in ORDERS else ""
    ids = [*(row["judge"] for row in rows), *excluded]
    return request.show(
        "researcher/judges.html", status=422 if fault else 200, message=message, fault=fault,
        flagged=most_flags_first(row for row in counting if row["flags"]),
        counting=sorted_judges(counting, by, names), by=by, orders=ORDERS, names=names,
        left_out=left_out, figures={row["judge"]: row for row in rows},
        now=now(), short_ids=wording.short_ids(ids), wording=wording, text=text,
        snapshot=cache.snapshot(),
        reason=request.form.get("reason"), tried=request.form.get("judge"), longest=LONGEST,
    )  # fmt: skip


def sorted_judges(
    rows: Iterable[Mapping[str, Any]], by: str, names: Mapping[str, str]
) -> Sequence[Mapping[str, Any]]:
    """Judges in the order of a column; those of whom it is not known come last."""
    if by not in ORDERS:
        return most_flags_first(rows)
    if by == "judge":  # those with a name first
        return sorted(rows, key=lambda row: _by_name(row["judge"], names))
    order = ORDERS[by]
    sign = -1 if order.way == "descending" else 1
    known = [row for row in rows if row[order.key] is not None]
    unknown = [row for row in rows if row[order.key] is None]
    return [*sorted(known, key=lambda row: (sign * row[order.key], row["judge"])), *unknown]


def _by_name(judge: str, names: Mapping[str, str]) -> tuple[bool, str]:
    return judge not in names, names.get(judge, judge).casefold()


def most_flags_first(rows: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Judges with the most flags first, then those with the most comparisons."""
    return sorted(rows, key=lambda row: (-len(row["flags"]), -row["comparisons"], row["judge"]))
