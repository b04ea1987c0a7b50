"""The process that decodes files: a task a line comes in, and an answer a line goes out.

It has limits of memory and of time, and what it opens can harm nothing but it.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from typing import Any

from tiewise.study.media import TASKS
from tiewise.study.media.faults import FileFault

MEGABYTE = 1_000_000
LARGEST_COPY = 4_000 * MEGABYTE


def main() -> None:
    """Answer tasks until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    _limit(int(sys.argv[1]))
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def _limit(megabytes: int) -> None:
    size = megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_COPY, LARGEST_COPY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _answer(task: dict[str, Any]) -> dict[str, Any]:
    """The result of a task, or the fault of its file."""
    module, _, name = TASKS[task.pop("task")].partition(":")
    try:
        return {"made": getattr(importlib.import_module(module), name)(**task)}
    except FileFault as fault:
        return {"fault": str(fault)}
    except MemoryError:
        return {
            "fault": "needs more memory than it may; make it smaller, or raise the limit memory"
        }
    except Exception as error:  # a hostile file may raise anything in a decoder
        return {"fault": f"is damaged ({type(error).__name__}); save it again, or take it out"}


if __name__ == "__main__":
    main()
