"""What a judge is asked of a pair: one question, or several together or in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tiewise.data.answers import Answer, AnswerScale, on_scale
from tiewise.study.toml.questions import IN_TURN
from tiewise.study.values import History, Reply
from tiewise.web.judge.request import JudgeRequest

PLAIN_GRADES = 3
PHONE_GRADES, PHONE_LETTERS = 5, 6
"""Graded answers, and letters of a word, that a row of buttons has room for on a phone."""
OUTCOME = "outcome"
"""The field of an answer; with - and the id of its question, where several are asked together."""

Button = tuple[Answer, str]


class QuestionView(NamedTuple):
    """One of several questions on a page: its words, its answers, and the one that is ticked."""

    id: str
    text: str
    buttons: Sequence[Button]
    layout: str
    ticked: str


class PageQuestions(NamedTuple):
    """What a page asks: the question that its buttons answer, or all of them together."""

    question: str = ""
    number: int = 1
    of: int = 1
    half: int = 0
    """How many answers to this pair are half given."""
    together: Sequence[QuestionView] = ()
    compared: bool = False
    """Whether the pair was compared already, for a question before this one."""

    @property
    def template(self) -> str:
        """The page for it."""
        return "judge/questions.html" if self.together else "judge/pair.html"


ONE_QUESTION = PageQuestions()


def ask_questions(
    request: JudgeRequest, history: History, drafts: Mapping[str, Reply]
) -> tuple[JudgeRequest, PageQuestions]:
    """What is asked now of a pair that is half answered, and the request for that question."""
    settings = request.site.study.settings
    ids = settings.question_ids
    half = sum(question in ids for question in drafts)
    if settings.study.asked == IN_TURN:
        order = rotated(ids, len(history.answers))
        question = next((one for one in order if one not in drafts), order[-1])
        compared = any(on_scale(reply.answer) for reply in drafts.values())
        asked = PageQuestions(question, half + 1, len(ids), half, compared=compared)
        return asking(request, question), asked
    views = [_view(asking(request, question), question, drafts.get(question)) for question in ids]
    return request, PageQuestions(of=len(ids), half=half, together=views)


def rotated(ids: Sequence[str], number: int) -> list[str]:
    """The questions in the order of a pair, which begins one later with each pair of a judge."""
    begin = number % len(ids)
    return [*ids[begin:], *ids[:begin]]


def asking(request: JudgeRequest, question: str) -> JudgeRequest:
    """A request as if one of the questions were the only one."""
    return replace(request, site=request.site.asked(question))


def _view(request: JudgeRequest, question: str, draft: Reply | None) -> QuestionView:
    buttons = answer_buttons(request)
    ticked = [answer.name for answer, _ in buttons if draft and is_reply(answer, draft)]
    text = request.site.study.settings.word("study.question", request.language.code)
    return QuestionView(question, text, buttons, layout_of(buttons), "".join(ticked))


def is_reply(answer: Answer, reply: Reply) -> bool:
    """Whether an answer of a scale is the one that was given."""
    return answer.code == reply.answer and answer.strength == reply.grade


def read_replies(request: JudgeRequest) -> dict[str, Reply] | None:
    """The answers in a form by the id of their question; None where one is none of the study."""
    form, scales = request.form, request.site.study.settings.scales()
    sent = {id_: form.get(f"{OUTCOME}-{id_}") for id_ in scales if id_}
    if form.get(OUTCOME) or not any(sent.values()):
        sent[form.get("question")] = form.get(OUTCOME)
    if "" not in scales:  # half of them may be missing
        sent = {id_: name for id_, name in sent.items() if name}
    replies = {id_: _reply(scales.get(id_), name) for id_, name in sent.items()}
    if None in replies.values():
        return None
    return {id_: reply for id_, reply in replies.items() if reply is not None}


def _reply(scale: AnswerScale | None, name: str) -> Reply | None:
    answer = scale.named(name) if scale else None
    return None if answer is None else Reply(answer.code, answer.strength)


# Buttons.


def answer_buttons(request: JudgeRequest) -> list[Button]:
    """The answers that are offered, each with the words of its button."""
    return [(answer, wording_of(request, answer)) for answer in request.site.study.scale.answers]


def layout_of(buttons: Sequence[tuple[Answer, str]]) -> str:
    """Classes of the answers' buttons: a row, or two columns on a phone where it has no room."""
    grades = [(answer, wording) for answer, wording in buttons if answer.on_scale]
    if len(grades) <= PLAIN_GRADES:
        return "three"
    # The middle of five has more room than the others.
    fits = len(grades) <= PHONE_GRADES and all(
        len(word) <= PHONE_LETTERS + (0 if answer.chosen else 2)
        for answer, wording in grades
        for word in wording.split()
    )
    row = "odd" if len(grades) % 2 else "even"
    return f"three graded {row if fits else 'columns'}"


def wording_of(request: JudgeRequest, answer: Answer) -> str:
    """The words of an answer's button: the study's own, or those of the language."""
    study = request.site.study
    own = study.settings.word(answer.wording, request.language.code)
    return own or request.language.translate(study.scale.wording(answer))
