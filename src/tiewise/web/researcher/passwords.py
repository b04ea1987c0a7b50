"""Passwords of researchers: hashed with Argon2, compared in the same time for everybody."""

from __future__ import annotations

import secrets
import unicodedata
from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from tiewise.study.researcher_store import Ledger, Researcher

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 10
# Each takes 64 MB of memory for a moment; more at once is somebody who tries passwords.
_AT_ONCE = BoundedSemaphore(4)


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash(secrets.token_hex(16))


def fault(password: str, again: str, name: str) -> str:
    """What is wrong with a new password, in a sentence; nothing where it will do."""
    plain = _plain(password)
    if len(plain) < SHORTEST:
        return f"The password is too short; take {SHORTEST} letters or more."
    if plain.strip().casefold() == _plain(name).strip().casefold():
        return "The password is your name; take something that others do not know."
    if plain != _plain(again):
        return "The two passwords differ; type the same one twice."
    return ""


def set_password(ledger: Ledger, researcher: Researcher, password: str) -> None:
    """Keep the hash of a new password."""
    ledger.set_password(researcher, _hashed(password))


def who_signs_in(ledger: Ledger, name: str, password: str) -> Researcher | None:
    """The researcher of this name and password; it takes as long where there is none."""
    if not password:  # nobody has none, so this tells nothing of names
        return None
    nobodys, kept = _nobodys(), ledger.password_hash(name)
    right = _is_right(kept or nobodys, password)
    who = ledger.researcher(name) if right and kept else None
    if who is not None and kept and _hasher().check_needs_rehash(kept):
        ledger.set_password(who, _hashed(password), quiet=True)
    return who


def _is_right(hashed: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    _refuse_crowd()
    try:
        return _hasher().verify(hashed, _plain(password))
    except (VerificationError, InvalidHashError):
        return False
    finally:
        _AT_ONCE.release()


def _hashed(password: str) -> str:
    _refuse_crowd()
    try:
        return _hasher().hash(_plain(password))
    finally:
        _AT_ONCE.release()


def _refuse_crowd() -> None:
    if not _AT_ONCE.acquire(blocking=False):
        raise HTTPException(429, headers={"Retry-After": "1"})


def _plain(password: str) -> str:
    """The same letters, however a keyboard puts them together."""
    return unicodedata.normalize("NFKC", password)
