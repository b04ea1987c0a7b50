"""What the terminal says when the site starts: where it is, and how researchers sign in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from tiewise.errors import InputError, InputWarning
from tiewise.study.checks.check import study_faults
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.words.judge_languages import languages_in_use
from tiewise.web.words.of_study import language_faults

DEFAULT_RESEARCHER = "researcher"
STOP, NOTE = "Stop with Ctrl-C.", "Note:"


def can_sign_in(study: Study, database: str | None = None) -> bool:
    """Whether a researcher has a password or is signed in."""
    store = study.store(database)
    try:
        return ResearcherStore(store).can_sign_in()
    finally:
        store.close()


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


def check_first(studies: Mapping[Path, str | None], write_line: Callable[[str], None]) -> list[str]:
    """Refuse studies of which `tiewise check` says that they are broken; the rest are notes.

    `studies` are folders, each with the address of its database. Several faults are written, those
    of all studies, one a line. An erasure that is overdue is a note: it is done on the site, too.
    """
    faults: list[tuple[Path, str]] = []
    notes = []
    for folder, database in studies.items():
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always", InputWarning)
            broken, overdue = study_faults(folder, database)
        faults += [(folder, fault) for fault in broken]
        minor = [str(one.message) for one in noticed if issubclass(one.category, InputWarning)]
        notes += [f"{NOTE} {folder}: {line}" for line in [*overdue, *minor]]
    if len(faults) == 1:
        raise InputError(f"{faults[0][0]}: {faults[0][1]}")
    if faults:
        for folder, fault in faults:
            write_line(f"{folder}: {fault}")
        where = ", ".join(dict.fromkeys(str(folder) for folder, _ in faults))
        raise InputError(f"{len(faults)} things to mend in {where}, as said above")
    return notes


def language_lines(study: Study, database: str | None = None) -> list[str]:
    """Notes about languages in use that are not fit to be offered; a new one is refused."""
    faults = language_faults(study)
    if not faults:
        return []
    store = study.store(database)
    try:
        in_use = languages_in_use(store)
    finally:
        store.close()
    for code, lines in faults.items():
        if code not in in_use:
            more = f" ({len(lines) - 1} more; see `tiewise check`)" if len(lines) > 1 else ""
            raise InputError(f"{study.folder}: {lines[0]}{more}")
    return [f"{NOTE} {line}" for lines in faults.values() for line in lines[:1]]


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
    url = site_address(host, port, public_url, name)
    lines = [study.settings.study.title, f"Judges open {url}/", STOP]
    if sign_in:
        lines.insert(2, sign_in)
    if study.settings.judges.invited_only:
        lines.insert(2, f"They need a code: tiewise invite {study.folder} --count 20")
    return [*lines, *plain_http(host, url, behind_proxy=behind_proxy and not public_url)]


def plain_http(host: str, url: str, *, behind_proxy: bool) -> list[str]:
    """A note where what is sent can be read on the way; `behind_proxy`, somebody else knows."""
    if not url.startswith("http:") or behind_proxy or not _is_reachable(host, url):
        return []
    return [
        f"{NOTE} this is plain http, so answers and personal links travel where others on the "
        "way can read them. Put a proxy with https before it (docs/study.md), or listen on "
        "localhost."
    ]


def shared_last(lines: Sequence[str]) -> list[str]:
    """The lines of every study, then, once, those that hold for all of them."""
    last = [line for line in dict.fromkeys(lines) if line == STOP or line.startswith(NOTE)]
    return [line for line in lines if line not in last] + last


def site_address(host: str, port: int, public_url: str, name: str) -> str:
    """The address of a study, without a slash at its end."""
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
