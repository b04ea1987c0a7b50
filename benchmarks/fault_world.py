"""What faults are injected into: a site under a supervisor, its disk, its clock, its database."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, text

from benchmarks.site import TIEWISE
from benchmarks.soak import processes
from benchmarks.workload import ROOT
from support import postgres

FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"
DISK_MIB = {"sqlite": 96, "postgresql": 400}
USER = "postgres"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def faketime() -> Path | None:
    """The library that can set a process's clock, where it is installed."""
    return next(iter(sorted(Path("/").glob(FAKETIME.lstrip("/")))), None)


class SupervisedSite:
    """The site of a study as a service manager runs it: what is killed is started again."""

    def __init__(self, folder: Path, database: str | None, log: Path) -> None:
        self.folder, self.database, self.port, self._log = folder, database, free_port(), log
        self.clock = folder.parent.parent / "clock"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it takes some seconds to answer."""
        words = [TIEWISE, "serve", str(self.folder), "--port", str(self.port)]
        words += ["--sign-ups", "1000000"]
        words += ["--database", self.database, "--workers", "2"] if self.database else []
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=self._environment())

    def _environment(self) -> dict[str, str]:
        library = faketime()
        if library is None:
            return dict(os.environ)
        self.clock.write_text("+0")
        folders = [str(ROOT / "benchmarks" / "faketime"), os.environ.get("PYTHONPATH", "")]
        # Timers go by the monotonic clock, which nobody sets.
        return os.environ | {
            "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_RESET": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        }  # fmt: skip

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until somebody listens."""
        last = time.monotonic() + seconds
        while time.monotonic() < last:
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError(f"the site did not start; see {self._log}")

    def kill_all(self) -> None:
        """Kill every process of the site at once."""
        assert self.process is not None
        for one in processes(self.process.pid):
            _kill(one.pid)
        self.process.wait()

    def kill_one(self, role: str) -> bool:
        """Kill the first process of a role; False where there is none."""
        assert self.process is not None
        pids = [one.pid for one in processes(self.process.pid) if one.role == role]
        for pid in pids[:1]:
            _kill(pid)
        return bool(pids)

    def stop(self) -> None:
        """Stop it as a service manager does."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill_all()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Cluster:
    """A PostgreSQL server that keeps what it has said it has, with its data on a small disk."""

    def __init__(self, disk: Path, sockets: Path) -> None:
        programs = postgres.binaries()
        if programs is None:
            sys.exit("no PostgreSQL server here: sudo apt install postgresql")
        self._programs, self._data, self.sockets = programs, disk / "data", sockets
        self._user = USER if os.geteuid() == 0 else None
        for place in (disk, sockets):
            if self._user:
                shutil.chown(place, self._user, pwd.getpwnam(self._user).pw_gid)
        self._run("initdb", "-U", "tests", "-A", "trust", "-E", "UTF8")
        self.start()

    def _run(self, program: str, *words: str) -> int:
        command = [str(self._programs / program), "-D", str(self._data), *words]
        return subprocess.run(
            command, user=self._user, cwd=self.sockets, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False,
        ).returncode  # fmt: skip

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = (
            f"-k {self.sockets} -c listen_addresses='' -c max_connections=120 "
            "-c max_wal_size=64MB -c min_wal_size=32MB"
        )
        log = str(self.sockets / "log")
        for _ in range(20):
            if self._run("pg_ctl", "-l", log, "-w", "-o", options, "start") == 0:
                return
            time.sleep(0.3)
        raise RuntimeError(f"PostgreSQL did not start; see {log}")

    def is_running(self) -> bool:
        """Whether there is a server."""
        return self._run("pg_ctl", "status") == 0

    def stop(self) -> None:
        """Stop it at once, as if the machine had lost its power."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def create_database(self, name: str) -> None:
        """An empty database."""
        engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()

    def url(self, name: str) -> str:
        """The address of a database, by the server's own socket."""
        return f"postgresql+psycopg://tests@/{name}?host={self.sockets}"

    @property
    def socket(self) -> Path:
        """The socket that the server listens on."""
        return self.sockets / ".s.PGSQL.5432"


@dataclass(frozen=True)
class World:
    """Everything that a fault may touch."""

    kind: str
    disk: Path
    """A small disk of its own, with the database on it."""
    is_small: bool
    """Whether that disk can be filled without harm to others."""
    site: SupervisedSite
    direct: str | None
    """The address of the database past the proxy; None for SQLite."""
    cluster: Cluster | None
    proxy: subprocess.Popen[bytes] | None
    port: int
    """Where the proxy listens; 0 for SQLite."""


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[bool]:
    """A disk of so many MiB mounted on a folder; False where that is not allowed."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tiewise-faults", str(folder)]
    mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


@contextmanager
def place(kind: str) -> Iterator[tuple[Path, Path, bool]]:
    """A folder, a small disk in it, and whether that disk is one."""
    folder = Path(tempfile.mkdtemp(prefix="tw", dir="/tmp"))
    folder.chmod(0o755)
    disk = folder / "disk"
    disk.mkdir()
    try:
        with small_disk(disk, DISK_MIB[kind]) as is_small:
            yield folder, disk, is_small
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database(kind: str, folder: Path, disk: Path) -> Iterator[tuple[Cluster | None, int]]:
    """A PostgreSQL server and the port of the proxy before it; neither for SQLite."""
    if kind == "sqlite":
        yield None, 0
        return
    sockets = folder / "pg"
    sockets.mkdir()
    cluster = Cluster(disk, sockets)
    try:
        cluster.create_database("study")
        yield cluster, free_port()
    finally:
        cluster.stop()


@contextmanager
def proxy(cluster: Cluster | None, port: int) -> Iterator[subprocess.Popen[bytes] | None]:
    """The proxy that the site reaches PostgreSQL by."""
    if cluster is None:
        yield None
        return
    words = [sys.executable, "-m", "benchmarks.cut_proxy", str(port), str(cluster.socket)]
    process = subprocess.Popen(words, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def supervise(stack: ExitStack, folder: Path, url: str | None, log: Path) -> SupervisedSite:
    """The site of a study, started, and stopped with the stack."""
    site = SupervisedSite(folder, url, log)
    stack.callback(site.stop)
    site.start()
    site.wait()
    return site
