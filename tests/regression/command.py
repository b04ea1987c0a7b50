"""The `tiewise` command of this checkout, wherever its entry point is: see pyproject.toml."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def entry_point() -> Any:
    """The function that the `tiewise` script calls."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        module, _, name = tomllib.load(file)["project"]["scripts"]["tiewise"].partition(":")
    return getattr(import_module(module), name)


if __name__ == "__main__":
    sys.path[0] = str(ROOT / "src")
    sys.argv[0] = "tiewise"
    entry_point()()
