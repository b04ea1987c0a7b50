"""Answers that came on paper: entered sheet by sheet, checked, undone, and kept with who did it."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from tiewise.data.answers import ANSWERS, CODE_OF_STORED, Answer, AnswerScale
from tiewise.designs.pair_lists import ListedPair, PairLists
from tiewise.errors import InputError
from tiewise.study import judge_queries
from tiewise.study.connection import digest, now
from tiewise.study.designs.lists import ON_PAPER, pairs_there
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judgements, judges, offers, pair_lists, paper_answers
from tiewise.study.values import Judge, Reply

SKIP_KEY = "0"


class EnteredAnswer(NamedTuple):
    """An answer from a sheet, and who entered it."""

    reply: Reply
    entered_by: str


class PaperSheet(NamedTuple):
    """A sheet: its list, its judge if anything was entered, and the answers that stand."""

    name: str
    code: str
    pairs: tuple[ListedPair, ...]
    judge: Judge | None
    answers: tuple[EnteredAnswer, ...]

    @property
    def next_pair(self) -> ListedPair | None:
        """The pair whose answer comes next; None where the sheet is entered."""
        return self.pairs[len(self.answers)] if len(self.answers) < len(self.pairs) else None


def answer_keys(scale: AnswerScale) -> dict[str, Answer]:
    """The key of each answer: the number that is printed in its box, and 0 for a skip."""
    on = [answer for answer in scale.answers if answer.on_scale]
    off = [answer for answer in scale.answers if not answer.on_scale]
    return {str(k): answer for k, answer in enumerate(on, 1)} | dict.fromkeys(
        [SKIP_KEY] if off else [], off[0] if off else on[0]
    )


def read_sheet(
    store: JudgeStore, lists: PairLists, code: str, items: Collection[str]
) -> PaperSheet:
    """The sheet with this code; refused where there is none, or it was answered on the site."""
    name = lists.named_by(code)
    pairs = pairs_there(lists.lists[name], items)
    with store.reading() as connection:
        judge = _judge_of(connection, name)
        answers = () if judge is None else _answers(connection, judge)
    if judge is not None and judge.consent != ON_PAPER:
        raise InputError(
            f"sheet {lists.codes[name]} was taken by a judge on the site, so that it is not "
            "entered from paper; is the code of another sheet?"
        )
    return PaperSheet(name, lists.codes[name], pairs, judge, answers)


def _judge_of(connection: Connection, name: str) -> Judge | None:
    row = connection.execute(
        select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose)
        .join(pair_lists, pair_lists.c.judge == judges.c.id)
        .where(pair_lists.c.name == name)
    ).first()
    return None if row is None else Judge(*row)


def _answers(connection: Connection, judge: Judge) -> tuple[EnteredAnswer, ...]:
    query = (
        select(judgements.c.outcome, judgements.c.grade, paper_answers.c.entered_by)
        .join(offers, offers.c.id == judgements.c.offer)
        .join(paper_answers, paper_answers.c.offer == offers.c.id, isouter=True)
        .where(offers.c.judge == judge.id, judge_queries.STANDS)
        .order_by(judgements.c.id)
    )
    return tuple(
        EnteredAnswer(Reply(CODE_OF_STORED[row.outcome], row.grade), row.entered_by or "")
        for row in connection.execute(query)
    )


def enter_answer(store: JudgeStore, sheet: PaperSheet, place: int, answer: Answer, by: str) -> bool:
    """Keep the answer to the pair at this place (from 0); False where it is not the next.

    So it is where somebody pressed a key twice, or two enter one sheet.
    """
    if place != len(sheet.answers) or place >= len(sheet.pairs):
        return False
    judge = sheet.judge or _paper_judge(store, sheet.name)
    pair, at = sheet.pairs[place], now()

    def enter(connection: Connection) -> bool:
        if len(_answers(connection, judge)) != place:
            return False
        # After an undo, a pair is open.
        connection.execute(judge_queries.SET_ASIDE, {"judge_id": judge.id, "at": at})
        row = {"judge": judge.id, "left": pair.left, "right": pair.right, "kind": pair.kind,
               "shown": at, "closed": at}  # fmt: skip
        made = connection.execute(offers.insert().values(row)).inserted_primary_key
        assert made is not None
        stored = {"offer": made[0], "outcome": ANSWERS[answer.code].stored, "answered": at,
                  "grade": answer.strength, "question": ""}  # fmt: skip
        connection.execute(judgements.insert().values(stored))
        entered = {"offer": made[0], "entered_by": by, "entered": at}
        connection.execute(paper_answers.insert().values(entered))
        return True

    return store.for_judge(judge, enter)


def undo_entry(store: JudgeStore, sheet: PaperSheet, entered: int) -> bool:
    """Take back the last answer of a sheet; False where not so many are `entered`."""
    if sheet.judge is None or not entered:
        return False
    return store.undo(sheet.judge, of=entered) is not None


def _paper_judge(store: JudgeStore, name: str) -> Judge:
    """The judge who filled in a sheet: somebody of whom nothing is known, who has its list."""
    judge = Judge(secrets.token_hex(6), "", ON_PAPER, True)

    def add(connection: Connection) -> Judge:
        row = {"id": judge.id, "secret": digest(secrets.token_hex(16)), "language": "",
               "consent": ON_PAPER, "consented": now(), "chose": True}  # fmt: skip
        connection.execute(judges.insert().values(row))
        connection.execute(
            pair_lists.insert().values({"name": name, "judge": judge.id, "taken": now()})
        )
        return judge

    try:
        return store.transaction(add)
    except IntegrityError:  # two began one sheet at the same moment
        with store.reading() as connection:
            there = _judge_of(connection, name)
        assert there is not None
        return there
