"""The demonstration: makes two studies, serves them, and lets simulated judges in."""

from __future__ import annotations

import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import numpy as np

from tiewise.demo.judges import JudgeCrowd, add_earlier_answers
from tiewise.demo.studies import DemoStudy, make_county, make_essays
from tiewise.errors import InputError
from tiewise.randomness import RNGLike
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.web.researcher.passwords import set_password
from tiewise.web.server import serve

HOST = "127.0.0.1"
RESEARCHER = "demo"
PORTS = range(8000, 8100)
START_SECONDS = 60
STUDIES = {"county": make_county, "essays": make_essays}


def run_demo(
    *,
    keep: str | Path | None = None,
    port: int | None = None,
    open_browser: bool = True,
    rng: RNGLike = None,
    write_line: Callable[[str], None] = print,
) -> None:
    """Serve a made-up county and a set of essays, judged by simulated judges, until stopped.

    Everything lies in a temporary folder that is removed at the end, or in `keep`. Without `port`
    the first that is free is taken.
    """
    place = port or free_port()
    with demo_folder(keep) as folder, ExitStack() as stack:
        demos = make_studies(folder, np.random.default_rng(rng))
        links = {demo.name: start_study(demo, place, rng, stack) for demo in demos}
        for demo in demos:
            write_line(f"{demo.study.settings.study.title}: watch at {links[demo.name]}")
            write_line(f"  judge it yourself at http://{HOST}:{place}/{demo.name}/")
        write_line(_end_of(keep, folder))
        if open_browser:
            Thread(target=open_when_ready, args=(place, links[demos[0].name]), daemon=True).start()
        serve(folder, host=HOST, port=place, write_line=_nowhere)


def make_studies(folder: Path, rng: np.random.Generator) -> list[DemoStudy]:
    """The studies of the demonstration, below a folder."""
    with tempfile.TemporaryDirectory() as files:
        return [make(folder / name, Path(files), rng) for name, make in STUDIES.items()]


def start_study(demo: DemoStudy, port: int, rng: RNGLike, stack: ExitStack) -> str:
    """Let judges into a study until the stack is unwound; the link with which one signs in."""
    own = np.random.default_rng(rng)
    store = demo.study.store()
    stack.callback(store.close)
    add_earlier_answers(demo, store, own)
    crowd, stop = JudgeCrowd(demo, store, own), Event()
    thread = Thread(target=crowd.run, args=(stop,), daemon=True)
    stack.callback(thread.join)
    stack.callback(stop.set)
    thread.start()
    return f"http://{HOST}:{port}/{demo.name}/sign-in/{researcher_token(store)}"


def researcher_token(store: JudgeStore) -> str:
    """What signs a researcher in, once, who need not choose a password first."""
    researchers = ResearcherStore(store)
    set_password(researchers, researchers.add_researcher(RESEARCHER), secrets.token_hex(16))
    return researchers.invite_researcher(RESEARCHER)


@contextmanager
def demo_folder(keep: str | Path | None) -> Iterator[Path]:
    """The folder of both studies: the one to keep, or one that is removed."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="tiewise-demo-") as place:
            yield Path(place)
        return
    folder = Path(keep)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty, and nothing there is overwritten; name another")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def free_port() -> int:
    """The first port that nobody listens on."""
    for port in PORTS:
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            continue
        return port
    raise InputError(
        f"ports {PORTS.start} to {PORTS.stop - 1} are all in use; name another with port="
    )


def open_when_ready(port: int, link: str) -> bool:
    """Open a link in the browser once the site listens; whether there was one to open."""
    until = monotonic() + START_SECONDS
    while monotonic() < until:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            Event().wait(0.1)
            continue
        return webbrowser.open(link)
    return False


def _end_of(keep: str | Path | None, folder: Path) -> str:
    rest = "then all of it is removed" if keep is None else f"the studies stay in {folder}"
    return f"Judges and their answers are simulated. Stop with Ctrl-C; {rest}."


def _nowhere(_: str) -> None:
    """Lines of `serve` that the demonstration says in its own words."""
