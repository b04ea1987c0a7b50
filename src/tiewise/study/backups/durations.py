"""Lengths of time as people write them: 30s, 15m, 1h, 7d."""

from __future__ import annotations

import re

from tiewise.errors import InputError

DURATION = re.compile(r"(\d{1,6})([smhd])")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_duration(text: str) -> int:
    """The seconds of a length of time such as 1h."""
    match = DURATION.fullmatch(text.strip().lower())
    if match is None or not int(match[1]):
        raise InputError(f"{text!r} is no length of time; write 30s, 15m, 1h or 7d")
    return int(match[1]) * UNITS[match[2]]
