"""The page about judges: their figures, and who is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tiewise import text
from tiewise.errors import InputError
from tiewise.study.connection import now
from tiewise.study.signup import clean_line
from tiewise.web.researcher import wording

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

LONGEST = 500
"""Letters of a reason."""
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
    ids = [*(row["judge"] for row in rows), *excluded]
    return request.show(
        "researcher/judges.html", status=422 if fault else 200, message=message, fault=fault,
        flagged=most_flags_first(row for row in counting if row["flags"]),
        others=most_flags_first(row for row in counting if not row["flags"]),
        left_out=left_out, figures={row["judge"]: row for row in rows},
        now=now(), short_ids=wording.short_ids(ids), wording=wording, text=text,
        snapshot=cache.snapshot(),
        reason=request.form.get("reason"), tried=request.form.get("judge"), longest=LONGEST,
    )  # fmt: skip


def most_flags_first(rows: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Judges with the most flags first, then those with the most comparisons."""
    return sorted(rows, key=lambda row: (-len(row["flags"]), -row["comparisons"], row["judge"]))
