"""A browser without scripts, for tests: it reads pages, fills in their forms, presses buttons."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.testclient import TestClient

FIELDS = """
[[judges.fields]]
name = "role"
label = "What is your role?"
kind = "choice"
required = true
choices = ["nurse", "police"]

[[judges.fields]]
name = "years"
label = "For how many years?"
kind = "number"
"""
"""What a study of these tests asks its judges about themselves."""


@dataclass
class Form:
    """A form as a page has it: fields with their values, and buttons by what is written on them."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[dict[str, str]] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads what a browser without scripts would act on."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.by_id: dict[str, Form] = {}
        self.links: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._open: list[Form] = []
        self._text: list[list[str]] = []
        self._select = self._area = self._in_area = ""
        self._late: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        for form, button in self._late:
            self.by_id[form].buttons.append(button)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if tag == "form":
            self._open.append(Form(attributes["action"], attributes.get("method", "get")))
            self.forms.append(self._open[-1])
            self.by_id[attributes.get("id", "")] = self._open[-1]
        elif tag == "input" and "name" in attributes:
            ticked = attributes.get("type") not in ("checkbox", "radio") or "checked" in attributes
            if ticked and self._open:
                self._open[-1].fields.append((attributes["name"], attributes.get("value", "on")))
        elif tag == "textarea":
            self._area, self._in_area = "", attributes["name"]
        elif tag == "select":
            self._select = attributes["name"]
        elif tag == "option" and "selected" in attributes:
            self._open[-1].fields.append((self._select, attributes["value"]))
        if tag in ("button", "a", "h1"):
            self._text.append([])
        if tag == "button" and attributes.get("type", "submit") == "submit":
            if "form" in attributes:
                self._late.append((attributes["form"], attributes))
            else:
                self._open[-1].buttons.append(attributes)
        self._last = attributes

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open.pop()
        elif tag == "textarea":  # a newline at its beginning is no part of it
            self._open[-1].fields.append((self._in_area, self._area.removeprefix("\n")))
            self._in_area = ""
        elif tag in ("button", "a", "h1"):
            text = " ".join("".join(self._text.pop()).split())
            if tag == "h1":
                self.headings.append(text)
            else:
                self.links.append((text, self._last.get("href", "")))

    def handle_data(self, data: str) -> None:
        if self._in_area:
            self._area += data
        for text in self._text:
            text.append(data)


@cache
def event_loop() -> BlockingPortal:
    """One event loop for all requests of this process.

    Starlette's client would start a loop, and threads for it, for each request.
    """
    loop = ExitStack()
    atexit.register(loop.close)
    return loop.enter_context(start_blocking_portal())


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, app: Any, *, address: str = "198.51.100.7", base: str = "http://study.test"):
        self.client = TestClient(
            app, base_url=base, client=(address, 50000), raise_server_exceptions=False
        )
        self.client.portal = event_loop()

    def get(self, path: str, **more: Any) -> Any:
        self.answer = self.client.get(path, **more)
        return self.answer

    def post(self, path: str, data: Any = None, **more: Any) -> Any:
        """A form made up by hand, with whatever token the last page had."""
        self.answer = self.client.post(path, data=data or {}, **more)
        return self.answer

    @property
    def page(self) -> Reader:
        return Reader(self.answer.text)

    @property
    def path(self) -> str:
        return urlsplit(str(self.answer.url)).path

    @property
    def heading(self) -> str:
        return self.page.headings[0]

    @property
    def token(self) -> str:
        return self.hidden("token")

    def hidden(self, name: str) -> str:
        """A hidden field of the page, in whichever form."""
        pairs = [pair for form in self.page.forms for pair in form.fields]
        return next(value for key, value in pairs if key == name)

    def send(self, action: str, button: str = "", **filled: Any) -> Any:
        """Send the form that leads to `action`, filled in, with the button that has this value."""
        there = [one for one in self.page.forms if urlsplit(one.action).path == action]
        form = next(one for one in there if one.method == "post")
        data: dict[str, Any] = {}
        for name, value in form.fields:
            data.setdefault(name, []).append(value)
        if button:
            pressed = next(one for one in form.buttons if one.get("value") == button)
            data[pressed["name"]] = button
        return self.post(form.action, data | filled)

    # The researcher's way.

    def sign_in(self, name: str = "Ada", password: str = "") -> Visitor:
        """Come in with a fresh one-time link, and take a password if there is to be one."""
        site = self.client.app.state.site
        path = f"/sign-in/{site.researcher_store.invite_researcher(name)}"
        self.get(path)
        self.send(path)
        assert self.path.startswith("/watch"), self.answer.text
        if password:
            self.get("/watch/password")
            self.send("/watch/password", password=password, again=password)
            assert self.path == "/watch/run", self.answer.text
        return self

    # The judge's way.

    def join(self, *groups: str, **about: str) -> Visitor:
        """Agree, and know these groups; all, where none is named."""
        self.get("/begin")
        consent = next(t["value"] for _, t in self.page.tags if t.get("name") == "consent")
        self.send("/begin", consent=consent, **about)
        if self.path == "/groups":
            there = [t["value"] for _, t in self.page.tags if t.get("name") == "group"]
            self.send("/groups", group=list(groups) or there)
        assert self.path == "/pair", self.answer.text
        return self

    def judge(self, outcome: str) -> Any:
        """Press one of the four buttons."""
        return self.send("/answer", outcome)

    def names(self) -> tuple[str, str]:
        """What stands on the left and on the right of the page."""
        text = self.answer.text
        names = [
            text.split(f'id="{side}-name"')[1].split("<bdi>")[1].split("</bdi>")[0]
            for side in ("left", "right")
        ]
        return names[0], names[1]
