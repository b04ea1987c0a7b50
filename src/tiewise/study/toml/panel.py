"""`[panel]` of a study: what a panel's links say of a judge, and how a judge is sent back to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from tiewise.study.toml.key_types import Problem, short

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
MOST_NAMES = 5
LONGEST_VALUE = 100
TAKEN = (
    "code", "language", "user_id", "consent", "consented_at", "withdrawn_at", "judgements",
    "groups", "excluded", "invited_as",
)  # fmt: skip
"""Parameters of the judges' link, and columns of judges.csv, that mean something else."""


@dataclass(frozen=True, kw_only=True)
class PanelSettings:
    """`[panel]`: the names in a panel's links, and how a judge is sent back at the target."""

    identifiers: tuple[str, ...] = ()
    """Names such as PROLIFIC_PID; the first says who it is."""
    only: bool = False
    """Whether nobody begins without the first of them."""
    completion_link: str = ""
    completion_code: str = ""


def panel_problems(panel: PanelSettings, columns: tuple[str, ...]) -> Iterator[Problem]:
    """What is wrong with how a panel's judges come and go; `columns` are taken in judges.csv."""
    for k, name in enumerate(panel.identifiers):
        at = f"panel.identifiers[{k + 1}]"
        if not NAME.fullmatch(name):
            yield Problem(at, f"{short(name)}; letters, digits, _ and - only")
        elif name in TAKEN or name in columns:
            yield Problem(at, f"{name!r} means something else already; have the panel use another")
        if panel.identifiers.index(name) < k:
            yield Problem(at, f"{name!r} is there twice")
    if len(panel.identifiers) > MOST_NAMES:
        yield Problem("panel.identifiers", f"{len(panel.identifiers)} names; at most {MOST_NAMES}")
    if not panel.identifiers and (panel.only or panel.completion_link or panel.completion_code):
        message = "empty; name what the panel's links hold, such as PROLIFIC_PID"
        yield Problem("panel.identifiers", message)
    link = urlsplit(panel.completion_link)
    if panel.completion_link and (link.scheme not in ("http", "https") or not link.netloc):
        message = f"{short(panel.completion_link)}; an address with https://"
        yield Problem("panel.completion_link", message)
    if len(panel.completion_code) > LONGEST_VALUE:
        yield Problem("panel.completion_code", f"too long; at most {LONGEST_VALUE} letters")
