"""Actions of one judge at the same moment, in the store: one after the other, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from support.judging import add_answer, add_judge
from support.races import rows_of
from tiewise.data.answers import FIRST
from tiewise.pairing.policies import OrderedPair
from tiewise.study import connection as connections
from tiewise.study.judge_store import JudgeStore, JudgeWithdrawn
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import Judge, Kind

AB = OrderedPair("a", "b")
HANDS = 8


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request, tmp_path_factory) -> Iterator[JudgeStore]:
    """One for all tests: each has judges of its own."""
    local = f"sqlite:///{tmp_path_factory.mktemp('races') / 'study.db'}"
    url = local if request.param == "sqlite" else request.getfixturevalue("postgresql")()
    opened = JudgeStore(url)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server_store(postgresql) -> Iterator[JudgeStore]:
    opened = JudgeStore(postgresql())
    yield opened
    opened.close()


def erasures(store: JudgeStore, judge: Judge) -> list[Any]:
    return [row for row in store.erasures() if row["judge"] == judge.id]


def remaining(store: JudgeStore, judge: Judge) -> dict[str, int]:
    return {name: number for name, number in rows_of(store, judge).items() if number}


# Withdrawal.


def judge_and_judge(store: JudgeStore, judge: Judge, begin: Barrier, number: int) -> None:
    """Offers, answers, undoes and changes groups, until the judge is gone."""
    begin.wait()
    try:
        for k in range(20):
            offer = store.offer(judge, OrderedPair(f"{number}", f"{k}"), Kind.NEW)
            store.answer(judge, offer.id, FIRST)
            if number % 2:
                store.undo(judge)
            elif number == 4:
                store.set_groups(judge, [f"{k}", "south"])
    except JudgeWithdrawn:
        pass


@pytest.mark.parametrize("trial", range(3))
def test_who_withdraws_while_answering_is_erased(store, trial):
    """Before there was a lock, two in three were not erased on PostgreSQL."""
    judge = add_judge(store, about={"role": "midwife"})
    begin = Barrier(HANDS + 1)
    with ThreadPoolExecutor(HANDS + 1) as pool:
        work = [pool.submit(judge_and_judge, store, judge, begin, k) for k in range(HANDS)]
        begin.wait()
        store.withdraw(judge, judgements_too=True)
        for done in work:
            done.result()
    assert remaining(store, judge) == {"erased": 1}


def test_nothing_is_stored_of_somebody_who_has_withdrawn(store):
    judge = add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    store.withdraw(judge, judgements_too=True)
    actions: list[Callable[[], object]] = [
        lambda: store.offer(judge, AB, Kind.NEW),
        lambda: store.answer(judge, offer.id, FIRST),
        lambda: store.undo(judge),
        lambda: store.set_groups(judge, ["north"]),
        lambda: store.set_language(judge, "ar"),
        lambda: store.record_consent(judge, "2"),
        lambda: store.set_aside(judge),
    ]
    for action in actions:
        with pytest.raises(JudgeWithdrawn):
            action()
    assert remaining(store, judge) == {"erased": 1}


@pytest.mark.parametrize("extents", [(True, True), (False, True), (True, False), (False, False)])
def test_a_withdrawal_sent_twice_erases_what_either_asked_for_and_is_recorded_once(store, extents):
    judge, other = add_judge(store, about={"role": "midwife"}), add_judge(store)
    for who in (judge, other):
        add_answer(store, who, AB)
    gone = [store.withdraw(judge, judgements_too=extent) for extent in extents]
    assert gone == {
        (True, True): [1, 0], (False, True): [0, 1], (True, False): [1, 0], (False, False): [0, 0],
    }[extents]  # fmt: skip
    kept = {"judges": 1, "offers": 1, "judgements": 1} if not any(extents) else {}
    assert remaining(store, judge) == kept | {"erased": 1}
    assert [row["judgements"] for row in erasures(store, judge)] == [int(any(extents))]
    assert rows_of(store, other)["judgements"] == 1


def test_the_second_record_has_a_higher_number(store):
    """By which the live worker notices that something was erased."""
    judge = add_judge(store)
    add_answer(store, judge, AB)
    numbers = []
    for extent in (False, True):
        store.withdraw(judge, judgements_too=extent)
        numbers += [row["id"] for row in erasures(store, judge)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 2


@pytest.mark.parametrize("judgements_too", [True, False])
def test_the_code_of_an_invitation_goes_with_its_judge(store, judgements_too):
    """Somebody knows to whom it was sent; and it lets nobody in again."""
    code, other = store.invite(2)
    judge = add_judge(store, code=code)
    store.withdraw(judge, judgements_too=judgements_too)
    assert not store.has_free_invite(code)
    assert store.add_judge(consent="1", language="en", about={}, code=code) is None
    assert store.has_free_invite(other)


def test_that_a_judge_was_left_out_goes_with_the_judge(store):
    judge = add_judge(store)
    ResearcherStore(store).exclude(judge.id, "answers at random")
    store.withdraw(judge, judgements_too=True)
    assert remaining(store, judge) == {"erased": 1}
    assert judge.id not in ResearcherStore(store).excluded()


# Transactions that are begun anew.


def test_a_deadlock_is_tried_again(server_store):
    """Two lock two judges in opposite order: PostgreSQL ends one, which then succeeds."""
    judges = [add_judge(server_store) for _ in range(2)]
    begin, tries = Barrier(2), []

    def lock_both(order: list[Judge]) -> None:
        def work(connection: Connection) -> None:
            tries.append(order[0].id)
            connection.execute(text("SET LOCAL deadlock_timeout = '50ms'"))
            for k, judge in enumerate(order):
                lock = text("SELECT id FROM judges WHERE id = :id FOR UPDATE")
                connection.execute(lock, {"id": judge.id})
                if k == 0 and len(tries) <= 2:
                    begin.wait(10)

        server_store.transaction(work)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(lock_both, order) for order in (judges, judges[::-1])]:
            done.result()
    assert len(tries) > 2


def test_a_serialisation_failure_is_tried_again(server_store):
    judge = add_judge(server_store)
    tries = []

    def work(connection: Connection) -> None:
        if not tries:
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            connection.execute(text("SELECT count(*) FROM judges"))
            server_store.set_language(judge, "ar")
        tries.append(1)
        connection.execute(text("UPDATE judges SET consent = '2'"))

    server_store.transaction(work)
    assert len(tries) == 2


def test_who_waited_for_a_lock_sees_what_was_stored_whatever_the_server_prefers(server_store):
    with server_store.writing() as connection:
        name = connection.scalar(text("SELECT current_database()"))
        level = "SET default_transaction_isolation = 'serializable'"
        connection.execute(text(f"ALTER DATABASE {name} {level}"))
    server_store.close()  # its next connection is a new one
    with server_store.writing() as connection:
        assert connection.scalar(text("SHOW default_transaction_isolation")) == "serializable"
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"


def cut(store: JudgeStore, connection: Connection) -> None:
    """End a connection from the server's side."""
    process = connection.scalar(text("SELECT pg_backend_pid()"))
    with store.engine.connect() as other:
        other.execute(text("SELECT pg_terminate_backend(:process)"), {"process": process})


