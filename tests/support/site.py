"""A study's site for tests: its settings edited, and the real server in a process of its own."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tiewise.study.create import create_study
from tiewise.study.study import Study


def edited(study: Study, swaps: dict[str, str], more: str = "") -> Study:
    """The study with its settings edited, as its owner would, and read again."""
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in swaps.items():
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text + more, encoding="utf-8")
    return Study.open(study.folder)


def with_an_image(place: Path, rows: str, question: str) -> Study:
    """A study of these rows of a table of items, which may name the image `red.svg`."""
    (place / "red.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    (place / "items.csv").write_text(rows, encoding="utf-8")
    return create_study(place / "s", question=question, items=place / "items.csv")


def with_database(study: Study) -> Study:
    """The study, once its database is there: a template to copy for each test."""
    study.store().close()
    return study


def copy_study(template: Study, folder: Path) -> Study:
    """A study of one test's own, as new as the template."""
    shutil.copytree(template.folder, folder)
    return Study.open(folder)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def running(
    folder: Path, *options: str, command: str = "serve"
) -> AbstractContextManager[tuple[str, subprocess.Popen[str]]]:
    """`tiewise serve`, or `tiewise host`, in a process of its own, once it answers."""
    return answering(command, str(folder), *options)


@contextmanager
def answering(*words: str, path: str = "") -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A command that serves a site, in a process of its own, once what is below `path` is ready."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "tiewise.cli.main", *words, "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}{path}/health/ready", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, server.stdout.read()
                time.sleep(0.1)
        yield url, server
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        server.wait(30)
