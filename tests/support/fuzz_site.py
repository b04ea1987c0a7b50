"""A site to send hostile requests to: two studies, callers of every kind, and what must hold."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

from argon2 import PasswordHasher
from starlette.routing import Route

from support.form_browser import FIELDS, Reader, Visitor
from support.fuzz_requests import SCRIPT, FormSkeleton, FuzzCatalogue, FuzzRequest, FuzzRoute
from support.item_files import essay, sound, write
from support.site import edited
from support.snapshots import add_snapshot, body, judge_row
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.inviting.people import Invitee
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase, TokenPurpose
from tiewise.web.live.cache import pack_rows
from tiewise.web.security import SECURITY_HEADERS, RateLimit, RateLimits
from tiewise.web.server import open_site

HOST = "study.test"
EXIT = "https://www.bbc.co.uk/weather"
NO_LIMITS = RateLimits(*[RateLimit(10**9, 60)] * len(RateLimits()))
PATIENCE = 30.0
"""Seconds within which every request is answered."""
ODD_ITEMS = """id,name,group,description,image,file
-5,Minus five,,Below zero,,
=a,Formula,,=1+1,,
a/b,<b>Stroke</b>,,,dot.svg,
c%2Fd,Percent,,"two
lines",,
é🙂,عربي,,,dot.svg,
x y,Blank,,,,
wav,Tune,,,,tune.wav
md,Essay,,,,essay.md
"""
LANGUAGES = {
    'languages = ["en"]': 'languages = ["en", "ar"]', "accept_unread = []": 'accept_unread = ["ar"]'
}  # fmt: skip
DOT = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
CHOICES = (
    "left", "right", "tie", "skip", "left_2", "right_3", "right_9", "all", "about", "open",
    "paused", "closed", "share", "api", "on", "name", "position", "csv", "jsonl", "age", "Ada",
    "correct horse", "/watch", "password", "one", "two", "api-comments",
)  # fmt: skip


ASKED = """
[[questions]]
id = "one"
question = "Which is odder?"

[[questions]]
id = "two"
question = "Which is longer?"
answers = { grades = 5 }

[reasons]
ask = "required"
choices = ["bold", "=1+1"]
per_question = true

[[practice]]
left = "a/b"
right = "x y"
answers = { one = "left_3", two = "tie" }
why = "It is."
"""


PANEL = """
[panel]
identifiers = ["name", "value"]
completion_code = "<b>done</b>"
"""


def make_studies(place: Path) -> Path:
    """Two studies: a map with groups, figures and judges; odd items with graded answers.

    The latter asks several questions, and why.
    """
    Areas.synthetic(12, rng=2).to_gpkg(place / "map.gpkg")
    wards = create_study(place / "studies" / "wards", question="Which?", areas=place / "map.gpkg")
    wards = edited(wards, LANGUAGES, FIELDS)
    _add_figures(wards)
    (place / "odd.csv").write_text(ODD_ITEMS, encoding="utf-8")
    (place / "dot.svg").write_text(DOT, encoding="utf-8")
    write(place, {"tune.wav": sound(), "essay.md": essay(100)})
    words = create_study(place / "studies" / "words", question="Which?", items=place / "odd.csv")
    swaps = {"invited_only = false": "invited_only = true", "grades = 0": "grades = 7"}
    edited(words, swaps, ASKED + PANEL).store().close()
    return place / "studies"


def _add_figures(study: Study) -> None:
    store, (left, right, *_) = study.store(), study.items
    rows = [{"judge": "judge-1", "left": left, "right": right, "outcome": "tie"}]
    store.import_judgements(rows, consent="made up")
    InvitationStore(store).add([Invitee("<b>Ann</b>", "ann@a.example"), Invitee("=1+1")])
    judges = [judge_row("judge-1", flags=[{"name": "fast", "says": "answers fast"}])]
    for number in range(2):
        values = body(list(study.items), [k / 4 + number for k in range(len(study.items))])
        add_snapshot(store, values, comparisons=40 + number, beside={"judges": pack_rows(judges)})
    store.close()


class FuzzAnswer(NamedTuple):
    """What came back."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    by_server: bool = False
    """Whether the server answered, and the site was not asked: what was sent is not HTTP."""

    def get(self, name: bytes) -> bytes:
        """A header, or nothing."""
        return next((value for key, value in self.headers if key.lower() == name), b"")

    @property
    def text(self) -> str:
        """The body as text, unpacked."""
        raw = (
            zlib.decompress(self.body, 31)
            if self.get(b"content-encoding") == b"gzip"
            else self.body
        )
        return raw.decode("utf-8", "replace")


