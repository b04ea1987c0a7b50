"""What the tests of the site share: passwords hashed with little work, and a browser to sit at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from argon2 import PasswordHasher

from tiewise.web.researcher import passwords

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

DESK = {"width": 1280, "height": 800}
PRODUCTION_HASHER = passwords._hasher


def cheap_hasher() -> PasswordHasher:
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(scope="session", autouse=True)
def _cheap_hashes() -> Iterator[None]:
    """A tenth of a second saved for each password; none of them is a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", cheap_hasher)
        yield


@pytest.fixture
def production_hashes(monkeypatch) -> Iterator[None]:
    """Hashes as a real site makes them."""
    monkeypatch.setattr(passwords, "_hasher", PRODUCTION_HASHER)
    passwords._dummy_hash.cache_clear()
    yield
    passwords._dummy_hash.cache_clear()


@pytest.fixture
def sit(browser) -> Iterator[Callable[..., Page]]:
    """Somebody sits down at a browser of their own; what it complains of fails the test."""
    open_: list[BrowserContext] = []
    complaints: list[str] = []

    def bad(message) -> bool:
        expected = "net::ERR" in message.text or "status of 401" in message.text
        return message.type in ("error", "warning") and not expected

    def down(**looks: object) -> Page:
        context = browser.new_context(**({"viewport": DESK} | looks))
        open_.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if bad(message) else None
        )
        return page

    yield down
    for context in open_:
        context.close()
    assert complaints == []
