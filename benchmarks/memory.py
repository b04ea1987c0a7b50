"""Peak memory of this process, in megabytes."""

from __future__ import annotations

import resource
import sys

UNIT = 1 / 2**20 if sys.platform == "darwin" else 1 / 2**10


def peak_mb() -> float:
    """The most resident memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
