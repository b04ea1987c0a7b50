"""What went wrong, in words the person in front of the screen can act on."""

from __future__ import annotations

from collections.abc import Iterable

COMMAND_PREFIX = "tiewise: "
"""What a command begins a message with; `NOTE_PREFIX` follows where it is a warning."""
NOTE_PREFIX = "note: "


class InputError(ValueError):
    """Something the user can mend: what came, why it cannot be, and the way out."""


class InputWarning(UserWarning):
    """Something the user should know, though the work goes on."""


class ModelNotStoredError(InputError):
    """Results from which their model cannot be built again: `reason`, and the way out."""

    def __init__(self, reason: str, way_out: str) -> None:
        super().__init__(f"{reason}; {way_out}")
        self.reason = reason


def command_messages(lines: Iterable[str], *, notes: bool = True) -> list[str]:
    """The messages among the lines that a command wrote to stderr; perhaps without notes."""
    messages = [
        line.removeprefix(COMMAND_PREFIX) for line in lines if line.startswith(COMMAND_PREFIX)
    ]
    return [one for one in messages if notes or not one.startswith(NOTE_PREFIX)]
