"""A site of several studies to send hostile requests to, whose owner may undo all of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.form_browser import Visitor
from support.fuzz_requests import FormSkeleton, FuzzCatalogue, FuzzRequest, FuzzRoute
from support.fuzz_site import (
    HOST,
    NO_LIMITS,
    ROLES,
    FuzzAnswer,
    FuzzCaller,
    FuzzSite,
    app_routes,
    ask,
    browser,
    cookies,
    methods_of,
    skeletons,
)
from support.host_site import Member
from tiewise.web.host.app import host_routes
from tiewise.web.host.preview import PATH as PREVIEW
from tiewise.web.host.server import open_host
from tiewise.web.server import open_site

OWNERS = ("Ada", "Root")
"""The researcher of the requests, and an owner who is there whatever becomes of the other."""


class HostFuzzSite(FuzzSite):
    """The site of `tiewise host`; a study that is deleted, archived or emptied comes back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template = Path(shutil.copytree(folder, folder.parent / "template"))
        super().__init__(folder)

    def open(self, folder: Path) -> Any:
        """The app that is asked."""
        app = open_host(folder, limits=NO_LIMITS)
        for name in OWNERS:
            Member(app, base=f"http://{HOST}").come_in(name)
        return app

    def close(self) -> None:
        """Close what is open."""
        super().close()
        self.app.state.site.account_store._database.close()
        shutil.rmtree(self._template)

    @property
    def roles(self) -> dict[str, tuple[Callable[[Any], FuzzCaller], str]]:
        """A researcher is an owner of the site; a browser has been to its page to sign in, too."""
        own = {"browser": (self._browser, ""), "researcher": (self._owner, "/watch/run")}
        return ROLES | own

    def _browser(self, gate: Any) -> FuzzCaller:
        judge, visitor = browser(gate), Visitor(self.app, base=f"http://{HOST}")
        visitor.get("/sign-in")
        token = dict(judge.values)["_TOKEN_"]
        return FuzzCaller(
            _together(judge, cookies(visitor)), (("_TOKEN_", token), ("_GATE_", visitor.token))
        )

    def _owner(self, gate: Any) -> FuzzCaller:
        who = Member(self.app, base=f"http://{HOST}").come_in(OWNERS[0])
        who.get("/site/you")
        headers = (*cookies(who), (b"x-form-token", who.token.encode()))
        values = [("_TOKEN_", who.token), ("_STUDY_", self.names[0]), ("_JUDGE_", "judge-1")]
        store = self.app.state.site.account_store
        values.append(("_ONE_TIME_", store.invite_researcher(OWNERS[1])))
        who.get("/site/new")
        who.send("/site/new")
        return FuzzCaller(headers, (*values, ("_DRAFT_", who.path.rpartition("/")[2])))

    def catalogue(self) -> FuzzCatalogue:
        """Routes, forms and words of the site, of its studies and of a rehearsal."""
        routes, forms, words = super().catalogue()
        hosted = [FuzzRoute("", one.path, methods_of(one)) for one in app_routes(self.app)]
        filled = [
            route._replace(path=path) for route in hosted for path in self._filled(route.path)
        ]
        ours = {f"/{name}": self._routes_of(name) for name in self.names}
        beside = [FuzzRoute(prefix, *one) for prefix, own in ours.items() for one in own]
        preview = self._routes_of(self.names[0], preview=True)
        beside += [FuzzRoute(f"{PREVIEW}/{self.names[0]}", *one) for one in preview]
        own_words = ("_STUDY_", "hidden", "retired", "shown", "removed", "viewer", "owner", "every")
        known = dict.fromkeys((*routes, *filled, *beside))
        return FuzzCatalogue(tuple(known), (*forms, *self._host_forms()), (*words, *own_words))

    def _filled(self, path: str) -> Iterator[str]:
        """A path of the site with its study, or the draft, in its gap."""
        for gap, value in (("{study}", "_STUDY_"), ("{draft}", "_DRAFT_")):
            if gap in path:
                yield path.replace(gap, value)

    def _routes_of(
        self, name: str, *, preview: bool = False
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        app = self.app.state.site.studies.opened()[name]
        for route in app_routes(app):
            if not preview or not route.path.startswith(("/watch", "/shared", "/api")):
                yield route.path, methods_of(route)

    def _host_forms(self) -> Iterator[FormSkeleton]:
        """Every form on a page of the site itself."""
        for route in host_routes():
            path = next(self._filled(route.path), route.path)
            if "GET" not in route.methods or "{" in path:
                continue
            for role in ("browser", "researcher"):
                request = FuzzRequest(role, "GET", path)
                page = self.answer(request, self.callers[self.names[0], role])
                if page.get(b"content-type").startswith(b"text/html"):
                    yield from self._as_placeholders(skeletons("", role, page.text))

    def _as_placeholders(self, forms: Iterator[FormSkeleton]) -> Iterator[FormSkeleton]:
        for form in forms:
            draft = re.sub(r"/site/new/[0-9a-f]{32}", "/site/new/_DRAFT_", form.action)
            yield form._replace(action=draft)

    # What the owner did is undone.

    def after_form(self, study: str, role: str) -> None:
        """Bring back what a form took away; an owner can put out everybody."""
        if role == "researcher":
            self._mend()
        super().after_form(study, role)

    def renew(self, study: str) -> None:
        """Open the study, and let those in again who can no longer do anything."""
        super().renew(study)
        hosted = self.app.state.site.studies.opened().get(study)
        if hosted is not None:
            hosted.state.site.phase_cache.invalidate()

    def _mend(self) -> None:
        for name in self.names:
            path, gate = self._folder / name, self.gates[name].state.site
            there = (path / "study.toml").is_file() and gate.outages.is_there()
            if there and list(gate.store.judge_rows()):
                continue
            gate.store.close()
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(self._template / name, path)
            self.gates[name] = open_site(path, limits=NO_LIMITS)
            self.app.state.site.studies._checked.clear()
            for role in ("judge", "partner", "program"):
                self.callers.pop((name, role), None)

    def _ask(self, study: str, role: str, path: str) -> FuzzAnswer:
        request = FuzzRequest(role, "GET", f"/{study}{path}")
        return ask(self._loop, self.app, request, self.callers[study, role])


def _together(
    caller: FuzzCaller, more: tuple[tuple[bytes, bytes], ...]
) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of a caller, with more cookies."""
    return ((b"cookie", b"; ".join(value for _, value in (*caller.headers, *more))),)
