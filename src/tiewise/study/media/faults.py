"""What is wrong with a file of an item, in one line with the way out."""

from __future__ import annotations

from collections.abc import Sequence

from tiewise.errors import InputError


class FileFault(InputError):
    """One file that cannot be taken."""


class FaultyFiles(InputError):
    """Files that cannot be taken; the message is the first of them, and how many more there are."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")