def test_a_connection_that_is_lost_before_the_commit_is_replaced(server_store):
    judge = add_judge(server_store)
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        if len(tries) == 1:
            cut(server_store, connection)
        connection.execute(text("UPDATE judges SET language = 'ar'"))

    server_store.transaction(work)
    assert len(tries) == 2
    assert [row["language"] for row in server_store.judge_rows() if row["id"] == judge.id] == ["ar"]


def test_one_that_is_lost_during_the_commit_is_not_tried_again(server_store):
    """It may have been stored."""
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("UPDATE judges SET language = 'ar'"))
        cut(server_store, connection)

    with pytest.raises(OperationalError):
        server_store.transaction(work)
    assert len(tries) == 1


def test_there_is_an_end_to_trying(server_store, monkeypatch):
    monkeypatch.setattr(connections, "FIRST_WAIT", 0.0)
    tries = []

    def work(_: Connection) -> None:
        tries.append(1)
        raise OperationalError("", {}, psycopg.errors.DeadlockDetected("deadlock detected"))

    with pytest.raises(OperationalError):
        server_store.transaction(work)
    assert len(tries) == connections.ATTEMPTS


def test_errors_of_other_kinds_are_not_tried_again(store):
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("SELECT nonsense"))

    with pytest.raises(Exception, match="nonsense"):
        store.transaction(work)
    assert len(tries) == 1
