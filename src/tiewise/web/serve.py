"""The site of a study, started: the twin of `tiewise serve`."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.study.study import Study
from tiewise.web.security import Limit, Limits

if TYPE_CHECKING:
    from starlette.applications import Starlette

TOLD = "TIEWISE_SITE"
STOP_SECONDS = 10


def serve(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    workers: int = 1,
    public_url: str | None = None,
    behind_proxy: bool = False,
    limits: Limits | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Run the site of the study in `folder` until it is stopped; `say` is told where it is.

    `public_url` is where judges reach it, where that is not the machine itself. Headers of a
    proxy are believed only with `behind_proxy`, and only from this machine or the addresses in
    the environment variable FORWARDED_ALLOW_IPS.
    """
    import uvicorn

    url = _public(public_url)
    study = _ready(folder, database)
    read_key(study.folder)
    _refuse_taken(host, port)
    for line in greeting(study, host=host, port=port, public_url=url, behind_proxy=behind_proxy):
        say(line)
    # Each worker starts afresh and is told by this what to serve; it has nothing of ours to repeat.
    os.environ[TOLD] = json.dumps(
        {"folder": str(study.folder), "database": database, "url": url, "limits": limits}
    )
    uvicorn.run(
        "tiewise.web.serve:app_as_told", factory=True, host=host, port=port, workers=workers,
        proxy_headers=behind_proxy, access_log=False, log_level="warning", server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS, lifespan="on",
    )  # fmt: skip


def app_as_told() -> Starlette:
    """The site that `serve` spoke of, in whichever process."""
    told: dict[str, Any] = json.loads(os.environ[TOLD])
    limits = Limits(*(Limit(*limit) for limit in told["limits"])) if told["limits"] else None
    return open_site(
        told["folder"], database=told["database"], public_url=told["url"], limits=limits
    )


def open_site(
    folder: str | Path,
    *,
    database: str | None = None,
    public_url: str = "",
    limits: Limits | None = None,
) -> Starlette:
    """The site of the study in `folder`, to be run by any ASGI server."""
    from tiewise.web.app import make_app

    study = Study.open(folder)
    host = urlsplit(public_url).hostname
    return make_app(
        study, study.store(database), secret=read_key(study.folder), public_url=public_url,
        https=public_url.startswith("https:"), hosts=[host, *LOCAL] if host else (), limits=limits,
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


def greeting(
    study: Study, *, host: str, port: int, public_url: str = "", behind_proxy: bool = False
) -> list[str]:
    """What to tell whoever started it: the judges' link first."""
    shown = f"[{host}]" if ":" in host else host
    url = public_url or f"http://{'localhost' if _is_any(host) else shown}:{port}"
    lines = [study.settings.study.title, f"Judges open {url}/", "Stop with Ctrl-C."]
    if study.settings.judges.invited_only:
        lines.insert(2, f"They need a code: tiewise invite {study.folder} --count 20")
    if url.startswith("http:") and not (behind_proxy and not public_url) and _is_open(host, url):
        lines.append(
            "Note: this is plain http, so answers and personal links travel where others on the "
            "way can read them. Put a proxy with https before it (docs/study.md), or listen on "
            "localhost."
        )
    return lines


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
