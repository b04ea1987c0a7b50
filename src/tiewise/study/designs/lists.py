"""Who has which list of a design, and the next pair of a judge's list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from tiewise.designs.pair_lists import PRACTICE, REPEAT, ListedPair, PairLists
from tiewise.pairing.policies import OrderedPair
from tiewise.study import judge_queries
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judgements, judges, offers, pair_lists
from tiewise.study.values import History, Judge, Kind, Offer

ON_PAPER = "paper"
"""The consent of judges whose answers came on paper: it was given there."""


class ListProgress(NamedTuple):
    """A list, who has it, and how far it is answered; practice counts."""

    name: str
    code: str
    judge: str
    on_paper: bool
    done: int
    pairs: int

    @property
    def left(self) -> int:
        """How many pairs are not answered yet."""
        return max(self.pairs - self.done, 0)


def list_of(store: JudgeStore, judge: Judge) -> str | None:
    """The list that a judge has; None where they have none."""
    with store.reading() as connection:
        return _list_of(connection, judge)


def _list_of(connection: Connection, judge: Judge) -> str | None:
    name: str | None = connection.scalar(
        select(pair_lists.c.name).where(pair_lists.c.judge == judge.id)
    )
    return name


def take_list(
    store: JudgeStore, lists: PairLists, judge: Judge, known: Collection[str]
) -> str | None:
    """The list of a judge, from now on: the first that nobody has and of which they know all items.

    None where there is none.
    """
    own = list_of(store, judge)
    if own is not None:
        return own
    fitting = [name for name, pairs in lists.lists.items() if _knows(pairs, set(known))]

    def take(connection: Connection) -> str | None:
        taken = set(connection.scalars(select(pair_lists.c.name)))
        name = next((one for one in fitting if one not in taken), None)
        if name is not None:
            row = {"name": name, "judge": judge.id, "taken": now()}
            connection.execute(pair_lists.insert().values(row))
        return name

    for _ in range(len(lists) + 1):
        try:
            return store.for_judge(judge, take)
        except IntegrityError:  # somebody took it at the same moment, perhaps this judge
            own = list_of(store, judge)
            if own is not None:
                return own
    return None


def _knows(pairs: Iterable[ListedPair], known: Collection[str]) -> bool:
    return all(pair.left in known and pair.right in known for pair in pairs)


def pairs_there(pairs: Iterable[ListedPair], items: Collection[str]) -> tuple[ListedPair, ...]:
    """The pairs of a list whose items are in the study."""
    return tuple(pair for pair in pairs if pair.left in items and pair.right in items)


def next_listed_offer(
    store: JudgeStore,
    lists: PairLists,
    judge: Judge,
    history: History,
    *,
    asked: Collection[str],
    known: Collection[str],
) -> Offer | None:
    """The next pair of a judge's list; None at its end, or where no list is left for them.

    Pairs of items that are not `asked` about wait until they are; `known` counts these, too.
    """
    name = take_list(store, lists, judge, known)
    if name is None or name not in lists.lists:
        return None
    waiting = pairs_there(_unanswered(lists.lists[name], history), asked)
    if not waiting:
        return None
    pair = waiting[0]
    return store.offer(
        judge, OrderedPair(pair.left, pair.right, pair.kind == REPEAT), Kind(pair.kind)
    )


def _unanswered(pairs: Iterable[ListedPair], history: History) -> list[ListedPair]:
    """The pairs of a list that a judge has not answered, in its order."""
    answered = Counter((past.left, past.right, past.kind) for past in history.answers)
    out = []
    for pair in pairs:
        key = (pair.left, pair.right, pair.kind)
        if answered[key]:
            answered[key] -= 1
        else:
            out.append(pair)
    return out


def list_sizes(
    store: JudgeStore, lists: PairLists, judge: Judge, asked: Collection[str]
) -> tuple[int, int]:
    """How many pairs of practice a judge's list has, and how many that count.

    Those that are not answered count where both items are `asked` about.
    """
    pairs = lists.lists.get(list_of(store, judge) or "", ())
    kinds = Counter(pair.kind == PRACTICE for pair in pairs)
    if len(pairs_there(pairs, asked)) < len(pairs):
        waiting = _unanswered(pairs, store.history(judge))
        there = set(pairs_there(waiting, asked))
        kinds -= Counter(pair.kind == PRACTICE for pair in waiting if pair not in there)
    return kinds[True], kinds[False]


def list_progress(
    store: JudgeStore, lists: PairLists, items: Collection[str]
) -> list[ListProgress]:
    """How far every list is, in the order of the design."""
    with store.reading() as connection:
        rows = connection.execute(
            select(pair_lists.c.name, judges.c.id, judges.c.consent).join(
                judges, judges.c.id == pair_lists.c.judge
            )
        ).all()
        done = _answered(connection)
    who: Mapping[str, tuple[str, bool]] = {
        row.name: (row.id, row.consent == ON_PAPER) for row in rows
    }
    out = []
    for name, pairs in lists.lists.items():
        judge, on_paper = who.get(name, ("", False))
        number = len(pairs_there(pairs, items))
        answered = min(done.get(judge, 0), number)
        out.append(ListProgress(name, lists.codes[name], judge, on_paper, answered, number))
    return out


def _answered(connection: Connection) -> dict[str, int]:
    """How many pairs each judge with a list has answered."""
    query = (
        select(offers.c.judge, func.count(func.distinct(offers.c.id)))
        .join(judgements, judgements.c.offer == offers.c.id)
        .join(pair_lists, pair_lists.c.judge == offers.c.judge)
        .where(judge_queries.STANDS)
        .group_by(offers.c.judge)
    )
    return {row[0]: row[1] for row in connection.execute(query)}
