"""The site of a study, or of several, started: the twin of `tiewise serve`."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.study.researcher_store import Ledger
from tiewise.study.study import Study
from tiewise.web.multi_study import database_of, join, studies_in
from tiewise.web.security import Limit, Limits

if TYPE_CHECKING:
    from starlette.applications import Starlette

TOLD = "TIEWISE_SITE"
STOP_SECONDS = 10
SOMEBODY = "researcher"
STOP, NOTE = "Stop with Ctrl-C.", "Note:"


def serve(
    *folders: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    workers: int = 1,
    public_url: str | None = None,
    behind_proxy: bool = False,
    limits: Limits | None = None,
    live: bool = True,
    sign_in_link: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Run the site of the study in a folder, or of several, until it is stopped.

    `say` is told where it is, and how a researcher signs in where nobody can yet or `sign_in_link`
    is true. `public_url` is where judges reach it, where that is not the machine itself. Headers of
    a proxy are believed only with `behind_proxy`, and only from this machine or the addresses in
    the environment variable FORWARDED_ALLOW_IPS. With several studies, `database` holds {study}.
    """
    import uvicorn

    url, places = _public(public_url), studies_in(folders)
    ready = {name: _ready(place, database_of(name, database)) for name, place in places.items()}
    _refuse_taken(host, port)
    lines: list[str] = []
    for name, study in ready.items():
        read_key(study.folder)
        where = _where(host, port, url, name)
        link = sign_in_at(study, where, database_of(name, database), always=sign_in_link)
        lines += greeting(
            study, host=host, port=port, public_url=url, name=name, behind_proxy=behind_proxy,
            sign_in=link,
        )  # fmt: skip
    for line in _in_order(lines):
        say(line)
    # Each worker starts afresh and is told by this what to serve; it has nothing of ours to repeat.
    folders_by_name = {name: str(place) for name, place in places.items()}
    os.environ[TOLD] = json.dumps(
        {"folders": folders_by_name, "database": database, "url": url, "limits": limits,
         "live": live}
    )  # fmt: skip
    uvicorn.run(
        "tiewise.web.serve:app_as_told", factory=True, host=host, port=port, workers=workers,
        proxy_headers=behind_proxy, access_log=False, log_level="warning", server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS, lifespan="on",
    )  # fmt: skip


def app_as_told() -> Starlette:
    """The site that `serve` spoke of, in whichever process."""
    told: dict[str, Any] = json.loads(os.environ[TOLD])
    limits = Limits(*(Limit(*limit) for limit in told["limits"])) if told["limits"] else None
    return _open_named(
        told["folders"], database=told["database"], public_url=told["url"], limits=limits,
        live=told["live"],
    )  # fmt: skip


def open_site(
    *folders: str | Path,
    database: str | None = None,
    public_url: str = "",
    limits: Limits | None = None,
    live: bool = False,
) -> Starlette:
    """The site of the study in a folder, or of several, to be run by any ASGI server.

    `live` keeps the picture of what was found up to date while it runs.
    """
    return _open_named(
        studies_in(folders), database=database, public_url=public_url, limits=limits, live=live
    )


def _open_named(
    places: Mapping[str, str | Path], *, database: str | None, public_url: str, **options: Any
) -> Starlette:
    if "" in places:
        return _open(places[""], database=database, public_url=public_url, **options)
    sites = {
        name: _open(
            place, database=database_of(name, database), prefix=f"/{name}",
            public_url=f"{public_url}/{name}" if public_url else "", **options,
        )
        for name, place in places.items()
    }  # fmt: skip
    return join(sites, prefix=urlsplit(public_url).path.rstrip("/"))


def _open(
    folder: str | Path, *, database: str | None, public_url: str, prefix: str = "", **options: Any
) -> Starlette:
    from tiewise.web.app import make_app

    study = Study.open(folder)
    host = urlsplit(public_url).hostname
    return make_app(
        study, study.store(database), secret=read_key(study.folder), public_url=public_url,
        https=public_url.startswith("https:"), hosts=[host, *LOCAL] if host else (),
        prefix=prefix, **options,
    )  # fmt: skip


LOCAL = ("localhost", "127.0.0.1", "[::1]")


def _ready(folder: str | Path, database: str | None) -> Study:
    """The study, with its database up to date; refused where answers would change their meaning."""
    study = Study.open(folder)
    store = study.store(database)
    changed = study.changed_meaning(store)
    store.close()
    if changed:
        raise InputError(f"{study.folder / 'study.toml'}: {changed[0]}")
    return study


def read_key(folder: Path) -> str:
    """The key that signs cookies: kept in the study's folder for its owner alone, made once."""
    path = folder / "secret"
    if not path.exists():
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(file, secrets.token_hex(32).encode())
        os.close(file)
    key = path.read_text(encoding="ascii", errors="replace").strip()
    if len(key) < 32:
        raise InputError(f"{path} holds no key; delete it, and a new one is made")
    return key


def _refuse_taken(host: str, port: int) -> None:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InputError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose with --host and --port"
        ) from None


def _public(url: str | None) -> str:
    """An address without its last stroke; refused where it is none."""
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise InputError(f"--public-url {url!r} is no address; write https://study.example.org")
    return url.rstrip("/")


def sign_in_at(study: Study, url: str, database: str | None = None, *, always: bool = False) -> str:
    """A researcher's one-time link, where nobody can sign in yet or `always`; else nothing."""
    store = study.store(database)
    try:
        ledger = Ledger(store)
        if ledger.can_sign_in() and not always:
            return ""
        first = next(iter(ledger.researchers()), None)
        return f"{url}/sign-in/{ledger.invite_researcher(first.name if first else SOMEBODY)}"
    finally:
        store.close()


def greeting(
    study: Study,
    *,
    host: str,
    port: int,
    public_url: str = "",
    name: str = "",
    behind_proxy: bool = False,
    sign_in: str = "",
) -> list[str]:
    """What to tell whoever started it of a study: the judges' link first."""
    url = _where(host, port, public_url, name)
    lines = [study.settings.study.title, f"Judges open {url}/", STOP]
    if sign_in:
        lines.insert(2, f"You sign in, once, with {sign_in}")
    if study.settings.judges.invited_only:
        lines.insert(2, f"They need a code: tiewise invite {study.folder} --count 20")
    if url.startswith("http:") and not (behind_proxy and not public_url) and _is_open(host, url):
        lines.append(
            f"{NOTE} this is plain http, so answers and personal links travel where others on the "
            "way can read them. Put a proxy with https before it (docs/study.md), or listen on "
            "localhost."
        )
    return lines


def _in_order(lines: Sequence[str]) -> list[str]:
    """What is said of every study, then, once, what holds for all of them."""
    last = [line for line in dict.fromkeys(lines) if line == STOP or line.startswith(NOTE)]
    return [line for line in lines if line not in last] + last


def _where(host: str, port: int, public_url: str, name: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    url = public_url or f"http://{'localhost' if _is_any(host) else shown}:{port}"
    return f"{url}/{name}" if name else url


def _is_any(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")


def _is_open(host: str, url: str) -> bool:
    """Whether others than this machine can reach it."""
    named = urlsplit(url).hostname or ""
    return _is_any(host) or not (_is_local(host) and _is_local(named))


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
