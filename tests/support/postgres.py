"""A PostgreSQL server for tests: started in a temporary folder, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from sqlalchemy import create_engine, text

from tiewise.study.judge_store import JudgeStore


def binaries() -> Path | None:
    """The folder of the newest server's programs."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=str)
    if installed:
        return installed[-1].parent
    on_path = shutil.which("postgres")
    return None if on_path is None else Path(on_path).parent


@contextmanager
def server(programs: Path) -> Iterator[Path]:
    """A running server that listens on a socket in the folder given, and nowhere else."""
    # The path of a socket must be short, which that of a test's own folder is not.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    # PostgreSQL will not run as root.
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
    data, log = folder / "data", folder / "log"

    def run(*words: object) -> None:
        subprocess.run(
            [str(word) for word in words], user=user, cwd=folder, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    run(programs / "initdb", "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync")
    # What is in it is gone afterwards anyway, so nothing waits for the disk.
    careless = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options = f"-k {folder} -c listen_addresses='' -c max_connections=200 {careless}"
    run(programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start")
    try:
        yield folder
    finally:
        run(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


class Databases:
    """Hands out the address of a new database each time: one with our tables, or an empty one.

    The tables are made once, and then copied from a template.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.numbers, self.template = folder, count(), ""

    def __call__(self, *, empty: bool = False) -> str:
        if not empty and not self.template:
            self.template = self._create()
            JudgeStore(self._url(self.template)).close()
        return self._url(self._create("" if empty else self.template))

    def _create(self, template: str = "") -> str:
        name = f"study{next(self.numbers)}"
        engine = create_engine(self._url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            copied = f" TEMPLATE {template}" if template else ""
            connection.execute(text(f"CREATE DATABASE {name}{copied}"))
        engine.dispose()
        return name

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://tests@/{name}?host={self.folder}"
