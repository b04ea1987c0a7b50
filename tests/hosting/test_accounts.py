"""Accounts of a site: roles, the last owner, and accounts that studies had before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import inspect

from support.host_site import small_study
from tiewise.errors import InputError
from tiewise.hosting.accounts import AccountStore, SiteDatabase
from tiewise.hosting.schema import metadata
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Role


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> Iterator[SiteDatabase]:
    url = (
        request.getfixturevalue("postgresql")(empty=True) if request.param == "postgresql" else None
    )
    made = SiteFolder.open(tmp_path / "site").database(url)
    yield made
    made.close()


@pytest.fixture
def store(database) -> AccountStore:
    return AccountStore(database)


def test_migrations_make_the_tables_that_the_code_speaks_of(database):
    inspector = inspect(database.engine)
    for table in metadata.sorted_tables:
        there = {column["name"] for column in inspector.get_columns(table.name)}
        assert there == {column.name for column in table.columns}, table.name


def test_a_role_is_told_with_the_session(store):
    ada = store.add_account("Ada", Role.OWNER)
    bob = store.add_account("Bob", Role.VIEWER, studies=["green"], by=ada)
    assert store.session(store.sign_in(ada)).role == Role.OWNER
    assert store.session(store.sign_in(bob)).role == Role.VIEWER
    account = store.account(bob)
    assert account.may_see("green")
    assert not account.may_see("blue")
    store.set_role(bob, Role.RESEARCHER, by=ada)
    assert store.account(bob).may_see("blue")


def test_somebody_without_a_role_sees_nothing(store):
    """As where the site was killed between the account and its role."""
    bob = store.add_researcher("Bob")
    assert (store.account(bob).role, store.account(bob).may_see("green")) == (Role.VIEWER, False)


def test_there_is_always_an_owner(store):
    ada, bob = (store.add_account(name, Role.OWNER) for name in ("Ada", "Bob"))
    store.set_role(bob, Role.RESEARCHER)
    for attempt in (
        lambda: store.set_role(ada, Role.VIEWER), lambda: store.remove_researcher("Ada"),
    ):  # fmt: skip
        with pytest.raises(InputError, match="only owner"):
            attempt()
    assert store.account(ada).role == Role.OWNER
    store.set_role(bob, Role.OWNER)
    assert store.remove_researcher("Ada")


def test_who_is_removed_and_comes_back_has_no_rights_left(store):
    store.add_account("Ada", Role.OWNER)
    store.add_account("Bob", Role.RESEARCHER)
    store.remove_researcher("Bob")
    bob = store.add_researcher("Bob")
    assert not store.account(bob).may_see("green")


def test_accounts_of_studies_are_taken_over_once_with_their_passwords(store, tmp_path):
    """Somebody of the same name may be somebody else, and gets no other study by it."""
    studies = [small_study(tmp_path / "site", name) for name in ("green", "blue")]
    hashes = {}
    for study in studies:
        own = ResearcherStore(study.store())
        for name in ("Ada", f"only {study.folder.name}"):
            hashes[study.folder.name, name] = f"hash of {name} in {study.folder.name}"
            own.set_password(own.add_researcher(name), hashes[study.folder.name, name])
        store.take_over(study, own)
        assert store.take_over(study, own) == []
    there = {one.researcher.name: one for one in store.accounts()}
    assert there.keys() == {"Ada", "Ada (blue)", "only green", "only blue"}
    assert {one.role for one in there.values()} == {Role.RESEARCHER}
    assert (there["Ada"].studies, there["Ada (blue)"].studies) == (("green",), ("blue",))
    assert store.password_hash("Ada (blue)") == hashes["blue", "Ada"]


def test_a_database_of_a_study_is_not_taken_for_one_of_a_site(tmp_path, postgresql):
    study = small_study(tmp_path / "site", "green")
    url = postgresql()
    study.store(url).close()
    with pytest.raises(InputError, match=re.escape("another program (version '0")):
        SiteFolder.open(tmp_path / "site").database(url)
    SiteFolder.open(tmp_path / "site").database(other := postgresql(empty=True)).close()
    with pytest.raises(InputError, match="version 'site0001'"):
        Study.open(study.folder).store(other)


def test_names_of_studies_are_parts_of_addresses(tmp_path):
    folder = SiteFolder.open(tmp_path / "site")
    small_study(folder.path, "green")
    for name in ("site", "Static", "../x", ".hidden", "a b", "", "GREEN"):
        with pytest.raises(InputError):
            folder.refuse_name(name)
    assert folder.free_name("Green!") == "green-2"
    assert folder.free_name("Site") == "site-2"
    assert folder.free_name("¿?") == "study"
