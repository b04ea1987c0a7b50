"""Simulated judges of a site that is running: they sign up, read a pair, and answer."""

from __future__ import annotations

import asyncio
import html
import random
import re
import subprocess
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from support.crowd_client import Browser as Judge
from support.crowd_client import sign_up


def link_in(server: subprocess.Popen[str]) -> str:
    """The one-time link that `tiewise serve` printed."""
    while line := server.stdout.readline():
        if result := re.search(r"http://\S+/sign-in/[0-9a-f]{32}", line):
            return result[0]
    raise AssertionError("no link to sign in was printed")


async def answers(url: str, prefers: Callable[[str, str], str], count: int) -> None:
    """A judge who signs up and answers so many pairs, by the names of the two."""
    judge = Judge("127.0.0.1", int(url.rpartition(":")[2]))
    await sign_up(judge)
    for _ in range(count):
        page = await judge.ask("GET", "/pair")
        names = [
            html.unescape(result)
            for result in re.findall(
                r"id=\"(?:left|right)-name\".*?<bdi>(.*?)</bdi>", page.text, re.S
            )
        ]
        sent = page.form("/answer") | {"outcome": prefers(*names)}
        assert (await judge.ask("POST", "/answer", sent)).status == 303
    judge.close()


def by_truth(truth: Mapping[str, float], rng: random.Random) -> Callable[[str, str], str]:
    """Answers as the model has them, with ties (δ = 0.3)."""

    def prefers(left: str, right: str) -> str:
        gap = truth[left] - truth[right]
        up, down = 1 / (1 + np.exp(0.3 - gap)), 1 / (1 + np.exp(0.3 + gap))
        point = rng.random()
        return "left" if point < up else "right" if point < up + down else "tie"

    return prefers


async def crowd(url: str, truth: Mapping[str, float], judges: int, count: int) -> None:
    rng = random.Random()
    await asyncio.gather(
        *(answers(url, by_truth(truth, rng), count) for _ in range(judges))
    )  # fmt: skip


def meanwhile(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: the browser has a loop in this one."""
    with ThreadPoolExecutor(1) as hands:
        hands.submit(asyncio.run, work).result()
