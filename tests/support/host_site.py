"""A site of several studies for tests, and people with accounts of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.form_browser import Visitor, event_loop
from tiewise.hosting.accounts import AccountStore
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.study.values import Role
from tiewise.web.host.server import open_host


def small_study(folder: Path, name: str, items: str = "name\na\nb\nc\nd\n") -> Study:
    """A study of four items in the folder of a site."""
    folder.mkdir(exist_ok=True)
    table = folder.parent / f"{name}-items.csv"
    table.write_text(items, encoding="utf-8")
    return create_study(folder / name, question=f"Which is {name}?", items=table)


def opened(folder: Path, **options: Any) -> Any:
    """The app of a site, its studies opened."""
    app = open_host(folder, **options)
    event_loop().call(app.state.site.studies.refresh)
    return app


def accounts(app: Any) -> AccountStore:
    """The accounts of a site."""
    store: AccountStore = app.state.site.account_store
    return store


class Member(Visitor):
    """Somebody with an account of the site."""

    def come_in(
        self, name: str, role: Role = Role.OWNER, *, studies: list[str] | None = None
    ) -> Member:
        """Sign in with a fresh one-time link; the account is made where there is none."""
        store = accounts(self.client.app)
        if store.researcher(name) is None:
            store.add_account(name, role, studies=studies)
        path = f"/sign-in/{store.invite_researcher(name)}"
        self.get(path)
        self.send(path)
        assert self.path == "/site/you", self.answer.text
        return self
