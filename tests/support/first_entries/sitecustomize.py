"""Records when each module of Tiewise is first entered, wherever this folder is on the path.

Python imports a module of this name by itself when it starts. Each entry is a line of nanoseconds,
process and module, in the file that FIRST_ENTRIES names. What runs while modules are imported, and
the checks of a value that is made, are no entries.
"""

from __future__ import annotations

import os
import sys
import threading
from time import monotonic_ns
from types import FrameType
from typing import Any

PACKAGE = "/src/tiewise/"
NO_ENTRY = ("<module>", "__post_init__")


def begin(path: str) -> None:
    """Record from now on, in this thread and those that are started later."""
    entered: set[str] = set()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def on_call(frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or name in entered or frame.f_code.co_name in NO_ENTRY:
            return
        if PACKAGE not in name or not name.endswith(".py"):  # templates are compiled, too
            entered.add(name)
        elif not _is_importing(frame):
            entered.add(name)
            module = name.rpartition(PACKAGE)[2].removesuffix(".py")
            os.write(file, f"{monotonic_ns()} {os.getpid()} {module}\n".encode())

    threading.setprofile(on_call)
    sys.setprofile(on_call)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module of the package is being imported meanwhile."""
    while frame is not None:
        if (
            frame.f_code.co_name == "<module>"
            and PACKAGE in frame.f_code.co_filename
            and frame.f_globals["__name__"] != "__main__"
        ):
            return True
        frame = frame.f_back
    return False


if named := os.environ.get("FIRST_ENTRIES"):
    begin(named)
