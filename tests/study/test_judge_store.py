"""The store: the same facts on SQLite and on a real PostgreSQL server, in any number of hands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from support.judging import add_answer, add_judge
from tiewise.data.answers import ANSWERS, FIRST, SECOND, SKIP, TIE
from tiewise.pairing.policies import OrderedPair
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import MIGRATIONS, metadata, newest_revision
from tiewise.study.values import Judge, Kind

AB, CD, EF = OrderedPair("a", "b"), OrderedPair("c", "d"), OrderedPair("e", "f")
HANDS = 8


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    """A new database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return request.getfixturevalue("postgresql")()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path) -> str:
    """A database of each kind that has no tables yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return request.getfixturevalue("postgresql")(empty=True)


@pytest.fixture
def store(url) -> Iterator[JudgeStore]:
    opened = JudgeStore(url)
    yield opened
    opened.close()


# Judges.


def test_the_personal_link_leads_back_and_its_secret_is_not_kept(store):
    new = store.add_judge(consent="3", language="ar", about={"role": "police"})
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
    assert store.has_free_invite(code)
    assert store.has_free_invite(f" {code.upper()} ")
    assert store.add_judge(consent="1", language="en", about={}, code=code) is not None
    assert not store.has_free_invite(code)
    assert store.add_judge(consent="1", language="en", about={}, code=code) is None
    assert store.add_judge(consent="1", language="en", about={}, code="guess") is None
    assert store.has_free_invite(other)


def test_of_many_who_bring_one_code_at_once_one_comes_in(store):
    (code,) = store.invite(1)
    with ThreadPoolExecutor(HANDS) as pool:
        came = list(pool.map(
            lambda _: store.add_judge(consent="1", language="en", about={}, code=code), range(HANDS)
        ))  # fmt: skip
    assert sum(new is not None for new in came) == 1


def test_what_a_judge_knows_is_what_they_said_last(store):
    judge = add_judge(store)
    assert not judge.chose
    store.set_groups(judge, ["north", "south", "north"])
    assert store.groups_of(judge) == ("north", "south")
    store.set_groups(judge, ["east"])
    assert store.groups_of(judge) == ("east",)
    assert store.groups_of(add_judge(store)) == ()


# Offers and answers.


def test_an_offer_stands_until_it_is_answered(store):
    judge = add_judge(store)
    assert store.open_offer(judge) is None
    offer = store.offer(judge, AB, Kind.NEW)
    assert store.open_offer(judge) == offer
    assert store.offer(judge, CD, Kind.NEW) == offer
    assert store.answer(judge, offer.id, FIRST)
    assert store.open_offer(judge) is None


def test_of_many_workers_who_offer_at_once_one_offer_stands(store):
    judge = add_judge(store)
    picks = [OrderedPair(f"{k}", f"{k}'") for k in range(HANDS)]
    with ThreadPoolExecutor(HANDS) as pool:
        offered = list(pool.map(lambda pick: store.offer(judge, pick, Kind.NEW), picks))
    assert len({offer.id for offer in offered}) == 1
    assert len(list(store.offers())) == 1


def test_an_answer_counts_once_however_often_it_is_sent(store):
    judge = add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    outcomes = [FIRST, SECOND] * (HANDS // 2)
    with ThreadPoolExecutor(HANDS) as pool:
        kept = list(pool.map(lambda answer: store.answer(judge, offer.id, answer), outcomes))
    assert sum(kept) == 1
    (row,) = store.rows()
    assert row["outcome"] == ANSWERS[outcomes[kept.index(True)]].stored


def test_nobody_answers_for_another_or_what_was_never_offered(store):
    judge, other = add_judge(store), add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    assert not store.answer(other, offer.id, FIRST)
    assert not store.answer(judge, offer.id + 1, FIRST)
    assert list(store.rows()) == []
    assert store.open_offer(judge) == offer


def test_many_judges_at_once_lose_nothing_and_double_nothing(store):
    judges = [add_judge(store) for _ in range(HANDS)]

    def work(judge: Judge) -> list[int]:
        return [add_answer(store, judge, OrderedPair(f"{k}", "x"), TIE) for k in range(20)]

    with ThreadPoolExecutor(HANDS) as pool:
        sent = [offer for offers in pool.map(work, judges) for offer in offers]
    assert Counter(row["offer"] for row in store.rows()) == Counter(sent)


def test_moments_are_kept_in_utc(store):
    judge = add_judge(store)
    before = datetime.now(UTC) - timedelta(seconds=1)
    add_answer(store, judge, AB, TIE)
    (row,) = store.rows()
    assert before < row["shown"] <= row["answered"] < datetime.now(UTC) + timedelta(seconds=1)
    assert row["answered"].tzinfo == UTC


# Undo.


def test_an_undo_is_a_row_and_brings_the_pair_back(store):
    judge = add_judge(store)
    add_answer(store, judge, AB, FIRST)
    add_answer(store, judge, CD, TIE)
    waiting = store.offer(judge, EF, Kind.NEW)
    again = store.undo(judge)
    assert (again.left, again.right) == ("c", "d")
    assert store.open_offer(judge) == again
    assert not store.answer(judge, waiting.id, FIRST)
    assert store.answer(judge, again.id, SECOND)
    rows = list(store.rows())
    assert [(row["left"], row["outcome"], row["undone"] is None) for row in rows] == [
        ("a", "left", True), ("c", "tie", False), ("c", "right", True),
    ]  # fmt: skip
    assert store.progress(judge).made == 2
    assert store.history(judge).seen == {frozenset("ab"), frozenset("cd")}


def test_one_can_undo_all_the_way_back_and_no_further(store):
    judge = add_judge(store)
    add_answer(store, judge, AB, FIRST)
    add_answer(store, judge, CD, FIRST)
    assert store.undo(judge).left == "c"
    assert store.undo(judge).left == "a"
    assert store.undo(judge) is None
    assert store.progress(judge).made == 0
    assert store.undo(add_judge(store)) is None


# How far, and what was seen.


def test_progress_counts_comparisons_skips_and_practice_apart(store):
    judge = add_judge(store)
    assert store.progress(judge) == (0, 0, 0)
    add_answer(store, judge, AB, FIRST, Kind.PRACTICE)
    add_answer(store, judge, AB, TIE)
    add_answer(store, judge, CD, SKIP)
    add_answer(store, judge, OrderedPair("b", "a"), FIRST, Kind.REPEAT)
    assert store.progress(judge) == (2, 1, 1)
    assert store.history(judge).seen == {frozenset("ab"), frozenset("cd")}
    assert store.history(judge).compared == [AB, OrderedPair("b", "a", True)]
    assert store.progress(add_judge(store)) == (0, 0, 0)


# What the answers mean.


def test_meaning_may_change_until_the_first_answer_and_not_after(store):
    asked = {"study.question": "Which is greener?"}
    assert store.agreed_meaning({"study.question": "a draft"}) == {}
    assert store.agreed_meaning(asked) == {}
    add_answer(store, add_judge(store), AB, FIRST)
    assert store.agreed_meaning(asked) == {}
    changed = store.agreed_meaning({"study.question": "Which is redder?"})
    assert changed == {"study.question": ("Which is greener?", "Which is redder?")}
    assert store.agreed_meaning(asked) == {}


# Withdrawal.


def test_a_grade_is_kept_with_its_answer_and_goes_with_it(store):
    judge = add_judge(store)
    for pair, answer, grade in ((AB, FIRST, 2), (CD, TIE, None), (EF, SECOND, 1)):
        assert store.answer(judge, store.offer(judge, pair, Kind.NEW).id, answer, grade)
    graded = [(row["outcome"], row["grade"]) for row in store.rows()]
    assert graded == [("left", 2), ("tie", None), ("right", 1)]
    again = store.undo(judge)
    assert (again.left, again.right) == ("e", "f")
    assert store.answer(judge, again.id, SECOND, 2)
    standing = [row["grade"] for row in store.rows() if row["undone"] is None]
    assert standing == [2, None, 2]
    assert store.progress(judge).made == 3
    assert store.withdraw(judge, judgements_too=True) == 4
    assert list(store.rows()) == []


def test_who_withdraws_is_forgotten_and_their_answers_stay_unless_they_say_so(store):
    new = store.add_judge(consent="1", language="en", about={"role": "midwife"})
    add_answer(store, new.judge, AB, FIRST)
    assert store.withdraw(new.judge, judgements_too=False) == 0
    assert store.judge(new.secret) is None
    assert store.signup_answers() == {}
    assert len(list(store.rows())) == 1
    (record,) = store.erasures()
    assert (record["judge"], record["judgements"]) == (new.judge.id, 0)


def test_who_wants_their_answers_gone_takes_them_and_nobody_elses(store):
    judge, other = (
        add_judge(store, about={"role": "midwife"}),
        add_judge(store, about={"role": "nurse"}),
    )
    for who in (judge, other):
        add_answer(store, who, AB, FIRST)
        add_answer(store, who, CD, FIRST)
        store.undo(who)
    assert store.withdraw(judge, judgements_too=True) == 2
    assert {row["judge"] for row in store.rows()} == {other.id}
    assert {row["judge"] for row in store.offers()} == {other.id}
    assert store.signup_answers() == {other.id: {"role": "nurse"}}
    assert [record["judgements"] for record in store.erasures()] == [2]


# The database itself.


def test_a_store_opened_again_has_everything(url):
    first = JudgeStore(url)
    new = first.add_judge(consent="1", language="en", about={})
    add_answer(first, new.judge, AB, FIRST)
    first.close()
    again = JudgeStore(url)
    assert again.judge(new.secret) == new.judge
    assert len(list(again.rows())) == 1
    again.close()


def test_migrations_lead_to_the_tables_that_are_written_down(store):
    database = inspect(store.engine)
    for table in metadata.sorted_tables:
        columns = {column["name"]: column for column in database.get_columns(table.name)}
        assert set(columns) == {column.name for column in table.columns}
        for column in table.columns:
            assert columns[column.name]["nullable"] == column.nullable, (table.name, column.name)
        indexes = {index["name"] for index in database.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= indexes
    assert set(database.get_table_names()) == {*metadata.tables, "alembic_version"}


def alembic_config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def test_an_older_database_is_brought_up_to_date_when_it_is_opened(empty_url, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            "tiewise.study.connection.migrate",
            lambda connection, _: command.upgrade(alembic_config(connection), "0001"),
        )
        old = JudgeStore(empty_url)
    assert "snapshots" not in inspect(old.engine).get_table_names()
    old.close()
    store = JudgeStore(empty_url)
    assert set(inspect(store.engine).get_table_names()) == {*metadata.tables, "alembic_version"}
    store.close()


@pytest.mark.parametrize(("ties", "number"), [("True", "3"), ("False", "2"), (None, "5")])
def test_a_study_of_before_grades_keeps_the_answers_it_had(empty_url, monkeypatch, ties, number):
    """One that has none yet may have any."""
    with monkeypatch.context() as patch:
        patch.setattr(
            "tiewise.study.connection.migrate",
            lambda connection, _: command.upgrade(alembic_config(connection), "0004"),
        )
        old = JudgeStore(empty_url)
    if ties is not None:
        old.agreed_meaning({"answers.ties": ties})
        add_answer(old, add_judge(old), AB, FIRST)
    old.close()
    store = JudgeStore(empty_url)
    changed = store.agreed_meaning({"answers.grades": "5"})
    assert changed == ({} if number == "5" else {"answers.grades": (number, "5")})
    assert [row["grade"] for row in store.rows()] == ([] if ties is None else [None])
    store.close()


@pytest.mark.parametrize(("answered", "priors"), [(True, "paper"), (False, None)])
def test_a_study_with_answers_keeps_the_priors_it_was_begun_with(
    empty_url, monkeypatch, answered, priors
):
    """One without answers, and every later one, has those of its settings."""
    with monkeypatch.context() as patch:
        patch.setattr(
            "tiewise.study.connection.migrate",
            lambda connection, _: command.upgrade(alembic_config(connection), "0002"),
        )
        old = JudgeStore(empty_url)
    judge = add_judge(old)
    if answered:
        add_answer(old, judge, AB, FIRST)
    old.close()
    store = JudgeStore(empty_url)
    assert store.recorded_priors() == priors
    add_answer(store, judge, CD, FIRST)
    store.close()
    again = JudgeStore(empty_url)
    assert again.recorded_priors() == priors
    again.close()


def test_a_database_that_is_up_to_date_is_opened_without_migrating(url, monkeypatch):
    JudgeStore(url).close()
    monkeypatch.setattr("tiewise.study.connection.migrate", lambda _: pytest.fail("migrated"))
    JudgeStore(url).close()


def test_the_newest_revision_is_the_last_of_the_migrations(store):
    with store.reading() as connection:
        script = ScriptDirectory.from_config(alembic_config(connection))
    assert newest_revision() == script.get_current_head()


def test_no_column_could_hold_an_address(store):
    names = {column.name for table in metadata.tables.values() for column in table.columns}
    assert not names & {"ip", "address", "host", "agent", "user_agent", "email"}


def test_judgements_from_elsewhere_keep_their_judges(store):
    rows = [
        {"judge": "7", "left": "a", "right": "b", "outcome": "tie"},
        {"judge": "7", "left": "a", "right": "c", "outcome": "left"},
        {"judge": "9", "left": "b", "right": "c", "outcome": "skip"},
    ]
    assert store.import_judgements(rows, consent="imported") == 3
    assert [(r["judge"], r["left"], r["outcome"]) for r in store.rows()] == [
        ("7", "a", "tie"), ("7", "a", "left"), ("9", "b", "skip"),
    ]  # fmt: skip
    assert {row["id"]: row["judgements"] for row in store.judge_rows()} == {"7": 2, "9": 1}
