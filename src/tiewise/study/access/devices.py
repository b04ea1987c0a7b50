"""Devices that researchers have signed in with: strangers cannot lock those out."""

from __future__ import annotations

import secrets
from datetime import timedelta

from sqlalchemy import Connection, select

from tiewise.study.connection import Database, digest, now
from tiewise.study.schema import devices, researchers
from tiewise.study.values import Researcher

DEVICE_LIFETIME = timedelta(days=180)
"""A device on which nobody has signed in for so long is a stranger's again."""
MOST_DEVICES = 20
"""Of one researcher; beyond it the one that was used longest ago is forgotten."""


class DeviceStore:
    """The browsers that researchers are known by. Only digests of their secrets are kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def knows(self, secret: str, name: str) -> bool:
        """Whether the researcher of this name has signed in on the device with this secret."""
        theirs = (
            devices.c.secret == digest(secret), devices.c.seen > now() - DEVICE_LIFETIME,
            researchers.c.name == name, researchers.c.removed.is_(None),
        )  # fmt: skip
        query = (
            select(devices.c.secret)
            .join(researchers, researchers.c.id == devices.c.researcher)
            .where(*theirs)
        )
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def remember(self, researcher: Researcher, secret: str | None) -> str:
        """The new secret of a device on which a researcher signs in; `secret` is its old one.

        A new one each time, as the old one might be known to somebody else. Whoever else signed in
        on the device stays known on it.
        """
        new = secrets.token_hex(16)
        with self._database.writing() as connection:
            if secret is not None:
                connection.execute(
                    devices.delete().where(
                        devices.c.secret == digest(secret), devices.c.researcher == researcher.id
                    )
                )
                theirs = devices.c.secret == digest(secret)
                connection.execute(devices.update().where(theirs).values(secret=digest(new)))
            row = {"secret": digest(new), "researcher": researcher.id, "seen": now()}
            connection.execute(devices.insert().values(row))
            _forget_old(connection, researcher)
        return new

    def forget_others(self, researcher: Researcher, secret: str | None) -> None:
        """Forget every device of a researcher but the one with this secret."""
        kept = devices.c.secret != digest(secret or "")
        with self._database.writing() as connection:
            connection.execute(devices.delete().where(devices.c.researcher == researcher.id, kept))


def _forget_old(connection: Connection, researcher: Researcher) -> None:
    mine = devices.c.researcher == researcher.id
    newest = select(devices.c.secret).where(mine).order_by(devices.c.seen.desc())
    kept = connection.scalars(newest.limit(MOST_DEVICES)).all()
    connection.execute(devices.delete().where(mine, devices.c.secret.not_in(kept)))
    connection.execute(devices.delete().where(devices.c.seen <= now() - DEVICE_LIFETIME))
