"""Which of many parameters are tested every day; the others are slow tests."""

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
