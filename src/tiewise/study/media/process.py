"""Files decoded in a process of its own, with limits of memory and time."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Any, Self

from tiewise.errors import InputError
from tiewise.optional import EXTRAS, require
from tiewise.study.media.faults import FileFault
from tiewise.study.media.limits import FileLimits

PIECE = 1 << 16
START_SECONDS = 120
"""Within which the process is ready, on a machine that is busy with something else."""
END_SECONDS = 5
"""Within which it ends by itself once it has nothing more to do."""


class DecodingProcess:
    """One process for many files; it is replaced after a file that ended it."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self._wait_for_end()
        self._end()

    def run(self, task: str, name: str, **values: Any) -> Any:
        """The result of a task on a file; a fault of the file is reported under `name`."""
        # What this machine lacks is no fault of the file.
        _refuse_without_limits()
        require("a file as an item", *EXTRAS["media"])
        try:
            process = self._started()
            assert process.stdin is not None
            process.stdin.write(json.dumps({"task": task, **values}).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(self._read_line(process, self._limits.seconds))
        except TimeoutError:
            self._end()
            raise FileFault(
                f"{name} takes longer than {self._limits.seconds} seconds to decode; save it anew, "
                "or raise the limit seconds"
            ) from None
        except (OSError, ValueError):
            self._end()
            raise FileFault(
                f"{name} is damaged, or cannot be decoded in {self._limits.memory} MB of memory; "
                "save it anew, or raise the limit memory"
            ) from None
        if "fault" in answer:
            raise FileFault(f"{name} {answer['fault']}")
        return answer["made"]

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            words = [sys.executable, "-m", "tiewise.study.media.decoder", str(self._limits.memory)]
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            self._read_line(self._process, START_SECONDS)  # it says that it is ready
        return self._process

    def _read_line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        until, line = monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(until - monotonic(), 0))
            if not ready:
                raise TimeoutError
            piece = process.stdout.read1(PIECE)  # type: ignore[attr-defined]
            if not piece:
                raise OSError("the process has ended")
            line += piece
        return line

    def _wait_for_end(self) -> None:
        """Say that there are no more files, and let the process end by itself."""
        if self._process is None or self._process.stdin is None:
            return
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:  # afterwards its process id may be used again
            os.killpg(process.pid, signal.SIGKILL)  # and its child processes
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _refuse_without_limits() -> None:
    if sys.platform == "win32":
        raise InputError(
            "files that are items are decoded in a process whose memory is limited, which Windows "
            "cannot do; make the study on Linux"
        )
