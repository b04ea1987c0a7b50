"""Which of many parameters are tested every day, and which only before a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def everyday(values: Iterable[Any], *daily: Any) -> list[Any]:
    """The values in their order, tuples for several parameters; all but `daily` are slow."""
    return [value if value in daily else _slow(value) for value in values]


def _slow(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.slow)


def thorough(values: Iterable[Any], *rare: Any) -> list[Any]:
    """The values in their order; `rare` ones are tried by `make test-all` alone."""
    marks = pytest.mark.thorough
    return [pytest.param(value, marks=marks) if value in rare else value for value in values]
