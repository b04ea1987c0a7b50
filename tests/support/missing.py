"""Libraries as if they were not installed."""

from __future__ import annotations

import pytest

from tiewise import optional


def hide(monkeypatch: pytest.MonkeyPatch, *libraries: str) -> None:
    """Let Tiewise find none of these libraries; others that use them still do."""
    there = optional.find_spec

    def find_spec(name: str) -> object:
        return None if name in libraries else there(name)

    monkeypatch.setattr(optional, "find_spec", find_spec)
