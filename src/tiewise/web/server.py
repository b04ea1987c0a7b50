"""Starts the site of a study, or of several; what `tiewise serve` does."""

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
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.web.multi_study import combine, find_studies, study_database
from tiewise.web.security import RateLimit, RateLimits

if TYPE_CHECKING:
    from starlette.applications import Starlette

SITE_VARIABLE = "TIEWISE_SITE"
STOP_SECONDS = 10
DEFAULT_RESEARCHER = "researcher"
STOP, NOTE = "Stop with Ctrl-C.", "Note:"


def serve(
    *folders: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    workers: int = 1,
    public_url: str | None = None,
    behind_proxy: bool = False,
    limits: RateLimits | None = None,
    live: bool = True,
    sign_in_link: bool = False,
    write_line: Callable[[str], None] = print,
) -> None:
    """Run the site of the study in a folder, or of several, until it is stopped.

    `write_line` gets the lines about where it is, and how a researcher signs in where nobody can
    yet or `sign_in_link` is true. `public_url` is where judges reach it, where that is not the
    machine itself. Headers of a proxy are trusted only with `behind_proxy`, and only from this
    machine or the addresses in the environment variable FORWARDED_ALLOW_IPS. With several studies,
    `database` holds {study}.
    """
    import uvicorn

    url, paths = _public(public_url), find_studies(folders)
    studies = {
        name: _open_study(path, study_database(name, database)) for name, path in paths.items()
    }
    _check_port(host, port)
    lines: list[str] = []
    for name, study in studies.items():
        read_key(study.folder)
        address = _site_address(host, port, url, name)
        link = first_sign_in_link(
            study, address, study_database(name, database), always=sign_in_link
        )
        lines += startup_lines(
            study, host=host, port=port, public_url=url, name=name, behind_proxy=behind_proxy,
            sign_in=link,
        )  # fmt: skip
    for line in _shared_last(lines):
        write_line(line)
    # Workers are new processes that share nothing with this one but the environment.
    folders_by_name = {name: str(path) for name, path in paths.items()}
    os.environ[SITE_VARIABLE] = json.dumps(
        {"folders": folders_by_name, "database": database, "url": url, "limits": limits,
         "live": live}
    )  # fmt: skip
    uvicorn.run(
        "tiewise.web.server:app_from_environment", factory=True, host=host, port=port,
        workers=workers, proxy_headers=behind_proxy, access_log=False, log_level="warning",
        server_header=False, timeout_graceful_shutdown=STOP_SECONDS, lifespan="on",
    )  # fmt: skip


def app_from_environment() -> Starlette:
    """The site that `serve` started, in one of its workers."""
    options: dict[str, Any] = json.loads(os.environ[SITE_VARIABLE])
    limits = (
        RateLimits(*(RateLimit(*limit) for limit in options["limits"]))
        if options["limits"]
        else None
    )
    return _open_named(
        options["folders"], database=options["database"], public_url=options["url"], limits=limits,
        live=options["live"],
    )  # fmt: skip


def open_site(
    *folders: str | Path,
    database: str | None = None,
    public_url: str = "",
    limits: RateLimits | None = None,
    live: bool = False,
) -> Starlette:
    """The site of the study in a folder, or of several, to be run by any ASGI server.

    `live` keeps estimates up to date while it runs.
    """
    return _open_named(
        find_studies(folders), database=database, public_url=public_url, limits=limits, live=live
    )


def _open_named(
    paths: Mapping[str, str | Path], *, database: str | None, public_url: str, **options: Any
) -> Starlette:
    if "" in paths:
        return _open(paths[""], database=database, public_url=public_url, **options)
    sites = {
        name: _open(
            path, database=study_database(name, database), prefix=f"/{name}",
            public_url=f"{public_url}/{name}" if public_url else "", **options,
        )
        for name, path in paths.items()
    }  # fmt: skip
    return combine(sites, prefix=urlsplit(public_url).path.rstrip("/"))


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


def _open_study(folder: str | Path, database: str | None) -> Study:
    """The study, its database up to date; refused where answers would change their meaning."""
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


def _check_port(host: str, port: int) -> None:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InputError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose with host= and port="
        ) from None


def _public(url: str | None) -> str:
    """An address without a slash at its end; refused where it is none."""
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise InputError(f"public_url={url!r} is no address; write https://study.example.org")
    return url.rstrip("/")


def first_sign_in_link(
    study: Study, url: str, database: str | None = None, *, always: bool = False
) -> str:
    """A researcher's one-time link, where nobody can sign in yet or `always`; else nothing."""
    store = study.store(database)
    try:
        researchers = ResearcherStore(store)
        if researchers.can_sign_in() and not always:
            return ""
        first = next(iter(researchers.researchers()), None)
        secret = researchers.invite_researcher(first.name if first else DEFAULT_RESEARCHER)
        return f"{url}/sign-in/{secret}"
    finally:
        store.close()


def startup_lines(
    study: Study,
    *,
    host: str,
    port: int,
    public_url: str = "",
    name: str = "",
    behind_proxy: bool = False,
    sign_in: str = "",
) -> list[str]:
    """What the terminal says about a study: the judges' link first."""
    url = _site_address(host, port, public_url, name)
    lines = [study.settings.study.title, f"Judges open {url}/", STOP]
    if sign_in:
        lines.insert(2, f"You sign in, once, with {sign_in}")
    if study.settings.judges.invited_only:
        lines.insert(2, f"They need a code: tiewise invite {study.folder} --count 20")
    if (
        url.startswith("http:")
        and not (behind_proxy and not public_url)
        and _is_reachable(host, url)
    ):
        lines.append(
            f"{NOTE} this is plain http, so answers and personal links travel where others on the "
            "way can read them. Put a proxy with https before it (docs/study.md), or listen on "
            "localhost."
        )
    return lines


def _shared_last(lines: Sequence[str]) -> list[str]:
    """The lines of every study, then, once, those that hold for all of them."""
    last = [line for line in dict.fromkeys(lines) if line == STOP or line.startswith(NOTE)]
    return [line for line in lines if line not in last] + last


def _site_address(host: str, port: int, public_url: str, name: str) -> str:
    name_of_host = f"[{host}]" if ":" in host else host
    url = public_url or f"http://{'localhost' if _is_any(host) else name_of_host}:{port}"
    return f"{url}/{name}" if name else url


def _is_any(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")


def _is_reachable(host: str, url: str) -> bool:
    """Whether other machines can reach it."""
    url_host = urlsplit(url).hostname or ""
    return _is_any(host) or not (_is_local(host) and _is_local(url_host))


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
