"""Registries: lines that name an object as `module:name`, imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(line: str) -> Any:
    """The object that a line of a registry names, such as `tiewise.engines.gibbs:Gibbs`."""
    module, _, name = line.partition(":")
    return getattr(import_module(module), name)
