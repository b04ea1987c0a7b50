"""The site of several studies: everything that its own pages are made from."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from tiewise.errors import InputError
from tiewise.hosting.accounts import AccountStore
from tiewise.hosting.drafts import USUAL_QUOTAS, Quotas
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import Researcher
from tiewise.web.site import AccountSite, Hosting

if TYPE_CHECKING:
    from tiewise.web.host.checks import StudyChecks
    from tiewise.web.host.studies import HostedStudies


@dataclass(frozen=True, kw_only=True)
class HostSite(AccountSite):
    """Everything that the pages of a site of several studies are made from."""

    folder: SiteFolder
    account_store: AccountStore
    studies: HostedStudies
    checks: StudyChecks
    quotas: Quotas = USUAL_QUOTAS
    database_url: str | None = None
    """The address of studies' databases, with {study} in it; None for files in their folders."""

    def hosting(self, name: str, store: ResearcherStore) -> Hosting:
        """How a study is one of this site."""
        return Hosting(self, StudyAccess(self.account_store, store, name), name)


class StudyAccess:
    """Sessions of the site as researchers of one study, who are known there by their names."""

    def __init__(self, accounts: AccountStore, store: ResearcherStore, study: str) -> None:
        self._accounts, self._store, self._study = accounts, store, study
        self._ids: dict[str, int] = {}

    def __call__(self, secret: str) -> Researcher | None:
        """The researcher whose session this is; refused where they may not see the study."""
        known = self._accounts.session(secret)
        if known is None:
            return None
        if not self._accounts.account(known).may_see(self._study):
            raise HTTPException(403)
        return known._replace(id=self._id_of(known.name))

    def _id_of(self, name: str) -> int:
        """The number that the study's own log knows somebody by."""
        if name not in self._ids:
            with suppress(InputError):  # there already, or added at the same moment
                self._store.add_researcher(name)
            there = self._store.researcher(name)
            assert there is not None
            self._ids[name] = there.id
        return self._ids[name]
