"""Passwords of researchers: hashed with Argon2, compared in the same time for everybody."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import Researcher

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 10
# Each hash takes 64 MB for a moment; more at once means that somebody tries passwords. Those who
# are known have slots of their own, and wait for them: no flood of strangers keeps them out.
_STRANGERS, _KNOWN = BoundedSemaphore(4), BoundedSemaphore(2)
KNOWN_WAIT_SECONDS = 10.0


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    return _hasher().hash(secrets.token_hex(16))


def password_fault(password: str, again: str, name: str) -> str:
    """What is wrong with a new password, in a sentence; empty where nothing is."""
    plain = _normalized(password)
    if len(plain) < SHORTEST:
        return f"The password is too short; take {SHORTEST} letters or more."
    if plain.strip().casefold() == _normalized(name).strip().casefold():
        return "The password is your name; take something that others do not know."
    if plain != _normalized(again):
        return "The two passwords differ; type the same one twice."
    return ""


def set_password(store: ResearcherStore, researcher: Researcher, password: str) -> None:
    """Store the hash of a new password."""
    store.set_password(researcher, _hash(password))


def authenticate(
    store: ResearcherStore, name: str, password: str, *, known: bool = False
) -> Researcher | None:
    """The researcher of this name and password; it takes as long where there is none.

    `known` is whether the device or the session is one of this researcher's.
    """
    if not password:  # nobody has an empty one, so this says nothing about names
        return None
    dummy, stored = _dummy_hash(), store.password_hash(name)
    with _slot(known=known):
        right = _is_right(stored or dummy, password)
    researcher = store.researcher(name) if right and stored else None
    if researcher is not None and stored and _hasher().check_needs_rehash(stored):
        store.set_password(researcher, _hash(password), quiet=True)
    return researcher


def _is_right(hashed: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(hashed, _normalized(password))
    except (VerificationError, InvalidHashError):
        return False


def _hash(password: str) -> str:
    with _slot(known=True):
        return _hasher().hash(_normalized(password))


@contextmanager
def _slot(*, known: bool) -> Iterator[None]:
    """Room for one hash; refused where there is none."""
    slots, seconds = (_KNOWN, KNOWN_WAIT_SECONDS) if known else (_STRANGERS, 0.0)
    if not slots.acquire(timeout=seconds):
        raise HTTPException(429, headers={"Retry-After": "1"})
    try:
        yield
    finally:
        slots.release()


def _normalized(password: str) -> str:
    """The same letters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)
