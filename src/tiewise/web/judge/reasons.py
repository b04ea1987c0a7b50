"""After an answer: why it was given, and what others agree on where it was practice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.asking.comment_store import (
    LONGEST_COMMENT,
    CommentStore,
    Explanation,
    clean_text,
)
from tiewise.study.toml.practice import PRACTICE, PracticePair
from tiewise.study.toml.reasons import REASON
from tiewise.study.values import History, Kind, PastAnswer, Reply
from tiewise.web.judge.questions import asking, is_reply, wording_of
from tiewise.web.judge.request import JudgeRequest
from tiewise.web.request import NUMBER


class AnsweredQuestion(NamedTuple):
    """What was answered to a question, in words; the name of the item, where one was chosen."""

    question: str
    wording: str
    name: str
    mark: str
    side: str = ""


class WhyPart(NamedTuple):
    """What is asked about one question, or the whole pair, and an answer that is there already."""

    question: str
    """Empty of a pair as a whole."""
    answered: Sequence[AnsweredQuestion]
    ticked: Sequence[str] = ()
    comment: str = ""
    missing: bool = False

    @property
    def suffix(self) -> str:
        """The end of the names of its fields."""
        return f"-{self.question}" if self.question else ""


def next_step_after(request: JudgeRequest, offer: int, *, reached: bool) -> str:
    """Where a judge goes after an answer to a pair, which may be half answered."""
    settings = request.site.study.settings
    path = "/thanks" if reached else "/pair"
    if not settings.reasons.asked and not settings.practice:
        return path
    history = request.site.store.history(request.signed_up)
    if reason_due(request, history):
        return "/why"
    last = _last(history)
    if last is None or last.offer != offer or _practice_pair(request, history, last) is None:
        return path
    return "/feedback"


def _last(history: History) -> PastAnswer | None:
    return history.answers[-1] if history.answers else None


# Reasons.


def reason_due(request: JudgeRequest, history: History) -> bool:
    """Whether a judge is asked why they answered the last pair as they did."""
    last = _last(history)
    if last is None or last.kind == Kind.PRACTICE:
        return False
    due = request.site.study.settings.reasons.due(history.progress.pairs)
    return due and not CommentStore(request.site.store).has(last.offer)


def why_page(request: JudgeRequest) -> Response:
    """Why the last pair was answered so, where that is asked."""
    history = request.site.store.history(request.signed_up)
    if not reason_due(request, history):
        return request.redirect("/pair")
    return _why(request, history)


def save_why(request: JudgeRequest) -> Response:
    """Keep the reason, and go on; one that came late or twice changes nothing."""
    offer, reasons = request.form.get("offer"), request.site.study.settings.reasons
    if not NUMBER.fullmatch(offer) or not reasons.asked:
        raise HTTPException(400)
    explanations = {question: _explanation(request, question) for question in _asked_why(request)}
    history = request.site.store.history(request.signed_up)
    last = _last(history)
    missing = reasons.required and not all(ticked or text for ticked, text in explanations.values())
    if missing and last is not None and last.offer == int(offer):
        return _why(request, history, explanations)
    if not missing:
        CommentStore(request.site.store).add_each(request.signed_up, int(offer), explanations)
    study = request.site.study
    # Where there is a design the list ends, not the target.
    reached = study.design is None and history.progress.made == study.settings.study.target
    return request.go_on("/thanks" if reached and not missing else "/pair")


def _asked_why(request: JudgeRequest) -> Sequence[str]:
    """Ids of the questions of which a reason is asked; "" is the pair as a whole."""
    settings = request.site.study.settings
    return settings.question_ids if settings.reasons.per_question else ("",)


def _explanation(request: JudgeRequest, question: str) -> Explanation:
    """What was ticked and written of a question."""
    reasons, suffix = request.site.study.settings.reasons, f"-{question}" if question else ""
    sent = set(request.form.all(f"reason{suffix}"))
    ticked = [choice for k, choice in enumerate(reasons.choices, 1) if str(k) in sent]
    comment = clean_text(request.form.get(f"comment{suffix}")) if reasons.text else ""
    return ticked, comment


def _why(
    request: JudgeRequest, history: History, explanations: Mapping[str, Explanation] | None = None
) -> Response:
    """The form; with the `explanations` that came, where some are missing."""
    settings, last = request.site.study.settings, history.answers[-1]
    replies = request.site.store.replies(last.offer)
    words = settings.translations.get(request.language.code, {})
    choices = [
        (choice, words.get(f"{REASON}{k}") or choice)
        for k, choice in enumerate(settings.reasons.choices, 1)
    ]
    parts = [
        _part(request, question, _in_words(request, last, _about(question, replies)), explanations)
        for question in _asked_why(request)
    ]
    return request.show(
        "judge/why.html", status=422 if explanations else 200, parts=parts, choices=choices,
        question=settings.word("reasons.question", request.language.code), offer=last.offer,
        longest=LONGEST_COMMENT, answers=sum(history.progress),
    )  # fmt: skip


def _about(question: str, replies: dict[str, Reply]) -> dict[str, Reply]:
    """The replies to a question; "" stands for all of them."""
    return {id_: one for id_, one in replies.items() if question in ("", id_)}


def _part(
    request: JudgeRequest,
    question: str,
    answered: Sequence[AnsweredQuestion],
    explanations: Mapping[str, Explanation] | None,
) -> WhyPart:
    if explanations is None:
        return WhyPart(question, answered)
    ticked, comment = explanations[question]
    return WhyPart(question, answered, ticked, comment, missing=not ticked and not comment)


# Practice.


def feedback_page(request: JudgeRequest) -> Response:
    """What others agree on, after a practice pair was answered."""
    history = request.site.store.history(request.signed_up)
    last = _last(history)
    pair = _practice_pair(request, history, last) if last else None
    if last is None or pair is None:
        return request.redirect("/pair")
    settings = request.site.study.settings
    number = settings.practice.index(pair) + 1
    words = settings.translations.get(request.language.code, {})
    agreed = dict(pair.answers) or {"": pair.answer}
    replies = {id_: _agreed_reply(request, id_, name) for id_, name in agreed.items() if name}
    values = _answered(request, last)
    return request.show(
        "judge/feedback.html", why=words.get(f"{PRACTICE}{number}") or pair.why,
        agreed=_in_words(request, last, replies),
        same=bool(replies) and all(values["replies"].get(k) == v for k, v in replies.items()),
        answers=sum(history.progress), **values,
    )  # fmt: skip


def _practice_pair(
    request: JudgeRequest, history: History, last: PastAnswer
) -> PracticePair | None:
    """The chosen practice pair that was answered last, where there is something to say of it."""
    chosen = request.site.study.settings.practice
    number = history.progress.practice - 1
    if last.kind != Kind.PRACTICE or not 0 <= number < len(chosen):
        return None
    pair = chosen[number]
    same = (pair.left, pair.right) == (last.left, last.right)
    return pair if same and pair.has_feedback else None


def _agreed_reply(request: JudgeRequest, question: str, name: str) -> Reply:
    answer = request.site.study.settings.scales()[question].named(name)
    assert answer is not None  # the settings were checked
    return Reply(answer.code, answer.strength)


# Answers in words.


def _answered(request: JudgeRequest, last: PastAnswer) -> dict[str, Any]:
    """What was answered to a pair, question by question."""
    replies = request.site.store.replies(last.offer)
    return {"replies": replies, "answered": _in_words(request, last, replies)}


def _in_words(
    request: JudgeRequest, last: PastAnswer, replies: dict[str, Reply]
) -> list[AnsweredQuestion]:
    return [
        _answer_in_words(asking(request, id_), last, replies[id_])
        for id_ in request.site.study.settings.question_ids
        if id_ in replies
    ]


def _answer_in_words(request: JudgeRequest, last: PastAnswer, reply: Reply) -> AnsweredQuestion:
    study, language = request.site.study, request.language
    question = study.settings.word("study.question", language.code)
    answer = next((one for one in study.scale.answers if is_reply(one, reply)), None)
    if answer is None:  # it is not offered any more
        return AnsweredQuestion(question, "", "", "")
    side = answer.chosen
    item = study.items.get(getattr(last, side)) if side else None
    mark = language.translate(f"pair.mark_{side}") if side else ""
    name = item.in_language(language.code).name if item else ""
    return AnsweredQuestion(question, wording_of(request, answer), name, mark, side or "")
