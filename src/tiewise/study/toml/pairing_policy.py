"""The pairing policy of a study, changed while it runs: in study.toml, where everybody reads it."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from tiewise.errors import InputError

UNIFORM, BALANCED = "uniform", "balanced"
SWITCHED = (UNIFORM, BALANCED)
"""Policies between which a running study can be switched: neither needs more of the live worker."""
TABLE = re.compile(r"^[ \t]*\[[ \t]*pairing[ \t]*\][ \t]*(#.*)?$", re.MULTILINE)
NEXT_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
LINE = re.compile(r"^([ \t]*policy[ \t]*=[ \t]*)(\"[^\"\n]*\"|'[^'\n]*')", re.MULTILINE)
SECONDS = 1.0


def write_policy(path: Path, policy: str) -> None:
    """Write a policy into study.toml, and change nothing else of it; remarks stay."""
    if policy not in SWITCHED:
        raise InputError(f"policy={policy!r}: a running study can be switched to {SWITCHED}")
    text = path.read_text(encoding="utf-8")
    changed = with_policy(text, policy)
    if not _differs_by(policy, text, changed):
        raise InputError(f"{path.name} has to be changed by hand: {_how(policy)}")
    try:
        _replace(path, changed)
    except OSError as error:
        raise InputError(
            f"{path.name} cannot be written ({error.strerror}): {_how(policy)}"
        ) from None


def _differs_by(policy: str, text: str, changed: str) -> bool:
    """Whether two texts say the same but for the policy."""
    try:
        before, after = tomllib.loads(text), tomllib.loads(changed)
    except ValueError:
        return False
    return after == {**before, "pairing": {**before.get("pairing", {}), "policy": policy}}


def _how(policy: str) -> str:
    return f'write policy = "{policy}" below [pairing] in it'


def with_policy(text: str, policy: str) -> str:
    """The text of study.toml with another policy."""
    table = TABLE.search(text)
    if table is None:
        return f'{text.rstrip()}\n\n[pairing]\npolicy = "{policy}"\n'
    later = NEXT_TABLE.search(text, table.end())
    end = later.start() if later else len(text)
    inside = text[table.end() : end]
    if LINE.search(inside):
        inside = LINE.sub(lambda line: f'{line[1]}"{policy}"', inside, count=1)
    else:
        inside = f'\npolicy = "{policy}"{inside}'
    return text[: table.end()] + inside + text[end:]


def _replace(path: Path, text: str) -> None:
    """Put a text in the place of a file at once, with the same permissions."""
    mode = path.stat().st_mode & 0o777
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, prefix=".study-", delete=False
    ) as file:
        file.write(text)
    beside = Path(file.name)
    beside.chmod(mode)
    beside.replace(path)


class PolicyCache:
    """The policy of a running study: as it was begun, or as it was switched since; a second old."""

    def __init__(self, path: Path, begun_with: str, clock: Callable[[], float] = monotonic) -> None:
        self._path, self._begun_with, self._clock = path, begun_with, clock
        self._until, self._stamp, self._policy = 0.0, (0, 0), begun_with

    def policy(self) -> str:
        """The policy now. One that the running site cannot switch to waits for the next start."""
        if self._begun_with in SWITCHED and self._clock() >= self._until:
            self._until = self._clock() + SECONDS
            self._look()
        return self._policy

    def invalidate(self) -> None:
        """Look again next time, as after a change."""
        self._until = 0.0

    def _look(self) -> None:
        try:
            status = self._path.stat()
            stamp = status.st_mtime_ns, status.st_size
            if stamp == self._stamp:
                return
            tables: dict[str, Any] = tomllib.loads(self._path.read_text(encoding="utf-8"))
            policy = tables.get("pairing", {}).get("policy", self._policy)
        except (OSError, ValueError, AttributeError):  # half written, by somebody's editor
            return
        self._stamp = stamp
        if policy in SWITCHED:
            self._policy = policy