class FuzzCaller(NamedTuple):
    """Somebody: the headers that their program adds, and what their placeholders stand for."""

    headers: tuple[tuple[bytes, bytes], ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    def fill(self, raw: bytes) -> bytes:
        """Text with the placeholders filled in."""
        values = dict(self.values)
        values.setdefault("_GATE_", values.get("_TOKEN_", "_GATE_"))
        for name, value in values.items():
            raw = raw.replace(name.encode(), value.encode())
        return raw


GONE = FuzzAnswer(0, (), b"")
"""Nothing, as the caller has gone away."""

# One request.


def _run(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end, in a thread where a browser of other tests has a loop in this one."""
    if asyncio._get_running_loop() is None:
        loop.run_until_complete(work)
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(loop.run_until_complete, work).result()


def ask(
    loop: asyncio.AbstractEventLoop, app: Any, request: FuzzRequest, caller: FuzzCaller
) -> FuzzAnswer:
    """What the app answers, asked as a server would; its exceptions are raised."""
    target = caller.fill(request.path.encode("latin-1"))
    content = caller.fill(request.body)
    own = tuple(
        (name.encode("latin-1"), caller.fill(value.encode("latin-1")))
        for name, value in request.headers
    )
    names = {name for name, _ in own}
    default = ((b"host", HOST.encode()), *caller.headers)
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": request.method, "root_path": "", "raw_path": target,
        "path": unquote(target.decode("ascii")),
        "query_string": caller.fill(request.query.encode("latin-1")),
        "headers": [*(pair for pair in default if pair[0] not in names), *own],
        "client": ("198.51.100.7", 50000), "server": (HOST, 80), "state": {},
    }  # fmt: skip
    started: list[dict[str, Any]] = []
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            started.append(message)
        else:
            sent.append(message.get("body", b""))

    answering = app(scope, _receiver(content, request.pieces), send)
    _run(loop, asyncio.wait_for(answering, PATIENCE))
    if not started and not request.pieces:
        return GONE
    (start,) = started
    return FuzzAnswer(start["status"], tuple(start["headers"]), b"".join(sent))


def _receiver(content: bytes, pieces: int) -> Callable[[], Awaitable[dict[str, Any]]]:
    size = max(1, -(-len(content) // max(pieces, 1)))
    chunks = [content[at : at + size] for at in range(0, len(content), size)] or [b""]
    messages = [
        {"type": "http.request", "body": chunk, "more_body": pieces == 0 or k < len(chunks) - 1}
        for k, chunk in enumerate(chunks)
    ]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        if pieces:
            await asyncio.Event().wait()  # the caller stays until it is answered
        return {"type": "http.disconnect"}

    return receive


def fault(request: FuzzRequest, answer: FuzzAnswer) -> str:
    """What is wrong with an answer, whatever was asked, as `kind: detail`; "" where nothing is."""
    if answer is GONE:
        return ""
    path = request.path.partition("?")[0]
    if answer.status >= 500 and not (answer.status == 503 and "/health" in path):
        return f"status {answer.status}: {answer.text[:200]}"
    if answer.by_server:
        return ""
    missing = [name for name in SECURITY_HEADERS if not answer.get(name.lower().encode())]
    if missing:
        return f"without headers: {', '.join(missing)}"
    if any(re.search(rb"[\r\n\0]", name + value) for name, value in answer.headers):
        return "a header with a line break"
    where = answer.get(b"location").decode("latin-1")
    if where and not _is_ours(where):
        return f"leads elsewhere: {where}"
    length = answer.get(b"content-length")
    if length and request.method != "HEAD" and int(length) != len(answer.body):
        return f"a wrong Content-Length: {length.decode()} for {len(answer.body)} bytes"
    is_page = answer.get(b"content-type").startswith(b"text/html")
    if is_page and SCRIPT in answer.text:
        return "a script of somebody else's: " + answer.text.partition(SCRIPT)[0][-100:]
    if answer.status >= 400 and request.method != "HEAD" and not _says_why(answer):
        return f"an error without a word: {answer.status}, {answer.text[:200]}"
    return ""


def _is_ours(where: str) -> bool:
    return where == EXIT or (where.startswith("/") and not re.match(r"/[/\\]", where))


def _says_why(answer: FuzzAnswer) -> bool:
    media = answer.get(b"content-type")
    if media.startswith(b"text/html"):
        return "<h1" in answer.text
    return b'"error"' in answer.body or b'"fault"' in answer.body or media.startswith(b"text/plain")


# The site.


class FuzzSite:
    """The site of a study, or of those in a folder; callers who are put out come back."""

    def __init__(self, folder: Path) -> None:
        alone = (folder / "study.toml").is_file()
        studies = [folder] if alone else sorted(folder.iterdir())
        self.names = [path.name for path in studies]
        self.prefixes = {name: "" if alone else f"/{name}" for name in self.names}
        self._loop = asyncio.new_event_loop()
        self.app: Any = self.open(folder)
        # Each study by itself, with the same secrets: where callers come in.
        self.gates: dict[str, Any] = {
            path.name: open_site(path, limits=NO_LIMITS) for path in studies
        }
        self.callers: dict[tuple[str, str], FuzzCaller] = {}
        for name in self.names:
            self.renew(name)

    def open(self, folder: Path) -> Any:
        """The app that is asked."""
        return open_site(folder, limits=NO_LIMITS)

    def close(self) -> None:
        """Close what is open."""
        for gate in self.gates.values():
            gate.state.site.store.close()
        self._loop.close()

    def send(self, request: FuzzRequest) -> FuzzAnswer:
        """Send a request on behalf of its caller."""
        under = [name for name in self.names if request.path.startswith(f"/{name}/")]
        study = (under or self.names)[0]
        answer = self.answer(request, self.callers[study, request.caller])
        if request.method == "POST" and answer.status < 400:
            self.after_form(study, request.caller)
        return answer

    def answer(self, request: FuzzRequest, caller: FuzzCaller) -> FuzzAnswer:
        """What the app answers."""
        return ask(self._loop, self.app, request, caller)

    def catalogue(self) -> FuzzCatalogue:
        """The routes, forms and words of the site."""
        routes = {FuzzRoute("", one.path, methods_of(one)): None for one in app_routes(self.app)}
        for name, gate in self.gates.items():
            prefix = self.prefixes[name]
            routes |= {
                FuzzRoute(prefix, one.path, methods_of(one)): None for one in app_routes(gate)
            }
        forms = {form: None for name in self.names for form in self._forms(name)}
        sites = [gate.state.site for gate in self.gates.values()]
        words = [item for site in sites for item in site.study.items]
        words += [group for site in sites for group in site.study.groups]
        words += [*sites[0].assets, *_files(), *CHOICES]
        return FuzzCatalogue(tuple(routes), tuple(forms), tuple(dict.fromkeys(words)))

    # Callers.

    @property
    def roles(self) -> dict[str, tuple[Callable[[Any], FuzzCaller], str]]:
        """How each caller comes in, given the gate of a study, and a page that only they open."""
        return ROLES

    def after_form(self, study: str, role: str) -> None:
        """Undo what a form did to the callers: a researcher's can put out everybody."""
        if role == "researcher":
            self.renew(study)
        elif role == "judge":
            self._renew_caller(study, role)
            self._new_offer(study)
        elif role == "browser":
            self.callers[study, role] = self.roles[role][0](self.gates[study])

    def renew(self, study: str) -> None:
        """Open the study, and let those in again who can no longer do anything."""
        site = self.gates[study].state.site
        if site.researcher_store.phase() != Phase.OPEN:
            site.researcher_store.set_phase(Phase.OPEN)
        for app in (self.gates[study], self.app, *self._mounted(study)):
            if hasattr(getattr(app.state, "site", None), "phase_cache"):
                app.state.site.phase_cache.invalidate()
        for role in self.roles:
            self._renew_caller(study, role)
        self._new_offer(study)

    def _renew_caller(self, study: str, role: str) -> None:
        make, path = self.roles[role]
        known = self.callers.get((study, role))
        if known is None or (path and self._ask(study, role, path).status != 200):
            self.callers[study, role] = make(self.gates[study])

    def _mounted(self, study: str) -> list[Any]:
        mounts = [route for route in self.app.routes if getattr(route, "path", "") == f"/{study}"]
        return [route.app for route in mounts if hasattr(getattr(route, "app", None), "state")]

    def _ask(self, study: str, role: str, path: str) -> FuzzAnswer:
        request = FuzzRequest(role, "GET", path)
        return ask(self._loop, self.gates[study], request, self.callers[study, role])

    def _new_offer(self, study: str) -> None:
        """Let the judge's placeholders stand for the pair that is open now."""
        judge = self.callers[study, "judge"]
        pairs = [
            pair for form in Reader(self._ask(study, "judge", "/pair").text).forms
            for pair in form.fields
        ]  # fmt: skip
        fresh = {
            f"_{name.upper()}_": value for name, value in pairs if name in ("offer", "answers")
        }
        values = {**dict(judge.values), **fresh}
        self.callers[study, "judge"] = judge._replace(values=tuple(values.items()))

    def _forms(self, study: str) -> Iterator[FormSkeleton]:
        """Every form on a page of the study that needs no more than to be opened."""
        for route in app_routes(self.gates[study]):
            if "GET" not in route.methods or "{" in route.path or route.path == "/leave":
                continue
            for role in ("browser", "judge", "researcher"):
                page = self._ask(study, role, route.path)
                if page.get(b"content-type").startswith(b"text/html"):
                    yield from skeletons(self.prefixes[study], role, page.text)


def app_routes(app: Any) -> list[Route]:
    return [route for route in app.routes if isinstance(route, Route)]


def methods_of(route: Route) -> tuple[str, ...]:
    return tuple(sorted(route.methods or ()))


def _files() -> tuple[str, ...]:
    from tiewise.web.researcher.downloads import MEDIA_TYPES, TABLES, ZIP

    return (*TABLES, *MEDIA_TYPES, ZIP)


class _Forms(HTMLParser):
    """The forms of a page with all of their fields, ticked or not, and their buttons."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[dict[str, Any]] = []
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append({**values, "fields": [], "buttons": []})
        elif not self.forms:
            return
        elif tag == "option":
            self._keep("fields", self._select, values)
        elif tag == "select":
            self._select = values.get("name", "")
        elif tag in ("input", "textarea"):
            self._keep("fields", values.get("name", ""), values)
        elif tag == "button":
            self._keep("buttons", values.get("name", ""), values)

    def _keep(self, part: str, name: str, values: dict[str, str]) -> None:
        if name:
            home = [form for form in self.forms if form.get("id") == values.get("form", "")]
            (home or self.forms)[-1][part].append((name, values.get("value", "")))


def skeletons(prefix: str, role: str, page: str) -> Iterator[FormSkeleton]:
    for form in _Forms(page).forms:
        if form.get("method", "get").lower() != "post":
            continue
        path = urlsplit(form["action"]).path
        token = "_GATE_" if path.startswith("/sign-in") else "_TOKEN_"
        known = {"token": token, "offer": "_OFFER_", "answers": "_ANSWERS_"}
        fields = [(name, known.get(name, value)) for name, value in form["fields"]]
        for button in form["buttons"] or [None]:
            whole = tuple([*fields, button] if button else fields)
            yield FormSkeleton(role, prefix + path, whole)


# How each comes in; on the gate of the study, as people do.


def cookies(visitor: Visitor) -> tuple[tuple[bytes, bytes], ...]:
    pairs = "; ".join(f"{one.name}={one.value}" for one in visitor.client.cookies.jar)
    return ((b"cookie", pairs.encode()),) if pairs else ()


def _nobody(gate: Any) -> FuzzCaller:
    return FuzzCaller()


def browser(gate: Any) -> FuzzCaller:
    visitor = Visitor(gate, base=f"http://{HOST}")
    visitor.get("/sign-in")
    gate_token = visitor.token
    visitor.get("/begin")
    return FuzzCaller(cookies(visitor), (("_TOKEN_", visitor.token), ("_GATE_", gate_token)))


def _judge(gate: Any) -> FuzzCaller:
    (code,) = gate.state.site.store.invite(1)
    visitor = Visitor(gate, base=f"http://{HOST}").join(code=code, about_role="nurse")
    token = visitor.token
    visitor.get("/link")
    (link,) = re.findall(r"/j/([0-9a-f]{32})", visitor.answer.text)[:1]
    return FuzzCaller(cookies(visitor), (("_TOKEN_", token), ("_LINK_", link)))


def _researcher(gate: Any) -> FuzzCaller:
    visitor = Visitor(gate, base=f"http://{HOST}").sign_in("Ada")
    visitor.get("/watch/run")
    one_time = gate.state.site.researcher_store.invite_researcher("Grace")
    values = (("_TOKEN_", visitor.token), ("_ONE_TIME_", one_time), ("_JUDGE_", "judge-1"))
    return FuzzCaller(cookies(visitor), values)


def _partner(gate: Any) -> FuzzCaller:
    store: ResearcherStore = gate.state.site.researcher_store
    return FuzzCaller((), (("_SHARE_", store.make_token(TokenPurpose.SHARE, label="partner")),))


def _program(gate: Any) -> FuzzCaller:
    store: ResearcherStore = gate.state.site.researcher_store
    token = store.make_token(TokenPurpose.API, label="program")
    return FuzzCaller(((b"authorization", f"Bearer {token}".encode()),), (("_TOKEN_", token),))


ROLES: dict[str, tuple[Callable[[Any], FuzzCaller], str]] = {
    "nobody": (_nobody, ""),
    "browser": (browser, ""),
    "judge": (_judge, "/pair"),
    "researcher": (_researcher, "/watch/run"),
    "partner": (_partner, "/shared/_SHARE_"),
    "program": (_program, "/api/v1/"),
}
"""How each caller comes in, and a page that only they can open."""


@contextmanager
def harmless() -> Iterator[None]:
    """Without what would take minutes: hashes as slow as real ones, reports, new studies."""

    def hasher() -> PasswordHasher:
        return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

    with (
        patch("tiewise.web.researcher.passwords._hasher", hasher),
        patch("tiewise.web.researcher.downloads.start_report", return_value=True),
        patch("tiewise.web.host.new_study.start_making"),
        patch("tiewise.web.host.checks.check_faults", return_value=()),
    ):
        yield
