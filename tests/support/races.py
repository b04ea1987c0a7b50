"""Requests of one judge that reach a site at the same moment, and what the database holds after."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx2
from anyio.to_thread import current_default_thread_limiter
from sqlalchemy import select

from support.form_browser import Visitor
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import metadata
from tiewise.study.values import Judge

BASE = "http://study.test"


class Asked(NamedTuple):
    """A request: its method, its path, its fields and its files."""

    method: str
    path: str
    fields: dict[str, Any]
    files: dict[str, tuple[str, bytes]] | None = None


@dataclass(frozen=True)
class Contestant:
    """A judge with an answered pair and an open one, and what their browser holds."""

    judge: Judge
    cookies: dict[str, str]
    token: str
    offer: str
    answers: str
    groups: tuple[str, ...]


Action = Callable[[Contestant, int], Asked]


def _form(path: str, **fields: Any) -> Action:
    return lambda who, _: Asked("POST", path, {"token": who.token, **fields})


def _page(path: str) -> Action:
    return lambda who, _: Asked("GET", path, {})


def _answer(*outcomes: str) -> Action:
    """One of these answers after the other."""
    return lambda who, k: Asked(
        "POST", "/answer",
        {"token": who.token, "offer": who.offer, "outcome": outcomes[k % len(outcomes)]},
    )  # fmt: skip


def _groups(who: Contestant, number: int) -> Asked:
    """Two groups of several, others for each request."""
    first = number % (len(who.groups) - 1)
    return Asked("POST", "/groups", {"token": who.token, "group": who.groups[first : first + 2]})


def _undo(who: Contestant, _: int) -> Asked:
    return Asked("POST", "/undo", {"token": who.token, "answers": who.answers})


ACTIONS: dict[str, Action] = {
    "consent": _form("/begin", consent="1"),
    "groups": _groups,
    "pair": _page("/pair"),
    "map": _page("/map"),
    "answer": _answer("left", "left_2", "tie", "right", "right_2"),
    "skip": _answer("skip"),
    "undo": _undo,
    "language": lambda _, k: Asked("GET", f"/?language={'ar' if k % 4 < 2 else 'en'}", {}),
    "leave": _page("/leave"),
    "panel": lambda _, k: Asked("GET", f"/?PID=p{k % 2}", {}),
    "resume": _form("/resume"),
    "sign-out": _form("/sign-out"),
    "withdraw": _form("/withdraw", erase="all"),
    "withdraw about": _form("/withdraw", erase="about"),
}
"""What a judge can do once they are one, in a study with five grades."""


def contestant(app: Any, **about: str) -> Contestant:
    """A new judge of a site, ready for every action."""
    visitor = Visitor(app).join(**about)
    visitor.judge("left")
    site = app.state.site
    cookies = {cookie.name: cookie.value or "" for cookie in visitor.client.cookies.jar}
    (secret,) = [site.cookies._signer.loads(value)["s"] for value in cookies.values()]
    judge = site.store.judge(secret)
    assert judge is not None
    return Contestant(
        judge, cookies, visitor.token, visitor.hidden("offer"), visitor.hidden("answers"),
        site.study.groups,
    )  # fmt: skip


def race(app: Any, requests: Sequence[tuple[Asked, dict[str, str]]]) -> Counter[int]:
    """Send requests, each with its cookies, at the same moment; the statuses that came back."""
    with ThreadPoolExecutor(1) as thread:  # Playwright keeps an event loop in the tests' own
        return thread.submit(asyncio.run, _race(app, requests)).result()


async def _race(app: Any, requests: Sequence[tuple[Asked, dict[str, str]]]) -> Counter[int]:
    current_default_thread_limiter().total_tokens = len(requests)
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)

    async def ask(asked: Asked, cookies: dict[str, str]) -> int:
        client = httpx2.AsyncClient(transport=transport, base_url=BASE, cookies=cookies)
        data = asked.fields if asked.method == "POST" else None
        answer = await client.request(asked.method, asked.path, data=data, files=asked.files)
        return int(answer.status_code)

    return Counter(await asyncio.gather(*(ask(*one) for one in requests)))


def rows_of(store: JudgeStore, judge: Judge) -> dict[str, int]:
    """How many rows each table has that name a judge, or something of theirs."""
    tables = metadata.tables
    offers, judgements = tables["offers"], tables["judgements"]
    mine = select(offers.c.id).where(offers.c.judge == judge.id)
    answers = select(judgements.c.id).where(judgements.c.offer.in_(mine))
    queries = {
        "judgements": judgements.select().where(judgements.c.offer.in_(mine)),
        "undone": tables["undone"].select().where(tables["undone"].c.judgement.in_(answers)),
        "judges": tables["judges"].select().where(tables["judges"].c.id == judge.id),
    } | {
        name: table.select().where(table.c.judge == judge.id)
        for name, table in tables.items()
        if "judge" in table.columns
    }
    queries |= {
        name: tables[name].select().where(tables[name].c.offer.in_(mine))
        for name in ("drafts", "comments")
    }
    with store.reading() as connection:
        return {name: len(connection.execute(query).all()) for name, query in queries.items()}
