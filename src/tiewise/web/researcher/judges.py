"""The judges of a study as a researcher sees them, and who is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.study.judge_store import now
from tiewise.study.signup import tidy
from tiewise.web.researcher import wording

if TYPE_CHECKING:
    from tiewise.web.researcher.request import Watch

LONGEST = 500
"""Letters of a reason."""
SAID = {
    "excluded": "The judge is left out. The map follows within seconds; the judgements are kept.",
    "included": "The judge counts again. The map follows within seconds.",
}


def judges(watch: Watch) -> Response:
    """Every judge with their figures, those with flags first."""
    return _judges(watch, said=SAID.get(watch.request.query_params.get("done", ""), ""))


def exclude(watch: Watch) -> Response:
    """Leave a judge out, with the reason."""
    judge, reason = watch.form.get("judge"), tidy(watch.form.get("reason"))
    if len(reason) > LONGEST:
        return _judges(watch, fault=f"That reason is too long; say it in {LONGEST} letters.")
    try:
        watch.site.ledger.exclude(judge, reason, by=watch.researcher)
    except InputError as error:
        return _judges(watch, fault=wording.sentence(error))
    return watch.go("/watch/judges?done=excluded")


def include(watch: Watch) -> Response:
    """Let a judge count again."""
    try:
        watch.site.ledger.include(watch.form.get("judge"), by=watch.researcher)
    except InputError as error:
        return _judges(watch, fault=wording.sentence(error))
    return watch.go("/watch/judges?done=included")


def _judges(watch: Watch, *, said: str = "", fault: str = "") -> Response:
    rows, left_out = watch.site.latest.judges(), watch.site.ledger.left_out()
    # The ledger knows first: the figures follow with the next picture.
    out = {row["judge"] for row in left_out}
    counting = [row for row in rows if row["judge"] not in out]
    every = [*(row["judge"] for row in rows), *out]
    return watch.show(
        "watch/judges.html", status=422 if fault else 200, said=said, fault=fault, now=now(),
        flagged=in_order(row for row in counting if row["flags"]),
        others=in_order(row for row in counting if not row["flags"]),
        left_out=left_out, figures={row["judge"]: row for row in rows},
        brief=wording.shorts(every), spoken=wording, snapshot=watch.site.latest.snapshot(),
        reason=watch.form.get("reason"), tried=watch.form.get("judge"), longest=LONGEST,
    )  # fmt: skip


def in_order(rows: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those with the most flags first, then those who did the most."""
    return sorted(rows, key=lambda row: (-len(row["flags"]), -row["comparisons"], row["judge"]))
