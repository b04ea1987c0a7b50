"""Accounts of a site: who may sign in, in which role, and which studies they see."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from tiewise.errors import InputError
from tiewise.hosting.schema import OF_SITES, grants, roles, takeovers
from tiewise.study.audit_log import log_action
from tiewise.study.connection import Database, now
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.schema import researchers
from tiewise.study.study import Study
from tiewise.study.values import Researcher, Role

LAST_OWNER = "this is the only owner of the site; make somebody else an owner first"


class SiteDatabase(Database):
    """The database of a site of several studies."""

    migrations = OF_SITES


class Account(NamedTuple):
    """An account of the site, and the studies that it sees."""

    researcher: Researcher
    every_study: bool
    studies: tuple[str, ...] = ()

    @property
    def role(self) -> Role:
        """What they may do."""
        return self.researcher.role

    def may_see(self, study: str) -> bool:
        """Whether a study is among theirs; an owner sees them all."""
        return self.role == Role.OWNER or self.every_study or study in self.studies


class AccountStore(ResearcherStore):
    """The accounts of a site: researchers as studies have them, with a role and studies."""

    def __init__(self, database: SiteDatabase) -> None:
        super().__init__(database)
        self._database = database

    def session(self, secret: str) -> Researcher | None:
        """Whose session this is, with their role, if it has not ended or grown too old."""
        known = super().session(secret)
        return None if known is None else known._replace(role=self.account(known).role)

    def account(self, researcher: Researcher) -> Account:
        """The account of a researcher; one without a role sees nothing."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(roles.c.role, roles.c.every_study).where(roles.c.researcher == researcher.id)
            ).first()
            mine = grants.c.researcher == researcher.id
            query = select(grants.c.study).where(mine).order_by(grants.c.study)
            studies = tuple(connection.scalars(query))
        if row is None:
            return Account(researcher._replace(role=Role.VIEWER), every_study=False)
        return Account(researcher._replace(role=Role(row.role)), row.every_study, studies)

    def accounts(self) -> list[Account]:
        """All who may sign in, oldest first."""
        return [self.account(one) for one in self.researchers()]

    def add_account(
        self,
        name: str,
        role: Role,
        *,
        studies: Collection[str] | None = None,
        by: Researcher | None = None,
    ) -> Researcher:
        """A new account; without `studies` it sees every one, also those that are yet to come."""
        added = self.add_researcher(name, by=by)
        self.set_role(added, role, studies=studies, by=by)
        return added

    def set_role(
        self,
        researcher: Researcher,
        role: Role,
        *,
        studies: Collection[str] | None = None,
        by: Researcher | None = None,
    ) -> None:
        """Change what an account may do; there is always an owner."""
        every = studies is None or role == Role.OWNER
        with self._database.writing() as connection:
            _refuse_last_owner(connection, researcher, role)
            _drop_role(connection, researcher)
            row = {"researcher": researcher.id, "role": role.value, "every_study": every}
            connection.execute(roles.insert().values(row))
            for study in () if every else sorted(set(studies or ())):
                connection.execute(grants.insert().values(researcher=researcher.id, study=study))
            what = "every study" if every else ", ".join(sorted(set(studies or ()))) or "no study"
            log_action(connection, by, "set role", researcher.name, f"{role}, {what}")

    def remove_researcher(self, name: str, *, by: Researcher | None = None) -> bool:
        """End an account with its sessions and links; False where there is none of this name."""
        there = self.researcher(name)
        if there is None:
            return False
        with self._database.writing() as connection:
            _refuse_last_owner(connection, there, None)
            _drop_role(connection, there)
        return super().remove_researcher(name, by=by)

    def owner_can_sign_in(self) -> bool:
        """Whether an owner has a password."""
        return any(
            one.role == Role.OWNER and one.researcher.has_password for one in self.accounts()
        )

    def forget_study(self, name: str) -> None:
        """Take a study of this name from all accounts: another may come to have the name."""
        with self._database.writing() as connection:
            connection.execute(grants.delete().where(grants.c.study == name))
            connection.execute(takeovers.delete().where(takeovers.c.study == name))

    def take_over(self, study: Study, store: ResearcherStore) -> list[str]:
        """Give researchers of a study accounts of the site, with their passwords, once.

        They see that study alone. Somebody of the same name may be somebody else, and so gets an
        account of its own, such as `Ann (schools)`. The names of the new accounts.
        """
        name = study.folder.resolve().name
        known = [(one, store.password_hash(one.name)) for one in store.researchers()]
        with self._database.writing() as connection:
            if connection.scalar(select(takeovers.c.study).where(takeovers.c.study == name)):
                return []
            connection.execute(takeovers.insert().values(study=name))
            return [_copy_account(connection, one, hashed, name) for one, hashed in known]


def _copy_account(
    connection: Connection, researcher: Researcher, hashed: str | None, study: str
) -> str:
    """An account with a password that was chosen elsewhere; its name."""
    taken = set(connection.scalars(select(researchers.c.name)))
    name = next(one for one in _names(researcher.name, study) if one not in taken)
    row = {"name": name, "password": hashed, "made": now()}
    (key,) = connection.execute(researchers.insert().values(row)).inserted_primary_key or (None,)
    role = {"researcher": key, "role": Role.RESEARCHER.value, "every_study": False}
    connection.execute(roles.insert().values(role))
    connection.execute(grants.insert().values(researcher=key, study=study))
    log_action(connection, None, "take over account", name, f"of the study {study}")
    return name


def _names(name: str, study: str) -> Iterable[str]:
    """Candidate names for an account, the requested one first."""
    yield name
    yield f"{name} ({study})"[:100]
    yield from (f"{name[:30]} ({study} {k})"[:100] for k in range(2, 10_000))


def _refuse_last_owner(connection: Connection, researcher: Researcher, role: Role | None) -> None:
    """Refuse to leave the site without an owner; rows are locked until the change is made."""
    owners = connection.scalars(
        select(roles.c.researcher).where(roles.c.role == Role.OWNER.value).with_for_update()
    ).all()
    if role != Role.OWNER and list(owners) == [researcher.id]:
        raise InputError(LAST_OWNER)


def _drop_role(connection: Connection, researcher: Researcher) -> None:
    connection.execute(roles.delete().where(roles.c.researcher == researcher.id))
    connection.execute(grants.delete().where(grants.c.researcher == researcher.id))
