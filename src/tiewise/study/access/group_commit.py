"""Group commit for SQLite: writers who wait for each other share one transaction.

SQLite has one writer at a time, and each commit waits for the disk. What came in meanwhile is
stored by the next commit, all of it at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection

Value = TypeVar("Value")
Writing = Callable[[], AbstractContextManager[Connection]]


@dataclass(slots=True, eq=False)
class _Task:
    """The work of one thread, and its result."""

    work: Callable[[Connection], Any]
    result: Any = None
    error: BaseException | None = None
    is_done: bool = False


class GroupCommit:
    """Runs work of many threads, each as if in a transaction of its own.

    Work that fails leaves nothing and does not hinder the others'. Nobody is answered before the
    commit; where that fails, everybody is told.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Task] = deque()
        self._turn = Lock()

    def run(self, work: Callable[[Connection], Value], writing: Writing) -> Value:
        """The result of `work`, once it is stored; `writing` begins a transaction."""
        task = _Task(work)
        self._waiting.append(task)
        with self._turn:
            if not task.is_done:  # nobody took it along
                self._run_all_waiting(writing)
        if task.error is not None:
            raise task.error
        result: Value = task.result
        return result

    def _run_all_waiting(self, writing: Writing) -> None:
        tasks = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            with writing() as connection:
                _run(connection, tasks)
        except BaseException as error:
            for task in tasks:
                task.error = error
        for task in tasks:
            task.is_done = True


def _run(connection: Connection, tasks: Sequence[_Task]) -> None:
    if len(tasks) == 1:
        tasks[0].result = tasks[0].work(connection)
        return
    for task in tasks:
        _tell(connection, "SAVEPOINT task")
        try:
            task.result = task.work(connection)
        except Exception as error:
            task.error = error
            _undo(connection, error)
        _tell(connection, "RELEASE task")


def _undo(connection: Connection, error: Exception) -> None:
    """Take back what a task did; where the whole transaction is gone, that is everybody's error."""
    try:
        _tell(connection, "ROLLBACK TO task")
    except Exception:
        raise error from None


def _tell(connection: Connection, statement: str) -> None:
    # Past SQLAlchemy, which takes ten times as long for it.
    driver: Any = connection.connection.driver_connection
    driver.execute(statement)
