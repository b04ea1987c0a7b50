"""The ledger: who may sign in, what opens what, which phase it is, who counts, and the trail."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import text

from tiewise.errors import InputError
from tiewise.study import researcher_store as ledgers
from tiewise.study.judge_store import Store, now
from tiewise.study.researcher_store import Ledger, Opens, Phase


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> Store:
    if request.param == "sqlite":
        return Store(f"sqlite:///{tmp_path / 's.db'}")
    return Store(request.getfixturevalue("postgresql")())


@pytest.fixture
def ledger(store) -> Ledger:
    return Ledger(store)


def trail(ledger: Ledger) -> list[tuple[str | None, str, str]]:
    """Oldest first."""
    return [(deed["name"], deed["what"], deed["about"]) for deed in ledger.deeds()][::-1]


def everything(store: Store) -> str:
    """All that the tables of the ledger hold, as text."""
    tables = ("researchers", "sessions", "passes", "deeds")
    with store.reading() as connection:
        rows = [connection.execute(text(f"SELECT * FROM {table}")).all() for table in tables]
    return repr(rows)


def later(monkeypatch, by: timedelta) -> None:
    """So much later, as far as the ledger knows."""
    at = now() + by
    monkeypatch.setattr(ledgers, "now", lambda: at)


# Researchers.


def test_a_researcher_is_known_by_a_tidy_name(ledger):
    made = ledger.add_researcher("  Ada   Okafor ")
    assert made.name == "Ada Okafor"
    assert ledger.researcher("Ada Okafor") == made
    assert ledger.researcher("ada okafor") is None
    assert not made.has_password


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_name_must_be_one(ledger, name):
    with pytest.raises(InputError, match="1 to 100"):
        ledger.add_researcher(name)


def test_two_of_one_name_would_be_confused(ledger):
    ledger.add_researcher("Ada")
    with pytest.raises(InputError, match="already"):
        ledger.add_researcher("Ada")


def test_the_last_researcher_stays(ledger):
    ledger.add_researcher("Ada")
    with pytest.raises(InputError, match="only researcher"):
        ledger.remove_researcher("Ada")
    ledger.add_researcher("Ben")
    assert ledger.remove_researcher("Ada")
    assert not ledger.remove_researcher("Ada")
    assert [one.name for one in ledger.researchers()] == ["Ben"]


def test_whoever_is_removed_loses_sessions_links_and_password(ledger):
    ada, _ = ledger.add_researcher("Ada"), ledger.add_researcher("Ben")
    ledger.set_password(ada, "hash")
    session, link = ledger.sign_in(ada), ledger.make_pass(Opens.SIGN_IN, researcher=ada)
    ledger.remove_researcher("Ada")
    assert ledger.session(session) is None
    assert ledger.use_sign_in(link) is None
    assert ledger.password_hash("Ada") is None
    back = ledger.add_researcher("Ada")
    assert back.id == ada.id
    assert not back.has_password
    assert ledger.session(session) is None


def test_somebody_can_sign_in_with_a_password_or_a_session(ledger):
    assert not ledger.can_sign_in()
    ada = ledger.add_researcher("Ada")
    ledger.make_pass(Opens.SIGN_IN, researcher=ada)  # a link may be lost
    assert not ledger.can_sign_in()
    session = ledger.sign_in(ada)
    assert ledger.can_sign_in()
    ledger.sign_out(session)
    assert not ledger.can_sign_in()
    ledger.set_password(ada, "hash")
    assert ledger.can_sign_in()


def test_an_old_session_lets_nobody_in(ledger, monkeypatch):
    ledger.sign_in(ledger.add_researcher("Ada"))
    later(monkeypatch, ledgers.IDLE + timedelta(minutes=1))
    assert not ledger.can_sign_in()


# Sessions.


def test_a_session_is_its_researchers_until_signed_out(ledger):
    ada = ledger.add_researcher("Ada")
    secret, other = ledger.sign_in(ada), ledger.sign_in(ada)
    assert ledger.session(secret) == ada
    assert ledger.session("0" * 32) is None
    ledger.sign_out(secret)
    assert ledger.session(secret) is None
    assert ledger.session(other) == ada


def test_a_session_that_nobody_uses_ends(ledger, monkeypatch):
    secret = ledger.sign_in(ledger.add_researcher("Ada"))
    later(monkeypatch, ledgers.IDLE - timedelta(minutes=1))
    assert ledger.session(secret)  # and so it is used
    later(monkeypatch, timedelta(minutes=2) + ledgers.IDLE)
    assert ledger.session(secret)
    later(monkeypatch, 3 * ledgers.IDLE)
    assert ledger.session(secret) is None


def test_no_session_lasts_for_ever(ledger, monkeypatch):
    secret = ledger.sign_in(ledger.add_researcher("Ada"))
    used = timedelta()
    while used < ledgers.LONGEST:
        with monkeypatch.context() as moved:
            later(moved, used)
            assert ledger.session(secret)
        used += ledgers.IDLE / 2
    later(monkeypatch, ledgers.LONGEST + timedelta(seconds=1))
    assert ledger.session(secret) is None


def test_others_are_signed_out_and_unused_links_end(ledger):
    ada, ben = ledger.add_researcher("Ada"), ledger.add_researcher("Ben")
    mine, elsewhere, bens = ledger.sign_in(ada), ledger.sign_in(ada), ledger.sign_in(ben)
    link = ledger.make_pass(Opens.SIGN_IN, researcher=ada)
    shared = ledger.make_pass(Opens.SHARE, label="council", by=ada)
    ledger.sign_out_others(ada, mine)
    assert ledger.session(mine) == ada
    assert ledger.session(elsewhere) is None
    assert ledger.session(bens) == ben
    assert ledger.use_sign_in(link) is None
    assert ledger.may_open(shared, Opens.SHARE)


# Passes.


def test_a_one_time_link_works_once_for_its_researcher(ledger):
    secret = ledger.invite_researcher("Ada")
    assert ledger.may_open(secret, Opens.SIGN_IN)
    assert ledger.use_sign_in(secret).name == "Ada"
    assert ledger.use_sign_in(secret) is None
    assert not ledger.may_open(secret, Opens.SIGN_IN)
    again = ledger.invite_researcher("Ada")
    assert ledger.use_sign_in(again).name == "Ada"
    assert len(ledger.researchers()) == 1


def test_a_link_grows_too_old(ledger, monkeypatch):
    link = ledger.invite_researcher("Ada")
    short = ledger.make_pass(Opens.SHARE, label="a week", lasts=timedelta(days=7))
    ever = ledger.make_pass(Opens.API, label="ever")
    later(monkeypatch, timedelta(days=8))
    assert ledger.use_sign_in(link) is None
    assert not ledger.may_open(short, Opens.SHARE)
    assert ledger.may_open(ever, Opens.API)
    assert ledger.passes(Opens.SHARE) == []


@pytest.mark.parametrize("opens", list(Opens))
def test_a_pass_opens_one_thing_only(ledger, opens):
    secret = ledger.make_pass(opens, label="x", researcher=ledger.add_researcher("Ada"))
    assert [kind for kind in Opens if ledger.may_open(secret, kind)] == [opens]


def test_a_pass_is_ended_once(ledger):
    secret = ledger.make_pass(Opens.SHARE, label="council")
    (row,) = ledger.passes(Opens.SHARE)
    assert row["label"] == "council"
    assert ledger.end_pass(row["id"])
    assert not ledger.end_pass(row["id"])
    assert not ledger.may_open(secret, Opens.SHARE)


def test_no_secret_is_kept_as_it_is(ledger, store):
    ada = ledger.add_researcher("Ada")
    secrets = [ledger.sign_in(ada), ledger.invite_researcher("Ada")]
    secrets += [ledger.make_pass(opens, label="x") for opens in (Opens.SHARE, Opens.API)]
    kept = everything(store)
    assert all(re.fullmatch("[0-9a-f]{32}", secret) for secret in secrets)
    assert not any(secret in kept for secret in secrets)


# Phases and exclusions.


def test_a_study_is_open_until_somebody_says_otherwise(ledger):
    assert ledger.phase() == Phase.OPEN
    for phase in (Phase.PAUSED, Phase.CLOSED, Phase.OPEN):
        ledger.set_phase(phase)
        assert ledger.phase() == phase


def test_the_same_phase_again_is_no_deed(ledger):
    ledger.set_phase(Phase.PAUSED, why="holiday")
    ledger.set_phase(Phase.PAUSED)
    assert trail(ledger) == [(None, "set phase", "paused")]


def judge(store: Store) -> str:
    new = store.welcome(consent="1", language="en", about={})
    assert new is not None
    return new.judge.id


def test_a_judge_is_left_out_with_a_reason_and_taken_back(ledger, store):
    bad = judge(store)
    ledger.exclude(bad, " always left ")
    assert ledger.excluded() == {bad: "always left"}
    ledger.exclude(bad, "again")
    assert ledger.excluded() == {bad: "always left"}
    ledger.include(bad)
    assert ledger.excluded() == {}


def test_leaving_out_wants_a_reason_and_a_judge(ledger, store):
    with pytest.raises(InputError, match="say why"):
        ledger.exclude(judge(store), "  ")
    with pytest.raises(InputError, match="no judge 'nobody'"):
        ledger.exclude("nobody", "x")
    # Nor does a letter that PostgreSQL will not take lead to anybody.
    with pytest.raises(InputError, match="no judge"):
        ledger.exclude("no\0body", "x")


# The trail.


def test_every_change_leaves_a_row_with_who_did_it(ledger, store):
    ada = ledger.add_researcher("Ada")
    ledger.sign_in(ada)
    ledger.add_researcher("Ben", by=ada)
    ledger.set_password(ada, "hash")
    ledger.set_password(ada, "the same, hashed anew", quiet=True)
    ledger.make_pass(Opens.API, label="R", by=ada)
    (row,) = ledger.passes(Opens.API)
    ledger.end_pass(row["id"], by=ada)
    ledger.set_phase(Phase.CLOSED, by=ada, why="done")
    bad = judge(store)
    ledger.exclude(bad, "always left", by=ada)
    ledger.include(bad, by=ada)
    ledger.note("download", "export.zip", by=ada)
    ledger.remove_researcher("Ben", by=ada)
    assert trail(ledger) == [
        (None, "add researcher", "Ada"), ("Ada", "sign in", "Ada"),
        ("Ada", "add researcher", "Ben"), ("Ada", "change password", "Ada"),
        ("Ada", "make api link", "R"), ("Ada", "end api link", "R"), ("Ada", "set phase", "closed"),
        ("Ada", "exclude judge", bad), ("Ada", "include judge", bad),
        ("Ada", "download", "export.zip"), ("Ada", "remove researcher", "Ben"),
    ]  # fmt: skip


def test_the_trail_is_the_latest(ledger):
    for k in range(5):
        ledger.note("download", str(k))
    assert [deed["about"] for deed in ledger.deeds(most=2)] == ["4", "3"]
