"""What the tests of the site share: passwords hashed with little work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher

from tiewise.web.researcher import passwords

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
