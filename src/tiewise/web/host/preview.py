"""A rehearsal of a study: its real pages on a database of their own, where nothing counts."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from tiewise.errors import InputError
from tiewise.hosting.drafts import write_whole
from tiewise.hosting.locks import file_lock
from tiewise.study.access.folder_files import PARTS
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase, Role
from tiewise.web.app import make_app
from tiewise.web.host.request import RANK, HostRequest
from tiewise.web.host.site import HostSite
from tiewise.web.serving.start import read_key

PATH = "/site/preview"


class PreviewDispatcher:
    """Hands requests for previews to their apps: of researchers who may see the study alone."""

    def __init__(self, site: HostSite) -> None:
        self._site = site
        self._apps: dict[str, tuple[object, Starlette]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page of a preview."""
        path = scope["path"].removeprefix(PATH).lstrip("/")
        name = path.partition("/")[0]
        await run_in_threadpool(self._check, Request(scope, receive))
        app = await run_in_threadpool(self._app, name)
        route = Mount(f"/{name}", app)
        await route.handle({**scope, **route.matches(scope)[1]}, receive, send)

    def _check(self, http: Request) -> None:
        name = http.scope["path"].removeprefix(PATH).lstrip("/").partition("/")[0]
        request = HostRequest.read(http).identified()
        if request.account is None or not request.account.may_see(name):
            raise HTTPException(404)
        if RANK[request.account.role] < RANK[Role.RESEARCHER]:
            raise HTTPException(403)

    def _app(self, name: str) -> Starlette:
        """The app of a preview, of the study as it is now."""
        if not self._site.folder.is_study(name):
            raise HTTPException(404)
        version = self._version(name)
        if name not in self._apps or self._apps[name][0] != version:
            try:
                app = _open(self._site, name)
            except InputError:
                raise HTTPException(404) from None
            self._apps[name] = (self._version(name), app)
        return self._apps[name][1]

    def _version(self, name: str) -> object:
        """What a preview is opened from; another database is another file."""
        folder = self._site.folder.study(name)
        paths = [folder / file for file in PARTS]
        times = [path.stat().st_mtime_ns if path.exists() else 0 for path in paths]
        mark = _mark(self._site, name)
        return (*times, mark.read_text(encoding="ascii") if mark.exists() else "")


def _open(site: HostSite, name: str) -> Starlette:
    study = Study.open(site.folder.study(name))
    judges = replace(study.settings.judges, invited_only=False)
    panel = replace(study.settings.panel, only=False)  # whoever looks comes from none
    study = replace(study, settings=replace(study.settings, judges=judges, panel=panel))
    key = hashlib.sha256(f"preview {name} {read_key(site.folder.path)}".encode()).hexdigest()
    path = f"{PATH}/{name}"
    options: dict[str, Any] = {
        "https": site.public_url.startswith("https:"), "hosts": site.hosts or (),
        "public_url": f"{site.public_url}{path}" if site.public_url else "",
        "prefix": f"{site.prefix}{path}",
    }  # fmt: skip
    return make_app(study, _store(site, name), secret=key, preview=True, **options)


def _store(site: HostSite, name: str) -> JudgeStore:
    return JudgeStore(f"sqlite:///{database(site, name)}")


def database(site: HostSite, name: str) -> Path:
    """The database of a preview."""
    return site.folder.previews / f"{name}.db"


def _mark(site: HostSite, name: str) -> Path:
    """A file whose content tells one rehearsal from the next."""
    return site.folder.previews / f"{name}.mark"


def start_preview(request: HostRequest) -> Response:
    """Begin a rehearsal anew, in the phase that is asked for, and go there."""
    name = request.study_name()
    try:
        phase = Phase(request.form.get("phase") or Phase.OPEN)
    except ValueError:
        raise HTTPException(400) from None
    with file_lock(request.site.folder.previews):
        path = database(request.site, name)
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                path.with_name(path.name + end).unlink()
        store = _store(request.site, name)
        ResearcherStore(store).set_phase(phase)
        store.close()
        write_whole(_mark(request.site, name), secrets.token_hex(8))
    return request.redirect(f"{PATH}/{name}/")
