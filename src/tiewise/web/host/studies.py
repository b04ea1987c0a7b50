"""The studies of a site while it runs: each opened when it comes, and anew when it has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from tiewise.errors import InputError
from tiewise.hosting.drafts import remove_abandoned
from tiewise.hosting.lifecycle import PILOTS, remove_leftovers
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.access.folder_files import PARTS
from tiewise.web.serving.memory import in_own_thread

log = logging.getLogger("tiewise")

FRESH_SECONDS = 0.5
"""How long it is believed that nothing has changed."""
SWEEP_SECONDS = 5.0
ABANDONED_EVERY = 600.0
WATCHED = (*PARTS, PILOTS)
"""What a study is opened from; the folder of set-apart pilots stands for its judgements."""
OUR_FAULT = "It cannot be opened, by a fault of ours; the log of the site says more."

Version = tuple[tuple[int, int, int] | None, ...]


class OpenStudy(NamedTuple):
    """A study that is served: its app, what it was opened from, and what ends it."""

    app: Starlette
    version: Version
    stack: AsyncExitStack


class HostedStudies:
    """The apps of a site's studies. A study that cannot be opened stops no other."""

    def __init__(self, folder: SiteFolder) -> None:
        self._folder = folder
        self._open_one: Callable[[str], Starlette] | None = None
        self._open: dict[str, OpenStudy] = {}
        self._checked: dict[str, float] = {}
        self._faults: dict[str, tuple[Version, str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def open_with(self, open_one: Callable[[str], Starlette]) -> None:
        """Set the function that opens a study of a name."""
        self._open_one = open_one

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open all studies, and keep them in step with their folders until the site stops."""
        await run_in_threadpool(remove_leftovers, self._folder)
        await self.refresh()
        sweep = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweep.cancel()
            with suppress(asyncio.CancelledError):
                await sweep
            for name in list(self._open):
                await self._close(name)

    async def _sweep(self) -> None:
        removed = -ABANDONED_EVERY
        while True:
            if monotonic() - removed > ABANDONED_EVERY:
                removed = monotonic()
                await run_in_threadpool(remove_abandoned, self._folder)
            await asyncio.sleep(SWEEP_SECONDS)
            await self.refresh()

    async def refresh(self) -> None:
        """Open what is new, open again what has changed, and close what has gone."""
        names = await run_in_threadpool(self._folder.studies)
        for name in {*names, *self._open}:
            await self.app(name)

    async def app(self, name: str) -> Starlette | None:
        """The app of a study, as it stands on disk; None where there is none that can be opened."""
        if (fresh := self._fresh(name)) is not None:
            return fresh
        if name not in self._open and not self._folder.is_study(name):
            return None  # Any address names a study; those of none leave nothing behind.
        async with self._locks.setdefault(name, asyncio.Lock()):
            if (fresh := self._fresh(name)) is not None:  # somebody else has looked
                return fresh
            version = await in_own_thread(partial(self._version, name))
            if version is None:
                await self._close(name)
                return None
            self._checked[name] = monotonic()
            current = self._open.get(name)
            if current is None or current.version != version:
                await self._reopen(name, version)
        current = self._open.get(name)
        return current.app if current else None

    def _fresh(self, name: str) -> Starlette | None:
        """The app of a study that was looked at a moment ago."""
        current = self._open.get(name)
        if current is None or monotonic() - self._checked.get(name, -1.0) >= FRESH_SECONDS:
            return None
        return current.app

    def app_now(self, name: str) -> Starlette | None:
        """The app of a study, for pages, which are made in threads; a new study is opened."""
        from anyio import from_thread

        return from_thread.run(self.app, name)

    def opened(self) -> dict[str, Starlette]:
        """The apps that run now, by their names."""
        return {name: one.app for name, one in self._open.items()}

    def fault(self, name: str) -> str:
        """Why a study cannot be opened as it now is on disk; empty where it can."""
        return self._faults[name][1] if name in self._faults else ""

    async def _reopen(self, name: str, version: Version) -> None:
        """Serve a study as it now is; while that cannot be, it goes on as it was."""
        if self._faults.get(name, (None,))[0] == version:
            return
        assert self._open_one is not None
        stack = AsyncExitStack()
        try:
            app = await in_own_thread(partial(self._open_one, name))
            await stack.enter_async_context(app.router.lifespan_context(app))
        except InputError as error:
            self._faults[name] = (version, str(error))
            log.error("Study %s cannot be opened: %s", name, error)
            return
        except Exception:
            self._faults[name] = (version, OUR_FAULT)
            log.exception("Study %s cannot be opened", name)
            return
        self._faults.pop(name, None)
        await self._close(name)
        self._open[name] = OpenStudy(app, version, stack)

    async def _close(self, name: str) -> None:
        gone = self._open.pop(name, None)
        if gone is not None:
            with suppress(Exception):  # its database may have gone with it
                await gone.stack.aclose()

    def _version(self, name: str) -> Version | None:
        """What a study would be opened from; None where there is none."""
        if not self._folder.is_study(name):
            return None
        folder = self._folder.study(name)
        return tuple(_stamp(folder / part) for part in WATCHED)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
