"""Records when each module of Tiewise is first entered, in every process that has this folder
on its path: a line of nanoseconds and module in the file that FIRST_ENTRIES names.

Python imports a module of this name by itself when it starts.
"""

from __future__ import annotations

import os
import sys
import threading
from time import monotonic_ns
from types import FrameType
from typing import Any

PACKAGE = f"{os.sep}src{os.sep}tiewise{os.sep}"


def begin(path: str) -> None:
    """Record from now on, in all threads."""
    entered: dict[str, str | None] = {}
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def on_call(frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or entered.get(name, "") is None:
            return
        if name not in entered:
            _, _, module = name.rpartition(PACKAGE)
            entered[name] = module.removesuffix(".py") if module != name else None
        module = entered[name]
        if module is None or _being_imported(frame):
            return
        entered[name] = None
        os.write(file, f"{monotonic_ns()} {module.replace(os.sep, '/')}\n".encode())

    threading.setprofile(on_call)
    sys.setprofile(on_call)


def _being_imported(frame: FrameType | None) -> bool:
    """Whether this runs because a module is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and PACKAGE in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


if named := os.environ.get("FIRST_ENTRIES"):
    begin(named)
