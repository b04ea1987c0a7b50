"""Versions that results may depend on, and the machine that times depend on."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np


def versions() -> dict[str, str]:
    """The versions that results may depend on, beside their seeds."""
    import scipy

    from tiewise import __version__

    return {
        "tiewise": __version__, "python": platform.python_version(),
        "numpy": np.__version__, "scipy": scipy.__version__,
    }  # fmt: skip


def machine() -> dict[str, Any]:
    """The machine, which times depend on."""
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
