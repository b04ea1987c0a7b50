"""How large a file of an item may be, and what it may cost to decode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields

from tiewise.errors import InputError
from tiewise.study.toml.key_types import Problem

MOST = 10**9 - 1


@dataclass(frozen=True)
class FileLimits:
    """`[files]`: limits of one file, but for `total`, which is of all of them together."""

    megabytes: int = 200
    """Size of a file."""
    total: int = 5000
    """Megabytes of all files together."""
    pages: int = 60
    """Pages of an item."""
    megapixels: int = 150
    """Of a picture or a page, counted before it is decoded."""
    words: int = 20_000
    """Words of a text."""
    seconds: int = 120
    """Time to decode a file."""
    memory: int = 2000
    """Megabytes of memory to decode it in."""

    @classmethod
    def of(cls, values: Iterable[str] = ()) -> FileLimits:
        """The limits, some of them changed, such as `pages=100`."""
        names = [field.name for field in fields(cls)]
        changed: dict[str, int] = {}
        for value in values:
            name, _, number = value.partition("=")
            if name not in names:
                raise InputError(f"no limit is called {name!r}; there are {', '.join(names)}")
            if not (number.isascii() and number.isdigit() and 0 < int(number[:12]) <= MOST):
                raise InputError(
                    f"the limit {value!r} is not one; write a whole number above 0, such as "
                    f"{name}={getattr(cls, name)}"
                )
            changed[name] = int(number)
        return cls(**changed)


def limit_problems(limits: FileLimits) -> Iterator[Problem]:
    """What is wrong with limits: that no file could meet them, or that they limit nothing."""
    for name, number in asdict(limits).items():
        if not 0 < number <= MOST:
            yield Problem(f"files.{name}", f"{number}; a whole number from 1 to {MOST:,}")


NO_CHANGES = FileLimits()
