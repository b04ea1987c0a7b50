"""ResearcherStore: who may sign in, tokens, phases, who counts, and the audit log."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import text

from tiewise.errors import InputError
from tiewise.study import researcher_store
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import Phase, TokenPurpose


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> JudgeStore:
    if request.param == "sqlite":
        return JudgeStore(f"sqlite:///{tmp_path / 's.db'}")
    return JudgeStore(request.getfixturevalue("postgresql")())


@pytest.fixture
def researchers(store) -> ResearcherStore:
    return ResearcherStore(store)


def audit_log(researchers: ResearcherStore) -> list[tuple[str | None, str, str]]:
    """Oldest first."""
    return [(row["name"], row["what"], row["about"]) for row in researchers.audit_log()][::-1]


def everything(store: JudgeStore) -> str:
    """All that the tables of the researchers hold, as text."""
    tables = ("researchers", "sessions", "passes", "deeds")
    with store.reading() as connection:
        rows = [connection.execute(text(f"SELECT * FROM {table}")).all() for table in tables]
    return repr(rows)


def later(monkeypatch, by: timedelta) -> None:
    """So much later, as far as the store knows."""
    at = now() + by
    monkeypatch.setattr(researcher_store, "now", lambda: at)


# Researchers.


def test_a_researcher_is_known_by_a_tidy_name(researchers):
    made = researchers.add_researcher("  Ada   Okafor ")
    assert made.name == "Ada Okafor"
    assert researchers.researcher("Ada Okafor") == made
    assert researchers.researcher("ada okafor") is None
    assert not made.has_password


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_name_must_be_one(researchers, name):
    with pytest.raises(InputError, match="1 to 100"):
        researchers.add_researcher(name)


def test_two_of_one_name_would_be_confused(researchers):
    researchers.add_researcher("Ada")
    with pytest.raises(InputError, match="already"):
        researchers.add_researcher("Ada")


def test_the_last_researcher_stays(researchers):
    researchers.add_researcher("Ada")
    with pytest.raises(InputError, match="only researcher"):
        researchers.remove_researcher("Ada")
    researchers.add_researcher("Ben")
    assert researchers.remove_researcher("Ada")
    assert not researchers.remove_researcher("Ada")
    assert [one.name for one in researchers.researchers()] == ["Ben"]


def test_whoever_is_removed_loses_sessions_links_and_password(researchers):
    ada, _ = researchers.add_researcher("Ada"), researchers.add_researcher("Ben")
    researchers.set_password(ada, "hash")
    session, link = (
        researchers.sign_in(ada),
        researchers.make_token(TokenPurpose.SIGN_IN, researcher=ada),
    )
    researchers.remove_researcher("Ada")
    assert researchers.session(session) is None
    assert researchers.use_sign_in_token(link) is None
    assert researchers.password_hash("Ada") is None
    back = researchers.add_researcher("Ada")
    assert back.id == ada.id
    assert not back.has_password
    assert researchers.session(session) is None


def test_somebody_can_sign_in_with_a_password_or_a_session(researchers):
    assert not researchers.can_sign_in()
    ada = researchers.add_researcher("Ada")
    researchers.make_token(TokenPurpose.SIGN_IN, researcher=ada)  # a link may be lost
    assert not researchers.can_sign_in()
    session = researchers.sign_in(ada)
    assert researchers.can_sign_in()
    researchers.sign_out(session)
    assert not researchers.can_sign_in()
    researchers.set_password(ada, "hash")
    assert researchers.can_sign_in()


def test_an_old_session_lets_nobody_in(researchers, monkeypatch):
    researchers.sign_in(researchers.add_researcher("Ada"))
    later(monkeypatch, researcher_store.IDLE_LIMIT + timedelta(minutes=1))
    assert not researchers.can_sign_in()


# Sessions.


def test_a_session_is_its_researchers_until_signed_out(researchers):
    ada = researchers.add_researcher("Ada")
    secret, other = researchers.sign_in(ada), researchers.sign_in(ada)
    assert researchers.session(secret) == ada
    assert researchers.session("0" * 32) is None
    researchers.sign_out(secret)
    assert researchers.session(secret) is None
    assert researchers.session(other) == ada


def test_a_session_that_nobody_uses_ends(researchers, monkeypatch):
    secret = researchers.sign_in(researchers.add_researcher("Ada"))
    later(monkeypatch, researcher_store.IDLE_LIMIT - timedelta(minutes=1))
    assert researchers.session(secret)  # and so it is used
    later(monkeypatch, timedelta(minutes=2) + researcher_store.IDLE_LIMIT)
    assert researchers.session(secret)
    later(monkeypatch, 3 * researcher_store.IDLE_LIMIT)
    assert researchers.session(secret) is None


def test_no_session_lasts_for_ever(researchers, monkeypatch):
    secret = researchers.sign_in(researchers.add_researcher("Ada"))
    used = timedelta()
    while used < researcher_store.SESSION_LIFETIME:
        with monkeypatch.context() as moved:
            later(moved, used)
            assert researchers.session(secret)
        used += researcher_store.IDLE_LIMIT / 2
    later(monkeypatch, researcher_store.SESSION_LIFETIME + timedelta(seconds=1))
    assert researchers.session(secret) is None


def test_others_are_signed_out_and_unused_links_end(researchers):
    ada, ben = researchers.add_researcher("Ada"), researchers.add_researcher("Ben")
    mine, elsewhere, bens = (
        researchers.sign_in(ada),
        researchers.sign_in(ada),
        researchers.sign_in(ben),
    )
    link = researchers.make_token(TokenPurpose.SIGN_IN, researcher=ada)
    shared = researchers.make_token(TokenPurpose.SHARE, label="council", by=ada)
    researchers.sign_out_others(ada, mine)
    assert researchers.session(mine) == ada
    assert researchers.session(elsewhere) is None
    assert researchers.session(bens) == ben
    assert researchers.use_sign_in_token(link) is None
    assert researchers.is_valid_token(shared, TokenPurpose.SHARE)


# Passes.


def test_a_one_time_link_works_once_for_its_researcher(researchers):
    secret = researchers.invite_researcher("Ada")
    assert researchers.is_valid_token(secret, TokenPurpose.SIGN_IN)
    assert researchers.use_sign_in_token(secret).name == "Ada"
    assert researchers.use_sign_in_token(secret) is None
    assert not researchers.is_valid_token(secret, TokenPurpose.SIGN_IN)
    again = researchers.invite_researcher("Ada")
    assert researchers.use_sign_in_token(again).name == "Ada"
    assert len(researchers.researchers()) == 1


def test_a_link_grows_too_old(researchers, monkeypatch):
    link = researchers.invite_researcher("Ada")
    short = researchers.make_token(TokenPurpose.SHARE, label="a week", lasts=timedelta(days=7))
    ever = researchers.make_token(TokenPurpose.API, label="ever")
    later(monkeypatch, timedelta(days=8))
    assert researchers.use_sign_in_token(link) is None
    assert not researchers.is_valid_token(short, TokenPurpose.SHARE)
    assert researchers.is_valid_token(ever, TokenPurpose.API)
    assert researchers.tokens(TokenPurpose.SHARE) == []


@pytest.mark.parametrize("opens", list(TokenPurpose))
def test_a_pass_opens_one_thing_only(researchers, opens):
    secret = researchers.make_token(opens, label="x", researcher=researchers.add_researcher("Ada"))
    assert [kind for kind in TokenPurpose if researchers.is_valid_token(secret, kind)] == [opens]


def test_a_pass_is_ended_once(researchers):
    secret = researchers.make_token(TokenPurpose.SHARE, label="council")
    (row,) = researchers.tokens(TokenPurpose.SHARE)
    assert row["label"] == "council"
    assert researchers.revoke_token(row["id"])
    assert not researchers.revoke_token(row["id"])
    assert not researchers.is_valid_token(secret, TokenPurpose.SHARE)


def test_no_secret_is_kept_as_it_is(researchers, store):
    ada = researchers.add_researcher("Ada")
    secrets = [researchers.sign_in(ada), researchers.invite_researcher("Ada")]
    secrets += [
        researchers.make_token(opens, label="x") for opens in (TokenPurpose.SHARE, TokenPurpose.API)
    ]
    kept = everything(store)
    assert all(re.fullmatch("[0-9a-f]{32}", secret) for secret in secrets)
    assert not any(secret in kept for secret in secrets)


# Phases and exclusions.


def test_a_study_is_open_until_somebody_says_otherwise(researchers):
    assert researchers.phase() == Phase.OPEN
    for phase in (Phase.PAUSED, Phase.CLOSED, Phase.OPEN):
        researchers.set_phase(phase)
        assert researchers.phase() == phase


def test_the_same_phase_again_is_no_deed(researchers):
    researchers.set_phase(Phase.PAUSED, why="holiday")
    researchers.set_phase(Phase.PAUSED)
    assert audit_log(researchers) == [(None, "set phase", "paused")]


def judge(store: JudgeStore) -> str:
    new = store.add_judge(consent="1", language="en", about={})
    assert new is not None
    return new.judge.id


def test_a_judge_is_left_out_with_a_reason_and_taken_back(researchers, store):
    bad = judge(store)
    researchers.exclude(bad, " always left ")
    assert researchers.excluded() == {bad: "always left"}
    researchers.exclude(bad, "again")
    assert researchers.excluded() == {bad: "always left"}
    researchers.include(bad)
    assert researchers.excluded() == {}


def test_leaving_out_wants_a_reason_and_a_judge(researchers, store):
    with pytest.raises(InputError, match="say why"):
        researchers.exclude(judge(store), "  ")
    with pytest.raises(InputError, match="no judge 'nobody'"):
        researchers.exclude("nobody", "x")
    # Nor does a letter that PostgreSQL will not take lead to anybody.
    with pytest.raises(InputError, match="no judge"):
        researchers.exclude("no\0body", "x")


# The trail.


def test_every_change_leaves_a_row_with_who_did_it(researchers, store):
    ada = researchers.add_researcher("Ada")
    researchers.sign_in(ada)
    researchers.add_researcher("Ben", by=ada)
    researchers.set_password(ada, "hash")
    researchers.set_password(ada, "the same, hashed anew", quiet=True)
    researchers.make_token(TokenPurpose.API, label="R", by=ada)
    (row,) = researchers.tokens(TokenPurpose.API)
    researchers.revoke_token(row["id"], by=ada)
    researchers.set_phase(Phase.CLOSED, by=ada, why="done")
    bad = judge(store)
    researchers.exclude(bad, "always left", by=ada)
    researchers.include(bad, by=ada)
    researchers.log("download", "export.zip", by=ada)
    researchers.remove_researcher("Ben", by=ada)
    assert audit_log(researchers) == [
        (None, "add researcher", "Ada"), ("Ada", "sign in", "Ada"),
        ("Ada", "add researcher", "Ben"), ("Ada", "change password", "Ada"),
        ("Ada", "make api link", "R"), ("Ada", "end api link", "R"), ("Ada", "set phase", "closed"),
        ("Ada", "exclude judge", bad), ("Ada", "include judge", bad),
        ("Ada", "download", "export.zip"), ("Ada", "remove researcher", "Ben"),
    ]  # fmt: skip


def test_the_trail_is_the_latest(researchers):
    for k in range(5):
        researchers.log("download", str(k))
    assert [action["about"] for action in researchers.audit_log(most=2)] == ["4", "3"]
