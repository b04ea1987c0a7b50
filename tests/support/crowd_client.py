"""A crowd of judges over HTTP, each on a connection of their own, as light as a client can be.

Only the standard library: the crowd shares two cores with the site that it measures.
"""

from __future__ import annotations

import asyncio
import html
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlencode, urlsplit

FORM = re.compile(r"<form\b[^>]*\baction=\"([^\"]*)\"[^>]*>(.*?)</form>", re.DOTALL)
HIDDEN = re.compile(r"<input\b[^>]*>")
ATTRIBUTE = re.compile(r"\b(type|name|value|checked)\b(?:=\"([^\"]*)\")?")
Form = dict[str, str | list[str]]
OUTCOMES = ("left", "right", "tie", "skip")
PICTURE = re.compile(r"<img src=\"(/file/[^\"]*)\"[^>]*\bloading=\"eager\"")
"""A picture that a browser asks for at once, and keeps."""


class Answer:
    """What came back: status, headers and the page as text."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.weight = status, headers, len(body)
        if headers.get("content-encoding") == "gzip":
            body = zlib.decompress(body, 31)
        is_picture = headers.get("content-type", "").startswith("image/")
        self.text = "" if is_picture else body.decode("utf-8", "replace")

    def form(self, action: str) -> Form:
        """The hidden fields and ticked boxes of the form that posts there."""
        inside = next(part for at, part in FORM.findall(self.text) if urlsplit(at).path == action)
        fields: Form = {}
        for tag in HIDDEN.findall(inside):
            attributes = dict(ATTRIBUTE.findall(tag))
            if attributes.get("type") == "hidden" or "checked" in attributes:
                fields[html.unescape(attributes.get("name", ""))] = html.unescape(
                    attributes.get("value", "")
                )
        return fields


class Browser:
    """One keep-alive connection with its cookies."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.cookies: dict[str, str] = {}
        self.kept: set[str] = set()
        self.stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, form: Form | None = None) -> Answer:
        """Send a request and read its answer; the connection is opened anew where it was cut."""
        if self.stream is not None and self.stream[0].at_eof():
            self.close()  # it was idle for so long that the server hung up
        if self.stream is None:
            self.stream = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.stream
        body = urlencode(form or {}, doseq=True).encode()
        origin = f"http://{self.host}:{self.port}"
        lines = [
            f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Accept-Encoding: gzip",
            "Accept: text/html", f"Origin: {origin}",
        ]  # fmt: skip
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if form is not None:
            lines += [
                "Content-Type: application/x-www-form-urlencoded",
                f"Content-Length: {len(body)}",
            ]
        try:
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            return await self._read(reader)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise

    async def _read(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                self._keep(value)
            headers[name.lower()] = value
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(int(head[0].split()[1]), headers, body)

    def _keep(self, cookie: str) -> None:
        name, _, value = cookie.split(";", 1)[0].partition("=")
        if not value or "max-age=0" in cookie.lower():
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value

    def close(self) -> None:
        """Hang up."""
        if self.stream is not None:
            self.stream[1].close()
            self.stream = None


@dataclass
class Tally:
    """What the crowd saw: seconds of each kind of request, faults, and answers acknowledged."""

    gets: list[float] = field(default_factory=list)
    posts: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)


async def sign_up(browser: Browser) -> None:
    """From the first page to the first pair."""
    await browser.ask("GET", "/")
    page = await browser.ask("GET", "/begin")
    answer = await browser.ask("POST", "/begin", page.form("/begin") | {"consent": "1"})
    for _ in range(4):
        if answer.status != 303:
            raise RuntimeError(f"sign-up answered {answer.status}: {answer.text[:300]}")
        path = urlsplit(answer.headers["location"]).path
        if path == "/pair":
            return
        page = await browser.ask("GET", path)
        fields = page.form(path)
        if path == "/groups":
            groups = re.findall(r"name=\"group\"[^>]*value=\"([^\"]*)\"", page.text)
            fields["group"] = [html.unescape(group) for group in groups]
        answer = await browser.ask("POST", path, fields)
    raise RuntimeError("sign-up did not lead to a pair")


async def look(browser: Browser, tally: Tally, page: Answer) -> None:
    """Ask for the pictures of a page that this browser does not have yet."""
    for path in PICTURE.findall(page.text):
        if path in browser.kept:
            continue
        begun = perf_counter()
        picture = await browser.ask("GET", path)
        tally.files.append(perf_counter() - begun)
        if picture.status != 200:
            tally.errors.append(f"picture {picture.status}")
        browser.kept.add(path)


async def judge(browser: Browser, tally: Tally, until: float, pause: float) -> None:
    """Answer pairs until the time is up, thinking for about `pause` seconds over each."""
    rng = random.Random()
    await asyncio.sleep(rng.uniform(0, pause))
    while perf_counter() < until:
        try:
            begun = perf_counter()
            page = await browser.ask("GET", "/pair")
            tally.gets.append(perf_counter() - begun)
            tally.weights.append(page.weight)
            await look(browser, tally, page)
            fields = page.form("/answer")
            if pause:
                await asyncio.sleep(pause * rng.uniform(0.5, 1.5))
            begun = perf_counter()
            answer = await browser.ask(
                "POST", "/answer", fields | {"outcome": rng.choice(OUTCOMES)}
            )
            tally.posts.append(perf_counter() - begun)
            if answer.status == 303:
                tally.acknowledged.append(int(fields["offer"]))
            else:
                tally.errors.append(f"answer {answer.status}")
        except (OSError, asyncio.IncompleteReadError, StopIteration, KeyError) as error:
            tally.errors.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(0.2)


async def crowd(
    host: str,
    port: int,
    *,
    judges: int,
    pause: float,
    seconds: float,
    begun: Callable[[], object] = lambda: None,
) -> Tally:
    """So many judges at once for so long; `begun` is called when all have signed up."""
    browsers = [Browser(host, port) for _ in range(judges)]
    for k in range(0, judges, 10):
        await asyncio.gather(*(sign_up(browser) for browser in browsers[k : k + 10]))
    tally = Tally()
    begun()
    until = perf_counter() + seconds
    await asyncio.gather(*(judge(browser, tally, until, pause) for browser in browsers))
    for browser in browsers:
        browser.close()
    return tally
