"""The store: the same facts on SQLite and on a real PostgreSQL server, in any number of hands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import inspect

from tiewise.pairing.policies import Pick
from tiewise.study.judge_store import Store
from tiewise.study.schema import metadata
from tiewise.study.values import Judge, Kind, Outcome

AB, CD, EF = Pick("a", "b"), Pick("c", "d"), Pick("e", "f")
HANDS = 8


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return request.getfixturevalue("postgresql")()


@pytest.fixture
def store(url) -> Iterator[Store]:
    opened = Store(url)
    yield opened
    opened.close()


def come(store: Store, **more) -> Judge:
    new = store.welcome(**{"consent": "1", "language": "en", "about": {}} | more)
    assert new is not None
    return new.judge


def say(store: Store, judge: Judge, pick: Pick, outcome: Outcome, kind: Kind = Kind.NEW) -> int:
    offer = store.offer(judge, pick, kind)
    assert store.answer(judge, offer.id, outcome)
    return offer.id


# Judges.


def test_the_personal_link_leads_back_and_its_secret_is_not_kept(store):
    new = store.welcome(consent="3", language="ar", about={"role": "police"})
    assert store.judge(new.secret) == new.judge
    assert (new.judge.consent, new.judge.language) == ("3", "ar")
    assert store.judge("somebody else's") is None
    with store.engine.connect() as connection:
        kept = [
            str(row)
            for table in metadata.sorted_tables
            for row in connection.execute(table.select())
        ]
    assert any(new.judge.id in row for row in kept)
    assert not any(new.secret in row for row in kept)


def test_an_invite_is_good_once(store):
    code, other = store.invite(2)
    assert store.may_come(code)
    assert store.may_come(f" {code.upper()} ")
    assert store.welcome(consent="1", language="en", about={}, code=code) is not None
    assert not store.may_come(code)
    assert store.welcome(consent="1", language="en", about={}, code=code) is None
    assert store.welcome(consent="1", language="en", about={}, code="guess") is None
    assert store.may_come(other)


def test_of_many_who_bring_one_code_at_once_one_comes_in(store):
    (code,) = store.invite(1)
    with ThreadPoolExecutor(HANDS) as pool:
        came = list(pool.map(
            lambda _: store.welcome(consent="1", language="en", about={}, code=code), range(HANDS)
        ))  # fmt: skip
    assert sum(new is not None for new in came) == 1


def test_what_a_judge_knows_is_what_they_said_last(store):
    judge = come(store)
    assert not judge.chose
    store.know(judge, ["north", "south", "north"])
    assert store.knows(judge) == ("north", "south")
    store.know(judge, ["east"])
    assert store.knows(judge) == ("east",)
    assert store.knows(come(store)) == ()


# Offers and answers.


def test_an_offer_stands_until_it_is_answered(store):
    judge = come(store)
    assert store.open_offer(judge) is None
    offer = store.offer(judge, AB, Kind.NEW)
    assert store.open_offer(judge) == offer
    assert store.offer(judge, CD, Kind.NEW) == offer
    assert store.answer(judge, offer.id, Outcome.LEFT)
    assert store.open_offer(judge) is None


def test_of_many_workers_who_offer_at_once_one_offer_stands(store):
    judge = come(store)
    picks = [Pick(f"{k}", f"{k}'") for k in range(HANDS)]
    with ThreadPoolExecutor(HANDS) as pool:
        offered = list(pool.map(lambda pick: store.offer(judge, pick, Kind.NEW), picks))
    assert len({offer.id for offer in offered}) == 1
    assert len(list(store.offers())) == 1


def test_an_answer_counts_once_however_often_it_is_sent(store):
    judge = come(store)
    offer = store.offer(judge, AB, Kind.NEW)
    outcomes = [Outcome.LEFT, Outcome.RIGHT] * (HANDS // 2)
    with ThreadPoolExecutor(HANDS) as pool:
        kept = list(pool.map(lambda said: store.answer(judge, offer.id, said), outcomes))
    assert sum(kept) == 1
    (row,) = store.rows()
    assert row["outcome"] == outcomes[kept.index(True)]


def test_nobody_answers_for_another_or_what_was_never_offered(store):
    judge, other = come(store), come(store)
    offer = store.offer(judge, AB, Kind.NEW)
    assert not store.answer(other, offer.id, Outcome.LEFT)
    assert not store.answer(judge, offer.id + 1, Outcome.LEFT)
    assert list(store.rows()) == []
    assert store.open_offer(judge) == offer


def test_many_judges_at_once_lose_nothing_and_double_nothing(store):
    judges = [come(store) for _ in range(HANDS)]

    def work(judge: Judge) -> list[int]:
        return [say(store, judge, Pick(f"{k}", "x"), Outcome.TIE) for k in range(20)]

    with ThreadPoolExecutor(HANDS) as pool:
        sent = [offer for offers in pool.map(work, judges) for offer in offers]
    assert Counter(row["offer"] for row in store.rows()) == Counter(sent)


def test_moments_are_kept_in_utc(store):
    judge = come(store)
    before = datetime.now(UTC) - timedelta(seconds=1)
    say(store, judge, AB, Outcome.TIE)
    (row,) = store.rows()
    assert before < row["shown"] <= row["answered"] < datetime.now(UTC) + timedelta(seconds=1)
    assert row["answered"].tzinfo == UTC


# Undo.


def test_an_undo_is_a_row_and_brings_the_pair_back(store):
    judge = come(store)
    say(store, judge, AB, Outcome.LEFT)
    say(store, judge, CD, Outcome.TIE)
    waiting = store.offer(judge, EF, Kind.NEW)
    again = store.undo(judge)
    assert (again.left, again.right) == ("c", "d")
    assert store.open_offer(judge) == again
    assert not store.answer(judge, waiting.id, Outcome.LEFT)
    assert store.answer(judge, again.id, Outcome.RIGHT)
    rows = list(store.rows())
    assert [(row["left"], row["outcome"], row["undone"] is None) for row in rows] == [
        ("a", "left", True), ("c", "tie", False), ("c", "right", True),
    ]  # fmt: skip
    assert store.progress(judge).made == 2
    assert store.history(judge).seen == {frozenset("ab"), frozenset("cd")}


def test_one_can_undo_all_the_way_back_and_no_further(store):
    judge = come(store)
    say(store, judge, AB, Outcome.LEFT)
    say(store, judge, CD, Outcome.LEFT)
    assert store.undo(judge).left == "c"
    assert store.undo(judge).left == "a"
    assert store.undo(judge) is None
    assert store.progress(judge).made == 0
    assert store.undo(come(store)) is None


# How far, and what was seen.


def test_progress_counts_comparisons_skips_and_practice_apart(store):
    judge = come(store)
    assert store.progress(judge) == (0, 0, 0)
    say(store, judge, AB, Outcome.LEFT, Kind.PRACTICE)
    say(store, judge, AB, Outcome.TIE)
    say(store, judge, CD, Outcome.SKIP)
    say(store, judge, Pick("b", "a"), Outcome.LEFT, Kind.REPEAT)
    assert store.progress(judge) == (2, 1, 1)
    assert store.history(judge).seen == {frozenset("ab"), frozenset("cd")}
    assert store.history(judge).compared == [AB, Pick("b", "a", True)]
    assert store.progress(come(store)) == (0, 0, 0)


# What the answers mean.


def test_meaning_may_change_until_the_first_answer_and_not_after(store):
    asked = {"study.question": "Which is greener?"}
    assert store.agreed_meaning({"study.question": "a draft"}) == {}
    assert store.agreed_meaning(asked) == {}
    say(store, come(store), AB, Outcome.LEFT)
    assert store.agreed_meaning(asked) == {}
    changed = store.agreed_meaning({"study.question": "Which is redder?"})
    assert changed == {"study.question": ("Which is greener?", "Which is redder?")}
    assert store.agreed_meaning(asked) == {}


# Withdrawal.


def test_who_withdraws_is_forgotten_and_their_answers_stay_unless_they_say_so(store):
    new = store.welcome(consent="1", language="en", about={"role": "midwife"})
    say(store, new.judge, AB, Outcome.LEFT)
    assert store.withdraw(new.judge, judgements_too=False) == 0
    assert store.judge(new.secret) is None
    assert store.told() == {}
    assert len(list(store.rows())) == 1
    (record,) = store.erasures()
    assert (record["judge"], record["judgements"]) == (new.judge.id, 0)


def test_who_wants_their_answers_gone_takes_them_and_nobody_elses(store):
    judge, other = come(store, about={"role": "midwife"}), come(store, about={"role": "nurse"})
    for who in (judge, other):
        say(store, who, AB, Outcome.LEFT)
        say(store, who, CD, Outcome.LEFT)
        store.undo(who)
    assert store.withdraw(judge, judgements_too=True) == 2
    assert {row["judge"] for row in store.rows()} == {other.id}
    assert {row["judge"] for row in store.offers()} == {other.id}
    assert store.told() == {other.id: {"role": "nurse"}}
    assert [record["judgements"] for record in store.erasures()] == [2]


# The database itself.


def test_a_store_opened_again_has_everything(url):
    first = Store(url)
    new = first.welcome(consent="1", language="en", about={})
    say(first, new.judge, AB, Outcome.LEFT)
    first.close()
    again = Store(url)
    assert again.judge(new.secret) == new.judge
    assert len(list(again.rows())) == 1
    again.close()


def test_migrations_lead_to_the_tables_that_are_written_down(store):
    found = inspect(store.engine)
    for table in metadata.sorted_tables:
        columns = {column["name"]: column for column in found.get_columns(table.name)}
        assert set(columns) == {column.name for column in table.columns}
        for column in table.columns:
            assert columns[column.name]["nullable"] == column.nullable, (table.name, column.name)
        indexes = {index["name"] for index in found.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= indexes
    assert set(found.get_table_names()) == {*metadata.tables, "alembic_version"}


def test_no_column_could_hold_an_address(store):
    names = {column.name for table in metadata.tables.values() for column in table.columns}
    assert not names & {"ip", "address", "host", "agent", "user_agent", "email"}


def test_a_copy_can_be_made_while_it_is_used(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'study.db'}")
    judge = come(store)
    say(store, judge, AB, Outcome.LEFT)
    store.back_up(str(tmp_path / "copy.db"))
    say(store, judge, CD, Outcome.LEFT)
    copy = Store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert [row["left"] for row in copy.rows()] == ["a"]
    store.close()
    copy.close()


def test_judgements_from_elsewhere_keep_their_judges(store):
    rows = [
        {"judge": "7", "left": "a", "right": "b", "outcome": Outcome.TIE},
        {"judge": "7", "left": "a", "right": "c", "outcome": Outcome.LEFT},
        {"judge": "9", "left": "b", "right": "c", "outcome": Outcome.SKIP},
    ]
    assert store.bring_in(rows, consent="imported") == 3
    assert [(r["judge"], r["left"], r["outcome"]) for r in store.rows()] == [
        ("7", "a", "tie"), ("7", "a", "left"), ("9", "b", "skip"),
    ]  # fmt: skip
    assert {row["id"]: row["judgements"] for row in store.people()} == {"7": 2, "9": 1}
