"""The page of reasons and comments: all of them, or those beside one item."""

from __future__ import annotations

from collections import Counter

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.asking.comment_store import CommentStore
from tiewise.web.researcher.estimates import labels
from tiewise.web.researcher.request import ResearcherRequest

MOST_SHOWN = 500


def comments_page(request: ResearcherRequest) -> Response:
    """What judges ticked and wrote, latest first; of one item where the address names it."""
    study = request.whole_study
    if not study.settings.reasons.asked:
        raise HTTPException(404)
    item = request.query("item")
    if item and item not in study.items:
        raise HTTPException(404)
    comments = list(CommentStore(request.site.store).all(item=item or None))[::-1]
    ticked = Counter(reason for one in comments for reason in one.reasons)
    return request.show(
        "researcher/comments.html", comments=comments[:MOST_SHOWN], number=len(comments),
        names=labels(study), item=item, ticked=ticked.most_common(),
        each=study.settings.reasons.per_question,
    )  # fmt: skip
