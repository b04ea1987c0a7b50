"""Attempts to sign in, counted in the database so that all workers know of them."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, select
from sqlalchemy.dialects import postgresql, sqlite

from tiewise.study.connection import CLOCK_SET_BACK, Database, now
from tiewise.study.schema import sign_in_attempts as attempts


class AttemptStore:
    """Counts attempts by sender: `number` of them in `seconds`, and then the sender has to wait.

    Senders are kept as digests with `key`, and only until their seconds are over.
    """

    def __init__(self, database: Database, number: int, seconds: float, *, key: str) -> None:
        self._database, self._number, self._seconds = database, number, seconds
        self._key = key.encode()

    def seconds_to_wait(self, *senders: str) -> int:
        """Count an attempt of each sender; 0 where it may go on, else for how long it may not.

        Senders are counted in their order, up to the first that has to wait.
        """
        for sender in map(self._digest, senders):
            # Read first: a flood of refused attempts must not keep the database busy.
            wait = self._wait_of(sender) or self._count(sender)
            if wait:
                return wait
        return 0

    def forget_old(self) -> None:
        """Delete the senders whose time is over."""
        with self._database.writing() as connection:
            connection.execute(attempts.delete().where(self._is_over(now())))

    def _digest(self, sender: str) -> str:
        return hmac.new(self._key, f"attempt {sender}".encode(), hashlib.sha256).hexdigest()

    def _wait_of(self, sender: str) -> int:
        mine = (attempts.c.sender == sender, attempts.c.number >= self._number)
        query = select(attempts.c.until).where(*mine, ~self._is_over(now()))
        with self._database.reading() as connection:
            end = connection.scalar(query)
        return 0 if end is None else _seconds_until(end)

    def _count(self, sender: str) -> int:
        with self._database.writing() as connection:
            row = connection.execute(self._one_more(sender)).one()
        if row.number == 1:
            self.forget_old()
        return _seconds_until(row.until) if row.number > self._number else 0

    def _one_more(self, sender: str) -> Any:
        """The statement that counts: one row for each sender, whatever two workers do at once."""
        dialect = postgresql if self._database.engine.dialect.name == "postgresql" else sqlite
        at = now()
        end = at + timedelta(seconds=self._seconds)
        first = dialect.insert(attempts).values(sender=sender, number=1, until=end)
        over = self._is_over(at)
        return first.on_conflict_do_update(
            index_elements=[attempts.c.sender],
            set_={
                "number": case((over, 1), else_=attempts.c.number + 1),
                "until": case((over, first.excluded.until), else_=attempts.c.until),
            },
        ).returning(attempts.c.number, attempts.c.until)

    def _is_over(self, at: datetime) -> Any:
        # A little later than anything begun now ends another worker's, begun after this one.
        latest = at + timedelta(seconds=self._seconds) + CLOCK_SET_BACK
        return (attempts.c.until <= at) | (attempts.c.until > latest)


def _seconds_until(end: datetime) -> int:
    return max(1, round((end - now()).total_seconds()))
