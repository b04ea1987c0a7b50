"""The faults that are injected: how each begins, how it ends, and how long it lasts."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass

from sqlalchemy import create_engine, text

from benchmarks.fault_world import World, faketime

BOTH = ("sqlite", "postgresql")
FILLER = "filler"
JUMP_S = 3600

Undo = Callable[[], None]
"""Ends a fault."""


def nothing() -> None:
    """For faults that are over as soon as they have begun."""


@dataclass(frozen=True)
class FaultKind:
    """A fault: its name, what begins it, its seconds, and the databases that it can befall."""

    name: str
    begin: Callable[[World], Undo]
    seconds: float = 0.0
    databases: tuple[str, ...] = BOTH
    possible: Callable[[World], bool] = lambda _: True


def kill_live_worker(world: World) -> Undo:
    """kill -9 of the process that fits."""
    world.site.kill_one("live worker")
    return nothing


def kill_web_worker(world: World) -> Undo:
    """kill -9 of one of the processes that answer requests."""
    world.site.kill_one("site worker")
    return nothing


def kill_site(world: World) -> Undo:
    """kill -9 of every process of the site; it is over when the site is started again."""
    world.site.kill_all()
    return world.site.start


def restart_database(world: World) -> Undo:
    """PostgreSQL stopped as by a power cut; it is over when the server is started again."""
    assert world.cluster is not None
    world.cluster.stop()
    return world.cluster.start


def fill_disk(world: World) -> Undo:
    """The disk of the database filled to its last byte; it is over when that is deleted."""
    if world.direct is None:  # else what is written next may go where the journal has room
        with closing(sqlite3.connect(world.site.folder / "study.db", timeout=30)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = world.disk / FILLER
    with path.open("wb", buffering=0) as file:
        free = os.statvfs(world.disk)
        with suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        file.seek(0, os.SEEK_END)
        with suppress(OSError):
            while True:
                file.write(b"\0" * free.f_frsize)

    def undo() -> None:
        path.unlink()
        # A server that gave up is started again, as its service manager would.
        if world.cluster is not None and not world.cluster.is_running():
            world.cluster.start()

    return undo


def hold_lock(world: World) -> Undo:
    """Somebody else's transaction that lets nobody write; it is over when that is rolled back."""
    if world.direct is None:
        other = sqlite3.connect(world.site.folder / "study.db", isolation_level=None, timeout=30)
        other.execute("BEGIN IMMEDIATE")

        def undo_sqlite() -> None:
            other.execute("ROLLBACK")
            other.close()

        return undo_sqlite
    engine = create_engine(world.direct)
    connection = engine.connect()
    connection.execute(text("LOCK TABLE judges, offers, judgements IN ACCESS EXCLUSIVE MODE"))

    def undo() -> None:
        connection.rollback()
        connection.close()
        engine.dispose()

    return undo


def jump_forward(world: World) -> Undo:
    """The clock an hour ahead; it is over when it is set right."""
    world.site.clock.write_text(f"+{JUMP_S}")
    return lambda: _write_clock(world)


def jump_back(world: World) -> Undo:
    """The clock an hour behind; it is over when it is set right."""
    world.site.clock.write_text(f"-{JUMP_S}")
    return lambda: _write_clock(world)


def _write_clock(world: World) -> None:
    world.site.clock.write_text("+0")


def cut_network(world: World) -> Undo:
    """Nothing passes between site and PostgreSQL; then connections are reset, and new ones pass."""
    assert world.proxy is not None
    pid = world.proxy.pid
    os.kill(pid, signal.SIGUSR1)
    return lambda: os.kill(pid, signal.SIGUSR2)


def drop_packets(world: World) -> Undo:
    """Packets between site and PostgreSQL are lost; it is over when they pass again."""
    rules = [
        ["INPUT", "-i", "lo", "-p", "tcp", way, str(world.port), "-j", "DROP"]
        for way in ("--dport", "--sport")
    ]
    for rule in rules:
        subprocess.run(["iptables", "-w", "-I", *rule], check=True)

    def undo() -> None:
        for rule in rules:
            subprocess.run(["iptables", "-w", "-D", *rule], check=True)

    return undo


def _may_drop_packets(_: World) -> bool:
    words = ["iptables", "-w", "-L", "INPUT", "-n"]
    with suppress(OSError):
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    return False


def _has_faketime(_: World) -> bool:
    return faketime() is not None


KINDS = (
    FaultKind("live worker killed", kill_live_worker),
    FaultKind("web worker killed", kill_web_worker, databases=("postgresql",)),
    FaultKind("site killed", kill_site, seconds=1.0),
    FaultKind("database restarted", restart_database, seconds=3.0, databases=("postgresql",)),
    FaultKind("disk full", fill_disk, seconds=8.0, possible=lambda world: world.is_small),
    FaultKind("locks held", hold_lock, seconds=8.0),
    FaultKind("clock an hour ahead", jump_forward, seconds=8.0, possible=_has_faketime),
    FaultKind("clock an hour behind", jump_back, seconds=8.0, possible=_has_faketime),
    FaultKind("connections cut", cut_network, seconds=8.0, databases=("postgresql",)),
    FaultKind(
        "packets dropped",
        drop_packets,
        seconds=8.0,
        databases=("postgresql",),
        possible=_may_drop_packets,
    ),
)
"""Every fault, in the order in which they are injected, again and again."""
